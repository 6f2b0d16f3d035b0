//! Recordings: which files are parts of one, which are copies of each other, and what they are
//! called. Called through `plan`.
//!
//! Two folders of one machine hold unrelated traces more often than not, so a shared folder alone
//! joins nothing: names must say that files belong together, and their headers must agree.

use std::collections::{BTreeMap, HashMap};

use super::archive::strip_ending;
use super::scan::strip_etl;
use super::source::Input;

/// How long after the end of one part another may begin: rundown files follow their session.
pub const FOLLOW_SECONDS_MAX: i64 = 10;

/// FILETIME units in a second.
const FILETIME_PER_SECOND: i64 = 10_000_000;

/// What the header record of a file says, as far as parts of one recording must agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderFacts {
    /// FILETIME of the machine's start.
    pub boot_time: i64,
    /// Ticks of the performance counter in a second.
    pub perf_freq: i64,
    /// Clock type (1, 2 or 3).
    pub clock: u32,
    /// FILETIME of the first moment.
    pub start_filetime: i64,
    /// FILETIME of the last moment, 0 if the file was never closed.
    pub end_filetime: i64,
}

impl HeaderFacts {
    fn same_machine_and_clock(&self, other: &Self) -> bool {
        (self.boot_time, self.perf_freq, self.clock)
            == (other.boot_time, other.perf_freq, other.clock)
    }

    /// First and last moment; a file that was never closed is only known to have begun.
    fn span(&self) -> (i64, i64) {
        (self.start_filetime, self.end_filetime.max(self.start_filetime))
    }
}

/// One recording: a file, or the few files of one session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// File name without `.etl` and archive ending, with folders before it where two recordings
    /// would have the same.
    pub name: String,
    /// The parts; the file that gives the name comes first, the others follow by path.
    pub inputs: Vec<Input>,
    /// Paths of further copies, sorted.
    pub also_at: Vec<String>,
    /// What `--shard` splits by.
    pub(crate) key: String,
}

impl Recording {
    fn of(inputs: Vec<Input>) -> Self {
        let key = inputs.first().map(shard_key).unwrap_or_default();
        Self { name: String::new(), inputs, also_at: Vec::new(), key }
    }

    /// The file that holds its first part: itself, or the archive.
    pub(crate) fn file(&self) -> Option<&std::path::Path> {
        self.inputs.first().map(|input| input.place.file())
    }

    /// The path that stands for the recording.
    pub fn path(&self) -> &str {
        self.inputs.first().map_or("", |input| &input.path)
    }
}

/// Groups inputs to recordings. `facts` is asked only for files whose names say that they may
/// belong together; a file without facts stands alone.
pub fn group(inputs: Vec<Input>, facts: &dyn Fn(&Input) -> Option<HeaderFacts>) -> Vec<Recording> {
    let mut families: BTreeMap<String, Vec<Input>> = BTreeMap::new();
    for input in inputs {
        families.entry(key_of(&input.path, input.name())).or_default().push(input);
    }
    let mut recordings = Vec::new();
    for (_, mut family) in families {
        // Shorter names first: `x.etl` claims `x.kernel.etl`, not the other way round.
        family.sort_by(|a, b| {
            let rank = |input: &Input| {
                let stem = stem_of(input.name());
                // `kernel.etl` gives the name to its pair.
                (if is_user(stem) { KERNEL.len() } else { stem.len() }, input.path.clone())
            };
            rank(a).cmp(&rank(b)).then_with(|| a.place.cmp(&b.place))
        });
        divide(family, facts, &mut recordings);
    }
    settle(&mut recordings);
    recordings
}

/// Divides files of one folder and one beginning of their names.
fn divide(
    family: Vec<Input>,
    facts: &dyn Fn(&Input) -> Option<HeaderFacts>,
    recordings: &mut Vec<Recording>,
) {
    if family.len() == 1 {
        return recordings.extend(family.into_iter().map(|input| Recording::of(vec![input])));
    }
    let known: HashMap<usize, HeaderFacts> =
        family.iter().enumerate().filter_map(|(at, input)| Some((at, facts(input)?))).collect();
    let mut left: Vec<(usize, Input)> = family.into_iter().enumerate().collect();
    while !left.is_empty() {
        let (base_at, base) = left.remove(0);
        let mut parts = vec![base];
        if let Some(base_facts) = known.get(&base_at) {
            let mut span = base_facts.span();
            // Each part that joins widens the span, so look again until nothing joins.
            while let Some(next) = left.iter().position(|(at, input)| {
                known.get(at).is_some_and(|facts| {
                    facts.same_machine_and_clock(base_facts) && near(span, facts.span())
                }) && parts.iter().any(|part| belongs(part.name(), input.name()))
            }) {
                let (at, input) = left.remove(next);
                parts.push(input);
                if let Some(facts) = known.get(&at) {
                    let (start, end) = facts.span();
                    span = (span.0.min(start), span.1.max(end));
                }
            }
        }
        parts[1..].sort_by(|a, b| (&a.path, &a.place).cmp(&(&b.path, &b.place)));
        recordings.push(Recording::of(parts));
    }
}

/// Whether two spans overlap or follow each other closely.
fn near(a: (i64, i64), b: (i64, i64)) -> bool {
    let slack = FOLLOW_SECONDS_MAX * FILETIME_PER_SECOND;
    b.0.saturating_sub(a.1) <= slack && a.0.saturating_sub(b.1) <= slack
}

/// The names of the two files that a kernel and a user session leave.
const KERNEL: &str = "kernel";
const USER: &str = "user";

fn is_user(stem: &str) -> bool {
    stem.eq_ignore_ascii_case(USER)
}

/// Whether the name of `part` says that it belongs to `base`, both being in one folder.
fn belongs(base: &str, part: &str) -> bool {
    let (base, part) = (stem_of(base).to_lowercase(), stem_of(part).to_lowercase());
    let follows = part.strip_prefix(&base).is_some_and(|rest| rest.starts_with('.'));
    follows || (base == KERNEL && part == USER)
}

/// A file name without the ending of a container and without `.etl`.
fn stem_of(name: &str) -> &str {
    let name = strip_ending(name).map_or(name, |(stem, _)| stem);
    match strip_etl(name) {
        None | Some("") => name,
        Some(stem) => stem,
    }
}

/// What all files that could become one recording have in common: the folder, and the name up to
/// its first dot. `path` ends in `name`.
fn key_of(path: &str, name: &str) -> String {
    let stem = stem_of(name);
    let first = stem.split('.').next().unwrap_or(stem).to_lowercase();
    let first = if is_user(&first) { KERNEL } else { &first };
    format!("{}{first}", path.strip_suffix(name).unwrap_or_default())
}

/// Inputs are split over shards by this, so that no recording is torn apart.
fn shard_key(input: &Input) -> String {
    key_of(&input.relative, input.name())
}

/// Makes one recording of those with equal content: the first by path stays, and the paths of the
/// others are noted. `hash` is asked only where sizes are equal or unknown; what it cannot read
/// stands alone.
pub fn merge_duplicates(
    recordings: Vec<Recording>,
    hash: &dyn Fn(&Input) -> Option<[u8; 32]>,
) -> Vec<Recording> {
    let unknown = recordings.iter().any(|recording| sizes_of(recording).is_none());
    let mut by_sizes: BTreeMap<Option<Vec<u64>>, Vec<Recording>> = BTreeMap::new();
    for recording in recordings {
        // One unknown size may equal any, so all must be hashed then.
        let sizes = if unknown { None } else { sizes_of(&recording) };
        by_sizes.entry(sizes).or_default().push(recording);
    }
    let mut kept = Vec::new();
    for (_, mut alike) in by_sizes {
        if alike.len() == 1 {
            kept.append(&mut alike);
            continue;
        }
        alike.sort_by(|a, b| (a.path(), &a.inputs[0].place).cmp(&(b.path(), &b.inputs[0].place)));
        merge_alike(alike, hash, &mut kept);
    }
    settle(&mut kept);
    kept
}

/// The sizes of the parts modulo 2^32, sorted: a gzip file knows no more of its own.
fn sizes_of(recording: &Recording) -> Option<Vec<u64>> {
    let sizes = recording.inputs.iter().map(|input| input.bytes.map(|bytes| bytes & 0xFFFF_FFFF));
    let mut sizes = sizes.collect::<Option<Vec<u64>>>()?;
    sizes.sort_unstable();
    Some(sizes)
}

fn merge_alike(
    alike: Vec<Recording>,
    hash: &dyn Fn(&Input) -> Option<[u8; 32]>,
    kept: &mut Vec<Recording>,
) {
    let mut first_of: HashMap<Vec<[u8; 32]>, usize> = HashMap::new();
    for recording in alike {
        let hashes = recording.inputs.iter().map(hash).collect::<Option<Vec<_>>>();
        // Empty files have no content to be equal in; each is a finding of its own.
        let empty = recording.inputs.iter().all(|input| input.bytes == Some(0));
        let Some(mut hashes) = hashes.filter(|_| !empty) else {
            kept.push(recording);
            continue;
        };
        hashes.sort_unstable();
        match first_of.get(&hashes) {
            Some(&first) => {
                let path = recording.path().to_owned();
                kept[first].also_at.push(path);
                kept[first].also_at.extend(recording.also_at);
            }
            None => {
                first_of.insert(hashes, kept.len());
                kept.push(recording);
            }
        }
    }
}

/// Sorts recordings and names them.
fn settle(recordings: &mut [Recording]) {
    for recording in recordings.iter_mut() {
        recording.also_at.sort();
        recording.name = name_with_folders(&recording.inputs[0], 0).0;
    }
    recordings.sort_by(|a, b| (a.path(), &a.inputs[0].place).cmp(&(b.path(), &b.inputs[0].place)));
    make_unique(recordings);
}

/// Puts folders before names until no two are the same. Each round looks at all names at once, so
/// the order of recordings does not matter.
fn make_unique(recordings: &mut [Recording]) {
    let mut depth: Vec<usize> = vec![0; recordings.len()];
    loop {
        let mut count: HashMap<String, usize> = HashMap::new();
        for recording in recordings.iter() {
            *count.entry(recording.name.to_lowercase()).or_default() += 1;
        }
        let mut longer = false;
        for (recording, depth) in recordings.iter_mut().zip(&mut depth) {
            if count[&recording.name.to_lowercase()] < 2 {
                continue;
            }
            let (name, grew) = name_with_folders(&recording.inputs[0], *depth + 1);
            if grew {
                *depth += 1;
                recording.name = name;
                longer = true;
            }
        }
        if !longer {
            break;
        }
    }
    // Equal to the last folder: paths that differ only in bytes that are not Unicode, or in case.
    let mut seen: HashMap<String, usize> = HashMap::new();
    for recording in recordings.iter_mut() {
        let times = seen.entry(recording.name.to_lowercase()).or_default();
        *times += 1;
        if *times > 1 {
            recording.name = format!("{}#{times}", recording.name);
        }
    }
}

/// The name with up to `depth` folders before it, and whether there were that many.
fn name_with_folders(input: &Input, depth: usize) -> (String, bool) {
    let name = input.name();
    let folders = input.path.strip_suffix(name).unwrap_or_default();
    let folders: Vec<&str> = folders.split(['/', '!']).filter(|part| !part.is_empty()).collect();
    let first = folders.len().saturating_sub(depth);
    let parts = folders[first..].iter().copied().chain([stem_of(name)]);
    (parts.collect::<Vec<_>>().join("/"), folders.len() >= depth)
}
