//! The command line, as declared to clap. What an argument means is said here and nowhere else.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use etwas_ingest::input::{Exclude, FilesFrom, Shard};
use etwas_queries::Format;

/// Turns Windows event traces (.etl) into Parquet and DuckDB, and answers scheduling questions with SQL.
#[derive(Parser)]
#[command(name = "etwas", version, max_term_width = 100)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Read traces into a lake
    Ingest(Box<Ingest>),
    /// Show what is in a trace, without a lake
    Info(Info),
    /// List the questions
    Reports,
    /// Put a question to the lake
    #[command(disable_help_flag = true)]
    Report(Report),
    /// Compare two sets of traces by the answers to a question
    Compare(Compare),
    /// Run SQL on the lake, read-only
    Sql(Sql),
    /// Write a report to look at: one HTML file that opens anywhere, offline
    Html(Html),
    /// Write a window of a trace for another viewer: perfetto, speedscope, folded or flamegraph
    Export(Box<Export>),
    /// Open a DuckDB shell on the lake
    Shell(Shell),
    /// Take traces out of the lake
    Remove(Remove),
    /// Check a lake again: files, rows, keys, and the traces where they are still there
    Verify(Verify),
    /// Write a copy of a lake table by table, in few large files, for object stores and warehouses
    Compact(Compact),
    /// Name the functions in the stacks of a lake
    Symbols(Symbols),
    /// Print completions for a shell
    #[command(hide = true)]
    Completions(Completions),
    /// Print the manual page
    #[command(hide = true)]
    Man(ManualPage),
}

#[derive(clap::Args)]
pub struct Lake {
    /// Folder of the lake
    #[arg(long, value_name = "DIR", default_value = "lake")]
    pub lake: PathBuf,
}

#[derive(clap::Args)]
pub struct Ingest {
    /// Files, folders (searched through) or patterns; .etl, also inside .zip, .7z, .gz, .zst, .cab
    #[arg(value_name = "INPUT", required_unless_present = "files_from")]
    pub inputs: Vec<OsString>,
    #[command(flatten)]
    pub lake: Lake,
    /// Traces read at the same time [default: one per CPU]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Leave out files and folders that match
    #[arg(long, value_name = "GLOB")]
    pub exclude: Vec<Exclude>,
    /// Tag every trace: kept in trace.tags
    #[arg(long = "tag", value_name = "K=V", value_parser = key_value)]
    pub tags: Vec<(String, String)>,
    /// Turn file names into tags: the named groups of this expression, as in '(?<os>Win1[01])_'
    #[arg(long, value_name = "REGEX")]
    pub name_pattern: Option<regex::Regex>,
    /// Fill only these tables
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub tables: Option<Vec<String>>,
    /// Keep only what happened in these seconds since the trace start, as in 1.5..20
    #[arg(long, value_name = "S..S", value_parser = range)]
    pub time_range: Option<(f64, f64)>,
    /// Look for symbols in a folder, a store or srv*STORE*URL, and name the functions in stacks
    #[arg(long, value_name = "DIR|srv*...")]
    pub symbols: Vec<String>,
    /// Never ask a server for symbols
    #[arg(long)]
    pub offline: bool,
    /// Take only a part of the traces, as in 1/4, so that several machines share them
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Read further inputs from a file, one a line; - is standard input
    #[arg(long, value_name = "FILE|-")]
    pub files_from: Option<FilesFrom>,
    /// Never join files of one session to one trace
    #[arg(long)]
    pub separate: bool,
    /// Who reads: etwas alone, or Windows as well, to compare (only Windows builds that have it)
    #[arg(long, value_enum, default_value = "native")]
    pub reader: Reader,
    /// Read again what is already there
    #[arg(long)]
    pub force: bool,
    /// Only say what would be read
    #[arg(long)]
    pub dry_run: bool,
    /// No table and no findings on standard output
    #[arg(long)]
    pub quiet: bool,
}

/// Whose reading of a trace counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Reader {
    /// That of etwas
    Native,
    /// That of etwas, after Windows has read every file as well and both agree
    Os,
}

#[derive(clap::Args)]
pub struct Info {
    /// Traces
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<OsString>,
    /// Every event class with its count
    #[arg(long)]
    pub events: bool,
    /// table or json
    #[arg(long, default_value = "table", value_parser = ["table", "json"])]
    pub format: String,
}

#[derive(clap::Args)]
pub struct Output {
    /// table, csv, json, jsonl, markdown or parquet
    #[arg(long, default_value = "table")]
    pub format: Format,
    /// Write into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// At most this many rows
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// No bars beside shares in a table on a terminal
    #[arg(long)]
    pub plain: bool,
}

#[derive(clap::Args)]
pub struct Report {
    /// The question; `etwas reports` lists them
    pub name: Option<String>,
    #[command(flatten)]
    pub lake: Lake,
    /// Only traces whose name matches
    #[arg(long, value_name = "GLOB")]
    pub trace: Option<String>,
    /// A parameter of the question
    #[arg(short, value_name = "NAME=VALUE", value_parser = key_value)]
    pub parameters: Vec<(String, String)>,
    #[command(flatten)]
    pub output: Output,
    /// Exit with 1 when a row meets this SQL condition
    #[arg(long, value_name = "EXPR")]
    pub fail_if: Option<String>,
    /// Explain the question: method, parameters, columns, source
    #[arg(short, long)]
    pub help: bool,
}

#[derive(clap::Args)]
pub struct Compare {
    /// The question whose answers are compared; it needs a key (see `etwas report NAME --help`)
    #[arg(default_value = etwas_queries::compare::DEFAULT_QUESTION)]
    pub question: String,
    #[command(flatten)]
    pub lake: Lake,
    /// Traces to compare with: those whose name matches
    #[arg(long, value_name = "GLOB")]
    pub baseline: String,
    /// Traces to judge: those whose name matches
    #[arg(long, value_name = "GLOB")]
    pub candidate: String,
    /// A parameter of the question
    #[arg(short, value_name = "NAME=VALUE", value_parser = key_value)]
    pub parameters: Vec<(String, String)>,
    #[command(flatten)]
    pub output: Output,
    /// Exit with 1 when a row meets this SQL condition, as in "delta_percent > 10 AND delta_low > 0"
    #[arg(long, value_name = "EXPR")]
    pub fail_if: Option<String>,
}

#[derive(clap::Args)]
pub struct Sql {
    /// SQL; the answer is that of the last statement
    #[arg(required_unless_present = "file")]
    pub query: Option<String>,
    /// Read the SQL from a file; - is standard input
    #[arg(short, long, value_name = "FILE", conflicts_with = "query")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub lake: Lake,
    #[command(flatten)]
    pub output: Output,
}

#[derive(clap::Args)]
pub struct Html {
    #[command(flatten)]
    pub lake: Lake,
    /// The file
    #[arg(long, value_name = "FILE")]
    pub output: PathBuf,
    /// Only traces whose name matches
    #[arg(long, value_name = "GLOB")]
    pub trace: Option<String>,
    /// Also show the answers to these questions, as tables
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub questions: Vec<String>,
}

#[derive(clap::Args)]
pub struct Export {
    /// perfetto (timeline), speedscope, folded or flamegraph (stacks)
    #[arg(value_name = "KIND")]
    pub kind: etwas_pictures::export::Kind,
    #[command(flatten)]
    pub lake: Lake,
    /// The trace; needed where the lake has several
    #[arg(long, value_name = "GLOB")]
    pub trace: Option<String>,
    /// Only stacks of processes with such an image name
    #[arg(long, value_name = "GLOB")]
    pub process: Option<String>,
    /// Start, in seconds since the trace start
    #[arg(long, value_name = "S")]
    pub from: Option<f64>,
    /// End, in seconds since the trace start
    #[arg(long, value_name = "S")]
    pub to: Option<f64>,
    /// Take the window of the worst finding of this question, as `etwas report findings` names it
    #[arg(long, value_name = "QUESTION")]
    pub finding: Option<String>,
    /// What folded stacks and flame graphs show: cpu (samples) or waits
    #[arg(long, value_name = "KIND", default_value = "cpu")]
    pub stacks: etwas_pictures::export::Stacks,
    /// Write into this file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Shell {
    #[command(flatten)]
    pub lake: Lake,
}

#[derive(clap::Args)]
pub struct Remove {
    /// Traces whose name matches
    pub glob: String,
    #[command(flatten)]
    pub lake: Lake,
}

#[derive(clap::Args)]
pub struct Verify {
    #[command(flatten)]
    pub lake: Lake,
}

#[derive(clap::Args)]
pub struct Compact {
    #[command(flatten)]
    pub lake: Lake,
    /// Where to; replaced if it is such a copy [default: the lake's folder with -compact behind it]
    #[arg(long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

#[derive(clap::Args)]
pub struct Symbols {
    #[command(flatten)]
    pub lake: Lake,
    /// A folder, a store, or srv*STORE*URL [default: _NT_SYMBOL_PATH]
    #[arg(long, value_name = "DIR|srv*...")]
    pub symbols: Vec<String>,
    /// Never ask a server
    #[arg(long)]
    pub offline: bool,
    /// Look again for what has a name already
    #[arg(long)]
    pub force: bool,
    /// Only list the modules whose names are missed most, with the file to look for
    #[arg(long)]
    pub report: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(clap::Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

#[derive(clap::Args)]
pub struct ManualPage {
    /// Write the pages of the command and of every subcommand into this folder instead
    #[arg(value_name = "DIR")]
    pub folder: Option<PathBuf>,
}

/// Splits `name=value`.
fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.into())),
        _ => Err("expected NAME=VALUE".into()),
    }
}

/// Splits `from..to`, both in seconds.
fn range(text: &str) -> Result<(f64, f64), String> {
    let wrong = || "expected two times in seconds, as in 1.5..20".to_owned();
    let (from, to) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(|x| x.is_finite());
    match (number(from), number(to)) {
        (Some(from), Some(to)) if from < to => Ok((from, to)),
        _ => Err(wrong()),
    }
}
