//! Reads a question or a building block from its SQL file: prose and keys from the comment block,
//! parameters from the macro header, columns from the last SELECT. Called by [`crate::catalog`].
//!
//! A question is one comment block and one table macro:
//!
//! ```sql
//! -- # Title
//! --
//! -- The question, one paragraph that ends in a question mark?
//! --
//! -- How it is answered, in one or more paragraphs.
//! --
//! -- needs:   cswitch, ready
//! -- source:  https://... "Title", Author, 2020
//! -- status:  stable
//! CREATE OR REPLACE MACRO name(
//!     -- What the parameter does.
//!     min_ready_ms DOUBLE := 10.0
//! ) AS TABLE
//! SELECT
//!     s.trace_id,   -- What the column holds.
//!     ...
//! ORDER BY 1, 2;
//! ```
//!
//! The comment of a column stands behind it on its line; comment lines below continue it. A building block
//! (`lib/*.sql`) is one or more `CREATE OR REPLACE MACRO` or `VIEW` statements, each under the comment
//! block that documents it; an empty line separates a block from what belongs to the file.

use crate::lexer::{Kind, Token, tokens};

/// The keys a comment block may have, each with whether it may occur more than once.
pub const KEYS: &[(&str, bool)] = &[
    // Tables (or views) whose emptiness makes the question unanswerable, separated by commas.
    ("needs", false),
    // Columns, as table.column, that must not be all NULL.
    ("needs_columns", false),
    // Where the question or its method comes from.
    ("source", true),
    // What the answer does not say.
    ("caveats", true),
    // 'stable' or 'draft'.
    ("status", false),
    // 'no' where the SQL is DuckDB's own.
    ("portable", false),
    // Columns that identify a row from trace to trace, for comparisons.
    ("key", false),
    // The column that a comparison measures; before it `max` or `mean` where values of one trace do
    // not add up.
    ("measure", false),
    // Column whose values become columns of a table for people, and the column that fills them.
    ("pivot", false),
    // An SQL condition: which rows are findings.
    ("finding", false),
];

/// A mistake in an SQL file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {message}")]
pub struct FileError {
    /// The file, relative to the crate.
    pub file: String,
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

/// A parameter of a macro.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its type, as written; empty where the header gives none.
    pub sql_type: String,
    /// Its default, as written; NULL where a call must give it.
    pub default: Option<String>,
    /// What it does.
    pub doc: String,
    /// Where it stands.
    pub line: usize,
}

/// A column of a question's answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its name; empty where the select list does not show one.
    pub name: String,
    /// What it holds.
    pub doc: String,
    /// Where it stands.
    pub line: usize,
}

/// What a statement creates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creates {
    /// A macro that is a table.
    TableMacro,
    /// A macro that is a value.
    ScalarMacro,
    /// A view.
    View,
}

/// One `CREATE OR REPLACE` statement with its documentation.
#[derive(Clone, Debug)]
pub struct Statement {
    /// What it creates.
    pub creates: Creates,
    /// Name of the macro or view.
    pub name: String,
    /// The comment block above, without dashes.
    pub doc: String,
    /// Line of the comment block.
    pub doc_line: usize,
    /// Parameters in order.
    pub parameters: Vec<Parameter>,
    /// Columns of the last SELECT (table macros).
    pub columns: Vec<Output>,
    /// The statement, without the comment block and the semicolon.
    pub sql: String,
    /// Line of the statement.
    pub line: usize,
}

/// A question, as its file gives it.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name: that of the macro, which is that of the file.
    pub name: String,
    /// The folder it is in.
    pub topic: String,
    /// The file, relative to the crate.
    pub file: String,
    /// The heading.
    pub title: String,
    /// The first paragraph.
    pub question: String,
    /// The paragraphs after it.
    pub method: String,
    /// The keys in order of appearance, with line and value.
    pub keys: Vec<(String, usize, String)>,
    /// The macro.
    pub statement: Statement,
}

impl Question {
    /// All values of a key.
    pub fn values(&self, key: &str) -> impl Iterator<Item = &str> {
        self.keys.iter().filter(move |(k, ..)| k == key).map(|(_, _, v)| v.as_str())
    }

    /// The value of a key, split at commas.
    fn list(&self, key: &str) -> Vec<&str> {
        let parts = self.values(key).flat_map(|v| v.split(','));
        parts.map(str::trim).filter(|v| !v.is_empty()).collect()
    }

    /// Tables without which there is no answer.
    pub fn needs(&self) -> Vec<&str> {
        self.list("needs")
    }

    /// Columns, as table.column, without whose values there is no answer.
    pub fn needs_columns(&self) -> Vec<&str> {
        self.list("needs_columns")
    }

    /// Columns that identify a row from trace to trace.
    pub fn key(&self) -> Vec<&str> {
        self.list("key")
    }

    /// 'stable' or 'draft'.
    pub fn status(&self) -> &str {
        self.values("status").next().unwrap_or("")
    }

    /// Its parameters.
    pub fn parameters(&self) -> &[Parameter] {
        &self.statement.parameters
    }

    /// The call, with types and defaults: `name(a BIGINT, b DOUBLE := 1)`.
    pub fn signature(&self) -> String {
        let one = |p: &Parameter| {
            let mut text = p.name.clone();
            if !p.sql_type.is_empty() {
                text += &format!(" {}", p.sql_type);
            }
            if let Some(default) = &p.default {
                text += &format!(" := {default}");
            }
            text
        };
        let list: Vec<String> = self.parameters().iter().map(one).collect();
        format!("{}({})", self.name, list.join(", "))
    }
}

/// Reads a question's file.
pub fn question(file: &str, text: &str) -> Result<Question, FileError> {
    let error =
        |line, message: &str| FileError { file: file.into(), line, message: message.into() };
    let mut all = statements(file, text)?;
    let statement = match all.len() {
        1 => all.remove(0),
        0 => return Err(error(1, "no macro in the file")),
        _ => return Err(error(all[1].line, "a question is one macro and nothing else")),
    };
    if statement.creates != Creates::TableMacro {
        return Err(error(statement.line, "a question is a table macro"));
    }
    let prose = Prose::parse(file, &statement.doc, statement.doc_line)?;
    let (topic, _) = file.split_once('/').unwrap_or(("", file));
    Ok(Question {
        name: statement.name.clone(),
        topic: topic.into(),
        file: file.into(),
        title: prose.title,
        question: prose.question,
        method: prose.method,
        keys: prose.keys,
        statement,
    })
}

/// The parts of a question's comment block.
struct Prose {
    title: String,
    question: String,
    method: String,
    keys: Vec<(String, usize, String)>,
}

impl Prose {
    fn parse(file: &str, doc: &str, first_line: usize) -> Result<Prose, FileError> {
        let error = |line, message: String| FileError { file: file.into(), line, message };
        let mut title = None;
        let mut paragraphs: Vec<String> = Vec::new();
        let mut open = false; // whether the next prose line continues a paragraph
        let mut keys: Vec<(String, usize, String)> = Vec::new();
        for (number, line) in doc.lines().enumerate() {
            let at = first_line + number;
            let text = line.trim();
            // Inside a paragraph a colon is only a colon, unless the word before it is a key.
            let key = key_line(text).filter(|(key, _)| !open || KEYS.iter().any(|(k, _)| k == key));
            if let Some((key, value)) = key {
                let Some((_, many)) = KEYS.iter().find(|(k, _)| *k == key) else {
                    let known: Vec<_> = KEYS.iter().map(|(k, _)| *k).collect();
                    let known = known.join(", ");
                    return Err(error(at, format!("unknown key '{key}'; known are {known}")));
                };
                if !many && keys.iter().any(|(k, ..)| k == key) {
                    return Err(error(at, format!("key '{key}' twice")));
                }
                keys.push((key.into(), at, value.into()));
                open = false;
            } else if text.is_empty() {
                open = false;
            } else if let Some((_, _, value)) = keys.last_mut() {
                if !line.starts_with("  ") {
                    return Err(error(
                        at,
                        "prose after the keys (indent what continues one)".into(),
                    ));
                }
                value.push(' ');
                value.push_str(text);
            } else if let Some(heading) = text.strip_prefix("# ") {
                if title.replace(heading.to_owned()).is_some() {
                    return Err(error(at, "a second title".into()));
                }
            } else if open {
                let last = paragraphs.last_mut().expect("an open paragraph exists");
                last.push(' ');
                last.push_str(text);
            } else {
                paragraphs.push(text.into());
                open = true;
            }
        }
        let title = title.ok_or_else(|| error(first_line, "no title ('-- # Title')".into()))?;
        if paragraphs.is_empty() {
            return Err(error(first_line, "no question (the first paragraph)".into()));
        }
        let question = paragraphs.remove(0);
        Ok(Prose { title, question, method: paragraphs.join("\n\n"), keys })
    }
}

/// Splits `key: value`; a key is lower case, and a blank follows the colon.
fn key_line(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_key = !key.is_empty() && key.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    (is_key && (value.is_empty() || value.starts_with(' '))).then(|| (key, value.trim()))
}

/// Every statement of a file with its comment block.
pub fn statements(file: &str, text: &str) -> Result<Vec<Statement>, FileError> {
    let all = tokens(text);
    let mut out = Vec::new();
    for part in all.split(|t| t.is_symbol(";") && t.depth == 0) {
        let body = part.iter().position(|t| t.kind != Kind::Comment);
        let Some(body) = body else { continue };
        out.push(statement(file, text, &part[..body], &part[body..])?);
    }
    Ok(out)
}

/// One statement: the comments before it, and its tokens.
fn statement(
    file: &str,
    text: &str,
    comments: &[Token<'_>],
    body: &[Token<'_>],
) -> Result<Statement, FileError> {
    let first = body[0];
    let error =
        |line, message: &str| FileError { file: file.into(), line, message: message.into() };
    let words: Vec<Token<'_>> = body.iter().copied().filter(|t| t.kind != Kind::Comment).collect();
    let begins = |at: usize, word: &str| words.get(at).is_some_and(|t| t.is(word));
    if !(begins(0, "CREATE") && begins(1, "OR") && begins(2, "REPLACE")) {
        return Err(error(first.line, "a statement begins with CREATE OR REPLACE"));
    }
    let (is_macro, is_view) = (begins(3, "MACRO") || begins(3, "FUNCTION"), begins(3, "VIEW"));
    let name = words.get(4).filter(|_| is_macro || is_view);
    let Some(name) = name else {
        return Err(error(first.line, "only macros and views are created here"));
    };
    let (doc, doc_line) = block_above(comments, first.line);
    let mut result = Statement {
        creates: Creates::View,
        name: name.text.trim_matches('"').into(),
        doc,
        doc_line,
        parameters: Vec::new(),
        columns: Vec::new(),
        sql: text[first.start..body[body.len() - 1].end()].into(),
        line: first.line,
    };
    if is_view {
        return Ok(result);
    }
    let open = body.iter().position(|t| t.is_symbol("(") && t.start > name.start);
    let close = body.iter().position(|t| t.is_symbol(")") && t.depth == 0);
    let (Some(open), Some(close)) = (open, close) else {
        return Err(error(first.line, "no parameter list"));
    };
    result.parameters = parameters(file, &body[open + 1..close])?;
    let after: Vec<Token<'_>> =
        body[close + 1..].iter().copied().filter(|t| t.kind != Kind::Comment).take(2).collect();
    let is_table = after.len() == 2 && after[0].is("AS") && after[1].is("TABLE");
    result.creates = if is_table { Creates::TableMacro } else { Creates::ScalarMacro };
    if is_table {
        result.columns = columns(&body[close + 1..]);
    }
    Ok(result)
}

/// The comment block that ends on the line above `line`, without dashes, and its first line.
fn block_above(comments: &[Token<'_>], line: usize) -> (String, usize) {
    let mut wanted = line;
    let mut lines = Vec::new();
    for comment in comments.iter().rev() {
        if comment.end_line + 1 != wanted {
            break;
        }
        wanted = comment.line;
        lines.push(comment_text(comment.text));
    }
    lines.reverse();
    (lines.join("\n"), wanted)
}

/// A comment without its marks; what is indented by more than one blank stays indented.
fn comment_text(comment: &str) -> &str {
    let text = comment.strip_prefix("--").unwrap_or_else(|| {
        comment.strip_prefix("/*").and_then(|t| t.strip_suffix("*/")).unwrap_or(comment)
    });
    text.strip_prefix(' ').unwrap_or(text).trim_end()
}

/// The parameters between the brackets of a macro header.
fn parameters(file: &str, tokens: &[Token<'_>]) -> Result<Vec<Parameter>, FileError> {
    let mut out: Vec<Parameter> = Vec::new();
    let mut current: Option<Parameter> = None;
    let mut doc: Vec<&str> = Vec::new();
    let mut in_default = false;
    let mut last_line = 0;
    for token in tokens {
        if token.kind == Kind::Comment {
            // Behind a parameter on its line, or above the next one.
            let behind = current.as_mut().or(out.last_mut()).filter(|_| token.line == last_line);
            match behind {
                Some(parameter) => join(&mut parameter.doc, comment_text(token.text)),
                None => doc.push(comment_text(token.text)),
            }
            continue;
        }
        last_line = token.end_line;
        if token.is_symbol(",") && token.depth == 1 {
            out.extend(current.take());
            in_default = false;
            continue;
        }
        let Some(parameter) = current.as_mut() else {
            if token.kind != Kind::Word && token.kind != Kind::Quoted {
                let message = format!("a parameter begins with its name, not with {}", token.text);
                return Err(FileError { file: file.into(), line: token.line, message });
            }
            let name = token.text.trim_matches('"').to_owned();
            let text = std::mem::take(&mut doc).join(" ");
            current = Some(Parameter { name, line: token.line, doc: text, ..Parameter::default() });
            continue;
        };
        if token.is_symbol(":=") {
            in_default = true;
            parameter.default = Some(String::new());
        } else if let (true, Some(default)) = (in_default, parameter.default.as_mut()) {
            default.push_str(token.text);
        } else {
            let glued = token.kind == Kind::Symbol || parameter.sql_type.ends_with(['(', '[']);
            if !glued && !parameter.sql_type.is_empty() {
                parameter.sql_type.push(' ');
            }
            parameter.sql_type.push_str(token.text);
        }
    }
    out.extend(current);
    Ok(out)
}

/// Appends a sentence to a documentation text.
fn join(doc: &mut String, more: &str) {
    let more = more.trim();
    if !doc.is_empty() && !more.is_empty() {
        doc.push(' ');
    }
    doc.push_str(more);
}

/// The select list of the last SELECT outside brackets.
fn columns(tokens: &[Token<'_>]) -> Vec<Output> {
    let Some(select) = tokens.iter().rposition(|t| t.is("SELECT") && t.depth == 0) else {
        return Vec::new();
    };
    let list = &tokens[select + 1..];
    let end = list.iter().position(|t| t.is("FROM") && t.depth == 0).unwrap_or(list.len());
    let mut out: Vec<Output> = Vec::new();
    let mut item: Vec<Token<'_>> = Vec::new();
    for token in &list[..end] {
        let starts = item.is_empty();
        if token.kind == Kind::Comment {
            // Behind the comma it belongs to the column before it, else to the open one.
            if starts {
                if let Some(last) = out.last_mut() {
                    join(&mut last.doc, comment_text(token.text));
                }
            } else {
                item.push(*token);
            }
        } else if token.is_symbol(",") && token.depth == 0 {
            out.extend(output(&item));
            item.clear();
        } else if !(starts && out.is_empty() && (token.is("DISTINCT") || token.is("ALL"))) {
            item.push(*token);
        }
    }
    out.extend(output(&item));
    out
}

/// One item of a select list.
fn output(item: &[Token<'_>]) -> Option<Output> {
    let mut doc = String::new();
    for comment in item.iter().filter(|t| t.kind == Kind::Comment) {
        join(&mut doc, comment_text(comment.text));
    }
    let code: Vec<&Token<'_>> = item.iter().filter(|t| t.kind != Kind::Comment).collect();
    let last = code.last()?;
    let named = matches!(last.kind, Kind::Word | Kind::Quoted);
    // `x AS name`, `t.name`, or `name` alone; anything else has no name of its own.
    let before = code.len().checked_sub(2).map(|at| code[at]);
    let plain = before.is_none_or(|t| t.is("AS") || t.is_symbol("."));
    let name = if named && plain { last.text.trim_matches('"').to_owned() } else { String::new() };
    Some(Output { name, doc, line: last.line })
}
