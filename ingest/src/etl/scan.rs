//! Every record of a file once, in file order, by large sequential reads. The survey pass uses it.

use std::io;

use super::buffer::{settle, unpack};
use super::damage::DamageLog;
use super::file::EtlFile;
use super::record::{RawEvent, Walker};
use super::source::read_full;
use super::xpress::Ending;

/// Bytes read at a time: enough that reading costs little, little enough to stay in the CPU's cache.
const WINDOW_BYTES: usize = 1 << 20;

/// What a pass over one file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanReport {
    /// Records delivered.
    pub records: u64,
    /// Bytes of those records.
    pub bytes: u64,
    /// Buffers read.
    pub buffers: u64,
    /// Buffers in which something was wrong.
    pub damaged_buffers: u64,
    /// What was wrong in buffers; what was wrong between them is in the file's own log.
    pub damage: DamageLog,
    /// Records that were earlier than the record before them in their buffer.
    pub inversions: u64,
    /// Earliest and latest time of a record, if there is one.
    pub ticks: Option<(i64, i64)>,
}

impl ScanReport {
    /// Bytes lost inside buffers.
    pub fn bytes_lost(&self) -> u64 {
        self.damage.bytes_lost()
    }

    /// Counts one delivered record.
    #[inline]
    pub(crate) fn count(&mut self, event: &RawEvent<'_>) {
        self.records += 1;
        self.bytes += u64::from(event.bytes);
        self.ticks = match self.ticks {
            Some((low, high)) => Some((low.min(event.ticks), high.max(event.ticks))),
            None => Some((event.ticks, event.ticks)),
        };
    }
}

/// Delivers every record of every buffer in file order.
pub fn scan<F>(file: &EtlFile, on_event: F) -> Result<ScanReport, io::Error>
where
    F: FnMut(&RawEvent<'_>),
{
    scan_window(file, true, |_| {}, on_event)
}

/// Like [`scan`], and hands every byte of the file to `on_bytes` once and in order (for a content hash).
pub fn scan_with_bytes<B, F>(
    file: &EtlFile,
    on_bytes: B,
    on_event: F,
) -> Result<ScanReport, io::Error>
where
    B: FnMut(&[u8]),
    F: FnMut(&RawEvent<'_>),
{
    scan_window(file, false, on_bytes, on_event)
}

fn scan_window<B, F>(
    file: &EtlFile,
    skip_gaps: bool,
    on_bytes: B,
    mut on_event: F,
) -> Result<ScanReport, io::Error>
where
    B: FnMut(&[u8]),
    F: FnMut(&RawEvent<'_>),
{
    let mut report = ScanReport::default();
    let mut window = Window { file, skip_gaps, on_bytes, data: Vec::new(), start: 0, valid: 0 };
    let mut unpacked = Vec::new();
    for entry in file.buffers() {
        let raw = window.get(entry.offset, entry.file_bytes as usize)?;
        let (data, ending) = if entry.compressed {
            let (valid, ending) = unpack(entry, raw, &mut unpacked);
            (&unpacked[..valid], ending)
        } else {
            (&raw[..raw.len().min(entry.filled as usize)], Ending::Complete)
        };
        let anchor = file.header().header_ticks;
        let mut walker = Walker::start(data, entry.context(file.header()), anchor);
        for event in &mut walker {
            report.count(&event);
            on_event(&event);
        }
        report.buffers += 1;
        report.inversions += walker.place.inversions;
        let damaged = settle(entry, data, ending, &walker.place, &mut report.damage);
        report.damaged_buffers += u64::from(damaged);
    }
    window.finish()?;
    Ok(report)
}

/// A stretch of the file that moves forward.
struct Window<'a, B> {
    file: &'a EtlFile,
    /// Whether bytes between buffers need not be read.
    skip_gaps: bool,
    on_bytes: B,
    data: Vec<u8>,
    /// File offset of `data[0]`.
    start: u64,
    /// How much of `data` holds bytes of the file.
    valid: usize,
}

impl<B: FnMut(&[u8])> Window<'_, B> {
    /// `count` bytes at `offset`, which never lies before an earlier one; fewer where the file has shrunk.
    fn get(&mut self, offset: u64, count: usize) -> io::Result<&[u8]> {
        while offset + count as u64 > self.start + self.valid as u64 {
            if !self.advance(offset, count)? {
                break;
            }
        }
        let skip = ((offset - self.start) as usize).min(self.valid);
        Ok(&self.data[skip..(skip + count).min(self.valid)])
    }

    /// Drops what lies before `offset` and reads on; `false` at the end of the file.
    fn advance(&mut self, offset: u64, count: usize) -> io::Result<bool> {
        let end = self.start + self.valid as u64;
        if offset < end {
            let skip = (offset - self.start) as usize;
            self.data.copy_within(skip..self.valid, 0);
            self.start = offset;
            self.valid -= skip;
        } else {
            self.start = if self.skip_gaps { offset } else { end };
            self.valid = 0;
        }
        let left = usize::try_from(self.file.len() - self.start.min(self.file.len()));
        let capacity = count.max(WINDOW_BYTES.min(left.unwrap_or(WINDOW_BYTES)));
        if self.data.len() < capacity {
            self.data.resize(capacity, 0);
        }
        let at = self.start + self.valid as u64;
        let room = self.file.len().saturating_sub(at).min((self.data.len() - self.valid) as u64);
        let target = &mut self.data[self.valid..self.valid + room as usize];
        let read = read_full(self.file.source(), at, target)?;
        (self.on_bytes)(&self.data[self.valid..self.valid + read]);
        self.valid += read;
        Ok(read > 0)
    }

    /// Reads what follows the last buffer, if every byte is wanted.
    fn finish(&mut self) -> io::Result<()> {
        while !self.skip_gaps && self.advance(self.start + self.valid as u64, 0)? {}
        Ok(())
    }
}
