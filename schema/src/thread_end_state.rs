//! `thread_end_state`: what threads were doing when the scheduling record stopped.

use crate::table::table;

table! {
    /// One row per thread that was seen by the scheduler: its state when the recording of switches stopped. Waits and ready intervals that never end are found here.
    thread_end_state {
        /// Thread.
        thread_key: I64,
        /// Process. NULL: unknown.
        process_key: Opt<I64>,
        /// 'running', 'ready' or 'waiting'.
        state: Text,
        /// Since when. NULL: since before its first event.
        since_ts_ns: Opt<I64>,
        /// Wait reason of its last switch-out (waiting, and ready after a wait). NULL: unknown.
        wait_reason: Opt<I32>,
        /// Ready: the readier's stack. Waiting or running: NULL.
        stack_id: Opt<I64>,
        /// Ready: who made it so. NULL: nobody, a DPC, or unknown.
        readying_thread_key: Opt<I64>,
        /// Last switch-out. NULL: none in the trace.
        last_out_ts_ns: Opt<I64>,
        /// Priority at the last switch-out. NULL: unknown.
        prev_priority: Opt<I32>,
        /// Rank at the last switch-out. NULL: unknown.
        rank: Opt<I32>,
        /// State in which it was last switched out. NULL: unknown.
        prev_state: Opt<I32>,
        /// CPU it runs on, or last left. NULL: unknown.
        cpu: Opt<I32>,
        /// Whether its kernel stack or process was not resident when it was made ready. NULL: not ready, or unknown.
        not_resident: Opt<Bool>,
    }
}
