//! The comparison with a Windows that is made of our own events, changed in one way each; and on Windows, with the
//! feature, the real one: every fixture and every recording.

use std::path::PathBuf;

use etwas_writer::{Scenario, Variant};

use super::*;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../fixtures")
}

fn trace() -> EtlFile {
    let text = std::fs::read_to_string(fixtures().join("scenarios/first-light.txt")).unwrap();
    let scenario = Scenario::parse(&text).expect("the scenario can be read");
    let mut files = scenario.write(&Variant::default());
    EtlFile::open(Arc::new(files.remove(0).bytes)).expect("a trace")
}

/// An event from Windows, with bytes of its own; a change may alter it, or leave it out.
struct Copy {
    class: Class,
    filetime: i64,
    pid: u32,
    payload: Option<Vec<u8>>,
}

/// A comparison in which Windows gives what we read, as changed by `change`, which is told the event's number.
fn with(change: impl Fn(usize, &mut Copy) -> bool) -> Report {
    let file = trace();
    let clock = file.clock();
    let mut comparison = Comparison::default();
    let mut number = 0;
    scan(&file, |event| {
        let Some(class) = Class::of(event) else { return };
        let filetime = clock.filetime(event.ticks);
        let payload = Some(event.payload.to_vec());
        let mut copy = Copy { class, filetime, pid: event.pid, payload };
        number += 1;
        if !class.is_header() && !change(number, &mut copy) {
            return;
        }
        comparison.os(&OsEvent {
            class: copy.class,
            filetime: copy.filetime,
            pid: copy.pid,
            tid: event.tid,
            payload: copy.payload.as_deref(),
        });
    })
    .unwrap();
    scan(&file, |event| comparison.native(event, clock.filetime(event.ticks))).unwrap();
    comparison.finish()
}

/// An event in the middle.
const SOME: usize = 40;

#[test]
fn equal_readings_have_no_difference() {
    let report = with(|_, _| true);
    assert_eq!(report.differences, [""; 0]);
    assert!(report.times_compared && report.classes > 5, "{report:?}");
    assert_eq!(report.os_events + report.unnamed, report.native_events);
    // All but the header record's.
    assert_eq!(report.payloads + 1, report.os_events);
}

#[test]
fn a_lost_event_shows() {
    let report = with(|number, _| number != SOME);
    assert_eq!(report.differences.len(), 1, "{report:?}");
    assert!(report.differences[0].contains("events from Windows"));
}

#[test]
fn a_tick_is_rounding_and_two_are_not() {
    assert_eq!(
        with(|_, copy| {
            copy.filetime += 1;
            true
        })
        .differences,
        [""; 0]
    );
    let report = with(|number, copy| {
        copy.filetime += if number == SOME { 1_000_000_000 } else { 0 };
        true
    });
    assert_eq!(report.differences.len(), 1, "{report:?}");
    assert!(report.differences[0].contains("100 ns"));
}

#[test]
fn a_changed_byte_or_process_shows() {
    let report = with(|number, copy| {
        if let (SOME, Some(payload)) = (number, &mut copy.payload) {
            *payload.last_mut().expect("a payload") ^= 1;
        }
        true
    });
    assert!(report.differences.len() == 1 && report.differences[0].contains("payloads"));
    let report = with(|number, copy| {
        copy.pid ^= u32::from(number == SOME);
        true
    });
    assert!(report.differences.len() == 1 && report.differences[0].contains("processes"));
}

#[test]
fn payloads_that_are_described_in_part_or_not_at_all_agree() {
    let part = with(|_, copy| {
        copy.payload.as_mut().unwrap().pop();
        true
    });
    assert_eq!(part.differences, [""; 0]);
    let none = with(|_, copy| {
        copy.payload = None;
        true
    });
    assert_eq!((none.differences.len(), none.payloads), (0, 0));
}

#[test]
fn a_path_that_windows_would_cut_is_refused() {
    let error = compare(Path::new("trace.etl\0.txt")).expect_err("refused");
    assert!(matches!(error, OsReaderError::NulInPath), "{error}");
}

#[cfg(not(all(windows, feature = "os-reader")))]
#[test]
fn where_there_is_no_such_reader_it_says_so() {
    let error = compare(&fixtures().join("traces")).expect_err("unavailable");
    assert!(matches!(error, OsReaderError::Unavailable) && !AVAILABLE, "{error}");
}

/// The oracle: whole files only, since what Windows makes of damage is its own affair.
#[cfg(all(windows, feature = "os-reader"))]
#[test]
fn windows_reads_every_fixture_and_recording_as_we_do() {
    let corpus =
        std::env::var_os("ETWAS_CORPUS").map_or_else(|| "../../shared".into(), PathBuf::from);
    let mut files = Vec::new();
    for folder in [fixtures().join("traces"), corpus.join("traces")] {
        let Ok(entries) = std::fs::read_dir(&folder) else {
            eprintln!("skipped: no recordings at {}", folder.display());
            continue;
        };
        files.extend(entries.flatten().map(|entry| entry.path()));
    }
    files.retain(|path| path.extension().is_some_and(|extension| extension == "etl"));
    files.sort();
    let mut wrong = Vec::new();
    for path in &files {
        let Ok(file) = EtlFile::open(Arc::new(std::fs::File::open(path).unwrap())) else {
            continue;
        };
        if !file.damage().is_empty() || file.header().end_filetime == 0 {
            continue;
        }
        match compare(path) {
            Ok(report) => wrong.extend(report.differences),
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(!files.is_empty() && wrong.is_empty(), "\n{}", wrong.join("\n"));
}
