//! Answers as pictures: one HTML file to look at and to mail, and files for the viewers that people
//! already have. Called by `etwas html` and `etwas export`.
//!
//! Asks the lake through SQL like any other client, and knows nothing of how rows came there.

pub mod ask;
pub mod export;
pub mod html;

pub use etwas_queries::Error;
