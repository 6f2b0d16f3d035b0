//! Under construction.

pub mod etl;
