//! `priority_change`: priorities set.

use crate::table::table;

table! {
    /// One row per change of a thread's priority that was set (boosts at switch-in are in `cswitch`).
    priority_change {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// Thread.
        thread_key: I64,
        /// Its process. NULL: unknown.
        process_key: Opt<I64>,
        /// Its thread id.
        tid: I64,
        /// 'priority' (dynamic), 'base', 'io' or 'page'.
        kind: Text,
        /// Old value.
        old_value: I32,
        /// New value.
        new_value: I32,
        /// 'kernel' (Thread group) or 'kernel_process' (Microsoft-Windows-Kernel-Process).
        source: Text,
    }
}
