//! What a table and a column are, and the `table!` macro that declares one.
//!
//! One declaration gives a typed `Row`, a `Builder` that collects rows column by column into an Arrow
//! [`RecordBatch`], and a [`Table`] that carries names, types and documentation to everything else:
//! SCHEMA.md, `schema.sql`, the comments inside `lake.duckdb`, and the tests that hold them together.
//!
//! Every table begins with `trace_id`, which no row has to name: it is the builder's.

use std::sync::Arc;

use arrow::array::{
    ArrayRef, BinaryBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Array,
    Int64Builder, ListBuilder, MapBuilder, MapFieldNames, StringBuilder,
    TimestampMicrosecondBuilder, UInt64Builder,
};
use arrow::datatypes::{DataType, Field, TimeUnit};
pub use arrow::record_batch::RecordBatch;

/// The name of the physical column that lets a view turn an instant into wall-clock time.
///
/// It holds the start of the recording in nanoseconds since 1970 (UTC), is constant in a file, and
/// is hidden by the views, which show `time` instead.
pub const TRACE_START: &str = "trace_start_unix_ns";

/// A declared table: what a lake promises to hold, possibly with zero rows.
#[derive(Debug)]
pub struct Table {
    /// Name of the table, its Parquet file and its view.
    pub name: &'static str,
    /// What a row is, and what the table is for.
    pub doc: &'static str,
    /// Stored columns in order, without `trace_id` and the hidden start column.
    pub columns: &'static [Column],
    /// Columns that views compute from stored ones.
    pub derived: &'static [Derived],
    /// Column types, in the order of `columns`.
    pub(crate) types: fn() -> Vec<DataType>,
}

/// A stored column.
#[derive(Debug)]
pub struct Column {
    /// Name in Parquet and SQL.
    pub name: &'static str,
    /// Type as DuckDB names it.
    pub sql_type: &'static str,
    /// Whether the column may be NULL.
    pub nullable: bool,
    /// Meaning, unit, and what NULL says.
    pub doc: &'static str,
}

/// A column that a view computes, so that it costs no bytes.
#[derive(Debug)]
pub struct Derived {
    /// Name in SQL.
    pub name: &'static str,
    /// Type as DuckDB names it.
    pub sql_type: &'static str,
    /// The expression over stored columns.
    pub sql: &'static str,
    /// Meaning, unit, and what NULL says.
    pub doc: &'static str,
}

impl Table {
    /// The Arrow schema of the table's Parquet file.
    pub fn arrow_schema(&self) -> arrow::datatypes::SchemaRef {
        let mut fields = vec![Field::new("trace_id", DataType::Int64, false)];
        for (column, data_type) in self.columns.iter().zip((self.types)()) {
            fields.push(Field::new(column.name, data_type, column.nullable));
        }
        if self.instant().is_some() {
            fields.push(Field::new(TRACE_START, DataType::Int64, false));
        }
        Arc::new(arrow::datatypes::Schema::new(fields))
    }

    /// The column that says when a row happened: the first whose name is or ends in `ts_ns`.
    pub fn instant(&self) -> Option<&'static Column> {
        self.columns.iter().find(|c| c.name == "ts_ns" || c.name.ends_with("_ts_ns"))
    }
}

/// A column type: how a value is written into an Arrow builder.
pub trait Kind {
    /// What a row holds.
    type Value<'a>;
    /// Where the values collect.
    type Builder;
    /// Type as DuckDB names it.
    const SQL: &'static str;
    /// Whether NULL is allowed.
    const NULLABLE: bool = false;
    /// An empty builder.
    fn builder() -> Self::Builder;
    /// Appends one value.
    fn append(builder: &mut Self::Builder, value: &Self::Value<'_>);
    /// Appends a NULL.
    fn append_null(builder: &mut Self::Builder);
    /// Takes what was collected.
    fn finish(builder: &mut Self::Builder) -> ArrayRef;
    /// Arrow type.
    fn data_type() -> DataType;
}

macro_rules! plain_kind {
    ($(#[$doc:meta])* $name:ident, $value:ty, $builder:ty, $sql:literal, $type:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name;
        impl Kind for $name {
            type Value<'a> = $value;
            type Builder = $builder;
            const SQL: &'static str = $sql;
            fn builder() -> Self::Builder {
                <$builder>::new()
            }
            #[inline]
            fn append(builder: &mut Self::Builder, value: &Self::Value<'_>) {
                builder.append_value(*value);
            }
            #[inline]
            fn append_null(builder: &mut Self::Builder) {
                builder.append_null();
            }
            fn finish(builder: &mut Self::Builder) -> ArrayRef {
                Arc::new(builder.finish())
            }
            fn data_type() -> DataType {
                $type
            }
        }
    };
}

plain_kind!(
    /// Ids, instants, durations, counts: BIGINT.
    I64, i64, Int64Builder, "BIGINT", DataType::Int64);
plain_kind!(
    /// Small numbers: CPU indexes, priorities, states. INTEGER, so that differences never overflow.
    I32, i32, Int32Builder, "INTEGER", DataType::Int32);
plain_kind!(
    /// Addresses: UBIGINT.
    U64, u64, UInt64Builder, "UBIGINT", DataType::UInt64);
plain_kind!(
    /// Measured values: DOUBLE.
    F64, f64, Float64Builder, "DOUBLE", DataType::Float64);
plain_kind!(
    /// BOOLEAN.
    Bool, bool, BooleanBuilder, "BOOLEAN", DataType::Boolean);
plain_kind!(
    /// Wall-clock time, UTC, in microseconds: TIMESTAMP.
    Time, i64, TimestampMicrosecondBuilder, "TIMESTAMP",
    DataType::Timestamp(TimeUnit::Microsecond, None));
plain_kind!(
    /// VARCHAR, always valid UTF-8.
    Text, &'a str, StringBuilder, "VARCHAR", DataType::Utf8);
plain_kind!(
    /// Raw bytes: BLOB.
    Blob, &'a [u8], BinaryBuilder, "BLOB", DataType::Binary);

/// A list of ids: `BIGINT[]`.
#[derive(Debug)]
pub struct Ids;

fn list_item() -> Field {
    Field::new("item", DataType::Int64, false)
}

impl Kind for Ids {
    type Value<'a> = &'a [i64];
    type Builder = ListBuilder<Int64Builder>;
    const SQL: &'static str = "BIGINT[]";
    fn builder() -> Self::Builder {
        ListBuilder::new(Int64Builder::new()).with_field(list_item())
    }
    fn append(builder: &mut Self::Builder, value: &Self::Value<'_>) {
        builder.values().append_slice(value);
        builder.append(true);
    }
    fn append_null(builder: &mut Self::Builder) {
        builder.append(false);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn data_type() -> DataType {
        DataType::List(Arc::new(list_item()))
    }
}

/// A text-to-text map: `MAP(VARCHAR, VARCHAR)`.
#[derive(Debug)]
pub struct TextMap;

impl Kind for TextMap {
    type Value<'a> = &'a [(String, String)];
    type Builder = MapBuilder<StringBuilder, StringBuilder>;
    const SQL: &'static str = "MAP(VARCHAR, VARCHAR)";
    fn builder() -> Self::Builder {
        let names =
            MapFieldNames { entry: "key_value".into(), key: "key".into(), value: "value".into() };
        MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
    }
    fn append(builder: &mut Self::Builder, value: &Self::Value<'_>) {
        for (key, text) in *value {
            builder.keys().append_value(key);
            builder.values().append_value(text);
        }
        let _ = builder.append(true);
    }
    fn append_null(builder: &mut Self::Builder) {
        let _ = builder.append(false);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        Arc::new(builder.finish())
    }
    fn data_type() -> DataType {
        let entries = Field::new(
            "key_value",
            DataType::Struct(
                vec![
                    Field::new("key", DataType::Utf8, false),
                    Field::new("value", DataType::Utf8, true),
                ]
                .into(),
            ),
            false,
        );
        DataType::Map(Arc::new(entries), false)
    }
}

/// A column that may be NULL.
#[derive(Debug)]
pub struct Opt<K>(std::marker::PhantomData<K>);

impl<K: Kind> Kind for Opt<K> {
    type Value<'a> = Option<K::Value<'a>>;
    type Builder = K::Builder;
    const SQL: &'static str = K::SQL;
    const NULLABLE: bool = true;
    fn builder() -> Self::Builder {
        K::builder()
    }
    #[inline]
    fn append(builder: &mut Self::Builder, value: &Self::Value<'_>) {
        match value {
            Some(value) => K::append(builder, value),
            None => K::append_null(builder),
        }
    }
    #[inline]
    fn append_null(builder: &mut Self::Builder) {
        K::append_null(builder);
    }
    fn finish(builder: &mut Self::Builder) -> ArrayRef {
        K::finish(builder)
    }
    fn data_type() -> DataType {
        K::data_type()
    }
}

/// What is the same in every row of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The recording's id, the first column of every table.
    pub trace_id: i64,
    /// Start of the recording in nanoseconds since 1970, UTC.
    pub start_unix_ns: i64,
}

/// Collects rows of one table; implemented by every `Builder` the macro makes.
pub trait TableBuilder: Send {
    /// The table.
    fn table(&self) -> &'static Table;
    /// Rows collected since the last `finish`.
    fn len(&self) -> usize;
    /// Whether no row waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Takes the collected rows as one batch.
    fn finish(&mut self, recording: Recording) -> RecordBatch;
}

/// A column of `rows` equal values.
pub(crate) fn constant(value: i64, rows: usize) -> ArrayRef {
    Arc::new(Int64Array::from_value(value, rows))
}

/// Strips the `r#` of a column that is named like a Rust keyword.
pub(crate) const fn plain_name(name: &'static str) -> &'static str {
    let bytes = name.as_bytes();
    if bytes.len() > 2 && bytes[0] == b'r' && bytes[1] == b'#' { name.split_at(2).1 } else { name }
}

/// Declares one table: `table! { /// doc name { /// doc column: Kind, ... } derived { ... } }`.
macro_rules! table {
    (
        $(#[doc = $table_doc:literal])+
        $table:ident {
            $( $(#[doc = $doc:literal])+ $column:ident : $kind:ty, )+
        }
        $( derived {
            $( $(#[doc = $derived_doc:literal])+ $derived:ident : $derived_type:literal = $sql:literal, )+
        } )?
    ) => {
        use crate::table::*;

        /// One row, in the order of the columns.
        pub struct Row<'a> {
            $( $(#[doc = $doc])+ pub $column: <$kind as Kind>::Value<'a>, )+
        }

        /// Collects rows column by column.
        pub struct Builder {
            rows: usize,
            $( $column: <$kind as Kind>::Builder, )+
        }

        impl Default for Builder {
            fn default() -> Self {
                Builder { rows: 0, $( $column: <$kind as Kind>::builder(), )+ }
            }
        }

        impl Builder {
            /// Appends one row.
            #[inline]
            pub fn push(&mut self, row: &Row<'_>) {
                self.rows += 1;
                $( <$kind as Kind>::append(&mut self.$column, &row.$column); )+
            }
        }

        impl TableBuilder for Builder {
            fn table(&self) -> &'static Table {
                &TABLE
            }
            fn len(&self) -> usize {
                self.rows
            }
            fn finish(&mut self, recording: Recording) -> RecordBatch {
                let rows = std::mem::take(&mut self.rows);
                let mut arrays = vec![constant(recording.trace_id, rows)];
                $( arrays.push(<$kind as Kind>::finish(&mut self.$column)); )+
                if TABLE.instant().is_some() {
                    arrays.push(constant(recording.start_unix_ns, rows));
                }
                RecordBatch::try_new(TABLE.arrow_schema(), arrays)
                    .expect("the builder's columns are those of the declared schema")
            }
        }

        /// The declaration, for documentation, SQL and tests.
        pub static TABLE: Table = Table {
            name: stringify!($table),
            doc: concat!($($table_doc, "\n"),+),
            columns: &[ $( Column {
                name: plain_name(stringify!($column)),
                sql_type: <$kind as Kind>::SQL,
                nullable: <$kind as Kind>::NULLABLE,
                doc: concat!($($doc, "\n"),+),
            }, )+ ],
            derived: &[ $( $( Derived {
                name: stringify!($derived),
                sql_type: $derived_type,
                sql: $sql,
                doc: concat!($($derived_doc, "\n"),+),
            }, )+ )? ],
            types: || vec![ $( <$kind as Kind>::data_type(), )+ ],
        };
    };
}
pub(crate) use table;
