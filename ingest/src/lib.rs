//! Reads Windows `.etl` traces on any operating system and writes them as Parquet tables.
//!
//! Bytes become buffers, buffers become events ([`etl`]), events get meaning ([`event`]), become rows
//! ([`route`], with what has to be remembered in `state`), and rows become Parquet ([`sink`]). A [`job`] does
//! this for one recording; [`run`] does it for many, in parallel, into a [`lake`].

// Rows and facts mirror documented columns; their meaning stands in `etwas-schema`.
#![allow(missing_docs)]

pub mod census;
pub mod etl;
pub mod event;
pub mod gaps;
pub mod health;
pub mod input;
pub mod job;
pub mod lake;
pub mod os_reader;
pub mod route;
mod run;
mod sidecar;
pub mod sink;
pub mod state;
pub mod survey;
#[cfg(feature = "symbols")]
pub mod symbols;
pub mod verify;

pub use run::{
    Described, IngestError, IngestOptions, IngestSummary, Progress, RecordingResult, ResultStatus,
    describe, run,
};
