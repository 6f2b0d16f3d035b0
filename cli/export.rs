//! `etwas export`: files for other viewers.

use etwas_pictures::export::{self, Options};

use crate::OK;
use crate::args::Export;
use crate::output::{self, Failure, note};

/// Writes the file and says what is in it.
pub fn run(args: &Export) -> Result<u8, Failure> {
    let options = Options {
        trace: args.trace.clone(),
        process: args.process.clone(),
        from_s: args.from,
        to_s: args.to,
        finding: args.finding.clone(),
        stacks: args.stacks,
    };
    let lake = output::open(&args.lake.lake, None)?;
    let part = export::part(&lake, &options)?;
    let mut out = output::writer(args.output.as_deref())?;
    let count = export::write(&lake, args.kind, &options, &part, &mut out)?;
    let what = if args.kind == export::Kind::Perfetto { "events" } else { "stacks" };
    note(&format!("{}: {count} {what}", part.trace));
    if count == 0 {
        note("hint: etwas report answerable tells what the trace lacks");
    }
    Ok(OK)
}
