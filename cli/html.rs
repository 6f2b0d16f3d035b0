//! `etwas html`: a report to look at, in one file.

use std::fs::File;
use std::io::BufWriter;

use etwas_pictures::html::{self, Options};
use etwas_queries::Error;

use crate::OK;
use crate::args::Html;
use crate::output::{self, Failure, note};

/// Writes the report and says what is in it.
pub fn run(args: &Html) -> Result<u8, Failure> {
    let options = Options { trace: args.trace.clone(), questions: args.questions.clone() };
    let lake = output::open(&args.lake.lake, None)?;
    let (data, summary) = html::collect(&lake, &options)?;
    let file = File::create(&args.output)
        .map_err(|source| Error::File { path: args.output.clone(), source })?;
    html::write(&mut BufWriter::new(file), &data)?;
    note(&format!(
        "{}: {} traces, {} of them with pictures, {} findings, {} figures",
        args.output.display(),
        summary.traces,
        summary.pictured,
        summary.findings,
        summary.figures
    ));
    Ok(OK)
}
