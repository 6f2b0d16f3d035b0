//! Many recordings, in parallel, into one lake: what `etwas ingest` calls. Also the description of single
//! files without a lake, for `etwas info`.

use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rayon::prelude::*;
use serde_json::{Value, json};

use crate::etl::{EtlFile, OpenError, Source};
use crate::input::{HeaderFacts, Input, InputArgs, InputProblem, Limits, Recording, Shard, plan};
use crate::job::{Labels, Outcome, Surveyed, open_parts, write_failed};
use crate::lake::{
    Lake, LakeError, Manifest, ManifestInput, ManifestTable, Status, TraceId, hex, recording_hash,
};
use crate::sidecar::Sidecars;
use crate::sink::{Filter, Target, write_empty};

/// Version that recordings are marked with.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Bytes that hold the header record of any file: the first buffer of a session is seldom larger.
const HEAD_BYTES: usize = 64 << 10;

/// Peak memory of a job, up to 64 CPUs with 1 MiB buffers.
pub const JOB_MEMORY_MIB: usize = 512;

/// What is to be ingested, and how.
#[derive(Debug, Default)]
pub struct IngestOptions {
    /// Inputs.
    pub input: InputArgs,
    /// The lake's folder.
    pub lake: PathBuf,
    /// Recordings at a time; `None`: one per core.
    pub jobs: Option<usize>,
    /// Tags for every recording.
    pub tags: Vec<(String, String)>,
    /// Turns names into tags by its named groups.
    pub name_pattern: Option<regex::Regex>,
    /// Only these tables.
    pub tables: Option<Vec<String>>,
    /// Only what happened in these seconds.
    pub range_s: Option<(f64, f64)>,
    /// Which part of the list is this machine's.
    pub shard: Option<Shard>,
    /// Files are never joined to recordings.
    pub separate: bool,
    /// Also what is already there.
    pub force: bool,
    /// Only say what would be done.
    pub dry_run: bool,
}

/// What became of one recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultStatus {
    /// Ingested.
    Ok,
    /// Ingested; parts of it cannot be read.
    Damaged,
    /// Nothing could be read.
    Failed,
    /// It was there already; its own status was ok.
    Unchanged,
    /// It was there already, damaged.
    UnchangedDamaged,
    /// It would be ingested (dry run).
    Planned,
}

/// One line of the summary.
#[derive(Debug, Clone)]
pub struct RecordingResult {
    /// Name of the trace.
    pub name: String,
    /// Path as shown.
    pub path: String,
    /// Id, where one was given.
    pub trace_id: Option<i64>,
    /// What became of it.
    pub status: ResultStatus,
    /// What is wrong.
    pub error: Option<String>,
    /// What to try.
    pub hint: Option<String>,
    /// Bytes of its files.
    pub bytes: u64,
    /// What the job found.
    pub outcome: Outcome,
    /// How long it took.
    pub elapsed: Duration,
}

impl RecordingResult {
    /// Whether the exit code must remember it.
    pub fn is_trouble(&self) -> bool {
        use ResultStatus::{Damaged, Failed, UnchangedDamaged};
        matches!(self.status, Damaged | Failed | UnchangedDamaged)
    }
}

/// What an ingest came to.
#[derive(Debug, Default)]
pub struct IngestSummary {
    /// Recordings, by path.
    pub results: Vec<RecordingResult>,
}

impl IngestSummary {
    /// Whether anything went wrong, or there was nothing to ingest.
    pub fn is_trouble(&self) -> bool {
        self.results.is_empty() || self.results.iter().any(RecordingResult::is_trouble)
    }
}

/// Told of what happens, from several threads at once.
pub trait Progress: Sync {
    /// The list is made: recordings and their bytes, where known; jobs and memory at most.
    fn planned(&self, _recordings: usize, _bytes: u64, _jobs: usize, _memory_mib: usize) {}
    /// Something beside the recordings is not understood and passed over.
    fn warning(&self, _message: &str) {}
    /// A recording is done.
    fn finished(&self, _result: &RecordingResult) {}
}

impl Progress for () {}

/// Why an ingest could not even begin.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The lake.
    #[error(transparent)]
    Lake(#[from] LakeError),
    /// A table that does not exist.
    #[error("no table is called `{0}`")]
    UnknownTable(String),
    /// The threads.
    #[error("cannot start threads: {0}")]
    Threads(String),
}

/// Header facts of an input, for grouping.
fn header_facts(input: &Input, limits: &Limits) -> Option<HeaderFacts> {
    let head = input.read_head(limits, HEAD_BYTES).ok()?;
    let file = EtlFile::open(std::sync::Arc::new(head)).ok()?;
    let header = file.header();
    Some(HeaderFacts {
        boot_time: header.boot_filetime,
        perf_freq: header.perf_freq,
        clock: header.clock_type,
        start_filetime: header.start_filetime,
        end_filetime: header.end_filetime,
    })
}

/// Ingests.
pub fn run(options: &IngestOptions, progress: &dyn Progress) -> Result<IngestSummary, IngestError> {
    if let Some(unknown) =
        options.tables.iter().flatten().find(|name| etwas_schema::table(name).is_none())
    {
        return Err(IngestError::UnknownTable(unknown.clone()));
    }
    let jobs = options.jobs.unwrap_or_else(|| {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    });
    let jobs = jobs.max(1);
    let lake = if options.dry_run { None } else { Some(prepare_lake(&options.lake)?) };
    let limits = Limits::default();
    let facts = |input: &Input| header_facts(input, &limits);
    let hash = |input: &Input| input.content_hash(&limits).ok();
    let (recordings, problems) =
        plan(&options.input, options.shard, options.separate, &limits, &facts, &hash);
    let bytes = recordings.iter().flat_map(|r| &r.inputs).filter_map(|input| input.bytes).sum();
    progress.planned(recordings.len(), bytes, jobs, jobs * JOB_MEMORY_MIB);
    let threads = rayon::ThreadPoolBuilder::new().num_threads(jobs).build();
    let threads = threads.map_err(|error| IngestError::Threads(error.to_string()))?;
    let known_paths = lake.as_ref().map_or_else(|| Ok(HashSet::new()), known_paths)?;
    let sidecars = Sidecars::read(&recordings);
    sidecars.warnings.iter().for_each(|warning| progress.warning(warning));
    let context = Context {
        options,
        lake: lake.as_ref(),
        limits: &limits,
        known_paths,
        sidecars: &sidecars,
        progress,
    };
    let mut results: Vec<RecordingResult> = threads.install(|| {
        let jobs = recordings.par_iter().with_max_len(1).map(|recording| {
            let result = context.ingest(recording);
            progress.finished(&result);
            result
        });
        jobs.collect()
    });
    for problem in problems {
        let result = context.problem(&problem);
        progress.finished(&result);
        results.push(result);
    }
    results.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(IngestSummary { results })
}

fn prepare_lake(dir: &Path) -> Result<Lake, LakeError> {
    let lake = Lake::open_or_create(dir)?;
    let schema = format!("{VERSION}\n{}", etwas_schema::schema_sql());
    lake.ensure_empty(blake3::hash(schema.as_bytes()).to_hex().as_str(), write_empty)?;
    Ok(lake)
}

/// The paths of everything in the lake.
fn known_paths(lake: &Lake) -> Result<HashSet<String>, LakeError> {
    let manifests = lake.recordings()?.into_iter().filter_map(|entry| entry.manifest.ok());
    let paths = manifests.flat_map(|m| m.inputs.into_iter().map(|i| i.path).chain(m.also_at));
    Ok(paths.collect())
}

struct Context<'a> {
    options: &'a IngestOptions,
    lake: Option<&'a Lake>,
    limits: &'a Limits,
    /// Paths of what is in the lake already.
    known_paths: HashSet<String>,
    sidecars: &'a Sidecars,
    progress: &'a dyn Progress,
}

/// Trouble with a recording: what, and what to try.
struct Trouble {
    message: String,
    hint: Option<String>,
}

impl From<LakeError> for Trouble {
    fn from(error: LakeError) -> Trouble {
        Trouble { message: error.to_string(), hint: error.hint().map(str::to_owned) }
    }
}

impl Context<'_> {
    fn ingest(&self, recording: &Recording) -> RecordingResult {
        let begun = Instant::now();
        let mut result = RecordingResult {
            name: recording.name.clone(),
            path: recording.path().to_owned(),
            trace_id: None,
            status: ResultStatus::Planned,
            error: None,
            hint: None,
            bytes: recording.inputs.iter().filter_map(|input| input.bytes).sum(),
            outcome: Outcome::default(),
            elapsed: Duration::ZERO,
        };
        if let Some(lake) = self.lake
            && let Err(trouble) = self.read(lake, recording, &mut result)
        {
            result.status = ResultStatus::Failed;
            result.error = Some(trouble.message);
            result.hint = trouble.hint;
            self.publish_failure(lake, recording, &mut result);
        }
        result.elapsed = begun.elapsed();
        result
    }

    fn labels(&self, recording: &Recording) -> Labels {
        // What is said for this very ingest holds before what the name says, and that before what lies beside.
        let (mut tags, warning) = self.sidecars.tags(recording);
        if let Some(warning) = warning {
            self.progress.warning(&warning);
        }
        if let Some(pattern) = &self.options.name_pattern
            && let Some(found) = pattern.captures(&recording.name)
        {
            for name in pattern.capture_names().flatten() {
                if let Some(value) = found.name(name) {
                    tags.insert(name.to_owned(), value.as_str().to_owned());
                }
            }
        }
        tags.extend(self.options.tags.iter().cloned());
        Labels {
            name: recording.name.clone(),
            path: recording.path().to_owned(),
            also_at: recording.also_at.clone(),
            tags: tags.into_iter().collect(),
            failed_parts: Vec::new(),
            changed: None,
        }
    }

    /// What changes the content of a recording, for telling whether it is still current.
    fn options_value(&self, labels: &Labels) -> Value {
        let options = self.options;
        json!({
            "tags": labels.tags.iter().map(|(k, v)| (k.clone(), json!(v))).collect::<serde_json::Map<_, _>>(),
            "tables": options.tables,
            "range_s": options.range_s.map(|(from, to)| vec![from, to]),
        })
    }

    fn filter(&self) -> Filter {
        let ns = |seconds: f64| (seconds * 1e9).round() as i64;
        Filter {
            tables: self.options.tables.clone(),
            range_ns: self.options.range_s.map(|(from, to)| (ns(from), ns(to))),
        }
    }

    fn read(
        &self,
        lake: &Lake,
        recording: &Recording,
        result: &mut RecordingResult,
    ) -> Result<(), Trouble> {
        let scratch = lake.scratch()?;
        let mut labels = self.labels(recording);
        if self.is_known(lake, recording, &labels, result)? {
            return Ok(());
        }
        let mut opened = Vec::new();
        let mut sources: Vec<(String, std::sync::Arc<dyn Source>)> = Vec::new();
        for input in &recording.inputs {
            match input.open(self.limits, &scratch) {
                Ok(open) => {
                    sources.push((input.path.clone(), open.source()));
                    opened.push(open);
                }
                Err(error) if recording.inputs.len() == 1 => {
                    let hint = error.hint().map(str::to_owned);
                    return Err(Trouble { message: error.to_string(), hint });
                }
                Err(error) => labels.failed_parts.push(format!("{}: {error}", input.path)),
            }
        }
        let (files, failed) = open_parts(sources);
        if files.is_empty() {
            return Err(match failed.into_iter().next() {
                Some((_, error)) => not_a_trace(&error),
                None => Trouble { message: labels.failed_parts.join("; "), hint: None },
            });
        }
        labels.failed_parts.extend(failed.iter().map(|(path, error)| format!("{path}: {error}")));
        let surveyed = Surveyed::run(files).map_err(cannot_read)?;
        let hash = recording_hash(surveyed.hashes());
        result.bytes = surveyed.bytes();
        let id = lake.assign(&hash)?;
        result.trace_id = Some(id.value());
        if let Some(known) = lake.manifest(id).ok().flatten() {
            adopt_paths(&mut labels, &known);
        }
        let changed = opened.iter().find_map(|open| open.check_unchanged().err());
        labels.changed = changed.map(|error| error.to_string());
        self.publish(lake, recording, id, &hash, surveyed, &labels, &scratch, result)
    }

    /// Whether this very recording is already there: only files that were seen at this path are hashed for it.
    fn is_known(
        &self,
        lake: &Lake,
        recording: &Recording,
        labels: &Labels,
        result: &mut RecordingResult,
    ) -> Result<bool, Trouble> {
        if self.options.force || !self.known_paths.contains(recording.path()) {
            return Ok(false);
        }
        let hashes: Option<Vec<[u8; 32]>> =
            recording.inputs.iter().map(|input| input.content_hash(self.limits).ok()).collect();
        let Some(hashes) = hashes else { return Ok(false) };
        let fingerprint = crate::lake::fingerprint(&self.options_value(labels));
        let known = lake.is_current(&recording_hash(&hashes), &fingerprint, VERSION)?;
        let Some(entry) = known else { return Ok(false) };
        let Ok(manifest) = &entry.manifest else { return Ok(false) };
        let all_paths: Vec<&String> =
            manifest.inputs.iter().map(|i| &i.path).chain(&manifest.also_at).collect();
        let wanted = recording.inputs.iter().map(|i| &i.path).chain(&recording.also_at);
        if !wanted.clone().all(|path| all_paths.contains(&path)) {
            return Ok(false);
        }
        result.trace_id = Some(entry.trace_id.value());
        result.status = match manifest.status {
            Status::Ok => ResultStatus::Unchanged,
            _ => ResultStatus::UnchangedDamaged,
        };
        result.error = manifest.error.clone();
        Ok(true)
    }

    fn publish(
        &self,
        lake: &Lake,
        recording: &Recording,
        id: TraceId,
        hash: &[u8; 32],
        surveyed: Surveyed,
        labels: &Labels,
        scratch: &Path,
        result: &mut RecordingResult,
    ) -> Result<(), Trouble> {
        let hash = hex(hash);
        let staging = lake.begin(id)?;
        let target = Target::Folder(staging.dir().to_owned());
        let part_hashes: Vec<String> = surveyed.hashes().iter().map(hex).collect();
        let outcome = surveyed
            .write(id.value(), Some(&hash), labels, &target, &self.filter(), scratch)
            .map_err(cannot_write)?;
        let status = if outcome.status == "ok" { Status::Ok } else { Status::Damaged };
        let mut inputs: Vec<ManifestInput> = recording
            .inputs
            .iter()
            .map(|input| ManifestInput {
                path: input.path.clone(),
                bytes: input.bytes,
                content_hash: None,
            })
            .collect();
        for (input, hash) in inputs.iter_mut().zip(part_hashes) {
            input.content_hash = Some(hash);
        }
        if let [only] = inputs.as_mut_slice() {
            only.path.clone_from(&labels.path);
        }
        staging.publish(&Manifest {
            etwas_version: VERSION.to_owned(),
            options: self.options_value(labels),
            name: labels.name.clone(),
            inputs,
            also_at: labels.also_at.clone(),
            content_hash: Some(hash),
            status,
            error: outcome.error.clone(),
            tables: tables_of(&outcome.rows),
            details: Value::Null,
        })?;
        result.status = if status == Status::Ok { ResultStatus::Ok } else { ResultStatus::Damaged };
        result.error.clone_from(&outcome.error);
        result.outcome = outcome;
        Ok(())
    }

    /// A recording that cannot be read is a row that says so. Should even that fail, the message says both.
    fn publish_failure(&self, lake: &Lake, recording: &Recording, result: &mut RecordingResult) {
        let labels = self.labels(recording);
        let hash = match recording.inputs.as_slice() {
            [only] if result.bytes > 0 => only.content_hash(self.limits).ok(),
            _ => None,
        };
        let error = result.error.clone().unwrap_or_default();
        if let Err(trouble) = self.publish_failed_row(lake, &labels, hash, result, &error) {
            result.error =
                Some(format!("{error}; and its row cannot be written: {}", trouble.message));
        }
    }

    fn publish_failed_row(
        &self,
        lake: &Lake,
        labels: &Labels,
        hash: Option<[u8; 32]>,
        result: &mut RecordingResult,
        error: &str,
    ) -> Result<(), Trouble> {
        let id = match &hash {
            Some(hash) => lake.assign(hash)?,
            None => lake.assign_path(&labels.path)?,
        };
        result.trace_id = Some(id.value());
        let hash = hash.as_ref().map(hex);
        let staging = lake.begin(id)?;
        let target = Target::Folder(staging.dir().to_owned());
        let bytes = result.bytes;
        let rows = write_failed(id.value(), labels, bytes, hash.as_deref(), error, &target)
            .map_err(cannot_write)?;
        staging.publish(&Manifest {
            etwas_version: VERSION.to_owned(),
            options: self.options_value(labels),
            name: labels.name.clone(),
            inputs: vec![ManifestInput {
                path: labels.path.clone(),
                bytes: Some(bytes),
                content_hash: hash.clone(),
            }],
            also_at: labels.also_at.clone(),
            content_hash: hash,
            status: Status::Failed,
            error: Some(error.to_owned()),
            tables: tables_of(&rows),
            details: Value::Null,
        })?;
        Ok(())
    }

    /// An argument that yields no input is a failed row, too.
    fn problem(&self, problem: &InputProblem) -> RecordingResult {
        let name = crate::state::facts::file_name(&problem.path);
        let mut result = RecordingResult {
            name: name.strip_suffix(".etl").unwrap_or(name).to_owned(),
            path: problem.path.clone(),
            trace_id: None,
            status: ResultStatus::Failed,
            error: Some(problem.message.clone()),
            hint: problem.hint.clone(),
            bytes: 0,
            outcome: Outcome::default(),
            elapsed: Duration::ZERO,
        };
        let labels =
            Labels { name: result.name.clone(), path: problem.path.clone(), ..Labels::default() };
        if let Some(lake) = self.lake
            && let Err(trouble) =
                self.publish_failed_row(lake, &labels, None, &mut result, &problem.message)
        {
            result.error = Some(format!(
                "{}; and its row cannot be written: {}",
                problem.message, trouble.message
            ));
        }
        result
    }
}

/// A recording found at a further path keeps the paths it had; the first of all in order stands for it.
fn adopt_paths(labels: &mut Labels, known: &Manifest) {
    let old = known.inputs.iter().take(1).map(|input| input.path.clone());
    let mut paths: Vec<String> = old.chain(known.also_at.iter().cloned()).collect();
    paths.push(labels.path.clone());
    paths.append(&mut labels.also_at);
    paths.sort();
    paths.dedup();
    if known.inputs.len() == 1 && paths[0] != labels.path {
        labels.name.clone_from(&known.name);
    }
    if known.inputs.len() == 1 {
        labels.path = paths.remove(0);
    } else {
        paths.retain(|path| *path != labels.path && !known.inputs.iter().any(|i| i.path == *path));
    }
    labels.also_at = paths;
}

fn tables_of(rows: &[(&'static str, u64)]) -> BTreeMap<String, ManifestTable> {
    let table = |(name, rows): &(&str, u64)| {
        ((*name).to_owned(), ManifestTable { rows: *rows, ..ManifestTable::default() })
    };
    rows.iter().map(table).collect()
}

fn not_a_trace(error: &OpenError) -> Trouble {
    let hint = match error {
        OpenError::Empty => "the recorder wrote nothing into it; record again",
        OpenError::NotEtl { .. } => "only Windows event traces (.etl) can be ingested",
        OpenError::Io(_) => "check that the file can be read",
    };
    Trouble { message: error.to_string(), hint: Some(hint.to_owned()) }
}

fn cannot_read(error: io::Error) -> Trouble {
    let hint = Some("check the disk, and that the file does not change".to_owned());
    Trouble { message: format!("cannot be read: {error}"), hint }
}

fn cannot_write(error: io::Error) -> Trouble {
    let hint = match error.kind() {
        io::ErrorKind::StorageFull => "make room on the lake's disk and run the same command again",
        io::ErrorKind::PermissionDenied => "check that the lake's folder can be written",
        _ => "run the same command again",
    };
    Trouble {
        message: format!("its tables cannot be written: {error}"),
        hint: Some(hint.to_owned()),
    }
}

/// One file as `info` shows it: the rows of its small tables, in a folder that is gone with it.
pub struct Described {
    /// Folder with the Parquet files of the recording, below `trace_id=...`.
    pub folder: tempfile::TempDir,
    /// What was found.
    pub summary: IngestSummary,
}

/// Describes files without a lake: they are ingested into a temporary one, without the large tables.
pub fn describe(inputs: Vec<std::ffi::OsString>) -> Result<Described, IngestError> {
    let folder = tempfile::tempdir().map_err(|e| IngestError::Threads(e.to_string()))?;
    let options = IngestOptions {
        input: InputArgs { inputs, ..InputArgs::default() },
        lake: folder.path().join("lake"),
        separate: true,
        ..IngestOptions::default()
    };
    let summary = run(&options, &())?;
    Ok(Described { folder, summary })
}
