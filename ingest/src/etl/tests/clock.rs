//! The clock: exact floors, all clock types, and the ends of the number range.

use super::build::{ANCHOR, Head, START, open, plain_file};
use crate::etl::{Clock, ClockKind, filetime_to_unix_ns};

fn clock_of(head: Head) -> Clock {
    open(plain_file(&head, &[])).expect("test file opens").clock()
}

#[test]
fn performance_counter() {
    let clock = clock_of(Head::default());
    assert_eq!((clock.kind(), clock.rate_known()), (ClockKind::PerformanceCounter, true));
    assert_eq!(clock.ns(ANCHOR), 0);
    assert_eq!(clock.ns(ANCHOR + 3), 300);
    assert_eq!(clock.ns(ANCHOR - 3), -300);
    assert_eq!(clock.filetime(ANCHOR + 3), START + 3);
    assert_eq!(clock.filetime_ns(START - 2), -200);
}

#[test]
fn system_time_needs_no_anchor() {
    let head = Head { clock_type: 2, ticks: START + 10, perf_freq: 2_000_000, ..Head::default() };
    let clock = clock_of(head);
    assert_eq!(clock.ns(START + 25), 2500);
    assert_eq!(clock.filetime(START + 25), START + 25);
}

#[test]
fn cpu_cycles_use_the_nominal_speed() {
    let clock = clock_of(Head { clock_type: 3, cpu_mhz: 2500, ..Head::default() });
    assert_eq!(clock.ns(ANCHOR + 2500), 1000);
    assert_eq!(clock.ns(ANCHOR + 1), 0);
    assert_eq!(clock.ns(ANCHOR + 3), 1);
    assert_eq!(clock.filetime(ANCHOR + 2_500_000_000), START + 10_000_000);
}

#[test]
fn unstated_clock_is_told_by_its_size() {
    let counter = clock_of(Head { clock_type: 0, ..Head::default() });
    assert_eq!((counter.kind(), counter.ns(ANCHOR + 1)), (ClockKind::Unstated, 100));
    let head = Head { clock_type: 0, ticks: START + 5, perf_freq: 3, ..Head::default() };
    assert_eq!(clock_of(head).ns(START + 1), 100);
}

#[test]
fn missing_frequency_is_said() {
    let clock = clock_of(Head { perf_freq: 0, ..Head::default() });
    assert!(!clock.rate_known());
    assert_eq!(clock.ns(ANCHOR + 1), 100);
}

#[test]
fn floors_are_exact_for_every_frequency() {
    for frequency in [1, 3, 7, 1000, 2_337_949, 3_579_545, 14_318_180, 2_109_960, 4_000_000_007] {
        let clock = Clock::with(ClockKind::PerformanceCounter, 0, 0, frequency);
        for ticks in [0, 1, -1, 2, 999, -999, 1_234_567_890_123, -1_234_567_890_123] {
            let exact = i128::from(ticks) * 1_000_000_000;
            let floor = exact.div_euclid(i128::from(frequency));
            let expected = floor.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
            assert_eq!(clock.ns(ticks), expected, "{ticks} at {frequency}");
            assert_eq!(clock.duration_ns(ticks), expected, "{ticks} at {frequency}");
        }
    }
}

#[test]
fn extremes_saturate() {
    for frequency in [1, 3, 10_000_000, i64::MAX] {
        let clock = Clock::with(ClockKind::PerformanceCounter, -5, 7, frequency);
        assert!(clock.ns(i64::MAX) > 0 && clock.ns(i64::MIN) < 0);
        assert!(clock.filetime(i64::MAX) > 0);
        assert!(clock.filetime_ns(i64::MAX) > 0 && clock.filetime_ns(i64::MIN) < 0);
    }
}

#[test]
fn shift_moves_the_zero() {
    let clock = Clock::with(ClockKind::PerformanceCounter, 100, START, 1000).shifted(50);
    assert_eq!(clock.ns(101), 1_000_050);
    assert_eq!(clock.filetime_ns(START), 50);
}

#[test]
fn filetime_to_unix() {
    assert_eq!(filetime_to_unix_ns(116_444_736_000_000_001), Some(100));
    assert_eq!(filetime_to_unix_ns(i64::MAX), None);
}
