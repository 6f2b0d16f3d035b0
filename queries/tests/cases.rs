//! The cases of `tests/*.txt`: given rows, a question, the rows it must answer with. A person wrote
//! each answer before the first run; `README.md` of this crate says how a case is written.
//!
//! Every file is a test on a database of its own: a lake's macros over empty tables, which each case
//! fills in a transaction that is rolled back. Mismatches are told all at once, with file and line.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::OnceLock;

use duckdb::Connection;
use duckdb::types::Value;
use etwas_queries::lake_db::{self, quote_name};
use etwas_queries::run::split;
use etwas_queries::value::plain;
use etwas_schema::{TABLES, symbol};

/// What stands before a case's statements, its question and its answer.
const MARKS: [&str; 3] = ["-- case:", "-- ask:", "-- expect:"];

/// A part of a file: the mark, what stands behind it, the lines below it.
struct Part<'a> {
    mark: &'static str,
    line: usize,
    head: &'a str,
    body: Vec<&'a str>,
}

fn parts(text: &str) -> Vec<Part<'_>> {
    let mut out: Vec<Part<'_>> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let mark = MARKS.into_iter().find(|mark| line.starts_with(mark));
        match (mark, out.last_mut()) {
            (Some(mark), _) => {
                let head = line[mark.len()..].trim();
                out.push(Part { mark, line: at + 1, head, body: Vec::new() });
            }
            (None, Some(part)) => part.body.push(line),
            (None, None) => assert!(line.is_empty() || line.starts_with("--"), "line {}", at + 1),
        }
    }
    out
}

/// A database with everything a lake has, its tables in the place of its views, as the bytes of its
/// file. Made once for all files of cases: creating a hundred macros takes longer than a case.
fn stage() -> &'static [u8] {
    static STAGE: OnceLock<Vec<u8>> = OnceLock::new();
    STAGE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        make_stage(folder.path());
        std::fs::read(folder.path().join(lake_db::DATABASE)).expect("the stage")
    })
}

fn make_stage(root: &Path) {
    lake_db::refresh(root).expect("an empty lake");
    let path = root.join(lake_db::DATABASE);
    let conn = Connection::open(&path).expect("the lake's database");
    let mut sql = String::new();
    for table in TABLES.iter().copied().chain([&symbol::TABLE]) {
        let name = quote_name(table.name);
        let rows = if table.instant().is_some() { "* EXCLUDE (time)" } else { "*" };
        let _ = writeln!(sql, "CREATE TABLE given AS SELECT {rows} FROM {name} LIMIT 0;");
        let _ = writeln!(sql, "DROP VIEW {name};");
        if table.name == "cswitch" {
            sql += "DROP TABLE given;\n";
        } else {
            let _ = writeln!(sql, "ALTER TABLE given RENAME TO {name};");
        }
    }
    sql += include_str!("given.txt");
    conn.execute_batch(&sql).expect("the stage of the cases");
}

/// One field of an answer, as an expectation writes it.
fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => plain(value),
    }
}

/// Whether two fields are equal: as text, or as numbers up to the ninth digit.
fn same(want: &str, have: &str) -> bool {
    want == have
        || match (want.parse::<f64>(), have.parse::<f64>()) {
            (Ok(want), Ok(have)) => {
                (want - have).abs() <= 1e-9 * want.abs().max(have.abs()).max(1.0)
            }
            _ => false,
        }
}

/// The fields of a line of CSV.
fn fields(line: &str) -> Vec<String> {
    let (mut out, mut text, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => {
                chars.next();
                text.push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut text)),
            c => text.push(c),
        }
    }
    out.push(text);
    out
}

/// The rows of a question, with only the named columns; all of them where none is named.
fn answer(conn: &Connection, sql: &str, names: &[String]) -> Result<Vec<Vec<String>>, String> {
    let mut statement = conn.prepare(sql).map_err(|e| e.to_string())?;
    let mut rows = statement.query([]).map_err(|e| e.to_string())?;
    let columns: Vec<String> = rows.as_ref().map(|r| r.column_names()).unwrap_or_default();
    let mut places = Vec::new();
    for name in names {
        let at = columns.iter().position(|c| c == name);
        places.push(at.ok_or_else(|| format!("no column {name}"))?);
    }
    let mut out = Vec::new();
    while let Some(row) = rows.next().map_err(|e| e.to_string())? {
        let value = |at: &usize| row.get::<_, Value>(*at).map(|v| field(&v));
        let row: Result<Vec<String>, _> = places.iter().map(value).collect();
        out.push(row.map_err(|e| e.to_string())?);
    }
    Ok(out)
}

/// What is wrong with an answer; nothing where it is right.
fn check(conn: &Connection, question: &str, expected: &[&str]) -> Option<String> {
    let lines = expected.iter().take_while(|l| !l.is_empty() && !l.starts_with("--"));
    let lines: Vec<Vec<String>> = lines.map(|line| fields(line)).collect();
    let (names, want) = lines.split_first().map_or((&[][..], &[][..]), |(n, w)| (&n[..], w));
    let have = match answer(conn, question, names) {
        Ok(have) => have,
        Err(error) => return Some(error),
    };
    let row = |want: &Vec<String>, have: &Vec<String>| {
        want.len() == have.len() && want.iter().zip(have).all(|(w, h)| same(w, h))
    };
    if want.len() == have.len() && want.iter().zip(&have).all(|(w, h)| row(w, h)) {
        return None;
    }
    let show = |rows: &[Vec<String>]| {
        rows.iter().fold(String::new(), |text, row| text + "\n      " + &row.join(","))
    };
    let head = &have[..have.len().min(want.len() + 10)];
    Some(format!("want{}\n    have {} rows{}", show(want), have.len(), show(head)))
}

/// Runs the cases of one file.
fn run(name: &str) {
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name));
    let text = text.expect("the file of cases").replace("\r\n", "\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let database = folder.path().join("case.duckdb");
    std::fs::write(&database, stage()).expect("a copy of the stage");
    let conn = Connection::open(&database).expect("the copy is a database");
    conn.execute_batch("BEGIN").expect("a transaction");
    let (mut asked, mut report) = (0, String::new());
    let mut question: Option<(usize, String)> = None;
    for part in parts(&text) {
        match part.mark {
            "-- case:" => {
                conn.execute_batch("ROLLBACK; BEGIN").expect("a transaction");
                for statement in split(&part.body.join("\n")) {
                    if let Err(error) = conn.execute_batch(statement) {
                        let _ = writeln!(report, "{name}:{}: {error}", part.line);
                    }
                }
            }
            "-- ask:" => {
                let more = part.body.iter().take_while(|l| !l.starts_with("--"));
                let lines: Vec<&str> = std::iter::once(&part.head).chain(more).copied().collect();
                question = Some((part.line, lines.join("\n")));
            }
            _ => {
                let (line, sql) = question.take().unwrap_or_else(|| {
                    panic!("{name}:{}: an answer without a question", part.line)
                });
                asked += 1;
                if let Some(error) = check(&conn, &sql, &part.body) {
                    let _ = writeln!(report, "{name}:{line}: {sql}\n    {error}");
                }
            }
        }
    }
    assert!(report.is_empty(), "\n{report}");
    assert!(asked > 0, "{name}: nothing is asked");
}

macro_rules! files {
    ($($test:ident: $file:literal),* $(,)?) => {
        /// Every file that is run.
        const FILES: &[&str] = &[$($file),*];

        $(
            #[test]
            fn $test() {
                run($file);
            }
        )*
    };
}

files! {
    convoys: "convoys.txt",
    building_blocks: "lib.txt",
    power: "power.txt",
    process: "process.txt",
    scheduling: "scheduling.txt",
    trace: "trace.txt",
    waiting: "waiting.txt",
}

#[test]
fn every_file_of_cases_is_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .expect("the folder of cases")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .filter(|name| name.ends_with(".txt") && name != "given.txt")
        .collect();
    found.sort();
    assert_eq!(found, FILES);
}
