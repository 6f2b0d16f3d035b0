//! Meaning: a raw event becomes typed values. Decoding is a pure function of bytes.
//!
//! One module for each class of events; this file only lists them. Called by the routing of a job.

pub mod generic;
