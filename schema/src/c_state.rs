//! `c_state`: idle states of CPUs.

use crate::table::table;

table! {
    /// One row per entry into or exit from a processor idle state.
    c_state {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Idle state number.
        state: I32,
        /// True: entered. False: left.
        entered: Bool,
    }
}
