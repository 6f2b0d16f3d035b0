//! `etwas info`: what is in a trace, without a lake. The file is ingested into a temporary one, so
//! that nothing is said here that the tables would not say.

use std::fmt::Write as _;

use etwas_ingest::ResultStatus;
use etwas_queries::run::{Answer, Target};
use etwas_queries::{Lake, OpenOptions, value};
use serde_json::{Map, Value as Json};

use crate::args::Info;
use crate::output::{self, Failure, note};
use crate::{OK, TROUBLE};

/// What is shown: heading and SQL over the temporary lake; `{id}` stands for the trace.
static PARTS: &[(&str, &str)] = &[
    ("cpus", "SELECT c.* EXCLUDE (trace_id) FROM cpu AS c WHERE c.trace_id = {id} ORDER BY c.cpu"),
    (
        "health",
        "SELECT h.* EXCLUDE (trace_id, time) FROM health AS h WHERE h.trace_id = {id} \
         ORDER BY h.severity, h.counter, h.source",
    ),
    (
        "events",
        "SELECT e.* EXCLUDE (trace_id, time) FROM event_census AS e WHERE e.trace_id = {id} \
         ORDER BY e.events DESC, e.hook, e.provider_guid, e.event_id, e.opcode, e.version, e.fate",
    ),
    (
        "questions",
        "SELECT a.question, a.answerable, a.missing, a.record_with FROM answerable() AS a \
         WHERE a.trace_id = {id} ORDER BY a.answerable DESC, a.question",
    ),
];

/// Describes files.
pub fn run(args: &Info) -> Result<u8, Failure> {
    let described =
        etwas_ingest::describe(args.files.clone()).map_err(|e| Failure(e.to_string()))?;
    let root = described.folder.path().join("lake");
    let mut traces = Vec::new();
    for result in &described.summary.results {
        if result.status == ResultStatus::Failed {
            let error = result.error.as_deref().unwrap_or("it cannot be read");
            note(&format!("error: {}: {error}", result.path));
            if let Some(hint) = &result.hint {
                note(&format!("hint: {hint}"));
            }
        } else if let Some(id) = result.trace_id {
            traces.push(id);
        }
    }
    if described.summary.results.is_empty() {
        note("error: no traces found");
    }
    if !traces.is_empty() {
        let lake = Lake::open(&root, &OpenOptions::default())?;
        match args.format.as_str() {
            "json" => json(&lake, &traces)?,
            _ => people(&lake, &traces, args.events)?,
        }
    }
    Ok(if described.summary.is_trouble() { TROUBLE } else { OK })
}

fn ask(lake: &Lake, sql: &str, id: i64) -> Result<Answer, Failure> {
    let mut answer = Answer::default();
    lake.sql(&sql.replace("{id}", &id.to_string()), None, Target::Sink(&mut answer))?;
    Ok(answer)
}

/// The one row of a trace.
const HEADER: &str = "SELECT t.* FROM trace AS t WHERE t.trace_id = {id}";

/// Everything, as an array of objects.
fn json(lake: &Lake, traces: &[i64]) -> Result<(), Failure> {
    let objects = |answer: &Answer| -> Vec<Json> {
        let object = |row: &Vec<value::Value>| {
            let pairs = answer.columns.iter().zip(row);
            Json::Object(pairs.map(|(c, v)| (c.name.clone(), value::json(v))).collect())
        };
        answer.rows.iter().map(object).collect()
    };
    let mut all = Vec::new();
    for &id in traces {
        let mut trace = Map::new();
        let header = objects(&ask(lake, HEADER, id)?).into_iter().next();
        trace.insert("trace".into(), header.unwrap_or(Json::Null));
        for (name, sql) in PARTS {
            trace.insert((*name).into(), Json::Array(objects(&ask(lake, sql, id)?)));
        }
        all.push(Json::Object(trace));
    }
    output::print(&format!("{:#}\n", Json::Array(all)))
}

/// The same for people; the event classes only where they are asked for.
fn people(lake: &Lake, traces: &[i64], events: bool) -> Result<(), Failure> {
    for (at, &id) in traces.iter().enumerate() {
        let header = ask(lake, HEADER, id)?;
        let mut text = String::from(if at > 0 { "\n" } else { "" });
        for (column, value) in header.columns.iter().zip(header.rows.first().into_iter().flatten())
        {
            if !matches!(value, value::Value::Null) {
                let shown = etwas_queries::render::visible(&value::plain(value));
                let _ = writeln!(text, "{:18} {shown}", column.name.replace('_', " "));
            }
        }
        output::print(&text)?;
        for (name, sql) in PARTS {
            if *name == "events" && !events {
                continue;
            }
            let answer = ask(lake, sql, id)?;
            if !answer.rows.is_empty() {
                output::print(&format!("\n{name}\n"))?;
                output::table(&answer)?;
            }
        }
    }
    Ok(())
}
