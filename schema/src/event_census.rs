//! `event_census`: every record of the container, counted by class and fate.

use crate::table::table;

table! {
    /// One row per event class and fate. The counts add up to the records in the file: stored + known + unknown + malformed.
    event_census {
        /// Hook id as four hex digits (group, type) where the record's header carries one, else NULL.
        hook: Opt<Text>,
        /// Provider or event class GUID, lower case. Of a kernel record, the class of its group.
        provider_guid: Opt<Text>,
        /// Name of the provider. NULL: the trace and our tables do not tell.
        provider: Opt<Text>,
        /// Event id of manifest and TraceLogging events, else NULL.
        event_id: Opt<I32>,
        /// Opcode of the event.
        opcode: I32,
        /// Version of the payload.
        version: I32,
        /// Name of the event. NULL: unknown.
        name: Opt<Text>,
        /// Records.
        events: I64,
        /// Bytes of the records, headers included.
        bytes: I64,
        /// First record, nanoseconds since the start.
        first_ts_ns: I64,
        /// Last record, nanoseconds since the start.
        last_ts_ns: I64,
        /// 'stored' (became a row), 'known' (understood, but no table keeps it), 'unknown' (no layout known) or 'malformed' (too short or contradictory).
        fate: Text,
        /// The table that has the rows, for stored events.
        table_name: Opt<Text>,
    }
}
