//! The command as a person runs it: output, exit codes, formats, closed pipes.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use etwas_writer::{Scenario, Variant};

/// The built command.
const ETWAS: &str = env!("CARGO_BIN_EXE_etwas");

/// A folder with a trace of `first-light` in `in`, and a file that is none.
fn inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios/first-light.txt");
    let text = std::fs::read_to_string(text).expect("the scenario is there");
    let scenario = Scenario::parse(&text).expect("the scenario can be read");
    std::fs::create_dir(folder.path().join("in")).unwrap();
    for file in scenario.write(&Variant::default()) {
        std::fs::write(folder.path().join("in").join(file.name), file.bytes).unwrap();
    }
    std::fs::write(folder.path().join("none.etl"), "this is no trace").unwrap();
    folder
}

fn etwas(folder: &Path, args: &[&str]) -> Output {
    Command::new(ETWAS).args(args).current_dir(folder).output().expect("the command starts")
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn from_a_trace_to_answers() {
    let folder = inputs();
    let ingest = etwas(folder.path(), &["ingest", "in"]);
    assert_eq!(code(&ingest), 0, "{}", err(&ingest));
    assert!(out(&ingest).contains("first-light") && out(&ingest).contains("etwas report"));
    let again = etwas(folder.path(), &["ingest", "in"]);
    assert_eq!(code(&again), 0);
    assert!(out(&again).contains("unchanged"), "{}", out(&again));
    let quiet = etwas(folder.path(), &["ingest", "in", "--force", "--quiet"]);
    assert_eq!((code(&quiet), out(&quiet).as_str()), (0, ""));

    let csv = etwas(folder.path(), &["report", "traces", "--format", "csv"]);
    assert_eq!(code(&csv), 0, "{}", err(&csv));
    assert!(out(&csv).starts_with("trace,status,") && out(&csv).contains("\r\nfirst-light,ok,"));
    let json = etwas(folder.path(), &["report", "process_tree", "--format", "json"]);
    let rows: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert!(rows.as_array().is_some_and(|rows| !rows.is_empty()));
    let sql = etwas(folder.path(), &["sql", "SELECT 1 AS a; SELECT 2 AS b", "--format", "csv"]);
    assert_eq!(out(&sql), "b\r\n2\r\n");
    let parquet = ["sql", "FROM trace", "--format", "parquet", "--output", "out.parquet"];
    assert_eq!(code(&etwas(folder.path(), &parquet)), 0);
    assert!(folder.path().join("out.parquet").is_file());
    for question in ["traces", "health", "event_census", "process_tree", "cpu_samples_by_process"] {
        let report = etwas(folder.path(), &["report", question]);
        assert_eq!(code(&report), 0, "{question}: {}", err(&report));
    }
    let verify = etwas(folder.path(), &["verify"]);
    assert_eq!(code(&verify), 0, "{}", err(&verify));
    let missed = etwas(folder.path(), &["symbols", "--report", "--format", "csv"]);
    assert_eq!(code(&missed), 0, "{}", err(&missed));
    assert!(out(&missed).starts_with("module,waits,wait_ns,samples,frames,traces,file,id"));
    let compact = etwas(folder.path(), &["compact"]);
    assert_eq!(code(&compact), 0, "{}", err(&compact));
    let traces = ["report", "traces", "--format", "csv", "--lake", "lake-compact"];
    assert_eq!(out(&etwas(folder.path(), &traces)), out(&csv));
    assert_eq!(code(&etwas(folder.path(), &["ingest", "in", "--lake", "lake-compact"])), 2);
    assert_eq!(code(&etwas(folder.path(), &["verify", "--lake", "lake-compact"])), 0);
    let removed = etwas(folder.path(), &["remove", "first*"]);
    assert_eq!((code(&removed), out(&removed).as_str()), (0, "first-light\n"));
    let empty = etwas(folder.path(), &["report", "traces", "--format", "json"]);
    assert_eq!((code(&empty), out(&empty).as_str()), (0, "[]\n"));
}

#[test]
fn trouble_is_one_wrong_use_is_two() {
    let folder = inputs();
    let mixed = etwas(folder.path(), &["ingest", "in", "none.etl"]);
    assert_eq!(code(&mixed), 1);
    assert!(err(&mixed).contains("error: none.etl: ") && err(&mixed).contains("\nhint: "));
    assert!(out(&mixed).contains("first-light"), "the good file is ingested");
    assert_eq!(code(&etwas(folder.path(), &["ingest", "nowhere", "--lake", "l2"])), 1);
    std::fs::create_dir(folder.path().join("nothing")).unwrap();
    assert_eq!(code(&etwas(folder.path(), &["ingest", "nothing", "--lake", "l3"])), 1);
    for (args, words) in [
        (vec!["report", "starvaton"], "did you mean starvation"),
        (vec!["report", "starvation", "-p", "min=1"], "starvation(min_ready_ms DOUBLE"),
        (vec!["report", "traces", "--trace", "nobody"], "no trace matches"),
        (vec!["report", "traces", "--lake", "nowhere"], "not a lake"),
        (vec!["report", "traces", "--lake", "in"], "not a lake"),
        (vec!["sql", "SELEC 1"], "SELEC"),
        (vec!["sql", "FROM read_csv('none.etl')"], "disabled"),
        (vec!["report", "traces", "--format", "parquet"], "--output"),
        (vec!["report", "traces", "--format", "xml"], "unknown format"),
        (vec!["ingest"], "INPUT"),
        (vec!["ingest", "in", "--lake", "in"], "hint"),
    ] {
        let output = etwas(folder.path(), &args);
        assert_eq!(code(&output), 2, "{args:?}: {}", err(&output));
        assert!(err(&output).contains(words), "{args:?}: {}", err(&output));
        assert_eq!(out(&output), "", "{args:?}");
    }
}

#[test]
fn gates_fire_on_rows_and_on_questions_that_cannot_be_answered() {
    let folder = inputs();
    etwas(folder.path(), &["ingest", "in", "--quiet"]);
    let gate = |condition: &str| {
        code(&etwas(folder.path(), &["report", "traces", "--fail-if", condition]))
    };
    assert_eq!((gate("events > 1"), gate("events < 0"), gate("nonsense")), (1, 0, 2));
    let args = ["report", "ui_delays", "--format", "csv"];
    let silent = etwas(folder.path(), &args);
    assert_eq!(code(&silent), 0);
    assert!(err(&silent).contains("not answerable, because the trace has no ui_delay"));
    assert_eq!(out(&silent).lines().count(), 1, "a header and no rows: {}", out(&silent));
    let gated = etwas(folder.path(), &["report", "ui_delays", "--fail-if", "true"]);
    assert_eq!(code(&gated), 1);
}

#[test]
fn sets_of_traces_are_compared_and_gated() {
    let folder = inputs();
    etwas(folder.path(), &["ingest", "in", "--quiet"]);
    let sides = ["compare", "--baseline", "first*", "--candidate", "first*", "--format", "csv"];
    let same = etwas(folder.path(), &sides);
    assert_eq!(code(&same), 0, "{}", err(&same));
    assert!(out(&same).starts_with("process,measure,status,baseline_mean,"), "{}", out(&same));
    assert!(out(&same).contains("cpu_s,matched,"), "the question is CPU time: {}", out(&same));
    assert!(err(&same).contains("baseline: 1 trace\ncandidate: 1 trace\n"), "{}", err(&same));
    let gate = |condition: &str| {
        code(&etwas(folder.path(), &[&sides[..], &["--fail-if", condition]].concat()))
    };
    assert_eq!((gate("delta = 0"), gate("delta > 0"), gate("nonsense")), (1, 0, 2));
    for (args, words) in [
        (vec!["power_diff"], "'power_diff' has no key and measure"),
        (vec!["starvaton"], "did you mean starvation"),
        (vec!["starvation", "-p", "trace=a"], "--baseline"),
        (vec!["starvation", "-p", "min=1"], "starvation(min_ready_ms DOUBLE"),
    ] {
        let output = etwas(folder.path(), &[&sides[..], &args[..]].concat());
        assert_eq!((code(&output), out(&output).as_str()), (2, ""), "{args:?}");
        assert!(err(&output).contains(words), "{args:?}: {}", err(&output));
    }
    let delays = etwas(folder.path(), &[&sides[..], &["ui_delays", "--fail-if", "true"]].concat());
    assert_eq!(code(&delays), 1, "what cannot be answered passes no gate");
    assert!(err(&delays).contains("no trace of the baseline can answer ui_delays"));
}

#[test]
fn traces_become_columns_where_people_read_settings() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    std::fs::create_dir(&input).unwrap();
    // Minimum processor state: 5 % in one, 100 % in the other.
    for (name, value) in [("balanced", 5), ("performance", 100)] {
        let text = format!(
            "scenario {name}\nmachine cpus=1 build=22631 length=1s\n\
             1ms power-setting 893dee8e-2bef-41e0-89c6-b55d0929964c {value}\n"
        );
        let scenario = etwas_writer::Scenario::parse(&text).expect("a scenario");
        for file in scenario.write(&etwas_writer::Variant::default()) {
            std::fs::write(input.join(&file.name), &file.bytes).unwrap();
        }
    }
    let ingested = etwas(folder.path(), &["ingest", "in", "--quiet"]);
    assert_eq!(code(&ingested), 0, "{}", err(&ingested));
    let csv = etwas(folder.path(), &["report", "power_diff", "--format", "csv"]);
    let text = out(&csv);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}{}", err(&csv));
    assert!(lines[0].ends_with(",balanced,performance"), "{text}");
    assert!(lines[1].contains("PROCTHROTTLEMIN"), "{text}");
    let cells: Vec<&str> = lines[1].rsplitn(3, ',').collect();
    assert!(cells[1].starts_with('5') && cells[0].starts_with("100"), "{text}");
    let markdown = etwas(folder.path(), &["report", "power_diff", "--format", "markdown"]);
    assert!(out(&markdown).contains("| balanced | performance |"), "{}", out(&markdown));
    let long = etwas(folder.path(), &["report", "power_diff", "--format", "jsonl"]);
    assert_eq!(out(&long).lines().count(), 2, "machine formats are not turned: {}", out(&long));
}

#[test]
fn loss_and_missing_names_are_told_beside_the_answer() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in");
    std::fs::create_dir(&input).unwrap();
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/traces/hitch-slow.etl");
    std::fs::copy(fixture, input.join("hitch-slow.etl")).unwrap();
    let text = "scenario lossy\nmachine cpus=1 build=22631 length=1s lost=12\n";
    let scenario = etwas_writer::Scenario::parse(text).expect("a scenario");
    for file in scenario.write(&etwas_writer::Variant::default()) {
        std::fs::write(input.join(&file.name), &file.bytes).unwrap();
    }
    etwas(folder.path(), &["ingest", "in", "--quiet"]);
    let both = etwas(folder.path(), &["report", "traces", "--format", "csv"]);
    assert!(
        err(&both).contains("caution: 1 of 2 traces lost records (12 events"),
        "{}",
        err(&both)
    );
    let whole = etwas(folder.path(), &["report", "traces", "--trace", "hitch*"]);
    assert!(!err(&whole).contains("caution"), "{}", err(&whole));
    let named = etwas(folder.path(), &["report", "callers", "-p", "pattern=x"]);
    assert!(err(&named).contains("caution: 100 % of the places on stacks"), "{}", err(&named));
    assert!(!out(&named).contains("caution"), "standard output holds only data");
}

#[test]
fn the_catalogue_explains_itself() {
    let folder = tempfile::tempdir().unwrap();
    let reports = etwas(folder.path(), &["reports"]);
    assert_eq!(code(&reports), 0);
    assert!(out(&reports).contains("starvation") && out(&reports).contains("process_tree"));
    let help = etwas(folder.path(), &["report", "starvation", "--help"]);
    assert_eq!(code(&help), 0, "{}", err(&help));
    for words in ["min_ready_ms DOUBLE := 10.0", "columns", "needs", "sources", "cswitch"] {
        assert!(out(&help).contains(words), "{words} in\n{}", out(&help));
    }
    assert_eq!(code(&etwas(folder.path(), &["report", "--help"])), 0);
}

#[test]
fn info_needs_no_lake() {
    let folder = inputs();
    let info = etwas(folder.path(), &["info", "in/first-light.etl", "--format", "json"]);
    assert_eq!(code(&info), 0, "{}", err(&info));
    let parsed: serde_json::Value = serde_json::from_slice(&info.stdout).expect("JSON");
    assert_eq!(parsed[0]["trace"]["name"], "first-light");
    assert!(parsed[0]["questions"].as_array().is_some_and(|q| q.len() > 5));
    let people = etwas(folder.path(), &["info", "in/first-light.etl", "none.etl", "--events"]);
    assert_eq!(code(&people), 1);
    assert!(out(&people).contains("cpu count") && err(&people).contains("none.etl"));
    assert!(!folder.path().join("lake").exists());
}

#[test]
fn a_closed_pipe_is_success() {
    let folder = inputs();
    etwas(folder.path(), &["ingest", "in", "--quiet"]);
    let mut child = Command::new(ETWAS)
        .args(["sql", "SELECT range FROM range(2000000)", "--format", "csv"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((code(&output), err(&output).as_str()), (0, ""));
}

#[test]
fn a_shell_without_duckdb_reads_statements() {
    use std::io::Write as _;
    let folder = inputs();
    etwas(folder.path(), &["ingest", "in", "--quiet"]);
    let run = |script: &str| {
        let mut child = Command::new(ETWAS)
            .arg("shell")
            .current_dir(folder.path())
            // No program is found here, so the prompt of our own answers.
            .env("PATH", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        child.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let good = run("SELECT 40 +\n 2 AS answer;\n.quit\nSELECT 7 AS never;\n");
    assert_eq!(code(&good), 0, "{}", err(&good));
    assert!(out(&good).contains("42") && !out(&good).contains('7'), "{}", out(&good));
    assert_eq!(code(&run("SELEC;\n")), 2);
}

#[cfg(not(all(windows, feature = "os-reader")))]
#[test]
fn a_reader_that_this_build_lacks_is_wrong_use() {
    let folder = inputs();
    let output = etwas(folder.path(), &["ingest", "in", "--reader", "os"]);
    assert_eq!(code(&output), 2, "{}", err(&output));
    assert!(err(&output).contains("--reader os: this build has no reader of the operating system"));
    assert!(!folder.path().join("lake").exists(), "nothing is begun");
    assert_eq!(code(&etwas(folder.path(), &["ingest", "in", "--reader", "native"])), 0);
    assert_eq!(code(&etwas(folder.path(), &["ingest", "in", "--reader", "other"])), 2);
}
