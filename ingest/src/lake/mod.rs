//! The Parquet side of the lake: one folder a recording, published by one rename.
//!
//! ```text
//! LAKE/etwas.json                      marker with the version of this layout
//! LAKE/trace_id=<id>/<table>.parquet   one recording, with manifest.json
//! LAKE/empty/trace_id=0/               every table without rows, so that views always exist
//! LAKE/.staging/<pid>-<random>/        things in the making
//! ```
//!
//! What the tables hold is not known here. Called by the job and by the command.
//!
//! # Invariants
//! - A reader sees a recording wholly or not at all, at any instant (`tests::killed_*`).
//! - Nothing of the whole lake is written for one recording, so that many may ingest at once.
//! - A dead process leaves no lock, and its litter goes with the next ingest.

mod error;
mod files;
mod id;
mod manifest;
mod session;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

pub use error::LakeError;
pub use id::{TraceId, recording_hash};
pub use manifest::{MANIFEST_NAME, Manifest, ManifestInput, ManifestTable, Status, fingerprint};
use session::{STAGING_NAME, Session};

/// Version of the layout of a lake. It goes up when older readers would go wrong.
pub const LAKE_FORMAT: u64 = 1;

/// The file that says that a folder is a lake.
pub const MARKER_NAME: &str = "etwas.json";

/// The folder of tables without rows.
pub const EMPTY_NAME: &str = "empty";

/// How a recording's folder begins.
const RECORDING_PREFIX: &str = "trace_id=";

/// In `LAKE/empty`: what the tables there look like, to renew them when tables change.
const SCHEMA_NAME: &str = "schema.json";

/// What a folder may hold and still count as empty: operating systems put these anywhere.
const IGNORED_NAMES: [&str; 5] =
    [STAGING_NAME, ".DS_Store", "Thumbs.db", "desktop.ini", "lost+found"];

/// How many ids are tried for content whose own id is taken. One step is already improbable.
const ID_ATTEMPTS: usize = 1_000;

/// A folder of recordings.
#[derive(Debug, Clone)]
pub struct Lake {
    root: PathBuf,
}

/// One recording in the lake.
#[derive(Debug)]
pub struct Entry {
    /// Its id.
    pub trace_id: TraceId,
    /// Its folder.
    pub dir: PathBuf,
    /// What it says of itself.
    pub manifest: Result<Manifest, LakeError>,
}

impl Lake {
    /// Opens a lake to read from. Nothing is written, so the lake may be read-only.
    pub fn open(dir: &Path) -> Result<Self, LakeError> {
        let lake = Self { root: dir.to_path_buf() };
        match fs::metadata(dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(LakeError::Missing { dir: dir.to_path_buf() });
            }
            Err(error) => return Err(LakeError::io("open", dir, error)),
            Ok(metadata) if !metadata.is_dir() => {
                return Err(LakeError::NotAFolder { dir: dir.to_path_buf() });
            }
            Ok(_) => {}
        }
        if lake.read_marker()? { Ok(lake) } else { Err(LakeError::NotALake { dir: dir.into() }) }
    }

    /// Opens a lake to ingest into, makes it where there is none yet, and removes what dead
    /// processes left.
    pub fn open_or_create(dir: &Path) -> Result<Self, LakeError> {
        match Self::open(dir) {
            Ok(lake) => {
                session::remove_litter(dir);
                return Ok(lake);
            }
            Err(LakeError::Missing { .. }) => {
                fs::create_dir_all(dir).map_err(|error| LakeError::io("create", dir, error))?;
            }
            Err(LakeError::NotALake { .. }) if may_become_lake(dir)? => {}
            Err(error) => return Err(error),
        }
        let lake = Self { root: dir.to_path_buf() };
        // The first name in the new folder is `.staging`, which another ingest at the same time
        // takes for what it is.
        let session = Session::create(dir)?;
        let staged = session.dir().join(MARKER_NAME);
        let text = format!("{:#}\n", json!({ "format": LAKE_FORMAT, "kind": "etwas lake" }));
        let marker = dir.join(MARKER_NAME);
        files::write_synced(&staged, text.as_bytes())
            .and_then(|()| fs::rename(&staged, &marker))
            .and_then(|()| files::sync_names(dir))
            .map_err(|error| LakeError::io("create", &marker, error))?;
        session::remove_litter(dir);
        Ok(lake)
    }

    /// The folder, as it was given.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A folder for unnamed temporary files on the lake's file system.
    pub fn scratch(&self) -> Result<PathBuf, LakeError> {
        let dir = self.root.join(STAGING_NAME);
        fs::create_dir_all(&dir).map_err(|error| LakeError::io("create", &dir, error))?;
        Ok(dir)
    }

    /// The folder of a recording, whether it exists or not.
    pub fn recording_dir(&self, trace_id: TraceId) -> PathBuf {
        self.root.join(format!("{RECORDING_PREFIX}{trace_id}"))
    }

    /// Whether there is a marker; an error where it says something else than expected.
    fn read_marker(&self) -> Result<bool, LakeError> {
        let path = self.root.join(MARKER_NAME);
        let text = match read_limited(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(LakeError::io("read", &path, error)),
        };
        let damaged = |detail: &str| LakeError::Damaged {
            what: "marker of the lake",
            path: path.clone(),
            detail: detail.to_owned(),
        };
        let value: Value =
            serde_json::from_str(&text).map_err(|error| damaged(&error.to_string()))?;
        let found = value.get("format").and_then(Value::as_u64);
        match found.ok_or_else(|| damaged("no format"))? {
            LAKE_FORMAT if value.get("layout").is_some() => {
                Err(LakeError::Compact { dir: self.root.clone() })
            }
            LAKE_FORMAT => Ok(true),
            found => {
                let (dir, known) = (self.root.clone(), LAKE_FORMAT);
                Err(LakeError::OtherFormat { dir, found, known })
            }
        }
    }

    /// Sees to it that `LAKE/empty` holds every table. `schema` is any text that changes when the
    /// tables do; `write` writes all tables without rows into the folder it is given.
    pub fn ensure_empty(
        &self,
        schema: &str,
        write: impl FnOnce(&Path) -> io::Result<()>,
    ) -> Result<(), LakeError> {
        let target = self.root.join(EMPTY_NAME);
        let expected = format!("{:#}\n", json!({ "schema": schema }));
        if read_limited(&target.join(SCHEMA_NAME)).is_ok_and(|found| found == expected) {
            return Ok(());
        }
        let session = Session::create(&self.root)?;
        let staged = session.dir().join(EMPTY_NAME);
        let tables = staged.join(format!("{RECORDING_PREFIX}0"));
        let fill = || {
            fs::create_dir_all(&tables)?;
            write(&tables)?;
            fs::write(staged.join(SCHEMA_NAME), expected)?;
            files::sync_folder(&tables)?;
            files::sync_folder(&staged)?;
            files::put_in_place(&staged, &target, &session.dir().join("old"))?;
            files::sync_names(&self.root)
        };
        fill().map_err(|error| LakeError::io("write", &target, error))
    }

    /// The id for this content: its own, or the next that no other content has.
    pub fn assign(&self, content_hash: &[u8; 32]) -> Result<TraceId, LakeError> {
        let hash = hex(content_hash);
        self.assign_where(TraceId::of_content(content_hash), |manifest| {
            manifest.content_hash.as_deref() == Some(hash.as_str())
        })
    }

    /// The id for a file without readable content.
    pub fn assign_path(&self, path: &str) -> Result<TraceId, LakeError> {
        self.assign_where(TraceId::of_path(path), |manifest| is_row_of_path(manifest, path))
    }

    fn assign_where(
        &self,
        first: TraceId,
        ours: impl Fn(&Manifest) -> bool,
    ) -> Result<TraceId, LakeError> {
        let mut id = first;
        for _ in 0..ID_ATTEMPTS {
            match self.manifest(id) {
                Ok(Some(manifest)) if !ours(&manifest) => id = id.next(),
                // A folder that does not say what it is, is replaced.
                Ok(_) | Err(LakeError::Damaged { .. }) => return Ok(id),
                Err(error) => return Err(error),
            }
        }
        Err(LakeError::NoFreeId { first: first.value().unsigned_abs() })
    }

    /// The recording of this content, if it is there whole, was made by this version with these
    /// options, and did not fail: ingesting it again would change nothing.
    pub fn is_current(
        &self,
        content_hash: &[u8; 32],
        options_fingerprint: &str,
        version: &str,
    ) -> Result<Option<Entry>, LakeError> {
        let trace_id = self.assign(content_hash)?;
        let dir = self.recording_dir(trace_id);
        let Ok(Some(manifest)) = self.manifest(trace_id) else { return Ok(None) };
        let same = manifest.etwas_version == version
            && manifest.options_fingerprint() == options_fingerprint
            && manifest.status != Status::Failed;
        let whole = || {
            manifest.tables.iter().all(|(name, table)| {
                fs::metadata(dir.join(format!("{name}.parquet")))
                    .is_ok_and(|metadata| metadata.len() == table.bytes)
            })
        };
        if same && whole() {
            return Ok(Some(Entry { trace_id, dir, manifest: Ok(manifest) }));
        }
        Ok(None)
    }

    /// The manifest of a recording; none where there is no such recording or it has none.
    pub fn manifest(&self, trace_id: TraceId) -> Result<Option<Manifest>, LakeError> {
        let path = self.recording_dir(trace_id).join(MANIFEST_NAME);
        match read_limited(&path) {
            Ok(text) => Manifest::parse(&text, &path).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                let (what, detail) = ("manifest", error.to_string());
                Err(LakeError::Damaged { what, path, detail })
            }
            Err(error) => Err(LakeError::io("read", &path, error)),
        }
    }

    /// All recordings, by id.
    pub fn recordings(&self) -> Result<Vec<Entry>, LakeError> {
        let read = || -> io::Result<Vec<TraceId>> {
            let mut ids = Vec::new();
            for entry in fs::read_dir(&self.root)? {
                ids.extend(id_of_folder(&entry?.file_name().to_string_lossy()));
            }
            ids.sort_unstable();
            Ok(ids)
        };
        let ids = read().map_err(|error| LakeError::io("list", &self.root, error))?;
        let entry = |trace_id| {
            let dir = self.recording_dir(trace_id);
            let missing = || LakeError::Damaged {
                what: "manifest",
                path: dir.join(MANIFEST_NAME),
                detail: "it is missing".to_owned(),
            };
            let manifest = self.manifest(trace_id).and_then(|found| found.ok_or_else(missing));
            // One that was removed since the list was made is not there.
            dir.is_dir().then_some(Entry { trace_id, dir, manifest })
        };
        Ok(ids.into_iter().filter_map(entry).collect())
    }

    /// Begins a recording, out of everybody's sight.
    pub fn begin(&self, trace_id: TraceId) -> Result<Staging, LakeError> {
        let session = Session::create(&self.root)?;
        let dir = session.dir().join(format!("{RECORDING_PREFIX}{trace_id}"));
        fs::create_dir(&dir).map_err(|error| LakeError::io("create", &dir, error))?;
        Ok(Staging { lake: self.clone(), session, trace_id, dir })
    }

    /// Takes a recording out; says whether there was one.
    pub fn remove(&self, trace_id: TraceId) -> Result<bool, LakeError> {
        let dir = self.recording_dir(trace_id);
        if fs::symlink_metadata(&dir).is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            return Ok(false);
        }
        let session = Session::create(&self.root)?;
        match fs::rename(&dir, session.dir().join("removed")) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(LakeError::io("remove", &dir, error)),
        }
        files::sync_names(&self.root).map_err(|error| LakeError::io("remove", &dir, error))?;
        Ok(true)
    }

    /// Takes out the row that said that this path could not be read, now that it can.
    fn forget_failure(&self, path: &str) -> Result<(), LakeError> {
        let trace_id = self.assign_path(path)?;
        match self.manifest(trace_id) {
            Ok(Some(manifest)) if is_row_of_path(&manifest, path) => {
                self.remove(trace_id).map(|_| ())
            }
            _ => Ok(()),
        }
    }
}

/// A recording in the making. Dropped without [`publish`](Self::publish), it leaves no trace.
#[derive(Debug)]
pub struct Staging {
    lake: Lake,
    session: Session,
    trace_id: TraceId,
    dir: PathBuf,
}

impl Staging {
    /// Where the tables are to be written.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Which recording this will be.
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// Makes the recording visible, in place of an older one if there is one. Either all of it is
    /// then in the lake or, with an error, nothing.
    pub fn publish(self, manifest: &Manifest) -> Result<PathBuf, LakeError> {
        let mut manifest = manifest.clone();
        for (name, table) in &mut manifest.tables {
            let path = self.dir.join(format!("{name}.parquet"));
            let metadata =
                fs::metadata(&path).map_err(|error| LakeError::io("find", &path, error))?;
            table.bytes = metadata.len();
        }
        let target = self.lake.recording_dir(self.trace_id);
        let aside = self.session.dir().join("old");
        let publish = || {
            fs::write(self.dir.join(MANIFEST_NAME), manifest.to_text())?;
            files::sync_folder(&self.dir)?;
            files::put_in_place(&self.dir, &target, &aside)?;
            files::sync_names(&self.lake.root)
        };
        publish().map_err(|error| LakeError::io("publish", &target, error))?;
        if manifest.content_hash.is_some() {
            for input in &manifest.inputs {
                self.lake.forget_failure(&input.path)?;
            }
        }
        Ok(target)
    }
}

/// Whether a manifest is the note that this path could not be read.
fn is_row_of_path(manifest: &Manifest, path: &str) -> bool {
    manifest.content_hash.is_none()
        && manifest.inputs.first().is_some_and(|input| input.path == path)
}

/// The id in a folder's name.
fn id_of_folder(name: &str) -> Option<TraceId> {
    let digits = name.strip_prefix(RECORDING_PREFIX)?;
    let id = TraceId::new(digits.parse().ok()?)?;
    // `007` and `+7` are no names of ours.
    (id.to_string() == digits).then_some(id)
}

/// Whether a folder without a marker is empty, or was put together from recordings of lakes.
fn may_become_lake(dir: &Path) -> Result<bool, LakeError> {
    let list = || -> io::Result<bool> {
        let mut foreign = false;
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if id_of_folder(&name).is_some() && entry.path().join(MANIFEST_NAME).is_file() {
                return Ok(true);
            }
            foreign |= !IGNORED_NAMES.contains(&name.as_str());
        }
        Ok(!foreign)
    };
    list().map_err(|error| LakeError::io("list", dir, error))
}

/// Reads a small file of ours.
fn read_limited(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(manifest::MANIFEST_BYTES_MAX).read_to_string(&mut text)?;
    Ok(text)
}

/// A hash as text.
pub fn hex(hash: &[u8; 32]) -> String {
    blake3::Hash::from_bytes(*hash).to_hex().to_string()
}
