//! INPUT: which files are to be ingested, which of them form one recording, and their bytes.
//!
//! An argument is a file, a folder or a pattern; a trace lies in it plainly or in an archive.
//! Nothing here knows what a trace contains: facts that grouping needs come from the caller.
//! Called by the command (`plan`, `expand`) and by the job (`Input::open`).
//!
//! # Invariants
//! - The list is the same in any order of arguments and on any machine (`tests::any_order_*`).
//! - A name inside an archive is text: no path is ever made of it (`tests::traversal_*`).
//! - Trouble with one input is an [`InputProblem`] or an [`InputError`] of that input, never a stop.

mod archive;
mod error;
mod limits;
mod recording;
mod scan;
mod shard;
mod source;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

pub use error::InputError;
pub use limits::{ARCHIVE_DEPTH_MAX, FOLDER_DEPTH_MAX, INPUTS_MAX, Limits};
pub use recording::{FOLLOW_SECONDS_MAX, HeaderFacts, Recording, group, merge_duplicates};
pub use scan::{expand, expand_from};
pub use shard::Shard;
pub use source::{Input, OpenInput};

/// What the command line says about inputs.
#[derive(Debug, Clone, Default)]
pub struct InputArgs {
    /// INPUT...: files, folders, patterns.
    pub inputs: Vec<OsString>,
    /// `--exclude`, any of which leaves a file or folder out.
    pub exclude: Vec<Exclude>,
    /// `--files-from`: further inputs, one a line.
    pub files_from: Option<FilesFrom>,
}

/// Where a list of inputs is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilesFrom {
    /// `-`: standard input.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl FromStr for FilesFrom {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(PathBuf::from(text)) })
    }
}

/// One `--exclude` pattern.
#[derive(Debug, Clone)]
pub struct Exclude(glob::Pattern);

impl FromStr for Exclude {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let text = text.replace('\\', "/");
        glob::Pattern::new(&text).map(Self).map_err(|error| error.to_string())
    }
}

impl Exclude {
    /// Whether the pattern names this file: by its name alone or by its path as shown or relative
    /// to its argument. Upper and lower case are the same.
    fn matches(&self, texts: &[&str]) -> bool {
        let options = glob::MatchOptions {
            case_sensitive: false,
            require_literal_separator: false,
            require_literal_leading_dot: false,
        };
        texts.iter().any(|text| {
            let name = text.rsplit(['/', '!']).next().unwrap_or(text);
            self.0.matches_with(text, options) || self.0.matches_with(name, options)
        })
    }
}

/// What the arguments came to.
#[derive(Debug, Default)]
pub struct InputList {
    /// The inputs, sorted by path, each file once.
    pub inputs: Vec<Input>,
    /// What could not be had, sorted by path.
    pub problems: Vec<InputProblem>,
}

/// An argument, file or archive member that yields no input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputProblem {
    /// The path as the user would recognise it.
    pub path: String,
    /// What is wrong, lower case, without a final period.
    pub message: String,
    /// What to try next.
    pub hint: Option<String>,
    /// By which this row falls to a shard.
    pub(crate) key: String,
}

/// Everything between the arguments and the jobs: the recordings of this shard and what could not
/// be had. `facts` reads the header of an input, `hash` its content; both are asked only where
/// names and sizes leave something to find out.
pub fn plan(
    args: &InputArgs,
    shard: Option<Shard>,
    separate: bool,
    limits: &Limits,
    facts: &dyn Fn(&Input) -> Option<HeaderFacts>,
    hash: &dyn Fn(&Input) -> Option<[u8; 32]>,
) -> (Vec<Recording>, Vec<InputProblem>) {
    let InputList { inputs, mut problems } = expand(args, limits);
    let none = |_: &Input| None;
    let grouped = if separate { group(inputs, &none) } else { group(inputs, facts) };
    let mut recordings = merge_duplicates(grouped, hash);
    // Names and duplicates are settled before the list is split, so that every machine agrees.
    if let Some(shard) = shard {
        recordings.retain(|recording| shard.takes(&recording.key));
        problems.retain(|problem| shard.takes(&problem.key));
    }
    (recordings, problems)
}
