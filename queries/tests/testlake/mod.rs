//! Makes small lakes: Parquet files in the declared schema, from SQL, with DuckDB itself.

use std::path::Path;

use duckdb::Connection;
use etwas_queries::lake_db::{self, duckdb_path, quote};
use etwas_queries::{Lake, OpenOptions};
use etwas_schema::{TABLES, TRACE_START, Table, symbol};

/// Start of every recording, in nanoseconds since 1970.
pub const START_UNIX_NS: i64 = 1_600_000_000_000_000_000;

/// A lake in a folder of its own, gone when dropped.
pub struct TestLake {
    folder: tempfile::TempDir,
}

impl TestLake {
    /// A lake without recordings.
    pub fn new() -> TestLake {
        let lake = TestLake { folder: tempfile::tempdir().expect("a temporary folder") };
        lake_db::write_empty_tables(lake.root()).expect("empty tables");
        lake
    }

    /// Its folder.
    pub fn root(&self) -> &Path {
        self.folder.path()
    }

    /// Publishes a recording. `rows` gives, by table, SQL whose columns are matched by name; what it
    /// does not name is NULL.
    pub fn trace(&self, trace_id: i64, name: &str, rows: &[(&str, &str)]) {
        let folder = self.root().join(format!("trace_id={trace_id}"));
        std::fs::create_dir_all(&folder).expect("a folder");
        let conn = Connection::open_in_memory().expect("DuckDB");
        let trace = format!(
            "SELECT {} AS name, 'ok' AS status, {} AS path, TIMESTAMP '2020-09-13 12:26:40' AS start_time,
                 10000000000 AS duration_ns, 4 AS cpu_count, 7 AS event_count, 0 AS events_lost,
                 MAP {{'machine': 'lap'}} AS tags",
            quote(name),
            quote(&format!("{name}.etl")),
        );
        for table in TABLES {
            let given = rows.iter().find(|(t, _)| *t == table.name).map(|(_, sql)| *sql);
            let sql = if table.name == "trace" { Some(trace.as_str()) } else { given };
            write(&conn, &folder.join(format!("{}.parquet", table.name)), table, trace_id, sql);
        }
    }

    /// Publishes copies of some tables of a recording, each named `t` and its number.
    #[allow(dead_code)]
    pub fn copies(&self, of: i64, numbers: std::ops::RangeInclusive<i64>, tables: &[&str]) {
        let conn = Connection::open_in_memory().expect("DuckDB");
        let model = self.root().join(format!("trace_id={of}"));
        let names = quote(&duckdb_path(&model.join("trace.parquet")));
        for number in numbers {
            let folder = self.root().join(format!("trace_id={number}"));
            std::fs::create_dir(&folder).expect("a folder");
            for table in tables {
                let file = format!("{table}.parquet");
                std::fs::copy(model.join(&file), folder.join(&file)).expect("a copy");
            }
            let to = quote(&duckdb_path(&folder.join("trace.parquet")));
            conn.execute_batch(&format!(
                "COPY (SELECT * REPLACE ('t{number}' AS name, {number} AS trace_id) FROM \
                 read_parquet({names}, hive_partitioning = false)) TO {to} (FORMAT parquet)"
            ))
            .unwrap_or_else(|e| panic!("trace {number}: {e}"));
        }
    }

    /// Adds a file of symbols.
    #[allow(dead_code)]
    pub fn symbols(&self, sql: &str) {
        let folder = self.root().join("symbols");
        std::fs::create_dir_all(&folder).expect("a folder");
        let conn = Connection::open_in_memory().expect("DuckDB");
        write(&conn, &folder.join("a.parquet"), &symbol::TABLE, 0, Some(sql));
    }

    /// Opens it.
    #[allow(dead_code)]
    pub fn open(&self) -> Lake {
        Lake::open(self.root(), &OpenOptions::default()).unwrap_or_else(|e| panic!("{e}"))
    }
}

/// Writes one table: a typed table without constraints is filled by name, then copied out.
fn write(conn: &Connection, path: &Path, table: &Table, trace_id: i64, rows: Option<&str>) {
    let nulls = lake_db::typed_nulls(table).join(", ");
    let mut sql = format!("CREATE OR REPLACE TABLE t AS SELECT {nulls} WHERE false;");
    if let Some(rows) = rows {
        sql += &format!("INSERT INTO t BY NAME {rows}; UPDATE t SET trace_id = {trace_id};");
        if table.instant().is_some() {
            sql += &format!("UPDATE t SET {TRACE_START} = {START_UNIX_NS};");
        }
    }
    sql += &format!("COPY t TO {} (FORMAT parquet);", quote(&duckdb_path(path)));
    conn.execute_batch(&sql).unwrap_or_else(|e| panic!("{}: {e}", table.name));
}

/// Copies a folder.
#[allow(dead_code)]
pub fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
