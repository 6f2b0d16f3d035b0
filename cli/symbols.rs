//! `etwas symbols`, and `ingest --symbols`: names for the frames of a lake.

use std::path::Path;

use etwas_ingest::symbols::{
    SymbolOptions, SymbolPath, SymbolReport, symbol_report, symbolize_lake,
};
use etwas_queries::run::{Column, Target};
use etwas_queries::value::Value;
use etwas_queries::{Error, lake_db};

use crate::OK;
use crate::args::Symbols;
use crate::output::{self, Failure, note};

/// Files that were looked at in vain and are named; the rest is only counted.
const COMPLAINTS_SHOWN: usize = 10;

/// Names what a lake lacks.
pub fn run(args: &Symbols) -> Result<u8, Failure> {
    etwas_ingest::lake::Lake::open(&args.lake.lake).map_err(crate::ingest::lake_failure)?;
    if args.report {
        return report(args);
    }
    add(&args.lake.lake, &args.symbols, args.offline, args.force)?;
    Ok(OK)
}

/// Lists the modules whose names are missed most.
fn report(args: &Symbols) -> Result<u8, Failure> {
    let column = |name: &str, numeric| Column { name: name.into(), numeric, given: false };
    let columns = [
        column("module", false),
        column("waits", true),
        column("wait_ns", true),
        column("samples", true),
        column("frames", true),
        column("traces", true),
        column("file", false),
        column("id", false),
    ];
    let text = |text: Option<String>| text.map_or(Value::Null, Value::Text);
    let modules = symbol_report(&args.lake.lake).map_err(|e| Failure(e.to_string()))?;
    let limit = args.output.limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let rows: Vec<Vec<Value>> = modules
        .into_iter()
        .take(limit)
        .map(|module| {
            vec![
                Value::Text(module.module),
                Value::UBigInt(module.waits),
                Value::BigInt(module.wait_ns),
                Value::UBigInt(module.samples),
                Value::UBigInt(module.frames),
                Value::UBigInt(module.recordings),
                text(module.file),
                text(module.id),
            ]
        })
        .collect();
    output::deliver(&args.output, |target| {
        let Target::Sink(sink) = target else {
            return Err(Error::Usage("this list is not written as parquet".into()));
        };
        sink.columns(&columns)?;
        rows.iter().try_for_each(|row| sink.row(row))?;
        Ok(())
    })?;
    if rows.is_empty() {
        note("every function has its name");
    }
    Ok(OK)
}

/// Looks up names in these places, and brings the database up to date. Without places, those of
/// `_NT_SYMBOL_PATH`.
pub fn add(lake: &Path, places: &[String], offline: bool, force: bool) -> Result<(), Failure> {
    let options = options(places, offline, force)?;
    let report = symbolize_lake(lake, &options, &|_| {}).map_err(|e| Failure(e.to_string()))?;
    lake_db::refresh(lake)?;
    tell(&report);
    Ok(())
}

fn options(places: &[String], offline: bool, force: bool) -> Result<SymbolOptions, Failure> {
    let wrong = |e: etwas_ingest::symbols::SymbolError| Failure(e.to_string());
    let path = if places.is_empty() {
        SymbolPath::from_environment().map_err(wrong)?
    } else {
        SymbolPath::parse(&places.join(";")).map_err(wrong)?
    };
    if path == SymbolPath::default() {
        let hint = "name a folder or store with --symbols, or set _NT_SYMBOL_PATH";
        return Err(Failure(format!("no place to look for symbols\nhint: {hint}")));
    }
    Ok(SymbolOptions { path, cache: None, offline, force })
}

/// What was found, on standard error.
fn tell(report: &SymbolReport) {
    for (path, reason) in &report.recordings_failed {
        note(&format!("warning: {}: {reason}", path.display()));
    }
    for complaint in report.complaints.iter().take(COMPLAINTS_SHOWN) {
        note(&format!("warning: {complaint}"));
    }
    if report.complaints.len() > COMPLAINTS_SHOWN {
        note(&format!("{} more files do not fit", report.complaints.len() - COMPLAINTS_SHOWN));
    }
    note(&format!(
        "symbols: {} of {} modules found; {} of {} addresses named, {} of them now",
        report.modules_with_pdb + report.modules_with_exports,
        report.modules,
        report.addresses_known + report.addresses_named,
        report.addresses,
        report.addresses_named,
    ));
}
