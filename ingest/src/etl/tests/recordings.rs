//! The real recordings: counts against the census that was made by independent means, cuts and flipped bits.
//!
//! They lie in `$ETWAS_CORPUS`, else in `../shared` beside the repository; without them the tests say so and skip.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::build::{Random, open};
use crate::etl::{EtlFile, Merge, ScanReport, scan};

/// The folder `traces` of the corpus.
fn traces() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared");
    let corpus = std::env::var_os("ETWAS_CORPUS").map_or_else(beside, PathBuf::from);
    let traces = corpus.join("traces");
    if traces.is_dir() {
        return Some(traces);
    }
    eprintln!("skipped: no recordings in {}", traces.display());
    None
}

/// All recordings below a folder, by file name.
fn recordings(folder: &Path, found: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("the corpus can be listed") {
        let path = entry.expect("the corpus can be listed").path();
        if path.is_dir() {
            recordings(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "etl") {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            if name != "not-an-etl.etl" {
                found.insert(name, fs::read(&path).expect("the corpus can be read"));
            }
        }
    }
}

fn corpus() -> Option<(PathBuf, BTreeMap<String, Vec<u8>>)> {
    let folder = traces()?;
    let mut found = BTreeMap::new();
    recordings(&folder, &mut found);
    Some((folder, found))
}

#[test]
fn counts_agree_with_the_census() {
    let Some((folder, files)) = corpus() else { return };
    let text = fs::read(folder.join("expected/census.json")).expect("the census is there");
    let census: Value = serde_json::from_slice(&text).expect("the census is JSON");
    let census = census.as_object().expect("the census is an object");
    assert_eq!(census.len(), files.len());
    for (name, expected) in census {
        let file = open(files[name].clone()).expect("opens");
        let report = scan(&file, |_| {}).expect("reads");
        let header = file.header();
        let is = |value: u64, field: &str| {
            let in_header = expected["header"].get(field);
            let wanted = in_header.or(expected.get(field)).and_then(Value::as_u64);
            assert_eq!(Some(value), wanted, "{field} of {name}");
        };
        is(file.len(), "bytes");
        is(file.buffers().len() as u64, "buffers");
        is(file.compressed_buffers() as u64, "compressed_buffers");
        is(report.records, "records");
        is(header.os_build.into(), "os_build");
        is(header.cpus.into(), "cpus");
        is(header.log_mode.into(), "log_mode");
        is(header.buffers_written.into(), "buffers_written");
        is(header.record_bits.into(), "pointer_bits");
        is(u64::from(header.pointer_size) * 8, "pointer_bits");
        is(header.events_lost.into(), "events_lost");
        is(header.perf_freq as u64, "perf_freq");
        is(header.start_filetime as u64, "start_filetime");
        is(header.clock_type.into(), "clock");
        assert!(file.damage().is_empty(), "{name}: {:?}", file.damage());
        assert!(report.damage.is_empty(), "{name}: {:?}", report.damage.listed());
        assert_eq!(report.inversions, 0, "{name}");
        assert!(file.buffers().iter().all(|buffer| buffer.first_ticks.is_some()), "{name}");
    }
}

#[test]
fn merges_deliver_the_same_records_in_time_order() {
    let Some((_, files)) = corpus() else { return };
    for (name, bytes) in &files {
        let file = open(bytes.clone()).expect("opens");
        let mut scanned: BTreeMap<(i64, u16, u32, u64), u32> = BTreeMap::new();
        let key = |event: &crate::etl::RawEvent<'_>| {
            let sum = event.payload.iter().fold(event.offset, |sum, byte| {
                sum.wrapping_mul(31).wrapping_add(u64::from(*byte))
            });
            (event.ticks, event.cpu, event.bytes, sum)
        };
        scan(&file, |event| *scanned.entry(key(event)).or_default() += 1).expect("reads");
        let mut last = i64::MIN;
        let report = Merge::new(&[&file]).run(|_, event| {
            assert!(event.ticks >= last, "{name}");
            last = event.ticks;
            let count = scanned.get_mut(&key(event)).expect("the record was scanned");
            *count -= 1;
        });
        let report = report.expect("reads");
        assert!(scanned.values().all(|count| *count == 0), "{name}");
        assert_eq!((report.out_of_order, report.files[0].damage.total()), (0, 0), "{name}");
        assert!(report.open_buffers_max <= file.header().cpus as usize, "{name}");
    }
}

#[test]
fn a_recording_of_several_files_is_one_stream() {
    let Some((_, files)) = corpus() else { return };
    let parts = ["diaghub.etl", "diaghub.kernel.1.etl", "diaghub.user_injected.1.etl"];
    let parts = parts.map(|name| open(files[name].clone()).expect("opens"));
    let merge = Merge::new(&[&parts[0], &parts[1], &parts[2]]);
    assert!(merge.one_clock());
    let mut last = i64::MIN;
    let report = merge.run(|_, event| {
        assert!(event.ticks >= last);
        last = event.ticks;
    });
    assert_eq!(report.expect("reads").records, 62_379 + 16_335 + 4);
}

/// Buffers of a file by offset: how many records each holds.
fn records_by_buffer(file: &EtlFile) -> (BTreeMap<u64, u64>, ScanReport) {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    let starts: Vec<u64> = file.buffers().iter().map(|buffer| buffer.offset).collect();
    let report = scan(file, |event| {
        let buffer = starts.partition_point(|start| *start <= event.offset) - 1;
        *counts.entry(starts[buffer]).or_default() += 1;
    });
    (counts, report.expect("reads"))
}

/// Scans and merges damaged bytes and checks that all buffers which `touched` does not name are complete.
fn check_damaged(
    name: &str,
    bytes: &[u8],
    good: &BTreeMap<u64, u64>,
    touched: impl Fn(u64) -> bool,
) -> bool {
    let Ok(file) = open(bytes.to_vec()) else {
        // Without its header record a file has no clock, and is refused.
        assert!(touched(0), "{name} does not open");
        return false;
    };
    let (counts, report) = records_by_buffer(&file);
    for (offset, records) in good {
        if !touched(*offset) {
            assert_eq!(counts.get(offset), Some(records), "{name}, buffer {offset:#x}");
        }
    }
    let merged = Merge::new(&[&file]).run(|_, _| {}).expect("reads");
    assert_eq!(merged.records, report.records, "{name}");
    !file.damage().is_empty() || !report.damage.is_empty()
}

#[test]
fn cut_recordings_keep_their_whole_buffers() {
    let Some((_, files)) = corpus() else { return };
    let mut random = Random(5);
    for (name, bytes) in &files {
        let file = open(bytes.clone()).expect("opens");
        let (good, _) = records_by_buffer(&file);
        let ends: Vec<u64> = file
            .buffers()
            .iter()
            .map(|buffer| buffer.offset + u64::from(buffer.file_bytes))
            .collect();
        let end_of = |offset: u64| ends.iter().copied().find(|end| *end > offset).unwrap_or(0);
        // Cuts of large files are sampled, so that the test ends in seconds.
        let output: u64 = file.buffers().iter().map(|buffer| u64::from(buffer.filled)).sum();
        let (every, seeded) = match output >> 20 {
            0 => (1, 200),
            megabytes => (ends.len().div_ceil(4), 4 + 40 / megabytes),
        };
        let mut cuts: Vec<u64> = ends.iter().copied().step_by(every).collect();
        cuts.extend((0..seeded).map(|_| 1 + random.below(bytes.len() as u64)));
        for cut in cuts {
            let part = &bytes[..cut as usize];
            check_damaged(&format!("{name} cut at {cut:#x}"), part, &good, |offset| {
                end_of(offset) > cut
            });
        }
    }
}

#[test]
fn flipped_bits_cost_only_their_buffer() {
    let Some((_, files)) = corpus() else { return };
    let mut random = Random(6);
    for (name, bytes) in files.iter().filter(|(_, bytes)| bytes.len() < 500_000) {
        let file = open(bytes.clone()).expect("opens");
        let (good, _) = records_by_buffer(&file);
        let starts: Vec<u64> = file.buffers().iter().map(|buffer| buffer.offset).collect();
        let rounds = if file.compressed_buffers() > 10 { 100 } else { 500 };
        for round in 0..rounds {
            // Every other flip hits a buffer header or a record's start, where it matters most.
            let place = match round % 2 {
                0 => random.below(bytes.len() as u64),
                _ => starts[random.below(starts.len() as u64) as usize] + random.below(0x68),
            };
            let bit = random.below(8);
            let mut damaged = bytes.clone();
            damaged[place as usize] ^= 1 << bit;
            let owner = starts[starts.partition_point(|start| *start <= place) - 1];
            let case = format!("{name} bit {bit} of {place:#x} flipped");
            check_damaged(&case, &damaged, &good, |offset| offset == owner);
        }
    }
}
