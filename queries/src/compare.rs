//! Compares two sets of traces by the answers to one question: which rows are new, which are gone,
//! and how far the others moved. Called by `etwas compare`.
//!
//! A question says in its front matter what identifies a row from trace to trace (`key:`) and what is
//! measured (`measure:`). Rows of one trace with the same key are one: their sum, unless the question
//! says `max` or `mean`. Sums are 0 in a trace that could have had such a row and has none; of what is
//! no sum, such a trace says nothing. Traces that cannot answer the question take no part.
//!
//! # Invariants
//! * Everything is computed by SQL over the question's macro; only trace ids are written into it, and
//!   those are numbers.
//! * Values are added in the order of the traces, so that any number of threads gives the same digits.

use std::fmt::Write as _;

use duckdb::types::Value;

use crate::catalog::catalog;
use crate::error::Error;
use crate::front_matter::Question;
use crate::lake_db::{quote, quote_name};
use crate::run::{self, Answerable, Lake, Request, Target};

/// The question that is compared where none is named.
pub const DEFAULT_QUESTION: &str = "cpu_by_process";

/// Two sets of traces and what to compare them by.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// Name of the question.
    pub question: String,
    /// Parameters of the question as text, by name; not `trace`.
    pub parameters: Vec<(String, String)>,
    /// Pattern of the names of the traces to compare with.
    pub baseline: String,
    /// Pattern of the names of the traces to judge.
    pub candidate: String,
    /// Most rows wanted.
    pub limit: Option<u64>,
    /// An SQL condition over the rows, whose matches are counted.
    pub fail_if: Option<String>,
}

/// What happened beside the rows.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Rows that went to the target.
    pub rows: u64,
    /// Rows that met the condition of `fail_if`.
    pub failed: u64,
    /// Per trace of the baseline: whether it could answer.
    pub baseline: Vec<Answerable>,
    /// Per trace of the candidate: whether it could answer.
    pub candidate: Vec<Answerable>,
}

impl Compared {
    /// The set of which no trace could answer, by name and with its traces.
    pub fn unanswered(&self) -> Option<(&'static str, &[Answerable])> {
        let sides = [("baseline", &self.baseline), ("candidate", &self.candidate)];
        let none = |traces: &[Answerable]| traces.iter().all(|t| !t.missing.is_empty());
        sides.into_iter().find(|(_, traces)| none(traces)).map(|(name, t)| (name, t.as_slice()))
    }
}

impl Lake {
    /// Compares two sets of traces.
    pub fn compare(&self, wanted: &Comparison, target: Target<'_>) -> Result<Compared, Error> {
        let question = run::find(catalog(), &wanted.question)?;
        let measure = comparable(question)?;
        let mut out = Compared {
            baseline: self.answerable(question, Some(&wanted.baseline))?,
            candidate: self.answerable(question, Some(&wanted.candidate))?,
            ..Compared::default()
        };
        if out.unanswered().is_some() {
            return Ok(out);
        }
        let (mut sql, mut values) = (members(&out), Vec::new());
        sql += ",\nanswer AS (\n";
        for (at, side) in ["baseline", "candidate"].into_iter().enumerate() {
            let pattern = if at == 0 { &wanted.baseline } else { &wanted.candidate };
            let request = Request {
                name: question.name.clone(),
                parameters: wanted.parameters.clone(),
                trace: Some(pattern.clone()),
                ..Request::default()
            };
            let (call, bound) = run::call(question, &request)?;
            values.extend::<Vec<Value>>(bound);
            sql += if at == 0 { "" } else { "    UNION ALL\n" };
            let _ = writeln!(
                sql,
                "    SELECT '{side}' AS side, q.trace_id, {}, CAST(q.{} AS DOUBLE) AS measured\n    \
                 FROM {call} q",
                keys(question, "q.").join(", "),
                quote_name(measure.column),
            );
        }
        sql += &compared(question, &measure);
        (out.rows, out.failed) = self
            .deliver_judged(&sql, &values, wanted.limit, wanted.fail_if.as_deref(), target)
            .map_err(|error| run::explain(error, question))?;
        Ok(out)
    }
}

/// What a question measures, and what the rows of one trace with the same key come to.
struct Measure<'a> {
    column: &'a str,
    /// SQL over the sorted list of the values.
    whole: &'static str,
    /// SQL of the value of a trace that has no such row.
    absent: &'static str,
}

/// The measure of a question whose rows can be found again in another trace.
fn comparable(question: &Question) -> Result<Measure<'_>, Error> {
    let measure = question.values("measure").next();
    let Some(measure) = measure.filter(|_| is_comparable(question)) else {
        return Err(not_comparable(question));
    };
    let (how, column) = measure.split_once(' ').unwrap_or(("sum", measure));
    let (whole, absent) = match how {
        "max" => ("list_max", "NULL"),
        "mean" => ("list_avg", "NULL"),
        _ => ("list_sum", "0.0"),
    };
    Ok(Measure { column: column.trim(), whole, absent })
}

/// The error for a question whose rows cannot be compared, with those that can.
fn not_comparable(question: &Question) -> Error {
    let every = &catalog().questions;
    let can: Vec<&str> = every
        .iter()
        .filter(|q| q.name != question.name && is_comparable(q))
        .map(|q| q.name.as_str())
        .collect();
    Error::Usage(format!(
        "question '{}' has no key and measure by which rows of two sets could be compared\n\
         hint: these have: {}",
        question.name,
        can.join(", ")
    ))
}

/// Whether rows have a key and a measure, and belong to one trace each.
fn is_comparable(question: &Question) -> bool {
    let has = |name: &str| question.statement.columns.iter().any(|c| c.name == name);
    !question.key().is_empty()
        && question.values("measure").next().is_some()
        && question.parameters().iter().any(|p| p.name == "trace")
        && has("trace_id")
}

/// The key columns, with a prefix.
fn keys(question: &Question, prefix: &str) -> Vec<String> {
    question.key().iter().map(|key| format!("{prefix}{}", quote_name(key))).collect()
}

/// The traces of both sets that can answer.
fn members(compared: &Compared) -> String {
    let mut rows = Vec::new();
    for (side, traces) in [("baseline", &compared.baseline), ("candidate", &compared.candidate)] {
        for trace in traces.iter().filter(|t| t.missing.is_empty()) {
            rows.push(format!("('{side}', CAST({} AS BIGINT))", trace.trace_id));
        }
    }
    format!("WITH member AS (\n    FROM (VALUES {}) v(side, trace_id)\n)", rows.join(", "))
}

/// From the rows of both sets to the comparison.
fn compared(question: &Question, measure: &Measure<'_>) -> String {
    let same: Vec<String> = question
        .key()
        .iter()
        .map(|key| format!("r.{0} IS NOT DISTINCT FROM k.{0}", quote_name(key)))
        .collect();
    let Measure { column, whole, absent } = measure;
    let (of_answer, of_grid) = (keys(question, "a.").join(", "), keys(question, "g.").join(", "));
    let (of_row, shown) = (keys(question, "r.").join(", "), keys(question, "m.").join(", "));
    let order = (0..question.key().len()).map(|at| format!("{} NULLS LAST", at + 1));
    let order: Vec<String> = order.collect();
    format!(
        "),
found AS (
    SELECT a.side, a.trace_id, {of_answer}, count(*) AS answers,
        {whole}(list(a.measured ORDER BY a.measured) FILTER (WHERE a.measured IS NOT NULL))
            AS measured
    FROM answer a
    JOIN member m ON m.side = a.side AND m.trace_id = a.trace_id
    GROUP BY ALL
),
every_key AS (
    SELECT DISTINCT {of_row} FROM found r
),
grid AS (
    SELECT k.*, m.side, m.trace_id, r.answers,
        CASE WHEN r.answers IS NULL THEN {absent} ELSE r.measured END AS measured
    FROM every_key k
    CROSS JOIN member m
    LEFT JOIN found r ON r.side = m.side AND r.trace_id = m.trace_id AND {same}
),
side AS (
    SELECT {of_grid},
        list(g.measured ORDER BY g.trace_id)
            FILTER (WHERE g.side = 'baseline' AND g.measured IS NOT NULL) AS b,
        list(g.measured ORDER BY g.trace_id)
            FILTER (WHERE g.side = 'candidate' AND g.measured IS NOT NULL) AS c,
        count(g.answers) FILTER (WHERE g.side = 'baseline') AS b_traces,
        count(g.answers) FILTER (WHERE g.side = 'candidate') AS c_traces,
        coalesce(sum(g.answers) FILTER (WHERE g.side = 'baseline'), 0)
            / nullif(CAST(count(*) FILTER (WHERE g.side = 'baseline') AS DOUBLE), 0) AS b_rows,
        coalesce(sum(g.answers) FILTER (WHERE g.side = 'candidate'), 0)
            / nullif(CAST(count(*) FILTER (WHERE g.side = 'candidate') AS DOUBLE), 0) AS c_rows
    FROM grid g
    GROUP BY ALL
),
mean AS (
    SELECT g.*, list_avg(g.b) AS b_mean, list_avg(g.c) AS c_mean,
        list_avg(g.c) - list_avg(g.b) AS delta,
        welch_margin(len(g.b), list_var_samp(g.b), len(g.c), list_var_samp(g.c)) AS margin
    FROM side g
)
SELECT
    {shown},
    {measure} AS measure,
    CASE WHEN m.b_traces = 0 THEN 'new' WHEN m.c_traces = 0 THEN 'gone' ELSE 'matched' END AS status,
    m.b_mean AS baseline_mean,
    m.c_mean AS candidate_mean,
    m.delta,
    100.0 * m.delta / nullif(abs(m.b_mean), 0) AS delta_percent,
    m.delta - m.margin AS delta_low,
    m.delta + m.margin AS delta_high,
    m.b_rows AS baseline_rows,
    m.c_rows AS candidate_rows,
    m.b_traces AS baseline_traces,
    m.c_traces AS candidate_traces
FROM mean m
ORDER BY abs(m.delta) DESC NULLS LAST, m.b_traces + m.c_traces DESC, {order}",
        same = same.join(" AND "),
        measure = quote(column),
        order = order.join(", "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_a_key_names_those_that_have_one() {
        let question = catalog().question("power_diff").expect("a question");
        let error = comparable(question).err().expect("it has no measure").to_string();
        assert!(error.contains("'power_diff' has no key and measure"), "{error}");
        assert!(error.contains("cpu_by_process") && error.contains("process_tree"), "{error}");
    }

    #[test]
    fn measures_are_columns_and_are_added_or_not() {
        for question in catalog().questions.iter().filter(|q| is_comparable(q)) {
            let measure = comparable(question).expect("it is comparable");
            let columns: Vec<&str> =
                question.statement.columns.iter().map(|c| c.name.as_str()).collect();
            assert!(columns.contains(&measure.column), "{}: {}", question.file, measure.column);
            for key in question.key() {
                assert!(columns.contains(&key), "{}: {key}", question.file);
            }
        }
    }
}
