//! The container of Windows event traces: bytes to buffers to raw events, in file order or in time order.
//!
//! It knows no meaning: what a payload says is decided elsewhere. An [`EtlFile`] is opened once, which reads the
//! header record and indexes the buffers; [`scan`] then delivers every record in file order, and [`Merge`]
//! delivers every record of one or several files in time order with at most one open buffer per CPU.
//! Damage is counted with its offset and never stops a file: a bad record costs the rest of its buffer,
//! a bad buffer costs that buffer. Used by the survey and by the merge pass of a job.

mod bytes;
mod clock;
mod guid;
mod header;
mod record;

pub use clock::{Clock, ClockKind, FILETIME_UNIX_EPOCH, filetime_to_unix_ns};
pub use guid::{Guid, GuidParseError};
pub use header::{
    LogHeader, MODE_CIRCULAR, MODE_COMPRESSED, MODE_KBYTES, MODE_NO_PER_CPU, MODE_RELOG,
};
pub use record::{EventId, ExtendedItem, ExtendedItems, NO_ID, RawEvent, RecordKind};
