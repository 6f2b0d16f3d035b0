//! Asks a lake and reads answers by the names of their columns. Used by every picture.

use etwas_queries::lake_db::quote;
use etwas_queries::run::{Answer, Target};
use etwas_queries::value::{Value, json, plain};
use etwas_queries::{Error, Lake};
use serde_json::Value as Json;

/// A whole answer, read by name.
pub struct Rows {
    answer: Answer,
}

/// One row of an answer.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    rows: &'a Rows,
    at: usize,
}

/// Runs one statement.
pub fn rows(lake: &Lake, sql: &str) -> Result<Rows, Error> {
    let mut answer = Answer::default();
    lake.sql(sql, None, Target::Sink(&mut answer))?;
    Ok(Rows { answer })
}

impl Rows {
    /// Number of rows.
    pub fn len(&self) -> usize {
        self.answer.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answer.rows.is_empty()
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).map(|at| Row { rows: self, at })
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    /// Columns and rows as JSON: names, which of them are numbers, and a list of values a row.
    pub fn to_json(&self) -> Json {
        let names: Vec<&str> = self.answer.columns.iter().map(|c| c.name.as_str()).collect();
        let numeric: Vec<bool> = self.answer.columns.iter().map(|c| c.numeric).collect();
        let rows: Vec<Json> =
            self.answer.rows.iter().map(|row| row.iter().map(number_or_text).collect()).collect();
        serde_json::json!({ "columns": names, "numeric": numeric, "rows": rows })
    }
}

impl<'a> Row<'a> {
    fn value(self, name: &str) -> Option<&'a Value> {
        let at = self.rows.answer.columns.iter().position(|c| c.name == name)?;
        self.rows.answer.rows[self.at].get(at).filter(|v| !matches!(v, Value::Null))
    }

    /// An integer; nothing where it is NULL.
    pub fn int(self, name: &str) -> Option<i64> {
        json(self.value(name)?).as_i64()
    }

    /// A number; nothing where it is NULL.
    pub fn number(self, name: &str) -> Option<f64> {
        json(self.value(name)?).as_f64().filter(|x| x.is_finite())
    }

    /// A text; nothing where it is NULL.
    pub fn text(self, name: &str) -> Option<String> {
        self.value(name).map(plain)
    }

    /// A truth value; nothing where it is NULL.
    pub fn flag(self, name: &str) -> Option<bool> {
        json(self.value(name)?).as_bool()
    }

    /// Any value as JSON.
    pub fn json(self, name: &str) -> Json {
        self.value(name).map_or(Json::Null, number_or_text)
    }
}

/// Most that a number of JavaScript holds exactly.
const EXACT_MAX: u64 = 1 << 53;

/// A value as JSON, with integers that JavaScript would round as text.
fn number_or_text(value: &Value) -> Json {
    let json = json(value);
    let large = json.as_i64().map_or(json.is_u64(), |n| n.unsigned_abs() > EXACT_MAX);
    if large && json.is_number() && !json.is_f64() { Json::String(json.to_string()) } else { json }
}

/// A text as an SQL literal.
pub fn literal(text: &str) -> String {
    quote(text)
}

/// An instant or duration in nanoseconds as seconds, exact, for SQL.
pub fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact() {
        assert_eq!(seconds(1), "0.000000001");
        assert_eq!(seconds(-1_500_000_000), "-1.500000000");
        assert_eq!(seconds(i64::MAX), "9223372036.854775807");
    }

    #[test]
    fn large_integers_become_text() {
        assert_eq!(number_or_text(&Value::BigInt(1 << 53)), Json::from(1_i64 << 53));
        assert_eq!(number_or_text(&Value::BigInt((1 << 53) + 1)), "9007199254740993");
        assert_eq!(number_or_text(&Value::UBigInt(u64::MAX)), "18446744073709551615");
        assert_eq!(number_or_text(&Value::Double(1e300)), Json::from(1e300));
    }
}
