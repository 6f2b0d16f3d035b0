//! `etwas compact`: writes a lake table by table, for object stores and warehouses.

use etwas_queries::compact::compact;

use crate::OK;
use crate::args::Compact;
use crate::output::{Failure, note};

/// Writes the copy and says what is in it.
pub fn run(args: &Compact) -> Result<u8, Failure> {
    let lake = &args.lake.lake;
    let output = args.output.clone().unwrap_or_else(|| {
        let mut name = lake.file_name().unwrap_or_else(|| "lake".as_ref()).to_owned();
        name.push("-compact");
        lake.with_file_name(name)
    });
    let done = compact(lake, &output)?;
    note(&format!(
        "{}: {} traces, {} rows in {} files, {} bytes",
        output.display(),
        done.recordings,
        done.rows,
        done.files,
        done.bytes
    ));
    Ok(OK)
}
