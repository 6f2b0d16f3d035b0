//! From records in time order to the bytes of a file: buffers, their headers, the header record.
//!
//! Each CPU fills one buffer at a time; a full buffer goes to the file at once, the rest at the end.
//! Buffers are numbered when they are handed out, as on Windows, so file order and number differ.

use crate::body::Body;
use crate::machine::{Damage, FileSpec, Machine};
use crate::record::{self, SystemHeader};
use crate::time::Ns;
use crate::xpress;

/// Size of WMI_BUFFER_HEADER.
const BUFFER_HEADER_BYTES: usize = 0x48;
const FLAG_FLUSH_MARKER: u16 = 0x01;
const FLAG_PROC_INDEX: u16 = 0x20;
const FLAG_COMPRESSED: u16 = 0x40;
const TYPE_GENERIC: u16 = 0;
const TYPE_HEADER: u16 = 4;
const STATE_FLUSHED: u32 = 3;
const MODE_COMPRESSED: u32 = 0x0400_0000;
const MODE_CIRCULAR: u32 = 0x2;

/// Records of one file, in the order in which they were made.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    entries: Vec<Entry>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    ns: Ns,
    start: usize,
    length: u32,
    cpu: u16,
}

impl Timeline {
    /// Adds a record of a CPU at a time.
    pub(crate) fn push(&mut self, ns: Ns, cpu: u16, record: &[u8]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(record);
        self.entries.push(Entry { ns, start, length: record.len() as u32, cpu });
    }

    /// Whether nothing was added.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Time of the last record.
    pub(crate) fn end_ns(&self) -> Ns {
        self.entries.iter().map(|e| e.ns).max().unwrap_or(0)
    }

    /// Sorts by time; records of one time stay in the order in which they were made.
    fn sort(&mut self) {
        self.entries.sort_by_key(|e| e.ns);
    }

    fn largest(&self) -> usize {
        self.entries.iter().map(|e| e.length as usize).max().unwrap_or(0)
    }
}

/// A buffer that has left its CPU.
struct Buffer {
    cpu: u16,
    sequence: i64,
    last_ticks: i64,
    records: Vec<u8>,
}

/// Layout wishes that are not the machine's.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Layout {
    pub(crate) rotate: bool,
}

/// Writes one file.
pub(crate) fn write(spec: &FileSpec, timeline: &mut Timeline, layout: Layout) -> Vec<u8> {
    let mut machine = spec.machine.clone();
    let needed = (timeline.largest() + BUFFER_HEADER_BYTES).next_multiple_of(1024).max(2048);
    machine.buffer = machine.buffer.max(needed as u32);
    if machine.compressed {
        machine.mode |= MODE_COMPRESSED;
    }
    timeline.sort();
    let mut buffers = fill(spec, &machine, timeline);
    if let Some(slots) = machine.slots {
        buffers = keep_last(buffers, slots as usize);
    }
    if layout.rotate && buffers.len() > 1 {
        machine.mode = (machine.mode & !3) | MODE_CIRCULAR;
        let half = buffers.len() / 2;
        buffers.rotate_left(half);
    }
    let end_ns = timeline.end_ns();
    let mut file = Assembly { spec, machine: &machine, bytes: Vec::new(), starts: Vec::new() };
    file.header_buffer(buffers.len() as u32 + 1, end_ns);
    let last = buffers.len().wrapping_sub(1);
    for (at, buffer) in buffers.iter().enumerate() {
        file.data_buffer(buffer, at == last, end_ns);
    }
    file.finish()
}

/// Fills the CPUs' buffers in time order; the result is in the order of their flushing.
fn fill(spec: &FileSpec, machine: &Machine, timeline: &Timeline) -> Vec<Buffer> {
    let mut filler = Filler {
        room: machine.buffer as usize - BUFFER_HEADER_BYTES,
        next_sequence: machine.first_sequence + 1,
        open: Vec::new(),
        done: Vec::new(),
    };
    let mut flushes = spec.flushes.clone();
    flushes.sort_by_key(|f| f.0);
    let mut flushes = flushes.into_iter().peekable();
    for entry in &timeline.entries {
        while let Some((_, cpu)) = flushes.next_if(|f| f.0 <= entry.ns) {
            filler.flush(cpu);
        }
        let record = &timeline.bytes[entry.start..entry.start + entry.length as usize];
        filler.put(entry.cpu, machine.ticks(entry.ns).unwrap_or(0), record);
    }
    filler.flush(None);
    filler.done
}

struct Filler {
    room: usize,
    next_sequence: i64,
    open: Vec<Option<Buffer>>,
    done: Vec<Buffer>,
}

impl Filler {
    fn put(&mut self, cpu: u16, ticks: i64, record: &[u8]) {
        let at = cpu as usize;
        if self.open.len() <= at {
            self.open.resize_with(at + 1, || None);
        }
        let full = |b: &Buffer| b.records.len().next_multiple_of(8) + record.len() > self.room;
        if self.open[at].as_ref().is_some_and(full) {
            self.done.extend(self.open[at].take());
        }
        let next_sequence = &mut self.next_sequence;
        let buffer = self.open[at].get_or_insert_with(|| {
            *next_sequence += 1;
            Buffer { cpu, sequence: *next_sequence - 1, last_ticks: ticks, records: Vec::new() }
        });
        // Padding between records is never cleared on Windows: make it visible.
        buffer.records.resize(buffer.records.len().next_multiple_of(8), 0xA5);
        buffer.records.extend_from_slice(record);
        buffer.last_ticks = ticks;
    }

    fn flush(&mut self, cpu: Option<u16>) {
        match cpu {
            Some(cpu) => {
                self.done.extend(self.open.get_mut(cpu as usize).and_then(Option::take));
            }
            None => self.done.extend(self.open.iter_mut().filter_map(Option::take)),
        }
    }
}

/// A circular file of `slots` data buffers: later ones overwrite the oldest slot.
fn keep_last(buffers: Vec<Buffer>, slots: usize) -> Vec<Buffer> {
    let mut kept: Vec<Buffer> = Vec::with_capacity(slots);
    for (at, buffer) in buffers.into_iter().enumerate() {
        if kept.len() < slots {
            kept.push(buffer);
        } else {
            kept[at % slots] = buffer;
        }
    }
    kept
}

struct Assembly<'a> {
    spec: &'a FileSpec,
    machine: &'a Machine,
    bytes: Vec<u8>,
    starts: Vec<usize>,
}

struct BufferHeader {
    size: u32,
    saved: u32,
    timestamp: i64,
    sequence: i64,
    cpu: Option<u16>,
    state: u32,
    offset: u32,
    flags: u16,
    kind: u16,
}

impl Assembly<'_> {
    fn header_buffer(&mut self, buffer_count: u32, end_ns: Ns) {
        let machine = self.machine;
        let mut records = header_record(machine, buffer_count, end_ns);
        if machine.partition && !machine.merged {
            let mut zeros = Body::new(machine.wide());
            zeros.zeros(48);
            let header = SystemHeader { hook: 0x50, version: 2, ..SystemHeader::default() };
            let ticks = machine.ticks(0).unwrap_or(0);
            records.resize(records.len().next_multiple_of(8), 0xA5);
            records.extend_from_slice(&record::system(&header, ticks, &zeros));
        }
        let offset = (BUFFER_HEADER_BYTES + records.len()) as u32;
        let size = if machine.compressed { 0x400.max(offset) } else { machine.buffer };
        let proc_index = machine.proc_index && !machine.merged;
        let flags = FLAG_FLUSH_MARKER | if proc_index { FLAG_PROC_INDEX } else { 0 };
        let header = BufferHeader {
            size,
            saved: if machine.build < 9200 { 0 } else { offset },
            timestamp: 0,
            sequence: machine.first_sequence,
            cpu: if machine.merged { None } else { Some(0) },
            state: if machine.merged && !machine.compressed { 0 } else { STATE_FLUSHED },
            offset,
            flags,
            kind: TYPE_HEADER,
        };
        self.append(header, &records);
    }

    fn data_buffer(&mut self, buffer: &Buffer, last: bool, end_ns: Ns) {
        let machine = self.machine;
        let mut flags = if last { FLAG_FLUSH_MARKER } else { 0 };
        if machine.proc_index {
            flags |= FLAG_PROC_INDEX;
        }
        let offset = (BUFFER_HEADER_BYTES + buffer.records.len()) as u32;
        let packed = machine.compressed.then(|| xpress::compress(&buffer.records));
        let size = match &packed {
            Some(packed) => (BUFFER_HEADER_BYTES + packed.len()) as u32,
            None => machine.buffer,
        };
        if packed.is_some() {
            flags |= FLAG_COMPRESSED;
        }
        // A merge stamps its buffers with its own wall-clock time, an hour after the recording here.
        let merged_at = machine.filetime(end_ns).saturating_add(36_000_000_000);
        let header = BufferHeader {
            size,
            saved: offset,
            timestamp: if machine.merged { merged_at } else { buffer.last_ticks },
            sequence: buffer.sequence,
            cpu: Some(buffer.cpu),
            state: STATE_FLUSHED,
            offset,
            flags,
            kind: TYPE_GENERIC,
        };
        self.append(header, packed.as_deref().unwrap_or(&buffer.records));
    }

    fn append(&mut self, mut header: BufferHeader, content: &[u8]) {
        let at = self.starts.len();
        for (_, flag) in self.spec.flags.iter().filter(|(index, _)| *index == at) {
            header.flags |= flag;
        }
        let start = self.bytes.len();
        self.starts.push(start);
        let mut out = Body::new(true);
        out.u32(header.size).u32(header.saved).u32(header.offset).u32(0);
        out.i64(header.timestamp).i64(header.sequence);
        // A list pointer of the kernel that nobody cleared.
        out.u64(0xFFFF_A00C_1D2E_3F40);
        let cpu = match header.cpu {
            None => 0,
            Some(cpu) if self.machine.proc_index => cpu,
            Some(cpu) => cpu & 0xFF | 8 << 8,
        };
        out.u16(cpu).u16(self.machine.logger).u32(header.state);
        out.u32(header.offset).u16(header.flags).u16(header.kind);
        out.raw(&[0xEE; 16]);
        self.bytes.extend_from_slice(&out.bytes);
        self.bytes.extend_from_slice(content);
        self.bytes.resize(start + header.size as usize, 0xFF);
    }

    fn finish(mut self) -> Vec<u8> {
        for damage in &self.spec.damages {
            apply(damage, &mut self.bytes, &mut self.starts, self.machine.buffer);
        }
        self.bytes
    }
}

fn apply(damage: &Damage, bytes: &mut Vec<u8>, starts: &mut [usize], buffer_bytes: u32) {
    let start = |buffer: usize| starts.get(buffer).copied().unwrap_or(usize::MAX);
    match damage {
        Damage::Truncate(keep) => bytes.truncate(usize::try_from(*keep).unwrap_or(usize::MAX)),
        Damage::CutBuffer { buffer, keep } => {
            let keep = usize::try_from(*keep).unwrap_or(usize::MAX);
            bytes.truncate(start(*buffer).saturating_add(keep));
        }
        Damage::Patch { buffer, at, bytes: patch } => {
            let at = start(*buffer).saturating_add(usize::try_from(*at).unwrap_or(usize::MAX));
            for (offset, byte) in patch.iter().enumerate() {
                if let Some(place) = bytes.get_mut(at.saturating_add(offset)) {
                    *place = *byte;
                }
            }
        }
        Damage::Zeros(count) => {
            bytes.resize(bytes.len() + zeros_len(*count, buffer_bytes), 0);
        }
        Damage::ZerosBefore { buffer, count } => {
            let at = start(*buffer);
            if at <= bytes.len() {
                let zeros = vec![0; zeros_len(*count, buffer_bytes)];
                for later in starts.iter_mut().filter(|s| **s >= at) {
                    *later += zeros.len();
                }
                bytes.splice(at..at, zeros);
            }
        }
    }
}

/// Bytes of `count` empty buffers, bounded so that no scenario takes all memory.
fn zeros_len(count: u32, buffer_bytes: u32) -> usize {
    (count as usize * buffer_bytes as usize).min(64 << 20)
}

/// The first record: hook 0 with TRACE_LOGFILE_HEADER and the two names.
fn header_record(machine: &Machine, buffer_count: u32, end_ns: Ns) -> Vec<u8> {
    let mut body = Body::new(machine.header_bits == 64);
    let large = machine.compressed || machine.buffer > 1 << 20 || machine.cpus > 256;
    let layout = if large {
        (2, 0)
    } else if machine.build < 7600 {
        (1, 4)
    } else {
        (1, 5)
    };
    body.u32(machine.buffer).u8(machine.os.0).u8(machine.os.1).u8(layout.0).u8(layout.1);
    body.u32(machine.build).u32(machine.cpus);
    body.i64(if machine.closed { machine.filetime(end_ns) } else { 0 });
    body.u32(machine.resolution).u32(machine.slots.map_or(0, |_| 1)).u32(machine.mode);
    body.u32(if machine.closed { buffer_count } else { 1 });
    body.u32(1).u32(u32::from(machine.header_bits / 8)).u32(machine.lost).u32(machine.mhz);
    let sources = if machine.merged { (0, 0) } else { (5, 7) };
    body.ptr(sources.0).ptr(sources.1);
    time_zone(&mut body, machine);
    body.align(8);
    body.i64(machine.boot).i64(machine.freq).i64(machine.start);
    body.u32(machine.clock).u32(machine.buffers_lost);
    body.z16(&machine.session).z16(&machine.path);
    let header = SystemHeader { hook: 0, version: 2, ..SystemHeader::default() };
    record::system(&header, machine.ticks(0).unwrap_or(0), &body)
}

/// TIME_ZONE_INFORMATION: only the bias matters to a reader, the rest looks as on real machines.
fn time_zone(body: &mut Body, machine: &Machine) {
    let when = |body: &mut Body, month: u16, week: u16, hour: u16| {
        let on = u16::from(machine.daylight);
        for part in [0, month * on, 0, week * on, hour * on, 0, 0, 0] {
            body.u16(part);
        }
    };
    body.u32(machine.bias as u32).fixed16("@tzres.dll,-302", 32);
    when(body, 10, 5, 3);
    body.u32(0).fixed16("@tzres.dll,-301", 32);
    when(body, 3, 5, 2);
    body.u32(if machine.daylight { -60i32 as u32 } else { 0 });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(machine: Machine, records: &[(Ns, u16)], layout: Layout) -> Vec<u8> {
        let mut timeline = Timeline::default();
        for (ns, cpu) in records {
            timeline.push(*ns, *cpu, &[0u8; 200]);
        }
        write(&FileSpec::new("", machine), &mut timeline, layout)
    }

    fn u32_at(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    #[test]
    fn the_header_record_has_its_documented_offsets() {
        for bits in [32, 64] {
            let machine =
                Machine { header_bits: bits, lost: 3, buffers_lost: 4, ..Machine::default() };
            let bytes = file(machine, &[(0, 0)], Layout::default());
            let at = 0x48 + 0x20;
            assert_eq!(bytes[0x48 + 2], if bits == 64 { 2 } else { 1 });
            assert_eq!(u32_at(&bytes, at + 4), 0x0501_000A);
            assert_eq!(u32_at(&bytes, at + 8), 19045);
            assert_eq!(u32_at(&bytes, at + 0x24), 2);
            assert_eq!(u32_at(&bytes, at + 0x2C), u32::from(bits / 8));
            assert_eq!(u32_at(&bytes, at + 0x30), 3);
            let frequency = if bits == 64 { 0x100 } else { 0xF8 };
            assert_eq!(u32_at(&bytes, at + frequency), 10_000_000);
            assert_eq!(u32_at(&bytes, at + frequency + 0x10), 1);
            assert_eq!(u32_at(&bytes, at + frequency + 0x14), 4);
        }
    }

    #[test]
    fn buffers_are_numbered_by_hand_out_and_filed_by_flush() {
        let machine = Machine { buffer: 2048, ..Machine::default() };
        let mut records: Vec<(Ns, u16)> = vec![(0, 1)];
        records.extend((1..20).map(|i| (i * 100, 0)));
        let bytes = file(machine, &records, Layout::default());
        let sequences: Vec<u32> =
            (0..bytes.len() / 2048).map(|i| u32_at(&bytes, i * 2048 + 0x18)).collect();
        assert_eq!(sequences, [0, 2, 3, 4, 1]);
        assert_eq!(bytes[2048 + 0x28], 0);
        assert_eq!(bytes[4 * 2048 + 0x28], 1);
        assert_eq!(bytes[4 * 2048 + 0x34] & 1, 1);
        assert!(bytes[2 * 2048 - 8..2 * 2048].iter().all(|b| *b == 0xFF));
    }

    #[test]
    fn compressed_buffers_come_back() {
        let machine = Machine { compressed: true, ..Machine::default() };
        let bytes = file(machine, &[(0, 0), (100, 0), (100, 3)], Layout::default());
        let first = u32_at(&bytes, 0) as usize;
        let size = u32_at(&bytes, first) as usize;
        let offset = u32_at(&bytes, first + 0x30) as usize;
        let records = xpress::decompress(&bytes[first + 0x48..first + size], offset - 0x48);
        assert_eq!(records, [0u8; 400]);
        assert_eq!(u32_at(&bytes, 0x48 + 0x20 + 4) >> 16, 2);
    }

    #[test]
    fn a_wrapped_file_keeps_the_newest_in_the_oldest_places() {
        let machine = Machine { buffer: 2048, slots: Some(3), ..Machine::default() };
        let records: Vec<(Ns, u16)> = (0..40).map(|i| (i * 100, 0)).collect();
        let bytes = file(machine, &records, Layout::default());
        let sequences: Vec<u32> =
            (1..bytes.len() / 2048).map(|i| u32_at(&bytes, i * 2048 + 0x18)).collect();
        assert_eq!(sequences, [4, 5, 3]);
    }
}
