//! `etwas html`: a report to look at, in one file.

use etwas_pictures::html::{self, Options};

use crate::OK;
use crate::args::Html;
use crate::output::{self, Failure, note};

/// Writes the report and says what is in it.
pub fn run(args: &Html) -> Result<u8, Failure> {
    let options = Options { trace: args.trace.clone(), questions: args.questions.clone() };
    let lake = output::open(&args.lake.lake, None)?;
    let (data, summary) = html::collect(&lake, &options)?;
    html::write(&mut output::writer(Some(&args.output))?, &data)?;
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
