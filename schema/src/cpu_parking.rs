//! `cpu_parking`: parking of CPUs over time.

use crate::table::table;

table! {
    /// One row per parking or unparking of a CPU.
    cpu_parking {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Whether it is parked from now on.
        parked: Bool,
        /// Whether it is soft parking. NULL: the event does not tell.
        soft: Opt<Bool>,
    }
}
