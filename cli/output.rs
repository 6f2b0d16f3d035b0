//! Where output goes: data to standard output or a file, everything else to standard error.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;

use etwas_queries::render::{Renderer, visible};
use etwas_queries::run::{Answer, Sink, Target};
use etwas_queries::{Error, Format, Lake, OpenOptions};

use crate::args::Output;

/// Why a command could not be carried out, in words.
#[derive(Debug)]
pub struct Failure(pub String);

/// The text of a failure that is none: the reader of our output went away.
const CLOSED_PIPE: &str = "closed pipe";

impl Failure {
    /// Whether the reader of our output went away.
    pub fn is_closed_pipe(&self) -> bool {
        self.0 == CLOSED_PIPE
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(if error.is_closed_pipe() { CLOSED_PIPE.into() } else { error.to_string() })
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Error::Output(error).into()
    }
}

/// Says on standard error what went wrong; a hint stands on its own line.
pub fn error(text: &str) {
    say("error: ", text);
}

/// Says something on standard error.
pub fn note(text: &str) {
    say("", text);
}

fn say(prefix: &str, text: &str) {
    // Names of traces and processes may hold anything; a terminal must not obey them.
    let lines: Vec<String> = text.lines().map(visible).collect();
    // There is nowhere to say that standard error cannot be written.
    let _ = writeln!(io::stderr().lock(), "{prefix}{}", lines.join("\n"));
}

/// Columns of the terminal that standard output is; nothing where it is none.
pub fn terminal_width() -> Option<u16> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size().map(|(width, _)| width.0)
}

/// Opens a lake for a question that may write one file.
pub fn open(root: &Path, output: Option<&Path>) -> Result<Lake, Failure> {
    let options = OpenOptions { output: output.map(Into::into), ..OpenOptions::default() };
    Ok(Lake::open(root, &options)?)
}

/// Where data goes: a new file, or standard output where none is named.
pub fn writer(path: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    let Some(path) = path else { return Ok(Box::new(BufWriter::new(io::stdout().lock()))) };
    let file = File::create(path).map_err(|source| Error::File { path: path.into(), source })?;
    Ok(Box::new(BufWriter::new(file)))
}

/// Runs `ask` with the target that `to` names, and tells rows left out of a table.
pub fn deliver<T>(
    to: &Output,
    ask: impl FnOnce(Target<'_>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let path = to.output.as_deref();
    if to.format == Format::Parquet {
        let path = path.ok_or_else(|| Failure("format parquet needs --output FILE".into()))?;
        return Ok(ask(Target::Parquet(path))?);
    }
    let mut out = writer(path)?;
    let width = if path.is_none() { terminal_width() } else { None };
    let bars = width.is_some() && !to.plain;
    let mut renderer = Renderer::new(&mut out, to.format, width).with_bars(bars);
    let result = ask(Target::Sink(&mut renderer))?;
    let left_out = renderer.finish()?;
    if left_out > 0 {
        note(&format!("{left_out} rows left out; --limit N or --format csv show others"));
    }
    Ok(result)
}

/// Writes an answer as a table for people on standard output.
pub fn table(answer: &Answer) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut renderer = Renderer::new(&mut out, Format::Table, terminal_width());
    renderer.columns(&answer.columns)?;
    for row in &answer.rows {
        renderer.row(row)?;
    }
    renderer.finish()?;
    Ok(())
}

/// Writes text on standard output.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
