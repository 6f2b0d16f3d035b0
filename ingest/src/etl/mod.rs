//! The container of Windows event traces: bytes to buffers to raw events, in file order or in time order.
//!
//! It knows no meaning: what a payload says is decided elsewhere. An [`EtlFile`] is opened once, which reads the
//! header record and indexes the buffers; [`scan`] then delivers every record in file order, and [`Merge`]
//! delivers every record of one or several files in time order with at most one open buffer per CPU.
//! Damage is counted with its offset and never stops a file: a bad record costs the rest of its buffer,
//! a bad buffer costs that buffer. Used by the survey and by the merge pass of a job.

mod buffer;
pub(crate) mod bytes;
mod clock;
mod damage;
mod file;
mod guid;
mod header;
mod merge;
mod record;
mod scan;
mod source;
mod xpress;

pub use buffer::{
    BUFFER_BYTES_MAX, BufferEntry, CPUS_MAX, FLAG_BUFFER_LOST, FLAG_COMPRESSED, FLAG_EVENTS_LOST,
    FLAG_PROCESSOR_INDEX, KIND_HEADER,
};
pub use clock::{Clock, ClockKind, FILETIME_UNIX_EPOCH, filetime_to_unix_ns};
pub use damage::{Damage, DamageKind, DamageLog, LISTED_MAX};
pub use file::{EtlFile, OpenError};
pub use guid::{Guid, GuidParseError};
pub use header::{
    LogHeader, MODE_CIRCULAR, MODE_COMPRESSED, MODE_KBYTES, MODE_NO_PER_CPU, MODE_RELOG,
};
pub use merge::{Merge, MergeReport, OPEN_BYTES_MAX};
pub use record::{EventId, ExtendedItem, ExtendedItems, NO_ID, RawEvent, RecordKind};
pub use scan::{ScanReport, scan, scan_with_bytes};
pub use source::Source;

#[cfg(test)]
mod tests;
