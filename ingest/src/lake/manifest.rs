//! `manifest.json` of a recording: what it was made of, by what, and how much came out.
//!
//! It says nothing of when or where, so that the same inputs give the same bytes.
//! Written by [`Staging::publish`](super::Staging::publish), read by `Lake::recordings`.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::LakeError;

/// The file in a recording's folder.
pub const MANIFEST_NAME: &str = "manifest.json";

/// A manifest larger than this is not one of ours: two hundred files of long paths are below.
pub(super) const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// How an ingest ended for a recording, as in the column `status` of `trace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Read to the end.
    Ok,
    /// Parts of it could not be read.
    Damaged,
    /// Nothing of it could be read.
    Failed,
}

impl Status {
    /// As stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Damaged => "damaged",
            Self::Failed => "failed",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        [Self::Ok, Self::Damaged, Self::Failed].into_iter().find(|status| status.as_str() == text)
    }
}

/// One file of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestInput {
    /// The path as shown.
    pub path: String,
    /// Size of the content, where it could be had.
    pub bytes: Option<u64>,
    /// Hash of the content in hex, where it could be had.
    pub content_hash: Option<String>,
}

/// One table of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ManifestTable {
    /// Rows in its Parquet file.
    pub rows: u64,
    /// Size of its Parquet file; filled in when the recording is published.
    pub bytes: u64,
}

/// What is known of a recording beside its tables.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// Version of etwas that wrote it.
    pub etwas_version: String,
    /// The options that change content, as an object; equal options give an equal fingerprint.
    pub options: Value,
    /// Name of the recording.
    pub name: String,
    /// Its files; the first gives name and path.
    pub inputs: Vec<ManifestInput>,
    /// Further copies.
    pub also_at: Vec<String>,
    /// Hash of the recording in hex; none where there is no readable content.
    pub content_hash: Option<String>,
    /// How it ended.
    pub status: Status,
    /// Why it failed or is damaged.
    pub error: Option<String>,
    /// Rows and bytes per table.
    pub tables: BTreeMap<String, ManifestTable>,
    /// Anything else the job wants to keep, such as counters; an object or null.
    pub details: Value,
}

impl Manifest {
    /// A short digest of the options, to compare.
    pub fn options_fingerprint(&self) -> String {
        fingerprint(&self.options)
    }

    /// The text of `manifest.json`: keys in order, two spaces, a line feed at the end.
    pub fn to_text(&self) -> String {
        let input = |input: &ManifestInput| {
            json!({
                "path": input.path,
                "bytes": input.bytes,
                "content_hash": input.content_hash,
            })
        };
        let table = |(name, table): (&String, &ManifestTable)| {
            (name.clone(), json!({ "rows": table.rows, "bytes": table.bytes }))
        };
        let value = json!({
            "also_at": self.also_at,
            "content_hash": self.content_hash,
            "details": self.details,
            "error": self.error,
            "etwas_version": self.etwas_version,
            "inputs": self.inputs.iter().map(input).collect::<Vec<_>>(),
            "name": self.name,
            "options": self.options,
            "options_fingerprint": self.options_fingerprint(),
            "status": self.status.as_str(),
            "tables": self.tables.iter().map(table).collect::<Map<_, _>>(),
        });
        format!("{:#}\n", sorted(value))
    }

    /// Reads what [`to_text`](Self::to_text) wrote.
    pub fn parse(text: &str, path: &Path) -> Result<Self, LakeError> {
        let damaged = |detail: String| LakeError::Damaged {
            what: "manifest",
            path: path.to_path_buf(),
            detail,
        };
        let value: Value =
            serde_json::from_str(text).map_err(|error| damaged(error.to_string()))?;
        read(&value).ok_or_else(|| damaged("a field is missing or of the wrong kind".to_owned()))
    }
}

fn read(value: &Value) -> Option<Manifest> {
    let text = |key: &str| value.get(key)?.as_str().map(str::to_owned);
    let texts = |key: &str| {
        let list = value.get(key)?.as_array()?;
        list.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
    };
    let input = |value: &Value| {
        Some(ManifestInput {
            path: value.get("path")?.as_str()?.to_owned(),
            bytes: value.get("bytes")?.as_u64(),
            content_hash: value.get("content_hash")?.as_str().map(str::to_owned),
        })
    };
    let table = |(name, value): (&String, &Value)| {
        let rows = value.get("rows")?.as_u64()?;
        let bytes = value.get("bytes")?.as_u64()?;
        Some((name.clone(), ManifestTable { rows, bytes }))
    };
    Some(Manifest {
        etwas_version: text("etwas_version")?,
        options: value.get("options")?.clone(),
        name: text("name")?,
        inputs: value.get("inputs")?.as_array()?.iter().map(input).collect::<Option<_>>()?,
        also_at: texts("also_at")?,
        content_hash: text("content_hash"),
        status: Status::parse(value.get("status")?.as_str()?)?,
        error: text("error"),
        tables: value.get("tables")?.as_object()?.iter().map(table).collect::<Option<_>>()?,
        details: value.get("details")?.clone(),
    })
}

/// A short digest of options: the same whatever the order of their keys.
pub fn fingerprint(options: &Value) -> String {
    let hash = blake3::hash(sorted(options.clone()).to_string().as_bytes());
    hash.to_hex().chars().take(16).collect()
}

/// The value with the keys of all objects in order. The depth is that of values made by us or
/// accepted by the JSON parser, which has its own limit.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let ordered: BTreeMap<String, Value> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            Value::Object(ordered.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}
