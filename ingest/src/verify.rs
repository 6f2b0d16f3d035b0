//! Checks a lake against what its manifests say: every table is there, whole and with as many rows as were written,
//! and the traces that are still where they were have not changed. Called by `etwas verify`; what only SQL can tell,
//! such as keys that lead nowhere, is checked in `etwas_queries::verify`.

use std::fs::{self, File};
use std::io;
use std::path::Path;

use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;

use crate::lake::{Entry, Lake, LakeError, ManifestInput, ManifestTable};

/// What a check found.
#[derive(Debug, Default)]
pub struct Verified {
    /// Recordings.
    pub recordings: usize,
    /// Tables whose rows were all read.
    pub tables: usize,
    /// Traces that are still there, and were read again.
    pub inputs: usize,
    /// Traces that are gone, or lie in an archive: nothing can be said of them.
    pub inputs_absent: usize,
    /// What is not as it should be, a line each, in the order of the recordings.
    pub differences: Vec<String>,
}

/// Checks every recording of a lake.
///
/// # Errors
/// When the folder is no lake, or cannot be listed. Everything else is a difference.
pub fn verify(lake: &Path) -> Result<Verified, LakeError> {
    let entries = Lake::open(lake)?.recordings()?;
    let parts: Vec<Verified> = entries.par_iter().map(verify_recording).collect();
    let mut all = Verified { recordings: entries.len(), ..Verified::default() };
    for part in parts {
        all.tables += part.tables;
        all.inputs += part.inputs;
        all.inputs_absent += part.inputs_absent;
        all.differences.extend(part.differences);
    }
    Ok(all)
}

fn verify_recording(entry: &Entry) -> Verified {
    let mut found = Verified::default();
    let manifest = match &entry.manifest {
        Ok(manifest) => manifest,
        Err(error) => {
            found.differences.push(error.to_string());
            return found;
        }
    };
    for (name, table) in &manifest.tables {
        let path = entry.dir.join(format!("{name}.parquet"));
        match verify_table(&path, *table) {
            Ok(()) => found.tables += 1,
            Err(what) => found.differences.push(format!("{}: {what}", path.display())),
        }
    }
    for table in etwas_schema::TABLES {
        if !manifest.tables.contains_key(table.name) {
            let dir = entry.dir.display();
            found
                .differences
                .push(format!("{dir}: the manifest does not know table {}", table.name));
        }
    }
    for input in &manifest.inputs {
        match verify_input(input) {
            Ok(true) => found.inputs += 1,
            Ok(false) => found.inputs_absent += 1,
            Err(what) => found.differences.push(format!("{}: {what}", input.path)),
        }
    }
    found
}

/// Reads a table to its end.
fn verify_table(path: &Path, table: ManifestTable) -> Result<(), String> {
    let file = File::open(path).map_err(|e| e.to_string())?;
    let bytes = file.metadata().map_err(|e| e.to_string())?.len();
    if bytes != table.bytes {
        return Err(format!("{bytes} bytes, the manifest says {}", table.bytes));
    }
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)
        .and_then(|builder| builder.build())
        .map_err(|e| format!("cannot be read: {e}"))?;
    let mut rows = 0;
    for batch in reader {
        rows +=
            batch.map_err(|e| format!("cannot be read after {rows} rows: {e}"))?.num_rows() as u64;
    }
    if rows != table.rows {
        return Err(format!("{rows} rows, the manifest says {}", table.rows));
    }
    Ok(())
}

/// Whether an input was there to be read; an error where it is another one now.
fn verify_input(input: &ManifestInput) -> Result<bool, String> {
    let (path, Some(expected)) = (Path::new(&input.path), &input.content_hash) else {
        return Ok(false);
    };
    // What lies in an archive has a path that leads through the archive.
    let is_trace = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("etl"));
    if !is_trace || !fs::metadata(path).is_ok_and(|data| data.is_file()) {
        return Ok(false);
    }
    let mut hasher = blake3::Hasher::new();
    let mut file = File::open(path).map_err(|e| format!("cannot be read: {e}"))?;
    io::copy(&mut file, &mut hasher).map_err(|e| format!("cannot be read: {e}"))?;
    if hasher.finalize().to_hex().as_str() != expected {
        return Err("the trace has changed since it was ingested".into());
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::InputArgs;
    use crate::{IngestOptions, run};

    fn lake(folder: &Path) -> (std::path::PathBuf, std::path::PathBuf) {
        let (trace, root) = (folder.join("hitch.etl"), folder.join("lake"));
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/traces/hitch-fast.etl");
        fs::copy(fixture, &trace).unwrap();
        let options = IngestOptions {
            input: InputArgs { inputs: vec![trace.clone().into()], ..InputArgs::default() },
            lake: root.clone(),
            ..IngestOptions::default()
        };
        run(&options, &()).unwrap();
        (trace, root)
    }

    fn recording(root: &Path) -> std::path::PathBuf {
        Lake::open(root).unwrap().recordings().unwrap()[0].dir.clone()
    }

    #[test]
    fn a_lake_as_it_was_written_is_as_it_should_be() {
        let folder = tempfile::tempdir().unwrap();
        let (trace, root) = lake(folder.path());
        let found = verify(&root).unwrap();
        assert_eq!(found.differences, [""; 0]);
        assert_eq!((found.recordings, found.inputs, found.inputs_absent), (1, 1, 0));
        assert_eq!(found.tables, etwas_schema::TABLES.len());
        fs::remove_file(trace).unwrap();
        assert_eq!(verify(&root).unwrap().inputs_absent, 1);
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let change_all = |what: &dyn Fn(&Path, &Path)| {
            let folder = tempfile::tempdir().unwrap();
            let (trace, root) = lake(folder.path());
            what(&trace, &recording(&root));
            let found = verify(&root).unwrap().differences;
            assert_eq!(found.len(), 1, "{found:?}");
            found.into_iter().next().unwrap()
        };
        let edit = |path: &Path, change: &dyn Fn(&mut Vec<u8>)| {
            let mut bytes = fs::read(path).unwrap();
            change(&mut bytes);
            fs::write(path, bytes).unwrap();
        };
        let found = change_all(&|_, dir| fs::remove_file(dir.join("process.parquet")).unwrap());
        assert!(found.contains("process.parquet"), "{found}");
        let found =
            change_all(&|_, dir| edit(&dir.join("process.parquet"), &|b| b.truncate(b.len() - 9)));
        assert!(found.contains("bytes, the manifest says"), "{found}");
        // The same length, another byte within the compressed rows.
        let found =
            change_all(&|_, dir| edit(&dir.join("process.parquet"), &|b| b[40..80].fill(0xA5)));
        assert!(found.contains("cannot be read"), "{found}");
        let found = change_all(&|_, dir| {
            // Another table's file of its very size says other rows than the manifest.
            let manifest = dir.join("manifest.json");
            let text = fs::read_to_string(&manifest).unwrap();
            let at = text.find("\"process\"").unwrap();
            let rows = at + text[at..].find("\"rows\": ").unwrap() + 8;
            fs::write(&manifest, format!("{}9{}", &text[..rows], &text[rows..])).unwrap();
        });
        assert!(found.contains("rows, the manifest says"), "{found}");
        let found = change_all(&|trace, _| edit(trace, &|b| *b.last_mut().unwrap() ^= 1));
        assert!(found.contains("has changed"), "{found}");
        let found = change_all(&|_, dir| fs::write(dir.join("manifest.json"), "{").unwrap());
        assert!(found.contains("manifest"), "{found}");
    }
}
