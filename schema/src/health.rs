//! `health`: what is missing, damaged or doubtful in a recording.

use crate::table::table;

table! {
    /// One row per trace and counter that is not zero: what the recorder lost, what is damaged, and what could not be understood.
    health {
        /// Name of the counter.
        counter: Text,
        /// 'info', 'notice', 'data_loss' or 'error'.
        severity: Text,
        /// 'recorder' (lost before the file was written), 'file' (damaged) or 'analysis' (not understood here).
        source: Text,
        /// How many.
        count: I64,
        /// When it first happened, nanoseconds since the start. NULL: at no known time.
        first_ts_ns: Opt<I64>,
        /// What the counter counts and what it means for answers.
        meaning: Text,
        /// What to do about it, at the next recording or here.
        remedy: Text,
    }
}
