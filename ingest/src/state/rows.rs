//! Rows that wait: a switch is complete only when its run has ended and its stacks have come, which may be
//! seconds later. Rows stay in order; those that still wait when memory is used up go to a temporary file.
//!
//! The newest rows always stay reachable, so that late stacks find them. A row that is *open* (its run has not
//! ended) is never given out; at most one row per CPU is. Used by the scheduler and by the sample table.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// Rows in a chunk.
const CHUNK_ROWS: usize = 4096;

/// Number of a row, counted from the start of the recording.
pub type Seq = u64;

/// No row.
pub const NO_SEQ: Seq = Seq::MAX;

enum Place<T> {
    Memory(Vec<T>),
    /// Offset in the temporary file.
    File(u64),
}

struct Chunk<T> {
    place: Place<T>,
    rows: usize,
    open: usize,
}

/// Rows in order, some of them waiting.
pub struct RowStore<T> {
    chunks: VecDeque<Chunk<T>>,
    /// Number of the first row still here; always the first of a chunk.
    first: Seq,
    next: Seq,
    keep: usize,
    in_memory: usize,
    scratch: PathBuf,
    file: Option<File>,
    file_end: u64,
    free: Vec<u64>,
    spare: Vec<Vec<T>>,
}

impl<T: Copy + FromBytes + IntoBytes + Immutable> RowStore<T> {
    /// A store that keeps the newest `keep` rows reachable and writes what does not fit to `scratch`.
    pub fn new(keep: usize, scratch: &Path) -> RowStore<T> {
        RowStore {
            chunks: VecDeque::new(),
            first: 0,
            next: 0,
            keep,
            in_memory: 0,
            scratch: scratch.to_owned(),
            file: None,
            file_end: 0,
            free: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Appends a row; an open one must be closed before it can be given out.
    pub fn push(&mut self, row: T, open: bool) -> Seq {
        if self.chunks.back().is_none_or(|chunk| chunk.rows == CHUNK_ROWS) {
            let rows = self.spare.pop().unwrap_or_else(|| Vec::with_capacity(CHUNK_ROWS));
            self.chunks.push_back(Chunk { place: Place::Memory(rows), rows: 0, open: 0 });
        }
        let chunk = self.chunks.back_mut().expect("a chunk was just made sure of");
        if let Place::Memory(rows) = &mut chunk.place {
            rows.push(row);
        }
        chunk.rows += 1;
        chunk.open += usize::from(open);
        self.in_memory += 1;
        self.next += 1;
        self.next - 1
    }

    fn locate(&self, seq: Seq) -> Option<(usize, usize)> {
        let distance = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        (seq < self.next).then_some((distance / CHUNK_ROWS, distance % CHUNK_ROWS))
    }

    /// Changes a row that is still here; false if it is not.
    pub fn update(&mut self, seq: Seq, change: impl FnOnce(&mut T)) -> io::Result<bool> {
        let Some((chunk, at)) = self.locate(seq) else { return Ok(false) };
        match &mut self.chunks[chunk].place {
            Place::Memory(rows) => change(&mut rows[at]),
            Place::File(offset) => {
                let Some(file) = self.file.as_mut() else { return Ok(false) };
                let place = *offset + (at * size_of::<T>()) as u64;
                file.seek(SeekFrom::Start(place))?;
                let mut row = T::new_zeroed();
                read_rows(file, std::slice::from_mut(&mut row))?;
                change(&mut row);
                file.seek(SeekFrom::Start(place))?;
                file.write_all(row.as_bytes())?;
            }
        }
        Ok(true)
    }

    /// Closes an open row.
    pub fn close(&mut self, seq: Seq) {
        if let Some((chunk, _)) = self.locate(seq) {
            let open = &mut self.chunks[chunk].open;
            *open = open.saturating_sub(1);
        }
    }

    /// Gives out the oldest rows that no longer wait, as far as there are more than are to be kept.
    /// With `all`, every row.
    pub fn drain(
        &mut self,
        all: bool,
        mut out: impl FnMut(&T) -> io::Result<()>,
    ) -> io::Result<()> {
        while let Some(chunk) = self.chunks.front() {
            let beyond = (self.next - self.first) as usize >= self.keep + CHUNK_ROWS;
            if !all && (!beyond || chunk.open > 0) {
                break;
            }
            let Some(chunk) = self.chunks.pop_front() else { break };
            self.first += chunk.rows as u64;
            match chunk.place {
                Place::Memory(mut rows) => {
                    self.in_memory -= rows.len();
                    rows.iter().try_for_each(&mut out)?;
                    rows.clear();
                    self.spare.push(rows);
                }
                Place::File(offset) => {
                    let mut rows = self.spare.pop().unwrap_or_default();
                    self.read_chunk(offset, chunk.rows, &mut rows)?;
                    self.free.push(offset);
                    rows.iter().try_for_each(&mut out)?;
                    rows.clear();
                    self.spare.push(rows);
                }
            }
        }
        self.spare.truncate(2);
        if self.in_memory > 2 * self.keep + 2 * CHUNK_ROWS { self.spill() } else { Ok(()) }
    }

    fn read_chunk(&mut self, offset: u64, count: usize, rows: &mut Vec<T>) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.seek(SeekFrom::Start(offset))?;
        rows.clear();
        rows.resize(count, T::new_zeroed());
        read_rows(file, rows)
    }

    /// Moves the oldest chunks that are in memory to the file.
    fn spill(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(tempfile::tempfile_in(&self.scratch)?);
        }
        let chunk_bytes = (CHUNK_ROWS * size_of::<T>()) as u64;
        for chunk in &mut self.chunks {
            if self.in_memory <= self.keep + CHUNK_ROWS {
                break;
            }
            let Place::Memory(rows) = &mut chunk.place else { continue };
            let Some(file) = self.file.as_mut() else { break };
            let offset = self.free.pop().unwrap_or_else(|| {
                let end = self.file_end;
                self.file_end += chunk_bytes;
                end
            });
            let mut bytes = Vec::with_capacity(rows.len() * size_of::<T>());
            rows.iter().for_each(|row| bytes.extend_from_slice(row.as_bytes()));
            file.seek(SeekFrom::Start(offset))?;
            file.write_all(&bytes)?;
            self.in_memory -= rows.len();
            chunk.place = Place::File(offset);
        }
        Ok(())
    }
}

/// Fills `rows` from where the file stands, in one read.
fn read_rows<T: FromBytes + IntoBytes>(file: &mut File, rows: &mut [T]) -> io::Result<()> {
    file.read_exact(rows.as_mut_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_out_in_order_and_as_changed_also_from_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let mut store: RowStore<u64> = RowStore::new(CHUNK_ROWS, scratch.path());
        let mut seen = Vec::new();
        let total = 20 * CHUNK_ROWS as u64;
        for value in 0..total {
            // The first row stays open, so that nothing can be given out and chunks go to the file.
            let seq = store.push(value, value == 0);
            assert_eq!(seq, value);
            if value % 1000 == 0 {
                store
                    .drain(false, |row| {
                        seen.push(*row);
                        Ok(())
                    })
                    .unwrap();
            }
        }
        assert!(seen.is_empty());
        assert!(store.in_memory < 4 * CHUNK_ROWS, "{} rows in memory", store.in_memory);
        assert!(store.update(7, |row| *row = 7_000_000).unwrap());
        store.close(0);
        store
            .drain(false, |row| {
                seen.push(*row);
                Ok(())
            })
            .unwrap();
        assert!(seen.len() as u64 >= total - 2 * CHUNK_ROWS as u64);
        assert!(!store.update(7, |_| ()).unwrap(), "it has been given out");
        store
            .drain(true, |row| {
                seen.push(*row);
                Ok(())
            })
            .unwrap();
        let mut expected: Vec<u64> = (0..total).collect();
        expected[7] = 7_000_000;
        assert_eq!(seen, expected);
    }
}
