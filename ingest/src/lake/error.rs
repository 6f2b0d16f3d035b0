//! What can go wrong with a lake, in words for people. Called by everything under `lake`.

use std::io;
use std::path::{Path, PathBuf};

/// Why a lake cannot be used, or a recording not be published.
#[derive(Debug, thiserror::Error)]
pub enum LakeError {
    /// The folder holds other things.
    #[error("not a lake: {dir}")]
    NotALake {
        /// The folder as given.
        dir: PathBuf,
    },
    /// A file where the lake's folder was expected.
    #[error("not a folder: {dir}")]
    NotAFolder {
        /// The path as given.
        dir: PathBuf,
    },
    /// No such lake.
    #[error("no lake: {dir}")]
    Missing {
        /// The folder as given.
        dir: PathBuf,
    },
    /// Written in another layout.
    #[error("lake of format {found}, this etwas knows format {known}: {dir}")]
    OtherFormat {
        /// The folder as given.
        dir: PathBuf,
        /// What the lake's marker says.
        found: u64,
        /// What this build writes and reads.
        known: u64,
    },
    /// Written table by table, for reading only.
    #[error("a compact lake is only read: {dir}")]
    Compact {
        /// The folder as given.
        dir: PathBuf,
    },
    /// The marker or a manifest does not make sense.
    #[error("{what} is damaged: {path}: {detail}")]
    Damaged {
        /// "marker of the lake" or "manifest".
        what: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        detail: String,
    },
    /// The operating system refused.
    #[error("cannot {action} {path}: {}", reason(source))]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Every trace id after this one is taken by other content.
    #[error("no free trace id after {first}")]
    NoFreeId {
        /// The id that the content asks for.
        first: u64,
    },
}

impl LakeError {
    /// An operating system error, with what was tried on what.
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    /// What to try next.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotALake { .. } => Some("name a new or empty folder with --lake"),
            Self::NotAFolder { .. } => Some("name a folder with --lake"),
            Self::Missing { .. } => Some("make one with etwas ingest INPUT --lake DIR"),
            Self::OtherFormat { .. } => {
                Some("ingest the traces again into a new folder, with --lake")
            }
            Self::Damaged { .. } => Some("ingest the trace again with --force"),
            Self::Compact { .. } => {
                Some("change the lake that it was made from, then run etwas compact again")
            }
            Self::NoFreeId { .. } => None,
            Self::Io { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull => Some("free space, then run the same command again"),
                io::ErrorKind::QuotaExceeded => {
                    Some("ask for more room or free some, then run the same command again")
                }
                io::ErrorKind::PermissionDenied => Some("check who may write to the lake"),
                io::ErrorKind::ReadOnlyFilesystem => Some("name a writable folder with --lake"),
                io::ErrorKind::CrossesDevices => Some(
                    "the lake must be on one file system: nothing in it may be mounted or linked",
                ),
                _ => None,
            },
        }
    }
}

/// The system's words are many; the common cases are said the same way everywhere.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::StorageFull => "the disk is full".to_owned(),
        io::ErrorKind::QuotaExceeded => "the quota is used up".to_owned(),
        io::ErrorKind::PermissionDenied => "no permission".to_owned(),
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
        io::ErrorKind::CrossesDevices => "it is on another file system".to_owned(),
        _ => error.to_string(),
    }
}
