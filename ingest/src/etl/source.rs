//! Where the bytes of a recording come from: a file read by position, or memory.
//!
//! Files are read into reused buffers and never mapped: a mapped file that shrinks kills the process.

use std::fs::File;
use std::io;

/// Bytes that can be read at any position, from several threads.
pub trait Source: Send + Sync {
    /// Reads up to `buf.len()` bytes at `offset`; 0 means the end.
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize>;

    /// How many bytes there are.
    fn len(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Source for File {
    #[cfg(unix)]
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buf, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        std::os::windows::fs::FileExt::seek_read(self, buf, offset)
    }

    fn len(&self) -> u64 {
        // A file whose length cannot be told reads as empty, which opening it then reports.
        self.metadata().map_or(0, |metadata| metadata.len())
    }
}

impl Source for [u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|at| self.get(at..)).unwrap_or(&[]);
        let count = rest.len().min(buf.len());
        buf[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }

    fn len(&self) -> u64 {
        <[u8]>::len(self) as u64
    }
}

impl Source for &[u8] {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        Source::read_at(*self, offset, buf)
    }

    fn len(&self) -> u64 {
        Source::len(*self)
    }
}

impl Source for Vec<u8> {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        Source::read_at(self.as_slice(), offset, buf)
    }

    fn len(&self) -> u64 {
        Source::len(self.as_slice())
    }
}

/// Reads until `buf` is full or the source ends; gives the bytes read.
pub(crate) fn read_full(source: &dyn Source, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
    let mut done = 0;
    while done < buf.len() {
        match source.read_at(offset + done as u64, &mut buf[done..]) {
            Ok(0) => break,
            Ok(count) => done += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(done)
}
