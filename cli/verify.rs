//! `etwas verify`: checks a lake again.

use etwas_ingest::verify::{Verified, verify};
use etwas_queries::lake_db;

use crate::args::Verify;
use crate::ingest::lake_failure;
use crate::output::{self, Failure, note};
use crate::{OK, TROUBLE};

/// Checks files, rows, traces and keys, and names every difference.
pub fn run(args: &Verify) -> Result<u8, Failure> {
    let root = &args.lake.lake;
    // The rows of a compact lake are checked by SQL alone; its recordings are elsewhere.
    let mut found = match lake_db::is_compact(root) {
        true => Verified::default(),
        false => verify(root).map_err(lake_failure)?,
    };
    let lake = output::open(root, None)?;
    match etwas_queries::verify::verify(&lake) {
        Ok(broken) => found.differences.extend(broken),
        // A file that cannot be read is named already; then SQL has nothing to add.
        Err(_) if !found.differences.is_empty() => {}
        Err(error) => found.differences.push(error.to_string()),
    }
    for difference in &found.differences {
        output::error(difference);
    }
    note(&format!(
        "{} traces, {} tables, {} trace files still there, {} not; {}",
        found.recordings,
        found.tables,
        found.inputs,
        found.inputs_absent,
        match found.differences.len() {
            0 => "all as it should be".to_owned(),
            n => format!("{n} differences"),
        }
    ));
    Ok(if found.differences.is_empty() { OK } else { TROUBLE })
}
