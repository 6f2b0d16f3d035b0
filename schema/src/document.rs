//! What the declarations look like to people: SCHEMA.md and `schema.sql`. Both files are committed
//! beside this crate, and a test holds them to what these functions return.

use std::fmt::Write;

use crate::{TABLES, Table, symbol};

/// Every table, the lake's own last.
fn all() -> impl Iterator<Item = &'static Table> {
    TABLES.iter().copied().chain(std::iter::once(&symbol::TABLE))
}

/// SCHEMA.md: every table and column with its type and meaning.
pub fn schema_markdown() -> String {
    let mut out = String::from(
        "# Tables of an etwas lake\n\n\
         Every table begins with `trace_id` (BIGINT), the recording that a row belongs to.\n\
         Instants are `ts_ns` or `*_ts_ns`: nanoseconds since the start of the recording; any other `*_ns` is a duration.\n\
         Tables with an instant also have `time` (TIMESTAMP_NS, UTC), which the views compute.\n\
         Columns marked *view* are computed by the views and not stored. NULL says that the trace does not tell.\n",
    );
    for table in all() {
        let _ = write!(out, "\n## {}\n\n{}\n\n", table.name, one_line(table.doc));
        out.push_str("| column | type | NULL | meaning |\n|---|---|---|---|\n");
        for c in table.columns {
            let null = if c.nullable { "yes" } else { "" };
            let _ =
                writeln!(out, "| `{}` | {} | {null} | {} |", c.name, c.sql_type, one_line(c.doc));
        }
        for d in table.derived {
            let doc = one_line(d.doc);
            let _ = writeln!(
                out,
                "| `{}` | {} | yes | *view* `{}`: {doc} |",
                d.name, d.sql_type, d.sql
            );
        }
    }
    out
}

/// `schema.sql`: the stored tables as `CREATE TABLE` statements, for tools that read SQL.
pub fn schema_sql() -> String {
    let mut out = String::from("-- The tables of an etwas lake as they are stored.\n");
    for table in all() {
        let _ = write!(
            out,
            "\n-- {}\nCREATE TABLE {} (\n    trace_id BIGINT NOT NULL",
            one_line(table.doc),
            table.name
        );
        for c in table.columns {
            let null = if c.nullable { "" } else { " NOT NULL" };
            let _ = write!(out, ",\n    \"{}\" {}{null}", c.name, c.sql_type);
        }
        out.push_str("\n);\n");
    }
    out
}

/// A documentation text on one line.
pub fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
