//! Reading columns of a lake's Parquet files, and the files of the table `symbol`. Called by `lake` and `report`.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind::NotFound;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use arrow::record_batch::RecordBatch;
use etwas_schema::symbol;
use etwas_schema::{Recording, TableBuilder};
use parquet::arrow::ArrowWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::SymbolError;
use super::resolve::{NameSource, Named};

/// Rows of one group in a file of the table `symbol`: modules are looked up one by one.
const GROUP_ROWS: usize = 1 << 17;
/// Rows handed to the Parquet writer at once.
const BATCH_ROWS: usize = 1 << 15;

/// How often a list of files that changes meanwhile is read again.
const READ_TRIES: usize = 4;

/// The folders of the published recordings, sorted.
pub(super) fn recordings(lake: &Path) -> Result<Vec<PathBuf>, SymbolError> {
    let entries = fs::read_dir(lake).map_err(|source| SymbolError::io(lake, source))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| name_of(path).starts_with("trace_id=") && path.is_dir())
        .collect();
    folders.sort();
    Ok(folders)
}

/// The files of the table `symbol`, sorted; none where the folder does not exist yet.
pub(super) fn symbol_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|it| it == "parquet"))
        .filter(|path| !name_of(path).starts_with('.'))
        .collect();
    files.sort();
    files
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

/// Calls `each` for every batch of a file, with only the named columns read.
pub(super) fn for_each_batch(
    path: &Path,
    columns: &[&str],
    mut each: impl FnMut(&Columns) -> Result<(), SymbolError>,
) -> Result<(), SymbolError> {
    let file = File::open(path).map_err(|source| SymbolError::io(path, source))?;
    let wrong = |error: &dyn std::fmt::Display| SymbolError::table(path, error);
    let builder = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| wrong(&e))?;
    let mut roots = Vec::new();
    for column in columns {
        roots.push(builder.schema().index_of(column).map_err(|e| wrong(&e))?);
    }
    let mask = ProjectionMask::roots(builder.parquet_schema(), roots);
    for batch in builder.with_projection(mask).build().map_err(|e| wrong(&e))? {
        each(&Columns { path, batch: batch.map_err(|e| wrong(&e))? })?;
    }
    Ok(())
}

/// One batch, whose columns are taken by name and type.
pub(super) struct Columns<'a> {
    path: &'a Path,
    batch: RecordBatch,
}

impl Columns<'_> {
    pub(super) fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    pub(super) fn integers(&self, name: &str) -> Result<Int64Array, SymbolError> {
        let array = self.column(name, &DataType::Int64)?;
        Ok(array.as_primitive::<Int64Type>().clone())
    }

    pub(super) fn texts(&self, name: &str) -> Result<StringArray, SymbolError> {
        Ok(self.column(name, &DataType::Utf8)?.as_string::<i32>().clone())
    }

    pub(super) fn any(&self, name: &str) -> Result<&ArrayRef, SymbolError> {
        let missing = || SymbolError::table(self.path, &format!("has no column {name}"));
        self.batch.column_by_name(name).ok_or_else(missing)
    }

    /// Other writers of the lake, such as a compaction, may have chosen a wider or a dictionary type.
    fn column(&self, name: &str, wanted: &DataType) -> Result<ArrayRef, SymbolError> {
        let array = self.any(name)?;
        if array.data_type() == wanted {
            return Ok(array.clone());
        }
        cast(array, wanted).map_err(|error| SymbolError::table(self.path, &error))
    }
}

/// A value or nothing.
pub(super) fn integer(array: &Int64Array, row: usize) -> Option<i64> {
    array.is_valid(row).then(|| array.value(row))
}

/// A text or nothing.
pub(super) fn text(array: &StringArray, row: usize) -> Option<&str> {
    array.is_valid(row).then(|| array.value(row))
}

/// An address inside a module: images are smaller than 4 GiB.
pub(super) fn rva(array: &Int64Array, row: usize) -> Option<u32> {
    integer(array, row).and_then(|value| u32::try_from(value).ok())
}

/// What identifies a row of the table `symbol`.
pub(super) type RowKey = (String, u32);

/// What else a row holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowValue {
    pub(super) module: String,
    pub(super) named: Named,
    pub(super) source: NameSource,
}

/// Adds the rows of one file; of two rows with one key the one from the better source stays.
pub(super) fn read_rows(
    path: &Path,
    rows: &mut BTreeMap<RowKey, RowValue>,
) -> Result<(), SymbolError> {
    let columns = [
        "module_id",
        "module",
        "rva",
        "function",
        "function_offset",
        "source_file",
        "source_line",
        "source",
    ];
    for_each_batch(path, &columns, |batch| {
        let (ids, modules) = (batch.texts("module_id")?, batch.texts("module")?);
        let (rvas, functions) = (batch.integers("rva")?, batch.texts("function")?);
        let offsets = batch.integers("function_offset")?;
        let (files, lines) = (batch.texts("source_file")?, batch.integers("source_line")?);
        let sources = batch.texts("source")?;
        for row in 0..batch.rows() {
            let Some(rva) = rva(&rvas, row) else { continue };
            let small = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
            let value = RowValue {
                module: modules.value(row).to_owned(),
                named: Named {
                    rva,
                    function: functions.value(row).to_owned(),
                    function_offset: small(integer(&offsets, row)).unwrap_or(0),
                    source_file: text(&files, row).map(str::to_owned),
                    source_line: small(integer(&lines, row)),
                },
                source: NameSource::parse(sources.value(row)),
            };
            add_better(rows, (ids.value(row).to_owned(), rva), value);
        }
        Ok(())
    })
}

/// Keeps the better of two rows with one key.
pub(super) fn add_better(rows: &mut BTreeMap<RowKey, RowValue>, key: RowKey, value: RowValue) {
    match rows.entry(key) {
        std::collections::btree_map::Entry::Vacant(entry) => {
            entry.insert(value);
        }
        std::collections::btree_map::Entry::Occupied(mut entry) => {
            if entry.get().source < value.source {
                entry.insert(value);
            }
        }
    }
}

/// Which addresses have a row, and from which source, module by module.
#[derive(Default)]
pub(super) struct Known(BTreeMap<String, BTreeMap<u32, NameSource>>);

impl Known {
    /// Reads what a folder holds. Someone else may be merging its files: then the list is read again.
    pub(super) fn load(folder: &Path) -> Result<Known, SymbolError> {
        for _ in 0..READ_TRIES {
            match Known::read(&symbol_files(folder)) {
                Err(SymbolError::Io { source, .. }) if source.kind() == NotFound => {}
                outcome => return outcome,
            }
        }
        Known::read(&symbol_files(folder))
    }

    /// Reads the files of a folder whose lock is held.
    pub(super) fn read(files: &[PathBuf]) -> Result<Known, SymbolError> {
        let mut known = Known::default();
        for file in files {
            for_each_batch(file, &["module_id", "rva", "source"], |batch| {
                let (ids, rvas) = (batch.texts("module_id")?, batch.integers("rva")?);
                let sources = batch.texts("source")?;
                for row in 0..batch.rows() {
                    let Some(rva) = rva(&rvas, row) else { continue };
                    known.add(ids.value(row), rva, NameSource::parse(sources.value(row)));
                }
                Ok(())
            })?;
        }
        Ok(known)
    }

    fn add(&mut self, module_id: &str, rva: u32, source: NameSource) {
        if !self.0.contains_key(module_id) {
            self.0.insert(module_id.to_owned(), BTreeMap::new());
        }
        if let Some(module) = self.0.get_mut(module_id) {
            let best = module.entry(rva).or_insert(source);
            *best = (*best).max(source);
        }
    }

    pub(super) fn source(&self, module_id: &str, rva: u32) -> Option<NameSource> {
        self.0.get(module_id)?.get(&rva).copied()
    }
}

/// Writes rows as one immutable file whose name is the hash of its content, and gives its path.
pub(super) fn write_rows(
    folder: &Path,
    rows: &BTreeMap<RowKey, RowValue>,
) -> Result<PathBuf, SymbolError> {
    let io = |source| SymbolError::io(folder, source);
    let wrong = |error: parquet::errors::ParquetError| SymbolError::table(folder, &error);
    let level = ZstdLevel::try_new(3).map_err(wrong)?;
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .build();
    let mut bytes = Vec::new();
    let schema = symbol::TABLE.arrow_schema();
    let mut writer = ArrowWriter::try_new(&mut bytes, schema, Some(properties)).map_err(wrong)?;
    let lake = Recording { trace_id: 0, start_unix_ns: 0 };
    let mut builder = symbol::Builder::default();
    for ((module_id, rva), value) in rows {
        let named = &value.named;
        builder.push(&symbol::Row {
            module_id,
            module: &value.module,
            rva: i64::from(*rva),
            function: &named.function,
            function_offset: i64::from(named.function_offset),
            source_file: named.source_file.as_deref(),
            source_line: named.source_line.map(i64::from),
            source: value.source.as_str(),
        });
        if builder.len() >= BATCH_ROWS {
            writer.write(&builder.finish(lake)).map_err(wrong)?;
        }
    }
    writer.write(&builder.finish(lake)).map_err(wrong)?;
    writer.close().map_err(wrong)?;
    publish(folder, &bytes).map_err(io)
}

fn publish(folder: &Path, bytes: &[u8]) -> std::io::Result<PathBuf> {
    use std::io::Write;
    let hash = blake3::hash(bytes).to_hex();
    let path = folder.join(format!("{}.parquet", &hash[..32]));
    let mut file = tempfile::Builder::new().prefix(".etwas-").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    Ok(path)
}
