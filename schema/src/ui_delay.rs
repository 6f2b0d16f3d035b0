//! `ui_delay`: windows that did not answer.

use crate::table::table;

table! {
    /// One row per user-interface delay that Win32k reported. A hang that never pumps again leaves no event.
    ui_delay {
        /// Start of the delay, nanoseconds since the start; the time of the event where it states no delay.
        ts_ns: I64,
        /// How long. NULL: the event does not tell.
        duration_ns: Opt<I64>,
        /// Thread that did not answer.
        thread_key: Opt<I64>,
        /// Its process. NULL: unknown.
        process_key: Opt<I64>,
        /// Its thread id.
        tid: I64,
        /// Its process id.
        pid: I64,
        /// Window class. NULL: the event does not tell (Windows 7).
        window_class: Opt<Text>,
        /// Image path. NULL: the event does not tell.
        image_path: Opt<Text>,
        /// Message that waited. NULL: the event does not tell.
        message_id: Opt<I64>,
        /// 'message_check', 'input_process', 'immersive_message_check', 'immersive_input_process' or 'wait_cursor'.
        kind: Text,
    }
}
