//! Which names are missed most: for every module the waits and samples whose stacks pass through it without a
//! name there, and the exact file that would help. Called by `etwas symbols --report`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{Array, AsArray};
use arrow::datatypes::Int64Type;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::lake::{SYMBOLS_FOLDER, read_images};
use super::table::{Known, for_each_batch, integer, recordings, rva, text};
use super::{ModuleIdentity, SymbolError};

/// A module with frames that have no name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingModule {
    /// File name of the image.
    pub module: String,
    /// Key in the table `symbol`. Nothing: the recording does not identify the build, so no file can be named.
    pub module_id: Option<String>,
    /// The file to look for: the PDB where it is known, else the image.
    pub file: Option<String>,
    /// The id of that file in a symbol store: `file/id/file`.
    pub id: Option<String>,
    /// Context switches whose waiting or readying stack has a nameless frame of this module.
    pub waits: u64,
    /// What these threads had waited together, in nanoseconds.
    pub wait_ns: i64,
    /// Samples whose stack has a nameless frame of this module.
    pub samples: u64,
    /// Distinct nameless addresses, summed over recordings.
    pub frames: u64,
    /// Recordings with such frames.
    pub recordings: u64,
}

/// The modules whose names are missed, the most missed first.
///
/// # Errors
/// When the lake or one of its tables cannot be read.
pub fn symbol_report(lake: &Path) -> Result<Vec<MissingModule>, SymbolError> {
    let known = Known::load(&lake.join(SYMBOLS_FOLDER))?;
    let parts: Vec<BTreeMap<Key, MissingModule>> = recordings(lake)?
        .par_iter()
        .map(|folder| report_recording(folder, &known))
        .collect::<Result<_, SymbolError>>()?;
    let mut all: BTreeMap<Key, MissingModule> = BTreeMap::new();
    for (key, part) in parts.into_iter().flatten() {
        let sum = all.entry(key).or_insert_with(|| MissingModule {
            waits: 0,
            wait_ns: 0,
            samples: 0,
            frames: 0,
            recordings: 0,
            ..part.clone()
        });
        sum.waits += part.waits;
        sum.wait_ns = sum.wait_ns.saturating_add(part.wait_ns);
        sum.samples += part.samples;
        sum.frames += part.frames;
        sum.recordings += part.recordings;
    }
    let mut ranked: Vec<(Key, MissingModule)> = all.into_iter().collect();
    ranked.sort_by(|(key, a), (other, b)| {
        (b.waits + b.samples, b.frames).cmp(&(a.waits + a.samples, a.frames)).then(key.cmp(other))
    });
    Ok(ranked.into_iter().map(|(_, module)| module).collect())
}

/// Module id and, where there is none, the name.
type Key = (Option<String>, String);

fn report_recording(
    folder: &Path,
    known: &Known,
) -> Result<BTreeMap<Key, MissingModule>, SymbolError> {
    let mut modules = Vec::new();
    let nameless = nameless_frames(folder, known, &mut modules)?;
    if nameless.is_empty() {
        return Ok(BTreeMap::new());
    }
    let stacks = stacks_through(folder, &nameless)?;
    count_waits(folder, &stacks, &mut modules)?;
    count_samples(folder, &stacks, &mut modules)?;
    Ok(modules.into_iter().collect())
}

/// Frames without a name, each with the index of its module.
fn nameless_frames(
    folder: &Path,
    known: &Known,
    modules: &mut Vec<(Key, MissingModule)>,
) -> Result<FxHashMap<i64, usize>, SymbolError> {
    let images = read_images(folder)?;
    let mut indexes: BTreeMap<Key, usize> = BTreeMap::new();
    let mut nameless = FxHashMap::default();
    let columns = ["frame_id", "image_key", "module", "rva", "function", "module_id"];
    for_each_batch(&folder.join("frame.parquet"), &columns, |batch| {
        let (frames, keys) = (batch.integers("frame_id")?, batch.integers("image_key")?);
        let (names, rvas) = (batch.texts("module")?, batch.integers("rva")?);
        let (functions, ids) = (batch.texts("function")?, batch.texts("module_id")?);
        for row in 0..batch.rows() {
            let (Some(frame), Some(name)) = (integer(&frames, row), text(&names, row)) else {
                continue;
            };
            let id = text(&ids, row);
            let named = id.zip(rva(&rvas, row)).and_then(|(id, rva)| known.source(id, rva));
            if named.is_some() || text(&functions, row).is_some() {
                continue;
            }
            let module = if id.is_some() { String::new() } else { name.to_owned() };
            let index =
                *indexes.entry((id.map(str::to_owned), module.clone())).or_insert_with(|| {
                    let image = integer(&keys, row).and_then(|key| images.get(&key));
                    modules.push(((id.map(str::to_owned), module), describe(id, name, image)));
                    modules.len() - 1
                });
            modules[index].1.frames += 1;
            nameless.insert(frame, index);
        }
        Ok(())
    })?;
    Ok(nameless)
}

fn describe(id: Option<&str>, name: &str, image: Option<&ModuleIdentity>) -> MissingModule {
    let pdb = image.and_then(ModuleIdentity::pdb).map(|key| (key.name.to_string(), key.id()));
    let binary = image.and_then(ModuleIdentity::image).map(|key| (key.name.to_string(), key.id()));
    let (file, store_id) = pdb.or(binary).unzip();
    MissingModule {
        module: name.to_owned(),
        module_id: id.map(str::to_owned),
        file,
        id: store_id,
        recordings: 1,
        ..MissingModule::default()
    }
}

/// The modules that each stack passes through without a name.
type Stacks = FxHashMap<i64, BTreeSet<usize>>;

fn stacks_through(folder: &Path, nameless: &FxHashMap<i64, usize>) -> Result<Stacks, SymbolError> {
    let path = folder.join("stack.parquet");
    let mut stacks = Stacks::default();
    for_each_batch(&path, &["stack_id", "frame_ids"], |batch| {
        let ids = batch.integers("stack_id")?;
        let wrong = || SymbolError::table(&path, &"frame_ids is no list of integers");
        let lists = batch.any("frame_ids")?.as_list_opt::<i32>().ok_or_else(wrong)?;
        for row in 0..batch.rows() {
            let Some(id) = integer(&ids, row).filter(|_| lists.is_valid(row)) else { continue };
            let frames = lists.value(row);
            let frames = frames.as_primitive_opt::<Int64Type>().ok_or_else(wrong)?;
            let through: BTreeSet<usize> =
                frames.values().iter().filter_map(|frame| nameless.get(frame).copied()).collect();
            if !through.is_empty() {
                stacks.insert(id, through);
            }
        }
        Ok(())
    })?;
    Ok(stacks)
}

/// A switch counts once for a module, even where both of its stacks pass through it.
fn count_waits(
    folder: &Path,
    stacks: &Stacks,
    modules: &mut [(Key, MissingModule)],
) -> Result<(), SymbolError> {
    // Few pairs of stacks repeat very often.
    let mut pairs: FxHashMap<(i64, i64), (u64, i64)> = FxHashMap::default();
    let columns = ["new_stack_id", "ready_stack_id", "since_last_ns", "ready_ns"];
    for_each_batch(&folder.join("cswitch.parquet"), &columns, |batch| {
        let (waiting, readying) =
            (batch.integers("new_stack_id")?, batch.integers("ready_stack_id")?);
        let (since, ready) = (batch.integers("since_last_ns")?, batch.integers("ready_ns")?);
        for row in 0..batch.rows() {
            let touched =
                |id: Option<i64>| id.filter(|id| stacks.contains_key(id)).unwrap_or(i64::MIN);
            let pair = (touched(integer(&waiting, row)), touched(integer(&readying, row)));
            if pair == (i64::MIN, i64::MIN) {
                continue;
            }
            let waited = integer(&since, row).zip(integer(&ready, row));
            let (count, sum) = pairs.entry(pair).or_default();
            *count += 1;
            *sum =
                sum.saturating_add(waited.map_or(0, |(since, ready)| since.saturating_sub(ready)));
        }
        Ok(())
    })?;
    for ((waiting, readying), (count, sum)) in pairs {
        let both = [waiting, readying].into_iter().filter_map(|id| stacks.get(&id)).flatten();
        for index in both.copied().collect::<BTreeSet<usize>>() {
            modules[index].1.waits += count;
            modules[index].1.wait_ns = modules[index].1.wait_ns.saturating_add(sum);
        }
    }
    Ok(())
}

fn count_samples(
    folder: &Path,
    stacks: &Stacks,
    modules: &mut [(Key, MissingModule)],
) -> Result<(), SymbolError> {
    for_each_batch(&folder.join("sample.parquet"), &["stack_id"], |batch| {
        let ids = batch.integers("stack_id")?;
        for row in 0..batch.rows() {
            for &index in integer(&ids, row).and_then(|id| stacks.get(&id)).into_iter().flatten() {
                modules[index].1.samples += 1;
            }
        }
        Ok(())
    })
}
