//! One input and its bytes: a plain file read by position, or a temporary copy of what an archive
//! holds. Called by the job.
//!
//! Files are not mapped: a mapped file that shrinks kills the process.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::archive::{self, ArchiveKind, StreamKind};
use super::limits::{CopyError, copy_within};
use super::scan::file_name;
use super::{InputError, Limits};
use crate::etl;

/// One trace file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    /// The path as the user would recognise it and as it is stored: `traces/a.etl`,
    /// `traces/b.zip!x/a.etl`. Text only; what is not Unicode in it is replaced.
    pub path: String,
    /// The path relative to its argument, with forward slashes.
    pub relative: String,
    /// Size of the content in bytes where the file system or the archive says so.
    pub bytes: Option<u64>,
    pub(crate) place: Place,
}

/// Where the bytes of an input are.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A file as it is.
    File(PathBuf),
    /// A file that is one compressed stream.
    Stream(PathBuf, StreamKind),
    /// A member of an archive, by its position and its name.
    Member(PathBuf, ArchiveKind, usize, String),
}

impl Place {
    /// The file to open.
    pub(crate) fn file(&self) -> &Path {
        match self {
            Self::File(path) | Self::Stream(path, _) | Self::Member(path, ..) => path,
        }
    }
}

impl Input {
    /// The file name, inside its archive if it is in one. `path` and `relative` end in it.
    pub fn name(&self) -> &str {
        let inner = match &self.place {
            // A member's name follows the archive's path in both texts.
            Place::Member(.., name) => {
                let at = self.path.len().saturating_sub(name.len());
                self.path.get(at..).unwrap_or(&self.path)
            }
            Place::File(_) | Place::Stream(..) => &self.path,
        };
        file_name(inner)
    }

    /// Opens the input. Members of archives are unpacked into an unnamed file in `scratch`, which
    /// is gone when the result is dropped and when the process dies.
    pub fn open(&self, limits: &Limits, scratch: &Path) -> Result<OpenInput, InputError> {
        if let Place::File(path) = &self.place {
            let file = open_regular(path)?;
            return OpenInput::over(file, Some(path.clone()));
        }
        let mut copy = tempfile::tempfile_in(scratch)
            .map_err(|error| InputError::io("make a file to unpack into", error))?;
        self.pour(limits, &mut copy)?;
        OpenInput::over(copy, None)
    }

    /// The first bytes of the content, at most `count`; less only where the content is shorter.
    pub fn read_head(&self, limits: &Limits, count: usize) -> Result<Vec<u8>, InputError> {
        let mut head = Head { bytes: Vec::new(), count };
        match self.pour(limits, &mut head) {
            Err(_) if head.bytes.len() == count => Ok(head.bytes),
            Err(error) => Err(error),
            Ok(()) => Ok(head.bytes),
        }
    }

    /// The blake3 hash of the content.
    pub fn content_hash(&self, limits: &Limits) -> Result<[u8; 32], InputError> {
        let mut hasher = blake3::Hasher::new();
        self.pour(limits, &mut hasher)?;
        Ok(*hasher.finalize().as_bytes())
    }

    /// Writes the whole content into `to`.
    fn pour(&self, limits: &Limits, to: &mut dyn Write) -> Result<(), InputError> {
        match &self.place {
            Place::File(path) => pour_file(path, to),
            Place::Stream(path, kind) => archive::unpack_stream(path, *kind, limits, to),
            Place::Member(path, kind, index, name) => {
                archive::unpack_member(path, *kind, *index, name, limits, to)
            }
        }
    }
}

/// Copies a plain file.
fn pour_file(path: &Path, to: &mut dyn Write) -> Result<(), InputError> {
    let mut file = open_regular(path)?;
    // A plain file has no limit: it is as large as it is, and nothing is stored of it here.
    let unlimited = Limits { member_bytes: u64::MAX, ratio: u64::MAX, ..Limits::default() };
    match copy_within(&unlimited, u64::MAX, &mut file, to) {
        Ok(_) => Ok(()),
        Err(CopyError::Read(error)) => Err(InputError::io("read", error)),
        Err(CopyError::Write(error)) => Err(InputError::io("write", error)),
        Err(CopyError::Limit(error)) => Err(error),
    }
}

/// Opens a file for reading, refusing folders and pipes: opening a pipe would wait for ever.
pub(crate) fn open_regular(path: &Path) -> Result<File, InputError> {
    let metadata = fs::metadata(path).map_err(|error| InputError::io("open", error))?;
    if !metadata.is_file() {
        return Err(InputError::NotAFile);
    }
    File::open(path).map_err(|error| InputError::io("open", error))
}

/// A writer that is content with the first bytes.
struct Head {
    bytes: Vec<u8>,
    count: usize,
}

impl Write for Head {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let room = self.count - self.bytes.len();
        if room == 0 {
            return Err(io::Error::other("enough"));
        }
        let taken = room.min(data.len());
        self.bytes.extend_from_slice(&data[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An input whose bytes can be read at any position, by several threads at once.
#[derive(Debug)]
pub struct OpenInput {
    file: Arc<FileSource>,
    /// The file itself where it is read in place, to see later whether it is still the same.
    path: Option<PathBuf>,
}

impl OpenInput {
    fn over(file: File, path: Option<PathBuf>) -> Result<Self, InputError> {
        let length = file.metadata().map_err(|error| InputError::io("open", error))?.len();
        Ok(Self { file: Arc::new(FileSource { file, length }), path })
    }

    /// The bytes, for the container decoder.
    pub fn source(&self) -> Arc<dyn etl::Source> {
        self.file.clone()
    }

    /// Size of the content in bytes, as of opening.
    pub fn len(&self) -> u64 {
        self.file.length
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.file.length == 0
    }

    /// Whether the file is still as long as it was, asked after the last byte was read: a file
    /// that a recorder still writes is read up to where it was when it was opened.
    pub fn check_unchanged(&self) -> Result<(), InputError> {
        if self.path.is_none() {
            return Ok(());
        }
        let metadata = self.file.file.metadata();
        let after = metadata.map_err(|error| InputError::io("look at", error))?.len();
        if after == self.file.length {
            return Ok(());
        }
        Err(InputError::Changed { before: self.file.length, after })
    }
}

/// A file read by position.
#[derive(Debug)]
struct FileSource {
    file: File,
    /// Size when opened; later growth is not read.
    length: u64,
}

impl FileSource {
    #[cfg(unix)]
    fn read_once(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, into, offset)
    }

    #[cfg(windows)]
    fn read_once(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(&self.file, into, offset)
    }

    /// Reads until `into` is full or the content ends; returns the bytes read.
    fn read_full(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        let room = self.length.saturating_sub(offset);
        let want = into.len().min(usize::try_from(room).unwrap_or(usize::MAX));
        let mut filled = 0;
        while filled < want {
            match self.read_once(offset + filled as u64, &mut into[filled..want]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(filled)
    }
}

impl etl::Source for FileSource {
    fn read_at(&self, offset: u64, into: &mut [u8]) -> io::Result<usize> {
        self.read_full(offset, into)
    }

    fn len(&self) -> u64 {
        self.length
    }
}

/// Reads the beginning of a file; for telling archives by their first bytes.
pub(crate) fn first_bytes(path: &Path, count: usize) -> Result<Vec<u8>, InputError> {
    let mut bytes = Vec::new();
    let file = open_regular(path)?;
    file.take(count as u64)
        .read_to_end(&mut bytes)
        .map_err(|error| InputError::io("read", error))?;
    Ok(bytes)
}
