//! Trace ids: numbers from content, so that any machine gives the same trace the same id.
//! Called by the job and by `Lake`.

use std::fmt;

/// Ids end here: the largest number that every engine and JavaScript hold exactly.
const ID_MAX: u64 = (1 << 53) - 1;

/// Identifies a recording: 1 to 2^53 - 1. 0 belongs to the empty tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TraceId(u64);

impl TraceId {
    /// The id that content asks for: the first 53 bits of its hash.
    pub fn of_content(hash: &[u8; 32]) -> Self {
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        Self((u64::from_be_bytes(first) >> 11).max(1))
    }

    /// The id of a file without readable content: from its path as shown.
    pub fn of_path(path: &str) -> Self {
        Self::of_content(blake3::hash(path.as_bytes()).as_bytes())
    }

    /// From a number, where it is one.
    pub fn new(value: u64) -> Option<Self> {
        (1..=ID_MAX).contains(&value).then_some(Self(value))
    }

    /// The number, as in the column `trace_id`.
    pub fn value(self) -> i64 {
        // At most 53 bits, so the sign is never touched.
        self.0 as i64
    }

    /// The id to try where another content has this one.
    pub(crate) fn next(self) -> Self {
        Self(if self.0 == ID_MAX { 1 } else { self.0 + 1 })
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The hash of a recording: of its file, or of the sorted hashes of its files.
pub fn recording_hash(parts: &[[u8; 32]]) -> [u8; 32] {
    if let [only] = parts {
        return *only;
    }
    let mut sorted = parts.to_vec();
    sorted.sort_unstable();
    *blake3::hash(sorted.as_flattened()).as_bytes()
}
