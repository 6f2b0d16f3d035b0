//! What file systems and systems differ in: patterns, separators, long paths, replacing what is there, files that
//! others hold open or write to. Runs everywhere; what only Windows has (drive letters, locks) is marked.
//! `scripts/windows-test.sh` runs it as a Windows program on Linux.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use etwas_ingest::input::InputArgs;
use etwas_ingest::{IngestOptions, IngestSummary, ResultStatus, run};
use etwas_writer::{Scenario, Variant};

/// A trace, written from a scenario.
fn trace() -> Vec<u8> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let text = fs::read_to_string(fixtures.join("scenarios/first-light.txt")).expect("a scenario");
    let scenario = Scenario::parse(&text).expect("the scenario can be read");
    scenario.write(&Variant::default()).remove(0).bytes
}

fn ingest(lake: &Path, inputs: &[OsString], force: bool) -> IngestSummary {
    let input = InputArgs { inputs: inputs.to_vec(), ..InputArgs::default() };
    let options = IngestOptions { lake: lake.to_owned(), input, force, ..IngestOptions::default() };
    run(&options, &()).expect("the lake can be written")
}

fn statuses(summary: &IngestSummary) -> Vec<ResultStatus> {
    summary.results.iter().map(|result| result.status).collect()
}

/// Folders of recordings in the lake that have their manifest.
fn published(lake: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(lake).expect("the lake can be listed").flatten();
    let named = entries.filter(|e| e.file_name().to_string_lossy().starts_with("trace_id="));
    named.map(|e| e.path()).filter(|path| path.join("manifest.json").is_file()).collect()
}

#[test]
fn patterns_find_files_in_either_spelling() {
    let folder = tempfile::tempdir().unwrap();
    let traces = folder.path().join("traces");
    fs::create_dir(&traces).unwrap();
    fs::write(traces.join("one.etl"), trace()).unwrap();
    fs::write(traces.join("TWO.ETL"), &trace()[..100]).unwrap();
    fs::write(traces.join("three.txt"), "no trace").unwrap();
    let lake = folder.path().join("lake");
    for pattern in ["traces/*.etl", "traces", "tr*s/one.etl", "traces/./one.etl"] {
        let found = ingest(&lake, &[folder.path().join(pattern).into()], false);
        let one = found.results.iter().find(|result| result.name == "one").expect(pattern);
        assert!(matches!(one.status, ResultStatus::Ok | ResultStatus::Unchanged), "{pattern}");
        assert!(found.results.iter().all(|result| result.name != "three"), "{pattern}");
    }
    let all = ingest(&lake, &[folder.path().join("traces").into()], false);
    assert_eq!(all.results.len(), 2, "upper case is an extension, too: {:?}", all.results);
    assert_eq!(published(&lake).len(), 2, "the same file by another spelling is the same file");
}

#[test]
fn long_paths_are_read_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let mut deep = folder.path().canonicalize().expect("an absolute path");
    while deep.as_os_str().len() < 400 {
        deep.push("a-folder-with-a-name-of-some-length");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("deep.etl"), trace()).unwrap();
    let lake = deep.join("lake");
    let summary = ingest(&lake, &[deep.join("deep.etl").into()], false);
    assert_eq!(statuses(&summary), [ResultStatus::Ok], "{:?}", summary.results);
    assert_eq!(published(&lake).len(), 1);
}

#[test]
fn a_newer_reading_takes_the_place_of_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let (file, lake) = (folder.path().join("a.etl"), folder.path().join("lake"));
    fs::write(&file, trace()).unwrap();
    for _ in 0..3 {
        let summary = ingest(&lake, &[file.clone().into()], true);
        assert_eq!(statuses(&summary), [ResultStatus::Ok], "{:?}", summary.results);
        assert_eq!(published(&lake).len(), 1);
    }
    let unchanged = ingest(&lake, &[file.into()], false);
    assert_eq!(statuses(&unchanged), [ResultStatus::Unchanged]);
}

#[test]
fn a_table_that_is_being_read_is_replaced_or_stays() {
    let folder = tempfile::tempdir().unwrap();
    let (file, lake) = (folder.path().join("a.etl"), folder.path().join("lake"));
    fs::write(&file, trace()).unwrap();
    ingest(&lake, &[file.clone().into()], false);
    let recording = published(&lake).remove(0);
    let reader = File::open(recording.join("cswitch.parquet")).unwrap();
    let again = ingest(&lake, &[file.clone().into()], true);
    assert_eq!(again.results.len(), 1);
    // Windows refuses to move a folder while a file in it is open; then the old one is still there, whole.
    assert!(published(&lake).contains(&recording), "{:?}", again.results);
    assert!(recording.join("cswitch.parquet").is_file());
    drop(reader);
    let last = ingest(&lake, &[file.into()], true);
    assert_eq!(statuses(&last), [ResultStatus::Ok], "{:?}", last.results);
    assert_eq!(published(&lake).len(), 1);
}

#[test]
fn a_file_that_a_recorder_still_writes_is_read_as_far_as_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let (path, lake) = (folder.path().join("growing.etl"), folder.path().join("lake"));
    let bytes = trace();
    let mut recorder = File::create(&path).unwrap();
    let half = bytes.len() / 2;
    recorder.write_all(&bytes[..half]).unwrap();
    recorder.flush().unwrap();
    let early = ingest(&lake, &[path.clone().into()], false);
    assert_eq!(statuses(&early), [ResultStatus::Damaged], "{:?}", early.results);
    recorder.write_all(&bytes[half..]).unwrap();
    recorder.sync_all().unwrap();
    let late = ingest(&lake, &[path.into()], false);
    assert_eq!(statuses(&late), [ResultStatus::Ok], "{:?}", late.results);
    drop(recorder);
}

#[cfg(windows)]
#[test]
fn drive_letters_backslashes_and_verbatim_paths() {
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let verbatim = folder.path().canonicalize().unwrap();
    let verbatim = verbatim.to_string_lossy().into_owned();
    let plain = verbatim.strip_prefix(r"\\?\").expect("canonical paths are verbatim").to_owned();
    assert_eq!(plain.as_bytes()[1], b':', "{plain}");
    fs::write(folder.path().join("a.etl"), trace()).unwrap();
    for input in [
        format!(r"{plain}\a.etl"),
        format!(r"{plain}\*.etl"),
        plain.replace('\\', "/") + "/a.etl",
        plain.to_lowercase() + r"\A.ETL",
        format!(r"{verbatim}\a.etl"),
    ] {
        let summary = ingest(&lake, &[input.clone().into()], false);
        assert_eq!(summary.results.len(), 1, "{input}");
        assert!(!summary.is_trouble(), "{input}: {:?}", summary.results);
    }
    assert_eq!(published(&lake).len(), 1);
}

#[cfg(windows)]
#[test]
fn a_file_that_another_program_has_locked_costs_itself_only() {
    use std::os::windows::fs::OpenOptionsExt;
    let folder = tempfile::tempdir().unwrap();
    let lake = folder.path().join("lake");
    let (free, locked) = (folder.path().join("free.etl"), folder.path().join("locked.etl"));
    fs::write(&free, trace()).unwrap();
    fs::write(&locked, &trace()[..trace().len() / 2]).unwrap();
    let lock = File::options().read(true).share_mode(0).open(&locked).unwrap();
    let summary = ingest(&lake, &[free.clone().into(), locked.clone().into()], false);
    let status = |name: &str| summary.results.iter().find(|r| r.name == name).map(|r| r.status);
    assert_eq!(status("free"), Some(ResultStatus::Ok), "{:?}", summary.results);
    assert_eq!(status("locked"), Some(ResultStatus::Failed), "{:?}", summary.results);
    drop(lock);
    let later = ingest(&lake, &[locked.into()], false);
    assert_eq!(statuses(&later), [ResultStatus::Damaged], "{:?}", later.results);
}
