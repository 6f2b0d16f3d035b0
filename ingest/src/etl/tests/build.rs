//! Writes records, buffers and files for the tests. It shares no code or constant with the decoder, so that each
//! layout is written down twice.

use std::sync::Arc;

use crate::etl::{EtlFile, OpenError, RawEvent, ScanReport, scan};

/// Size of the buffers in test files.
pub const SLOT: usize = 0x1000;

/// Ticks of the header record: the anchor.
pub const ANCHOR: i64 = 2;

/// StartTime of test files.
pub const START: i64 = 133_000_000_000_000_000;

/// A growing byte string.
#[derive(Clone, Default)]
pub struct Bytes(pub Vec<u8>);

impl Bytes {
    pub fn u8(mut self, value: u8) -> Bytes {
        self.0.push(value);
        self
    }
    pub fn u16(mut self, value: u16) -> Bytes {
        self.0.extend(value.to_le_bytes());
        self
    }
    pub fn u32(mut self, value: u32) -> Bytes {
        self.0.extend(value.to_le_bytes());
        self
    }
    pub fn u64(mut self, value: u64) -> Bytes {
        self.0.extend(value.to_le_bytes());
        self
    }
    pub fn i64(self, value: i64) -> Bytes {
        self.u64(value as u64)
    }
    pub fn bytes(mut self, value: &[u8]) -> Bytes {
        self.0.extend(value);
        self
    }
    pub fn zeros(mut self, count: usize) -> Bytes {
        self.0.resize(self.0.len() + count, 0);
        self
    }
    pub fn utf16(mut self, text: &str) -> Bytes {
        self.0.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        self.u16(0)
    }
}

/// SYSTEM record; `version_word` holds flags and version.
pub fn system(wide: bool, version_word: u16, hook: u16, ticks: i64, payload: &[u8]) -> Vec<u8> {
    Bytes::default()
        .u16(version_word)
        .u8(if wide { 2 } else { 1 })
        .u8(0xC0)
        .u16(0x20 + payload.len() as u16)
        .u16(hook)
        .u32(1111)
        .u32(2222)
        .i64(ticks)
        .u32(7)
        .u32(8)
        .bytes(payload)
        .0
}

/// COMPACT record.
pub fn compact(wide: bool, hook: u16, ticks: i64, payload: &[u8]) -> Vec<u8> {
    Bytes::default()
        .u16(3)
        .u8(if wide { 4 } else { 3 })
        .u8(0xC0)
        .u16(0x18 + payload.len() as u16)
        .u16(hook)
        .u32(1111)
        .u32(2222)
        .i64(ticks)
        .bytes(payload)
        .0
}

/// PERFINFO record; `body` is counter words and payload.
pub fn perf_info(wide: bool, version_word: u16, hook: u16, ticks: i64, body: &[u8]) -> Vec<u8> {
    Bytes::default()
        .u16(version_word)
        .u8(if wide { 0x11 } else { 0x10 })
        .u8(0xC0)
        .u16(0x10 + body.len() as u16)
        .u16(hook)
        .i64(ticks)
        .bytes(body)
        .0
}

/// FULL or INSTANCE record of type `kind`; `body` is all behind the first 0x18 bytes.
pub fn classic(kind: u8, opcode: u8, level: u8, version: u16, ticks: i64, body: &[u8]) -> Vec<u8> {
    Bytes::default()
        .u16(0x18 + body.len() as u16)
        .u8(kind)
        .u8(0xC0)
        .u8(opcode)
        .u8(level)
        .u16(version)
        .u32(1111)
        .u32(2222)
        .i64(ticks)
        .bytes(body)
        .0
}

/// EVENT record; `body` is extended items and payload.
pub fn manifest(wide: bool, flags: u16, ticks: i64, body: &[u8]) -> Vec<u8> {
    Bytes::default()
        .u16(0x50 + body.len() as u16)
        .u16(if wide { 0xC013 } else { 0xC012 })
        .u16(flags)
        .u16(0)
        .u32(1111)
        .u32(2222)
        .i64(ticks)
        .bytes(&[0xA0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
        .u16(0x1234)
        .u8(2)
        .u8(11)
        .u8(4)
        .u8(5)
        .u16(0x5678)
        .u64(0x8000_0000_0000_0001)
        .u64(0)
        .bytes(&[0xB0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])
        .bytes(body)
        .0
}

/// One extended item, padded to 8.
pub fn item(kind: u16, linked: bool, data: &[u8]) -> Vec<u8> {
    let total = (8 + data.len()).div_ceil(8) * 8;
    let mut item = Bytes::default()
        .u16(total as u16)
        .u16(kind)
        .u16(u16::from(linked))
        .u16(data.len() as u16)
        .bytes(data)
        .0;
    item.resize(total, 0xEE);
    item
}

/// WPP message; `body` is all behind the option flags.
pub fn message(number: u16, options: u16, body: &[u8]) -> Vec<u8> {
    let size = 8 + body.len() as u16;
    Bytes::default().u16(size).u8(0).u8(0x90).u16(number).u16(options).bytes(body).0
}

/// A record of any other kind with its size at 0.
pub fn other(flags: u8, kind: u8, word: u32, body: &[u8]) -> Vec<u8> {
    Bytes::default().u16(8 + body.len() as u16).u8(kind).u8(flags).u32(word).bytes(body).0
}

/// What stands in the header record of a test file.
#[derive(Clone)]
pub struct Head {
    pub wide: bool,
    pub buffer_size: u32,
    pub layout: (u8, u8),
    pub cpus: u32,
    pub log_mode: u32,
    pub boot: i64,
    pub perf_freq: i64,
    pub start: i64,
    pub clock_type: u32,
    pub cpu_mhz: u32,
    pub ticks: i64,
}

impl Default for Head {
    fn default() -> Head {
        Head {
            wide: true,
            buffer_size: SLOT as u32,
            layout: (1, 5),
            cpus: 8,
            log_mode: 1,
            boot: START - 1_000_000_000,
            perf_freq: 10_000_000,
            start: START,
            clock_type: 1,
            cpu_mhz: 2500,
            ticks: ANCHOR,
        }
    }
}

impl Head {
    /// The header record.
    pub fn record(&self) -> Vec<u8> {
        let pointer = |bytes: Bytes, value: u64| {
            if self.wide { bytes.u64(value) } else { bytes.u32(value as u32) }
        };
        let body = Bytes::default()
            .u32(self.buffer_size)
            .bytes(&[10, 0, self.layout.0, self.layout.1])
            .u32(19041)
            .u32(self.cpus)
            .i64(START + 77)
            .u32(156_250)
            .u32(100)
            .u32(self.log_mode)
            .u32(999_999)
            .u32(1)
            .u32(if self.wide { 8 } else { 4 })
            .u32(3)
            .u32(self.cpu_mhz);
        let body = pointer(pointer(body, 5), 6);
        let zone = |bytes: Bytes, name: &str, bias: i32| {
            let name = Bytes::default().utf16(name).0;
            bytes.bytes(&name).zeros(64 - name.len() + 16).u32(bias as u32)
        };
        let body = zone(zone(body.u32(-60i32 as u32), "W. Europe", 0), "W. Europe Summer", -60);
        let body = body
            .u32(0xDEAD_BEEF)
            .i64(self.boot)
            .i64(self.perf_freq)
            .i64(self.start)
            .u32(self.clock_type)
            .u32(4)
            .utf16("Session")
            .utf16("C:\\logs\\a.etl")
            .0;
        let mut record = system(self.wide, 2, 0, self.ticks, &body);
        if self.before_vista() {
            record[0] = 1;
        }
        record
    }

    fn before_vista(&self) -> bool {
        self.layout.0 == 1 && self.layout.1 < 3
    }
}

/// One buffer of a test file.
#[derive(Clone)]
pub struct Buffer {
    pub cpu: u16,
    pub sequence: i64,
    pub flags: u16,
    pub kind: u16,
    pub processor: Option<u16>,
    pub records: Vec<u8>,
}

impl Buffer {
    pub fn new(cpu: u16, sequence: i64) -> Buffer {
        Buffer { cpu, sequence, flags: 0x20, kind: 0, processor: None, records: Vec::new() }
    }

    /// The first buffer of a file.
    pub fn head(head: &Head) -> Buffer {
        Buffer { kind: 4, ..Buffer::new(0, 0) }.with(&head.record())
    }

    /// Adds a record, padded to 8 with stale bytes.
    pub fn with(mut self, record: &[u8]) -> Buffer {
        self.records.resize(self.records.len().next_multiple_of(8), 0xAB);
        self.records.extend(record);
        self
    }

    /// Adds a SYSTEM record for each time.
    pub fn times(self, times: &[i64]) -> Buffer {
        let cpu = self.cpu as u8;
        times
            .iter()
            .fold(self, |buffer, time| buffer.with(&system(true, 2, 0x0320, *time, &[cpu; 16])))
    }

    fn header(&self, size: usize) -> Vec<u8> {
        let filled = 0x48 + self.records.len() as u32;
        let processor = self.processor.unwrap_or(self.cpu);
        Bytes::default()
            .u32(size as u32)
            .u32(if self.kind == 4 { 0 } else { filled })
            .u32(filled + 0x100)
            .u32(0)
            .i64(START)
            .i64(self.sequence)
            .u64(0xFFFF_A001_0203_0405)
            .u16(processor)
            .u16(12)
            .u32(3)
            .u32(filled)
            .u16(self.flags)
            .u16(self.kind)
            .u64(0xFFFF_A001_0203_0406)
            .u64(0xFFFF_A001_0203_0407)
            .0
    }

    /// What is used of the buffer's `size` bytes.
    pub fn used(&self, size: usize) -> Vec<u8> {
        let mut bytes = self.header(size);
        bytes.extend(&self.records);
        bytes
    }

    /// The buffer as `size` bytes.
    pub fn plain(&self, size: usize) -> Vec<u8> {
        let mut bytes = self.used(size);
        assert!(bytes.len() <= size, "test buffer too full");
        bytes.resize(size, 0xFF);
        bytes
    }

    /// The buffer compressed, as many bytes as that takes.
    pub fn packed(&self) -> Vec<u8> {
        let stream = super::xpress::compress(&self.records);
        let flagged = Buffer { flags: self.flags | 0x40, ..self.clone() };
        let mut bytes = flagged.header(0x48 + stream.len());
        bytes.extend(stream);
        bytes
    }
}

/// A file of plain buffers behind a header buffer.
pub fn plain_file(head: &Head, buffers: &[Buffer]) -> Vec<u8> {
    let mut bytes = Buffer::head(head).plain(SLOT);
    buffers.iter().for_each(|buffer| bytes.extend(buffer.plain(SLOT)));
    bytes
}

/// A file of compressed buffers behind a short plain header buffer.
pub fn packed_file(buffers: &[Buffer]) -> Vec<u8> {
    let head = Head { log_mode: 0x0401_0001, layout: (2, 0), ..Head::default() };
    let mut bytes = Buffer::head(&head).plain(0x400);
    buffers.iter().for_each(|buffer| bytes.extend(buffer.packed()));
    bytes
}

/// Opens bytes as a file.
pub fn open(bytes: Vec<u8>) -> Result<EtlFile, OpenError> {
    EtlFile::open(Arc::new(bytes))
}

/// What an event is, without borrowing from its buffer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub ticks: i64,
    pub cpu: u16,
    pub offset: u64,
    pub text: String,
}

impl Seen {
    pub fn new(event: &RawEvent<'_>) -> Seen {
        let text = format!("{event:?}");
        Seen { ticks: event.ticks, cpu: event.cpu, offset: event.offset, text }
    }
}

/// Scans bytes as a file: all events but the header record, and the report.
pub fn scan_all(bytes: &[u8]) -> (EtlFile, Vec<Seen>, ScanReport) {
    let file = open(bytes.to_vec()).expect("test file opens");
    let mut seen = Vec::new();
    let report = scan(&file, |event| seen.push(Seen::new(event))).expect("memory can be read");
    seen.remove(0);
    (file, seen, report)
}

/// The times of events.
pub fn times(seen: &[Seen]) -> Vec<i64> {
    seen.iter().map(|event| event.ticks).collect()
}

/// Deterministic random numbers.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ mixed >> 31) % limit
    }
}
