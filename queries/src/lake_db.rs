//! Writes what a DuckDB shell opens: `LAKE/lake.duckdb` (absolute paths) and `LAKE/lake.sql` (the
//! same as text, relative paths). Both hold a view per table, every building block and question as
//! a macro, and a comment on each. Neither holds data, so neither changes when recordings come.
//!
//! Called by [`crate::run::Lake::open`] and after an ingest, through [`refresh`].
//!
//! # Invariants
//! * Only SQL that DuckDB 1.4, 1.5 and 2.0 run; storage version v1.4.0.
//! * Written aside and renamed: a reader sees the old file or the new one, and blocks nobody.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use duckdb::Connection;
use etwas_schema::{TABLES, TRACE_START, Table, domain, symbol};

use crate::catalog::{Catalog, catalog};
use crate::error::Error;
use crate::front_matter::{Creates, Parameter, Statement};
use crate::lexer::{Kind, tokens};
use crate::needs;

/// File name of the database inside a lake.
pub const DATABASE: &str = "lake.duckdb";

/// File name of the same as text.
pub const SCRIPT: &str = "lake.sql";

/// Folder of the tables without rows, which give the views their columns in an empty lake.
pub const EMPTY: &str = "empty/trace_id=0";

/// Storage version that DuckDB 1.4, 1.5 and 2.0 all open.
const STORAGE_VERSION: &str = "v1.4.0";

/// What the writer calls the database while it writes; stored names do not depend on it.
const ALIAS: &str = "lake";

/// A statement that creates something, with what goes with it once it exists.
#[derive(Clone, Debug)]
struct Creation {
    sql: String,
    comments: Vec<String>,
}

/// The file by which whoever makes a lake marks it.
pub const MARKER: &str = "etwas.json";

/// What the marker calls the layout of a lake written table by table.
pub const COMPACT_LAYOUT: &str = "tables";

/// Whether the folder is a lake: it has the marker, or recordings, or the empty tables.
pub fn is_lake(root: &Path) -> bool {
    root.join(MARKER).is_file() || root.join(EMPTY).is_dir() || has_recordings(root)
}

/// Whether the lake is laid out table by table, as [`crate::compact`] writes it.
pub fn is_compact(root: &Path) -> bool {
    fs::read_to_string(root.join(MARKER)).is_ok_and(|text| {
        serde_json::from_str::<serde_json::Value>(&text)
            .is_ok_and(|marker| marker["layout"] == COMPACT_LAYOUT)
    })
}

/// Whether at least one recording is published.
pub fn has_recordings(root: &Path) -> bool {
    recordings(root) > 0
}

/// How many recordings are published.
pub fn recordings(root: &Path) -> usize {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.filter(|e| e.file_name().to_string_lossy().starts_with("trace_id=")).count()
}

/// Brings `lake.duckdb` and `lake.sql` up to date where they are not: another version of etwas, a
/// lake that was moved, or one that was empty. Says whether it wrote.
pub fn refresh(root: &Path) -> Result<bool, Error> {
    let root = absolute(root)?;
    write_empty_tables(&root)?;
    let sources = Sources::absolute(&root);
    let all = creations(catalog(), &sources);
    let want = fingerprint(&all);
    if root.join(SCRIPT).is_file() && stored_fingerprint(&root).as_deref() == Some(&want) {
        return Ok(false);
    }
    let order = write_database(&root, &all, &want)?;
    let script = creations(catalog(), &sources.relative());
    write_script(&root, order.iter().map(|&at| &script[at]))?;
    Ok(true)
}

/// Creates every view and macro in the current catalog of `conn`, without files of its own: for
/// lakes that cannot be written to, and for a few recordings out of many.
pub fn install(conn: &Connection, root: &Path, only: Option<&[i64]>) -> Result<(), Error> {
    let mut sources = Sources::absolute(&absolute(root)?);
    if let (Recordings::All, Some(ids)) = (&sources.recordings, only) {
        sources.recordings = Recordings::Some(ids.to_vec());
    }
    create_all(conn, &creations(catalog(), &sources)).map(|_| ())
}

/// The folder with an absolute path, without the `\\?\` that Windows puts before it.
pub fn absolute(root: &Path) -> Result<PathBuf, Error> {
    let path = fs::canonicalize(root)
        .map_err(|e| Error::NoLake { path: root.into(), reason: e.to_string() })?;
    let text = path.to_string_lossy();
    Ok(match text.strip_prefix(r"\\?\") {
        Some(short) if !short.starts_with("UNC") => short.into(),
        _ => path.clone(),
    })
}

/// A path as DuckDB takes it: forward slashes.
pub fn duckdb_path(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}

/// The same, where a pattern is expected: its own `*`, `?` and `[` are taken literally.
pub fn escape_glob(path: &str) -> String {
    path.chars().fold(String::new(), |mut out, c| {
        match c {
            '*' | '?' | '[' => {
                let _ = write!(out, "[{c}]");
            }
            c => out.push(c),
        }
        out
    })
}

/// A text as an SQL string.
pub fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A name as an SQL identifier.
pub fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Which recordings a lake's views show, and how they lie.
#[derive(Clone)]
enum Recordings {
    /// None; a pattern that matches no file is an error in DuckDB.
    None,
    /// All, each in its own folder.
    All,
    /// These, each in its own folder.
    Some(Vec<i64>),
    /// All, table by table.
    Compact,
}

/// Where the views read.
#[derive(Clone)]
struct Sources {
    /// Prefix of every path: empty, or the lake's folder with a slash, escaped for patterns.
    prefix: String,
    /// Which recordings there are.
    recordings: Recordings,
    /// Whether symbol files exist.
    symbols: bool,
}

impl Sources {
    fn absolute(root: &Path) -> Sources {
        let symbols = fs::read_dir(root.join("symbols")).is_ok_and(|entries| {
            entries.flatten().any(|e| e.path().extension().is_some_and(|x| x == "parquet"))
        });
        let recordings = match () {
            () if is_compact(root) => Recordings::Compact,
            () if has_recordings(root) => Recordings::All,
            () => Recordings::None,
        };
        Sources { prefix: format!("{}/", escape_glob(&duckdb_path(root))), recordings, symbols }
    }

    fn relative(&self) -> Sources {
        Sources { prefix: String::new(), ..self.clone() }
    }

    /// The call that reads a table of the recordings. The recordings come first, so that DuckDB
    /// takes its guess of a table's size from one of them and not from the empty table.
    fn recordings(&self, table: &Table) -> String {
        let of = |folder: &str| quote(&format!("{}{folder}/{}.parquet", self.prefix, table.name));
        let mut files: Vec<String> = match &self.recordings {
            Recordings::None => Vec::new(),
            Recordings::All => vec![of("trace_id=*")],
            Recordings::Some(ids) => ids.iter().map(|id| of(&format!("trace_id={id}"))).collect(),
            Recordings::Compact => {
                let files = quote(&format!("{}{}/*.parquet", self.prefix, table.name));
                return format!("read_parquet({files}, hive_partitioning = false)");
            }
        };
        files.push(of(EMPTY));
        format!(
            "read_parquet([{}], hive_partitioning = true, hive_types = {{'trace_id': BIGINT}})",
            files.join(", ")
        )
    }

    /// The call that reads the lake's own table of symbols.
    fn symbols(&self) -> String {
        let mut files = Vec::new();
        if self.symbols {
            files.push(quote(&format!("{}symbols/*.parquet", self.prefix)));
        }
        files.push(quote(&format!("{}{EMPTY}/{}.parquet", self.prefix, symbol::TABLE.name)));
        format!("read_parquet([{}], hive_partitioning = false)", files.join(", "))
    }
}

/// Everything a lake's database holds, in no particular order of dependence.
fn creations(catalog: &Catalog, sources: &Sources) -> Vec<Creation> {
    let mut all: Vec<Creation> = TABLES
        .iter()
        .filter(|t| t.name != "frame")
        .map(|t| view(t, &columns(t), &format!("{} AS r", sources.recordings(t))))
        .collect();
    let symbols = format!("{} AS r", sources.symbols());
    all.push(view(&symbol::TABLE, &columns(&symbol::TABLE), &symbols));
    all.push(frame_view(sources));
    all.extend(domain::NAME_MACROS.iter().map(|(name, names, doc)| name_macro(name, names, doc)));
    all.extend(catalog.blocks.iter().map(|(_, block)| statement(block, &block.doc)));
    for question in &catalog.questions {
        let doc = format!("{} {}", question.question, parameter_text(question.parameters()));
        all.push(statement(&question.statement, doc.trim_end()));
    }
    all.push(questions_view(catalog));
    all.extend(needs_views(catalog));
    all
}

/// A view with its comments.
fn view(table: &Table, columns: &[(String, String, String)], from: &str) -> Creation {
    let list: Vec<String> = columns
        .iter()
        .map(|(name, sql, _)| match *sql == format!("r.{}", quote_name(name)) {
            true => sql.clone(),
            false => format!("{sql} AS {}", quote_name(name)),
        })
        .collect();
    let name = quote_name(table.name);
    let sql = format!(
        "CREATE OR REPLACE VIEW {name} AS\nSELECT\n    {}\nFROM {from}",
        list.join(",\n    ")
    );
    let mut comments = vec![format!("COMMENT ON VIEW {name} IS {}", quote(&one_line(table.doc)))];
    for (column, _, doc) in columns {
        let target = format!("{name}.{}", quote_name(column));
        comments.push(format!("COMMENT ON COLUMN {target} IS {}", quote(doc)));
    }
    Creation { sql, comments }
}

/// Name, expression and documentation of every column a view shows: stored, derived, `time`.
///
/// Every column is qualified: the parameters of a macro that reads a view reach into the view, and
/// an unqualified column of the same name would become the parameter.
fn columns(table: &Table) -> Vec<(String, String, String)> {
    let mut out = vec![(
        "trace_id".to_owned(),
        "r.\"trace_id\"".to_owned(),
        "Recording that the row belongs to.".to_owned(),
    )];
    for c in table.columns {
        out.push((c.name.into(), format!("r.{}", quote_name(c.name)), one_line(c.doc)));
    }
    for d in table.derived {
        out.push((d.name.into(), qualified(table, d.sql), one_line(d.doc)));
    }
    if let Some(instant) = table.instant() {
        // A damaged instant may lie outside what a time can hold: then there is none.
        let sql = format!("try(make_timestamp_ns(r.{TRACE_START} + r.{}))", instant.name);
        out.push(("time".into(), sql, format!("Wall-clock time (UTC) of {}.", instant.name)));
    }
    out
}

/// An expression with the table's columns qualified.
fn qualified(table: &Table, sql: &str) -> String {
    let mut out = String::new();
    let mut at = 0;
    for token in tokens(sql) {
        if token.kind == Kind::Word && table.columns.iter().any(|c| c.name == token.text) {
            out.push_str(&sql[at..token.start]);
            out.push_str("r.");
            at = token.start;
        }
    }
    out + &sql[at..]
}

/// `frame`, with names from its own columns (managed code) or from the lake's symbols.
fn frame_view(sources: &Sources) -> Creation {
    let table = etwas_schema::table("frame").expect("the schema declares frame");
    let mut columns = columns(table);
    for (name, sql, _) in &mut columns {
        if name == "function" || name == "function_offset" {
            *sql =
                format!("CASE WHEN r.\"function\" IS NULL THEN s.found.\"{name}\" ELSE {sql} END");
        }
    }
    for name in ["source_file", "source_line"] {
        let declared = symbol::TABLE.columns.iter().find(|c| c.name == name);
        let doc = declared.map_or(String::new(), |c| one_line(c.doc));
        columns.push((name.into(), format!("s.found.{name}"), doc));
    }
    // One name for a place, the richer source first ('pdb' before 'export'), so that symbols
    // found twice never double a frame. Time stamp and size alone may be those of two modules.
    let symbols = format!(
        "SELECT y.module_id, lower(y.module) AS module, y.rva, max_by({{'function': y.\"function\", \
         'function_offset': y.function_offset, 'source_file': y.source_file, \
         'source_line': y.source_line}}, y.source) AS found\n    FROM {} AS y\n    GROUP BY ALL",
        sources.symbols()
    );
    let from = format!(
        "{} AS r\nLEFT JOIN (\n    {symbols}\n) AS s ON s.module_id = r.module_id AND s.rva = r.rva\n    \
         AND s.module = lower(r.\"module\")",
        sources.recordings(table)
    );
    view(table, &columns, &from)
}

/// A macro that names the numbers of a closed set; an unknown number stays a number.
fn name_macro(name: &str, names: &[domain::Name], doc: &str) -> Creation {
    let mut arms = String::new();
    for (number, text) in names {
        let _ = write!(arms, "\n    WHEN {number} THEN {}", quote(text));
    }
    let sql = format!(
        "CREATE OR REPLACE MACRO {name}(x) AS\nCASE x{arms}\n    ELSE CAST(x AS VARCHAR)\nEND"
    );
    Creation { sql, comments: vec![format!("COMMENT ON MACRO {name} IS {}", quote(doc))] }
}

/// A statement of an SQL file with its comment.
fn statement(statement: &Statement, doc: &str) -> Creation {
    let kind = match statement.creates {
        Creates::TableMacro => "MACRO TABLE",
        Creates::ScalarMacro => "MACRO",
        Creates::View => "VIEW",
    };
    let name = quote_name(&statement.name);
    let comment = format!("COMMENT ON {kind} {name} IS {}", quote(&one_line(doc)));
    let comments = if doc.trim().is_empty() { Vec::new() } else { vec![comment] };
    Creation { sql: statement.sql.clone(), comments }
}

/// What the parameters do, for a comment.
fn parameter_text(parameters: &[Parameter]) -> String {
    let mut text = String::new();
    for p in parameters {
        let default = p.default.as_ref().map_or(String::new(), |d| format!(" (default {d})"));
        let _ = write!(text, "{}{default}: {} ", p.name, p.doc);
    }
    text
}

/// `questions`: the catalogue as a view.
fn questions_view(catalog: &Catalog) -> Creation {
    let list = |items: &[&str]| {
        let items: Vec<String> = items.iter().map(|i| quote(i)).collect();
        format!("CAST([{}] AS VARCHAR[])", items.join(", "))
    };
    let mut rows = vec![format!("(NULL, NULL, NULL, NULL, {0}, NULL, {0}, NULL, NULL)", list(&[]))];
    for q in &catalog.questions {
        let columns: Vec<&str> = q.statement.columns.iter().map(|c| c.name.as_str()).collect();
        let sources: Vec<&str> = q.values("source").collect();
        rows.push(format!(
            "({}, {}, {}, {}, {}, {}, {}, {}, {})",
            quote(&q.name),
            quote(&q.topic),
            quote(&q.title),
            quote(&q.question),
            list(&needs::of(q)),
            quote(&q.signature()),
            list(&columns),
            quote(&sources.join("; ")),
            quote(q.status()),
        ));
    }
    // The first row only gives the columns their types where there is no question at all.
    let sql = format!(
        "CREATE OR REPLACE VIEW questions AS\nSELECT *\nFROM (VALUES\n    {}\n) AS \
         q(name, topic, title, question, needs, parameters, columns, source, status)\n\
         WHERE q.name IS NOT NULL",
        rows.join(",\n    ")
    );
    let doc = "The questions this lake can be asked: FROM name(parameter := value).";
    Creation { sql, comments: vec![format!("COMMENT ON VIEW questions IS {}", quote(doc))] }
}

/// The views behind `answerable`: what each question needs, what is there, what to record.
fn needs_views(catalog: &Catalog) -> Vec<Creation> {
    let mut pairs = vec!["(NULL, NULL, NULL)".to_owned()];
    let mut every: Vec<&str> = Vec::new();
    for q in &catalog.questions {
        for need in needs::of(q) {
            let hint = needs::hint(need);
            pairs.push(format!("({}, {}, {})", quote(&q.name), quote(need), quote(&hint)));
            every.push(need);
        }
    }
    every.sort_unstable();
    every.dedup();
    let mut parts: Vec<String> = every.iter().map(|need| needs::evidence_sql(need)).collect();
    if parts.is_empty() {
        parts.push("SELECT trace_id, '' AS need, 0 AS found FROM trace WHERE false".into());
    }
    let values = format!(
        "CREATE OR REPLACE VIEW question_needs AS\nSELECT *\nFROM (VALUES\n    {}\n) AS \
         n(question, need, record_with)\nWHERE n.question IS NOT NULL",
        pairs.join(",\n    ")
    );
    let counts = format!("CREATE OR REPLACE VIEW evidence AS\n{}", parts.join("\nUNION ALL\n"));
    let comment = |view: &str, doc: &str| format!("COMMENT ON VIEW {view} IS {}", quote(doc));
    vec![
        Creation {
            sql: values,
            comments: vec![comment(
                "question_needs",
                "What each question needs (a table, or table.column), and what to record for it.",
            )],
        },
        Creation {
            sql: counts,
            comments: vec![comment(
                "evidence",
                "Per recording and need: how many rows or values there are. No row: none.",
            )],
        },
    ]
}

/// The name of what a statement creates, then every name that it mentions.
fn names(sql: &str) -> Vec<&str> {
    tokens(sql)
        .into_iter()
        .filter(|t| matches!(t.kind, Kind::Word | Kind::Quoted))
        // CREATE OR REPLACE MACRO stands before the name.
        .skip(4)
        .map(|t| t.text.trim_matches('"'))
        .collect()
}

/// Every creation after those whose names it mentions. A mention may be something else, a column
/// say, so this order is a good one and not a promise.
fn by_dependence(creations: &[Creation]) -> Vec<usize> {
    struct Visit<'a> {
        words: Vec<Vec<&'a str>>,
        seen: Vec<bool>,
        order: Vec<usize>,
    }
    fn visit(state: &mut Visit, defined: &HashMap<&str, usize>, at: usize) {
        if std::mem::replace(&mut state.seen[at], true) {
            return;
        }
        for word in 0..state.words[at].len() {
            if let Some(&used) = defined.get(state.words[at][word]) {
                visit(state, defined, used);
            }
        }
        state.order.push(at);
    }
    let words: Vec<Vec<&str>> = creations.iter().map(|c| names(&c.sql)).collect();
    let defined: HashMap<&str, usize> =
        words.iter().enumerate().filter_map(|(at, w)| Some((*w.first()?, at))).collect();
    let seen = vec![false; creations.len()];
    let mut state = Visit { words, seen, order: Vec::with_capacity(creations.len()) };
    for at in 0..creations.len() {
        visit(&mut state, &defined, at);
    }
    state.order
}

/// Creates everything, in an order that works, and returns that order.
///
/// A macro is checked when it is created, so it must come after what it uses. The files do not say
/// what uses what; trying until nothing more succeeds needs no second list that could be wrong.
fn create_all(conn: &Connection, creations: &[Creation]) -> Result<Vec<usize>, Error> {
    let mut done = Vec::new();
    let mut waiting = by_dependence(creations);
    while !waiting.is_empty() {
        let mut failed = Vec::new();
        let mut first_error = None;
        for &at in &waiting {
            let creation = &creations[at];
            if let Err(error) = conn.execute_batch(&creation.sql) {
                first_error.get_or_insert((at, error));
                failed.push(at);
                continue;
            }
            for comment in &creation.comments {
                conn.execute_batch(comment)?;
            }
            done.push(at);
        }
        if let (true, Some((at, error))) = (failed.len() == waiting.len(), first_error) {
            let head = creations[at].sql.lines().next().unwrap_or_default().to_owned();
            return Err(Error::Catalog(format!("{head}: {}", Error::from(error))));
        }
        waiting = failed;
    }
    Ok(done)
}

/// Writes the database aside and renames it. Returns the order in which things were created.
fn write_database(root: &Path, all: &[Creation], fingerprint: &str) -> Result<Vec<usize>, Error> {
    let aside = root.join(format!(".{DATABASE}.{}", std::process::id()));
    // DuckDB takes what follows a `?` in a path for options; such a lake's file is made elsewhere.
    let odd = root.to_string_lossy().contains('?');
    let elsewhere = std::env::temp_dir().join(format!("etwas-{}.duckdb", std::process::id()));
    let made = if odd { &elsewhere } else { &aside };
    let _ = fs::remove_file(made);
    let written = (|| {
        let conn = Connection::open_in_memory()?;
        conn.execute_batch(&format!(
            "SET autoinstall_known_extensions = false; SET autoload_known_extensions = false;
             ATTACH {} AS {ALIAS} (STORAGE_VERSION '{STORAGE_VERSION}'); USE {ALIAS};",
            quote(&duckdb_path(made))
        ))?;
        let order = create_all(&conn, all)?;
        conn.execute_batch(&info_view(root, fingerprint))?;
        conn.execute_batch(&format!("USE memory; DETACH {ALIAS};"))?;
        if odd {
            fs::copy(made, &aside).map_err(|e| Error::File { path: aside.clone(), source: e })?;
        }
        rename(&aside, &root.join(DATABASE)).map(|()| order)
    })();
    if written.is_err() || odd {
        let _ = fs::remove_file(made);
    }
    written
}

/// `lake_info`: which etwas wrote the file, for which folder and with which contents.
fn info_view(root: &Path, fingerprint: &str) -> String {
    format!(
        "CREATE OR REPLACE VIEW lake_info AS SELECT {} AS etwas_version, {} AS path, \
         {} AS fingerprint; \
         COMMENT ON VIEW lake_info IS 'Which etwas wrote this file, and for which folder.';",
        quote(env!("CARGO_PKG_VERSION")),
        quote(&duckdb_path(root)),
        quote(fingerprint)
    )
}

/// Writes `lake.sql`.
fn write_script<'a>(
    root: &Path,
    creations: impl Iterator<Item = &'a Creation>,
) -> Result<(), Error> {
    let mut text = format!(
        "-- Views and questions of this lake, for DuckDB 1.4 and later: `.read {SCRIPT}` in its folder.\n\
         -- Written by etwas {}; the same as {DATABASE}, with relative paths.\n\n",
        env!("CARGO_PKG_VERSION")
    );
    for creation in creations {
        for sql in std::iter::once(&creation.sql).chain(&creation.comments) {
            text.push_str(sql);
            text.push_str(";\n");
        }
        text.push('\n');
    }
    let aside = root.join(format!(".{SCRIPT}.{}", std::process::id()));
    fs::write(&aside, text).map_err(|source| Error::File { path: aside.clone(), source })?;
    rename(&aside, &root.join(SCRIPT))
}

/// Renames a file that is whole to its place.
fn rename(aside: &Path, target: &Path) -> Result<(), Error> {
    fs::rename(aside, target).map_err(|source| {
        let _ = fs::remove_file(aside);
        Error::File { path: target.into(), source }
    })
}

/// The fingerprint inside the database; NULL where there is none that can be read.
fn stored_fingerprint(root: &Path) -> Option<String> {
    let path = root.join(DATABASE);
    if !path.is_file() {
        return None;
    }
    let config = duckdb::Config::default().access_mode(duckdb::AccessMode::ReadOnly).ok()?;
    let conn = Connection::open_with_flags(path, config).ok()?;
    conn.query_row("SELECT fingerprint FROM lake_info", [], |row| row.get(0)).ok()
}

/// A number (FNV-1a) of everything a database would hold.
fn fingerprint(creations: &[Creation]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let version = env!("CARGO_PKG_VERSION");
    let texts = creations.iter().flat_map(|c| std::iter::once(&c.sql).chain(&c.comments));
    for byte in version.bytes().chain(texts.flat_map(|text| text.bytes())) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

/// Writes the tables without rows where one is missing.
pub fn write_empty_tables(root: &Path) -> Result<(), Error> {
    let folder = root.join(EMPTY);
    let every = TABLES.iter().copied().chain(std::iter::once(&symbol::TABLE));
    let missing: Vec<&Table> =
        every.filter(|t| !folder.join(format!("{}.parquet", t.name)).is_file()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(|source| Error::File { path: folder.clone(), source })?;
    let conn = Connection::open_in_memory()?;
    for table in missing {
        let aside = folder.join(format!(".{}.{}", table.name, std::process::id()));
        let sql = format!("SELECT {} WHERE false", typed_nulls(table).join(", "));
        let to = quote(&duckdb_path(&aside));
        conn.execute_batch(&format!("COPY ({sql}) TO {to} (FORMAT parquet)"))?;
        rename(&aside, &folder.join(format!("{}.parquet", table.name)))?;
    }
    Ok(())
}

/// A NULL of the right type for every stored column, in order.
pub fn typed_nulls(table: &Table) -> Vec<String> {
    let mut out = vec!["CAST(NULL AS BIGINT) AS trace_id".to_owned()];
    for c in table.columns {
        out.push(format!("CAST(NULL AS {}) AS {}", c.sql_type, quote_name(c.name)));
    }
    if table.instant().is_some() {
        out.push(format!("CAST(NULL AS BIGINT) AS {TRACE_START}"));
    }
    out
}

/// A documentation text on one line.
pub fn one_line(doc: &str) -> String {
    doc.split_whitespace().collect::<Vec<_>>().join(" ")
}
