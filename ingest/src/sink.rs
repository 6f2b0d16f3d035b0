//! Rows to Arrow to Parquet. Knows nothing of events.
//!
//! [`Tables`] has one [`TableSink`] per declared table. Rows collect in the table's builder; a full builder
//! becomes a record batch, which the Parquet writer encodes at once, so that only encoded pages of one row
//! group stay in memory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{BooleanArray, Int64Array};
use arrow::compute::filter_record_batch;
use etwas_schema::{RecordBatch, Recording, TRACE_START, Table, TableBuilder};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::schema::types::ColumnPath;

/// Rows in a batch: enough to amortize a call per column, few enough to stay in the cache.
const BATCH_ROWS: usize = 8 * 1024;

/// Rows in a row group: DuckDB reads and prunes by row group (time windows want small ones, scans large ones).
const GROUP_ROWS: usize = 256 * 1024;

/// Encoded bytes of an unfinished row group at which it is ended early, so that wide rows stay bounded.
const GROUP_BYTES: usize = 48 << 20;

/// Where tables are written.
#[derive(Clone, Debug)]
pub enum Target {
    /// A folder: one Parquet file a table.
    Folder(PathBuf),
    /// Nowhere: rows are counted only (for `info` and for measuring).
    Nowhere,
}

/// Which rows are kept.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only these tables get rows; `None`: all.
    pub tables: Option<Vec<String>>,
    /// Only rows whose instant lies in this half-open range, in tables of things that happen.
    pub range_ns: Option<(i64, i64)>,
}

/// Tables that describe the recording itself and are always written.
const ALWAYS: [&str; 3] = ["trace", "health", "event_census"];

impl Filter {
    fn keeps(&self, table: &Table) -> bool {
        let listed = |tables: &Vec<String>| tables.iter().any(|name| name == table.name);
        ALWAYS.contains(&table.name) || self.tables.as_ref().is_none_or(listed)
    }

    /// The instant by which rows of a table are cut, if a range is set.
    fn cut(&self, table: &Table) -> Option<(&'static str, i64, i64)> {
        let (from, to) = self.range_ns?;
        let instant = table.instant().filter(|column| !column.nullable)?;
        (!ALWAYS.contains(&table.name)).then_some((instant.name, from, to))
    }
}

/// One table being written.
pub struct TableSink<B> {
    /// Collects rows; call [`TableSink::flush_if_full`] after pushing.
    pub builder: B,
    table: &'static Table,
    recording: Recording,
    target: Target,
    writer: Option<ArrowWriter<File>>,
    rows: u64,
    kept: bool,
    cut: Option<(&'static str, i64, i64)>,
}

impl<B: TableBuilder + Default> TableSink<B> {
    fn new(
        table: &'static Table,
        recording: Recording,
        target: Target,
        filter: &Filter,
    ) -> TableSink<B> {
        let (kept, cut) = (filter.keeps(table), filter.cut(table));
        TableSink {
            builder: B::default(),
            table,
            recording,
            target,
            writer: None,
            rows: 0,
            kept,
            cut,
        }
    }

    /// Writes the collected rows if they fill a batch.
    #[inline]
    pub fn flush_if_full(&mut self) -> io::Result<()> {
        if self.builder.len() >= BATCH_ROWS { self.flush() } else { Ok(()) }
    }

    /// Takes the collected rows as a batch, to be changed and written by the caller.
    pub fn take_batch(&mut self) -> RecordBatch {
        self.builder.finish(self.recording)
    }

    /// Writes a batch.
    pub fn write(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let cut;
        let batch = match self.cut {
            _ if !self.kept => &batch.slice(0, 0),
            Some((instant, from, to)) => {
                cut = between(batch, instant, from, to)?;
                &cut
            }
            None => batch,
        };
        self.rows += batch.num_rows() as u64;
        let Target::Folder(folder) = &self.target else { return Ok(()) };
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(open_writer(self.table, folder)?),
        };
        writer.write(batch).map_err(to_io)?;
        if writer.in_progress_size() > GROUP_BYTES {
            writer.flush().map_err(to_io)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let batch = self.take_batch();
        self.write(&batch)
    }

    /// Writes what is left and closes the file, which exists even without rows. Gives the number of rows.
    fn close(&mut self) -> io::Result<u64> {
        self.flush()?;
        if let Some(writer) = self.writer.take() {
            writer.close().map_err(to_io)?;
        }
        Ok(self.rows)
    }
}

/// The rows of a batch whose `instant` lies in `from..to`.
fn between(batch: &RecordBatch, instant: &str, from: i64, to: i64) -> io::Result<RecordBatch> {
    let column =
        batch.column_by_name(instant).and_then(|c| c.as_any().downcast_ref::<Int64Array>());
    let Some(column) = column else { return Ok(batch.clone()) };
    let mask: BooleanArray =
        column.values().iter().map(|ts| Some(from <= *ts && *ts < to)).collect();
    filter_record_batch(batch, &mask).map_err(io::Error::other)
}

fn open_writer(table: &'static Table, folder: &Path) -> io::Result<ArrowWriter<File>> {
    let path = folder.join(format!("{}.parquet", table.name));
    let file = File::create_new(path)?;
    ArrowWriter::try_new(file, table.arrow_schema(), Some(properties(table))).map_err(to_io)
}

/// Encodings by what a column holds: instants and durations as differences, everything else by dictionary.
/// zstd at its fastest level costs next to nothing after that.
pub fn properties(table: &'static Table) -> WriterProperties {
    let level = ZstdLevel::try_new(1).unwrap_or_default();
    let mut properties = WriterProperties::builder()
        .set_writer_version(WriterVersion::PARQUET_2_0)
        .set_compression(Compression::ZSTD(level))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_created_by(format!("etwas {}", env!("CARGO_PKG_VERSION")));
    let columns = table.columns.iter().map(|c| (c.name, c.sql_type));
    for (name, sql_type) in columns.chain([("trace_id", ""), (TRACE_START, "")]) {
        let path = ColumnPath::from(name);
        if sql_type == "BIGINT" && name.ends_with("_ns") && name != TRACE_START {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    properties.build()
}

fn to_io(error: parquet::errors::ParquetError) -> io::Error {
    match error {
        parquet::errors::ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}

macro_rules! tables {
    ($($name:ident),+ $(,)?) => {
        /// All tables of a recording, being written.
        pub struct Tables {
            $(
                #[allow(missing_docs)]
                pub $name: TableSink<etwas_schema::$name::Builder>,
            )+
        }

        impl Tables {
            /// Empty tables of a recording.
            pub fn new(recording: Recording, target: &Target, filter: &Filter) -> Tables {
                Tables { $(
                    $name: TableSink::new(&etwas_schema::$name::TABLE, recording, target.clone(), filter),
                )+ }
            }

            /// Writes and closes every table. Gives the rows of each, in reading order.
            pub fn close(mut self) -> io::Result<Vec<(&'static str, u64)>> {
                Ok(vec![$((stringify!($name), self.$name.close()?)),+])
            }
        }
    };
}

tables! {
    trace, health, event_census,
    cpu, process, thread, thread_end_state, image,
    cswitch, ready, sample, stack, frame,
    power_setting, power_event, cpu_frequency, cpu_parking, c_state,
    ui_delay, focus, process_freeze, priority_change, dpc_isr, input_event, mark, gap,
    generic_event,
}

/// Writes every table with no rows to `folder`, and the lake's own `symbol` beside them, so that views exist
/// in a lake without recordings.
pub fn write_empty(folder: &Path) -> io::Result<()> {
    let recording = Recording { trace_id: 0, start_unix_ns: 0 };
    let filter = Filter::default();
    Tables::new(recording, &Target::Folder(folder.to_owned()), &filter).close()?;
    let mut symbol: TableSink<etwas_schema::symbol::Builder> = TableSink::new(
        &etwas_schema::symbol::TABLE,
        recording,
        Target::Folder(folder.to_owned()),
        &filter,
    );
    symbol.close()?;
    Ok(())
}

/// A batch with another column in place of the one called `name`.
pub fn with_column(
    batch: &RecordBatch,
    name: &str,
    column: arrow::array::ArrayRef,
) -> io::Result<RecordBatch> {
    let schema = batch.schema();
    let index = schema.index_of(name).map_err(io::Error::other)?;
    let mut columns = batch.columns().to_vec();
    columns[index] = column;
    RecordBatch::try_new(Arc::clone(&schema), columns).map_err(io::Error::other)
}
