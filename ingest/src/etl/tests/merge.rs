//! The merge: order, wrapped files, damaged times, several files.

use super::build::{ANCHOR, Buffer, Head, Random, START, open, packed_file, plain_file, system};
use crate::etl::{DamageKind, EtlFile, Merge, MergeReport};

/// Times, CPUs and files in the order of delivery, without header records.
fn merged(files: &[&EtlFile]) -> (Vec<(i64, u16, usize)>, MergeReport) {
    let mut order = Vec::new();
    let report = Merge::new(files).run(|file, event| {
        let kernel_header = crate::etl::EventId::Kernel { hook: 0, version: 2 };
        if event.id != kernel_header {
            order.push((event.ticks, event.cpu, file));
        }
    });
    (order, report.expect("memory can be read"))
}

fn times_of(bytes: Vec<u8>) -> (Vec<i64>, MergeReport) {
    let file = open(bytes).expect("opens");
    let (order, report) = merged(&[&file]);
    (order.iter().map(|event| event.0).collect(), report)
}

#[test]
fn times_rise_over_all_cpus() {
    let buffers = [
        Buffer::new(1, 1).times(&[10, 14, 18]),
        Buffer::new(0, 2).times(&[11, 12, 19]),
        Buffer::new(1, 4).times(&[20, 30]),
        Buffer::new(2, 3).times(&[5, 21]),
    ];
    for bytes in [plain_file(&Head::default(), &buffers), packed_file(&buffers)] {
        let (times, report) = times_of(bytes);
        assert_eq!(times, [5, 10, 11, 12, 14, 18, 19, 20, 21, 30]);
        assert_eq!((report.records, report.out_of_order), (11, 0));
        assert_eq!(report.open_buffers_max, 3);
    }
}

#[test]
fn equal_times_keep_cpu_and_position() {
    let record = |tag: u8| system(true, 2, u16::from(tag), 10, b"");
    let buffers = [
        Buffer::new(2, 1).with(&record(1)).with(&record(2)),
        Buffer::new(1, 2).with(&record(3)).with(&record(4)),
        Buffer::new(2, 3).with(&record(5)),
    ];
    let file = open(plain_file(&Head::default(), &buffers)).expect("opens");
    let mut hooks = Vec::new();
    Merge::new(&[&file])
        .run(|_, event| {
            if let crate::etl::EventId::Kernel { hook, .. } = event.id {
                hooks.push(hook);
            }
        })
        .expect("reads");
    assert_eq!(hooks, [0, 3, 4, 1, 2, 5]);
}

#[test]
fn a_wrapped_file_is_read_from_its_oldest_buffer() {
    // Buffers 1 to 4 were overwritten by 9 to 12; both CPUs wrap.
    let slots = [9, 10, 11, 12, 5, 6, 7, 8];
    let buffers: Vec<Buffer> =
        slots.iter().map(|n| Buffer::new(*n as u16 % 2, *n).times(&[10 * n, 10 * n + 5])).collect();
    let (times, report) = times_of(plain_file(&Head { log_mode: 2, ..Head::default() }, &buffers));
    let expected: Vec<i64> = (5..13).flat_map(|n| [10 * n, 10 * n + 5]).collect();
    assert_eq!((times, report.out_of_order), (expected, 0));
}

#[test]
fn damaged_sequence_numbers_leave_it_to_the_times() {
    for sequences in [[0i64; 6], [1, 2, 2, 3, 4, 5], [1, 99, 2, 3, -7, 4], [6, 5, 4, 3, 2, 1]] {
        let buffers: Vec<Buffer> = sequences
            .iter()
            .zip(1i64..)
            .map(|(sequence, n)| Buffer::new(1, *sequence).times(&[10 * n, 10 * n + 5]))
            .collect();
        let (times, report) = times_of(plain_file(&Head::default(), &buffers));
        let expected: Vec<i64> = (1..7).flat_map(|n| [10 * n, 10 * n + 5]).collect();
        assert_eq!((times, report.out_of_order), (expected, 0), "{sequences:?}");
    }
}

#[test]
fn one_damaged_time_does_not_hold_up_its_stream() {
    let far = i64::MAX - 3;
    for place in 0..6 {
        let mut one: Vec<i64> = (1..7).map(|n| 10 * n).collect();
        one[place] = far;
        let buffers = [
            Buffer::new(1, 1).times(&one[..3]),
            Buffer::new(1, 2).times(&one[3..]),
            Buffer::new(2, 3).times(&[11, 21, 31, 41, 51, 61]),
            Buffer::new(1, 4).times(&[70, 80]),
            Buffer::new(2, 5).times(&[71, 81]),
        ];
        let (mut times, report) = times_of(plain_file(&Head::default(), &buffers));
        assert_eq!(report.records, 17);
        times.retain(|time| *time != far);
        assert!(times.is_sorted(), "{place}: {times:?}");
    }
}

#[test]
fn small_steps_back_keep_the_order_of_the_buffer() {
    let buffers =
        [Buffer::new(1, 1).times(&[10, 13, 12, 20]), Buffer::new(2, 2).times(&[9, 11, 15])];
    let (times, report) = times_of(plain_file(&Head::default(), &buffers));
    assert_eq!(times, [9, 10, 11, 13, 12, 15, 20]);
    assert_eq!((report.out_of_order, report.files[0].inversions), (1, 1));
}

#[test]
fn overlapping_buffers_of_one_cpu_lose_nothing() {
    let buffers = [Buffer::new(1, 1).times(&[10, 50]), Buffer::new(1, 2).times(&[20, 30, 60])];
    let (times, report) = times_of(plain_file(&Head::default(), &buffers));
    assert_eq!((times, report.out_of_order), (vec![10, 50, 20, 30, 60], 2));
}

#[test]
fn files_of_one_session_clock_are_compared_by_ticks() {
    let first = Head::default();
    // The wall clock was set back by 40 ms between the two starts; the counter was not.
    let second = Head { ticks: ANCHOR + 1000, start: START - 400_000, ..first.clone() };
    let one = open(plain_file(&first, &[Buffer::new(0, 1).times(&[10, 30])])).expect("opens");
    let two = open(plain_file(&second, &[Buffer::new(0, 1).times(&[20, 40])])).expect("opens");
    let merge = Merge::new(&[&two, &one]);
    assert!(merge.one_clock());
    assert!(merge.clocks().iter().all(|clock| clock.ns(ANCHOR + 1) == 100));
    let (order, _) = merged(&[&two, &one]);
    assert_eq!(order, [(10, 0, 1), (20, 0, 0), (30, 0, 1), (40, 0, 0)]);
}

#[test]
fn files_of_different_clocks_are_compared_by_wall_clock() {
    let first = Head::default();
    let second =
        Head { ticks: 0, start: START + 1000, boot: START, perf_freq: 1_000_000, ..first.clone() };
    let (a, b) = (ANCHOR, ANCHOR + 1015);
    let one = open(plain_file(&first, &[Buffer::new(0, 1).times(&[a, b])])).expect("opens");
    let two = open(plain_file(&second, &[Buffer::new(0, 1).times(&[1, 2])])).expect("opens");
    let merge = Merge::new(&[&one, &two]);
    assert!(!merge.one_clock());
    assert_eq!(merge.clocks()[1].ns(1), 101_000);
    let (order, report) = merged(&[&one, &two]);
    assert_eq!(order, [(a, 0, 0), (1, 0, 1), (b, 0, 0), (2, 0, 1)]);
    assert_eq!(report.out_of_order, 0);
}

#[test]
fn random_streams_come_out_as_a_stable_sort() {
    let mut random = Random(4);
    for round in 0..200 {
        let cpus = 1 + random.below(9) as u16;
        let mut clock = vec![ANCHOR; usize::from(cpus)];
        let mut buffers = Vec::new();
        for sequence in 1..1 + random.below(40) as i64 {
            let cpu = random.below(cpus.into()) as u16;
            let times: Vec<i64> = (0..random.below(8))
                .map(|_| {
                    clock[usize::from(cpu)] += random.below(4) as i64;
                    clock[usize::from(cpu)]
                })
                .collect();
            buffers.push(Buffer::new(cpu, sequence).times(&times));
        }
        let head = Head { cpus: 16, ..Head::default() };
        let bytes =
            if round % 2 == 0 { plain_file(&head, &buffers) } else { packed_file(&buffers) };
        let file = open(bytes).expect("opens");
        let (order, report) = merged(&[&file]);
        let mut expected: Vec<(i64, u16, u64, usize)> = Vec::new();
        let mut position = 0;
        crate::etl::scan(&file, |event| {
            expected.push((event.ticks, event.cpu, event.offset, position));
            position += 1;
        })
        .expect("reads");
        expected.remove(0);
        expected.sort();
        let expected: Vec<(i64, u16, usize)> =
            expected.iter().map(|event| (event.0, event.1, 0)).collect();
        assert_eq!(order, expected, "round {round}");
        assert_eq!(report.out_of_order, 0);
        assert!(report.open_buffers_max <= usize::from(cpus) + 1);
    }
}

#[test]
fn buffers_over_the_memory_limit_are_lost_and_counted() {
    let buffers = [
        Buffer::new(1, 1).times(&[10, 50]),
        Buffer::new(2, 2).times(&[20, 60]),
        Buffer::new(3, 3).times(&[70, 80]),
    ];
    let file = open(plain_file(&Head::default(), &buffers)).expect("opens");
    let need: usize = file.buffers()[1..3].iter().map(|buffer| buffer.file_bytes as usize).sum();
    for (limit, expected) in
        [(need, vec![10, 20, 50, 60, 70, 80]), (need - 1, vec![10, 50, 70, 80])]
    {
        let mut times = Vec::new();
        let merge = Merge::new(&[&file]).with_open_bytes_limit(limit);
        let report = merge.run(|_, event| times.push(event.ticks)).expect("reads");
        assert_eq!(times[1..], expected, "limit {limit}");
        let lost = u64::from(expected.len() < 6);
        assert_eq!(report.files[0].damage.count(DamageKind::Limit), lost);
        assert!(report.open_bytes_max <= limit);
    }
}
