//! What can go wrong between a question and its answer, each with the words a person needs.

use std::path::PathBuf;

/// A question that could not be put or answered.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The folder is no lake.
    #[error("{} is not a lake: {reason}\nhint: etwas ingest INPUT... --lake {} makes one", path.display(), path.display())]
    NoLake {
        /// The folder.
        path: PathBuf,
        /// What is missing.
        reason: String,
    },
    /// The catalogue has no such question.
    #[error("unknown question '{name}'\nhint: {hint}")]
    UnknownQuestion {
        /// What was asked for.
        name: String,
        /// Near names, or where the list is.
        hint: String,
    },
    /// A parameter is unknown, missing or of the wrong type.
    #[error("{message}\nhint: {signature}")]
    Parameter {
        /// What is wrong.
        message: String,
        /// The question's signature.
        signature: String,
    },
    /// No recording has a name like this.
    #[error("no trace matches '{glob}'\nhint: etwas report traces lists them")]
    NoTrace {
        /// The pattern.
        glob: String,
    },
    /// A format cannot be written in this way.
    #[error("{0}")]
    Usage(String),
    /// DuckDB refuses the SQL, or fails at it.
    #[error("{0}")]
    Sql(String),
    /// A file of the lake or of the output.
    #[error("{}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Standard output.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// A mistake in one of our own SQL files.
    #[error("mistake in the catalogue: {0}")]
    Catalog(String),
}

impl Error {
    /// Whether the reader of our output went away, which is no failure.
    pub fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(e) if e.kind() == std::io::ErrorKind::BrokenPipe)
    }
}

impl From<duckdb::Error> for Error {
    fn from(error: duckdb::Error) -> Self {
        let text = match error {
            duckdb::Error::DuckDBFailure(_, Some(text)) => text,
            other => other.to_string(),
        };
        Error::Sql(text.trim_end().to_owned())
    }
}
