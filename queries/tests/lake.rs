//! Tests of what only a database can tell: that every question and building block exists in a lake,
//! answers with the columns it documents, and that a lake opens wherever it stands.
//!
//! `testlake` makes Parquet files in the declared schema from SQL, with DuckDB itself.

use etwas_queries::compare::Comparison;
use etwas_queries::lake_db::{self, quote};
use etwas_queries::run::{Answer, Request, Target, missing};
use etwas_queries::{Error, Lake, OpenOptions, catalog};

mod testlake;

use testlake::TestLake;

/// A lake with two machines: one with processes and samples, one with nothing but its name.
fn two_traces() -> TestLake {
    let lake = TestLake::new();
    lake.trace(11, "full", &[
        (
            "process",
            "SELECT * FROM (VALUES
                (0, 0, NULL, NULL, 'Idle', NULL, NULL),
                (1, 4, NULL, NULL, 'System', NULL, NULL),
                (2, 100, 4, 1, 'smss.exe', 1000, 5000000),
                (3, 200, 100, 2, 'child.exe', 2000, NULL),
                (4, 300, 300, 5, 'ring-a.exe', 3000, NULL),
                (5, 301, 300, 4, 'ring-b.exe', 3001, NULL)
            ) v(process_key, pid, parent_pid, parent_process_key, name, start_ts_ns, end_ts_ns)",
        ),
        (
            "sample",
            "SELECT range * 1000 AS ts_ns, 0 AS cpu, range % 3 AS process_key, range % 3 AS thread_key,
                 1 AS tid, CASE range % 3 WHEN 0 THEN 0 WHEN 1 THEN 4 ELSE 100 END AS pid,
                 CAST(0 AS UBIGINT) AS address, 1000000 AS weight_ns
             FROM range(30)",
        ),
    ]);
    lake.trace(22, "bare", &[]);
    lake
}

fn ask(lake: &Lake, name: &str, parameters: &[(&str, &str)]) -> Result<Answer, Error> {
    let parameters = parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let request = Request { name: name.into(), parameters, ..Request::default() };
    let mut answer = Answer::default();
    lake.ask(&request, Target::Sink(&mut answer))?;
    Ok(answer)
}

fn texts(answer: &Answer, column: &str) -> Vec<String> {
    let at = answer.columns.iter().position(|c| c.name == column).expect("the column exists");
    answer.rows.iter().map(|row| etwas_queries::value::plain(&row[at])).collect()
}

#[test]
fn files_keep_the_rules() {
    let broken = etwas_queries::tidy::check(etwas_queries::catalog::files());
    assert!(broken.is_empty(), "\n{}", broken.join("\n"));
    assert!(catalog().questions.len() >= 5);
}

#[test]
fn every_question_prepares_in_an_empty_lake_with_the_columns_it_documents() {
    let lake = TestLake::new();
    let lake = lake.open();
    let mut wrong = Vec::new();
    for question in &catalog().questions {
        match lake.describe(question) {
            Err(error) => wrong.push(format!("{}: {error}", question.file)),
            Ok(columns) => {
                let have: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
                let documented: Vec<&str> =
                    question.statement.columns.iter().map(|c| c.name.as_str()).collect();
                if have != documented {
                    wrong.push(format!("{}: {have:?}, documented {documented:?}", question.file));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn needs_are_tables_and_columns_of_the_lake() {
    let lake = TestLake::new();
    let lake = lake.open();
    for question in &catalog().questions {
        let answers = lake.answerable(question, None);
        assert!(answers.is_ok(), "{}: {}", question.file, answers.unwrap_err());
    }
}

#[test]
fn every_name_has_a_comment() {
    let lake = TestLake::new();
    let lake = lake.open();
    let sql = "SELECT 'view ' || view_name FROM duckdb_views() WHERE NOT internal AND comment IS NULL
        UNION ALL
        SELECT 'macro ' || function_name FROM duckdb_functions() WHERE NOT internal AND comment IS NULL
        UNION ALL
        SELECT 'column ' || c.table_name || '.' || c.column_name
        FROM duckdb_columns() AS c
        WHERE NOT c.internal AND c.comment IS NULL
            AND c.table_name IN (SELECT unnest(['trace', 'cswitch', 'frame', 'symbol', 'sample']))";
    let mut answer = Answer::default();
    lake.sql(sql, None, Target::Sink(&mut answer)).unwrap();
    let names: Vec<String> =
        answer.rows.iter().map(|r| etwas_queries::value::plain(&r[0])).collect();
    assert!(names.is_empty(), "without a comment: {names:?}");
}

#[test]
fn questions_answer_and_parameters_are_bound() {
    let lake = two_traces();
    let lake = lake.open();
    let all = ask(&lake, "process_tree", &[]).unwrap();
    assert_eq!(
        texts(&all, "process"),
        ["Idle", "System", "smss.exe", "child.exe", "ring-a.exe", "ring-b.exe"]
    );
    assert_eq!(texts(&all, "depth"), ["0", "0", "1", "2", "0", "0"]);
    let below = ask(&lake, "process_tree", &[("process", "SMSS*")]).unwrap();
    assert_eq!(texts(&below, "process"), ["smss.exe", "child.exe"]);
    let early = ask(&lake, "process_tree", &[("to_s", "0.0000015")]).unwrap();
    assert_eq!(texts(&early, "process"), ["Idle", "System", "smss.exe"]);
    let samples = ask(&lake, "cpu_samples_by_process", &[]).unwrap();
    assert_eq!(texts(&samples, "process"), ["System", "smss.exe"]);
    assert_eq!(texts(&samples, "cpu_s"), ["0.01", "0.01"]);
    assert_eq!(texts(&samples, "share"), ["0.5", "0.5"]);
    let none = ask(&lake, "process_tree", &[("process", "' OR true --")]).unwrap();
    assert!(none.rows.is_empty());
}

#[test]
fn wrong_use_says_what_would_be_right() {
    let lake = two_traces();
    let lake = lake.open();
    let text = |result: Result<Answer, Error>| result.unwrap_err().to_string();
    assert!(text(ask(&lake, "proces_tree", &[])).contains("did you mean process_tree"));
    assert!(
        text(ask(&lake, "process_tree", &[("nope", "1")])).contains("process_tree(trace VARCHAR")
    );
    assert!(text(ask(&lake, "process_tree", &[("from_s", "abc")])).contains("process_tree(trace"));
    assert!(text(ask(&lake, "process_tree", &[("trace", "nobody*")])).contains("no trace matches"));
    let nothing = tempfile::tempdir().unwrap();
    let error = Lake::open(nothing.path(), &OpenOptions::default()).err().unwrap();
    assert!(error.to_string().contains("is not a lake"), "{error}");
}

#[test]
fn answerability_is_told_per_trace() {
    let lake = two_traces();
    let lake = lake.open();
    let request = Request { name: "cpu_samples_by_process".into(), ..Request::default() };
    let mut answer = Answer::default();
    let outcome = lake.ask(&request, Target::Sink(&mut answer)).unwrap();
    assert_eq!((outcome.could_answer(), outcome.traces.len()), (1, 2));
    assert_eq!(missing(&outcome.traces), ["sample"]);
    assert!(!outcome.not_answerable());
    let bare = Request { trace: Some("bare".into()), ..request };
    let outcome = lake.ask(&bare, Target::Sink(&mut answer)).unwrap();
    assert!(outcome.not_answerable());
    let table = ask(&lake, "answerable", &[("question", "cpu_samples_by_process")]).unwrap();
    assert_eq!(texts(&table, "trace"), ["bare", "full"]);
    assert_eq!(texts(&table, "answerable"), ["false", "true"]);
    assert_eq!(texts(&table, "missing"), ["sample", ""]);
    assert!(texts(&table, "record_with")[0].contains("PROFILE"));
}

#[test]
fn fail_if_counts_the_rows_that_meet_it() {
    let lake = two_traces();
    let lake = lake.open();
    let mut request = Request { name: "process_tree".into(), ..Request::default() };
    request.fail_if = Some("depth > 1 -- deep".into());
    let mut answer = Answer::default();
    let outcome = lake.ask(&request, Target::Sink(&mut answer)).unwrap();
    assert_eq!((outcome.failed, outcome.rows), (1, 6));
    request.fail_if = Some("nonsense > 1".into());
    assert!(matches!(lake.ask(&request, Target::Sink(&mut answer)), Err(Error::Sql(_))));
}

#[test]
fn nothing_outside_the_lake_can_be_touched() {
    let lake = two_traces();
    let outside = tempfile::tempdir().unwrap();
    let allowed = outside.path().join("out.parquet");
    let options = OpenOptions { output: Some(allowed.clone()), ..OpenOptions::default() };
    let open = Lake::open(lake.root(), &options).unwrap();
    let run = |sql: &str| {
        let mut answer = Answer::default();
        open.sql(sql, None, Target::Sink(&mut answer)).map(|_| answer)
    };
    let other = outside.path().join("other.csv");
    std::fs::write(&other, "a\n1\n").unwrap();
    for sql in [
        format!("FROM read_csv({})", quote(&lake_db::duckdb_path(&other))),
        format!("COPY (SELECT 1) TO {}", quote(&lake_db::duckdb_path(&other))),
        "SET memory_limit = '1GB'".into(),
        "INSTALL httpfs".into(),
        "CREATE OR REPLACE VIEW trace AS SELECT 1".into(),
    ] {
        assert!(run(&sql).is_err(), "{sql} was allowed");
    }
    assert!(run("SELECT count(*) FROM trace").is_ok());
    open.sql("FROM trace", None, Target::Parquet(&allowed)).unwrap();
    assert!(allowed.is_file());
}

#[test]
fn a_lake_survives_moves_and_odd_names() {
    let lake = two_traces();
    drop(lake.open());
    let parent = tempfile::tempdir().unwrap();
    let moved = parent.path().join("it's a [l]ake*?");
    testlake::copy(lake.root(), &moved);
    let open = Lake::open(&moved, &OpenOptions::default()).unwrap();
    assert_eq!(texts(&ask(&open, "traces", &[]).unwrap(), "trace"), ["bare", "full"]);
    drop(lake);
    assert_eq!(texts(&ask(&open, "traces", &[]).unwrap(), "trace"), ["bare", "full"]);
}

#[test]
fn an_unchanged_lake_is_not_written_again() {
    let lake = two_traces();
    assert!(lake_db::refresh(lake.root()).unwrap());
    assert!(!lake_db::refresh(lake.root()).unwrap());
    std::fs::remove_file(lake.root().join(lake_db::SCRIPT)).unwrap();
    assert!(lake_db::refresh(lake.root()).unwrap());
    lake.trace(33, "more", &[]);
    assert!(!lake_db::refresh(lake.root()).unwrap(), "recordings do not change the views");
}

#[test]
fn only_the_folders_of_wanted_traces_are_read() {
    let lake = two_traces();
    // A file that cannot be read fails every query that touches it.
    std::fs::write(lake.root().join("trace_id=22/sample.parquet"), "broken").unwrap();
    let lake = lake.open();
    let run = |sql: &str| {
        let mut answer = Answer::default();
        lake.sql(sql, None, Target::Sink(&mut answer)).map(|_| answer)
    };
    assert!(run("SELECT max(m.ts_ns) FROM sample m").is_err());
    assert!(run("SELECT max(m.ts_ns) FROM sample m WHERE m.trace_id = 11").is_ok());
    let joined = "SELECT max(m.ts_ns) FROM sample m \
        WHERE m.trace_id IN (SELECT t.trace_id FROM trace t WHERE t.name = 'full')";
    assert!(run(joined).is_ok());
}

#[test]
fn frames_take_their_names_from_symbols_and_none_is_doubled() {
    let lake = TestLake::new();
    lake.trace(
        11,
        "full",
        &[(
            "frame",
            "SELECT * FROM (VALUES
            (1, 16::UBIGINT, false, 'a.dll', 16, NULL, NULL, 'ID'),
            (2, 32::UBIGINT, false, 'a.dll', 32, 'jitted', 5, 'ID'),
            (3, 48::UBIGINT, false, 'a.dll', 48, NULL, NULL, NULL)
        ) v(frame_id, address, is_kernel, module, rva, function, function_offset, module_id)",
        )],
    );
    lake.symbols(
        "SELECT * FROM (VALUES
            ('ID', 'a.dll', 16, 'exported', 16, NULL, NULL, 'export'),
            ('ID', 'a.dll', 16, 'named', 4, 'a.c', 7, 'pdb'),
            ('ID', 'a.dll', 32, 'other', 1, NULL, NULL, 'pdb')
        ) v(module_id, module, rva, function, function_offset, source_file, source_line, source)",
    );
    let lake = lake.open();
    let mut answer = Answer::default();
    let sql = "SELECT frame_id, function, function_offset, source_line FROM frame ORDER BY 1";
    lake.sql(sql, None, Target::Sink(&mut answer)).unwrap();
    let rows: Vec<Vec<String>> =
        answer.rows.iter().map(|r| r.iter().map(etwas_queries::value::plain).collect()).collect();
    assert_eq!(rows[0], ["1", "named", "4", "7"]);
    assert_eq!(rows[1][..3], ["2", "jitted", "5"]);
    assert_eq!(rows[2], ["3", "", "", ""]);
}

/// A trace with one switch a process: CPU times in milliseconds, by name.
fn busy(lake: &TestLake, trace_id: i64, name: &str, used_ms: &[(&str, i64)]) {
    let (mut process, mut cswitch) = (Vec::new(), Vec::new());
    for (at, (image, ms)) in used_ms.iter().enumerate() {
        let key = at + 1;
        process.push(format!("({key}, {}, '{image}')", 100 * key));
        cswitch.push(format!(
            "({at} * CAST(1000000000 AS BIGINT), 0, {key}, {key}, {key}, {}, {ms}000000)",
            100 * key
        ));
    }
    let process =
        format!("SELECT * FROM (VALUES {}) v(process_key, pid, name)", process.join(", "));
    let cswitch = format!(
        "SELECT * FROM (VALUES {}) v(ts_ns, cpu, new_thread_key, new_process_key, new_tid, new_pid, run_ns)",
        cswitch.join(", ")
    );
    lake.trace(trace_id, name, &[("process", &process), ("cswitch", &cswitch)]);
}

/// Old: a.exe 1, 2, 3 s and gone.exe 1 s in one of three. New: a.exe 4, 6, 8 s (twice 2 + 2 s: two
/// processes of one name), same.exe 0.5 s everywhere, new.exe 3 s in two of three.
fn two_sets() -> TestLake {
    let lake = TestLake::new();
    busy(&lake, 1, "old1", &[("a.exe", 1000), ("same.exe", 500), ("gone.exe", 1000)]);
    busy(&lake, 2, "old2", &[("a.exe", 2000), ("same.exe", 500)]);
    busy(&lake, 3, "old3", &[("a.exe", 3000), ("same.exe", 500)]);
    busy(&lake, 4, "new1", &[("a.exe", 2000), ("a.exe", 2000), ("same.exe", 500)]);
    busy(&lake, 5, "new2", &[("a.exe", 6000), ("same.exe", 500), ("new.exe", 3000)]);
    busy(&lake, 6, "new3", &[("a.exe", 8000), ("same.exe", 500), ("new.exe", 3000)]);
    lake.trace(7, "new4-without-switches", &[]);
    lake
}

fn compare(lake: &Lake, wanted: &Comparison) -> Result<(Answer, u64), Error> {
    let mut answer = Answer::default();
    let done = lake.compare(wanted, Target::Sink(&mut answer))?;
    Ok((answer, done.failed))
}

#[test]
fn two_sets_of_traces_are_compared_with_confidence() {
    let lake = two_sets();
    let lake = lake.open();
    let wanted = Comparison {
        question: "cpu_by_process".into(),
        baseline: "old*".into(),
        candidate: "new*".into(),
        fail_if: Some("delta_percent > 100 AND status = 'matched'".into()),
        ..Comparison::default()
    };
    let (answer, failed) = compare(&lake, &wanted).unwrap();
    assert_eq!(failed, 1);
    assert_eq!(texts(&answer, "process"), ["a.exe", "new.exe", "gone.exe", "same.exe"]);
    assert_eq!(texts(&answer, "status"), ["matched", "new", "gone", "matched"]);
    assert_eq!(texts(&answer, "baseline_mean")[..2], ["2.0", "0.0"]);
    assert_eq!(texts(&answer, "candidate_mean")[..2], ["6.0", "2.0"]);
    assert_eq!(texts(&answer, "delta_percent")[..2], ["200.0", ""]);
    assert_eq!(texts(&answer, "baseline_traces"), ["3", "0", "1", "3"]);
    assert_eq!(texts(&answer, "candidate_traces"), ["3", "2", "0", "3"]);
    // a.exe: variances 1 and 4 of 3 values each, so the error is sqrt(5/3) = 1.290994, with
    // (5/3)^2 / ((1/9 + 16/9) / 2) = 2.941 degrees of freedom, whose t is 3.21876: 4 +- 4.1554.
    let number = |column: &str, row: usize| texts(&answer, column)[row].parse::<f64>().unwrap();
    assert!((number("delta_low", 0) - (4.0 - 4.1554)).abs() < 1e-4);
    assert!((number("delta_high", 0) - (4.0 + 4.1554)).abs() < 1e-4);
    // new.exe: 0, 3, 3 against 0, 0, 0: variance 3, error 1, 2 degrees of freedom: 2 +- 4.30265.
    assert!((number("delta_low", 1) + 2.30265).abs() < 1e-4);
    // same.exe does not vary at all.
    assert_eq!((number("delta_low", 3), number("delta_high", 3)), (0.0, 0.0));
    // Two processes of one name in one of three traces.
    assert!((number("candidate_rows", 0) - 4.0 / 3.0).abs() < 1e-12);
}

#[test]
fn process_trees_are_compared_by_name_and_name_of_the_parent() {
    let lake = TestLake::new();
    let tree = |rows: &str| {
        format!(
            "SELECT * FROM (VALUES {rows}) \
             v(process_key, pid, parent_process_key, name, start_ts_ns, end_ts_ns)"
        )
    };
    let fast = tree("(1, 10, NULL, 'shell.exe', 0, NULL), (2, 20, 1, 'cmd.exe', 0, 300000000)");
    let slow = tree(
        "(1, 10, NULL, 'shell.exe', 0, NULL), (2, 20, 1, 'cmd.exe', 0, 6000000000), \
         (3, 30, NULL, 'svchost.exe', NULL, NULL), (4, 40, 3, 'OpenConsole.exe', 0, 6000000000)",
    );
    lake.trace(1, "fast", &[("process", &fast)]);
    lake.trace(2, "slow", &[("process", &slow)]);
    let wanted = Comparison {
        question: "process_tree".into(),
        baseline: "fast".into(),
        candidate: "slow".into(),
        ..Comparison::default()
    };
    let (answer, _) = compare(&lake.open(), &wanted).unwrap();
    assert_eq!(
        texts(&answer, "process"),
        ["cmd.exe", "shell.exe", "OpenConsole.exe", "svchost.exe"]
    );
    assert_eq!(texts(&answer, "parent_process"), ["shell.exe", "", "svchost.exe", ""]);
    assert_eq!(texts(&answer, "status"), ["matched", "matched", "new", "new"]);
    assert_eq!(texts(&answer, "delta"), ["5700.0", "", "", ""]);
    assert_eq!(texts(&answer, "delta_low"), ["", "", "", ""], "one trace a side tells no spread");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let lake = two_sets();
    let lake = lake.open();
    let mut wanted = Comparison {
        question: "power_diff".into(),
        baseline: "old*".into(),
        candidate: "new*".into(),
        ..Comparison::default()
    };
    let error = compare(&lake, &wanted).unwrap_err().to_string();
    assert!(error.contains("'power_diff' has no key and measure"), "{error}");
    wanted.question = "cpu_by_process".into();
    wanted.candidate = "nobody*".into();
    assert!(
        compare(&lake, &wanted).unwrap_err().to_string().contains("no trace matches 'nobody*'")
    );
    wanted.candidate = "new4*".into();
    let mut answer = Answer::default();
    let done = lake.compare(&wanted, Target::Sink(&mut answer)).unwrap();
    assert_eq!(done.unanswered().map(|(side, _)| side), Some("candidate"));
    assert!(answer.columns.is_empty());
}
