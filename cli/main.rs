//! The command `etwas`: arguments become library calls, results become output and an exit code.
//! Nothing is decided here that a library could decide.
//!
//! Exit codes: 0 all well, also when the reader of our output went away; 1 trouble with input, or
//! `--fail-if` fired; 2 wrong use, unknown question, SQL error, no lake.

mod args;
mod compact;
mod compare;
mod explain;
mod export;
mod html;
mod info;
mod ingest;
mod manual;
mod output;
mod remove;
mod report;
mod shell;
mod symbols;
mod verify;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Args, Command};
use crate::output::Failure;

/// All well.
const OK: u8 = 0;

/// Trouble with input, or a condition that was asked about.
const TROUBLE: u8 = 1;

/// Wrong use.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let result = match Args::parse().command {
        Command::Ingest(args) => ingest::run(&args),
        Command::Info(args) => info::run(&args),
        Command::Reports => explain::reports(),
        Command::Report(args) => report::run(&args),
        Command::Compare(args) => compare::run(&args),
        Command::Sql(args) => report::sql(&args),
        Command::Html(args) => html::run(&args),
        Command::Export(args) => export::run(&args),
        Command::Shell(args) => shell::run(&args),
        Command::Remove(args) => remove::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Symbols(args) => symbols::run(&args),
        Command::Completions(args) => manual::completions(&args),
        Command::Man(args) => manual::man(&args),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(failure) if failure.is_closed_pipe() => ExitCode::from(OK),
        Err(Failure(text)) => {
            output::error(&text);
            ExitCode::from(USAGE)
        }
    }
}
