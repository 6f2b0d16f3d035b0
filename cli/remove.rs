//! `etwas remove`: takes recordings out of a lake.

use etwas_ingest::lake::Lake;
use etwas_queries::{Error, lake_db};

use crate::OK;
use crate::args::Remove;
use crate::ingest::lake_failure;
use crate::output::{self, Failure, note};

/// Removes every trace whose name matches.
pub fn run(args: &Remove) -> Result<u8, Failure> {
    let lake = Lake::open(&args.lake.lake).map_err(lake_failure)?;
    let mut removed = Vec::new();
    for entry in lake.recordings().map_err(lake_failure)? {
        let name = match &entry.manifest {
            Ok(manifest) => manifest.name.clone(),
            Err(error) => {
                note(&format!("warning: {error}"));
                continue;
            }
        };
        if etwas_queries::run::glob_matches(&name, &args.glob)
            && lake.remove(entry.trace_id).map_err(lake_failure)?
        {
            removed.push(name);
        }
    }
    if removed.is_empty() {
        return Err(Error::NoTrace { glob: args.glob.clone() }.into());
    }
    lake_db::refresh(&args.lake.lake)?;
    output::print(&removed.iter().map(|name| format!("{name}\n")).collect::<String>())?;
    note(&format!("removed {} from {}", removed.len(), args.lake.lake.display()));
    Ok(OK)
}
