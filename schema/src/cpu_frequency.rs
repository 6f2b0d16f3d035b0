//! `cpu_frequency`: frequency of CPUs over time.

use crate::table::table;

table! {
    /// One row per statement about a CPU's frequency.
    cpu_frequency {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Frequency in MHz.
        mhz: F64,
        /// 'requested' (performance state change), 'delivered' or 'rundown'.
        kind: Text,
    }
}
