//! Walking a buffer: where it ends, and what a bad record costs.

use super::build::{Buffer, Head, SLOT, plain_file, scan_all, system, times};
use crate::etl::{DamageKind, ScanReport};

/// Scans a file with one buffer whose bytes `edit` may change, followed by an undamaged one with times 100 and 101.
/// Gives the times seen in the first and the report.
fn scan_edited(buffer: Buffer, edit: impl FnOnce(&mut [u8])) -> (Vec<i64>, ScanReport) {
    let mut bytes = plain_file(&Head::default(), &[buffer, Buffer::new(1, 2).times(&[100, 101])]);
    edit(&mut bytes[SLOT..2 * SLOT]);
    let (_, seen, report) = scan_all(&bytes);
    let mut times = times(&seen);
    assert!(times.ends_with(&[100, 101]), "the next buffer is complete: {times:?}");
    times.truncate(times.len() - 2);
    (times, report)
}

/// Position of the second of the records that `times` writes.
const SECOND: usize = 0x48 + 0x30;

fn three() -> Buffer {
    Buffer::new(1, 1).times(&[10, 11, 12])
}

#[test]
fn padding_is_skipped_and_sizes_are_exact() {
    let buffer = (0..20).fold(Buffer::new(1, 1), |buffer, extra| {
        buffer.with(&system(true, 2, 1, 10 + extra, &vec![0xFF; extra as usize]))
    });
    let (times, report) = scan_edited(buffer, |_| {});
    assert_eq!(times, (10..30).collect::<Vec<i64>>());
    assert!(report.damage.is_empty());
}

#[test]
fn filled_length_counts_and_saved_offset_does_not() {
    let (times, report) = scan_edited(three(), |bytes| {
        bytes[4..8].copy_from_slice(&0x48u32.to_le_bytes());
    });
    assert_eq!((times, report.damage.total()), (vec![10, 11, 12], 0));
    let (times, report) = scan_edited(three(), |bytes| {
        let filled = (0x48 + 2 * 0x30u32).to_le_bytes();
        bytes[0x30..0x34].copy_from_slice(&filled);
    });
    assert_eq!((times, report.damage.total()), (vec![10, 11], 0));
}

#[test]
fn an_empty_buffer_is_no_damage() {
    let (times, report) = scan_edited(Buffer::new(1, 1), |_| {});
    assert_eq!((times.len(), report.damage.total(), report.buffers), (0, 0, 3));
}

#[test]
fn bad_sizes_drop_the_rest_of_the_buffer() {
    for size in [0u16, 0x1F, 0x1000, 0xFFFF] {
        let (times, report) = scan_edited(three(), |bytes| {
            bytes[SECOND + 4..SECOND + 6].copy_from_slice(&size.to_le_bytes());
        });
        assert_eq!(times, [10], "size {size:#x}");
        assert_eq!(report.damage.count(DamageKind::RecordSize), 1);
        assert_eq!((report.damaged_buffers, report.bytes_lost()), (1, 0x60));
        let found = &report.damage.listed()[0];
        assert_eq!(found.offset, (SLOT + SECOND) as u64);
        assert!(found.to_string().starts_with("at offset 0x1078: impossible record size"));
    }
}

#[test]
fn bytes_that_are_no_record_drop_the_rest_of_the_buffer() {
    for marker in [0u32, 0x4002_0002, 0x7FFF_FFFF] {
        let (times, report) = scan_edited(three(), |bytes| {
            bytes[SECOND..SECOND + 4].copy_from_slice(&marker.to_le_bytes());
        });
        assert_eq!(times, [10], "marker {marker:#x}");
        assert_eq!(report.damage.count(DamageKind::RecordMarker), 1);
        assert_eq!(report.bytes_lost(), 0x60);
    }
}

#[test]
fn an_end_mark_is_damage_only_with_data_behind_it() {
    let (times, report) = scan_edited(three(), |bytes| bytes[SECOND..SECOND + 4].fill(0xFF));
    assert_eq!((times, report.damage.count(DamageKind::EndMark)), (vec![10], 1));
    let (times, report) = scan_edited(three(), |bytes| bytes[SECOND..].fill(0xFF));
    assert_eq!((times, report.damage.total()), (vec![10], 0));
}

#[test]
fn an_impossible_filled_length_reads_to_the_end_mark() {
    for filled in [0u32, 0x47, SLOT as u32 + 1, u32::MAX] {
        let (times, report) = scan_edited(three(), |bytes| {
            bytes[0x30..0x34].copy_from_slice(&filled.to_le_bytes());
        });
        assert_eq!((times, report.damage.total()), (vec![10, 11, 12], 0), "filled {filled:#x}");
    }
}

#[test]
fn steps_back_in_time_are_counted_and_kept() {
    let (times, report) = scan_edited(Buffer::new(1, 1).times(&[10, 9, 11, 3]), |_| {});
    assert_eq!((times, report.inversions), (vec![10, 9, 11, 3], 2));
}
