//! Damage between and in buffers: what it costs, and that it costs no more.

use super::build::{
    Buffer, Head, Random, SLOT, open, packed_file, plain_file, scan_all, system, times,
};
use crate::etl::{DamageKind, EtlFile, ScanReport};

/// Eight buffers of four CPUs; buffer n holds the times 10 n and 10 n + 1.
fn eight() -> Vec<Buffer> {
    (1..9).map(|n| Buffer::new(n as u16 % 4, n).times(&[10 * n, 10 * n + 1])).collect()
}

/// Scans, and checks that exactly the buffers `lost` are missing.
fn all_but(bytes: &[u8], lost: &[i64]) -> (EtlFile, ScanReport) {
    let (file, seen, report) = scan_all(bytes);
    let expected: Vec<i64> =
        (1..9).filter(|n| !lost.contains(n)).flat_map(|n| [10 * n, 10 * n + 1]).collect();
    assert_eq!(times(&seen), expected, "{:?} {:?}", file.damage(), report.damage.listed());
    (file, report)
}

fn packed_offset(file: &[u8], number: usize) -> usize {
    open(file.to_vec()).expect("opens").buffers()[number].offset as usize
}

#[test]
fn a_broken_header_between_plain_buffers_costs_that_buffer() {
    let good = plain_file(&Head::default(), &eight());
    for fill in [0x00, 0x41, 0xFF] {
        let mut bytes = good.clone();
        bytes[3 * SLOT..3 * SLOT + 0x60].fill(fill);
        // An end mark in place of the first record means that nothing is there.
        let (file, _) = all_but(&bytes, &[3]);
        assert_eq!(file.damage().len(), 1);
        assert_eq!(file.damage()[0].offset, 3 * SLOT as u64);
    }
    let mut bytes = good;
    bytes[3 * SLOT..4 * SLOT].fill(0);
    let (file, _) = all_but(&bytes, &[3]);
    assert_eq!(file.damage()[0].what, DamageKind::Zeros);
    assert_eq!(file.damage()[0].bytes, SLOT as u64);
}

#[test]
fn a_broken_size_between_plain_buffers_costs_nothing() {
    let good = plain_file(&Head::default(), &eight());
    for size in [0u32, 1, 0x47, 0x48, 0x0FFF, 0x2000, 0x7FFF_FFFF, u32::MAX] {
        for slot in [0, 1, 4, 8] {
            let mut bytes = good.clone();
            bytes[slot * SLOT..slot * SLOT + 4].copy_from_slice(&size.to_le_bytes());
            let (file, report) = all_but(&bytes, &[]);
            assert_eq!(file.damage_log().total(), 1, "size {size:#x} slot {slot}");
            assert_eq!(file.damage_log().bytes_lost(), 0);
            assert!(report.damage.is_empty());
        }
    }
    // The size in the header record, which is the width of the grid.
    let mut bytes = good;
    bytes[0x68..0x6C].copy_from_slice(&0x2000u32.to_le_bytes());
    all_but(&bytes, &[]);
}

#[test]
fn a_plain_buffer_marked_as_compressed_is_read() {
    let mut bytes = plain_file(&Head::default(), &eight());
    bytes[2 * SLOT + 0x34] |= 0x40;
    let (file, report) = all_but(&bytes, &[]);
    assert_eq!(file.damage_log().count(DamageKind::BufferHeader), 1);
    assert!(report.damage.is_empty());
}

#[test]
fn a_compressed_buffer_without_its_mark_is_read() {
    let buffers: Vec<Buffer> =
        (1..9).map(|n| Buffer::new(0, n).times(&[10 * n; 30]).times(&[10 * n + 1])).collect();
    let mut bytes = packed_file(&buffers);
    let at = packed_offset(&bytes, 3);
    bytes[at + 0x34] &= !0x40;
    let (_, seen, report) = scan_all(&bytes);
    assert_eq!((seen.len(), report.damage.total()), (8 * 31, 0));
}

#[test]
fn a_broken_link_of_a_chain_costs_that_buffer() {
    let good = packed_file(&eight());
    let at = packed_offset(&good, 3);
    for fill in [0x00, 0x41, 0xFF] {
        let mut bytes = good.clone();
        bytes[at..at + 0x48].fill(fill);
        let (file, _) = all_but(&bytes, &[3]);
        assert_eq!(file.damage_log().total(), 1);
        assert!(file.damage_log().bytes_lost() > 0x48);
    }
    for size in [0u32, 0x47, 0x50, 0x51, 0x90, 0x400, 0x1_0000, 0x7FFF_FFFF] {
        let mut bytes = good.clone();
        bytes[at..at + 4].copy_from_slice(&size.to_le_bytes());
        let (_, seen, _) = scan_all(&bytes);
        let others = times(&seen).iter().filter(|time| **time / 10 != 3).count();
        assert_eq!(others, 14, "size {size:#x}");
    }
}

#[test]
fn a_buffer_that_does_not_decompress_costs_that_buffer() {
    let good = packed_file(&eight());
    let (at, next) = (packed_offset(&good, 3), packed_offset(&good, 4));
    for byte in at + 0x48..next {
        let mut bytes = good.clone();
        bytes[byte] ^= 0x80;
        let (_, seen, _) = scan_all(&bytes);
        let others = times(&seen).iter().filter(|time| !(30..=31).contains(*time)).count();
        assert!(others >= 14, "byte {byte:#x}");
    }
    let mut bytes = good;
    // A flag word of matches only, at the start.
    bytes[at + 0x48..at + 0x4C].copy_from_slice(&[0xFF, 0xFF, 0xFF, 0x7F]);
    let (_, report) = all_but(&bytes, &[3]);
    assert_eq!(report.damage.count(DamageKind::Compression), 1);
    assert_eq!(report.damaged_buffers, 1);
}

#[test]
fn records_before_the_break_in_a_compressed_buffer_are_kept() {
    // Noise keeps the first records from depending on later input.
    let mut random = Random(3);
    let buffer = (0..20).fold(Buffer::new(1, 1), |buffer, time| {
        let noise: Vec<u8> = (0..64).map(|_| random.below(256) as u8).collect();
        buffer.with(&system(true, 2, 1, time, &noise))
    });
    let mut bytes = packed_file(&[buffer, Buffer::new(0, 2).times(&[77])]);
    let next = packed_offset(&bytes, 2);
    let start = packed_offset(&bytes, 1);
    let middle = (start + next) / 2;
    bytes[middle..next].fill(0xFF);
    let (_, seen, report) = scan_all(&bytes);
    assert!((8..20).contains(&(seen.len() - 1)), "{}", seen.len());
    assert_eq!(seen.last().map(|event| event.ticks), Some(77));
    assert_eq!(report.damaged_buffers, 1);
}

#[test]
fn a_file_cut_anywhere_keeps_every_whole_record() {
    let plain = plain_file(&Head::default(), &eight());
    // All cuts of the last buffers, and some of the others.
    let cuts = (SLOT..7 * SLOT).step_by(101).chain(7 * SLOT..=plain.len());
    for cut in cuts {
        let (file, seen, report) = scan_all(&plain[..cut]);
        let inside = (cut % SLOT).saturating_sub(0x48) / 0x30;
        let expected = 2 * (cut / SLOT - 1) + inside.min(2);
        assert_eq!(seen.len(), expected, "cut {cut:#x}");
        let damaged = !file.damage().is_empty() || !report.damage.is_empty();
        // The unused end of a buffer holds nothing to lose.
        let complete = cut % SLOT == 0 || cut % SLOT >= 0x48 + 2 * 0x30;
        assert_eq!(damaged, !complete, "cut {cut:#x}");
    }
    let packed = packed_file(&eight());
    for cut in 0x400..=packed.len() {
        let (file, seen, report) = scan_all(&packed[..cut]);
        let whole = file.buffers().iter().filter(|buffer| !buffer.truncated).count();
        assert!(seen.len() >= 2 * (whole - 1), "cut {cut:#x}");
        let damaged = !file.damage().is_empty() || !report.damage.is_empty();
        let boundary =
            file.buffers().iter().map(|buffer| buffer.offset + u64::from(buffer.file_bytes));
        assert_eq!(
            damaged,
            boundary.max() != Some(cut as u64) || whole < file.buffers().len(),
            "cut {cut:#x}"
        );
    }
}

#[test]
fn zeros_behind_the_end_are_one_finding() {
    let mut bytes = plain_file(&Head::default(), &eight());
    let end = bytes.len() as u64;
    bytes.extend(vec![0; 5 * SLOT + 7]);
    let (file, report) = all_but(&bytes, &[]);
    assert!(report.damage.is_empty());
    assert_eq!(file.damage().len(), 1);
    let found = &file.damage()[0];
    assert_eq!((found.what, found.offset), (DamageKind::Zeros, end));
    assert_eq!(found.bytes, 5 * SLOT as u64 + 7);
    let mut bytes = packed_file(&eight());
    let end = bytes.len() as u64;
    bytes.extend(vec![0; 0x3000]);
    let (file, _) = all_but(&bytes, &[]);
    assert_eq!((file.damage()[0].what, file.damage()[0].offset), (DamageKind::Zeros, end));
}

#[test]
fn zero_slots_in_the_middle_are_stepped_over() {
    let mut buffers = eight();
    let rest = buffers.split_off(4);
    let mut bytes = plain_file(&Head { log_mode: 2, ..Head::default() }, &buffers);
    bytes.extend(vec![0; 3 * SLOT]);
    rest.iter().for_each(|buffer| bytes.extend(buffer.plain(SLOT)));
    let (file, _) = all_but(&bytes, &[]);
    assert_eq!(file.damage()[0].bytes, 3 * SLOT as u64);
}

#[test]
fn the_stated_number_of_buffers_is_not_believed() {
    for count in [0u32, 1, 4, 1000] {
        let mut bytes = plain_file(&Head::default(), &eight());
        bytes[0x8C..0x90].copy_from_slice(&count.to_le_bytes());
        let (file, _) = all_but(&bytes, &[]);
        assert_eq!(file.header().buffers_written, count);
    }
}

#[test]
fn a_bomb_is_bounded_by_its_named_limit() {
    let mut bytes = packed_file(&eight());
    let at = packed_offset(&bytes, 8);
    // More than a buffer can hold is refused; the most that it can hold is tried, and falls short.
    bytes[at + 0x30..at + 0x34].copy_from_slice(&((16u32 << 20) + 1).to_le_bytes());
    all_but(&bytes, &[8]);
    bytes[at + 0x30..at + 0x34].copy_from_slice(&(16u32 << 20).to_le_bytes());
    let (_, report) = all_but(&bytes, &[]);
    assert_eq!(report.damage.count(DamageKind::Compression), 1);
}

#[test]
fn the_list_of_findings_is_bounded_and_the_counts_are_complete() {
    let broken = |n: i64| Buffer::new(0, n).with(&[0; 16]);
    let bytes = plain_file(&Head::default(), &(1..1500).map(broken).collect::<Vec<Buffer>>());
    let (_, _, report) = scan_all(&bytes);
    assert_eq!(report.damage.count(DamageKind::RecordMarker), 1499);
    assert_eq!(report.damage.listed().len(), crate::etl::LISTED_MAX);
}
