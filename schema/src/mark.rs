//! `mark`: marks that somebody set while recording.

use crate::table::table;

table! {
    /// One row per mark.
    mark {
        /// The mark, nanoseconds since the start.
        ts_ns: I64,
        /// Its text.
        text: Text,
        /// 'kernel' (PerfInfo mark) or the provider's name.
        source: Text,
    }
}
