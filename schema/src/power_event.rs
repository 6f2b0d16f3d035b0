//! `power_event`: sleep, wake and policy changes.

use crate::table::table;

table! {
    /// One row per sleep, wake, AC/DC, scheme or overlay change.
    power_event {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// 'sleep', 'wake', 'ac_dc', 'ac_dc_rundown', 'scheme', 'overlay', 'modern_standby_enter', 'modern_standby_exit', 'shutdown', 'transition_start', 'transition_end'.
        kind: Text,
        /// State before. NULL: the event does not tell.
        from_state: Opt<Text>,
        /// State after. NULL: the event does not tell.
        to_state: Opt<Text>,
        /// Further fields as JSON. NULL: none.
        detail: Opt<Text>,
    }
}
