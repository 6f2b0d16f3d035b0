//! `generic_event`: manifest and TraceLogging events without a table of their own.

use crate::table::table;

table! {
    /// One row per manifest or TraceLogging event that has no table of its own.
    generic_event {
        /// The event, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Name of the provider, or its GUID where no name is known.
        provider: Text,
        /// Name of the event. NULL: unknown.
        event: Opt<Text>,
        /// Event id; 0 for TraceLogging.
        event_id: I32,
        /// Process id of the header. NULL: none.
        pid: Opt<I64>,
        /// Thread id of the header. NULL: none.
        tid: Opt<I64>,
        /// Process. NULL: unknown.
        process_key: Opt<I64>,
        /// Thread. NULL: unknown.
        thread_key: Opt<I64>,
        /// Named fields as JSON. NULL: they cannot be decoded, see `payload`.
        fields: Opt<Text>,
        /// The bytes of the payload (up to 4 096) where the fields cannot be decoded, else NULL.
        payload: Opt<Blob>,
        /// Stack. NULL: none recorded.
        stack_id: Opt<I64>,
        /// GUID of the provider.
        provider_guid: Text,
        /// Opcode.
        opcode: I32,
        /// Version of the event.
        version: I32,
        /// Level: 1 critical to 5 verbose.
        level: I32,
        /// Activity id. NULL: none.
        activity_id: Opt<Text>,
        /// Related activity id. NULL: none.
        related_activity_id: Opt<Text>,
    }
}
