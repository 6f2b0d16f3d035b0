//! Limits on what an input may cost, each with its reason, and the meter that keeps them.
//!
//! Called wherever bytes come out of a decompressor.

use std::io::{self, Read, Write};

use super::InputError;

/// How deep archives may nest: a trace in an archive, no archive in an archive.
/// Deeper nesting has no use for traces and multiplies every other limit.
pub const ARCHIVE_DEPTH_MAX: usize = 1;

/// How deep a folder tree is followed; no file system holds paths this deep, loops are cut before.
pub const FOLDER_DEPTH_MAX: usize = 256;

/// How many inputs one run accepts, so that a wrong argument such as `/` ends.
pub const INPUTS_MAX: usize = 1_000_000;

/// Size of the buffer that members are copied through.
const COPY_BYTES: usize = 256 << 10;

/// What one archive may cost.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Uncompressed bytes of one member. Real traces are below; a bomb would fill the disk.
    pub member_bytes: u64,
    /// Uncompressed bytes per compressed byte, above `ratio_floor_bytes`. Deflate cannot exceed
    /// 1,032; zstd and LZMA can reach any ratio, and do so only for bombs.
    pub ratio: u64,
    /// Below this size no ratio is judged: small files cannot hurt, and preallocated traces are
    /// mostly zeros, which shrink a thousandfold.
    pub ratio_floor_bytes: u64,
    /// Members of one archive, traces or not: each is listed in memory.
    pub members: u64,
    /// Memory of one decompressor: 256 MiB is the largest dictionary that common tools choose by
    /// themselves.
    pub dictionary_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            member_bytes: 64 << 30,
            ratio: 2_000,
            ratio_floor_bytes: 256 << 20,
            members: 20_000,
            dictionary_bytes: 272 << 20,
        }
    }
}

impl Limits {
    /// Refuses a member by what its archive says of it, before a byte is decompressed.
    pub(crate) fn check_declared(&self, size: u64, compressed: u64) -> Result<(), InputError> {
        if size > self.member_bytes {
            return Err(InputError::TooLarge { limit: self.member_bytes });
        }
        if size > self.ratio_floor_bytes && size / compressed.max(1) > self.ratio {
            return Err(InputError::Ratio { limit: self.ratio });
        }
        Ok(())
    }

    /// Refuses an archive of too many members.
    pub(crate) fn check_members(&self, found: u64) -> Result<(), InputError> {
        if found > self.members {
            return Err(InputError::TooManyMembers { found, limit: self.members });
        }
        Ok(())
    }
}

/// Whose fault a failed copy is: the archive cannot be read, or the copy cannot be written.
pub(crate) enum CopyError {
    /// Reading the member failed.
    Read(io::Error),
    /// Writing the copy failed.
    Write(io::Error),
    /// A limit was met.
    Limit(InputError),
}

/// Copies a member while its real size is watched: declared sizes lie.
/// `compressed` is the size of what the member comes from. Returns the bytes copied.
pub(crate) fn copy_within(
    limits: &Limits,
    compressed: u64,
    from: &mut dyn Read,
    to: &mut dyn Write,
) -> Result<u64, CopyError> {
    let mut buffer = vec![0; COPY_BYTES];
    let mut total: u64 = 0;
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => return Ok(total),
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(CopyError::Read(error)),
        };
        total = total.saturating_add(count as u64);
        limits.check_declared(total, compressed).map_err(CopyError::Limit)?;
        to.write_all(&buffer[..count]).map_err(CopyError::Write)?;
    }
}
