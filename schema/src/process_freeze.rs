//! `process_freeze`: suspended applications.

use crate::table::table;

table! {
    /// One row per freeze or thaw of a process.
    process_freeze {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// Process frozen or thawed. NULL: unknown.
        process_key: Opt<I64>,
        /// Its process id.
        pid: I64,
        /// 'frozen' or 'thawed'.
        state: Text,
        /// Process that did it. NULL: unknown.
        by_process_key: Opt<I64>,
    }
}
