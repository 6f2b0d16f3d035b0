//! A first answer after an ingest: what stands out in the new traces, a line each, with the report
//! that says more. Only questions that the traces can answer are asked.

use duckdb::types::Value;

use crate::error::Error;
use crate::render::visible;
use crate::run::{Answer, Lake, Request, Target};
use crate::value::plain;

/// Most traces that are asked one by one; a first answer should not take long.
const TRACES_MAX: usize = 20;

/// Something that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The finding, one line.
    pub text: String,
    /// What to run next.
    pub command: String,
}

/// A question that is asked for its first row.
struct Probe {
    question: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    /// Column by which one trace's first row is compared with another's: the largest wins.
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
        parameters: &[],
        by: "cpu_s",
        least: 0.0,
        sentence: "most CPU time: {process} (pid {pid}) with {cpu_s} s",
        instead_of: &["cpu_samples_by_process"],
    },
    Probe {
        question: "cpu_samples_by_process",
        parameters: &[],
        by: "samples",
        least: 1.0,
        sentence: "most CPU samples: {process} (pid {pid}) with {samples}",
        instead_of: &[],
    },
    Probe {
        question: "event_census",
        parameters: &[],
        by: "events",
        least: 1.0,
        sentence: "most frequent event: {provider} {name} with {events}",
        instead_of: &[],
    },
];

/// What stands out in these traces.
pub fn find(lake: &Lake, traces: &[String]) -> Result<Vec<Finding>, Error> {
    let mut out = detected(lake, traces)?;
    let mut answered: Vec<&str> = Vec::new();
    for probe in PROBES {
        let known = crate::catalog().question(probe.question).is_some();
        if !known || answered.contains(&probe.question) {
            continue;
        }
        let mut best: Option<(f64, Finding)> = None;
        for trace in traces.iter().take(TRACES_MAX) {
            let Some((size, finding)) = first(lake, probe, trace)? else { continue };
            answered.extend(probe.instead_of);
            if size >= probe.least && best.as_ref().is_none_or(|(other, _)| size > *other) {
                best = Some((size, finding));
            }
        }
        out.extend(best.map(|(_, finding)| finding));
    }
    Ok(out)
}

/// What the detectors found, the longest first.
fn detected(lake: &Lake, traces: &[String]) -> Result<Vec<Finding>, Error> {
    let mut found: Vec<(f64, Finding)> = Vec::new();
    if crate::catalog().question(DETECTORS).is_none() {
        return Ok(Vec::new());
    }
    for trace in traces.iter().take(TRACES_MAX) {
        let request = Request {
            name: DETECTORS.into(),
            trace: Some(trace.clone()),
            limit: Some(FINDINGS_MAX as u64),
            ..Request::default()
        };
        let mut answer = Answer::default();
        lake.ask(&request, Target::Sink(&mut answer))?;
        for row in &answer.rows {
            let value = |name: &str| {
                let at = answer.columns.iter().position(|c| c.name == name);
                at.map(|at| &row[at]).filter(|v| !matches!(v, Value::Null))
            };
            let shown = |name: &str| value(name).map(|v| visible(&plain(v))).unwrap_or_default();
            let seconds: f64 = shown("seconds").parse().unwrap_or(0.0);
            let mut text = shown("question").replace('_', " ");
            if value("subject").is_some() {
                text += &format!(": {}", shown("subject"));
            }
            if value("tid").is_some() {
                text += &format!(" (tid {})", shown("tid"));
            }
            if value("seconds").is_some() {
                text += &format!(", {seconds:.3} s");
            }
            if value("ts_ns").is_some() {
                text += &sentence(" from {ts_ns:s} s", value);
            }
            text += &format!(", {} (trace {})", shown("detail"), visible(trace));
            let command =
                format!("etwas report {} --trace \"{}\"", shown("question"), visible(trace));
            found.push((seconds, Finding { text, command }));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    Ok(found.into_iter().take(FINDINGS_MAX).map(|(_, finding)| finding).collect())
}

/// The largest row of one trace, as a finding.
fn first(lake: &Lake, probe: &Probe, trace: &str) -> Result<Option<(f64, Finding)>, Error> {
    let parameters =
        probe.parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    let request = Request {
        name: probe.question.into(),
        parameters,
        trace: Some(trace.into()),
        limit: Some(1),
        fail_if: None,
    };
    let mut answer = Answer::default();
    lake.ask(&request, Target::Sink(&mut answer))?;
    let Some(row) = answer.rows.first() else { return Ok(None) };
    let value = |name: &str| answer.columns.iter().position(|c| c.name == name).map(|at| &row[at]);
    let size = value(probe.by).map_or(0.0, |v| plain(v).parse().unwrap_or(0.0));
    let text = format!("{} (trace {})", sentence(probe.sentence, value), visible(trace));
    let command = format!("etwas report {} --trace \"{}\"", probe.question, visible(trace));
    Ok(Some((size, Finding { text, command })))
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
