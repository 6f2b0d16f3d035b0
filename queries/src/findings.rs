//! A first answer after an ingest: what stands out in the new traces, a line each, with the report
//! that says more. Only questions that the traces can answer are asked.

use std::path::Path;

use duckdb::types::Value;

use crate::error::Error;
use crate::lake_db;
use crate::render::visible;
use crate::run::{Answer, Lake, OpenOptions, Request, Target};
use crate::value::plain;

/// Most traces that are looked at.
const TRACES_MAX: usize = 20;

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The finding, one line.
    pub text: String,
    /// What to run next.
    pub command: String,
}

/// A question that is asked for its largest row.
struct Probe {
    question: &'static str,
    /// Column that the rows are compared by.
    by: &'static str,
    /// Smallest value of that column worth telling.
    least: f64,
    /// `{column}` stands for a value, `{column:s}` for an instant in seconds.
    sentence: &'static str,
    /// Where this one answers, questions that say less are not asked.
    instead_of: &'static [&'static str],
}

/// The question that asks every detector.
const DETECTORS: &str = "findings";

/// Most findings that are told.
const FINDINGS_MAX: usize = 5;

/// What is told beside the findings: what the machine was busy with.
static PROBES: &[Probe] = &[
    Probe {
        question: "cpu_by_process",
        by: "cpu_s",
        least: 0.0,
        sentence: "most CPU time: {process} (pid {pid}) with {cpu_s} s",
        instead_of: &["cpu_samples_by_process"],
    },
    Probe {
        question: "cpu_samples_by_process",
        by: "samples",
        least: 1.0,
        sentence: "most CPU samples: {process} (pid {pid}) with {samples}",
        instead_of: &[],
    },
    Probe {
        question: "event_census",
        by: "events",
        least: 1.0,
        sentence: "most frequent event: {provider} {name} with {events}",
        instead_of: &[],
    },
];

/// Which traces are looked at, of those that are new: a first answer should not take long.
pub fn looked_at(traces: &[i64]) -> &[i64] {
    &traces[..traces.len().min(TRACES_MAX)]
}

/// What stands out in these traces of a lake.
pub fn find(root: &Path, traces: &[i64]) -> Result<Vec<Finding>, Error> {
    // Views of the few alone answer at once, however many recordings the lake has.
    let many = lake_db::recordings(root) > TRACES_MAX;
    let options = OpenOptions { only: many.then(|| traces.to_vec()), ..OpenOptions::default() };
    let lake = &Lake::open(root, &options)?;
    let mut out = detected(lake, traces)?;
    let mut answered: Vec<&str> = Vec::new();
    for probe in PROBES {
        let known = crate::catalog().question(probe.question).is_some();
        if !known || answered.contains(&probe.question) {
            continue;
        }
        let answer = rows_of(lake, probe.question, traces)?;
        if !answer.rows.is_empty() {
            answered.extend(probe.instead_of);
        }
        out.extend(largest(&answer, probe));
    }
    Ok(out)
}

/// The answer to a question, with the rows of these traces only.
fn rows_of(lake: &Lake, question: &str, traces: &[i64]) -> Result<Answer, Error> {
    let request = Request { name: question.into(), ..Request::default() };
    let mut answer = Answer::default();
    lake.ask(&request, Target::Sink(&mut answer))?;
    if let Some(at) = answer.columns.iter().position(|c| c.name == "trace_id") {
        answer.rows.retain(|row| matches!(row[at], Value::BigInt(id) if traces.contains(&id)));
    }
    Ok(answer)
}

/// The value of a column in a row.
fn value<'a>(answer: &Answer, row: &'a [Value], name: &str) -> Option<&'a Value> {
    answer.columns.iter().position(|c| c.name == name).map(|at| &row[at])
}

/// What the detectors found, the longest first.
fn detected(lake: &Lake, traces: &[i64]) -> Result<Vec<Finding>, Error> {
    if crate::catalog().question(DETECTORS).is_none() {
        return Ok(Vec::new());
    }
    let answer = rows_of(lake, DETECTORS, traces)?;
    let finding = |row: &Vec<Value>| {
        let value = |name: &str| value(&answer, row, name).filter(|v| !matches!(v, Value::Null));
        let shown = |name: &str| value(name).map(|v| visible(&plain(v))).unwrap_or_default();
        let mut text = shown("question").replace('_', " ");
        if value("subject").is_some() {
            text += &format!(": {}", shown("subject"));
        }
        if value("tid").is_some() {
            text += &format!(" (tid {})", shown("tid"));
        }
        if value("seconds").is_some() {
            text += &sentence(", {seconds} s", value);
        }
        if value("ts_ns").is_some() {
            text += &sentence(" from {ts_ns:s} s", value);
        }
        text += &format!(", {} (trace {})", shown("detail"), shown("trace"));
        let command = format!("etwas report {} --trace \"{}\"", shown("question"), shown("trace"));
        Finding { text, command }
    };
    Ok(answer.rows.iter().take(FINDINGS_MAX).map(finding).collect())
}

/// The row with the most of what a probe looks for, as a finding.
fn largest(answer: &Answer, probe: &Probe) -> Option<Finding> {
    let size = |row: &Vec<Value>| {
        value(answer, row, probe.by).and_then(|v| plain(v).parse::<f64>().ok()).unwrap_or(0.0)
    };
    let row = answer.rows.iter().rev().max_by(|a, b| size(a).total_cmp(&size(b)))?;
    if size(row) < probe.least {
        return None;
    }
    let value = |name: &str| value(answer, row, name);
    let trace = value("trace").map(|v| visible(&plain(v))).unwrap_or_default();
    let text = format!("{} (trace {trace})", sentence(probe.sentence, value));
    Some(Finding { text, command: format!("etwas report {} --trace \"{trace}\"", probe.question) })
}

/// A sentence with values in the place of `{column}`.
fn sentence<'a>(template: &str, value: impl Fn(&str) -> Option<&'a Value>) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else { break };
        out.push_str(before);
        let text = match name.strip_suffix(":s") {
            Some(name) => value(name).and_then(|v| plain(v).parse::<f64>().ok()).map(|ns| {
                // Milliseconds are enough to find the place.
                format!("{:.3}", ns / 1e9)
            }),
            None => value(name).filter(|v| !matches!(v, Value::Null)).map(|v| match v {
                Value::Double(x) => format!("{x:.3}"),
                other => visible(&plain(other)),
            }),
        };
        out.push_str(&text.unwrap_or_else(|| "?".into()));
        rest = behind;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_take_values() {
        let (n, t) = (Value::BigInt(1_500_000_000), Value::Text("a\u{1b}b".into()));
        let value = |name: &str| match name {
            "n" => Some(&n),
            "t" => Some(&t),
            _ => None,
        };
        assert_eq!(sentence("{t} at {n:s} s, {x}.", value), "a\\u{1b}b at 1.500 s, ?.");
    }
}
