//! Names for the addresses of frames, on any operating system, offline first, at ingest or weeks later without
//! the recordings.
//!
//! ```text
//! path     what the user wrote        -> places
//! identity what a trace recorded      -> safe file names and ids
//! find     places, name, id           -> a file whose identity agrees   (http: from a server the user named)
//! pdb      that file, addresses       -> names, offsets, lines          (image: exports, where only the binary is there)
//! resolve  one module                 -> its names
//! lake     all modules of a lake      -> rows of the table `symbol`
//! table    Parquet files              <-> rows
//! report   a lake                     -> the modules whose names are missed most
//! ```
//!
//! A wrong, cut or hostile file costs that file: it becomes a [`Complaint`], and the search goes on.
//! Called by the command line for `ingest --symbols` and `symbols`.

mod contain;
mod find;
mod http;
mod identity;
mod image;
mod lake;
mod name;
mod path;
mod pdb;
mod report;
mod resolve;
mod table;
#[cfg(test)]
mod tests;

use std::fmt;
use std::path::{Path, PathBuf};

pub use identity::{FileName, ImageKey, ModuleIdentity, PdbKey};
pub use lake::{SYMBOLS_FOLDER, SymbolProgress, SymbolReport, symbolize_lake};
pub use path::{ENVIRONMENT_VARIABLE, Entry, Store, SymbolPath};
pub use report::{MissingModule, symbol_report};
pub use resolve::{ModuleNames, NameSource, Named, Resolver, SymbolOptions};

/// Why symbols cannot be looked up at all.
#[derive(Debug, thiserror::Error)]
pub enum SymbolError {
    /// An entry of the symbol path that cannot be understood.
    #[error("symbol path entry {entry}: {reason}")]
    Path {
        /// The entry as written.
        entry: String,
        /// What is expected.
        reason: &'static str,
    },
    /// A file or folder of the lake that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A table of the lake that is not what it must be.
    #[error("{}: {reason}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The threads for the lookup cannot be started.
    #[error("threads: {0}")]
    Threads(String),
}

impl SymbolError {
    fn io(path: &Path, source: std::io::Error) -> SymbolError {
        SymbolError::Io { path: path.to_owned(), source }
    }

    fn table(path: &Path, reason: &dyn fmt::Display) -> SymbolError {
        SymbolError::Table { path: path.to_owned(), reason: reason.to_string() }
    }
}

/// What was wrong with a file that had the right name and place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trouble {
    /// Another build: the GUID differs.
    WrongGuid,
    /// Another state of the same PDB: the age differs.
    WrongAge,
    /// Another build of the image: timestamp or size differs.
    WrongImage,
    /// Not what its name says, or cut, or corrupt.
    Damaged,
    /// The reader panicked on it, which is contained.
    Panicked,
    /// It cannot be opened, read, unpacked or downloaded.
    Unreadable,
}

/// One file that was looked at in vain.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Complaint {
    /// The file that was looked for.
    pub file: String,
    /// Its id in a store.
    pub id: String,
    /// The path or address of the candidate.
    pub place: String,
    /// The kind of trouble, for counting.
    pub trouble: Trouble,
    /// What exactly, for people.
    pub detail: String,
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {}", self.file, self.place, self.detail)
    }
}
