//! The tables of an etwas lake: their names, columns, types and meaning. Nothing else is declared
//! twice: the reader fills these builders, and the SQL side reads these documents.
//!
//! This crate knows nothing of ETW, of files or of DuckDB.
//!
//! # Invariants
//! * Every table begins with `trace_id`, 0 to 2^53 - 1.
//! * An instant is `ts_ns` or `*_ts_ns`: nanoseconds since the start of the recording, signed.
//!   Any other `*_ns` is a duration. Intervals are half-open.
//! * Ids, instants and durations are signed BIGINT; only addresses are UBIGINT.
//! * NULL says that the trace does not tell.

mod document;
pub mod domain;
pub mod power;
pub mod table;

pub use document::{schema_markdown, schema_sql};
pub use table::{Column, Derived, RecordBatch, Recording, TRACE_START, Table, TableBuilder};

/// Lists the tables in reading order, and makes each a module.
macro_rules! tables {
    ($($name:ident),+ $(,)?) => {
        $(pub mod $name;)+
        /// Every table of a recording, in reading order.
        pub static TABLES: &[&Table] = &[$(&$name::TABLE),+];
    };
}

tables! {
    trace, health, event_census,
    cpu, process, thread, thread_end_state, image,
    cswitch, ready, sample, stack, frame,
    power_setting, power_event, cpu_frequency, cpu_parking, c_state,
    ui_delay, focus, process_freeze, priority_change, dpc_isr, input_event, mark, gap,
    generic_event,
}

/// The one table of the lake itself: names found for frames, shared by all recordings.
pub mod symbol;

/// The table called `name`.
pub fn table(name: &str) -> Option<&'static Table> {
    TABLES.iter().copied().find(|t| t.name == name)
}
