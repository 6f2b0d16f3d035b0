//! What a report shows of the lake as a whole: traces, health, answerability, findings, answers.

use std::collections::BTreeMap;

use etwas_queries::{Error, Lake, catalog, run};
use serde_json::{Value as Json, json};

use super::figures::{Budget, Figures, Trace, Window};
use super::{Options, Summary};
use crate::ask::{Row, Rows, literal, rows};

/// Most rows of an answer that is shown as a table.
const ANSWER_ROWS_MAX: usize = 2000;

/// Most findings in a report; a lake with more is asked trace by trace.
const FINDINGS_MAX: usize = 5000;

/// Most traces with pictures; `--trace` picks others.
const PICTURED_TRACES_MAX: usize = 24;

/// Most findings of one trace with a picture of their own.
const PICTURED_FINDINGS_MAX: usize = 6;

/// Collects everything.
pub fn collect(lake: &Lake, options: &Options) -> Result<(Json, Summary), Error> {
    for name in &options.questions {
        run::find(catalog(), name)?;
    }
    let glob = options.trace.as_deref();
    let pattern = glob.map_or("NULL".into(), literal);
    let sql = format!(
        "SELECT t.*, round(t.duration_ns / 1e9, 3) AS duration_s\nFROM trace t\n\
         WHERE glob_matches(t.name, {pattern})\nORDER BY t.name, t.trace_id"
    );
    let found = rows(lake, &sql)?;
    if let (true, Some(glob)) = (found.is_empty(), glob) {
        return Err(Error::NoTrace { glob: glob.into() });
    }
    let traces: Vec<Trace> = found.iter().map(trace_of).collect();
    let places: BTreeMap<i64, usize> =
        traces.iter().enumerate().map(|(at, trace)| (trace.id, at)).collect();
    let (questions, missing, lacking) = answerability(lake, &pattern, &places)?;
    let health = health(lake, &places)?;
    let overview: Vec<Json> = found
        .iter()
        .zip(&traces)
        .enumerate()
        .map(|(at, (row, trace))| overview_of(row, trace, &health[at], &lacking[at]))
        .collect();

    let findings_sql = format!("FROM findings(trace := {pattern})");
    let findings = rows(lake, &findings_sql)?;
    let order = pictured(&traces, &places, &findings);
    let mut figures = Figures::new(lake, Budget::default());
    let pictures = trace_pictures(&mut figures, &traces, &order)?;
    let shown: Vec<Json> = finding_pictures(&mut figures, &traces, &places, &order, &findings)?;
    let across = figures.across(&traces, &places, &pattern)?;
    let answers = answers(lake, options)?;
    let summary = Summary {
        traces: traces.len(),
        findings: findings.len(),
        pictured: order.len(),
        figures: figures.len(),
    };
    let (figures, left_out) = figures.finish();
    let data = json!({
        "version": env!("CARGO_PKG_VERSION"),
        "glob": glob,
        "traces": overview,
        "traces_sql": sql,
        "questions": questions,
        "missing": missing,
        "findings": shown,
        "findings_all": findings.len(),
        "findings_sql": findings_sql,
        "pictures": pictures,
        "figures": figures,
        "figures_left_out": left_out,
        "experiments": across.experiments,
        "power": across.power,
        "answers": answers,
    });
    Ok((data, summary))
}

fn trace_of(row: Row<'_>) -> Trace {
    Trace {
        id: row.int("trace_id").unwrap_or(0),
        name: row.text("name").unwrap_or_default(),
        cpus: row.int("cpu_count"),
        end_ns: row.int("sched_end_ns").or_else(|| row.int("duration_ns")).unwrap_or(0),
        tags: row.json("tags").as_object().map(|tags| tags.keys().cloned().collect()),
    }
}

fn overview_of(row: Row<'_>, trace: &Trace, health: &[Json], lacking: &[(usize, usize)]) -> Json {
    json!({
        // Larger than what JavaScript holds exactly it never is.
        "id": trace.id,
        "name": trace.name,
        "status": row.json("status"),
        "error": row.json("error"),
        "start": row.json("start_time"),
        "duration_s": row.json("duration_s"),
        "end_ns": trace.end_ns,
        "os": row.json("os_name"),
        "build": row.json("os_build"),
        "machine": row.json("computer_name"),
        "model": row.json("cpu_model"),
        "cpus": row.json("cpu_count"),
        "events": row.json("event_count"),
        "lost": row.int("events_lost").unwrap_or(0) + row.int("buffers_lost").unwrap_or(0),
        "damaged": row.json("buffers_damaged"),
        "tags": row.json("tags"),
        "health": health,
        "lacks": lacking,
    })
}

/// Names of all questions, all lists of what is missing, and per trace which question lacks which.
type Answerability = (Vec<String>, Vec<String>, Vec<Vec<(usize, usize)>>);

fn answerability(
    lake: &Lake,
    pattern: &str,
    places: &BTreeMap<i64, usize>,
) -> Result<Answerability, Error> {
    let questions: Vec<String> = catalog().questions.iter().map(|q| q.name.clone()).collect();
    let mut missing: Vec<String> = Vec::new();
    let mut lacking = vec![Vec::new(); places.len()];
    let sql = format!("FROM answerable(trace := {pattern}) a WHERE NOT a.answerable");
    for row in rows(lake, &sql)?.iter() {
        let place = row.int("trace_id").and_then(|id| places.get(&id));
        let name = row.text("question").unwrap_or_default();
        let question = questions.iter().position(|known| *known == name);
        let (Some(place), Some(question)) = (place, question) else { continue };
        let lacks = match (row.text("missing"), row.text("record_with")) {
            (missing, Some(hint)) => format!("{}; record {hint}", missing.unwrap_or_default()),
            (missing, None) => missing.unwrap_or_default(),
        };
        let at = missing.iter().position(|known| *known == lacks).unwrap_or_else(|| {
            missing.push(lacks);
            missing.len() - 1
        });
        lacking[*place].push((question, at));
    }
    Ok((questions, missing, lacking))
}

fn health(lake: &Lake, places: &BTreeMap<i64, usize>) -> Result<Vec<Vec<Json>>, Error> {
    let mut out = vec![Vec::new(); places.len()];
    let sql = "SELECT h.trace_id, h.counter, h.severity, h.count, h.meaning, h.remedy FROM health h \
               ORDER BY h.trace_id, h.severity, h.counter";
    for row in rows(lake, sql)?.iter() {
        let Some(place) = row.int("trace_id").and_then(|id| places.get(&id)) else { continue };
        out[*place].push(json!([
            row.json("counter"),
            row.json("severity"),
            row.json("count"),
            row.json("meaning"),
            row.json("remedy"),
        ]));
    }
    Ok(out)
}

/// The traces that get pictures: those with the worst findings first, then by name.
fn pictured(traces: &[Trace], places: &BTreeMap<i64, usize>, findings: &Rows) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    let found = findings.iter().filter_map(|row| places.get(&row.int("trace_id")?).copied());
    for place in found.chain(0..traces.len()) {
        if order.len() < PICTURED_TRACES_MAX && !order.contains(&place) {
            order.push(place);
        }
    }
    order
}

/// What shows a trace as a whole, per trace.
fn trace_pictures(
    figures: &mut Figures<'_>,
    traces: &[Trace],
    order: &[usize],
) -> Result<Vec<Json>, Error> {
    let mut out = Vec::new();
    for place in order {
        let trace = &traces[*place];
        let shown = [
            figures.cpu(*place, trace)?,
            figures.tree(*place, trace)?,
            figures.placement(*place, trace)?,
            figures.exits(*place, trace)?,
        ];
        let mut shown: Vec<usize> = shown.into_iter().flatten().collect();
        shown.extend(figures.longest_waits(*place, trace)?);
        out.push(json!({ "trace": place, "figures": shown }));
    }
    Ok(out)
}

/// The findings, with the pictures that show them.
fn finding_pictures(
    figures: &mut Figures<'_>,
    traces: &[Trace],
    places: &BTreeMap<i64, usize>,
    order: &[usize],
    findings: &Rows,
) -> Result<Vec<Json>, Error> {
    let mut out = Vec::new();
    let mut pictured = vec![0; traces.len()];
    for row in findings.iter().take(FINDINGS_MAX) {
        let Some(place) = row.int("trace_id").and_then(|id| places.get(&id)).copied() else {
            continue;
        };
        let trace = &traces[place];
        let question = row.text("question").unwrap_or_default();
        let sql = format!("FROM {question}(trace := {})", literal(&trace.name));
        let known = catalog().question(&question).is_some();
        let mut shown = Vec::new();
        let window = row.int("ts_ns").map(|at| {
            let length = (row.number("seconds").unwrap_or(0.0) * 1e9).round() as i64;
            Window { from_ns: at, to_ns: at.saturating_add(length.max(0)) }
        });
        if let Some(window) = window
            && order.contains(&place)
            && pictured[place] < PICTURED_FINDINGS_MAX
        {
            pictured[place] += 1;
            shown = figures.finding(place, trace, &question, row.int("tid"), window)?;
        }
        out.push(json!({
            "trace": place,
            "question": question,
            "count": row.json("findings"),
            "seconds": row.json("seconds"),
            "subject": row.json("subject"),
            "pid": row.json("pid"),
            "tid": row.json("tid"),
            "detail": row.json("detail"),
            "ts_ns": row.json("ts_ns"),
            "sql": if known { Json::String(sql) } else { Json::Null },
            "figures": shown,
        }));
    }
    Ok(out)
}

/// Answers to the questions asked for, as tables.
fn answers(lake: &Lake, options: &Options) -> Result<Vec<Json>, Error> {
    let mut out = Vec::new();
    for name in &options.questions {
        let question = run::find(catalog(), name)?;
        let takes_trace = question.parameters().iter().any(|p| p.name == "trace");
        let argument = match &options.trace {
            Some(glob) if takes_trace => format!("trace := {}", literal(glob)),
            _ => String::new(),
        };
        if let Some(required) = question.parameters().iter().find(|p| p.default.is_none()) {
            return Err(Error::Usage(format!(
                "question '{name}' needs '{}' and cannot stand in a report\n\
                 hint: etwas report {name} -p {}=...",
                required.name, required.name
            )));
        }
        let sql = format!("FROM {name}({argument})");
        let answer = rows(lake, &format!("{sql} LIMIT {}", ANSWER_ROWS_MAX + 1))?;
        let mut table = answer.to_json();
        let cut = answer.len() > ANSWER_ROWS_MAX;
        if let (true, Some(list)) = (cut, table["rows"].as_array_mut()) {
            list.truncate(ANSWER_ROWS_MAX);
        }
        let can = lake.answerable(question, options.trace.as_deref())?;
        let unable = can.iter().filter(|trace| !trace.missing.is_empty()).count();
        out.push(json!({
            "name": name, "title": question.title, "sql": sql, "table": table, "cut": cut,
            "traces": can.len(), "unable": unable,
        }));
    }
    Ok(out)
}
