//! `gap`: stretches in which nothing was recorded.

use crate::table::table;

table! {
    /// One row per stretch in which nothing was recorded on any CPU, with the evidence. A gap is neither CPU idle time nor waiting time: questions subtract it.
    gap {
        /// Last event before the gap.
        from_ts_ns: I64,
        /// First event after it.
        to_ts_ns: I64,
        /// 'sleep' (sleep and wake events), 'tracing_off' (logging switched off and on) or 'silence' (5 s without an event in a trace that samples periodically).
        evidence: Text,
    }
}
