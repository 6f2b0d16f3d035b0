//! Tags that lie beside the traces: `NAME.json` for one trace, and CSV tables with a row per trace.
//!
//! Read once before the jobs start. A sidecar that cannot be understood is a warning, never a failure: what lies
//! beside traces need not be meant for us.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::input::Recording;

/// Largest sidecar.
const BYTES_MAX: u64 = 16 << 20;
/// Most CSV tables that are read in a folder.
const TABLES_MAX: usize = 256;

/// Columns that say which trace a row is for.
const KEY_COLUMNS: [&str; 3] = ["name", "file", "path"];

/// Tags by name.
pub type Tags = BTreeMap<String, String>;

/// One table: per row the trace it is for, as written, and its tags.
type Rows = Vec<(String, Tags)>;

/// The rows of a folder's tables, by the last part of their key without `.etl`. Rows of one name stay in order:
/// later ones hold. Without this index every recording would look at the row of every other.
type Index = HashMap<String, Rows>;

/// Everything that was found beside the recordings.
#[derive(Debug, Default)]
pub struct Sidecars {
    folders: HashMap<PathBuf, Index>,
    /// One line for each sidecar that is not understood.
    pub warnings: Vec<String>,
}

impl Sidecars {
    /// Reads the CSV tables in the folders of these recordings.
    pub fn read(recordings: &[Recording]) -> Sidecars {
        let mut found = Sidecars::default();
        for folder in recordings.iter().filter_map(|recording| recording.file()?.parent()) {
            if !found.folders.contains_key(folder) {
                let rows = found.tables_in(folder);
                found.folders.insert(folder.to_owned(), rows);
            }
        }
        found
    }

    fn tables_in(&mut self, folder: &Path) -> Index {
        // An empty parent is the current folder.
        let listed = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let Ok(entries) = fs::read_dir(listed) else { return Index::new() };
        let is_csv =
            |path: &PathBuf| path.extension().is_some_and(|e| e.eq_ignore_ascii_case("csv"));
        let mut paths: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).filter(is_csv).collect();
        paths.sort();
        if paths.len() > TABLES_MAX {
            self.warnings.push(format!(
                "{}: only the first {TABLES_MAX} CSV files are read for tags",
                folder.display()
            ));
            paths.truncate(TABLES_MAX);
        }
        let mut index = Index::new();
        for path in paths {
            match text_of(&path).and_then(|text| table(&text)) {
                Ok(Some(rows)) => {
                    for (key, tags) in rows {
                        index.entry(last_part(&key).to_owned()).or_default().push((key, tags));
                    }
                }
                // Other tables may lie there, too; this name is meant for us.
                Ok(None) if path.file_name().is_some_and(|name| name == "tags.csv") => {
                    let what = "no column is called name, file or path";
                    self.warnings.push(format!("{}: {what}", path.display()));
                }
                Ok(None) => {}
                Err(message) => self.warnings.push(format!("{}: {message}", path.display())),
            }
        }
        index
    }

    /// The tags of a recording; its own `NAME.json` goes before tables. A bad one is a warning.
    pub fn tags(&self, recording: &Recording) -> (Tags, Option<String>) {
        let mut tags = Tags::new();
        let Some(file) = recording.file() else { return (tags, None) };
        let folder = file.parent().unwrap_or(Path::new(""));
        let name = recording.inputs.first().map_or("", |input| input.name());
        let index = self.folders.get(folder);
        let rows = |part: &str| index.and_then(|index| index.get(part)).into_iter().flatten();
        let by_name = rows(last_part(&recording.name)).filter(|(key, _)| *key == recording.name);
        let by_file = rows(last_part(name)).filter(|(key, _)| is_for(key, recording.path()));
        for (_, row) in by_name.chain(by_file) {
            tags.extend(row.iter().map(|(k, v)| (k.clone(), v.clone())));
        }
        let path = folder.join(format!("{}.json", stem(name)));
        if !path.is_file() {
            return (tags, None);
        }
        match text_of(&path).and_then(|text| object(&text)) {
            Ok(more) => {
                tags.extend(more);
                (tags, None)
            }
            Err(message) => (tags, Some(format!("{}: {message}", path.display()))),
        }
    }
}

/// A name without `.etl`.
fn stem(name: &str) -> &str {
    let at = name.len().saturating_sub(4);
    match name.get(at..) {
        Some(end) if end.eq_ignore_ascii_case(".etl") => &name[..at],
        _ => name,
    }
}

/// The last part of a path, however it is written, without `.etl`.
fn last_part(path: &str) -> &str {
    stem(path.rsplit(['/', '\\']).next().unwrap_or(path))
}

/// Whether a row whose last part fits is for the recording at this path: a bare file name is for the file beside
/// it, one with folders must be how the path ends.
fn is_for(key: &str, path: &str) -> bool {
    let (path, key) = (path.replace('\\', "/"), key.replace('\\', "/"));
    let key = key.trim_start_matches("./");
    if !key.contains('/') {
        return true;
    }
    let rest = stem(&path).strip_suffix(stem(key));
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('/') || key.starts_with('/'))
}

fn text_of(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|e| e.to_string())?.len();
    if size > BYTES_MAX {
        return Err(format!("{size} bytes are too many for a table of tags"));
    }
    let bytes = fs::read(path).map_err(|e| e.to_string())?;
    let text = String::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    Ok(text.strip_prefix('\u{FEFF}').map_or(text.clone(), str::to_owned))
}

/// A JSON object of texts, numbers and truth values.
fn object(text: &str) -> Result<Tags, String> {
    let value: Value = serde_json::from_str(text).map_err(|e| format!("it is no JSON: {e}"))?;
    let Value::Object(fields) = value else { return Err("it is no JSON object".to_owned()) };
    let tag = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        Value::Number(number) => Ok((name, number.to_string())),
        Value::Bool(truth) => Ok((name, truth.to_string())),
        _ => Err(format!("'{name}' is neither text nor number nor true or false")),
    };
    fields.into_iter().map(tag).collect()
}

/// The rows of a CSV table; `None` without a column that names traces. An empty cell is no tag.
fn table(text: &str) -> Result<Option<Rows>, String> {
    let mut records = csv(text)?.into_iter();
    let Some(header) = records.next() else { return Ok(None) };
    let is = |name: &str| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
    let Some(key) = KEY_COLUMNS.iter().find_map(|name| is(name)) else { return Ok(None) };
    let mut rows = Rows::new();
    for (number, record) in records.enumerate() {
        if record.len() != header.len() {
            return Err(format!(
                "row {} has {} cells, the header has {}",
                number + 2,
                record.len(),
                header.len()
            ));
        }
        let cells = header.iter().zip(&record).enumerate();
        let tags = cells
            .filter(|(at, (_, cell))| *at != key && !cell.is_empty())
            .map(|(_, (column, cell))| (column.trim().to_owned(), cell.clone()));
        rows.push((record[key].trim().to_owned(), tags.collect()));
    }
    Ok(Some(rows))
}

/// Splits CSV text: commas, double quotes, doubled quotes within them. Empty lines are passed over.
fn csv(text: &str) -> Result<Vec<Vec<String>>, String> {
    let (mut records, mut record, mut cell) = (Vec::new(), Vec::new(), String::new());
    let mut quoted = false;
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                cell.push('"');
            }
            '"' if quoted => quoted = false,
            '"' if cell.is_empty() => quoted = true,
            ',' if !quoted => record.push(std::mem::take(&mut cell)),
            '\r' if !quoted && characters.peek() == Some(&'\n') => {}
            '\n' if !quoted => {
                record.push(std::mem::take(&mut cell));
                let record = std::mem::take(&mut record);
                if record.iter().any(|cell| !cell.is_empty()) {
                    records.push(record);
                }
            }
            other => cell.push(other),
        }
    }
    if quoted {
        return Err("a quote is never closed".to_owned());
    }
    record.push(cell);
    if record.iter().any(|cell| !cell.is_empty()) {
        records.push(record);
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_name_traces_in_a_column() {
        let rows = table("File,hetero,note\r\na.etl,4,\"one, \"\"two\"\"\"\r\n\r\nb,3,\r\n");
        let rows = rows.unwrap().unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].0, "a.etl");
        assert_eq!(rows[0].1["note"], "one, \"two\"");
        assert_eq!(rows[1].1.len(), 1);
        assert!(table("x,y\n1,2\n").unwrap().is_none());
        assert!(table("name,y\n1\n").is_err());
        assert!(table("name,y\n\"1,2\n").is_err());
    }

    #[test]
    fn rows_are_for_a_file_name_or_the_end_of_a_path() {
        assert_eq!(last_part("runs\\one.ETL"), "one");
        assert_eq!(last_part("one"), "one");
        assert!(is_for("one.etl", "/x/runs/one.etl"));
        assert!(is_for("./runs/one", "/x/runs/one.etl"));
        assert!(is_for("C:\\runs\\one.etl", "C:\\runs\\one.etl"));
        assert!(!is_for("uns/one.etl", "/x/runs/one.etl"));
        assert!(!is_for("other/one.etl", "/x/runs/one.etl"));
    }

    #[test]
    fn objects_are_flat() {
        let tags = object(r#"{"os": "Win11", "run": 3, "good": true}"#).unwrap();
        assert_eq!(tags["run"], "3");
        assert_eq!(tags["good"], "true");
        assert!(object(r#"{"a": {}}"#).is_err());
        assert!(object("[1]").is_err());
        assert!(object("{").is_err());
    }
}
