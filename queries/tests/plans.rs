//! What questions read of a lake of two hundred recordings, as DuckDB's own plans tell: the files of
//! the traces that are asked about and no others, and of these only the columns they need. Counted in
//! files and rows, never in time.

use std::collections::BTreeMap;

use etwas_queries::Lake;
use etwas_queries::run::{Answer, Target};
use etwas_queries::value::plain;
use serde_json::Value as Json;

mod testlake;

use testlake::TestLake;

/// Recordings in the lake.
const TRACES: i64 = 200;

/// Switches in each of them: many more than rows of other tables, as in any recording.
const SWITCHES: u64 = 2000;

/// Questions that read the large tables, with a trace and without.
const QUESTIONS: [&str; 6] = [
    "starvation",
    "why_not_running",
    "cpu_by_process",
    "ready_time",
    "max_waits",
    "cpu_samples_by_process",
];

/// One scan of a table: files looked at, rows that came out, columns asked for.
#[derive(Debug)]
struct Scan {
    table: String,
    files: u64,
    rows: u64,
    columns: Vec<String>,
}

/// A recording is made once; the others are copies under names of their own.
fn wide_lake() -> TestLake {
    let lake = TestLake::new();
    let switches = format!(
        "SELECT 100000 * range AS ts_ns, range % 4 AS cpu, 1 + range % 3 AS new_thread_key,
             1 AS new_process_key, 100 + range % 3 AS new_tid, 10 AS new_pid, 400000 AS run_ns,
             8 AS new_priority, 8 AS out_priority, 8 AS prev_priority, 0 AS new_rank,
             0 AS new_rank_before, 1000000 AS since_last_ns,
             CASE WHEN range % 100 = 0 THEN 200000000 ELSE 90000 END AS ready_ns
         FROM range({SWITCHES})"
    );
    let process = "SELECT range AS process_key, 10 * range AS pid, 'app.exe' AS name
         FROM range(1, 51)";
    let thread = "SELECT range AS thread_key, 99 + range AS tid, 10 AS pid, 1 AS process_key
         FROM range(1, 51)";
    let state = "SELECT range AS thread_key, 1 AS process_key, 'waiting' AS state,
             190000000 + range AS since_ts_ns
         FROM range(1, 51)";
    let sample = "SELECT 1000000 * range AS ts_ns, 0 AS cpu, 1 AS process_key, 1 AS thread_key,
             100 AS tid, 10 AS pid, CAST(0 AS UBIGINT) AS address, 1000000 AS weight_ns
         FROM range(50)";
    let tables = [
        ("process", process),
        ("thread", thread),
        ("thread_end_state", state),
        ("cswitch", &switches),
        ("sample", sample),
    ];
    lake.trace(1, "t1", &tables);
    lake.copies(1, 2..=TRACES, &tables.map(|(name, _)| name));
    lake
}

/// Runs a question and lists its scans.
fn scans(lake: &Lake, call: &str) -> Vec<Scan> {
    let mut answer = Answer::default();
    let sql = format!("EXPLAIN (ANALYZE, FORMAT json) FROM {call}");
    lake.sql(&sql, None, Target::Sink(&mut answer)).unwrap_or_else(|e| panic!("{call}: {e}"));
    let text = answer.rows[0].iter().map(plain).find(|t| t.contains('{')).expect("a plan");
    let plan: Json = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{call}: {e}: {text}"));
    let mut out = Vec::new();
    collect(&plan, &mut out);
    assert!(!out.is_empty(), "{call}: no scan in {text}");
    out
}

fn collect(node: &Json, out: &mut Vec<Scan>) {
    match node {
        Json::Array(items) => items.iter().for_each(|item| collect(item, out)),
        Json::Object(fields) => {
            let info = &fields.get("extra_info").unwrap_or(&Json::Null);
            if info["Function"].as_str().is_some_and(|f| f.contains("READ_PARQUET")) {
                out.push(scan(fields, info));
            }
            fields.values().for_each(|value| collect(value, out));
        }
        _ => {}
    }
}

fn scan(fields: &serde_json::Map<String, Json>, info: &Json) -> Scan {
    let number = |value: &Json| {
        value.as_u64().or_else(|| value.as_str().and_then(|t| t.parse().ok())).unwrap_or(0)
    };
    // The first of the names is `.../trace_id=7/cswitch.parquet`.
    let names = info["Filename(s)"].as_str().unwrap_or_default();
    let first = names.split(',').next().unwrap_or_default();
    let table = first.rsplit('/').next().unwrap_or_default().trim_end_matches(".parquet");
    let columns = match &info["Projections"] {
        Json::Array(all) => all.iter().filter_map(|c| c.as_str().map(str::to_owned)).collect(),
        Json::String(one) => vec![one.clone()],
        _ => Vec::new(),
    };
    let rows = ["intermediate_rows", "operator_cardinality"];
    let rows = rows.iter().find_map(|name| fields.get(*name)).map_or(0, number);
    Scan { table: table.to_owned(), files: number(&info["Total Files Read"]), rows, columns }
}

#[test]
fn only_the_files_and_columns_that_are_asked_for_are_read() {
    let lake = wide_lake();
    let lake = lake.open();
    a_trace_by_its_number_is_one_file(&lake);
    let mut wrong = Vec::new();
    let mut read: BTreeMap<String, u64> = BTreeMap::new();
    for question in QUESTIONS {
        for scan in scans(&lake, &format!("{question}(trace := 't7')")) {
            // Where a trace's name is looked up, every trace is looked at.
            if matches!(scan.table.as_str(), "trace" | "gap") {
                continue;
            }
            *read.entry(scan.table.clone()).or_default() += scan.files;
            // An open run is looked for and may be joined twice. Rows and not files are judged: a scan may
            // have opened files before the other side of its join says which traces are wanted.
            if scan.rows > 2 * SWITCHES {
                wrong.push(format!("{question} of one trace: {scan:?}"));
            }
        }
        for scan in scans(&lake, &format!("{question}()")) {
            let stacks = ["new_stack_id", "ready_stack_id", "stack_id", "old_remaining_quantum"];
            let needless = scan.columns.iter().any(|c| stacks.contains(&c.as_str()));
            if needless || scan.columns.len() > 24 {
                wrong.push(format!("{question} reads columns it does not need: {scan:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(read.get("cswitch").is_some_and(|files| *files > 0), "switches are read: {read:?}");
}

fn a_trace_by_its_number_is_one_file(lake: &Lake) {
    let plan = |sql: &str| {
        let mut answer = Answer::default();
        lake.sql(sql, None, Target::Sink(&mut answer)).unwrap_or_else(|e| panic!("{sql}: {e}"));
        answer.rows.iter().flatten().map(plain).collect::<String>()
    };
    let text = plan("EXPLAIN SELECT max(c.run_ns) FROM cswitch c WHERE c.trace_id = 7");
    // The recordings and the table without rows.
    assert!(text.contains(&format!("Scanning Files: 1/{}", TRACES + 1)), "{text}");
    assert!(text.contains("Projections: run_ns"), "{text}");
}
