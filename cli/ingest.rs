//! `etwas ingest`: traces into a lake, with progress, a summary and a first answer.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use etwas_ingest::input::InputArgs;
use etwas_ingest::lake::LakeError;
use etwas_ingest::os_reader::{self, OsReaderError};
use etwas_ingest::{IngestError, IngestOptions, IngestSummary, RecordingResult, ResultStatus};
use etwas_queries::run::{Answer, Column};
use etwas_queries::value::Value;
use etwas_queries::{findings, lake_db};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::{Ingest, Reader};
use crate::output::{self, Failure, note};
use crate::{OK, TROUBLE, symbols};

/// Most rows of the table of what was ingested; `etwas report traces` lists all.
const ROWS_MAX: usize = 50;

/// Ingests.
pub fn run(args: &Ingest) -> Result<u8, Failure> {
    if args.reader == Reader::Os && !os_reader::AVAILABLE {
        return Err(Failure(format!("--reader os: {}", OsReaderError::Unavailable)));
    }
    let options = IngestOptions {
        input: InputArgs {
            inputs: args.inputs.clone(),
            exclude: args.exclude.clone(),
            files_from: args.files_from.clone(),
        },
        lake: args.lake.lake.clone(),
        jobs: args.jobs,
        tags: args.tags.clone(),
        name_pattern: args.name_pattern.clone(),
        tables: args.tables.clone(),
        range_s: args.time_range,
        shard: args.shard,
        separate: args.separate,
        force: args.force,
        dry_run: args.dry_run,
    };
    let progress = Progress::new();
    let summary = etwas_ingest::run(&options, &progress).map_err(failure)?;
    progress.bar.finish_and_clear();
    if args.dry_run {
        planned(&summary)?;
        return Ok(code(&summary));
    }
    lake_db::refresh(&args.lake.lake)?;
    if !args.symbols.is_empty() {
        symbols::add(&args.lake.lake, &args.symbols, args.offline, false)?;
    }
    if !args.quiet {
        table(&summary)?;
        first_answer(args, &summary)?;
    }
    troubles(&summary);
    if args.reader == Reader::Os && !second_opinion(&summary) {
        return Ok(TROUBLE);
    }
    Ok(code(&summary))
}

/// Most differences shown of one file.
const DIFFERENCES_MAX: usize = 20;

/// Has Windows read every file as well, and says what differs; whether nothing does.
fn second_opinion(summary: &IngestSummary) -> bool {
    let mut agree = true;
    for result in &summary.results {
        let path = Path::new(&result.path);
        if !path.is_file() || path.extension().is_none_or(|e| !e.eq_ignore_ascii_case("etl")) {
            note(&format!("not compared with Windows: {} is no file of its own", result.path));
            continue;
        }
        let differences = match os_reader::compare(path) {
            Ok(report) => {
                let (events, payloads) = (report.os_events, report.payloads);
                note(&format!(
                    "{}: Windows reads {events} events, {payloads} payloads compared, {} differences",
                    result.path,
                    report.differences.len()
                ));
                report.differences
            }
            Err(error) => vec![format!("{}: {error}", result.path)],
        };
        agree &= differences.is_empty();
        for difference in differences.iter().take(DIFFERENCES_MAX) {
            note(&format!("warning: {difference}"));
        }
    }
    agree
}

fn code(summary: &IngestSummary) -> u8 {
    if summary.is_trouble() { TROUBLE } else { OK }
}

fn failure(error: IngestError) -> Failure {
    match error {
        IngestError::Lake(error) => lake_failure(error),
        other => Failure(other.to_string()),
    }
}

/// An error of the lake with its hint.
pub fn lake_failure(error: LakeError) -> Failure {
    let hint = error.hint().map_or(String::new(), |hint| format!("\nhint: {hint}"));
    Failure(format!("{error}{hint}"))
}

/// What would be done.
fn planned(summary: &IngestSummary) -> Result<(), Failure> {
    let lines =
        summary.results.iter().map(|r| format!("{}\n", etwas_queries::render::visible(&r.path)));
    output::print(&lines.collect::<String>())
}

fn status(result: &RecordingResult) -> &'static str {
    match result.status {
        ResultStatus::Ok => "ok",
        ResultStatus::Damaged => "damaged",
        ResultStatus::Failed => "failed",
        ResultStatus::Unchanged => "unchanged",
        ResultStatus::UnchangedDamaged => "unchanged (damaged)",
        ResultStatus::Planned => "planned",
    }
}

/// Shows what was ingested.
fn table(summary: &IngestSummary) -> Result<(), Failure> {
    let column = |name: &str, numeric| Column { name: name.into(), numeric, given: false };
    let mut answer = Answer {
        columns: vec![
            column("trace", false),
            column("status", false),
            column("events", true),
            column("duration_s", true),
            column("lost", true),
            column("problems", false),
        ],
        rows: Vec::new(),
    };
    for result in summary.results.iter().take(ROWS_MAX) {
        let read = matches!(result.status, ResultStatus::Ok | ResultStatus::Damaged);
        let number = |n: u64| if read { Value::UBigInt(n) } else { Value::Null };
        answer.rows.push(vec![
            Value::Text(result.name.clone()),
            Value::Text(status(result).into()),
            number(result.outcome.events),
            if read { Value::Double(result.outcome.duration_ns as f64 / 1e9) } else { Value::Null },
            number(result.outcome.events_lost),
            result.error.clone().map_or(Value::Null, Value::Text),
        ]);
    }
    output::table(&answer)?;
    if summary.results.len() > ROWS_MAX {
        let more = summary.results.len() - ROWS_MAX;
        note(&format!("{more} more: etwas report traces"));
    }
    Ok(())
}

/// Says what stands out in the traces that are new.
fn first_answer(args: &Ingest, summary: &IngestSummary) -> Result<(), Failure> {
    let new = |r: &&RecordingResult| matches!(r.status, ResultStatus::Ok | ResultStatus::Damaged);
    let traces: Vec<i64> =
        summary.results.iter().filter(new).filter_map(|result| result.trace_id).collect();
    if traces.is_empty() {
        return Ok(());
    }
    let looked_at = findings::looked_at(&traces);
    let folder = &args.lake.lake;
    let option = if folder.as_os_str() == "lake" {
        String::new()
    } else {
        format!(" --lake \"{}\"", folder.display())
    };
    let mut out = String::new();
    for finding in findings::find(folder, looked_at)? {
        out += &format!("\n{}\n    {}{option}\n", finding.text, finding.command);
    }
    output::print(&out)?;
    if looked_at.len() < traces.len() {
        note(&format!(
            "only {} of {} traces were looked at: etwas report findings{option} looks at all",
            looked_at.len(),
            traces.len()
        ));
    }
    Ok(())
}

/// Names what failed and what to try, and sums up.
fn troubles(summary: &IngestSummary) {
    let count =
        |status: ResultStatus| summary.results.iter().filter(|r| r.status == status).count();
    for result in summary.results.iter().filter(|r| r.is_trouble()) {
        let error = result.error.as_deref().unwrap_or("it is damaged");
        let label = if result.status == ResultStatus::Failed { "error" } else { "warning" };
        note(&format!("{label}: {}: {error}", result.path));
        if let Some(hint) = &result.hint {
            note(&format!("hint: {hint}"));
        }
    }
    if summary.results.is_empty() {
        note("error: no traces found\nhint: name .etl files, folders that hold some, or patterns");
        return;
    }
    let parts = [
        (count(ResultStatus::Ok) + count(ResultStatus::Damaged), "ingested"),
        (count(ResultStatus::Damaged), "of them damaged"),
        (count(ResultStatus::Unchanged) + count(ResultStatus::UnchangedDamaged), "unchanged"),
        (count(ResultStatus::Failed), "failed"),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    note(&told.join(", "));
}

/// A bar on a terminal; elsewhere it draws nothing.
struct Progress {
    bar: ProgressBar,
    bytes: AtomicU64,
    failed: AtomicUsize,
}

impl Progress {
    fn new() -> Progress {
        let target = if io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        Progress { bar, bytes: AtomicU64::new(0), failed: AtomicUsize::new(0) }
    }
}

impl etwas_ingest::Progress for Progress {
    fn planned(&self, recordings: usize, bytes: u64, jobs: usize, memory_mib: usize) {
        note(&format!(
            "{recordings} traces, {} MB, {jobs} at a time, at most {memory_mib} MiB of memory",
            bytes / 1_000_000
        ));
        self.bar.set_length(bytes);
        let style = ProgressStyle::with_template(
            "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {eta} left {msg}",
        );
        if let Ok(style) = style {
            self.bar.set_style(style);
        }
        self.bar.enable_steady_tick(Duration::from_millis(500));
    }

    fn warning(&self, message: &str) {
        self.bar.suspend(|| note(&format!("warning: {message}")));
    }

    fn finished(&self, result: &RecordingResult) {
        let done = self.bytes.fetch_add(result.bytes, Relaxed) + result.bytes;
        self.bar.set_position(done);
        if result.status == ResultStatus::Failed {
            let failed = self.failed.fetch_add(1, Relaxed) + 1;
            self.bar.set_message(format!("{failed} failed"));
        }
    }
}
