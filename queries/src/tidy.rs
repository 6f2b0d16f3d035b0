//! The rules that every SQL file keeps, as far as its text shows them. A test calls this; what only
//! a database can tell is tested beside it.

use crate::catalog::Catalog;
use crate::front_matter::{Question, Statement};
use crate::lexer::{Kind, Token, tokens};

/// Longest line of an SQL file.
const WIDTH: usize = 100;

/// Every rule that is broken, as `file:line: sentence`.
pub fn check(files: &[(&str, &str)]) -> Vec<String> {
    let catalog = Catalog::read(files.iter().copied());
    let mut out: Vec<String> = catalog.errors.iter().map(ToString::to_string).collect();
    for question in &catalog.questions {
        let mut complain = |line: usize, text: &str| {
            out.push(format!("{}:{line}: {text}", question.file));
        };
        prose(question, &mut complain);
        header(question, &mut complain);
        body(&question.statement, &mut complain);
    }
    for (file, block) in &catalog.blocks {
        if block.doc.trim().is_empty() {
            out.push(format!("{file}:{}: {} has no comment above it", block.line, block.name));
        }
    }
    for (file, text) in files {
        for (number, line) in text.lines().enumerate() {
            if line.chars().count() > WIDTH && !line.contains("://") {
                out.push(format!("{file}:{}: line longer than {WIDTH} characters", number + 1));
            }
        }
    }
    out.sort();
    out
}

/// Title, question, sources, status.
fn prose(question: &Question, complain: &mut dyn FnMut(usize, &str)) {
    let line = question.statement.doc_line;
    let stem = question.file.rsplit('/').next().and_then(|f| f.strip_suffix(".sql"));
    if stem != Some(&question.name) {
        complain(question.statement.line, "the macro is not named like the file");
    }
    if !question.question.ends_with('?') {
        complain(line, "the first paragraph is no question: it must end in '?'");
    }
    if question.method.is_empty() {
        complain(line, "no paragraph says how the question is answered");
    }
    if question.values("source").next().is_none() {
        complain(line, "no source");
    }
    if !matches!(question.status(), "stable" | "draft") {
        complain(line, "status is 'stable' or 'draft'");
    }
    if question.needs().is_empty() {
        complain(line, "no needs");
    }
}

/// Parameters: documented, typed, required ones first.
fn header(question: &Question, complain: &mut dyn FnMut(usize, &str)) {
    let mut defaulted = false;
    for p in question.parameters() {
        if p.doc.is_empty() {
            complain(p.line, &format!("parameter {} is not documented", p.name));
        }
        if p.sql_type.is_empty() {
            complain(p.line, &format!("parameter {} has no type", p.name));
        }
        if p.default.is_none() && defaulted {
            complain(p.line, &format!("required parameter {} after a defaulted one", p.name));
        }
        defaulted |= p.default.is_some();
    }
}

/// Columns documented, parameters never shadowed, order by position or qualified name.
fn body(statement: &Statement, complain: &mut dyn FnMut(usize, &str)) {
    for column in &statement.columns {
        if column.name.is_empty() {
            complain(column.line, "a column of the answer has no name");
        } else if column.doc.is_empty() {
            complain(column.line, &format!("column {} is not documented", column.name));
        }
    }
    let mut all: Vec<Token<'_>> = tokens(&statement.sql);
    all.retain(|t| t.kind != Kind::Comment);
    let at = |line: usize| statement.line + line - 1;
    for pair in all.windows(2) {
        let glued = pair[0].end() == pair[1].start;
        if glued && pair[0].is_symbol("-") && pair[1].is_symbol(">") {
            complain(at(pair[1].line), "write 'lambda x: ...': DuckDB 2 knows no arrow");
        }
        let divides = ["/", "//", "%"].iter().any(|symbol| pair[0].is_symbol(symbol));
        if divides && !pair[1].is("nullif") && pair[1].kind != Kind::Number {
            complain(at(pair[1].line), "divide by nullif(x, 0) or by a number");
        }
    }
    let order = all.windows(2).rposition(|w| w[0].depth == 0 && w[0].is("ORDER") && w[1].is("BY"));
    match order {
        None => complain(statement.line, "no final ORDER BY"),
        Some(order) => order_by(&all[order + 2..], &mut |line, text| complain(at(line), text)),
    }
}

/// Each item is a position or a qualified name.
fn order_by(items: &[Token<'_>], complain: &mut dyn FnMut(usize, &str)) {
    for item in items.split(|t| t.is_symbol(",") && t.depth == 0) {
        let Some(first) = item.first() else { continue };
        let qualified = item.iter().any(|t| t.is_symbol(".") || t.is_symbol("("));
        if first.kind != Kind::Number && !qualified {
            complain(first.line, "order by position or qualified name");
        }
    }
}
