//! Records: the marker that says what a record is, and the raw event made of it (etl-format.md 2).
//!
//! One function, `parse`, dispatches on the marker; every kind has its own small function. Nothing here knows
//! what a payload means. `scan.rs` and `merge.rs` walk buffers with it.

use super::bytes::{align8, u16_at};
use super::guid::Guid;

/// Thread or process id of a record whose header carries none.
pub const NO_ID: u32 = u32::MAX;

/// One event as it was recorded, borrowed from its buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawEvent<'a> {
    /// Session clock, as recorded. A record without a time of its own has that of the record before it.
    pub ticks: i64,
    /// CPU of the buffer the record lies in.
    pub cpu: u16,
    /// Which kind of record this was.
    pub kind: RecordKind,
    /// Pointer size of the payload, 4 or 8, by the record's own marker (WPP messages: by their flags, else the file's).
    pub pointer_size: u8,
    /// Thread id, `u32::MAX` where the record's header carries none.
    pub tid: u32,
    /// Process id, likewise.
    pub pid: u32,
    /// What the record says it is.
    pub id: EventId,
    /// Raw area of the extended items of an EVENT record, read by [`RawEvent::items`]. For SYSTEM, COMPACT
    /// and PERFINFO records the 8-byte counter words, read by [`RawEvent::counters`]. Else empty.
    pub extended: &'a [u8],
    /// The payload.
    pub payload: &'a [u8],
    /// File offset of the record; of its buffer when that is compressed.
    pub offset: u64,
    /// Size of the whole record.
    pub bytes: u32,
}

/// The kinds of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RecordKind {
    /// SYSTEM: kernel record with thread and process.
    System,
    /// COMPACT: the same without CPU times.
    Compact,
    /// PERFINFO: kernel record without thread and process.
    PerfInfo,
    /// FULL: classic (MOF) event.
    Full,
    /// INSTANCE: classic event with instance ids.
    Instance,
    /// EVENT: manifest or TraceLogging event.
    Event,
    /// WPP message.
    Message,
    /// Anything else that says its size. Its payload is all behind the first 8 bytes.
    Opaque,
}

/// What a record says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventId {
    /// SYSTEM, COMPACT and PERFINFO records.
    Kernel {
        /// Group in the high byte, opcode in the low byte.
        hook: u16,
        /// Payload version, without the flags above it.
        version: u8,
    },
    /// FULL and INSTANCE records.
    Classic {
        /// Event class; zero in the short INSTANCE records of XP, which carry a handle instead.
        class: Guid,
        /// Opcode.
        opcode: u8,
        /// Level.
        level: u8,
        /// Version.
        version: u16,
    },
    /// EVENT records.
    Manifest {
        /// Provider.
        provider: Guid,
        /// Event id.
        id: u16,
        /// Event version.
        version: u8,
        /// Channel; 11 is TraceLogging.
        channel: u8,
        /// Level.
        level: u8,
        /// Opcode.
        opcode: u8,
        /// Task.
        task: u16,
        /// Keyword.
        keyword: u64,
        /// Flags as on disk: 1 extended items, 4 payload is one string. The width is in `pointer_size`.
        flags: u16,
        /// Activity, zero if none.
        activity: Guid,
    },
    /// WPP messages.
    Message {
        /// Message GUID; a component id stands in its first field, a message without either has zero.
        guid: Guid,
        /// Message number.
        number: u16,
    },
    /// Records of other kinds.
    Opaque {
        /// The marker without its size: flags in the high byte, header type below, low 16 bits zero.
        marker: u32,
    },
}

/// One extended item of an EVENT record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtendedItem<'a> {
    /// ExtType: 1 related activity, 6 stack, 11 TraceLogging schema, 12 provider traits, and so on.
    pub kind: u16,
    /// The data.
    pub data: &'a [u8],
}

impl<'a> RawEvent<'a> {
    /// The extended items of an EVENT record, chained by the Linkage bit only.
    #[inline]
    pub fn items(&self) -> ExtendedItems<'a> {
        let area = if self.kind == RecordKind::Event { self.extended } else { &[] };
        ExtendedItems { area }
    }

    /// The counter words of a kernel record, in recorded order: a PEBS index if `pebs`, then PMC counters.
    /// Which of them is first when both are there is not documented.
    #[inline]
    pub fn counters(&self) -> impl Iterator<Item = u64> + 'a {
        let area = if self.kind == RecordKind::Event { &[][..] } else { self.extended };
        area.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word))
    }
}

/// Iterator over the extended items of a record.
#[derive(Clone, Debug)]
pub struct ExtendedItems<'a> {
    area: &'a [u8],
}

impl<'a> Iterator for ExtendedItems<'a> {
    type Item = ExtendedItem<'a>;

    fn next(&mut self) -> Option<ExtendedItem<'a>> {
        let (item, rest) = split_item(self.area)?;
        self.area = rest.unwrap_or(&[]);
        Some(item)
    }
}

/// Size of an extended item's header.
const ITEM_HEADER: usize = 8;

/// The first item of `area`, and what follows it if its Linkage bit says that another item does.
/// `None` if the area is too short for the item.
#[inline]
fn split_item(area: &[u8]) -> Option<(ExtendedItem<'_>, Option<&[u8]>)> {
    let header = area.first_chunk::<ITEM_HEADER>()?;
    let total = usize::from(u16::from_le_bytes([header[0], header[1]]));
    let kind = u16::from_le_bytes([header[2], header[3]]);
    let linked = header[4] & 1 != 0;
    let data_bytes = usize::from(u16::from_le_bytes([header[6], header[7]]));
    // The total is align8(8 + data) in every recording seen; where it is not, the data alone decides.
    let total = if total < ITEM_HEADER + data_bytes || total % 8 != 0 {
        align8(ITEM_HEADER + data_bytes)
    } else {
        total
    };
    let data = area.get(ITEM_HEADER..ITEM_HEADER + data_bytes)?;
    let rest = if linked { Some(area.get(total..)?) } else { None };
    Some((ExtendedItem { kind, data }, rest))
}
