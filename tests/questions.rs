//! Every question over one lake of stories: the same answer with any number of threads, with every
//! parameter that asks for everything, and with those that ask for one trace or for nothing. A
//! parameter that hides a column of its name, which SQL allows without a word, shows here.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use etwas_ingest::IngestOptions;
use etwas_ingest::input::InputArgs;
use etwas_queries::front_matter::Question;
use etwas_queries::run::{Answer, Request, Target};
use etwas_queries::value::plain;
use etwas_queries::{Lake, OpenOptions, catalog};
use etwas_writer::{Query, Scenario, Variant};

/// Traces of the stories, and scenarios that add what the stories lack.
const TRACES: [&str; 5] = ["lockapp", "hitch-fast", "hitch-slow", "exits-8", "first-light"];
const SCENARIOS: [&str; 4] = ["power-settings", "core-types", "focus-input-freeze", "dpc-isr"];

/// Values for the parameters that a call must give.
const REQUIRED: [(&str, &str); 10] = [
    ("pattern", "k"),
    ("baseline", "hitch-fast"),
    ("candidate", "hitch-slow"),
    ("target", "cmd.exe"),
    ("tid", "5001"),
    ("at_s", "49.827"),
    ("question", "starvation"),
    ("row_tag", "a"),
    ("column_tag", "b"),
    ("factor", "*"),
];

/// Values with which a question answers as without them.
const NEUTRAL: [(&str, &str); 4] =
    [("trace", "*"), ("process", "*"), ("from_s", "0"), ("to_s", "1000000")];

/// Questions whose rows stand for several traces, so that one trace alone answers otherwise.
const ACROSS_TRACES: [&str; 4] =
    ["prevalence", "power_diff", "experiment_matrix", "process_tree_diff"];

/// Answers that a parameter leaves rows of though nothing matches: buckets in which nothing ran, and
/// processes of which no end was recorded.
const ROWS_STAY: [(&str, &str); 2] = [("cpu_timeline", "process"), ("process_tree", "from_s")];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A lake of all of them, in a folder.
fn story_lake(folder: &Path) -> PathBuf {
    let input = folder.join("in");
    std::fs::create_dir(&input).expect("a folder");
    for name in TRACES {
        let file = format!("{name}.etl");
        let from = root().join("fixtures/traces").join(&file);
        std::fs::copy(from, input.join(&file)).expect("the trace of a story");
    }
    for name in SCENARIOS {
        let path = root().join("fixtures/scenarios/rules").join(format!("{name}.txt"));
        let text = std::fs::read_to_string(path).expect("a scenario");
        for file in Scenario::parse(&text).expect("it is right").write(&Variant::default()) {
            std::fs::write(input.join(&file.name), &file.bytes).expect("a trace");
        }
    }
    let lake = folder.join("lake");
    let options = IngestOptions {
        input: InputArgs { inputs: vec![input.into()], ..InputArgs::default() },
        lake: lake.clone(),
        ..IngestOptions::default()
    };
    etwas_ingest::run(&options, &()).expect("an ingest");
    lake
}

fn open(lake: &Path, threads: usize) -> Lake {
    let options = OpenOptions { threads: Some(threads), ..OpenOptions::default() };
    Lake::open(lake, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// The names of the columns and the rows as text, with these parameters where the question has them.
type Rows = (Vec<String>, Vec<Vec<String>>);

fn ask(lake: &Lake, question: &Question, given: &[(&str, &str)]) -> Result<Rows, String> {
    let mut parameters = BTreeMap::new();
    for parameter in question.parameters() {
        let own = given.iter().find(|(name, _)| *name == parameter.name);
        let needed = REQUIRED.iter().find(|(name, _)| *name == parameter.name);
        if let Some((name, value)) = own.or(needed.filter(|_| parameter.default.is_none())) {
            parameters.insert((*name).to_owned(), (*value).to_owned());
        }
    }
    let request = Request {
        name: question.name.clone(),
        parameters: parameters.into_iter().collect(),
        ..Request::default()
    };
    let mut answer = Answer::default();
    lake.ask(&request, Target::Sink(&mut answer)).map_err(|e| e.to_string())?;
    let columns = answer.columns.iter().map(|c| c.name.clone()).collect();
    Ok((columns, answer.rows.iter().map(|row| row.iter().map(plain).collect()).collect()))
}

fn has(question: &Question, name: &str) -> bool {
    question.parameters().iter().any(|p| p.name == name)
}

/// What is wrong with one question; its number of rows where nothing is.
fn check(question: &Question, one: &Lake, many: &Lake) -> Result<usize, String> {
    let (columns, all) = ask(one, question, &[])?;
    let same = |what: &str, rows: &[Vec<String>]| match all == rows {
        true => Ok(()),
        false => Err(format!("{what}: {} rows, not {}", rows.len(), all.len())),
    };
    same("with four threads", &ask(many, question, &[])?.1)?;
    same("with neutral parameters", &ask(many, question, &NEUTRAL)?.1)?;
    let place = columns.iter().position(|c| c == "trace");
    if let (Some(place), false) = (place, ACROSS_TRACES.contains(&question.name.as_str())) {
        let (_, lone) = ask(many, question, &[("trace", "LOCKAPP")])?;
        let of_it: Vec<_> = all.iter().filter(|row| row[place] == "lockapp").cloned().collect();
        if has(question, "trace") && lone != of_it {
            return Err(format!("one trace alone: {} rows, not {}", lone.len(), of_it.len()));
        }
    }
    for nothing in [("process", "nobody.exe"), ("from_s", "900000")] {
        let stay = ROWS_STAY.contains(&(question.name.as_str(), nothing.0));
        if !stay && has(question, nothing.0) && !ask(many, question, &[nothing])?.1.is_empty() {
            return Err(format!("{} := {} leaves rows", nothing.0, nothing.1));
        }
    }
    Ok(all.len())
}

#[test]
fn threads_and_neutral_parameters_change_no_answer() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lake = story_lake(folder.path());
    let (one, many) = (open(&lake, 1), open(&lake, 4));
    let (mut wrong, mut silent) = (Vec::new(), Vec::new());
    for question in &catalog().questions {
        match check(question, &one, &many) {
            Err(error) => wrong.push(format!("{}: {error}", question.name)),
            Ok(0) => silent.push(question.name.as_str()),
            Ok(_) => {}
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    eprintln!("no rows in these stories: {}", silent.join(", "));
    assert!(silent.len() * 4 < catalog().questions.len(), "the stories say too little: {silent:?}");
}

/// Whether an SQL text calls a question.
fn calls(sql: &str, name: &str) -> bool {
    sql.match_indices(name).any(|(at, _)| {
        let before = sql[..at].chars().next_back();
        let own = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        own && sql[at + name.len()..].trim_start().starts_with('(')
    })
}

/// Every question that is put in a case or a scenario: its text, and whether rows must come.
fn put() -> Vec<(String, bool)> {
    let mut out = Vec::new();
    let files = std::fs::read_dir(root().join("queries/tests")).expect("the cases").flatten();
    for path in files.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "txt")) {
        let text = std::fs::read_to_string(path).expect("a file of cases").replace("\r\n", "\n");
        for ask in text.split("-- ask:").skip(1) {
            let (question, expected) = ask.split_once("-- expect:").expect("an answer");
            let mut lines = expected.lines().skip(1);
            lines.next();
            out.push((
                question.to_owned(),
                lines.next().is_some_and(|l| !l.is_empty() && !l.starts_with("--")),
            ));
        }
    }
    let mut folders = vec![root().join("fixtures/scenarios")];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("the scenarios").flatten().map(|e| e.path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "txt") {
                let text = std::fs::read_to_string(path).expect("a scenario");
                let scenario = Scenario::parse(&text).expect("it is right");
                for truth in scenario.truths() {
                    let question = match &truth.query {
                        Query::Report { name, .. } => format!("{name}()"),
                        Query::Sql(sql) => sql.clone(),
                        Query::Exit(_) => continue,
                    };
                    out.push((question, !truth.expect.is_empty()));
                }
            }
        }
    }
    out
}

#[test]
fn every_stable_question_has_a_known_answer_and_a_known_silence() {
    let all = put();
    let mut wrong = Vec::new();
    for question in &catalog().questions {
        if question.status() != "stable" {
            wrong.push(format!("{}: it is not stable", question.file));
        }
        for (rows, what) in [(true, "in which it fires"), (false, "in which it stays silent")] {
            if !all.iter().any(|(sql, fires)| *fires == rows && calls(sql, &question.name)) {
                wrong.push(format!("{}: no case or scenario {what}", question.file));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
