//! One `.etl` file: its header and the index of its buffers, built by reading buffer headers only.
//!
//! Files without compression lie on a grid of equal slots, so a broken slot costs that slot. Files with compressed
//! buffers are a chain of lengths; where it breaks, the next plausible header is searched for. The chain is
//! followed to the end of the file: the number of buffers in the header is never believed.

use std::fmt;
use std::io;
use std::sync::Arc;

use super::buffer::{
    BUFFER_BYTES_MAX, BufferEntry, BufferHeader, FLAG_COMPRESSED, HEADER_BYTES, KIND_HEADER,
    KIND_MAX, PEEK_BYTES, all_zero, first_marker, first_ticks, known_marker, looks_compressed,
};
use super::clock::Clock;
use super::damage::{Damage, DamageKind, DamageLog};
use super::header::{LogHeader, MODE_COMPRESSED, MODE_NO_PER_CPU};
use super::source::{Source, read_full};

/// An opened `.etl` file.
pub struct EtlFile {
    source: Arc<dyn Source>,
    len: u64,
    header: LogHeader,
    buffers: Vec<BufferEntry>,
    damage: DamageLog,
}

/// Why a file cannot be opened.
#[derive(Debug)]
pub enum OpenError {
    /// The file has no bytes.
    Empty,
    /// It is not an event trace, or its first buffer is broken.
    NotEtl {
        /// What is not as it must be.
        reason: &'static str,
        /// Where.
        offset: u64,
    },
    /// It could not be read.
    Io(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Empty => f.write_str("the file is empty"),
            OpenError::NotEtl { reason, offset } => {
                write!(f, "not an event trace: {reason} at offset {offset:#x}")
            }
            OpenError::Io(error) => write!(f, "cannot be read: {error}"),
        }
    }
}

impl std::error::Error for OpenError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            OpenError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for OpenError {
    fn from(error: io::Error) -> OpenError {
        OpenError::Io(error)
    }
}

/// Largest record, as sizes are 16 bits wide.
const RECORD_BYTES_MAX: usize = 0xFFFF;

impl EtlFile {
    /// Reads the header record and the headers of all buffers.
    pub fn open(source: Arc<dyn Source>) -> Result<EtlFile, OpenError> {
        let len = source.len();
        if len == 0 {
            return Err(OpenError::Empty);
        }
        let mut first = vec![0; at_most(len, HEADER_BYTES + RECORD_BYTES_MAX)];
        let read = read_full(source.as_ref(), 0, &mut first)?;
        first.truncate(read);
        let Some(record) = first.get(HEADER_BYTES..).filter(|record| record.len() >= 8) else {
            let reason = "too short for a buffer header";
            return Err(OpenError::NotEtl { reason, offset: 0 });
        };
        let header = LogHeader::parse(record)
            .map_err(|reason| OpenError::NotEtl { reason, offset: HEADER_BYTES as u64 })?;
        let mut index = Index::new(source.as_ref(), len, &header);
        index.check_first(&BufferHeader::read(&first));
        match index.grid(&BufferHeader::read(&first))? {
            Some(stride) => index.walk_grid(stride)?,
            None => index.walk_chain()?,
        }
        let Index { buffers, damage, .. } = index;
        Ok(EtlFile { source, len, header, buffers, damage })
    }

    /// The header record.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// The buffers in file order.
    pub fn buffers(&self) -> &[BufferEntry] {
        &self.buffers
    }

    /// How many buffers are compressed.
    pub fn compressed_buffers(&self) -> usize {
        self.buffers.iter().filter(|buffer| buffer.compressed).count()
    }

    /// Damage found in the chain of buffers, at most `LISTED_MAX` findings of it.
    pub fn damage(&self) -> &[Damage] {
        self.damage.listed()
    }

    /// All damage found in the chain of buffers, with complete counts.
    pub fn damage_log(&self) -> &DamageLog {
        &self.damage
    }

    /// The clock of the header.
    pub fn clock(&self) -> Clock {
        Clock::new(&self.header)
    }

    /// Size of the file when it was opened.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Never true: an empty file does not open.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &dyn Source {
        self.source.as_ref()
    }
}

/// Bytes read at a buffer's start: its header and the beginning of its first record.
const HEAD_BYTES: usize = HEADER_BYTES + PEEK_BYTES;

/// Buffers up to this size are indexed by reading on, larger ones by reading their heads alone.
const READ_ON_BYTES: u32 = 32 << 10;

/// Bytes read at a time when reading on or searching.
const CHUNK_BYTES: usize = 256 << 10;

/// `count` as a length in memory, at most `limit`.
fn at_most(count: u64, limit: usize) -> usize {
    usize::try_from(count).map_or(limit, |count| count.min(limit))
}

/// Builds the index of buffers.
struct Index<'a> {
    source: &'a dyn Source,
    len: u64,
    header: &'a LogHeader,
    buffers: Vec<BufferEntry>,
    damage: DamageLog,
    /// Bytes read last, and where they begin.
    window: Vec<u8>,
    window_at: u64,
    /// Run of zero bytes not yet reported: start and length.
    zeros: Option<(u64, u64)>,
}

impl<'a> Index<'a> {
    fn new(source: &'a dyn Source, len: u64, header: &'a LogHeader) -> Index<'a> {
        Index {
            source,
            len,
            header,
            buffers: Vec::new(),
            damage: DamageLog::default(),
            window: Vec::new(),
            window_at: 0,
            zeros: None,
        }
    }

    /// Up to `HEAD_BYTES` at `at`; fewer at the end of the file.
    fn head(&mut self, at: u64, stride: u32) -> io::Result<&[u8]> {
        let want = at_most(self.len.saturating_sub(at), HEAD_BYTES);
        let inside = at
            .checked_sub(self.window_at)
            .is_some_and(|skip| skip + want as u64 <= self.window.len() as u64);
        if !inside {
            let bytes = if stride <= READ_ON_BYTES { CHUNK_BYTES } else { HEAD_BYTES };
            self.fill(at, bytes)?;
        }
        let skip = (at - self.window_at) as usize;
        let end = (skip + want).min(self.window.len());
        Ok(self.window.get(skip..end).unwrap_or(&[]))
    }

    /// Makes the window the `bytes` at `at`.
    fn fill(&mut self, at: u64, bytes: usize) -> io::Result<()> {
        let bytes = at_most(self.len.saturating_sub(at), bytes);
        self.window.resize(bytes, 0);
        self.window_at = at;
        let read = read_full(self.source, at, &mut self.window)?;
        self.window.truncate(read);
        Ok(())
    }

    /// What is wrong with the first buffer's header although its header record could be read, and the clock.
    fn check_first(&mut self, first: &BufferHeader) {
        if first.kind != KIND_HEADER && !self.header.before_vista() {
            let detail = format!("type {} instead of {KIND_HEADER}", first.kind);
            self.damage.add(DamageKind::BufferHeader, 0, 0, detail);
        }
        if !Clock::new(self.header).rate_known() {
            self.damage.add(DamageKind::Clock, HEADER_BYTES as u64, 0, "");
        }
    }

    /// The size of the slots if the file has equal ones, that is if nothing in it is compressed.
    fn grid(&mut self, first: &BufferHeader) -> io::Result<Option<u32>> {
        let possible = |size: &u32| (HEADER_BYTES as u32..=BUFFER_BYTES_MAX).contains(size);
        let stated = Some(self.header.buffer_size).filter(possible);
        let own = Some(first.size).filter(possible);
        if self.header.before_vista() {
            return Ok(stated.or(own));
        }
        if self.header.log_mode & MODE_COMPRESSED != 0 {
            return Ok(None);
        }
        // Either of the two sizes may be damaged; the next buffers tell which one is not.
        for size in [stated, own].into_iter().flatten() {
            for slot in 1..=3 {
                let at = slot * u64::from(size);
                if at + HEADER_BYTES as u64 > self.len {
                    break;
                }
                let next = BufferHeader::read(self.head(at, size)?);
                if next.size == size && next.filled_possible(size) && next.kind <= KIND_MAX {
                    return Ok(Some(size));
                }
            }
        }
        Ok(if stated == own { stated } else { None })
    }

    /// Indexes a file of equal slots.
    fn walk_grid(&mut self, stride: u32) -> io::Result<()> {
        let mut at = 0;
        while at < self.len {
            self.slot(at, stride)?;
            at += u64::from(stride);
        }
        self.end_zeros();
        Ok(())
    }

    /// Indexes one slot of the grid.
    fn slot(&mut self, at: u64, stride: u32) -> io::Result<()> {
        let there = u64::from(stride).min(self.len - at);
        let before_vista = self.header.before_vista();
        let head = self.head(at, stride)?.to_vec();
        let (Some(bytes), body) = (head.get(..HEADER_BYTES), head.get(HEADER_BYTES..)) else {
            self.tail(at, &head);
            return Ok(());
        };
        let marker = first_marker(body.unwrap_or(&[]));
        if all_zero(bytes) && !known_marker(marker) {
            self.add_zeros(at, there);
            return Ok(());
        }
        self.end_zeros();
        let mut header = BufferHeader::read(bytes);
        let mut wrong = String::new();
        if header.size != stride && !before_vista {
            wrong = format!("size {:#x} instead of {stride:#x}", header.size);
        }
        if header.kind > KIND_MAX && !before_vista {
            wrong = format!("type {}", header.kind);
        }
        let limit = if header.flags & FLAG_COMPRESSED != 0 && looks_compressed(marker) {
            BUFFER_BYTES_MAX
        } else {
            stride
        };
        let open_ended = !header.filled_possible(limit);
        if open_ended {
            wrong = format!("filled length {:#x}", header.filled);
            header.filled = stride;
        }
        // A header that is wrong counts all the same when a record follows it: what it lacks is known from the
        // grid. Without a CPU that there is, nothing tells whose events these are: the buffer is lost.
        let readable = known_marker(marker) && self.cpu_possible(at, &header);
        if !wrong.is_empty() && !readable {
            self.damage.add(DamageKind::BufferHeader, at, there, wrong);
            return Ok(());
        }
        if !wrong.is_empty() {
            self.damage.add(DamageKind::BufferHeader, at, 0, wrong);
        }
        header.size = stride;
        self.push(at, &header, there as u32, open_ended, body.unwrap_or(&[]));
        Ok(())
    }

    /// Indexes a file whose buffers differ in size.
    fn walk_chain(&mut self) -> io::Result<()> {
        let mut at = 0;
        while at < self.len {
            let head = self.head(at, BUFFER_BYTES_MAX)?.to_vec();
            if head.len() < HEADER_BYTES {
                self.tail(at, &head);
                break;
            }
            at = self.link(at, &head)?;
        }
        Ok(())
    }

    /// Indexes the buffer at `at` of a chain and gives the position of the next one.
    fn link(&mut self, at: u64, head: &[u8]) -> io::Result<u64> {
        let (bytes, body) = head.split_at(HEADER_BYTES.min(head.len()));
        let mut header = BufferHeader::read(bytes);
        let marker = first_marker(body);
        let next = at + u64::from(header.size);
        let holds = header.size_possible() && self.header_or_end_at(next)?;
        if !self.plausible(&header, marker) {
            // With the chain intact the buffer can be stepped over, or read if its records are plain.
            let salvage = holds && known_marker(marker) && self.cpu_possible(at, &header);
            let end = match holds {
                true => next,
                false => self.search(at + 1)?.unwrap_or(self.len),
            };
            let lost = if salvage { 0 } else { end - at };
            if all_zero(bytes) {
                self.damage.add(DamageKind::Zeros, at, lost, "");
            } else {
                let (size, filled) = (header.size, header.filled);
                let detail = format!("size {size:#x}, filled length {filled:#x}");
                self.damage.add(DamageKind::BufferHeader, at, lost, detail);
            }
            if salvage {
                header.filled = header.size;
                header.flags &= !FLAG_COMPRESSED;
                self.push(at, &header, header.size, true, body);
            }
            return Ok(end);
        }
        let mut end = next.min(self.len);
        if !holds {
            // Either this size is wrong or the next header is: a header before the stated end decides.
            if let Some(found) = self.search(at + HEADER_BYTES as u64)?
                && found < next
            {
                let detail = format!("size {:#x} reaches over the next buffer", header.size);
                self.damage.add(DamageKind::BufferHeader, at, 0, detail);
                header.size = (found - at) as u32;
                end = found;
            }
        }
        self.push(at, &header, (end - at) as u32, false, body);
        Ok(end)
    }

    /// Whether a buffer of a chain can have this header.
    fn plausible(&self, header: &BufferHeader, marker: u32) -> bool {
        let limit = if looks_compressed(marker) { BUFFER_BYTES_MAX } else { header.size };
        header.size_possible() && header.filled_possible(limit) && header.kind <= KIND_MAX
    }

    /// Whether at `at` the file ends, or a plausible buffer begins.
    fn header_or_end_at(&mut self, at: u64) -> io::Result<bool> {
        if at >= self.len {
            return Ok(at == self.len);
        }
        let head = self.head(at, BUFFER_BYTES_MAX)?;
        if head.len() < HEADER_BYTES {
            return Ok(false);
        }
        let header = BufferHeader::read(head);
        let marker = first_marker(&head[HEADER_BYTES..]);
        Ok(self.plausible(&header, marker))
    }

    /// Searches for the next buffer header from `from` on. It must agree in every field that is the same in all buffers.
    fn search(&mut self, from: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        while at + HEADER_BYTES as u64 <= self.len {
            self.fill(at, CHUNK_BYTES)?;
            if self.window.len() < HEADER_BYTES {
                break;
            }
            let window = std::mem::take(&mut self.window);
            let found = window.windows(HEADER_BYTES).position(|bytes| self.surely_header(bytes));
            self.window = window;
            if let Some(skip) = found {
                return Ok(Some(at + skip as u64));
            }
            at += (self.window.len() - HEADER_BYTES + 1) as u64;
        }
        Ok(None)
    }

    fn surely_header(&self, bytes: &[u8]) -> bool {
        // The state is 3 and the type 0 in every data buffer; nearly all positions fail here.
        if bytes[0x2C..0x30] != [3, 0, 0, 0] || bytes[0x36..0x38] != [0, 0] {
            return false;
        }
        let header = BufferHeader::read(bytes);
        let limit = match self.header.buffer_size {
            size if size > HEADER_BYTES as u32 && size <= BUFFER_BYTES_MAX => size,
            _ => BUFFER_BYTES_MAX,
        };
        let logger_id = self.buffers.last().map(|buffer| buffer.logger_id);
        header.size_possible()
            && header.filled_possible(limit)
            && header.saved == header.filled
            && header.reference_count == 0
            && header.flags & !0x7F == 0
            && logger_id.is_none_or(|id| id == header.logger_id)
    }

    /// The last bytes of a file, too few for a buffer header.
    fn tail(&mut self, at: u64, bytes: &[u8]) {
        if all_zero(bytes) {
            self.add_zeros(at, bytes.len() as u64);
            return;
        }
        self.end_zeros();
        let detail = "less than a buffer header is left";
        self.damage.add(DamageKind::Truncated, at, bytes.len() as u64, detail);
    }

    /// Whether the machine has the CPU that a buffer names. Sessions without a stream per CPU name none.
    fn cpu_possible(&self, at: u64, header: &BufferHeader) -> bool {
        let cpus = self.header.cpus;
        let per_cpu = self.header.log_mode & MODE_NO_PER_CPU == 0;
        let cpu = header.cpu(self.header.before_vista());
        at == 0 || !per_cpu || cpus <= 1 || u32::from(cpu) < cpus
    }

    /// Adds a buffer to the index. `there` is how many of its bytes are in the file.
    fn push(&mut self, at: u64, header: &BufferHeader, there: u32, open_ended: bool, body: &[u8]) {
        let before_vista = self.header.before_vista();
        let flags = if before_vista { 0 } else { header.flags };
        let marker = first_marker(body);
        let has_data = header.filled as usize > HEADER_BYTES;
        let flagged = flags & FLAG_COMPRESSED != 0;
        // What fills more than its buffer takes in the file can only be compressed.
        let compressed = has_data
            && looks_compressed(marker)
            && (flagged || header.filled > header.size)
            && body.len() >= 4;
        if has_data && flagged && !compressed && body.len() >= 4 {
            let detail = "marked as compressed, but plain";
            self.damage.add(DamageKind::BufferHeader, at, 0, detail);
        }
        let cpu = if at == 0 { 0 } else { header.cpu(before_vista) };
        if !self.cpu_possible(at, header) {
            let cpus = self.header.cpus;
            self.damage.add(DamageKind::CpuIndex, at, 0, format!("cpu {cpu} of {cpus}"));
        }
        if compressed && header.filled > self.header.buffer_size {
            let detail = format!("filled length {:#x} beyond the session's", header.filled);
            self.damage.add(DamageKind::BufferHeader, at, 0, detail);
        }
        self.buffers.push(BufferEntry {
            offset: at,
            file_bytes: there,
            filled: header.filled,
            cpu,
            flags,
            kind: if before_vista && at == 0 { KIND_HEADER } else { header.kind },
            logger_id: header.logger_id,
            sequence: if before_vista { 0 } else { header.sequence },
            compressed,
            truncated: there < header.size,
            open_ended,
            first_ticks: first_ticks(body, compressed, header.filled),
        });
    }

    fn add_zeros(&mut self, at: u64, bytes: u64) {
        let (start, length) = self.zeros.unwrap_or((at, 0));
        self.zeros = Some((start, length + bytes));
    }

    fn end_zeros(&mut self) {
        if let Some((start, length)) = self.zeros.take() {
            self.damage.add(DamageKind::Zeros, start, length, "");
        }
    }
}
