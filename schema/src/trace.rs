//! `trace`: one row per recording.

use crate::table::table;

table! {
    /// One row per recording: where it came from, what machine it shows, and how complete it is.
    /// A recording is one file, or the few files of one session. Equal contents are one row.
    trace {
        /// File name without `.etl` and archive suffix, made unique by its folder where needed.
        name: Text,
        /// Path of the file as it was given to `ingest`; a member of an archive is written `archive!member`.
        path: Text,
        /// Further paths at which the same content was found, one a line. NULL: none.
        also_at: Opt<Text>,
        /// Number of files that make up the recording.
        parts: I32,
        /// Bytes of the `.etl` files together, uncompressed by archives.
        bytes: I64,
        /// BLAKE3 of the content, in hex; of several files, the hash of their hashes. NULL: it could not be read.
        content_hash: Opt<Text>,
        /// 'ok', 'damaged' (a buffer or the tail cannot be read, buffers are missing, or the log was never closed) or 'failed' (nothing could be read). Loss by the recorder alone is 'ok': see `events_lost`.
        status: Text,
        /// What is wrong with a file that is damaged or failed, with the offset. NULL: nothing.
        error: Opt<Text>,
        /// Start of the recording, UTC: the origin of every `ts_ns`. NULL in a failed trace.
        start_time: Opt<Time>,
        /// Nanoseconds from the start to the last event (never to EndTime, after which events may go on). NULL in a failed trace.
        duration_ns: Opt<I64>,
        /// Windows build number (ProviderVersion of the log header).
        os_build: Opt<I32>,
        /// Windows product name where the trace tells (SysConfigEx BuildInfo), else the version numbers of the header.
        os_name: Opt<Text>,
        /// Build lab string where the trace tells.
        os_build_lab: Opt<Text>,
        /// Name of the computer, from SystemConfig.
        computer_name: Opt<Text>,
        /// Logical CPUs.
        cpu_count: Opt<I32>,
        /// Nominal CPU frequency in MHz.
        cpu_mhz: Opt<I32>,
        /// Name of the processor model, from SystemConfig.
        cpu_model: Opt<Text>,
        /// Physical memory in MiB, from SystemConfig.
        memory_mb: Opt<I64>,
        /// Pointer size of the recorded kernel in bits: 64 where any kernel record is 64-bit. The log header's own pointer size is that of the program that wrote the file.
        pointer_bits: Opt<I32>,
        /// Clock of the recording: 'qpc', 'system_time', 'cpu_cycles' or 'none'.
        clock: Opt<Text>,
        /// Ticks a second of the clock.
        clock_hz: Opt<I64>,
        /// Minutes to add to local time to get UTC on the recorded machine.
        utc_bias_minutes: Opt<I32>,
        /// Name of the session.
        session_name: Opt<Text>,
        /// LogFileMode bits.
        log_mode: Opt<I64>,
        /// Whether any buffer of the file is compressed (by the log writer, not by an archive).
        compressed: Bool,
        /// Buffers in the file.
        buffer_count: I64,
        /// Buffers that could not be read wholly.
        buffers_damaged: I64,
        /// Records read.
        event_count: I64,
        /// Events that the recorder lost, from the log header.
        events_lost: I64,
        /// Buffers that the recorder lost, from the log header.
        buffers_lost: I64,
        /// End of the scheduling record in nanoseconds since the start: merged recordings run on for seconds after the kernel session stopped. Open intervals are counted to here. NULL: no scheduling events.
        sched_end_ns: Opt<I64>,
        /// Tags from `--tag`, `--name-pattern` and sidecar files.
        tags: TextMap,
        /// Version of etwas that wrote the recording.
        etwas_version: Text,
        /// Start of the recording in nanoseconds since 1970, UTC, exact.
        start_unix_ns: I64,
    }
}
