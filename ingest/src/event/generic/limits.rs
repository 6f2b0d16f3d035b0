//! Every limit of the decoding of self-described events, with its reason.

/// Fields of one event, members of structures included. The largest events of Windows have some
/// 130; a TraceLogging schema of 64 KiB could claim thousands.
pub const FIELDS: usize = 1024;

/// Structures inside structures. TraceLogging tools stop at 8 as well.
pub const DEPTH: usize = 8;

/// Fields of one event that are the length or count of others.
pub const SLOTS: usize = 64;

/// Bytes of JSON for one event. A payload has at most 65 535 bytes; as an array of booleans or
/// structures of short fields it may become a multiple of that, and an array of empty values
/// could become anything.
pub const OUTPUT_BYTES: usize = 1 << 20;

/// Values in one array: more than a payload has bytes is a lie.
pub const ARRAY_VALUES: u64 = 1 << 16;

/// Distinct schemas of one recording, all kinds together. A system has some 60 000 manifest
/// events, and a recording sees few of them.
pub const SCHEMAS: usize = 1 << 17;

/// Bytes of metadata kept to recognise schemas (TraceLogging blobs).
pub const SCHEMA_BYTES: usize = 64 << 20;

/// Value maps of one recording.
pub const MAPS: usize = 1 << 16;

/// Entries of one value map.
pub const MAP_ENTRIES: usize = 1 << 14;

/// One assembled manifest. The largest known (the .NET runtime's) has 0.7 MB.
pub const MANIFEST_BYTES: usize = 16 << 20;

/// All assembled manifests and unfinished chunks of one recording.
pub const MANIFESTS_BYTES: usize = 128 << 20;

/// Chunks of one manifest; with chunks of 64 KB more than [`MANIFEST_BYTES`].
pub const MANIFEST_CHUNKS: u16 = 4096;

/// Manifests being assembled at one time, over all providers and processes.
pub const ASSEMBLIES: usize = 4096;
