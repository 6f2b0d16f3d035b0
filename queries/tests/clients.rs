//! The lake in other DuckDB clients: shells 1.4 and 1.5, and Python with 2.0. They are found through
//! ETWAS_DUCKDB_14, ETWAS_DUCKDB_15 (programs) and ETWAS_PYTHON (an interpreter with `duckdb`); a
//! client that is not there is skipped, and the test says so.

use std::path::Path;
use std::process::Command;

use etwas_queries::{catalog, lake_db};

mod testlake;

use testlake::TestLake;

/// Runs SQL on a database in one client and returns its rows as CSV without a header.
type Client = Box<dyn Fn(&Path, &str) -> Result<String, String>>;

fn output(mut command: Command) -> Result<String, String> {
    let out = command.output().map_err(|e| e.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    if out.status.success() && out.stderr.is_empty() {
        Ok(text(&out.stdout))
    } else {
        Err(text(&out.stderr))
    }
}

/// Every client that is there, with its name.
fn clients() -> Vec<(&'static str, Client)> {
    let mut all: Vec<(&'static str, Client)> = Vec::new();
    for name in ["ETWAS_DUCKDB_14", "ETWAS_DUCKDB_15"] {
        match std::env::var_os(name) {
            None => eprintln!("skipped: {name} names no duckdb shell"),
            Some(program) => all.push((
                name,
                Box::new(move |database, sql| {
                    let mut command = Command::new(&program);
                    command
                        .args(["-csv", "-noheader", "-readonly"])
                        .arg(database)
                        .args(["-c", sql]);
                    output(command)
                }),
            )),
        }
    }
    match std::env::var_os("ETWAS_PYTHON") {
        None => eprintln!("skipped: ETWAS_PYTHON names no interpreter with duckdb"),
        Some(program) => all.push((
            "ETWAS_PYTHON",
            Box::new(move |database, sql| {
                let code = "import sys, duckdb\n\
                    for r in duckdb.connect(sys.argv[1], read_only=True).execute(sys.argv[2]).fetchall():\n\
                    \x20   print(','.join('' if v is None else str(v) for v in r))";
                let mut command = Command::new(&program);
                command.args(["-c", code]).arg(database).arg(sql).env("LD_LIBRARY_PATH", "");
                output(command)
            }),
        )),
    }
    all
}

fn lake() -> TestLake {
    let lake = TestLake::new();
    lake.trace(
        11,
        "full",
        &[("process", "SELECT 1 AS process_key, 4 AS pid, 'System' AS name, 1000 AS start_ts_ns")],
    );
    lake.trace(22, "bare", &[]);
    lake_db::refresh(lake.root()).unwrap_or_else(|e| panic!("{e}"));
    lake
}

#[test]
fn every_client_reads_views_macros_and_comments() {
    let lake = lake();
    let database = lake.root().join(lake_db::DATABASE);
    for (name, client) in clients() {
        let ask =
            |sql: &str| client(&database, sql).unwrap_or_else(|e| panic!("{name}: {sql}: {e}"));
        assert_eq!(ask("SELECT t.trace FROM traces() t").trim(), "bare\nfull", "{name}");
        assert_eq!(
            ask("SELECT p.process, p.depth FROM process_tree(process := 'sys*') p").trim(),
            "System,0"
        );
        assert_eq!(
            ask("SELECT count(*), count(*) FILTER (WHERE h.time IS NULL) FROM health h").trim(),
            "0,0"
        );
        let comment = "SELECT comment FROM duckdb_views() WHERE view_name = 'process'";
        assert!(ask(comment).contains("process lifetime"), "{name}");
        assert_eq!(
            ask("SELECT wait_reason_name(6), wait_reason_name(99)").trim(),
            "UserRequest,99"
        );
        let wrong = client(&database, "FROM traces(nonsense := 1)").unwrap_err();
        assert!(wrong.contains("trace VARCHAR"), "{name} names the signature: {wrong}");
    }
}

#[test]
fn every_client_asks_every_question() {
    let lake = lake();
    let database = lake.root().join(lake_db::DATABASE);
    for (name, client) in clients() {
        for question in &catalog().questions {
            let required: Vec<String> = question
                .parameters()
                .iter()
                .filter(|p| p.default.is_none())
                .map(|p| format!("{} := CAST(NULL AS {})", p.name, p.sql_type))
                .collect();
            let sql = format!("SELECT count(*) FROM {}({}) q", question.name, required.join(", "));
            let answer = client(&database, &sql);
            assert!(answer.is_ok(), "{name}: {}: {}", question.name, answer.unwrap_err());
        }
    }
}

#[test]
fn the_script_works_from_the_lakes_folder() {
    let lake = lake();
    for name in ["ETWAS_DUCKDB_14", "ETWAS_DUCKDB_15"] {
        let Some(program) = std::env::var_os(name) else {
            eprintln!("skipped: {name} names no duckdb shell");
            continue;
        };
        let moved = tempfile::tempdir().unwrap();
        testlake::copy(lake.root(), moved.path());
        let mut command = Command::new(program);
        command.args(["-csv", "-noheader", "-init", lake_db::SCRIPT]);
        command.args(["-c", "SELECT t.trace FROM traces() t"]).current_dir(moved.path());
        let out = command.output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout);
        assert!(text.replace("\r\n", "\n").ends_with("bare\nfull\n"), "{name}: {out:?}");
    }
}
