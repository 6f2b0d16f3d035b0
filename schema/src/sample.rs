//! `sample`: profile samples.

use crate::table::table;

table! {
    /// One row per sample of the profile interrupt.
    sample {
        /// The sample, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Thread. The idle thread is the CPU's own.
        thread_key: I64,
        /// Process. NULL: no event tells.
        process_key: Opt<I64>,
        /// Thread id.
        tid: I64,
        /// Process id. NULL: unknown.
        pid: Opt<I64>,
        /// Instruction pointer.
        address: U64,
        /// Priority. NULL: not in version 1.
        priority: Opt<I32>,
        /// Rank. NULL where event version and build do not carry it.
        rank: Opt<I32>,
        /// Whether a DPC was running. NULL: not in version 1.
        in_dpc: Opt<Bool>,
        /// Whether an interrupt service routine was running. NULL: not in version 1.
        in_isr: Opt<Bool>,
        /// The nominal sampling interval in force. NULL: no interval event before it.
        weight_ns: Opt<I64>,
        /// Stack. NULL: none recorded.
        stack_id: Opt<I64>,
    }
}
