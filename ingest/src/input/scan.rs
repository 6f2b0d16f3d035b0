//! From arguments to the list of inputs: folders are searched, patterns expanded, lists read,
//! archives listed. Called through `expand`.
//!
//! Opening and decoding come later and elsewhere; of archives only the directory is read here.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use super::archive::{self, ArchiveKind, BEGINNING_BYTES, Container, StreamKind};
use super::limits::{FOLDER_DEPTH_MAX, INPUTS_MAX};
use super::source::{Input, Place, first_bytes};
use super::{FilesFrom, InputArgs, InputError, InputList, InputProblem, Limits};

/// How much of a compressed stream is unpacked to see whether a trace is in it.
const SNIFF_BYTES: usize = 0x68;

/// What a pattern is recognised by, where no file of that very name exists.
const PATTERN_CHARACTERS: [char; 3] = ['*', '?', '['];

/// Lists the inputs. Standard input is read where `--files-from -` says so.
pub fn expand(args: &InputArgs, limits: &Limits) -> InputList {
    expand_from(args, limits, &mut io::stdin().lock())
}

/// [`expand`] with another standard input.
pub fn expand_from(args: &InputArgs, limits: &Limits, stdin: &mut dyn Read) -> InputList {
    let mut scan = Scan { args, limits, found: BTreeMap::new(), problems: Vec::new() };
    for argument in &args.inputs {
        scan.argument(argument);
    }
    if let Some(from) = &args.files_from {
        scan.list(from, stdin);
    }
    scan.finish()
}

struct Scan<'a> {
    args: &'a InputArgs,
    limits: &'a Limits,
    /// By what is opened, so that a file reached twice is one input.
    found: BTreeMap<Place, Input>,
    problems: Vec<InputProblem>,
}

/// A file that may hold traces, under the names it has.
struct Candidate {
    real: PathBuf,
    shown: String,
    relative: String,
    /// Named by the user, hence taken whatever its name.
    explicit: bool,
}

impl Scan<'_> {
    fn finish(mut self) -> InputList {
        let mut inputs: Vec<Input> = self.found.into_values().collect();
        inputs.sort_by(|a, b| (&a.path, &a.place).cmp(&(&b.path, &b.place)));
        if inputs.len() > INPUTS_MAX {
            let message = format!("{} inputs, more than the limit of {INPUTS_MAX}", inputs.len());
            let dropped = inputs.split_off(INPUTS_MAX);
            let path = dropped.into_iter().next().map(|input| input.path).unwrap_or_default();
            let hint = Some("ingest parts of the folder one after the other".to_owned());
            self.problems.push(InputProblem { key: path.clone(), path, message, hint });
        }
        self.problems.sort_by(|a, b| (&a.path, &a.message).cmp(&(&b.path, &b.message)));
        self.problems.dedup();
        InputList { inputs, problems: self.problems }
    }

    fn problem(&mut self, path: &str, relative: &str, message: String, hint: Option<&str>) {
        self.problems.push(InputProblem {
            path: path.to_owned(),
            message,
            hint: hint.map(str::to_owned),
            key: relative.to_owned(),
        });
    }

    fn refuse(&mut self, path: &str, relative: &str, error: &InputError) {
        self.problem(path, relative, error.to_string(), error.hint());
    }

    /// One INPUT.
    fn argument(&mut self, argument: &OsStr) {
        let shown = shown(Path::new(argument));
        if argument.is_empty() {
            return self.problem("", "", "an empty name".to_owned(), None);
        }
        if shown.contains('\0') {
            return self.refuse(&shown, &shown, &InputError::NulInName);
        }
        match fs::metadata(argument) {
            Ok(metadata) => self.existing(Path::new(argument), &shown, &shown, &metadata),
            Err(error) => {
                let pattern = argument.to_str().filter(|text| text.contains(PATTERN_CHARACTERS));
                match pattern {
                    Some(pattern) => self.pattern(pattern, &shown),
                    None => self.refuse(&shown, &shown, &InputError::io("open", error)),
                }
            }
        }
    }

    /// A file or folder that the user named or a pattern matched.
    fn existing(&mut self, path: &Path, shown: &str, relative: &str, metadata: &fs::Metadata) {
        if metadata.is_dir() {
            return self.folder(path, shown);
        }
        if self.excluded(shown, relative) {
            return;
        }
        if !metadata.is_file() {
            return self.refuse(shown, relative, &InputError::NotAFile);
        }
        self.candidate(Candidate {
            real: path.to_path_buf(),
            shown: shown.to_owned(),
            relative: relative.to_owned(),
            explicit: true,
        });
    }

    /// A pattern, which is expanded here because not every shell does.
    fn pattern(&mut self, pattern: &str, shown_pattern: &str) {
        let options = glob::MatchOptions {
            // Windows does not tell the cases apart, and every machine must find the same.
            case_sensitive: false,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let paths = match glob::glob_with(pattern, options) {
            Ok(paths) => paths,
            Err(error) => {
                let message = format!("not a pattern: {error}");
                return self.problem(shown_pattern, shown_pattern, message, None);
            }
        };
        let fixed = fixed_folder(shown_pattern);
        let mut any = false;
        for path in paths {
            any = true;
            match path {
                Ok(path) => {
                    let shown = shown(&path);
                    let relative = shown.strip_prefix(&fixed).unwrap_or(&shown).to_owned();
                    match fs::metadata(&path) {
                        Ok(metadata) => self.existing(&path, &shown, &relative, &metadata),
                        Err(error) => {
                            self.refuse(&shown, &relative, &InputError::io("open", error));
                        }
                    }
                }
                Err(error) => {
                    let shown = shown(error.path());
                    self.refuse(&shown, &shown, &InputError::io("search", error.into()));
                }
            }
        }
        if !any {
            let message = "no file matches the pattern".to_owned();
            self.problem(shown_pattern, shown_pattern, message, Some(HINT_TRACES));
        }
    }

    /// A folder is searched with all below. Links to folders are followed after the real ones, and
    /// each folder is searched once, so that loops end and a file keeps its real path.
    fn folder(&mut self, top: &Path, shown_top: &str) {
        let before = self.found.len() + self.problems.len();
        let mut seen = HashSet::new();
        let mut real = VecDeque::from([Folder::top(top)]);
        let mut linked = VecDeque::new();
        let mut excluded = 0;
        while let Some(folder) = real.pop_front().or_else(|| linked.pop_front()) {
            if fs::canonicalize(&folder.path).is_ok_and(|path| !seen.insert(path)) {
                continue;
            }
            let shown_folder = join(shown_top, &folder.relative);
            let entries = match sorted_entries(&folder.path) {
                Ok(entries) => entries,
                Err(error) => {
                    let error = InputError::io("search", error);
                    self.refuse(&shown_folder, &folder.relative, &error);
                    continue;
                }
            };
            for (name, path) in entries {
                let relative = join(&folder.relative, &name);
                let shown = join(shown_top, &relative);
                if self.excluded(&shown, &relative) {
                    excluded += 1;
                } else if let Some((below, link)) = self.entry(path, shown, relative, folder.depth)
                {
                    if link { &mut linked } else { &mut real }.push_back(below);
                }
            }
        }
        if self.found.len() + self.problems.len() == before && !self.holds_found(top) {
            let message = match excluded {
                0 => "no traces in this folder".to_owned(),
                count => format!("no traces in this folder ({count} names excluded)"),
            };
            self.problem(shown_top, shown_top, message, Some(HINT_TRACES));
        }
    }

    /// One name in a folder; returns the folder it is, and whether through a link.
    fn entry(
        &mut self,
        path: PathBuf,
        shown: String,
        relative: String,
        depth: usize,
    ) -> Option<(Folder, bool)> {
        match kind_of(&path) {
            Ok(Kind::Folder { link }) if depth < FOLDER_DEPTH_MAX => {
                return Some((Folder { path, relative, depth: depth + 1 }, link));
            }
            Ok(Kind::Folder { .. }) => {
                let message = format!("nested deeper than {FOLDER_DEPTH_MAX} folders");
                self.problem(&shown, &relative, message, None);
            }
            Ok(Kind::File) => {
                self.candidate(Candidate { real: path, shown, relative, explicit: false });
            }
            Err(error) if named_like_trace(file_name(&shown)) => {
                self.refuse(&shown, &relative, &InputError::io("open", error));
            }
            Ok(Kind::Other) | Err(_) => {}
        }
        None
    }

    /// Whether an earlier argument already listed something of this folder.
    fn holds_found(&self, top: &Path) -> bool {
        let Ok(top) = fs::canonicalize(top) else { return false };
        self.found
            .keys()
            .any(|place| fs::canonicalize(place.file()).is_ok_and(|path| path.starts_with(&top)))
    }

    fn excluded(&self, shown: &str, relative: &str) -> bool {
        self.args.exclude.iter().any(|exclude| exclude.matches(&[shown, relative]))
    }

    /// Decides what a file is, and lists what is in it.
    fn candidate(&mut self, candidate: Candidate) {
        let name = file_name(&candidate.shown).to_owned();
        if ends_with_etl(&name) {
            return self.plain(candidate);
        }
        let promised = Container::of_name(&name);
        if promised.is_none() && !candidate.explicit {
            return;
        }
        let beginning = match first_bytes(&candidate.real, BEGINNING_BYTES) {
            Ok(bytes) => bytes,
            Err(error) => return self.refuse(&candidate.shown, &candidate.relative, &error),
        };
        match (Container::of_beginning(&beginning), promised) {
            (Some(Container::Archive(kind)), _) => self.archive(&candidate, kind),
            (Some(Container::Stream(kind)), _) => self.stream(candidate, kind),
            // A file that is still being copied is often empty or all zeros; say what is wrong.
            (None, Some(container)) if candidate.explicit || is_archive(container) => {
                let kind = container.label();
                let error = InputError::NotThatArchive { kind };
                self.refuse(&candidate.shown, &candidate.relative, &error);
            }
            (None, Some(container)) => {
                if stripped_is_etl(&name) {
                    let kind = container.label();
                    let error = InputError::NotThatArchive { kind };
                    self.refuse(&candidate.shown, &candidate.relative, &error);
                }
            }
            (None, None) => self.plain(candidate),
        }
    }

    fn plain(&mut self, candidate: Candidate) {
        let bytes = fs::metadata(&candidate.real).map(|metadata| metadata.len()).ok();
        self.add(Input {
            path: candidate.shown,
            relative: candidate.relative,
            bytes,
            place: Place::File(candidate.real),
        });
    }

    /// `a.etl.gz` is taken by its name. Of other compressed files in a folder, those are taken
    /// that begin like a trace inside: folders hold compressed logs and the like, too.
    fn stream(&mut self, candidate: Candidate, kind: StreamKind) {
        let input = Input {
            bytes: archive::stream_bytes(&candidate.real, kind),
            path: candidate.shown,
            relative: candidate.relative,
            place: Place::Stream(candidate.real, kind),
        };
        let by_name = candidate.explicit || stripped_is_etl(file_name(&input.path));
        if by_name || begins_like_trace(&input, self.limits) {
            self.add(input);
        }
    }

    fn archive(&mut self, candidate: &Candidate, kind: ArchiveKind) {
        let members = match archive::list_members(&candidate.real, kind, self.limits) {
            Ok(members) => members,
            Err(error) => return self.refuse(&candidate.shown, &candidate.relative, &error),
        };
        let mut any = false;
        for member in members {
            let name = member.name.replace('\\', "/");
            let nested = is_nested_archive(&name);
            if !ends_with_etl(&name) && !nested {
                continue;
            }
            any = true;
            let shown = format!("{}!{name}", candidate.shown);
            let relative = format!("{}!{name}", candidate.relative);
            if self.excluded(&shown, &relative) {
                continue;
            }
            let refused = if nested { Some(InputError::Nested) } else { member.refused };
            if let Some(error) = refused {
                self.refuse(&shown, &relative, &error);
                continue;
            }
            let real = candidate.real.clone();
            let place = Place::Member(real, kind, member.index, member.name);
            self.add(Input { path: shown, relative, bytes: Some(member.bytes), place });
        }
        if !any && candidate.explicit {
            let message = "no traces in this archive".to_owned();
            self.problem(&candidate.shown, &candidate.relative, message, Some(HINT_TRACES));
        }
    }

    /// Adds an input unless the same bytes are already listed under an earlier name.
    fn add(&mut self, input: Input) {
        let place = input.place.canonical();
        fn rank(input: &Input) -> (&str, usize, &str) {
            (&input.path, input.relative.len(), &input.relative)
        }
        match self.found.get(&place) {
            Some(other) if rank(other) <= rank(&input) => {}
            _ => {
                self.found.insert(place, input);
            }
        }
    }

    /// `--files-from`: one name a line, in any encoding that a shell writes.
    fn list(&mut self, from: &FilesFrom, stdin: &mut dyn Read) {
        let mut bytes = Vec::new();
        let (shown_list, outcome) = match from {
            FilesFrom::Stdin => ("-".to_owned(), stdin.read_to_end(&mut bytes).map(|_| ())),
            FilesFrom::File(path) => (shown(path), fs::read(path).map(|read| bytes = read)),
        };
        if let Err(error) = outcome {
            let error = InputError::io("read the list of files", error);
            return self.refuse(&shown_list, &shown_list, &error);
        }
        let mut any = false;
        for line in lines_of(&bytes) {
            any = true;
            self.argument(&line);
        }
        if !any {
            let message = "the list of files is empty".to_owned();
            self.problem(&shown_list, &shown_list, message, None);
        }
    }
}

const HINT_TRACES: &str = "traces are named *.etl, or lie in .zip, .7z, .gz, .zst or .cab";

/// A folder to search.
struct Folder {
    path: PathBuf,
    /// Relative to the argument, with forward slashes; empty at the top.
    relative: String,
    depth: usize,
}

impl Folder {
    fn top(path: &Path) -> Self {
        Self { path: path.to_path_buf(), relative: String::new(), depth: 0 }
    }
}

/// What a name in a folder is.
enum Kind {
    File,
    Folder {
        link: bool,
    },
    /// A pipe or device: opening one may wait for ever.
    Other,
}

fn kind_of(path: &Path) -> io::Result<Kind> {
    let link = fs::symlink_metadata(path)?.file_type().is_symlink();
    let metadata = fs::metadata(path)?;
    Ok(match (metadata.is_file(), metadata.is_dir()) {
        (true, _) => Kind::File,
        (_, true) => Kind::Folder { link },
        _ => Kind::Other,
    })
}

/// The names in a folder with their paths, in the order of their text.
fn sorted_entries(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    entries.sort();
    Ok(entries)
}

impl Place {
    /// The same place under the one true path of its file, to notice a file reached twice.
    fn canonical(&self) -> Self {
        let path = fs::canonicalize(self.file()).unwrap_or_else(|_| self.file().to_path_buf());
        match self {
            Self::File(_) => Self::File(path),
            Self::Stream(_, kind) => Self::Stream(path, *kind),
            Self::Member(_, kind, index, name) => Self::Member(path, *kind, *index, name.clone()),
        }
    }
}

/// A path as text: forward slashes on every system, without `./` and slashes too many.
fn shown(path: &Path) -> String {
    let plain: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    let text = plain.to_string_lossy();
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text.into_owned() };
    if text.is_empty() && !path.as_os_str().is_empty() { ".".to_owned() } else { text }
}

/// Joins shown paths; the folder `.` is not shown.
fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("" | ".", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{}/{name}", folder.trim_end_matches('/')),
    }
}

/// The folder in front of the first component with a pattern in it, with its slash.
fn fixed_folder(pattern: &str) -> String {
    let first = pattern.find(PATTERN_CHARACTERS).unwrap_or(pattern.len());
    let cut = pattern[..first].rfind('/').map_or(0, |slash| slash + 1);
    pattern[..cut].to_owned()
}

/// The last component of a shown path.
pub(super) fn file_name(shown: &str) -> &str {
    shown.rsplit('/').next().unwrap_or(shown)
}

/// Whether the name ends in `.etl` in any case.
fn ends_with_etl(name: &str) -> bool {
    strip_etl(name).is_some()
}

/// The name without `.etl`.
pub(super) fn strip_etl(name: &str) -> Option<&str> {
    let cut = name.len().checked_sub(4)?;
    let (stem, ending) = (name.get(..cut)?, name.get(cut..)?);
    ending.eq_ignore_ascii_case(".etl").then_some(stem)
}

/// Whether the name is that of a trace with the ending of a container after it.
fn stripped_is_etl(name: &str) -> bool {
    archive::strip_ending(name).is_some_and(|(stem, _)| ends_with_etl(stem))
}

fn is_archive(container: Container) -> bool {
    matches!(container, Container::Archive(_))
}

fn named_like_trace(name: &str) -> bool {
    ends_with_etl(name) || Container::of_name(name).is_some()
}

/// Whether a member is an archive that may hold traces. Any `.gz` may be anything, so only those
/// with `.etl` before it count.
fn is_nested_archive(name: &str) -> bool {
    match Container::of_name(name) {
        Some(Container::Archive(_)) => true,
        Some(Container::Stream(_)) => stripped_is_etl(name),
        None => false,
    }
}

/// Whether the first bytes can be the first buffer of a trace: a plausible buffer size, and the
/// marker of the header record after the buffer header of 0x48 bytes.
fn begins_like_trace(input: &Input, limits: &Limits) -> bool {
    let Ok(head) = input.read_head(limits, SNIFF_BYTES) else { return false };
    let marker = head.get(0x48..0x4C);
    matches!(marker, Some([_, _, 1 | 2, 0xC0]))
}

/// The lines of a list of files. A byte order mark says UTF-16 (PowerShell writes that) or UTF-8.
fn lines_of(bytes: &[u8]) -> Vec<OsString> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units = bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]]));
        String::from_utf16_lossy(&units.collect::<Vec<_>>()).into_bytes()
    };
    let text = match bytes {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        [0xEF, 0xBB, 0xBF, rest @ ..] => rest.to_vec(),
        _ => bytes.to_vec(),
    };
    let lines =
        text.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    lines.filter(|line| !line.is_empty()).map(os_string).collect()
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}
