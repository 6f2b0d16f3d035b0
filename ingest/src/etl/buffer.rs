//! One buffer of a recording: its header of 0x48 bytes, its entry in a file's index, and its records' bytes.
//!
//! Only what the facts call reliable is used: BufferSize, SequenceNumber, CPU, Offset, flags and type.
//! SavedOffset, CurrentOffset and TimeStamp are not. `file.rs` builds entries, `scan.rs` and `merge.rs` read them.

use super::bytes::{i64_at, u8_at, u16_at, u32_at};
use super::damage::{DamageKind, DamageLog};
use super::header::LogHeader;
use super::record::{BufferContext, Place, Stop};
use super::xpress::{self, Ending};

/// Size of a buffer header, the same for 32 and 64 bits.
pub(crate) const HEADER_BYTES: usize = 0x48;

/// Largest buffer, in the file or decompressed: the most that Windows allows a session to ask for.
pub const BUFFER_BYTES_MAX: u32 = 16 << 20;

/// Number of CPUs that a buffer header can name.
pub const CPUS_MAX: usize = 2048;

/// BufferFlag bit: the processor index is 16 bits wide.
pub const FLAG_PROCESSOR_INDEX: u16 = 0x20;
/// BufferFlag bit: all behind the header is compressed.
pub const FLAG_COMPRESSED: u16 = 0x40;
/// BufferFlag bit: events were lost before or at this buffer.
pub const FLAG_EVENTS_LOST: u16 = 0x02;
/// BufferFlag bit: a buffer was lost before this one.
pub const FLAG_BUFFER_LOST: u16 = 0x04;

/// BufferType of the first buffer.
pub const KIND_HEADER: u16 = 4;
/// Largest documented BufferType.
pub(crate) const KIND_MAX: u16 = 7;

/// One buffer in a file's index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferEntry {
    /// Where its header lies in the file.
    pub offset: u64,
    /// Bytes it takes in the file, header included, as far as the file goes.
    pub file_bytes: u32,
    /// Header and records, decompressed (Offset, 0x30); where that was impossible, the size of the buffer.
    pub filled: u32,
    /// CPU whose events it holds.
    pub cpu: u16,
    /// BufferFlag, see the `FLAG_*` constants.
    pub flags: u16,
    /// BufferType: 0 events, 4 header.
    pub kind: u16,
    /// LoggerId.
    pub logger_id: u16,
    /// SequenceNumber, rising over all CPUs of a session.
    pub sequence: i64,
    /// Whether the records are compressed, by flag and content.
    pub compressed: bool,
    /// Whether the file ends before the buffer does.
    pub truncated: bool,
    /// Whether `filled` is not the recorded one, so that the end mark ends the records.
    pub open_ended: bool,
    /// Time of its first record, where that record could be read from the first bytes.
    pub first_ticks: Option<i64>,
}

impl BufferEntry {
    /// What the records of this buffer need to know.
    pub(crate) fn context(&self, header: &LogHeader) -> BufferContext {
        BufferContext {
            cpu: self.cpu,
            offset: self.offset,
            compressed: self.compressed,
            pointer_size: header.default_pointer_size(),
            short_instances: header.short_instances(),
        }
    }

    /// Bytes in memory while the buffer is open.
    pub(crate) fn memory_bytes(&self) -> usize {
        if self.compressed {
            self.filled as usize + xpress::SLACK
        } else {
            self.file_bytes as usize
        }
    }
}

/// The fields of a buffer header that are of use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferHeader {
    pub size: u32,
    pub saved: u32,
    pub reference_count: u32,
    pub sequence: i64,
    pub processor: u16,
    pub logger_id: u16,
    pub filled: u32,
    pub flags: u16,
    pub kind: u16,
}

impl BufferHeader {
    /// Reads a header; bytes beyond the end of `bytes` read as zero.
    pub fn read(bytes: &[u8]) -> BufferHeader {
        BufferHeader {
            size: u32_at(bytes, 0x00).unwrap_or(0),
            saved: u32_at(bytes, 0x04).unwrap_or(0),
            reference_count: u32_at(bytes, 0x0C).unwrap_or(0),
            sequence: i64_at(bytes, 0x18).unwrap_or(0),
            processor: u16_at(bytes, 0x28).unwrap_or(0),
            logger_id: u16_at(bytes, 0x2A).unwrap_or(0),
            filled: u32_at(bytes, 0x30).unwrap_or(0),
            flags: u16_at(bytes, 0x34).unwrap_or(0),
            kind: u16_at(bytes, 0x36).unwrap_or(0),
        }
    }

    /// The CPU. Without the flag the field is a byte, and the byte above it is an alignment.
    pub fn cpu(&self, before_vista: bool) -> u16 {
        if !before_vista && self.flags & FLAG_PROCESSOR_INDEX != 0 {
            self.processor & (CPUS_MAX as u16 - 1)
        } else {
            self.processor & 0xFF
        }
    }

    /// Whether the size is one that a buffer can have.
    pub fn size_possible(&self) -> bool {
        (HEADER_BYTES as u32..=BUFFER_BYTES_MAX).contains(&self.size)
    }

    /// Whether the filled length is one that a buffer of `limit` bytes can have.
    pub fn filled_possible(&self, limit: u32) -> bool {
        (HEADER_BYTES as u32..=limit).contains(&self.filled)
    }
}

/// Whether `marker` begins a record of a kind that is known.
pub(crate) fn known_marker(marker: u32) -> bool {
    match marker >> 24 {
        0xC0 => matches!((marker >> 16) as u8, 0x01..=0x04 | 0x0A..=0x0F | 0x10..=0x15),
        0x90 | 0xB0 => true,
        _ => false,
    }
}

/// The first flag bit of compressed data announces a literal, as nothing is there to repeat; the first bit of
/// every record's marker is set. So the two cannot be mistaken for each other.
pub(crate) fn looks_compressed(first: u32) -> bool {
    first & 0x8000_0000 == 0
}

/// Bytes behind the header that `first_ticks` looks at.
pub(crate) const PEEK_BYTES: usize = 0x60;

/// Time of the first record, from the first bytes behind a buffer header.
pub(crate) fn first_ticks(body: &[u8], compressed: bool, filled: u32) -> Option<i64> {
    const NEEDED: usize = 0x18;
    if (filled as usize) < HEADER_BYTES + NEEDED {
        return None;
    }
    let mut out = [0u8; NEEDED + xpress::SLACK];
    let record = if compressed {
        let (valid, _) = xpress::decompress(body, &mut out, NEEDED);
        out.get(..valid)?
    } else {
        body
    };
    let marker = u32_at(record, 0)?;
    match (marker >> 24, (marker >> 16) as u8) {
        (0xC0, 0x10 | 0x11) => i64_at(record, 0x08),
        (0xC0, 0x01..=0x04 | 0x0A | 0x0B | 0x12..=0x15) => i64_at(record, 0x10),
        _ => None,
    }
}

/// Decompresses the records of a compressed buffer, whose bytes in the file are `raw`, into `out`, where they
/// begin at the same position as in a plain buffer. Gives the valid length of `out`.
pub(crate) fn unpack(entry: &BufferEntry, raw: &[u8], out: &mut Vec<u8>) -> (usize, Ending) {
    let filled = entry.filled as usize;
    if out.len() < filled + xpress::SLACK {
        out.resize(filled + xpress::SLACK, 0);
    }
    let size = filled.saturating_sub(HEADER_BYTES);
    let input = raw.get(HEADER_BYTES..).unwrap_or(&[]);
    let (valid, ending) = xpress::decompress(input, &mut out[HEADER_BYTES..], size);
    (HEADER_BYTES + valid, ending)
}

/// Counts what a finished walk over a buffer found wrong; `true` if anything was.
pub(crate) fn settle(
    entry: &BufferEntry,
    data: &[u8],
    ending: Ending,
    place: &Place,
    log: &mut DamageLog,
) -> bool {
    let found_before = log.total();
    let offset_of = |at: usize| entry.offset + if entry.compressed { 0 } else { at as u64 };
    let rest = data.get(place.at..).unwrap_or(&[]);
    let lost = (entry.filled as usize).saturating_sub(place.at) as u64;
    if data.len() < entry.filled as usize && !entry.open_ended {
        // What follows from the missing end is not a finding of its own.
        if entry.truncated || !entry.compressed {
            let detail = format!("{:#x} of {:#x} bytes are there", data.len(), entry.filled);
            log.add(DamageKind::Truncated, offset_of(place.at), lost, detail);
        } else {
            log.add(DamageKind::Compression, entry.offset, lost, ending.name());
        }
    } else {
        if ending != Ending::Complete {
            log.add(DamageKind::Compression, entry.offset, 0, ending.name());
        }
        match place.stop {
            Some(Stop::Fault(DamageKind::EndMark))
                if entry.open_ended || rest.iter().all(|byte| *byte == 0xFF) => {}
            Some(Stop::Fault(what)) => {
                let marker = u32_at(rest, 0).unwrap_or(0);
                let detail = format!("marker {marker:#010x} at {:#x} of its buffer", place.at);
                log.add(what, offset_of(place.at), rest.len() as u64, detail);
            }
            Some(Stop::End) | None => {}
        }
    }
    if place.flawed > 0 {
        let what = DamageKind::RecordParts;
        log.add_times(what, place.flawed, offset_of(place.first_flaw), 0, "");
    }
    log.total() > found_before
}

/// The marker of the first record, from the bytes behind a buffer header.
pub(crate) fn first_marker(body: &[u8]) -> u32 {
    u32_at(body, 0).unwrap_or(0)
}

/// Whether all bytes are zero.
pub(crate) fn all_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0) && u8_at(bytes, 0).is_some()
}
