//! Writes real `.etl` recordings from scenario texts, for tests.
//!
//! A scenario is a timeline and its truth in one text file, written by a person before the first
//! run; the language is described in `fixtures/scenarios/README.md`. This crate turns the timeline
//! into the bytes Windows would have written. It is the second hand of a double entry: every layout
//! is written here from its published description and shares no code with the reader.
//!
//! The way of a scenario: `text` and `expand` (lines to statements), `truth` (questions and
//! answers), `lower` (statements to records, one module for each class of events), `container`
//! (records to buffers and files), `xpress` (compression), `portable` (images that name symbols).

mod body;
mod cast;
mod container;
mod expand;
mod experiment;
mod lower;
mod machine;
mod portable;
mod record;
mod scenario;
mod schedule;
mod text;
mod time;
mod truth;
mod values;
mod xpress;

use std::fmt;

pub use experiment::{experiment, late_runs};
pub use scenario::{OutFile, Scenario, Symbol, Variant};
pub use truth::{Query, Truth};

/// What is wrong with a scenario, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// Line of the text, from 1; 0 where no single line is to blame.
    pub line: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

impl std::error::Error for Error {}
