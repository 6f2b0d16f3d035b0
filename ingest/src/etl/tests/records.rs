//! Every record kind, each from bytes with different values in all fields.

use super::build::{
    Buffer, Bytes, Head, classic, compact, item, manifest, message, open, other, perf_info,
    plain_file, system,
};
use crate::etl::{DamageKind, EventId, Guid, NO_ID, RawEvent, RecordKind, ScanReport, scan};

/// Scans a file whose second buffer holds `records` and gives each of them to `check`, with its number.
fn each_in(
    head: &Head,
    records: &[Vec<u8>],
    mut check: impl FnMut(usize, &RawEvent<'_>),
) -> ScanReport {
    let buffer = records.iter().fold(Buffer::new(3, 1), |buffer, record| buffer.with(record));
    let file = open(plain_file(head, &[buffer])).expect("test file opens");
    let mut number = 0;
    let report = scan(&file, |event| {
        if number > 0 {
            assert_eq!(event.cpu, 3);
            assert_eq!(event.bytes as usize, records[number - 1].len());
            check(number - 1, event);
        }
        number += 1;
    });
    assert_eq!(number, records.len() + 1);
    report.expect("memory can be read")
}

fn each(records: &[Vec<u8>], check: impl FnMut(usize, &RawEvent<'_>)) -> ScanReport {
    each_in(&Head::default(), records, check)
}

fn kernel(hook: u16, version: u8) -> EventId {
    EventId::Kernel { hook, version }
}

#[test]
fn system_and_compact_in_both_widths() {
    let records = [
        system(false, 4, 0x0524, 100, b"abc"),
        system(true, 4, 0x0524, 101, b"abc"),
        compact(false, 0x0301, 102, b""),
        compact(true, 0x0301, 103, b"xyz"),
    ];
    let report = each(&records, |number, event| {
        let compact = number >= 2;
        let kind = if compact { RecordKind::Compact } else { RecordKind::System };
        assert_eq!((event.kind, event.pointer_size), (kind, [4, 8][number % 2]));
        assert_eq!((event.tid, event.pid, event.ticks), (1111, 2222, 100 + number as i64));
        assert_eq!(event.id, if compact { kernel(0x0301, 3) } else { kernel(0x0524, 4) });
        assert_eq!(event.payload, [&b"abc"[..], b"abc", b"", b"xyz"][number]);
        assert_eq!(event.items().count(), 0);
    });
    assert!(report.damage.is_empty());
    assert_eq!(report.ticks, Some((super::build::ANCHOR, 103)));
}

#[test]
fn perf_info_with_counter_words() {
    let words = Bytes::default().u64(11).u64(22).u64(33).u64(44).u64(55).u64(66).u64(77).u64(88).0;
    let body = [&words[..], b"payload"].concat();
    let cases = [(0x0002, 0), (0x0102, 1), (0x0402, 4), (0x8002, 1), (0x8302, 4), (0x8702, 8)];
    let records: Vec<Vec<u8>> = cases
        .iter()
        .enumerate()
        .map(|(number, (word, _))| perf_info(number % 2 == 1, *word, 0x0F2E, 7, &body))
        .collect();
    let report = each(&records, |number, event| {
        let count = cases[number].1;
        assert_eq!((event.kind, event.pointer_size), (RecordKind::PerfInfo, [4, 8][number % 2]));
        assert_eq!((event.tid, event.pid), (NO_ID, NO_ID));
        assert_eq!(event.id, kernel(0x0F2E, 2));
        assert_eq!(event.payload, &body[8 * count..]);
        let expected: Vec<u64> = (1..=count as u64).map(|word| word * 11).collect();
        assert_eq!(event.counters().collect::<Vec<u64>>(), expected);
    });
    assert!(report.damage.is_empty());
}

#[test]
fn counter_words_that_do_not_fit_are_counted() {
    let records =
        [perf_info(true, 0x0302, 0x0F2E, 7, &[1; 23]), system(true, 0x8102, 1, 8, &[1; 15])];
    let report = each(&records, |_, event| assert!(event.payload.is_empty()));
    assert_eq!(report.damage.count(DamageKind::RecordParts), 2);
    assert_eq!((report.damaged_buffers, report.bytes_lost()), (1, 0));
}

#[test]
fn classic_records() {
    let class = Guid([9, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    let full = Bytes::default().bytes(&class.0).u64(0).bytes(b"data").0;
    let ids = Bytes::default().u32(5).u32(6).bytes(&[0xCC; 16]).0;
    let instance = Bytes::default().bytes(&class.0).u64(0).bytes(&ids).bytes(b"data").0;
    let records = [
        classic(0x0A, 10, 4, 0x0203, 50, &full),
        classic(0x14, 10, 4, 0x0203, 51, &full),
        classic(0x0B, 10, 4, 0x0203, 52, &instance),
        classic(0x15, 10, 4, 0x0203, 53, &instance),
    ];
    let report = each(&records, |number, event| {
        let kind = if number < 2 { RecordKind::Full } else { RecordKind::Instance };
        assert_eq!((event.kind, event.pointer_size), (kind, [4, 8][number % 2]));
        assert_eq!((event.tid, event.pid, event.ticks), (1111, 2222, 50 + number as i64));
        let expected = EventId::Classic { class, opcode: 10, level: 4, version: 0x0203 };
        assert_eq!(event.id, expected);
        assert_eq!(event.payload, b"data");
    });
    assert!(report.damage.is_empty());
}

#[test]
fn old_instances_carry_a_handle_instead_of_a_class() {
    let head = Head { layout: (1, 0), ..Head::default() };
    let body = Bytes::default().u64(0xAAAA).u32(5).u32(6).u64(0).u64(0xBBBB).bytes(b"data").0;
    let records = [classic(0x0B, 1, 2, 3, 50, &body)];
    let report = each_in(&head, &records, |_, event| {
        let class = Guid::ZERO;
        assert_eq!(event.id, EventId::Classic { class, opcode: 1, level: 2, version: 3 });
        assert_eq!(event.payload, b"data");
    });
    assert!(report.damage.is_empty());
}

#[test]
fn manifest_events_with_and_without_items() {
    let items =
        [item(6, true, &[1; 24]), item(12, true, &[2; 3]), item(11, false, &[3; 9])].concat();
    let unpadded = &item(1, false, &[4; 15])[..23];
    let records = [
        manifest(true, 0, 60, b"payload"),
        manifest(false, 1, 61, &[&items[..], b"payload"].concat()),
        manifest(true, 1, 62, unpadded),
        manifest(true, 4, 63, b"s\0"),
    ];
    let report = each(&records, |number, event| {
        assert_eq!((event.kind, event.ticks), (RecordKind::Event, 60 + number as i64));
        assert_eq!(event.pointer_size, if number == 1 { 4 } else { 8 });
        assert_eq!((event.tid, event.pid), (1111, 2222));
        let guid = |first| Guid([first, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
        let expected = EventId::Manifest {
            provider: guid(0xA0),
            id: 0x1234,
            version: 2,
            channel: 11,
            level: 4,
            opcode: 5,
            task: 0x5678,
            keyword: 0x8000_0000_0000_0001,
            flags: [0, 1, 1, 4][number],
            activity: guid(0xB0),
        };
        assert_eq!(event.id, expected);
        let items: Vec<(u16, Vec<u8>)> =
            event.items().map(|item| (item.kind, item.data.to_vec())).collect();
        let expected = match number {
            1 => vec![(6, vec![1; 24]), (12, vec![2; 3]), (11, vec![3; 9])],
            2 => vec![(1, vec![4; 15])],
            _ => vec![],
        };
        assert_eq!(items, expected);
        assert_eq!(event.payload, [&b"payload"[..], b"payload", b"", b"s\0"][number]);
    });
    assert!(report.damage.is_empty());
}

#[test]
fn items_are_chained_by_linkage_alone() {
    // What follows the unlinked item looks like an item, and is payload.
    let payload = item(11, false, &[5; 8]);
    let body = [item(1, false, &[4; 16]), payload.clone()].concat();
    each(&[manifest(true, 1, 1, &body)], |_, event| {
        assert_eq!(event.items().count(), 1);
        assert_eq!(event.payload, payload);
    });
}

#[test]
fn items_that_do_not_fit_are_counted() {
    let mut long = item(6, false, &[1; 8]);
    long[6] = 200;
    let dangling = item(6, true, &[1; 8]);
    let report =
        each(&[manifest(true, 1, 1, &long), manifest(true, 1, 2, &dangling)], |_, event| {
            assert!(event.payload.is_empty());
        });
    assert_eq!(report.damage.count(DamageKind::RecordParts), 2);
    assert_eq!(report.records, 3);
}

#[test]
fn messages_with_all_options() {
    let guid = [7; 16];
    let fields = |options: u16| {
        let mut body = Bytes::default();
        if options & 0x01 != 0 {
            body = body.u32(1);
        }
        if options & 0x04 != 0 {
            body = body.u32(0xC0FFEE);
        } else if options & 0x02 != 0 {
            body = body.bytes(&guid);
        }
        if options & 0x18 != 0 {
            body = body.i64(500);
        }
        if options & 0x20 != 0 {
            body = body.u32(31).u32(32);
        }
        body.bytes(b"args").0
    };
    let mut records = vec![system(true, 2, 1, 400, b"")];
    let all: Vec<u16> = (0..0x100).collect();
    records.extend(all.iter().map(|options| message(*options, *options, &fields(*options))));
    let head = Head { wide: false, ..Head::default() };
    let mut last = 400;
    for part in records[1..].chunks(64) {
        let part = [&records[..1], part].concat();
        let report = each_in(&head, &part, |number, event| {
            if number == 0 {
                last = event.ticks;
                return;
            }
            let EventId::Message { guid: id, number: options } = event.id else { panic!() };
            last = if options & 0x08 != 0 { 500 } else { last };
            assert_eq!(event.ticks, last, "{options:#x}");
            assert_eq!(event.kind, RecordKind::Message);
            let component = Guid::new(0xC0FFEE, 0, 0, [0; 8]);
            let expected = [Guid::ZERO, Guid(guid), component, component];
            assert_eq!(id, expected[usize::from(options >> 1 & 3)], "{options:#x}");
            let ids = if options & 0x20 != 0 { (31, 32) } else { (NO_ID, NO_ID) };
            assert_eq!((event.tid, event.pid), ids, "{options:#x}");
            let wide = options & 0x80 != 0;
            assert_eq!(event.pointer_size, if wide { 8 } else { 4 }, "{options:#x}");
            assert_eq!(event.payload, b"args", "{options:#x}");
        });
        assert!(report.damage.is_empty());
    }
}

#[test]
fn message_fields_that_do_not_fit_are_counted() {
    let report = each(&[message(1, 0x2B, &[0; 30])], |_, event| {
        assert!(event.payload.is_empty());
        assert_eq!(event.kind, RecordKind::Message);
    });
    assert_eq!(report.damage.count(DamageKind::RecordParts), 1);
}

#[test]
fn other_records_are_delivered_as_opaque() {
    let time = 900i64.to_le_bytes();
    let records = [
        system(true, 2, 1, 800, b""),
        other(0xC0, 0x0C, 1, b"timed"),
        other(0xC0, 0x0D, 1, &[0; 0x48]),
        other(0xC0, 0x0E, 1, b"wnode"),
        other(0xC0, 0x0F, 1, b"message"),
        other(0xC0, 0x3F, 1, b"new"),
        other(0xA0, 0x01, 1, b""),
        other(0xB0, 0x00, 1, &[&time[..], b"rest"].concat()),
        other(0xB0, 0x00, 1, b"short"),
    ];
    let markers =
        [0, 0xC00C, 0xC00D, 0xC00E, 0xC00F, 0xC03F, 0xA001, 0xB000, 0xB000].map(|high| high << 16);
    let report = each(&records, |number, event| {
        if number > 0 {
            assert_eq!(event.kind, RecordKind::Opaque);
            assert_eq!(event.id, EventId::Opaque { marker: markers[number] });
            assert_eq!(event.ticks, if number < 7 { 800 } else { 900 });
            assert_eq!((event.tid, event.pid), (NO_ID, NO_ID));
            assert_eq!(event.payload, &records[number][8..]);
        }
    });
    assert!(report.damage.is_empty());
}

#[test]
fn records_before_the_first_time_take_it() {
    let records = [message(1, 0, b""), other(0xC0, 0x0D, 1, b""), system(true, 2, 1, 800, b"")];
    let report = each(&records, |_, event| assert_eq!(event.ticks, 800));
    assert_eq!(report.inversions, 0);
    each(&records[..1], |_, event| assert_eq!(event.ticks, super::build::ANCHOR));
}
