//! Turns an answer around for people: the values of one column become columns, so that a table of
//! traces or of an experiment can be read, and pasted into a document. Used by `etwas report` for the
//! formats that people read.
//!
//! A question says so in its front matter (`pivot: trace, value_text`): the first column gives the
//! headings, the second fills the cells, and the key, without the first, makes the rows.

use std::collections::HashMap;
use std::io;

use duckdb::types::Value;

use crate::front_matter::Question;
use crate::run::{Column, Sink};
use crate::value::plain;

/// Heading of the column for rows whose pivot value is NULL.
const NONE: &str = "(none)";

/// Which columns are turned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pivot {
    /// Columns that make the rows.
    rows: Vec<String>,
    /// Column whose values become columns.
    heading: String,
    /// Column that fills them.
    cell: String,
}

impl Pivot {
    /// What a question says of it; nothing where it says nothing.
    pub fn of(question: &Question) -> Option<Pivot> {
        let (heading, cell) = question.values("pivot").next()?.split_once(',')?;
        let (heading, cell) = (heading.trim().to_owned(), cell.trim().to_owned());
        let key = question.key();
        // In the order of the answer, which is that of the documented columns.
        let columns = question.statement.columns.iter().map(|c| c.name.as_str());
        let rows = columns.filter(|c| key.contains(c) && *c != heading).map(str::to_owned);
        Some(Pivot { rows: rows.collect(), heading, cell })
    }

    /// A sink that takes the answer as it is; [`Turned::deliver`] passes it on.
    pub fn sink(self) -> Turned {
        Turned { pivot: self, columns: Vec::new(), rows: Vec::new() }
    }
}

/// An answer on its way around.
pub struct Turned {
    pivot: Pivot,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
}

impl Sink for Turned {
    fn columns(&mut self, columns: &[Column]) -> io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
}

impl Turned {
    /// Passes the turned answer on, at most so many rows. Says how many rows that were.
    pub fn deliver(&self, limit: Option<u64>, sink: &mut dyn Sink) -> io::Result<u64> {
        let place = |name: &str| self.columns.iter().position(|c| c.name == name);
        let keys: Vec<usize> = self.pivot.rows.iter().filter_map(|name| place(name)).collect();
        let (Some(heading), Some(cell)) = (place(&self.pivot.heading), place(&self.pivot.cell))
        else {
            return Err(io::Error::other("the columns of the pivot are not in the answer"));
        };
        let mut headings: Vec<String> = Vec::new();
        let mut groups: Vec<(Vec<Value>, HashMap<String, Value>)> = Vec::new();
        let mut known: HashMap<Vec<String>, usize> = HashMap::new();
        let mut last: HashMap<usize, String> = HashMap::new();
        for row in &self.rows {
            let key: Vec<Value> = keys.iter().map(|&at| row[at].clone()).collect();
            let text: Vec<String> = key.iter().map(|value| format!("{value:?}")).collect();
            let group = *known.entry(text).or_insert_with(|| {
                groups.push((key, HashMap::new()));
                groups.len() - 1
            });
            let name = match &row[heading] {
                Value::Null => NONE.to_owned(),
                value => plain(value),
            };
            place_heading(&mut headings, &name, last.get(&group));
            last.insert(group, name.clone());
            groups[group].1.insert(name, row[cell].clone());
        }
        let mut columns: Vec<Column> = keys.iter().map(|&at| self.columns[at].clone()).collect();
        let numeric = self.columns[cell].numeric;
        columns.extend(headings.iter().map(|name| Column {
            name: name.clone(),
            numeric,
            given: true,
        }));
        sink.columns(&columns)?;
        let mut count = 0;
        for (key, cells) in groups {
            if limit.is_some_and(|limit| count >= limit) {
                break;
            }
            let cells = headings.iter().map(|name| cells.get(name).cloned().unwrap_or(Value::Null));
            sink.row(&key.into_iter().chain(cells).collect::<Vec<_>>())?;
            count += 1;
        }
        Ok(count)
    }
}

/// Puts a heading that is new behind the one that came before it in its row, so that the columns
/// stand as the answer orders them, also where the first rows lack some.
fn place_heading(headings: &mut Vec<String>, name: &str, before: Option<&String>) {
    if headings.iter().any(|known| known == name) {
        return;
    }
    let at = before.and_then(|before| headings.iter().position(|known| known == before));
    headings.insert(at.map_or(0, |at| at + 1), name.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Answer;

    fn text(text: &str) -> Value {
        Value::Text(text.into())
    }

    #[test]
    fn traces_become_columns_in_the_order_of_the_answer() {
        let column = |name: &str| Column { name: name.into(), numeric: false, given: false };
        let pivot =
            Pivot { rows: vec!["setting".into()], heading: "trace".into(), cell: "value".into() };
        let mut turned = pivot.sink();
        turned.columns(&[column("setting"), column("trace"), column("value")]).unwrap();
        for (setting, trace, value) in [
            ("boost", "win11", Some("60")),
            ("epp", "win10", Some("50")),
            ("epp", "win10-saver", None),
            ("epp", "win11", Some("33")),
        ] {
            let value = value.map_or(Value::Null, text);
            turned.row(&[text(setting), text(trace), value]).unwrap();
        }
        let mut answer = Answer::default();
        assert_eq!(turned.deliver(None, &mut answer).unwrap(), 2);
        let names: Vec<&str> = answer.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, ["setting", "win10", "win10-saver", "win11"]);
        assert!(!answer.columns[0].given && answer.columns[1].given);
        assert_eq!(answer.rows[0], [text("boost"), Value::Null, Value::Null, text("60")]);
        assert_eq!(answer.rows[1], [text("epp"), text("50"), Value::Null, text("33")]);
        let mut few = Answer::default();
        assert_eq!(turned.deliver(Some(1), &mut few).unwrap(), 1);
    }

    #[test]
    fn every_pivot_names_columns_of_its_question() {
        let mut found = 0;
        for question in &crate::catalog().questions {
            let Some(pivot) = Pivot::of(question) else {
                assert!(question.values("pivot").next().is_none(), "{}", question.file);
                continue;
            };
            found += 1;
            let has = |name: &String| question.statement.columns.iter().any(|c| c.name == *name);
            assert!(has(&pivot.heading) && has(&pivot.cell), "{}: {pivot:?}", question.file);
            assert!(!pivot.rows.is_empty(), "{}", question.file);
        }
        assert!(found > 0);
    }
}
