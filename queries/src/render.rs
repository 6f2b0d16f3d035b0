//! placeholder
/// x
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {}
