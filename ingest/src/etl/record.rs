//! Records: the marker that says what a record is, and the raw event made of it (etl-format.md 2).
//!
//! One function, `parse`, dispatches on the marker; every kind has its own small function. Nothing here knows
//! what a payload means. `scan.rs` and `merge.rs` walk buffers with it.

use super::bytes::align8;
use super::damage::DamageKind;
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
    let kind = u16::from_le_bytes([header[2], header[3]]);
    let linked = header[4] & 1 != 0;
    let data_bytes = usize::from(u16::from_le_bytes([header[6], header[7]]));
    let data = area.get(ITEM_HEADER..ITEM_HEADER + data_bytes)?;
    let rest = if linked { Some(area.get(item_bytes(area, data_bytes)..)?) } else { None };
    Some((ExtendedItem { kind, data }, rest))
}

/// The whole size of the item that starts `area` and has `data_bytes` of data.
/// It stands in its first field and is align8(8 + data) in every recording seen; a smaller one cannot be meant.
#[inline]
fn item_bytes(area: &[u8], data_bytes: usize) -> usize {
    let needed = align8(ITEM_HEADER + data_bytes);
    let stated = super::bytes::u16_at(area, 0).map_or(0, usize::from);
    if stated > needed && stated.is_multiple_of(8) { stated } else { needed }
}

/// What a record needs to know about its buffer and file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BufferContext {
    /// CPU of the buffer.
    pub cpu: u16,
    /// File offset of the buffer.
    pub offset: u64,
    /// Whether records have no file offset of their own.
    pub compressed: bool,
    /// Pointer size of records that do not state one.
    pub pointer_size: u8,
    /// Whether INSTANCE records have the short form.
    pub short_instances: bool,
}

/// Why no record was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Less than a marker is left.
    End,
    /// Something is wrong here.
    Fault(DamageKind),
}

/// A record read.
pub(crate) struct Parsed<'a> {
    pub event: RawEvent<'a>,
    /// Whether the record has a time of its own.
    pub timed: bool,
    /// Whether all its optional parts fit into it.
    pub whole: bool,
}

/// Reads the record at `at`. `last_ticks` is the time for records that have none.
#[inline]
pub(crate) fn parse<'a>(
    data: &'a [u8],
    at: usize,
    context: &BufferContext,
    last_ticks: i64,
) -> Result<Parsed<'a>, Stop> {
    let rest = data.get(at..).unwrap_or(&[]);
    let Some(head) = rest.first_chunk::<8>() else { return Err(Stop::End) };
    let marker = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
    let size_0 = usize::from(marker as u16);
    let size_4 = usize::from(u16::from_le_bytes([head[4], head[5]]));
    let mut parsed = match marker >> 16 {
        0xC001 => system(rest, size_4, 4),
        0xC002 => system(rest, size_4, 8),
        0xC003 => compact(rest, size_4, 4),
        0xC004 => compact(rest, size_4, 8),
        0xC00A => full(rest, size_0, 4),
        0xC014 => full(rest, size_0, 8),
        0xC00B => instance(rest, size_0, 4, context),
        0xC015 => instance(rest, size_0, 8, context),
        0xC010 => perf_info(rest, size_4, 4),
        0xC011 => perf_info(rest, size_4, 8),
        0xC012 => manifest(rest, size_0, 4),
        0xC013 => manifest(rest, size_0, 8),
        _ if marker == u32::MAX => return Err(Stop::Fault(DamageKind::EndMark)),
        other => match other >> 8 {
            0x90 => message(rest, size_0, context, last_ticks),
            0xB0 => opaque_timed(rest, size_0, context, last_ticks),
            flags if flags & 0x80 != 0 => opaque(rest, size_0, context, last_ticks),
            _ => return Err(Stop::Fault(DamageKind::RecordMarker)),
        },
    }?;
    parsed.event.cpu = context.cpu;
    parsed.event.offset =
        if context.compressed { context.offset } else { context.offset + at as u64 };
    Ok(parsed)
}

/// The record's bytes and, as an array, its header. A size below the header or beyond the buffer is a fault.
#[inline]
fn cut<const HEADER: usize>(rest: &[u8], size: usize) -> Result<(&[u8; HEADER], &[u8]), Stop> {
    let record = rest.get(..size).ok_or(Stop::Fault(DamageKind::RecordSize))?;
    let header = record.first_chunk::<HEADER>().ok_or(Stop::Fault(DamageKind::RecordSize))?;
    Ok((header, record))
}

/// `N` bytes of a header; the constant offset keeps this free of checks at run time.
#[inline]
fn field<const AT: usize, const N: usize, const HEADER: usize>(header: &[u8; HEADER]) -> [u8; N] {
    const { assert!(AT + N <= HEADER) };
    let mut bytes = [0; N];
    bytes.copy_from_slice(&header[AT..AT + N]);
    bytes
}

/// The part of a raw event that all kinds have; CPU and offset are filled in by `parse`.
#[inline]
fn event<'a>(
    record: &'a [u8],
    kind: RecordKind,
    pointer_size: u8,
    ticks: i64,
    id: EventId,
) -> RawEvent<'a> {
    RawEvent {
        ticks,
        cpu: 0,
        kind,
        pointer_size,
        tid: NO_ID,
        pid: NO_ID,
        id,
        extended: &[],
        payload: &[],
        offset: 0,
        bytes: record.len() as u32,
    }
}

/// Splits off the counter words that the version word announces; `false` when they do not fit.
#[inline]
fn counters_and_payload<'a>(
    record: &'a [u8],
    header: usize,
    version_word: u16,
    event: &mut RawEvent<'a>,
) -> bool {
    let words = usize::from(version_word >> 15) + usize::from((version_word >> 8) & 7);
    if words == 0 {
        event.payload = &record[header..];
        return true;
    }
    match record[header..].split_at_checked(8 * words) {
        Some((counters, payload)) => {
            event.extended = counters;
            event.payload = payload;
            true
        }
        None => false,
    }
}

#[inline]
fn kernel_id(version_word: u16, hook: [u8; 2]) -> EventId {
    EventId::Kernel { hook: u16::from_le_bytes(hook), version: version_word as u8 }
}

#[inline]
fn system(rest: &[u8], size: usize, pointer_size: u8) -> Result<Parsed<'_>, Stop> {
    let (header, record) = cut::<0x20>(rest, size)?;
    kernel_with_thread(header, record, RecordKind::System, pointer_size)
}

#[inline]
fn compact(rest: &[u8], size: usize, pointer_size: u8) -> Result<Parsed<'_>, Stop> {
    let (header, record) = cut::<0x18>(rest, size)?;
    kernel_with_thread(header, record, RecordKind::Compact, pointer_size)
}

/// SYSTEM and COMPACT, which differ in the length of the header only.
#[inline]
fn kernel_with_thread<'a, const HEADER: usize>(
    header: &'a [u8; HEADER],
    record: &'a [u8],
    kind: RecordKind,
    pointer_size: u8,
) -> Result<Parsed<'a>, Stop> {
    let version_word = u16::from_le_bytes(field::<0, 2, HEADER>(header));
    let id = kernel_id(version_word, field::<6, 2, HEADER>(header));
    let ticks = i64::from_le_bytes(field::<0x10, 8, HEADER>(header));
    let mut event = event(record, kind, pointer_size, ticks, id);
    event.tid = u32::from_le_bytes(field::<0x08, 4, HEADER>(header));
    event.pid = u32::from_le_bytes(field::<0x0C, 4, HEADER>(header));
    let whole = counters_and_payload(record, HEADER, version_word, &mut event);
    Ok(Parsed { event, timed: true, whole })
}

#[inline]
fn perf_info(rest: &[u8], size: usize, pointer_size: u8) -> Result<Parsed<'_>, Stop> {
    let (header, record) = cut::<0x10>(rest, size)?;
    let version_word = u16::from_le_bytes(field::<0, 2, 0x10>(header));
    let id = kernel_id(version_word, field::<6, 2, 0x10>(header));
    let ticks = i64::from_le_bytes(field::<8, 8, 0x10>(header));
    let mut event = event(record, RecordKind::PerfInfo, pointer_size, ticks, id);
    let whole = counters_and_payload(record, 0x10, version_word, &mut event);
    Ok(Parsed { event, timed: true, whole })
}

#[inline]
fn full(rest: &[u8], size: usize, pointer_size: u8) -> Result<Parsed<'_>, Stop> {
    let (header, record) = cut::<0x30>(rest, size)?;
    let class = Guid(field::<0x18, 16, 0x30>(header));
    Ok(classic(header, record, RecordKind::Full, pointer_size, class, 0x30))
}

#[inline]
fn instance<'a>(
    rest: &'a [u8],
    size: usize,
    pointer_size: u8,
    context: &BufferContext,
) -> Result<Parsed<'a>, Stop> {
    // The short form carries a registration handle where the class would be.
    let (header_bytes, class) = if context.short_instances {
        cut::<0x38>(rest, size)?;
        (0x38, Guid::ZERO)
    } else {
        let (header, _) = cut::<0x48>(rest, size)?;
        (0x48, Guid(field::<0x18, 16, 0x48>(header)))
    };
    let (header, record) = cut::<0x30>(rest, size)?;
    Ok(classic(header, record, RecordKind::Instance, pointer_size, class, header_bytes))
}

/// FULL and INSTANCE, which share the first fields.
#[inline]
fn classic<'a>(
    header: &'a [u8; 0x30],
    record: &'a [u8],
    kind: RecordKind,
    pointer_size: u8,
    class: Guid,
    header_bytes: usize,
) -> Parsed<'a> {
    let id = EventId::Classic {
        class,
        opcode: header[4],
        level: header[5],
        version: u16::from_le_bytes(field::<6, 2, 0x30>(header)),
    };
    let ticks = i64::from_le_bytes(field::<0x10, 8, 0x30>(header));
    let mut event = event(record, kind, pointer_size, ticks, id);
    event.tid = u32::from_le_bytes(field::<0x08, 4, 0x30>(header));
    event.pid = u32::from_le_bytes(field::<0x0C, 4, 0x30>(header));
    event.payload = record.get(header_bytes..).unwrap_or(&[]);
    Parsed { event, timed: true, whole: true }
}

/// Flags bit of EVENT records that have extended items.
const FLAG_EXTENDED: u16 = 1;

#[inline]
fn manifest(rest: &[u8], size: usize, pointer_size: u8) -> Result<Parsed<'_>, Stop> {
    let (header, record) = cut::<0x50>(rest, size)?;
    let flags = u16::from_le_bytes(field::<4, 2, 0x50>(header));
    let id = EventId::Manifest {
        provider: Guid(field::<0x18, 16, 0x50>(header)),
        id: u16::from_le_bytes(field::<0x28, 2, 0x50>(header)),
        version: header[0x2A],
        channel: header[0x2B],
        level: header[0x2C],
        opcode: header[0x2D],
        task: u16::from_le_bytes(field::<0x2E, 2, 0x50>(header)),
        keyword: u64::from_le_bytes(field::<0x30, 8, 0x50>(header)),
        flags,
        activity: Guid(field::<0x40, 16, 0x50>(header)),
    };
    let ticks = i64::from_le_bytes(field::<0x10, 8, 0x50>(header));
    let mut event = event(record, RecordKind::Event, pointer_size, ticks, id);
    event.tid = u32::from_le_bytes(field::<0x08, 4, 0x50>(header));
    event.pid = u32::from_le_bytes(field::<0x0C, 4, 0x50>(header));
    let body = &record[0x50..];
    let mut whole = true;
    if flags & FLAG_EXTENDED == 0 {
        event.payload = body;
    } else {
        match items_length(body) {
            Some(length) => (event.extended, event.payload) = body.split_at(length),
            None => {
                event.extended = body;
                whole = false;
            }
        }
    }
    Ok(Parsed { event, timed: true, whole })
}

/// How many bytes the chain of extended items at the start of `body` takes; `None` when it does not fit.
fn items_length(body: &[u8]) -> Option<usize> {
    let mut area = body;
    loop {
        let (item, rest) = split_item(area)?;
        match rest {
            Some(rest) => area = rest,
            None => {
                let total = item_bytes(area, item.data.len());
                // The padding of a last item without payload behind it may be missing.
                return Some((body.len() - area.len() + total).min(body.len()));
            }
        }
    }
}

/// WPP option flags: which optional fields a message has.
mod option {
    pub const SEQUENCE: u16 = 0x01;
    pub const GUID: u16 = 0x02;
    pub const COMPONENT: u16 = 0x04;
    pub const TIMESTAMP: u16 = 0x08;
    pub const TIMESTAMP_SPACE: u16 = 0x10;
    pub const SYSTEM_INFO: u16 = 0x20;
    pub const POINTER_32: u16 = 0x40;
    pub const POINTER_64: u16 = 0x80;
}

fn message<'a>(
    rest: &'a [u8],
    size: usize,
    context: &BufferContext,
    last_ticks: i64,
) -> Result<Parsed<'a>, Stop> {
    let (header, record) = cut::<8>(rest, size)?;
    let number = u16::from_le_bytes(field::<4, 2, 8>(header));
    let options = u16::from_le_bytes(field::<6, 2, 8>(header));
    let pointer_size = if options & option::POINTER_64 != 0 {
        8
    } else if options & option::POINTER_32 != 0 {
        4
    } else {
        context.pointer_size
    };
    let id = EventId::Message { guid: Guid::ZERO, number };
    let mut event = event(record, RecordKind::Message, pointer_size, last_ticks, id);
    let mut timed = false;
    let whole = message_fields(&record[8..], options, number, &mut event, &mut timed).is_some();
    Ok(Parsed { event, timed, whole })
}

/// Reads the optional fields, which follow each other unaligned. `None` when one does not fit.
fn message_fields<'a>(
    body: &'a [u8],
    options: u16,
    number: u16,
    event: &mut RawEvent<'a>,
    timed: &mut bool,
) -> Option<()> {
    let mut body = body;
    if options & option::SEQUENCE != 0 {
        body = body.get(4..)?;
    }
    // A component id takes the place of the GUID when both are announced.
    if options & option::COMPONENT != 0 {
        let (component, rest) = body.split_first_chunk::<4>()?;
        let guid = Guid::new(u32::from_le_bytes(*component), 0, 0, [0; 8]);
        event.id = EventId::Message { guid, number };
        body = rest;
    } else if options & option::GUID != 0 {
        let (guid, rest) = body.split_first_chunk::<16>()?;
        event.id = EventId::Message { guid: Guid(*guid), number };
        body = rest;
    }
    if options & (option::TIMESTAMP | option::TIMESTAMP_SPACE) != 0 {
        let (ticks, rest) = body.split_first_chunk::<8>()?;
        if options & option::TIMESTAMP != 0 {
            event.ticks = i64::from_le_bytes(*ticks);
            *timed = true;
        }
        body = rest;
    }
    if options & option::SYSTEM_INFO != 0 {
        let (ids, rest) = body.split_first_chunk::<8>()?;
        event.tid = u32::from_le_bytes([ids[0], ids[1], ids[2], ids[3]]);
        event.pid = u32::from_le_bytes([ids[4], ids[5], ids[6], ids[7]]);
        body = rest;
    }
    event.payload = body;
    Some(())
}

/// Records that say no more than their size: TIMED, ERROR, WNODE and kinds not known.
fn opaque<'a>(
    rest: &'a [u8],
    size: usize,
    context: &BufferContext,
    last_ticks: i64,
) -> Result<Parsed<'a>, Stop> {
    let (header, record) = cut::<8>(rest, size)?;
    let marker = u32::from_le_bytes(field::<0, 4, 8>(header)) & 0xFFFF_0000;
    let id = EventId::Opaque { marker };
    let mut event = event(record, RecordKind::Opaque, context.pointer_size, last_ticks, id);
    event.payload = &record[8..];
    Ok(Parsed { event, timed: false, whole: true })
}

/// 0xB0 records: a number, then a timestamp where the size has room for it.
fn opaque_timed<'a>(
    rest: &'a [u8],
    size: usize,
    context: &BufferContext,
    last_ticks: i64,
) -> Result<Parsed<'a>, Stop> {
    let mut parsed = opaque(rest, size, context, last_ticks)?;
    if let Some(ticks) = parsed.event.payload.first_chunk::<8>() {
        parsed.event.ticks = i64::from_le_bytes(*ticks);
        parsed.timed = true;
    }
    Ok(parsed)
}

/// Walks the records of one buffer.
///
/// # Invariants
/// `at` only grows, so a walk ends. Records behind a fault are never read (`tests/walk.rs`).
#[derive(Clone, Copy)]
pub(crate) struct Walker<'a> {
    data: &'a [u8],
    context: BufferContext,
    pub place: Place,
}

/// Where a walk stands, apart from the data it walks on.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    /// Position in the buffer.
    pub at: usize,
    /// Time of the last record that had one.
    pub last_ticks: i64,
    /// Records that were earlier than the one before them.
    pub inversions: u64,
    /// Records whose optional parts did not fit, and where the first of them lies.
    pub flawed: u64,
    pub first_flaw: usize,
    /// Why the walk ended, once it has.
    pub stop: Option<Stop>,
}

impl<'a> Walker<'a> {
    /// A walk over `data`, a buffer up to its filled length. Records at its start that have no time get that
    /// of the first record that has one, or `fallback_ticks`.
    pub fn start(data: &'a [u8], context: BufferContext, fallback_ticks: i64) -> Walker<'a> {
        let mut at = super::buffer::HEADER_BYTES;
        let mut last_ticks = fallback_ticks;
        while let Ok(parsed) = parse(data, at, &context, 0) {
            if parsed.timed {
                last_ticks = parsed.event.ticks;
                break;
            }
            at = align8(at + parsed.event.bytes as usize);
        }
        let place = Place { at: super::buffer::HEADER_BYTES, last_ticks, ..Place::default() };
        Walker { data, context, place }
    }

    /// A walk that goes on from `place`.
    #[inline]
    pub fn resume(data: &'a [u8], context: BufferContext, place: Place) -> Walker<'a> {
        Walker { data, context, place }
    }

    /// The next record, without moving to it.
    #[inline]
    pub fn look(&self) -> Result<Parsed<'a>, Stop> {
        parse(self.data, self.place.at, &self.context, self.place.last_ticks)
    }

    /// Moves behind the record that `look` gave.
    #[inline]
    pub fn pass(&mut self, parsed: &Parsed<'a>) {
        if parsed.timed {
            self.place.inversions += u64::from(parsed.event.ticks < self.place.last_ticks);
            self.place.last_ticks = parsed.event.ticks;
        }
        if !parsed.whole {
            if self.place.flawed == 0 {
                self.place.first_flaw = self.place.at;
            }
            self.place.flawed += 1;
        }
        self.place.at = align8(self.place.at + parsed.event.bytes as usize);
    }

    /// A walk that stands behind the record that `look` gave.
    pub fn after(&self, parsed: &Parsed<'a>) -> Walker<'a> {
        let mut walker = *self;
        walker.pass(parsed);
        walker
    }

    /// The time of the next record, without moving to it.
    pub fn peek_ticks(&self) -> Option<i64> {
        self.look().ok().map(|parsed| parsed.event.ticks)
    }
}

impl<'a> Iterator for Walker<'a> {
    type Item = RawEvent<'a>;

    #[inline]
    fn next(&mut self) -> Option<RawEvent<'a>> {
        match self.look() {
            Ok(parsed) => {
                self.pass(&parsed);
                Some(parsed.event)
            }
            Err(stop) => {
                self.place.stop = Some(stop);
                None
            }
        }
    }
}
