//! Tests of the container: every record kind and every rule of damage from bytes written here by hand, and the
//! real recordings of the corpus where it is present.

mod build;
mod clock;
mod damage;
mod file;
mod guid;
mod merge;
mod recordings;
mod records;
mod walk;
mod xpress;
