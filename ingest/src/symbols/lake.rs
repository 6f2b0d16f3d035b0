//! Names for a whole lake: every distinct address of every module is looked up once, and the results become rows
//! of the table `symbol` in `LAKE/symbols/`. Recordings are not touched, so names can come at ingest, or weeks
//! later on another machine, and more of them each time. Called by the command line.
//!
//! # Invariants
//! A key (`module_id`, `rva`) has one row in the folder once nobody writes; names from a PDB replace names from
//! exports. Running again without new files or recordings writes nothing. Tests: `tests/lake.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::resolve::{ModuleNames, NameSource, Resolver, SymbolOptions};
use super::table::{
    Known, RowKey, RowValue, add_better, for_each_batch, integer, read_rows, recordings, rva,
    symbol_files, text, write_rows,
};
use super::{Complaint, ModuleIdentity, SymbolError, Trouble};

/// Folder of the table `symbol` in a lake.
pub const SYMBOLS_FOLDER: &str = "symbols";
/// Files below which nothing is merged.
const FILES_MAX: usize = 16;
/// Largest file that is merged with others; larger ones are not worth writing again.
const SMALL_FILE_BYTES: u64 = 16 << 20;
/// Stack of the threads that look up: the reader of C++ names recurses.
const STACK_BYTES: usize = 32 << 20;

/// What happened, for the last lines of a command.
#[derive(Debug, Default)]
pub struct SymbolReport {
    /// Recordings that were read.
    pub recordings: usize,
    /// Recordings whose tables cannot be read, with the reason.
    pub recordings_failed: Vec<(PathBuf, String)>,
    /// Modules with an identity that occur in stacks.
    pub modules: usize,
    /// Of these, modules for which a PDB was found or needed no more looking.
    pub modules_with_pdb: usize,
    /// Of these, modules for which only the image was found.
    pub modules_with_exports: usize,
    /// Distinct addresses of all these modules.
    pub addresses: u64,
    /// Addresses that had a name before this run.
    pub addresses_known: u64,
    /// Addresses that got a name in this run.
    pub addresses_named: u64,
    /// Addresses whose name was replaced in this run: one from an export by one from a PDB, or any with `force`.
    pub addresses_improved: u64,
    /// Files looked at in vain, sorted.
    pub complaints: Vec<Complaint>,
    /// The file written, if any.
    pub file: Option<PathBuf>,
}

impl SymbolReport {
    /// How many candidates had one kind of trouble.
    pub fn count(&self, trouble: Trouble) -> usize {
        self.complaints.iter().filter(|complaint| complaint.trouble == trouble).count()
    }

    /// Addresses without a name after this run.
    pub fn addresses_unnamed(&self) -> u64 {
        self.addresses - self.addresses_known - self.addresses_named
    }
}

/// How far a run is.
#[derive(Clone, Debug)]
pub enum SymbolProgress {
    /// So many recordings have been read, of so many.
    Recordings(usize, usize),
    /// So many modules have been looked up, of so many.
    Modules(usize, usize),
}

/// One module of the lake and its distinct addresses.
struct Wanted {
    identity: ModuleIdentity,
    rvas: BTreeSet<u32>,
}

type Modules = BTreeMap<String, Wanted>;

/// Looks up the names that a lake lacks, and adds them to it.
///
/// # Errors
/// When the lake, or its folder of symbols, cannot be read or written. What is wrong with one recording or one
/// symbol file is in the report instead.
pub fn symbolize_lake(
    lake: &Path,
    options: &SymbolOptions,
    progress: &(dyn Fn(SymbolProgress) + Sync),
) -> Result<SymbolReport, SymbolError> {
    let mut report = SymbolReport::default();
    let modules = collect(lake, &mut report, progress)?;
    let folder = lake.join(SYMBOLS_FOLDER);
    let known = Known::load(&folder)?;
    report.modules = modules.len();
    report.addresses = modules.values().map(|module| module.rvas.len() as u64).sum();
    let work = remaining(modules, &known, options, &mut report);
    let rows = look_up(&work, options, &mut report, progress)?;
    if !rows.is_empty() {
        let (file, written) = add(&folder, rows, options.force)?;
        report.file = file;
        report.addresses_named = written.iter().filter(|key| is_new(&known, key)).count() as u64;
        report.addresses_improved = written.len() as u64 - report.addresses_named;
    }
    Ok(report)
}

fn is_new(known: &Known, (module_id, rva): &RowKey) -> bool {
    known.source(module_id, *rva).is_none()
}

/// All modules of all recordings.
fn collect(
    lake: &Path,
    report: &mut SymbolReport,
    progress: &(dyn Fn(SymbolProgress) + Sync),
) -> Result<Modules, SymbolError> {
    let folders = recordings(lake)?;
    let modules: Mutex<Modules> = Mutex::default();
    let done = AtomicUsize::new(0);
    let failed: Vec<Option<(PathBuf, String)>> = folders
        .par_iter()
        .map(|folder| {
            let outcome = collect_recording(folder);
            progress(SymbolProgress::Recordings(
                done.fetch_add(1, Ordering::Relaxed) + 1,
                folders.len(),
            ));
            match outcome {
                Ok(part) => {
                    merge(&mut modules.lock().unwrap_or_else(|it| it.into_inner()), part);
                    None
                }
                Err(error) => Some((folder.clone(), error.to_string())),
            }
        })
        .collect();
    report.recordings_failed = failed.into_iter().flatten().collect();
    report.recordings = folders.len() - report.recordings_failed.len();
    Ok(modules.into_inner().unwrap_or_else(|it| it.into_inner()))
}

/// Recordings come in any order: the union of addresses and the largest of differing parts do not depend on it.
fn merge(into: &mut Modules, part: Modules) {
    for (module_id, wanted) in part {
        match into.entry(module_id) {
            std::collections::btree_map::Entry::Vacant(entry) => {
                entry.insert(wanted);
            }
            std::collections::btree_map::Entry::Occupied(mut entry) => {
                let have = entry.get_mut();
                have.rvas.extend(wanted.rvas);
                have.identity.complete(wanted.identity);
            }
        }
    }
}

/// The modules of one recording, from `frame` and `image`.
fn collect_recording(folder: &Path) -> Result<Modules, SymbolError> {
    let images = read_images(folder)?;
    let mut modules = Modules::new();
    let columns = ["image_key", "module", "rva", "function", "module_id"];
    for_each_batch(&folder.join("frame.parquet"), &columns, |batch| {
        let (keys, names) = (batch.integers("image_key")?, batch.texts("module")?);
        let (rvas, functions) = (batch.integers("rva")?, batch.texts("function")?);
        let ids = batch.texts("module_id")?;
        for row in 0..batch.rows() {
            // Managed frames bring their name along.
            if text(&functions, row).is_some() {
                continue;
            }
            let (Some(id), Some(rva)) = (text(&ids, row), rva(&rvas, row)) else { continue };
            if let Some(module) = modules.get_mut(id) {
                module.rvas.insert(rva);
                continue;
            }
            let image = integer(&keys, row).and_then(|key| images.get(&key));
            let mut identity = image.cloned().unwrap_or_default();
            identity.module_id = id.to_owned();
            identity.module = text(&names, row).unwrap_or(&identity.module).to_owned();
            modules.insert(id.to_owned(), Wanted { identity, rvas: BTreeSet::from([rva]) });
        }
        Ok(())
    })?;
    Ok(modules)
}

/// The identity of every image of one recording, by key.
pub(super) fn read_images(folder: &Path) -> Result<FxHashMap<i64, ModuleIdentity>, SymbolError> {
    let mut images = FxHashMap::default();
    let columns = ["image_key", "size", "name", "timestamp", "pdb_name", "pdb_guid", "pdb_age"];
    for_each_batch(&folder.join("image.parquet"), &columns, |batch| {
        let (keys, sizes) = (batch.integers("image_key")?, batch.integers("size")?);
        let (names, stamps) = (batch.texts("name")?, batch.integers("timestamp")?);
        let (pdbs, guids) = (batch.texts("pdb_name")?, batch.texts("pdb_guid")?);
        let ages = batch.integers("pdb_age")?;
        let small = |value: Option<i64>| value.and_then(|value| u32::try_from(value).ok());
        for row in 0..batch.rows() {
            let Some(key) = integer(&keys, row) else { continue };
            let identity = ModuleIdentity {
                module_id: String::new(),
                module: text(&names, row).unwrap_or_default().to_owned(),
                pdb_name: text(&pdbs, row).map(str::to_owned),
                pdb_guid: text(&guids, row).map(str::to_owned),
                pdb_age: small(integer(&ages, row)),
                timestamp: small(integer(&stamps, row)),
                size: small(integer(&sizes, row)),
            };
            images.insert(key, identity);
        }
        Ok(())
    })?;
    Ok(images)
}

/// What has to be looked up: addresses without a row, and those that only an export named.
fn remaining(
    modules: Modules,
    known: &Known,
    options: &SymbolOptions,
    report: &mut SymbolReport,
) -> Vec<(ModuleIdentity, Vec<u32>)> {
    let mut work = Vec::new();
    for (module_id, wanted) in modules {
        let mut rvas = Vec::new();
        for rva in wanted.rvas {
            let source = known.source(&module_id, rva);
            report.addresses_known += u64::from(source.is_some());
            if options.force || source != Some(NameSource::Pdb) {
                rvas.push(rva);
            }
        }
        if rvas.is_empty() {
            report.modules_with_pdb += 1;
        } else {
            work.push((wanted.identity, rvas));
        }
    }
    work
}

/// Looks up all modules in parallel.
fn look_up(
    work: &[(ModuleIdentity, Vec<u32>)],
    options: &SymbolOptions,
    report: &mut SymbolReport,
    progress: &(dyn Fn(SymbolProgress) + Sync),
) -> Result<BTreeMap<RowKey, RowValue>, SymbolError> {
    let resolver = Resolver::new(options);
    let done = AtomicUsize::new(0);
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK_BYTES).build();
    let pool = pool.map_err(|error| SymbolError::Threads(error.to_string()))?;
    let found: Vec<ModuleNames> = pool.install(|| {
        work.par_iter()
            .map(|(identity, rvas)| {
                let names = resolver.resolve(identity, rvas);
                progress(SymbolProgress::Modules(
                    done.fetch_add(1, Ordering::Relaxed) + 1,
                    work.len(),
                ));
                names
            })
            .collect()
    });
    let mut rows = BTreeMap::new();
    for ((identity, _), names) in work.iter().zip(found) {
        report.complaints.extend(names.complaints);
        let Some(source) = names.source else { continue };
        match source {
            NameSource::Pdb => report.modules_with_pdb += 1,
            NameSource::Export => report.modules_with_exports += 1,
        }
        for named in names.names {
            let key = (identity.module_id.clone(), named.rva);
            rows.insert(key, RowValue { module: identity.module.clone(), named, source });
        }
    }
    report.complaints.sort();
    report.complaints.dedup();
    Ok(rows)
}

/// Publishes rows that the folder lacks, and says which. Others may add to the folder at the same time: the lock
/// makes them wait, and what they have written counts.
fn add(
    folder: &Path,
    mut rows: BTreeMap<RowKey, RowValue>,
    force: bool,
) -> Result<(Option<PathBuf>, BTreeSet<RowKey>), SymbolError> {
    fs::create_dir_all(folder).map_err(|source| SymbolError::io(folder, source))?;
    let _lock = lock(folder);
    let files = symbol_files(folder);
    let known = Known::read(&files)?;
    rows.retain(|(module_id, rva), value| {
        force || known.source(module_id, *rva).is_none_or(|have| have < value.source)
    });
    if rows.is_empty() {
        return Ok((None, BTreeSet::new()));
    }
    let written: BTreeSet<RowKey> = rows.keys().cloned().collect();
    let old = files_to_rewrite(&files, &known, &rows)?;
    for file in &old {
        let mut have = BTreeMap::new();
        read_rows(file, &mut have)?;
        for (key, value) in have {
            // With `force` the new row wins even over one from an equal source.
            if !written.contains(&key) {
                add_better(&mut rows, key, value);
            }
        }
    }
    let path = write_rows(folder, &rows)?;
    for file in old.iter().filter(|file| **file != path) {
        // A file that stays holds rows that the new one repeats word for word, or a worse name: the view copes.
        let _ = fs::remove_file(file);
    }
    Ok((Some(path), written))
}

/// Files that hold a row which is replaced, and all small ones when they have piled up.
fn files_to_rewrite(
    files: &[PathBuf],
    known: &Known,
    rows: &BTreeMap<RowKey, RowValue>,
) -> Result<Vec<PathBuf>, SymbolError> {
    let small = |file: &&PathBuf| fs::metadata(file).is_ok_and(|it| it.len() < SMALL_FILE_BYTES);
    let piled_up = files.iter().filter(small).count() >= FILES_MAX;
    let replaced: BTreeSet<&RowKey> =
        rows.keys().filter(|(id, rva)| known.source(id, *rva).is_some()).collect();
    let mut old = Vec::new();
    for file in files {
        let mut rewrite = piled_up && small(&file);
        if !rewrite && !replaced.is_empty() {
            let mut have = BTreeMap::new();
            read_rows(file, &mut have)?;
            rewrite = replaced.iter().any(|key| have.contains_key(*key));
        }
        if rewrite {
            old.push(file.clone());
        }
    }
    Ok(old)
}

/// Held until dropped. File systems without locks have none; then two writers at once may leave double rows,
/// which are equal and which the next rewrite removes.
fn lock(folder: &Path) -> Option<File> {
    let file = File::create(folder.join(".lock")).ok()?;
    file.lock().ok()?;
    Some(file)
}
