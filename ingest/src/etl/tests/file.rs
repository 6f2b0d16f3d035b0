//! Opening a file: its header, its chain of buffers, and what is not an event trace.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::build::{
    ANCHOR, Buffer, Head, SLOT, START, open, packed_file, plain_file, scan_all, times,
};
use crate::etl::buffer::BUFFER_BYTES_MAX;
use crate::etl::{DamageKind, EtlFile, Merge, OpenError, Source, scan, scan_with_bytes};

#[test]
fn header_in_both_widths() {
    for wide in [false, true] {
        let file = open(plain_file(&Head { wide, ..Head::default() }, &[])).expect("opens");
        let header = file.header();
        assert_eq!(header.record_bits, if wide { 64 } else { 32 });
        assert_eq!(header.pointer_size, if wide { 8 } else { 4 });
        assert_eq!((header.buffer_size, header.cpus), (SLOT as u32, 8));
        assert_eq!((header.os_major, header.os_minor, header.os_build), (10, 0, 19041));
        assert_eq!((header.layout_major, header.layout_minor), (1, 5));
        assert_eq!((header.end_filetime, header.start_filetime), (START + 77, START));
        assert_eq!((header.timer_resolution, header.maximum_file_size), (156_250, 100));
        assert_eq!((header.log_mode, header.buffers_written), (1, 999_999));
        assert_eq!((header.start_buffers, header.events_lost, header.buffers_lost), (1, 3, 4));
        assert_eq!((header.logger_name_field, header.file_name_field), (5, 6));
        assert_eq!((header.cpu_mhz, header.perf_freq, header.clock_type), (2500, 10_000_000, 1));
        assert_eq!(header.boot_filetime, START - 1_000_000_000);
        assert_eq!((header.time_zone_bias_minutes, header.daylight_bias_minutes), (-60, -60));
        assert_eq!(header.standard_bias_minutes, 0);
        assert_eq!(header.standard_name, "W. Europe");
        assert_eq!(header.daylight_name, "W. Europe Summer");
        assert_eq!((&header.session_name[..], header.header_ticks), ("Session", ANCHOR));
        assert_eq!(header.file_name, "C:\\logs\\a.etl");
    }
}

#[test]
fn the_header_record_is_an_event_of_cpu_0() {
    let head = Head::default();
    let first = Buffer { processor: Some(5), ..Buffer::head(&head) }.times(&[ANCHOR + 1]);
    let file = open(first.plain(SLOT)).expect("opens");
    let mut events = Vec::new();
    crate::etl::scan(&file, |event| events.push((event.id, event.cpu))).expect("reads");
    assert_eq!(events.len(), 2);
    assert_eq!(events[0], (crate::etl::EventId::Kernel { hook: 0, version: 2 }, 0));
    assert_eq!(events[1].1, 0);
}

#[test]
fn cpu_with_and_without_the_index_flag() {
    let cases = [(0x20, 0x0134, 0x134), (0, 0x0803, 3), (0x20, 0xFFFF, 0x7FF), (0, 0xFFFF, 0xFF)];
    for (flags, processor, cpu) in cases {
        let buffer = Buffer { flags, processor: Some(processor), ..Buffer::new(0, 1) };
        let head = Head { cpus: 2048, ..Head::default() };
        let file = open(plain_file(&head, &[buffer.times(&[10])])).expect("opens");
        assert_eq!(file.buffers()[1].cpu, cpu);
        assert!(file.damage().is_empty());
    }
    // A CPU that the machine does not have is kept, and counted.
    let file =
        open(plain_file(&Head::default(), &[Buffer::new(9, 1).times(&[10])])).expect("opens");
    assert_eq!(file.damage_log().count(DamageKind::CpuIndex), 1);
}

#[test]
fn what_is_not_an_event_trace() {
    let reason = |bytes: Vec<u8>| open(bytes).err().expect("refused").to_string();
    assert!(matches!(open(Vec::new()), Err(OpenError::Empty)));
    assert_eq!(reason(vec![]), "the file is empty");
    let short = "not an event trace: too short for a buffer header at offset 0x0";
    assert_eq!(reason(vec![0; 0x4F]), short);
    assert_eq!(reason(vec![0; 0x50]), "not an event trace: no header record at offset 0x48");
    let good = plain_file(&Head::default(), &[]);
    let mut other_first = good.clone();
    other_first[0x4E] = 1;
    let expected = "not an event trace: the first record is not the header record at offset 0x48";
    assert_eq!(reason(other_first), expected);
    let expected = "not an event trace: the header record is cut at offset 0x48";
    assert_eq!(reason(good[..0x100].to_vec()), expected);
    let mut small = good;
    small[0x4C..0x4E].copy_from_slice(&0x130u16.to_le_bytes());
    let expected = "not an event trace: the header record is too short at offset 0x48";
    assert_eq!(reason(small), expected);
}

#[test]
fn old_files_step_by_the_session_size() {
    let head = Head { layout: (1, 2), wide: false, ..Head::default() };
    let mut bytes =
        plain_file(&head, &[Buffer::new(0, 1).times(&[10]), Buffer::new(1, 2).times(&[11])]);
    for slot in 0..3 {
        // A reference count where later files have the size, and no type.
        bytes[slot * SLOT..slot * SLOT + 4].fill(0);
        bytes[slot * SLOT + 0x36] = 0;
    }
    let (file, seen, report) = scan_all(&bytes);
    assert_eq!(times(&seen), [10, 11]);
    assert!(file.damage().is_empty() && report.damage.is_empty());
}

#[test]
fn every_byte_is_handed_out_once() {
    let head = Head::default();
    let mut bytes = plain_file(&head, &[Buffer::new(0, 1).times(&[10])]);
    bytes.extend(vec![0; 3 << 20]);
    bytes.extend(Buffer::new(1, 2).times(&[11]).plain(SLOT));
    bytes.extend(b"tail");
    for sample in [bytes, packed_file(&[Buffer::new(0, 1).times(&[10])])] {
        let file = open(sample.clone()).expect("opens");
        let mut read = Vec::new();
        let report =
            scan_with_bytes(&file, |part| read.extend_from_slice(part), |_| {}).expect("reads");
        assert!(read == sample);
        assert_eq!(report.buffers as usize, file.buffers().len());
    }
}

#[test]
fn open_ended_chain_of_odd_sizes() {
    let buffers: Vec<Buffer> =
        (1..9).map(|n| Buffer::new(n % 3, n.into()).times(&[n.into(), 50])).collect();
    let bytes = packed_file(&buffers);
    let (file, seen, report) = scan_all(&bytes);
    assert_eq!(file.compressed_buffers(), 8);
    assert_eq!(seen.len(), 16);
    assert!(file.damage().is_empty() && report.damage.is_empty());
    for (entry, number) in file.buffers().iter().zip(0i64..) {
        let first = if number == 0 { ANCHOR } else { number };
        assert_eq!((entry.sequence, entry.first_ticks), (number, Some(first)));
    }
    // Records of compressed buffers lie at their buffer.
    assert_eq!(seen[1].offset, file.buffers()[1].offset);
}

/// Bytes of which, after opening, only the first `there` can be read: the rest is gone, or fails.
struct Failing {
    bytes: Vec<u8>,
    there: AtomicU64,
    error: bool,
}

impl Source for Failing {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let there = self.there.load(Ordering::Relaxed);
        if self.error && offset + buf.len() as u64 > there {
            return Err(io::Error::other("bad sector"));
        }
        let count = there.saturating_sub(offset).min(buf.len() as u64) as usize;
        // Files may give less than was asked for.
        self.bytes.read_at(offset, &mut buf[..count.min(1000)])
    }

    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }
}

fn failing(error: bool) -> Arc<Failing> {
    let buffers: Vec<Buffer> = (1..5).map(|n| Buffer::new(1, n).times(&[10 * n])).collect();
    let bytes = plain_file(&Head::default(), &buffers);
    let there = AtomicU64::new(bytes.len() as u64);
    Arc::new(Failing { bytes, there, error })
}

#[test]
fn a_file_that_shrinks_after_opening_is_cut() {
    let source = failing(false);
    let file = EtlFile::open(source.clone()).expect("opens");
    source.there.store(3 * SLOT as u64 + 0x50, Ordering::Relaxed);
    let report = scan(&file, |_| {}).expect("reads");
    assert_eq!((report.records, report.damage.count(DamageKind::Truncated)), (3, 2));
    let mut read = 0;
    scan_with_bytes(&file, |part| read += part.len(), |_| {}).expect("reads");
    assert_eq!(read, 3 * SLOT + 0x50);
    let merged = Merge::new(&[&file]).run(|_, _| {}).expect("reads");
    assert_eq!((merged.records, merged.files[0].damage.total()), (3, 2));
}

#[test]
fn errors_of_reading_are_handed_on() {
    let source = failing(true);
    let file = EtlFile::open(source.clone()).expect("opens");
    source.there.store(2 * SLOT as u64, Ordering::Relaxed);
    assert!(scan(&file, |_| {}).is_err());
    assert!(Merge::new(&[&file]).run(|_, _| {}).is_err());
    source.there.store(10, Ordering::Relaxed);
    let error = EtlFile::open(source).err().expect("refused");
    assert_eq!(error.to_string(), "cannot be read: bad sector");
}

/// A long file of which only the beginnings of buffers are kept; the rest is zero.
struct Sparse {
    parts: Vec<Vec<u8>>,
    part_bytes: u64,
}

impl Source for Sparse {
    fn read_at(&self, offset: u64, buf: &mut [u8]) -> io::Result<usize> {
        let count = buf.len().min(self.len().saturating_sub(offset) as usize);
        let mut done = 0;
        while done < count {
            let (part, inside) = (
                (offset + done as u64) / self.part_bytes,
                (offset + done as u64) % self.part_bytes,
            );
            let length = (count - done).min((self.part_bytes - inside) as usize);
            let kept = self.parts[part as usize].get(inside as usize..).unwrap_or_default();
            let kept = &kept[..kept.len().min(length)];
            buf[done..done + kept.len()].copy_from_slice(kept);
            buf[done + kept.len()..done + length].fill(0);
            done += length;
        }
        Ok(count)
    }

    fn len(&self) -> u64 {
        self.parts.len() as u64 * self.part_bytes
    }
}

#[test]
fn offsets_do_not_end_at_4_gib() {
    let size = BUFFER_BYTES_MAX as usize;
    let head = Head { buffer_size: BUFFER_BYTES_MAX, ..Head::default() };
    let mut parts = vec![Buffer::head(&head).used(size)];
    parts.extend((1..=300).map(|n| Buffer::new(1, n).times(&[10 * n]).used(size)));
    let file = EtlFile::open(Arc::new(Sparse { parts, part_bytes: size as u64 })).expect("opens");
    let mut last = 0;
    let merged = Merge::new(&[&file]).run(|_, event| last = event.offset).expect("reads");
    assert_eq!((merged.records, merged.files[0].damage.total()), (301, 0));
    assert_eq!(last, 300 * size as u64 + 0x48);
}
