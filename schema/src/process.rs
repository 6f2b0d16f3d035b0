//! `process`: process lifetimes.

use crate::table::table;

table! {
    /// One row per process lifetime. A reused id is a new row; a rundown makes none of its own.
    process {
        /// Key of the lifetime, unique within the trace.
        process_key: I64,
        /// Process id.
        pid: I64,
        /// Id of the parent. NULL: no event tells.
        parent_pid: Opt<I64>,
        /// The parent's lifetime that was running when this one started. NULL: unknown, or the id was reused.
        parent_process_key: Opt<I64>,
        /// Image name without path. NULL: no event tells.
        name: Opt<Text>,
        /// Command line. NULL: no event tells.
        command_line: Opt<Text>,
        /// Session id. NULL: none or unknown.
        session_id: Opt<I64>,
        /// SID of the user. NULL: unknown.
        user_sid: Opt<Text>,
        /// Start. NULL: before the trace.
        start_ts_ns: Opt<I64>,
        /// End. NULL: after the trace.
        end_ts_ns: Opt<I64>,
        /// When termination began (Terminate event); the end follows when the last handle and thread are gone. NULL: not recorded.
        terminate_ts_ns: Opt<I64>,
        /// Exit code as the unsigned 32-bit value. NULL: did not end in the trace.
        exit_code: Opt<I64>,
        /// Package full name. NULL: not packaged, or unknown.
        package: Opt<Text>,
        /// Application id of a packaged process. NULL: none or unknown.
        app_id: Opt<Text>,
        /// Whether it is a 32-bit process on a 64-bit Windows. NULL: unknown.
        is_wow64: Opt<Bool>,
    }
}
