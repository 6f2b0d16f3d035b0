//! Truth blocks: what a question about the recording must answer.
//!
//! ```text
//! truth "title" [unordered]
//! SELECT ... (or: report NAME key=value columns=a,b)
//! ----
//! rows as CSV, NULL for null, up to the next empty line
//! ```

use crate::Error;
use crate::expand::Line;
use crate::text::{Arg, Statement, tokens};

/// One question with its expected rows.
#[derive(Clone, Debug)]
pub struct Truth {
    /// What is claimed, in words.
    pub title: String,
    /// Line of the scenario, from 1.
    pub line: usize,
    /// How it is asked.
    pub query: Query,
    /// Expected rows; None is NULL.
    pub expect: Vec<Vec<Option<String>>>,
    /// Whether the order of rows is left open.
    pub unordered: bool,
}

/// How a truth is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum Query {
    /// SQL over the lake.
    Sql(String),
    /// A canned question; `columns` chooses and orders (empty: all as they come).
    Report {
        /// Name of the question.
        name: String,
        /// Parameters in the order of the scenario.
        params: Vec<(String, String)>,
        /// Columns to compare.
        columns: Vec<String>,
    },
    /// The exit code of `ingest`.
    Exit(i32),
}

/// Takes the truth blocks out of a scenario's lines.
pub(crate) fn extract<'a>(lines: Vec<Line<'a>>) -> Result<(Vec<Line<'a>>, Vec<Truth>), Error> {
    let mut others = Vec::with_capacity(lines.len());
    let mut truths = Vec::new();
    let mut rest = lines.into_iter().peekable();
    while let Some(line) = rest.next() {
        if line.text.split_whitespace().next() != Some("truth") {
            others.push(line);
            continue;
        }
        let number = line.number;
        let fail = |message: String| Error { line: number, message };
        let mut truth = head(&line).map_err(fail)?;
        if !matches!(truth.query, Query::Exit(_)) {
            let mut question = String::new();
            loop {
                let next = rest.next().ok_or_else(|| fail("no '----' follows".into()))?;
                if next.text.trim_end() == "----" {
                    break;
                }
                question.push_str(next.text);
                question.push('\n');
            }
            truth.query = query(&question).map_err(fail)?;
            while let Some(row) = rest.next_if(|l| !l.text.trim().is_empty()) {
                truth.expect.push(csv(row.text).map_err(fail)?);
            }
        }
        truths.push(truth);
    }
    Ok((others, truths))
}

fn head(line: &Line<'_>) -> Result<Truth, String> {
    let statement = Statement::from_tokens(line.number, 0, tokens(line.text)?)?;
    let reader = statement.reader();
    let exit: Option<i32> = reader.get("exit")?;
    let unordered = reader.flag("unordered");
    let title = match exit {
        Some(code) => reader.word().map_or(format!("exit code {code}"), str::to_string),
        None => reader.need_word("a title")?.to_string(),
    };
    reader.finish()?;
    let query = exit.map_or(Query::Sql(String::new()), Query::Exit);
    Ok(Truth { title, line: line.number, query, expect: Vec::new(), unordered })
}

fn query(text: &str) -> Result<Query, String> {
    if text.split_whitespace().next() != Some("report") {
        return Ok(Query::Sql(text.trim_end().to_string()));
    }
    let statement = Statement::from_tokens(0, 0, tokens(&text.replace('\n', " "))?)?;
    let mut name = None;
    let mut params = Vec::new();
    let mut columns = Vec::new();
    for arg in statement.args {
        match arg {
            Arg::Word(word) if name.is_none() => name = Some(word),
            Arg::Word(word) => return Err(format!("report does not know '{word}'")),
            Arg::Pair(key, value) if key == "columns" => {
                columns = value.split(',').map(str::to_string).collect();
            }
            Arg::Pair(key, value) => params.push((key, value)),
        }
    }
    Ok(Query::Report { name: name.ok_or("report needs a name")?, params, columns })
}

/// One CSV row; an unquoted NULL is a null.
fn csv(line: &str) -> Result<Vec<Option<String>>, String> {
    let mut fields = Vec::new();
    let mut chars = line.trim_end().chars().peekable();
    loop {
        let mut text = String::new();
        let mut quoted = false;
        if chars.next_if_eq(&'"').is_some() {
            quoted = true;
            loop {
                match chars.next() {
                    Some('"') if chars.next_if_eq(&'"').is_some() => text.push('"'),
                    Some('"') => break,
                    Some(c) => text.push(c),
                    None => return Err("a quote is not closed".into()),
                }
            }
        }
        while let Some(c) = chars.next_if(|c| *c != ',') {
            text.push(c);
        }
        fields.push(if !quoted && text == "NULL" { None } else { Some(text) });
        if chars.next().is_none() {
            return Ok(fields);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(text: &str) -> Result<(usize, Vec<Truth>), Error> {
        let lines =
            text.lines().enumerate().map(|(i, text)| Line { number: i + 1, text }).collect();
        extract(lines).map(|(rest, truths)| (rest.len(), truths))
    }

    #[test]
    fn a_block_is_question_and_rows() {
        let text =
            "a\ntruth \"T\" unordered\nSELECT 1\n  , 'x'\n----\n1,\"x, \"\"y\"\"\"\nNULL,\n\nb";
        let (rest, truths) = run(text).unwrap();
        assert_eq!(rest, 3);
        assert_eq!(truths[0].query, Query::Sql("SELECT 1\n  , 'x'".into()));
        assert!(truths[0].unordered);
        let expect = &truths[0].expect;
        assert_eq!(expect[0], [Some("1".into()), Some("x, \"y\"".into())]);
        assert_eq!(expect[1], [None, Some(String::new())]);
    }

    #[test]
    fn reports_and_exit_codes() {
        let text = "truth \"T\"\nreport starvation min_ready_ms=10 columns=process,pid\n----\n\ntruth exit=1";
        let (_, truths) = run(text).unwrap();
        assert_eq!(
            truths[0].query,
            Query::Report {
                name: "starvation".into(),
                params: vec![("min_ready_ms".into(), "10".into())],
                columns: vec!["process".into(), "pid".into()],
            }
        );
        assert_eq!(truths[1].query, Query::Exit(1));
        assert_eq!(run("truth \"x\"\nSELECT").unwrap_err().line, 1);
    }
}
