//! Scenarios against the product: every text of `fixtures/scenarios` is written as `.etl` files, ingested
//! through the library, and asked for its truths. All mismatches are told at once, with file and line.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use etwas_ingest::IngestOptions;
use etwas_ingest::input::InputArgs;
use etwas_ingest::symbols::{SymbolOptions, SymbolPath, symbolize_lake};
use etwas_queries::lake_db;
use etwas_queries::run::{Answer, Request, Target};
use etwas_queries::value::{Value, plain};
use etwas_queries::{Lake, OpenOptions};
use etwas_writer::{Query, Scenario, Truth, Variant};

use crate::recordings::broken_invariants;

/// Mismatches that one scenario tells in full; more are counted.
const TOLD_MAX: usize = 12;

/// Every scenario text, sorted by path.
fn scenarios() -> Vec<(PathBuf, String)> {
    fn below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("the folder of scenarios is there").flatten() {
            let path = entry.path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|e| e == "txt") {
                let text = fs::read_to_string(&path).expect("a scenario is text");
                found.push((path, text));
            }
        }
    }
    let mut found = Vec::new();
    below(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/scenarios"), &mut found);
    found.sort();
    // `ETWAS_SCENARIO=name` runs those whose path contains it.
    if let Ok(wanted) = std::env::var("ETWAS_SCENARIO") {
        found.retain(|(path, _)| path.to_string_lossy().contains(&wanted));
    }
    found
}

/// A folder in which one scenario after the other becomes the only recording of a lake. The lake is
/// kept, because making its database takes longer than everything else together.
struct Stage(tempfile::TempDir);

/// A scenario on the stage.
struct Staged {
    lake: Lake,
    exit: i32,
}

impl Stage {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Writes, ingests and names one scenario.
    fn set(&self, scenario: &Scenario) -> Result<Staged, String> {
        self.clear().map_err(|e| e.to_string())?;
        let (input, root) = (self.0.path().join("in"), self.0.path().join("lake"));
        fs::create_dir(&input).map_err(|e| e.to_string())?;
        for file in scenario.write(&Variant::default()) {
            fs::write(input.join(&file.name), &file.bytes).map_err(|e| e.to_string())?;
        }
        let options = IngestOptions {
            input: InputArgs { inputs: vec![input.into()], ..InputArgs::default() },
            lake: root.clone(),
            jobs: Some(1),
            ..IngestOptions::default()
        };
        let summary = etwas_ingest::run(&options, &()).map_err(|e| e.to_string())?;
        if !scenario.symbol_files().is_empty() {
            let store = self.0.path().join("store");
            for file in scenario.symbol_files() {
                let path = store.join(&file.name);
                fs::create_dir_all(path.parent().expect("below the store"))
                    .map_err(|e| e.to_string())?;
                fs::write(path, &file.bytes).map_err(|e| e.to_string())?;
            }
            let path = SymbolPath::parse(&store.to_string_lossy()).map_err(|e| e.to_string())?;
            let options = SymbolOptions { path, offline: true, ..SymbolOptions::default() };
            symbolize_lake(&root, &options, &|_| {}).map_err(|e| e.to_string())?;
        }
        lake_db::refresh(&root).map_err(|e| e.to_string())?;
        let lake = Lake::open(&root, &OpenOptions::default()).map_err(|e| e.to_string())?;
        Ok(Staged { lake, exit: i32::from(summary.is_trouble()) })
    }

    /// Takes the scenario before away: its files, its recordings and their names.
    fn clear(&self) -> std::io::Result<()> {
        for folder in ["in", "store", "lake/symbols"] {
            remove(&self.0.path().join(folder))?;
        }
        for entry in fs::read_dir(self.0.path().join("lake")).into_iter().flatten() {
            let path = entry?.path();
            if path.file_name().is_some_and(|n| n.to_string_lossy().starts_with("trace_id=")) {
                remove(&path)?;
            }
        }
        Ok(())
    }
}

/// Removes a folder, also one that is not there.
fn remove(folder: &Path) -> std::io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The rows a truth's question gives, with only the columns that are compared.
fn ask(lake: &Lake, query: &Query) -> Result<Vec<Vec<Option<String>>>, String> {
    let mut answer = Answer::default();
    let mut wanted: Vec<usize> = Vec::new();
    match query {
        Query::Exit(_) => return Ok(Vec::new()),
        Query::Sql(sql) => {
            lake.sql(sql, None, Target::Sink(&mut answer)).map_err(|e| e.to_string())?;
        }
        Query::Report { name, params, columns } => {
            let request =
                Request { name: name.clone(), parameters: params.clone(), ..Request::default() };
            lake.ask(&request, Target::Sink(&mut answer)).map_err(|e| e.to_string())?;
            for column in columns {
                let at = answer.columns.iter().position(|c| c.name == *column);
                wanted.push(at.ok_or_else(|| format!("no column {column}"))?);
            }
        }
    }
    if wanted.is_empty() {
        wanted = (0..answer.columns.len()).collect();
    }
    let field = |value: &Value| match value {
        Value::Null => None,
        value => Some(plain(value)),
    };
    Ok(answer.rows.iter().map(|row| wanted.iter().map(|&at| field(&row[at])).collect()).collect())
}

/// Whether two fields say the same: as text, or as the same number however it is written. A number with decimals
/// is compared with as many decimals as the truth has, for a truth is written with the digits it is sure of.
fn same(want: &Option<String>, have: &Option<String>) -> bool {
    match (want, have) {
        (None, None) => true,
        (Some(want), Some(have)) => want == have || same_number(want, have),
        _ => false,
    }
}

fn same_number(want: &str, have: &str) -> bool {
    // Integers of 64 bits do not fit into a float: they are equal as text or not at all.
    if !have.contains(['.', 'e']) {
        return false;
    }
    let (Ok(w), Ok(h)) = (want.parse::<f64>(), have.parse::<f64>()) else { return false };
    let decimals = want.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    if decimals == 0 { w == h } else { format!("{h:.decimals$}") == format!("{w:.decimals$}") }
}

fn same_rows(truth: &Truth, have: &[Vec<Option<String>>]) -> bool {
    let row = |want: &Vec<Option<String>>, have: &Vec<Option<String>>| {
        want.len() == have.len() && want.iter().zip(have).all(|(w, h)| same(w, h))
    };
    if truth.expect.len() != have.len() {
        return false;
    }
    if !truth.unordered {
        return truth.expect.iter().zip(have).all(|(w, h)| row(w, h));
    }
    let mut left: Vec<&Vec<Option<String>>> = have.iter().collect();
    truth.expect.iter().all(|want| match left.iter().position(|have| row(want, have)) {
        Some(at) => {
            left.remove(at);
            true
        }
        None => false,
    })
}

/// What is wrong with one truth; nothing where it holds.
fn check(staged: &Staged, truth: &Truth) -> Option<String> {
    if let Query::Exit(code) = truth.query {
        return (staged.exit != code).then(|| format!("exit code {}, not {code}", staged.exit));
    }
    match ask(&staged.lake, &truth.query) {
        Err(error) => Some(error),
        Ok(have) if same_rows(truth, &have) => None,
        Ok(have) => {
            let mut text = String::from("want\n");
            for row in &truth.expect {
                let _ = writeln!(text, "      {}", line(row));
            }
            text.push_str("    have\n");
            for row in have.iter().take(truth.expect.len() + 10) {
                let _ = writeln!(text, "      {}", line(row));
            }
            Some(text)
        }
    }
}

fn line(row: &[Option<String>]) -> String {
    let fields: Vec<&str> = row.iter().map(|f| f.as_deref().unwrap_or("NULL")).collect();
    fields.join(",")
}

/// Other variants of the files need no asking here: `ingest/tests/variants.rs` sees that their rows are the same.
#[test]
fn truths_hold() {
    let (mut truths, mut wrong, mut report) = (0, 0, String::new());
    let stage = Stage::new();
    for (path, text) in scenarios() {
        let short = path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap_or(&path).display();
        let scenario = match Scenario::parse(&text) {
            Ok(scenario) => scenario,
            Err(error) => {
                wrong += 1;
                let _ = writeln!(report, "{short}:{}: {}", error.line, error.message);
                continue;
            }
        };
        let staged = match stage.set(&scenario) {
            Ok(staged) => staged,
            Err(error) => {
                wrong += 1;
                let _ = writeln!(report, "{short}:1: {error}");
                continue;
            }
        };
        for broken in broken_invariants(&staged.lake) {
            wrong += 1;
            let _ = writeln!(report, "{short}:1: {broken}");
        }
        let mut told = 0;
        for truth in scenario.truths() {
            truths += 1;
            if let Some(error) = check(&staged, truth) {
                wrong += 1;
                told += 1;
                if told <= TOLD_MAX {
                    let _ =
                        writeln!(report, "{short}:{}: {}\n    {error}", truth.line, truth.title);
                }
            }
        }
        if told > TOLD_MAX {
            let _ = writeln!(report, "{short}: {} more", told - TOLD_MAX);
        }
    }
    assert!(wrong == 0, "{wrong} of {truths} truths do not hold\n{report}");
    assert!(truths > 0, "no truths");
}
