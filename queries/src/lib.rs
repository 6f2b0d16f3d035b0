//! The questions etwas answers: SQL files with their catalogue, the database `lake.duckdb` that
//! carries them into any DuckDB shell, and running and rendering them for the command line.
//!
//! Reads what [`etwas_schema`] declares and the Parquet files of a lake; knows nothing of how they
//! came there.

pub mod catalog;
pub mod compact;
pub mod compare;
pub mod error;
pub mod findings;
pub mod front_matter;
pub mod lake_db;
pub mod lexer;
pub mod needs;
pub mod pivot;
pub mod render;
pub mod run;
pub mod tidy;
pub mod value;
pub mod verify;

pub use catalog::{Catalog, catalog};
pub use error::Error;
pub use front_matter::Question;
pub use render::Format;
pub use run::{Lake, OpenOptions};
