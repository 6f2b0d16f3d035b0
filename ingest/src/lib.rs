//! Under construction.

pub mod etl;
pub mod event;
pub mod input;
pub mod lake;
#[cfg(feature = "symbols")]
pub mod symbols;
