//! `thread`: thread lifetimes.

use crate::table::table;

table! {
    /// One row per thread lifetime. The idle thread (tid 0) has one row per CPU.
    thread {
        /// Key of the lifetime, unique within the trace.
        thread_key: I64,
        /// Thread id.
        tid: I64,
        /// Process id. NULL: no event tells.
        pid: Opt<I64>,
        /// Process lifetime. NULL: no event tells; such threads are counted in `health`.
        process_key: Opt<I64>,
        /// Thread name (SetThreadDescription). NULL: none recorded.
        name: Opt<Text>,
        /// Start. NULL: before the trace.
        start_ts_ns: Opt<I64>,
        /// End. NULL: after the trace.
        end_ts_ns: Opt<I64>,
        /// Win32 start address. NULL: unknown.
        start_address: Opt<U64>,
        /// Base priority. NULL: not recorded (before event version 3).
        base_priority: Opt<I32>,
        /// Affinity mask. NULL: not recorded (before event version 3).
        affinity: Opt<U64>,
        /// Service that the thread belongs to, through its sub-process tag. NULL: none recorded.
        service: Opt<Text>,
        /// CPU of an idle thread. NULL: not an idle thread.
        idle_cpu: Opt<I32>,
    }
}
