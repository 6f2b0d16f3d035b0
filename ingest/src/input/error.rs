//! What can go wrong with one input, in words for people.
//!
//! Not here: damage inside a trace, which the container decoder counts.
//! Called by everything under `input`; the command line prints [`InputError`] and its hint.

use std::io;

/// Why the bytes of one input cannot be had. It costs that input and nothing else.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The operating system refused.
    #[error("cannot {action}: {source}")]
    Io {
        /// What was tried, as a verb with its object ("open", "read at 0x1000").
        action: String,
        /// What the operating system said.
        source: io::Error,
    },
    /// A folder, pipe or device where a file was expected.
    #[error("not a regular file")]
    NotAFile,
    /// The name holds a NUL character, which no file system accepts and many programs cut at.
    #[error("the name holds a NUL character")]
    NulInName,
    /// The bytes of the archive do not make sense.
    #[error("damaged {kind}: {detail}")]
    Damaged {
        /// Which sort of archive.
        kind: &'static str,
        /// What its reader complained about.
        detail: String,
    },
    /// The name promises an archive that the first bytes deny.
    #[error("named like a {kind} but does not begin like one")]
    NotThatArchive {
        /// What the name promises.
        kind: &'static str,
    },
    /// A password would be needed.
    #[error("encrypted")]
    Encrypted,
    /// The archive uses a compression this build does not read.
    #[error("compressed by a method that is not supported: {method}")]
    Method {
        /// The method as the archive names it.
        method: String,
    },
    /// The archive changed between listing and opening.
    #[error("no longer in the archive")]
    Vanished,
    /// An archive within an archive.
    #[error("an archive inside an archive is not opened")]
    Nested,
    /// Two members of one name: which is meant cannot be said.
    #[error("several members have this name")]
    SameName,
    /// Members share bytes, which only archives made to exhaust a reader do.
    #[error("members of the archive overlap")]
    Overlap,
    /// More than [`Limits::member_bytes`](super::Limits::member_bytes).
    #[error("larger than the limit of {limit} bytes")]
    TooLarge {
        /// The limit met.
        limit: u64,
    },
    /// More than [`Limits::ratio`](super::Limits::ratio).
    #[error("expands to more than {limit} times its compressed size")]
    Ratio {
        /// The limit met.
        limit: u64,
    },
    /// More than [`Limits::members`](super::Limits::members).
    #[error("{found} members, more than the limit of {limit}")]
    TooManyMembers {
        /// How many the archive claims.
        found: u64,
        /// The limit met.
        limit: u64,
    },
    /// More than [`Limits::dictionary_bytes`](super::Limits::dictionary_bytes).
    #[error("decompression needs more memory than the limit of {limit} bytes")]
    Memory {
        /// The limit met.
        limit: u64,
    },
    /// The file is not what it was when it was opened.
    #[error("the file changed while it was read: {before} bytes before, {after} bytes after")]
    Changed {
        /// Size when opened.
        before: u64,
        /// Size now.
        after: u64,
    },
}

impl InputError {
    /// An operating system error with the action that met it.
    pub(crate) fn io(action: impl Into<String>, source: io::Error) -> Self {
        Self::Io { action: action.into(), source }
    }

    /// What to try next, when there is something sensible to say.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Io { source, .. } => io_hint(source.kind()),
            Self::NotAFile | Self::NulInName => None,
            Self::Damaged { .. } => Some("copy the archive again, or extract what is left of it"),
            Self::NotThatArchive { .. } => Some("rename the file to what it is"),
            Self::Encrypted => Some("extract the archive with its password and ingest the files"),
            Self::Method { .. } | Self::Nested | Self::SameName => {
                Some("extract the archive and ingest the files")
            }
            Self::Vanished | Self::Changed { .. } => {
                Some("ingest again when nothing writes the file any more")
            }
            Self::Overlap
            | Self::TooLarge { .. }
            | Self::Ratio { .. }
            | Self::TooManyMembers { .. }
            | Self::Memory { .. } => {
                Some("if you trust the archive, extract it and ingest the files")
            }
        }
    }
}

/// The hint for an operating system error.
fn io_hint(kind: io::ErrorKind) -> Option<&'static str> {
    match kind {
        io::ErrorKind::NotFound => Some("check the spelling; the file may have been removed"),
        io::ErrorKind::PermissionDenied => {
            Some("check its permissions; a recorder may still hold the file")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Some("free space where the lake is: archive members are unpacked there for a while")
        }
        _ => None,
    }
}
