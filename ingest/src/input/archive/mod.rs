//! Archives that traces come in: telling them apart, listing them, unpacking one member.
//!
//! Member names are text for people; members are found by position and unpacked into a writer,
//! so that no name ever reaches the file system. Called by `scan` and by `Input`.

mod cabinet;
mod sevenz;
mod stream;
mod zipped;

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::limits::CopyError;
use super::{InputError, Limits};

/// An archive of several members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArchiveKind {
    Zip,
    SevenZip,
    Cab,
}

/// A file that is one compressed stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StreamKind {
    Gzip,
    Zstd,
}

/// What a file is as a container of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Archive(ArchiveKind),
    Stream(StreamKind),
}

/// File name endings, lower case, with what they promise. A `.diagsession` is a zip.
const ENDINGS: [(&str, Container); 6] = [
    (".7z", Container::Archive(ArchiveKind::SevenZip)),
    (".cab", Container::Archive(ArchiveKind::Cab)),
    (".diagsession", Container::Archive(ArchiveKind::Zip)),
    (".gz", Container::Stream(StreamKind::Gzip)),
    (".zip", Container::Archive(ArchiveKind::Zip)),
    (".zst", Container::Stream(StreamKind::Zstd)),
];

/// First bytes, with what they prove. `PK\5\6` is a zip without members.
const BEGINNINGS: [(&[u8], Container); 6] = [
    (b"7z\xbc\xaf\x27\x1c", Container::Archive(ArchiveKind::SevenZip)),
    (b"MSCF", Container::Archive(ArchiveKind::Cab)),
    (b"PK\x03\x04", Container::Archive(ArchiveKind::Zip)),
    (b"PK\x05\x06", Container::Archive(ArchiveKind::Zip)),
    (b"\x1f\x8b\x08", Container::Stream(StreamKind::Gzip)),
    (b"\x28\xb5\x2f\xfd", Container::Stream(StreamKind::Zstd)),
];

/// How many bytes [`Container::of_beginning`] wants to see.
pub(crate) const BEGINNING_BYTES: usize = 6;

impl Container {
    /// By the name of the file.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        strip_ending(name).map(|(_, container)| container)
    }

    /// By its first bytes.
    pub(crate) fn of_beginning(bytes: &[u8]) -> Option<Self> {
        let found = BEGINNINGS.iter().find(|(beginning, _)| bytes.starts_with(beginning));
        found.map(|(_, container)| *container)
    }

    /// Its name in messages.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Archive(kind) => kind.label(),
            Self::Stream(StreamKind::Gzip) => "gzip file",
            Self::Stream(StreamKind::Zstd) => "zstd file",
        }
    }
}

impl ArchiveKind {
    fn label(self) -> &'static str {
        match self {
            Self::Zip => "zip archive",
            Self::SevenZip => "7z archive",
            Self::Cab => "cabinet",
        }
    }
}

/// The name without the ending of a container, and what the ending promises.
pub(crate) fn strip_ending(name: &str) -> Option<(&str, Container)> {
    ENDINGS.iter().find_map(|(ending, container)| {
        let cut = name.len().checked_sub(ending.len())?;
        let (stem, tail) = (name.get(..cut)?, name.get(cut..)?);
        tail.eq_ignore_ascii_case(ending).then_some((stem, *container))
    })
}

/// One file in an archive.
#[derive(Debug)]
pub(crate) struct Member {
    /// Position in the archive's directory.
    pub index: usize,
    /// The name as written there, what is not Unicode replaced.
    pub name: String,
    /// Uncompressed size as declared.
    pub bytes: u64,
    /// Why it will not be read although it is there.
    pub refused: Option<InputError>,
}

/// Lists the files of an archive in their order there.
pub(crate) fn list_members(
    path: &Path,
    kind: ArchiveKind,
    limits: &Limits,
) -> Result<Vec<Member>, InputError> {
    guarded(kind.label(), || match kind {
        ArchiveKind::Zip => zipped::list(path, limits),
        ArchiveKind::SevenZip => sevenz::list(path, limits),
        ArchiveKind::Cab => cabinet::list(path, limits),
    })
}

/// Unpacks one member into `to`.
pub(crate) fn unpack_member(
    path: &Path,
    kind: ArchiveKind,
    index: usize,
    name: &str,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    guarded(kind.label(), || match kind {
        ArchiveKind::Zip => zipped::unpack(path, index, name, limits, to),
        ArchiveKind::SevenZip => sevenz::unpack(path, index, name, limits, to),
        ArchiveKind::Cab => cabinet::unpack(path, index, name, limits, to),
    })
}

/// Unpacks a file that is one compressed stream into `to`.
pub(crate) fn unpack_stream(
    path: &Path,
    kind: StreamKind,
    limits: &Limits,
    to: &mut dyn Write,
) -> Result<(), InputError> {
    guarded(Container::Stream(kind).label(), || stream::unpack(path, kind, limits, to))
}

/// What a compressed stream says of its uncompressed size, if anything.
pub(crate) fn stream_bytes(path: &Path, kind: StreamKind) -> Option<u64> {
    stream::declared_bytes(path, kind)
}

/// Runs the reader of an archive. Those readers are not ours: one that panics over hostile bytes
/// costs this archive and not the run.
fn guarded<T>(
    kind: &'static str,
    read: impl FnOnce() -> Result<T, InputError>,
) -> Result<T, InputError> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let detail = "its reader gave up".to_owned();
        Err(InputError::Damaged { kind, detail })
    })
}

/// The error of a copy out of an archive of this kind.
fn copy_error(kind: &'static str, error: CopyError) -> InputError {
    match error {
        CopyError::Read(error) => read_error(kind, error),
        CopyError::Write(error) => InputError::io("unpack", error),
        CopyError::Limit(error) => error,
    }
}

/// Tells the disk's errors from the archive's: a reader reports nonsense in the bytes as an
/// `io::Error` of its own making, which carries no code of the operating system.
fn read_error(kind: &'static str, error: io::Error) -> InputError {
    if error.raw_os_error().is_some() {
        return InputError::io("read", error);
    }
    let detail = match error.kind() {
        io::ErrorKind::UnexpectedEof => "it ends early".to_owned(),
        _ => error.to_string(),
    };
    InputError::Damaged { kind, detail }
}

/// Whether as much came out as was announced.
fn check_size(kind: &'static str, declared: u64, found: u64) -> Result<(), InputError> {
    if declared == found {
        return Ok(());
    }
    let detail = format!("a member of {declared} bytes unpacks to {found}");
    Err(InputError::Damaged { kind, detail })
}

/// Refuses names that no file can have.
fn refuse_name(name: &str) -> Option<InputError> {
    name.contains('\0').then_some(InputError::NulInName)
}
