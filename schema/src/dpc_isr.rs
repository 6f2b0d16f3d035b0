//! `dpc_isr`: interrupts and deferred procedure calls.

use crate::table::table;

table! {
    /// One row per deferred procedure call or interrupt service routine.
    dpc_isr {
        /// Start, nanoseconds since the start of the recording.
        start_ts_ns: I64,
        /// Duration.
        duration_ns: I64,
        /// CPU.
        cpu: I32,
        /// 'dpc', 'threaded_dpc', 'timer_dpc', 'io_timer', 'isr', 'msi' or 'passive_isr'.
        kind: Text,
        /// Address of the routine.
        routine: U64,
        /// Module of the routine. NULL: none known.
        module: Opt<Text>,
    }
}
