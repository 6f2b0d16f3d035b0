//! `etwas shell`: the program `duckdb` on the lake where there is one, else a small prompt of our own.

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::Command;

use etwas_queries::run::{Target, split};
use etwas_queries::{Format, Lake, lake_db, lexer};

use crate::args::{Output, Shell};
use crate::output::{self, Failure, error, note};
use crate::{OK, USAGE};

/// Most text of one statement; more is a mistake, such as a binary file on standard input.
const STATEMENT_BYTES_MAX: usize = 1 << 20;

/// Opens a shell.
pub fn run(args: &Shell) -> Result<u8, Failure> {
    // Opening it once brings the database up to date, and tells what is wrong in our words.
    let lake = output::open(&args.lake.lake, None)?;
    let database = lake.root().join(lake_db::DATABASE);
    if database.is_file() {
        match Command::new("duckdb").arg("-readonly").arg(&database).status() {
            Ok(status) => {
                return Ok(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(USAGE));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(Failure(format!("cannot start duckdb: {e}"))),
        }
    }
    prompt(&lake)
}

/// Reads statements from standard input and shows their answers, until it ends.
fn prompt(lake: &Lake) -> Result<u8, Failure> {
    let terminal = io::stdin().is_terminal();
    if terminal {
        note("no program duckdb found, so this is a small prompt: end a statement with ;");
        note("FROM questions; lists the questions, .quit or the end of input leaves");
    }
    let table = Output { format: Format::Table, output: None, limit: None, plain: false };
    let mut pending = String::new();
    let mut code = OK;
    let mut input = io::stdin().lock();
    loop {
        if terminal {
            let mut err = io::stderr().lock();
            let _ = write!(err, "{}", if pending.is_empty() { "etwas> " } else { "  ...> " });
            let _ = err.flush();
        }
        let mut line = String::new();
        let read = input.read_line(&mut line);
        let ended = match read {
            Ok(bytes) => bytes == 0,
            Err(e) => return Err(Failure(format!("cannot read standard input: {e}"))),
        };
        if pending.trim().is_empty() && matches!(line.trim(), ".quit" | ".exit") {
            return Ok(code);
        }
        pending.push_str(&line);
        if pending.len() > STATEMENT_BYTES_MAX {
            return Err(Failure(format!("a statement of more than {STATEMENT_BYTES_MAX} bytes")));
        }
        if !ended && !complete(&pending) {
            continue;
        }
        for statement in split(&pending) {
            match output::deliver(&table, |target: Target<'_>| lake.sql(statement, None, target)) {
                Ok(_) => {}
                Err(failure) if failure.is_closed_pipe() => return Ok(OK),
                // On a terminal a mistake is part of the talk; in a script it is a failure.
                Err(Failure(text)) => {
                    error(&text);
                    code = if terminal { OK } else { USAGE };
                }
            }
        }
        pending.clear();
        if ended {
            return Ok(code);
        }
    }
}

/// Whether the text ends a statement: a semicolon is the last thing that is no comment.
fn complete(text: &str) -> bool {
    let all = lexer::tokens(text);
    let last = all.iter().rev().find(|t| t.kind != lexer::Kind::Comment);
    last.is_none_or(|t| t.is_symbol(";"))
}
