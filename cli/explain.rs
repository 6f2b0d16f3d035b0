//! `etwas reports` and `etwas report NAME --help`: the catalogue for people.

use std::fmt::Write as _;

use clap::CommandFactory;
use etwas_queries::front_matter::Question;
use etwas_queries::{catalog, needs};

use crate::OK;
use crate::args::Args;
use crate::output::{self, Failure};

/// Columns of prose where the terminal does not say.
const WIDTH: usize = 100;

/// Lists every question by topic.
pub fn reports() -> Result<u8, Failure> {
    let questions = &catalog().questions;
    let width = questions.iter().map(|q| q.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    let mut topic = "";
    for q in questions {
        if q.topic != topic {
            let gap = if topic.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}{}", q.topic);
            topic = &q.topic;
        }
        let lines = wrapped(&q.question, columns().saturating_sub(width + 4));
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { q.name.as_str() } else { "" };
            let _ = writeln!(text, "  {name:width$}  {line}");
        }
    }
    text.push_str("\netwas report NAME --help explains one; FROM name() asks it in SQL\n");
    output::print(&text)?;
    Ok(OK)
}

/// The usage of `etwas report`, whose help flag is our own.
pub fn report_usage() -> Result<u8, Failure> {
    let mut command = Args::command();
    let report = command.find_subcommand_mut("report").map(clap::Command::render_help);
    output::print(&report.map_or(String::new(), |help| help.to_string()))?;
    Ok(OK)
}

/// Everything about one question.
pub fn question(q: &Question) -> Result<u8, Failure> {
    let mut text = format!("{} ({}, {})\n\n", q.title, q.topic, q.status());
    paragraph(&mut text, &q.question);
    for part in q.method.split("\n\n") {
        paragraph(&mut text, part);
    }
    let _ = writeln!(text, "usage\n  etwas report {} [-p NAME=VALUE]... [--trace GLOB]", q.name);
    let _ = writeln!(text, "  FROM {}\n", q.signature());
    let parameters: Vec<(String, &str)> = q
        .parameters()
        .iter()
        .map(|p| {
            let default = p.default.as_ref().map_or(String::new(), |d| format!(" := {d}"));
            (format!("{} {}{default}", p.name, p.sql_type), p.doc.as_str())
        })
        .collect();
    list(&mut text, "parameters", &parameters);
    let outputs: Vec<(String, &str)> =
        q.statement.columns.iter().map(|c| (c.name.clone(), c.doc.as_str())).collect();
    list(&mut text, "columns", &outputs);
    let compared = [(q.key().join(", "), q.values("measure").next().unwrap_or_default())];
    list(
        &mut text,
        "compared by key and measure",
        if q.key().is_empty() { &[] } else { &compared },
    );
    let hints: Vec<(String, String)> =
        needs::of(q).iter().map(|need| ((*need).to_owned(), needs::hint(need))).collect();
    let hints: Vec<(String, &str)> =
        hints.iter().map(|(need, hint)| (need.clone(), hint.as_str())).collect();
    list(&mut text, "needs, recorded with", &hints);
    for (heading, key) in [("caveats", "caveats"), ("sources", "source")] {
        let mut values = q.values(key).peekable();
        if values.peek().is_some() {
            let _ = writeln!(text, "{heading}");
            for value in values {
                for line in wrapped(value, columns() - 2) {
                    let _ = writeln!(text, "  {line}");
                }
            }
            text.push('\n');
        }
    }
    output::print(&(text.trim_end().to_owned() + "\n"))?;
    Ok(OK)
}

/// A heading and lines of name and meaning.
fn list(text: &mut String, heading: &str, items: &[(String, &str)]) {
    if items.is_empty() {
        return;
    }
    let width = items.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0).min(44);
    let _ = writeln!(text, "{heading}");
    for (name, doc) in items {
        let lines = wrapped(doc, columns().saturating_sub(width + 4).max(20));
        for (at, line) in lines.iter().enumerate() {
            let name = if at == 0 { name.as_str() } else { "" };
            let _ = writeln!(text, "  {name:width$}  {line}");
        }
    }
    text.push('\n');
}

fn paragraph(text: &mut String, prose: &str) {
    if prose.is_empty() {
        return;
    }
    for line in wrapped(prose, columns()) {
        let _ = writeln!(text, "{line}");
    }
    text.push('\n');
}

/// Columns of the terminal, within reason.
fn columns() -> usize {
    output::terminal_width().map_or(WIDTH, |width| usize::from(width).clamp(40, 120))
}

/// A text in lines of at most `width` characters, where its words allow.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a line");
        let length = last.chars().count();
        if length > 0 && length + 1 + word.chars().count() > width {
            lines.push(word.to_owned());
        } else {
            if length > 0 {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}
