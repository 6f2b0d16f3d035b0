//! Damage as data: what was found broken in a container, where, and how much it cost.
//!
//! Opening a file, scanning it and merging it each keep such a log. Counts are always complete; of the
//! findings themselves only the first `LISTED_MAX` are kept, so that a hostile file cannot fill memory.

use std::fmt;

/// How many findings a log lists one by one; a person reads ten, a test compares hundreds.
pub const LISTED_MAX: usize = 1000;

/// The kinds of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DamageKind {
    /// Zero bytes where a buffer should be: space reserved by a session that never ended.
    Zeros,
    /// A buffer header with an impossible field. Where `bytes` is 0 the buffer was read all the same.
    BufferHeader,
    /// A buffer of a CPU that the header does not count. It was read; merges made on other machines may do so.
    CpuIndex,
    /// The file ends inside a buffer; records that are whole were kept.
    Truncated,
    /// A compressed buffer that could not be decompressed to its end; records before that were kept.
    Compression,
    /// Bytes that are no record; the rest of that buffer was dropped.
    RecordMarker,
    /// A record whose size is impossible; the rest of that buffer was dropped.
    RecordSize,
    /// An end mark before the end of a buffer, with data behind it.
    EndMark,
    /// A record whose optional parts do not fit into it; delivered with an empty payload.
    RecordParts,
    /// The header's clock has no usable frequency.
    Clock,
    /// A named limit was reached.
    Limit,
}

impl DamageKind {
    /// All kinds, in declaration order.
    pub const ALL: [DamageKind; 11] = [
        DamageKind::Zeros,
        DamageKind::BufferHeader,
        DamageKind::CpuIndex,
        DamageKind::Truncated,
        DamageKind::Compression,
        DamageKind::RecordMarker,
        DamageKind::RecordSize,
        DamageKind::EndMark,
        DamageKind::RecordParts,
        DamageKind::Clock,
        DamageKind::Limit,
    ];

    /// A few words for messages, lower case.
    pub fn name(self) -> &'static str {
        match self {
            DamageKind::Zeros => "zero bytes instead of buffers",
            DamageKind::BufferHeader => "impossible buffer header",
            DamageKind::CpuIndex => "unexpected cpu",
            DamageKind::Truncated => "file ends inside a buffer",
            DamageKind::Compression => "compressed buffer does not decompress",
            DamageKind::RecordMarker => "not a record",
            DamageKind::RecordSize => "impossible record size",
            DamageKind::EndMark => "end mark before the end",
            DamageKind::RecordParts => "record parts do not fit",
            DamageKind::Clock => "clock without frequency",
            DamageKind::Limit => "limit reached",
        }
    }
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// File offset it was found at; inside a compressed buffer that of the buffer.
    pub offset: u64,
    /// Bytes that could not be read as events because of it (decompressed bytes in compressed buffers).
    pub bytes: u64,
    /// What it is.
    pub what: DamageKind,
    /// What exactly, in a few words.
    pub detail: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at offset {:#x}: {}", self.offset, self.what.name())?;
        if !self.detail.is_empty() {
            write!(f, ", {}", self.detail)?;
        }
        if self.bytes > 0 {
            write!(f, " ({} bytes lost)", self.bytes)?;
        }
        Ok(())
    }
}

/// All damage of one pass: complete counts, and the first findings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DamageLog {
    counts: [u64; DamageKind::ALL.len()],
    bytes: u64,
    listed: Vec<Damage>,
}

impl DamageLog {
    /// Adds a finding.
    pub fn add(&mut self, what: DamageKind, offset: u64, bytes: u64, detail: impl Into<String>) {
        self.add_times(what, 1, offset, bytes, detail);
    }

    /// Adds a finding that stands for `times` of its kind in one buffer, of which it is the first.
    pub fn add_times(
        &mut self,
        what: DamageKind,
        times: u64,
        offset: u64,
        bytes: u64,
        detail: impl Into<String>,
    ) {
        self.counts[what as usize] += times;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.listed.len() < LISTED_MAX {
            self.listed.push(Damage { offset, bytes, what, detail: detail.into() });
        }
    }

    /// How many findings there were of a kind.
    pub fn count(&self, what: DamageKind) -> u64 {
        self.counts[what as usize]
    }

    /// How many findings there were.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Bytes lost to all of them.
    pub fn bytes_lost(&self) -> u64 {
        self.bytes
    }

    /// The findings, at most `LISTED_MAX`.
    pub fn listed(&self) -> &[Damage] {
        &self.listed
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.total() == 0
    }
}
