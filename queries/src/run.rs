//! Opens a lake for reading and puts questions to it. Called by the command line and by tests.
//!
//! # Invariants
//! * The database is opened read-only, without extensions from elsewhere, and DuckDB may touch no
//!   file but those of the lake and the one named for output.
//! * Values from the user are bound, never pasted into SQL.

use std::path::{Path, PathBuf};

use duckdb::types::Value;
use duckdb::{AccessMode, Config, Connection, params_from_iter};

use crate::catalog::{Catalog, catalog};
use crate::error::Error;
use crate::front_matter::{Parameter, Question};
use crate::lake_db::{self, duckdb_path, escape_glob, quote};
use crate::needs;

/// Most traces that are named one by one where their evidence is looked for.
const TRACES_NAMED_MAX: usize = 50;

/// How to open a lake.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Most memory DuckDB may use, as it writes sizes ('2GB'); by default what DuckDB decides.
    pub memory_limit: Option<String>,
    /// Threads; by default one per CPU.
    pub threads: Option<usize>,
    /// The one file outside the lake that may be written.
    pub output: Option<PathBuf>,
    /// Only these recordings, by trace_id; by default all. A few are found faster than with `trace`.
    pub only: Option<Vec<i64>>,
}

/// A lake that can be asked.
pub struct Lake {
    conn: Connection,
    root: PathBuf,
}

/// A question with what the user gives for its parameters.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Name of the question.
    pub name: String,
    /// Parameters as text, by name.
    pub parameters: Vec<(String, String)>,
    /// Pattern of trace names: the parameter `trace`, and what answerability is asked about.
    pub trace: Option<String>,
    /// Most rows wanted.
    pub limit: Option<u64>,
    /// An SQL condition over the rows, whose matches are counted.
    pub fail_if: Option<String>,
}

/// A column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Whether it holds numbers.
    pub numeric: bool,
    /// Whether the name comes from data, such as that of a trace: it says nothing of the values.
    pub given: bool,
}

/// Takes an answer row by row.
pub trait Sink {
    /// The columns, once and before any row.
    fn columns(&mut self, columns: &[Column]) -> std::io::Result<()>;
    /// One row, with a value per column.
    fn row(&mut self, row: &[Value]) -> std::io::Result<()>;
}

/// A whole answer in memory.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows.
    pub rows: Vec<Vec<Value>>,
}

impl Sink for Answer {
    fn columns(&mut self, columns: &[Column]) -> std::io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, row: &[Value]) -> std::io::Result<()> {
        self.rows.push(row.to_vec());
        Ok(())
    }
}

/// Where an answer goes.
pub enum Target<'a> {
    /// To a renderer.
    Sink(&'a mut dyn Sink),
    /// Into a Parquet file.
    Parquet(&'a Path),
}

/// What happened beside the rows.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// Rows that went to the target.
    pub rows: u64,
    /// Rows that met the condition of `fail_if`.
    pub failed: u64,
    /// Per selected trace: whether it could answer. Empty for ad-hoc SQL.
    pub traces: Vec<Answerable>,
}

/// Whether a trace can answer a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answerable {
    /// The trace.
    pub trace_id: i64,
    /// Name of the trace.
    pub trace: String,
    /// What it lacks; empty where it can answer.
    pub missing: Vec<String>,
}

impl Outcome {
    /// Number of selected traces that could answer.
    pub fn could_answer(&self) -> usize {
        self.traces.iter().filter(|t| t.missing.is_empty()).count()
    }

    /// Whether there were traces, and none could answer.
    pub fn not_answerable(&self) -> bool {
        !self.traces.is_empty() && self.could_answer() == 0
    }
}

/// What is missing, over all these traces, in the order of the question's needs.
pub fn missing(traces: &[Answerable]) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for need in traces.iter().flat_map(|t| &t.missing) {
        if !all.contains(&need.as_str()) {
            all.push(need);
        }
    }
    all
}

impl Lake {
    /// Opens a lake for reading, after bringing its database up to date.
    pub fn open(root: &Path, options: &OpenOptions) -> Result<Lake, Error> {
        if !lake_db::is_lake(root) {
            let reason = if root.exists() { "it holds no recordings" } else { "no such folder" };
            return Err(Error::NoLake { path: root.into(), reason: reason.into() });
        }
        let root = lake_db::absolute(root)?;
        let in_memory = || {
            let config = Config::default().enable_autoload_extension(false)?;
            let conn = Connection::open_in_memory_with_flags(config)?;
            lake_db::install(&conn, &root, options.only.as_deref())?;
            Ok::<_, Error>(conn)
        };
        let conn = match lake_db::refresh(&root) {
            Ok(_) if options.only.is_some() => in_memory()?,
            Ok(_) => {
                let config = Config::default()
                    .access_mode(AccessMode::ReadOnly)?
                    .enable_autoload_extension(false)?;
                Connection::open_with_flags(root.join(lake_db::DATABASE), config)?
            }
            // A lake on a medium that cannot be written is as good; its views are made in memory.
            Err(Error::File { .. }) => in_memory()?,
            Err(error) => return Err(error),
        };
        confine(&conn, &root, options)?;
        Ok(Lake { conn, root })
    }

    /// The lake's folder, absolute.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Runs ad-hoc SQL: statements in order, the answer is that of the last.
    pub fn sql(&self, sql: &str, limit: Option<u64>, target: Target<'_>) -> Result<Outcome, Error> {
        let parts = split(sql);
        let Some((last, before)) = parts.split_last() else {
            return Err(Error::Usage("no SQL statement".into()));
        };
        for part in before {
            self.conn.execute_batch(part)?;
        }
        let rows = self.deliver(last, &[], limit, target)?;
        Ok(Outcome { rows, ..Outcome::default() })
    }

    /// Runs a question.
    pub fn ask(&self, request: &Request, target: Target<'_>) -> Result<Outcome, Error> {
        let question = find(catalog(), &request.name)?;
        let (call, values) = call(question, request)?;
        let traces = self.answerable(question, trace_pattern(request).as_deref())?;
        let mut outcome = Outcome { traces, ..Outcome::default() };
        let condition = request.fail_if.as_deref();
        (outcome.rows, outcome.failed) = self
            .deliver_judged(&format!("FROM {call}"), &values, request.limit, condition, target)
            .map_err(|error| explain(error, question))?;
        Ok(outcome)
    }

    /// Runs one statement, delivers its rows, and counts those that meet a condition.
    pub(crate) fn deliver_judged(
        &self,
        sql: &str,
        values: &[Value],
        limit: Option<u64>,
        condition: Option<&str>,
        target: Target<'_>,
    ) -> Result<(u64, u64), Error> {
        let Some(condition) = condition else {
            return Ok((self.deliver(sql, values, limit, target)?, 0));
        };
        // Kept, so that the condition is tested on the very rows that are shown.
        let keep = format!("CREATE OR REPLACE TEMP TABLE etwas_answer AS {sql}");
        self.conn.prepare(&keep)?.execute(params_from_iter(values))?;
        let count = format!("SELECT count(*) FROM etwas_answer WHERE ({condition}\n)");
        let failed: i64 = self.conn.query_row(&count, [], |row| row.get(0))?;
        let rows = self.deliver("FROM etwas_answer", &[], limit, target)?;
        Ok((rows, failed.unsigned_abs()))
    }

    /// Which of the traces that match the pattern can answer a question.
    pub fn answerable(
        &self,
        question: &Question,
        trace: Option<&str>,
    ) -> Result<Vec<Answerable>, Error> {
        let sql = "SELECT t.name, t.trace_id FROM trace AS t \
                   WHERE glob_matches(t.name, CAST(? AS VARCHAR)) ORDER BY t.name, t.trace_id";
        let mut statement = self.conn.prepare(sql)?;
        let rows = statement.query_map(duckdb::params![trace], |row| {
            Ok(Answerable { trace: row.get(0)?, trace_id: row.get(1)?, missing: Vec::new() })
        })?;
        let mut out = rows.collect::<Result<Vec<_>, _>>()?;
        // Named as numbers, a few traces are all whose files are opened.
        let ids: Vec<String> = out.iter().map(|t| t.trace_id.to_string()).collect();
        let few = match ids.len() {
            1..=TRACES_NAMED_MAX => format!(" AND n.trace_id IN ({})", ids.join(", ")),
            _ => String::new(),
        };
        for need in needs::of(question) {
            let evidence = needs::evidence_sql(need);
            let sql = format!("SELECT n.trace_id FROM ({evidence}) AS n WHERE n.found > 0{few}");
            let mut statement = self.conn.prepare(&sql)?;
            let found = statement.query_map([], |row| row.get::<_, i64>(0))?;
            let found = found.collect::<Result<std::collections::HashSet<_>, _>>()?;
            for trace in out.iter_mut().filter(|t| !found.contains(&t.trace_id)) {
                trace.missing.push(need.to_owned());
            }
        }
        match trace {
            Some(glob) if out.is_empty() => Err(Error::NoTrace { glob: glob.into() }),
            _ => Ok(out),
        }
    }

    /// What a reader should know of an answer from these traces: whether some of them lost events, and
    /// how many functions on stacks have no name, where the question shows names.
    pub fn cautions(
        &self,
        question: &Question,
        traces: &[Answerable],
    ) -> Result<Vec<String>, Error> {
        let asked = traces.iter().filter(|t| t.missing.is_empty());
        let ids: Vec<String> = asked.map(|t| t.trace_id.to_string()).collect();
        let mut out = Vec::new();
        if ids.is_empty() {
            return Ok(out);
        }
        let of_them = format!("t.trace_id IN ({})", ids.join(", "));
        let sql = format!(
            "SELECT count(*), coalesce(CAST(sum(t.events_lost) AS BIGINT), 0), \
             coalesce(CAST(sum(t.buffers_lost) AS BIGINT), 0), \
             coalesce(CAST(sum(t.buffers_damaged) AS BIGINT), 0) FROM trace AS t WHERE {of_them} \
             AND (t.events_lost > 0 OR t.buffers_lost > 0 OR t.buffers_damaged > 0)"
        );
        let row = |row: &duckdb::Row<'_>| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]);
        let [lossy, events, buffers, damaged]: [i64; 4] = self.conn.query_row(&sql, [], row)?;
        if lossy > 0 {
            out.push(format!(
                "caution: {lossy} of {} traces lost records ({events} events and {buffers} buffers \
                 not recorded, {damaged} buffers damaged): what they held is not in the answer\n\
                 hint: etwas report health tells more",
                ids.len()
            ));
        }
        if question.needs().contains(&"stack") {
            let sql = format!(
                "SELECT count(*), count(*) FILTER (WHERE t.\"function\" IS NULL) \
                 FROM frame AS t WHERE {of_them}"
            );
            let row = |row: &duckdb::Row<'_>| Ok((row.get(0)?, row.get(1)?));
            let (all, unnamed): (i64, i64) = self.conn.query_row(&sql, [], row)?;
            if unnamed > 0 {
                let share = 100.0 * unnamed as f64 / all as f64;
                out.push(format!(
                    "caution: {share:.0} % of the places on stacks have no function name\n\
                     hint: etwas symbols --symbols DIR names them"
                ));
            }
        }
        Ok(out)
    }

    /// Runs one statement and delivers its rows.
    fn deliver(
        &self,
        sql: &str,
        values: &[Value],
        limit: Option<u64>,
        target: Target<'_>,
    ) -> Result<u64, Error> {
        match target {
            Target::Sink(sink) => self.deliver_rows(sql, values, limit, sink),
            Target::Parquet(path) => {
                let limit = limit.map_or(String::new(), |n| format!(" LIMIT {n}"));
                let to = quote(&duckdb_path(&output_path(path)));
                let copy = format!("COPY (FROM ({sql}){limit}) TO {to} (FORMAT parquet)");
                let mut statement = self.conn.prepare(&copy)?;
                Ok(statement.execute(params_from_iter(values))? as u64)
            }
        }
    }

    fn deliver_rows(
        &self,
        sql: &str,
        values: &[Value],
        limit: Option<u64>,
        sink: &mut dyn Sink,
    ) -> Result<u64, Error> {
        let mut statement = self.conn.prepare(sql)?;
        let mut rows = statement.query(params_from_iter(values))?;
        let columns = rows.as_ref().map(columns_of).unwrap_or_default();
        sink.columns(&columns)?;
        let mut row_values = Vec::with_capacity(columns.len());
        let mut count = 0;
        while limit.is_none_or(|limit| count < limit) {
            let Some(row) = rows.next()? else { break };
            row_values.clear();
            for at in 0..columns.len() {
                row_values.push(row.get::<_, Value>(at)?);
            }
            sink.row(&row_values)?;
            count += 1;
        }
        Ok(count)
    }

    /// The columns a question answers with: name and type as DuckDB names it.
    pub fn describe(&self, question: &Question) -> Result<Vec<(String, String)>, Error> {
        let nulls: Vec<String> = question
            .parameters()
            .iter()
            .filter(|p| p.default.is_none())
            .map(|p| format!("{} := CAST(NULL AS {})", p.name, p.sql_type))
            .collect();
        let sql = format!("DESCRIBE FROM {}({})", question.name, nulls.join(", "));
        let mut statement = self.conn.prepare(&sql)?;
        let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

/// Takes from DuckDB everything that reading this lake does not need.
fn confine(conn: &Connection, root: &Path, options: &OpenOptions) -> Result<(), Error> {
    let folder = duckdb_path(root);
    // Patterns are checked as they are written, so a folder with a `[` in its name counts twice.
    let folders = format!("[{}, {}]", quote(&folder), quote(&escape_glob(&folder)));
    let mut settings = vec![
        "SET autoinstall_known_extensions = false".to_owned(),
        format!("SET allowed_directories = {folders}"),
    ];
    if let Some(output) = &options.output {
        let path = duckdb_path(&output_path(output));
        settings.push(format!("SET allowed_paths = [{}]", quote(&path)));
    }
    let spill = std::env::temp_dir().join(format!("etwas-{}", std::process::id()));
    settings.push(format!("SET temp_directory = {}", quote(&duckdb_path(&spill))));
    if let Some(limit) = &options.memory_limit {
        settings.push(format!("SET memory_limit = {}", quote(limit)));
    }
    if let Some(threads) = options.threads {
        settings.push(format!("SET threads = {}", threads.max(1)));
    }
    // A question reads some tables twice, and a lake has hundreds of files of each: their footers
    // are kept once they are read.
    settings.push("SET parquet_metadata_cache = true".into());
    settings.push("SET enable_external_access = false".into());
    settings.push("SET lock_configuration = true".into());
    Ok(conn.execute_batch(&settings.join(";"))?)
}

/// An output path in the one form that both the permission and the statement name.
fn output_path(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.into())
}

/// The columns of a running statement.
fn columns_of(statement: &duckdb::Statement<'_>) -> Vec<Column> {
    let schema = statement.schema();
    let fields = schema.fields().iter();
    let column = |name: &str, numeric| Column { name: name.into(), numeric, given: false };
    fields.map(|f| column(f.name(), f.data_type().is_numeric())).collect()
}

/// The question called `name`, or the error that suggests others.
pub fn find<'a>(catalog: &'a Catalog, name: &str) -> Result<&'a Question, Error> {
    catalog.question(name).ok_or_else(|| {
        let near = catalog.near(name);
        let hint = match near.as_slice() {
            [] => "etwas reports lists all".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        Error::UnknownQuestion { name: name.into(), hint }
    })
}

/// The pattern of trace names, from `--trace` or `-p trace=`.
fn trace_pattern(request: &Request) -> Option<String> {
    let given = request.parameters.iter().find(|(name, _)| name == "trace");
    request.trace.clone().or_else(|| given.map(|(_, value)| value.clone()))
}

/// The macro call with placeholders, and the values for them.
pub(crate) fn call(question: &Question, request: &Request) -> Result<(String, Vec<Value>), Error> {
    let wrong = |message: String| Error::Parameter { message, signature: question.signature() };
    let mut given: Vec<(&str, &str)> =
        request.parameters.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    if let Some(trace) = &request.trace {
        given.push(("trace", trace));
    }
    let mut arguments = Vec::new();
    let mut values = Vec::new();
    for (at, (name, value)) in given.iter().enumerate() {
        let known = question.parameters().iter().find(|p| p.name == *name);
        let parameter = known.ok_or_else(|| {
            wrong(format!("question '{}' has no parameter '{name}'", question.name))
        })?;
        if given[..at].iter().any(|(other, _)| other == name) {
            return Err(wrong(format!("parameter '{name}' given twice")));
        }
        arguments.push(format!("{name} := {}", placeholder(parameter)));
        values.push(Value::Text((*value).to_owned()));
    }
    for parameter in question.parameters() {
        if parameter.default.is_none() && !given.iter().any(|(name, _)| *name == parameter.name) {
            return Err(wrong(format!("parameter '{0}' is required (-p {0}=...)", parameter.name)));
        }
    }
    Ok((format!("{}({})", question.name, arguments.join(", ")), values))
}

/// A placeholder that turns the user's text into the parameter's type.
fn placeholder(parameter: &Parameter) -> String {
    let sql_type = if parameter.sql_type.is_empty() { "VARCHAR" } else { &parameter.sql_type };
    format!("CAST(? AS {sql_type})")
}

/// A value that cannot be cast is a wrong parameter, and the signature helps.
pub(crate) fn explain(error: Error, question: &Question) -> Error {
    match error {
        Error::Sql(text) if text.starts_with("Conversion Error") => {
            let message = text.lines().next().unwrap_or_default().to_owned();
            Error::Parameter { message, signature: question.signature() }
        }
        other => other,
    }
}

/// The statements of an SQL text, without those that are empty.
pub fn split(sql: &str) -> Vec<&str> {
    let tokens = crate::lexer::tokens(sql);
    let mut out = Vec::new();
    for part in tokens.split(|t| t.is_symbol(";")) {
        let mut code = part.iter().filter(|t| t.kind != crate::lexer::Kind::Comment);
        if let (Some(first), Some(last)) = (code.next(), part.last()) {
            out.push(&sql[first.start..last.end()]);
        }
    }
    out
}

/// Whether a name matches a pattern, as the macro `glob_matches` decides: any case, `*` is any text,
/// `?` any character, everything else stands for itself.
pub fn glob_matches(name: &str, pattern: &str) -> bool {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    let pattern: Vec<char> = pattern.to_lowercase().chars().collect();
    let (mut n, mut p) = (0, 0);
    // Where the last star was, and how much of the name it has taken so far.
    let mut star: Option<(usize, usize)> = None;
    while n < name.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, n));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == name[n]) {
            (n, p) = (n + 1, p + 1);
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            (n, p) = (taken + 1, at + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_are_those_of_the_macro() {
        for (name, pattern, want) in [
            ("Lock.etl", "lock*", true),
            ("a[b]c", "a[b]c", true),
            ("abc", "a[b]c", false),
            ("aXbXc", "a*b*c", true),
            ("aXbX", "a*b*c", false),
            ("", "*", true),
            ("", "?", false),
            ("ab", "a?", true),
        ] {
            assert_eq!(glob_matches(name, pattern), want, "{name} {pattern}");
        }
    }

    #[test]
    fn statements_end_at_semicolons_outside_of_text() {
        assert_eq!(split("a ';' ; -- b;\n c;;"), ["a ';'", "c"]);
        assert!(split(" -- nothing\n;").is_empty());
    }
}
