//! `ready`: ReadyThread events.

use crate::table::table;

table! {
    /// One row per ReadyThread event: who made whom ready, also where no switch follows.
    ready {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// CPU on which it was logged.
        cpu: I32,
        /// Thread made ready.
        thread_key: I64,
        /// Its process. NULL: no event tells.
        process_key: Opt<I64>,
        /// Its thread id.
        tid: I64,
        /// Thread that made it ready: the one whose run is open on this CPU. NULL: in a DPC, or unknown.
        readying_thread_key: Opt<I64>,
        /// Its process. NULL: as above.
        readying_process_key: Opt<I64>,
        /// Its thread id. NULL: as above.
        readying_tid: Opt<I64>,
        /// Whether it happened in a DPC.
        in_dpc: Bool,
        /// Thread that the DPC interrupted. NULL: not in a DPC, or unknown.
        interrupted_thread_key: Opt<I64>,
        /// Whether the kernel stack has to be brought in first.
        kernel_stack_not_resident: Bool,
        /// Whether the process has to be brought in first.
        process_not_resident: Bool,
        /// Whether a direct switch was attempted.
        direct_switch_attempt: Bool,
        /// Why the priority is adjusted: 0 none, 1 unwait, 2 boost.
        adjust_reason: I32,
        /// By how much.
        adjust_increment: I32,
        /// Stack of the thread current on the CPU. NULL: none recorded.
        stack_id: Opt<I64>,
    }
}
