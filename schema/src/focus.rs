//! `focus`: the window in focus.

use crate::table::table;

table! {
    /// One row per change of the focused process, or per gain or loss of focus.
    focus {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// Process that gains (or, for 'lost', loses) the focus. NULL: no such process is known.
        process_key: Opt<I64>,
        /// Its process id.
        pid: I64,
        /// 'process' (focused process changed), 'thread' (focused thread changed), 'gained', 'lost' or 'user_active'.
        kind: Text,
    }
}
