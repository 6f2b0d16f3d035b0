//! Under construction.

pub mod etl;
pub mod event;
