//! Integration tests of the whole product, in one binary that links once; its modules are the topics.

mod command;
mod compact;
mod experiment;
mod packaging;
mod pictures;
mod questions;
mod recording_page;
mod recordings;
mod scenarios;
