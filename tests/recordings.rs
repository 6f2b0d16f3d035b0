//! Real recordings against counts and values that an independent reader found in them, and the invariants that
//! hold for every lake. The recordings are not part of the repository: `ETWAS_CORPUS` names the folder that
//! holds `traces/`, else `../shared`; without it these tests say so and pass.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use etwas_ingest::input::InputArgs;
use etwas_ingest::{IngestOptions, IngestSummary};
use etwas_queries::run::{Answer, Target};
use etwas_queries::value::{Value, plain};
use etwas_queries::{Lake, OpenOptions, lake_db};

/// The folder of the recordings.
pub fn corpus() -> Option<PathBuf> {
    let folder = std::env::var_os("ETWAS_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    if folder.join("traces").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at {} (set ETWAS_CORPUS)", folder.display());
    None
}

/// Ingests into a lake that is ready to be asked.
fn ingest(inputs: Vec<PathBuf>, root: &Path, separate: bool, jobs: usize) -> IngestSummary {
    let options = IngestOptions {
        input: InputArgs {
            inputs: inputs.into_iter().map(Into::into).collect(),
            ..InputArgs::default()
        },
        lake: root.to_owned(),
        jobs: Some(jobs),
        separate,
        ..IngestOptions::default()
    };
    let summary = etwas_ingest::run(&options, &()).expect("the ingest begins");
    lake_db::refresh(root).expect("the database is written");
    summary
}

/// All recordings in one lake, files joined to recordings; made once.
fn all() -> Option<&'static Path> {
    static LAKE: OnceLock<Option<tempfile::TempDir>> = OnceLock::new();
    let lake = LAKE.get_or_init(|| {
        let traces = corpus()?.join("traces");
        let folder = tempfile::tempdir().expect("a temporary folder");
        ingest(vec![traces], &folder.path().join("lake"), false, 2);
        Some(folder)
    });
    lake.as_ref().map(|folder| folder.path())
}

fn open(folder: &Path) -> Lake {
    Lake::open(&folder.join("lake"), &OpenOptions::default()).expect("the lake opens")
}

/// The rows of a query as text; NULL is `NULL`.
fn rows(lake: &Lake, sql: &str) -> Vec<Vec<String>> {
    let mut answer = Answer::default();
    if let Err(error) = lake.sql(sql, None, Target::Sink(&mut answer)) {
        panic!("{error}\n{sql}");
    }
    let text = |value: &Value| match value {
        Value::Null => "NULL".to_owned(),
        value => plain(value),
    };
    answer.rows.iter().map(|row| row.iter().map(text).collect()).collect()
}

fn number(lake: &Lake, sql: &str) -> i64 {
    rows(lake, sql)[0][0].parse().expect("one number")
}

#[test]
fn every_record_is_counted_in_its_class() {
    let Some(corpus) = corpus() else { return };
    let folder = tempfile::tempdir().unwrap();
    let summary = ingest(vec![corpus.join("traces")], &folder.path().join("lake"), true, 2);
    assert!(summary.is_trouble(), "one of the files is no trace");
    let lake = open(folder.path());
    let text = std::fs::read_to_string(corpus.join("traces/expected/census.json")).unwrap();
    let expected: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for (file, want) in expected.as_object().unwrap() {
        let sql = format!(
            "SELECT CASE WHEN c.hook IS NOT NULL THEN 'hook ' || c.hook || ' v' || c.version
                    WHEN c.event_id IS NOT NULL
                    THEN 'event ' || c.provider_guid || ' id' || c.event_id || ' v' || c.version
                    ELSE 'class ' || c.provider_guid || ' op' || c.opcode || ' v' || c.version END AS class,
                CAST(sum(c.events) AS BIGINT)
            FROM event_census AS c JOIN trace AS t ON t.trace_id = c.trace_id
            WHERE t.path LIKE '%/{file}' GROUP BY 1 ORDER BY 1"
        );
        let mut have: Vec<(String, i64)> =
            rows(&lake, &sql).iter().map(|r| (r[0].clone(), r[1].parse().unwrap())).collect();
        let events = want["events"].as_object().unwrap();
        let mut want: Vec<(String, i64)> =
            events.iter().map(|(class, n)| (class.clone(), n.as_i64().unwrap())).collect();
        have.sort();
        want.sort();
        if have != want {
            wrong.push(file.clone());
        }
    }
    assert!(wrong.is_empty(), "event classes differ in {wrong:?}");
    let closes = "SELECT count(*) FROM (SELECT t.trace_id FROM trace AS t
        JOIN event_census AS c ON c.trace_id = t.trace_id
        GROUP BY t.trace_id, t.event_count HAVING sum(c.events) <> t.event_count)";
    assert_eq!(number(&lake, closes), 0, "records = stored + known + unknown + malformed");
}

#[test]
fn a_file_that_is_none_costs_itself_only() {
    let Some(folder) = all() else { return };
    let lake = open(folder);
    let failed = rows(&lake, "SELECT t.name, t.error FROM trace AS t WHERE t.status = 'failed'");
    assert_eq!(failed.len(), 1);
    assert_eq!(failed[0][0], "not-an-etl");
    assert!(failed[0][1].contains("at offset 0x"), "{}", failed[0][1]);
    assert_eq!(number(&lake, "SELECT count(*) FROM trace AS t WHERE t.status = 'ok'"), 20);
}

#[test]
fn the_real_switches_have_the_values_found_independently() {
    let Some(folder) = all() else { return };
    let lake = open(folder);
    let path = corpus().unwrap().join("traces/expected/win7-real-cswitch.json");
    let expected: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let columns = [
        "ts_ns",
        "cpu",
        "new_tid",
        "old_tid",
        "new_priority",
        "old_priority",
        "old_wait_reason",
        "old_state",
        "since_last_ns",
        "run_ns",
    ];
    let have = rows(
        &lake,
        "SELECT c.ts_ns, c.cpu, c.new_tid, c.old_tid, c.new_priority, c.old_priority,
            c.old_wait_reason, c.old_state, c.since_last_ns, c.run_ns
        FROM cswitch AS c JOIN trace AS t ON t.trace_id = c.trace_id
        WHERE t.name = 'win7-real-cswitch' ORDER BY c.ts_ns, c.cpu",
    );
    let mut expected: Vec<&serde_json::Value> = expected.as_array().unwrap().iter().collect();
    expected.sort_by_key(|row| (row["ts_ns"].as_i64(), row["cpu"].as_i64()));
    assert_eq!(have.len(), expected.len());
    let mut compared = 0;
    for (want, have) in expected.iter().zip(&have) {
        for (column, have) in columns.iter().zip(have) {
            let Some(want) = want.get(column).and_then(serde_json::Value::as_i64) else { continue };
            compared += 1;
            assert_eq!(&want.to_string(), have, "{column} at {}", want);
        }
    }
    assert!(compared > 1_500, "{compared} values compared");
}

#[test]
fn lifetimes_are_those_of_the_recordings() {
    let Some(folder) = all() else { return };
    let lake = open(folder);
    let of = |what: &str, table: &str, name: &str| {
        let sql = format!(
            "SELECT {what} FROM {table} AS x JOIN trace AS t ON t.trace_id = x.trace_id
            WHERE t.name = '{name}'"
        );
        number(&lake, &sql)
    };
    assert_eq!(of("count(x.start_ts_ns)", "process", "win7-kernel-process"), 4);
    assert_eq!(of("count(x.end_ts_ns)", "process", "win7-kernel-process"), 4);
    assert_eq!(of("count(x.start_ts_ns)", "process", "win8-net452-x64-compressed"), 1);
    assert_eq!(of("count(x.start_ts_ns)", "process", "win7-net45-x86"), 2);
    assert_eq!(of("count(x.end_ts_ns)", "process", "win10-shutdown"), 60);
    assert_eq!(of("count(x.terminate_ts_ns)", "process", "win10-shutdown"), 60);
    assert_eq!(of("count(x.end_ts_ns)", "thread", "win10-shutdown"), 1032);
    assert_eq!(of("count(x.start_ts_ns)", "process", "win11-vs-threads-compressed"), 124);
    assert_eq!(of("count(x.start_ts_ns)", "thread", "win11-vs-threads-compressed"), 18850);
    assert_eq!(of("max(t.parts)", "image", "diaghub"), 3);
    assert!(of("count(x.pdb_guid)", "image", "diaghub") > 1000, "PDB ids come from the other file");
}

#[test]
fn stack_records_are_matched_or_counted() {
    let Some(folder) = all() else { return };
    let lake = open(folder);
    let count = |trace: &str, counter: &str| {
        number(
            &lake,
            &format!(
                "SELECT CAST(coalesce(sum(h.count), 0) AS BIGINT) FROM health AS h
                JOIN trace AS t ON t.trace_id = h.trace_id
                WHERE t.name = '{trace}' AND h.counter = '{counter}'"
            ),
        )
    };
    for (trace, records, not_stored) in
        [("win7-net45-x86", 18_532, 706 - 15), ("win8-net452-x64-compressed", 9_359, 2_583)]
    {
        for counter in [
            "stacks_unmatched",
            "stacks_late",
            "stack_keys_unresolved",
            "stack_definitions_over_limit",
        ] {
            assert_eq!(count(trace, counter), 0, "{trace} {counter}");
        }
        let left = count(trace, "stacks_not_stored");
        assert!(left <= not_stored + 15, "{trace}: {left} of {records} not stored");
        let stored = number(
            &lake,
            &format!(
                "SELECT CAST(sum(c.events) AS BIGINT) FROM event_census AS c
                JOIN trace AS t ON t.trace_id = c.trace_id
                WHERE t.name = '{trace}' AND c.hook IN ('1820', '1825', '1826')
                    AND c.fate = 'stored'"
            ),
        );
        assert_eq!(stored + left, records, "{trace}");
    }
}

/// What a lake breaks of what holds in every lake.
pub fn broken_invariants(lake: &Lake) -> Vec<String> {
    etwas_queries::verify::verify(lake).expect("the checks run")
}

#[test]
fn invariants_hold_in_the_recordings() {
    let Some(folder) = all() else { return };
    assert_eq!(broken_invariants(&open(folder)), [""; 0]);
}

#[test]
fn invariants_hold_in_the_fixtures() {
    let folder = tempfile::tempdir().unwrap();
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traces");
    let summary = ingest(vec![traces], &folder.path().join("lake"), false, 2);
    assert!(!summary.is_trouble());
    assert_eq!(broken_invariants(&open(folder.path())), [""; 0]);
}

/// `ETWAS_DISSECT` names a Python that has the package dissect.etl, an independent reader.
#[test]
fn another_reader_counts_the_same_records() {
    let Some(python) = std::env::var_os("ETWAS_DISSECT") else {
        eprintln!("skipped: no Python with dissect.etl (set ETWAS_DISSECT)");
        return;
    };
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut traces: Vec<PathBuf> = std::fs::read_dir(fixtures.join("traces"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "etl"))
        .collect();
    traces.sort();
    let script = fixtures.join("dissect_records.py");
    let output =
        std::process::Command::new(python).arg(script).args(&traces).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: Vec<String> =
        text.lines().map(|line| line.rsplit_once('\t').unwrap().1.to_owned()).collect();

    let folder = tempfile::tempdir().unwrap();
    ingest(traces.clone(), &folder.path().join("lake"), true, 2);
    let sql = "SELECT CAST(sum(c.events) AS BIGINT) FROM event_census AS c
        JOIN trace AS t ON t.trace_id = c.trace_id GROUP BY t.name ORDER BY t.name";
    let ours: Vec<String> = rows(&open(folder.path()), sql).concat();
    assert_eq!(ours, theirs);
    assert_eq!(theirs.len(), traces.len());
}

#[test]
fn one_thread_and_several_give_the_same_bytes() {
    let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/traces");
    let digest = |jobs: usize| {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("lake");
        ingest(vec![traces.clone()], &root, false, jobs);
        let mut found = Vec::new();
        for recording in std::fs::read_dir(&root).unwrap().flatten() {
            if !recording.file_name().to_string_lossy().starts_with("trace_id=") {
                continue;
            }
            for file in std::fs::read_dir(recording.path()).unwrap().flatten() {
                let path = file.path();
                let name = path.strip_prefix(&root).unwrap().to_owned();
                found.push((name, std::fs::read(&path).unwrap()));
            }
        }
        found.sort();
        found
    };
    let (one, three) = (digest(1), digest(3));
    assert!(one.len() > 100, "{} files", one.len());
    assert!(one == three);
}
