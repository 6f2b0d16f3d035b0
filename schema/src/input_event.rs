//! `input_event`: keys and mouse buttons.

use crate::table::table;

table! {
    /// One row per input that UIforETW logged.
    input_event {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// 'key', 'button_down', 'button_up', 'move' or 'wheel'.
        kind: Text,
        /// Virtual key code, button number, or wheel distance. NULL: a move.
        code: Opt<I64>,
        /// Name of the key. NULL: not a key.
        name: Opt<Text>,
        /// Process that logged it.
        pid: I64,
    }
}
