//! Rewrites a lake table by table: one folder a table with few large files, as object stores and
//! warehouses want it. The copy is a lake of its own that answers alike and takes no recordings.
//! Called by `etwas compact`.
//!
//! ```text
//! OUTPUT/etwas.json              marker: the layout, and rows and files of every table
//! OUTPUT/<table>/part-<n>.parquet rows of the recordings in the order of their trace_id
//! OUTPUT/symbols/part-0.parquet   names of functions
//! ```
//!
//! # Invariants
//! * The same recordings give the same files, whoever ingested them and wherever.
//! * Made aside and renamed: the copy is there wholly or not at all.

use std::fs;
use std::path::{Path, PathBuf};

use duckdb::Connection;
use etwas_schema::{TABLES, symbol};
use serde_json::{Map, Value, json};

use crate::error::Error;
use crate::lake_db::{self, COMPACT_LAYOUT, MARKER, absolute, duckdb_path, escape_glob, quote};

/// A file is closed when the recordings in it have taken this much where they came from.
const PART_BYTES: u64 = 256 << 20;

/// Rows of a row group, the unit in which readers skip what they do not want.
const ROW_GROUP_ROWS: u32 = 122_880;

/// What was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compacted {
    /// Recordings.
    pub recordings: usize,
    /// Files of all tables.
    pub files: usize,
    /// Rows of all tables.
    pub rows: u64,
    /// Bytes of all files.
    pub bytes: u64,
}

/// Writes the recordings of `root` table by table to `output`, which must be new or such a copy.
pub fn compact(root: &Path, output: &Path) -> Result<Compacted, Error> {
    if !lake_db::is_lake(root) {
        let reason = if root.is_dir() { "no recordings in it" } else { "no such folder" };
        return Err(Error::NoLake { path: root.into(), reason: reason.into() });
    }
    if lake_db::is_compact(root) {
        return Err(Error::Usage(format!("{} is compact already", root.display())));
    }
    if output.exists() && !lake_db::is_compact(output) {
        return Err(Error::Usage(format!(
            "{} exists and is no compact lake\nhint: --output names a new folder",
            output.display()
        )));
    }
    let root = absolute(root)?;
    lake_db::write_empty_tables(&root)?;
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| Error::File { path, source }
    };
    let parent = match output.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    // Beside the place that it will have, so that one rename puts it there.
    let aside = parent.join(format!(".etwas-compact-{}", std::process::id()));
    let written: Result<_, Error> = (|| {
        let made = aside.join("lake");
        fs::create_dir_all(&made).map_err(failed(&made))?;
        let done = write(&root, &made)?;
        if output.exists() {
            fs::rename(output, aside.join("old")).map_err(failed(output))?;
        }
        fs::rename(&made, output).map_err(failed(output))?;
        Ok(done)
    })();
    let _ = fs::remove_dir_all(&aside);
    let done = written?;
    lake_db::refresh(output)?;
    Ok(done)
}

/// The folders of the recordings, in the order of their ids.
fn recordings(root: &Path) -> Result<Vec<PathBuf>, Error> {
    let failed = |source| Error::File { path: root.into(), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(root).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if let Some(id) = name.strip_prefix("trace_id=").and_then(|id| id.parse::<i64>().ok()) {
            found.push((id, path.clone()));
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn write(root: &Path, made: &Path) -> Result<Compacted, Error> {
    let folders = recordings(root)?;
    let conn = Connection::open_in_memory()?;
    conn.execute_batch(
        "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
         SET preserve_insertion_order = true;",
    )?;
    let mut done = Compacted { recordings: folders.len(), ..Compacted::default() };
    let mut tables = Map::new();
    for table in TABLES {
        let file = format!("{}.parquet", table.name);
        let sources: Vec<PathBuf> = folders.iter().map(|folder| folder.join(&file)).collect();
        let said = write_table(&conn, root, made, table.name, &sources, &mut done)?;
        tables.insert(table.name.into(), said);
    }
    let symbols = root.join("symbols");
    let mut sources: Vec<PathBuf> = fs::read_dir(&symbols)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|e| e == "parquet"))
        .collect();
    sources.sort();
    if !sources.is_empty() {
        let mut names = Compacted::default();
        let said = write_table(&conn, root, made, "symbols", &sources, &mut names)?;
        tables.insert(symbol::TABLE.name.into(), said);
    }
    let marker = json!({
        "format": 1, "kind": "etwas lake", "layout": COMPACT_LAYOUT,
        "recordings": folders.len(), "tables": tables,
    });
    let path = made.join(MARKER);
    fs::write(&path, format!("{marker:#}\n")).map_err(|source| Error::File { path, source })?;
    Ok(done)
}

/// Writes one table and says how many rows and files it has.
fn write_table(
    conn: &Connection,
    root: &Path,
    made: &Path,
    table: &str,
    sources: &[PathBuf],
    done: &mut Compacted,
) -> Result<Value, Error> {
    let folder = made.join(table);
    let failed = |path: &Path, source| Error::File { path: path.into(), source };
    fs::create_dir(&folder).map_err(|e| failed(&folder, e))?;
    let parts = parts(sources)?;
    let empty = root.join(lake_db::EMPTY).join(format!("{table}.parquet"));
    // A table without recordings still says which columns it has.
    let parts = if parts.is_empty() { vec![vec![empty]] } else { parts };
    let mut rows = 0;
    for (number, part) in parts.iter().enumerate() {
        let path = folder.join(format!("part-{number}.parquet"));
        let from: Vec<String> =
            part.iter().map(|file| quote(&escape_glob(&duckdb_path(file)))).collect();
        let copied = conn.execute(
            &format!(
                "COPY (FROM read_parquet([{}], hive_partitioning = false)) TO {} \
                 (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROW_GROUP_ROWS})",
                from.join(", "),
                quote(&duckdb_path(&path)),
            ),
            [],
        )?;
        rows += copied as u64;
        done.bytes += fs::metadata(&path).map_err(|e| failed(&path, e))?.len();
    }
    done.rows += rows;
    done.files += parts.len();
    Ok(json!({ "rows": rows, "files": parts.len() }))
}

/// The sources of each file to be written.
fn parts(sources: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, Error> {
    let mut parts: Vec<Vec<PathBuf>> = Vec::new();
    let mut bytes = PART_BYTES;
    for source in sources {
        let size = fs::metadata(source)
            .map_err(|e| Error::File { path: source.clone(), source: e })?
            .len();
        if bytes >= PART_BYTES {
            parts.push(Vec::new());
            bytes = 0;
        }
        bytes += size;
        parts.last_mut().expect("begun above").push(source.clone());
    }
    Ok(parts)
}
