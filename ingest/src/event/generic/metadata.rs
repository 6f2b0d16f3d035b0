//! Metadata that a merge embeds for every manifest event it finds: one TRACE_EVENT_INFO an event
//! (class bbccf6c1-..., opcode 32), and the value maps they name (opcode 33).
//!
//! Layout of both: event-payloads.md, section 11. Called by `Schemas::note`.

use super::cursor::{Cursor, utf16};
use super::layout::{Bad, Base, Count, Field, Kind, Layout, Length, Map, Show};
use super::limits;
use crate::etl::Guid;

/// The class of the records that carry metadata.
pub(super) const CLASS: Guid =
    Guid::new(0xbbccf6c1, 0x6cd1, 0x48c4, [0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71]);
/// One TRACE_EVENT_INFO.
pub(super) const EVENT_INFO: u8 = 32;
/// A provider and one EVENT_MAP_INFO.
pub(super) const MAP_INFO: u8 = 33;

/// Where the properties begin in a TRACE_EVENT_INFO, and the size of each.
const PROPERTIES: usize = 112;
const PROPERTY_BYTES: usize = 24;

/// Flags of a property.
const STRUCT: u32 = 0x01;
const LENGTH_IS_PROPERTY: u32 = 0x02;
const COUNT_IS_PROPERTY: u32 = 0x04;
const FIXED_LENGTH: u32 = 0x10;
const FIXED_COUNT: u32 = 0x20;

/// Which events a TRACE_EVENT_INFO describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    Manifest {
        provider: Guid,
        id: u16,
        version: u8,
    },
    /// Described by a MOF class.
    Classic {
        class: Guid,
        opcode: u8,
        version: u16,
    },
    /// TraceLogging and WPP: nothing to be looked up later.
    Other,
}

/// Compiles one TRACE_EVENT_INFO. `map_id` gives the index of a map by its provider and name.
pub(super) fn event_info(
    blob: &[u8],
    mut map_id: impl FnMut(Guid, String) -> Option<u32>,
) -> Result<(Subject, Layout), Bad> {
    let mut c = Cursor::new(blob);
    let provider = Guid(c.array()?);
    let class = Guid(c.array()?);
    let (id, version, _channel, _level, opcode) = (c.u16()?, c.u8()?, c.u8()?, c.u8()?, c.u8()?);
    // Task and keyword.
    c.skip(10)?;
    let subject = match c.u32()? {
        0 => Subject::Manifest { provider, id, version },
        1 => Subject::Classic { class, opcode, version: u16::from(version) },
        _ => return Ok((Subject::Other, Layout::default())),
    };
    let offset = |at: usize| Cursor::at(blob, at).u32();
    let text = |at: usize| offset(at).map_err(Bad::from).and_then(|o| string(blob, o));
    let properties = offset(100)? as usize;
    let mut layout = Layout {
        provider: text(52)?.map(Into::into),
        // Where the manifest names the event itself, the slot that MOF uses for the activity
        // has that name.
        event: match (subject, text(92)?) {
            (Subject::Manifest { .. }, Some(name)) => Some(name.into()),
            _ => event_name(text(68)?, text(72)?, opcode),
        },
        top: offset(104)? as usize,
        may_end_early: true,
        ..Layout::default()
    };
    if properties > limits::FIELDS {
        return Err(Bad::Limit("fields of an event"));
    }
    let property = |n: usize| Cursor::at(blob, PROPERTIES + n * PROPERTY_BYTES);
    for n in 0..properties {
        layout.fields.push(field(blob, property(n), provider, &mut map_id)?);
    }
    for n in 0..properties {
        references(&mut layout, n, property(n))?;
    }
    Ok((subject, layout.seal()?))
}

/// The name an event goes by: its task, and its opcode unless that is the plain one. Names that
/// are everybody's (`win:Start`) go without their prefix.
pub(super) fn event_name(
    task: Option<String>,
    opcode_name: Option<String>,
    opcode: u8,
) -> Option<Box<str>> {
    let bare = |name: String| name.strip_prefix("win:").map(str::to_owned).unwrap_or(name);
    match (task.map(bare), opcode_name.map(bare)) {
        (Some(task), Some(name)) if opcode != 0 && name != task => {
            Some(format!("{task}/{name}").into())
        }
        (Some(task), _) => Some(task.into()),
        (None, Some(name)) if opcode != 0 => Some(name.into()),
        _ => None,
    }
}

/// A NUL-terminated UTF-16 string at `offset`; None where there is none.
fn string(blob: &[u8], offset: u32) -> Result<Option<String>, Bad> {
    if offset == 0 {
        return Ok(None);
    }
    let bytes = blob.get(offset as usize..).ok_or(Bad::Malformed)?;
    let end = bytes.chunks_exact(2).position(|c| c == [0, 0]).ok_or(Bad::Malformed)?;
    // The system pads these names with a blank.
    let text = utf16(&bytes[..2 * end]);
    let text = text.trim_end();
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

fn field(
    blob: &[u8],
    mut c: Cursor<'_>,
    provider: Guid,
    map_id: &mut impl FnMut(Guid, String) -> Option<u32>,
) -> Result<Field, Bad> {
    let (flags, name) = (c.u32()?, c.u32()?);
    let (input, output) = (c.u16()?, c.u16()?);
    let (map, count, length) = (c.u32()?, c.u16()?, c.u16()?);
    let name = string(blob, name)?.unwrap_or_default();
    let kind = if flags & STRUCT != 0 {
        Kind::Struct { first: input, members: output }
    } else {
        Kind::Value(Base::from_tdh(input).ok_or(Bad::Malformed)?, Show::from_tdh(output))
    };
    let mut field = Field::new(&name, kind);
    if count > 1 || flags & FIXED_COUNT != 0 {
        field.count = Count::Fixed(count);
    }
    // A length of zero means that the type itself says it, unless it is marked as meant.
    if length > 0 || flags & FIXED_LENGTH != 0 {
        field.length = Length::Fixed(length);
    }
    if flags & STRUCT == 0 {
        field.map = string(blob, map)?.and_then(|name| map_id(provider, name));
    }
    Ok(field)
}

/// Lengths and counts that are other properties.
fn references(layout: &mut Layout, n: usize, mut c: Cursor<'_>) -> Result<(), Bad> {
    let flags = c.u32()?;
    c.skip(12)?;
    let (count, length) = (c.u16()?, c.u16()?);
    if flags & COUNT_IS_PROPERTY != 0 {
        layout.fields[n].count = Count::Slot(layout.slot_of(usize::from(count))?);
    }
    if flags & LENGTH_IS_PROPERTY != 0 {
        layout.fields[n].length = Length::Slot(layout.slot_of(usize::from(length))?);
    }
    Ok(())
}

/// A map with the provider and the name by which properties find it. None for the kinds that name
/// no numbers (patterns).
pub(super) fn map_info(payload: &[u8]) -> Result<Option<(Guid, String, Map)>, Bad> {
    let mut c = Cursor::new(payload);
    let provider = Guid(c.array()?);
    let blob = c.rest();
    let mut c = Cursor::new(blob);
    let (name, flags, count, value_type) = (c.u32()?, c.u32()?, c.u32()? as usize, c.u32()?);
    let name = string(blob, name)?.ok_or(Bad::Malformed)?;
    // 1 value map, 2 bit map, 8 and 0x10 the same from MOF; values that are texts have type 1.
    let bits = flags & 0x12 != 0;
    if flags & 0x1B == 0 || value_type != 0 {
        return Ok(None);
    }
    if count > limits::MAP_ENTRIES {
        return Err(Bad::Limit("entries of a value map"));
    }
    let mut entries = Vec::new();
    for _ in 0..count {
        let (text, value) = (c.u32()?, c.u32()?);
        if let Some(text) = string(blob, text)? {
            entries.push((value, text.into()));
        }
    }
    Ok(Some((provider, name, Map::new(bits, entries))))
}
