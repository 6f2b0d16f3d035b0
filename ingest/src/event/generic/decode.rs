//! Reads one payload by a compiled layout and writes it as one JSON object.
//!
//! Called by `Schemas::fields` for every self-described event; allocates nothing but output.

use super::Undecoded;
use super::cursor::{Cursor, Short};
use super::json;
use super::layout::{Base, Count, Field, Kind, Layout, Length, Map, Show};
use super::limits;

/// The name under which bytes after the last field are kept.
pub(super) const REST: &str = "_rest";

/// What a decoded event says about itself beyond its fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Notes {
    /// Characters that had to be replaced by U+FFFD.
    pub replaced: u32,
    /// Bytes after the last field; they are kept under the name `_rest`.
    pub rest: u32,
    /// The event ended before its last fields.
    pub ended_early: bool,
}

enum Failure {
    Bytes(usize),
    Limit(&'static str),
}

impl From<Short> for Failure {
    fn from(short: Short) -> Self {
        Failure::Bytes(short.offset)
    }
}

struct Decoder<'a> {
    layout: &'a Layout,
    maps: &'a [Map],
    cursor: Cursor<'a>,
    pointer_size: u8,
    out: &'a mut String,
    /// Length of `out` that must not be passed.
    out_end: usize,
    slots: [u64; limits::SLOTS],
    slots_set: u64,
    notes: Notes,
}

/// Appends the fields of `payload`; on failure `out` is as it was.
pub(super) fn decode(
    layout: &Layout,
    maps: &[Map],
    payload: &[u8],
    pointer_size: u8,
    out: &mut String,
) -> Result<Notes, Undecoded> {
    let start = out.len();
    let mut decoder = Decoder {
        layout,
        maps,
        cursor: Cursor::new(payload),
        pointer_size,
        out_end: start + limits::OUTPUT_BYTES,
        out,
        slots: [0; limits::SLOTS],
        slots_set: 0,
        notes: Notes::default(),
    };
    match decoder.event() {
        Ok(()) => Ok(decoder.notes),
        Err(failure) => {
            out.truncate(start);
            Err(match failure {
                Failure::Bytes(offset) => Undecoded::Malformed { offset },
                Failure::Limit(what) => Undecoded::Limit { what },
            })
        }
    }
}

impl<'a> Decoder<'a> {
    fn event(&mut self) -> Result<(), Failure> {
        let layout = self.layout;
        self.out.push('{');
        for (n, field) in layout.fields[..layout.top].iter().enumerate() {
            if layout.may_end_early && self.cursor.is_empty() && field_takes_bytes(field) {
                self.notes.ended_early = !layout.is_for_many_versions;
                break;
            }
            if n > 0 {
                self.out.push(',');
            }
            self.field(field, 0)?;
        }
        let rest = self.cursor.rest();
        if !rest.is_empty() {
            self.notes.rest = rest.len() as u32;
            if !self.out.ends_with('{') {
                self.out.push(',');
            }
            json::string(self.out, REST);
            self.out.push(':');
            json::binary(self.out, rest);
        }
        self.out.push('}');
        self.room()
    }

    /// Stops an output that no payload justifies.
    fn room(&self) -> Result<(), Failure> {
        if self.out.len() > self.out_end { Err(Failure::Limit("bytes of output")) } else { Ok(()) }
    }

    fn slot(&self, slot: u8) -> Result<u64, Failure> {
        let n = usize::from(slot);
        if n >= limits::SLOTS || self.slots_set & (1 << n) == 0 {
            return Err(self.cursor.short().into());
        }
        Ok(self.slots[n])
    }

    fn field(&mut self, field: &Field, depth: usize) -> Result<(), Failure> {
        self.out.push_str(&field.key);
        let count = match field.count {
            Count::One => {
                self.value(field, depth)?;
                return self.room();
            }
            Count::Fixed(n) => u64::from(n),
            Count::Slot(slot) => self.slot(slot)?,
            Count::Prefixed => u64::from(self.cursor.u16()?),
        };
        if count > limits::ARRAY_VALUES {
            return Err(Failure::Limit("values of an array"));
        }
        if let Kind::Value(base, Show::Text) = field.kind
            && self.characters(base, count)?
        {
            return self.room();
        }
        self.out.push('[');
        for n in 0..count {
            if n > 0 {
                self.out.push(',');
            }
            self.value(field, depth)?;
            self.room()?;
        }
        self.out.push(']');
        self.room()
    }

    /// An array of characters is one string. False for an array of anything else.
    fn characters(&mut self, base: Base, count: u64) -> Result<bool, Failure> {
        let count = count as usize;
        match base {
            Base::I8 | Base::U8 | Base::AnsiChar => {
                let bytes = self.cursor.take(count)?;
                self.bytes_text(bytes);
            }
            Base::I16 | Base::U16 | Base::Utf16Char => {
                let bytes = self.cursor.take(2 * count)?;
                self.utf16_text(bytes);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn value(&mut self, field: &Field, depth: usize) -> Result<(), Failure> {
        match field.kind {
            Kind::Value(base, show) => self.scalar(field, base, show),
            Kind::Struct { first, members } => {
                if depth >= limits::DEPTH {
                    return Err(Failure::Limit("structures inside structures"));
                }
                let first = usize::from(first);
                let layout = self.layout;
                self.out.push('{');
                for (n, member) in
                    layout.fields[first..first + usize::from(members)].iter().enumerate()
                {
                    if n > 0 {
                        self.out.push(',');
                    }
                    self.field(member, depth + 1)?;
                }
                self.out.push('}');
                Ok(())
            }
        }
    }

    fn scalar(&mut self, field: &Field, base: Base, show: Show) -> Result<(), Failure> {
        if let Some((value, size, is_signed)) = self.integer(base)? {
            if let Some(slot) = field.slot {
                self.slots[usize::from(slot)] = value;
                self.slots_set |= 1 << slot;
            }
            // A map's values are 32 bits wide, whatever the field's sign.
            let key = if size <= 4 { Some(value as u32) } else { u32::try_from(value).ok() };
            let map = field.map.and_then(|m| self.maps.get(m as usize));
            if let (Some(map), Some(key)) = (map, key)
                && map.write(self.out, key)
            {
                return Ok(());
            }
            self.number(base, value, size, is_signed, show);
            return Ok(());
        }
        match base {
            Base::Null => self.out.push_str("null"),
            Base::F32 => json::float32(self.out, self.cursor.f32()?),
            Base::F64 => json::float64(self.out, self.cursor.f64()?),
            Base::Bool32 => json::boolean(self.out, self.cursor.u32()? != 0),
            Base::Guid => json::guid(self.out, &self.cursor.array()?),
            Base::FileTime => json::filetime(self.out, self.cursor.filetime()?),
            Base::SystemTime => {
                let bytes: [u8; 16] = self.cursor.array()?;
                let word = |n: usize| u16::from_le_bytes([bytes[2 * n], bytes[2 * n + 1]]);
                json::systemtime(self.out, std::array::from_fn(word), show == Show::Utc);
            }
            Base::Sid | Base::TokenUserSid => self.sid(base)?,
            Base::Binary | Base::CountedBinary | Base::HexDump => {
                let bytes = self.binary(field, base, show)?;
                match (show, bytes.len()) {
                    (Show::Ipv6, 16) => {
                        json::ipv6(self.out, std::array::from_fn(|n| bytes[n]));
                    }
                    (Show::SocketAddress, _) => json::socket_address(self.out, bytes),
                    _ => json::binary(self.out, bytes),
                }
            }
            _ => self.text(field, base)?,
        }
        Ok(())
    }

    /// Numbers that may be the length of others: the value, its size, and whether it has a sign.
    /// None for other base types, and nothing read.
    fn integer(&mut self, base: Base) -> Result<Option<(u64, u8, bool)>, Short> {
        let c = &mut self.cursor;
        Ok(Some(match base {
            Base::U8 => (u64::from(c.u8()?), 1, false),
            Base::U16 => (u64::from(c.u16()?), 2, false),
            Base::U32 => (u64::from(c.u32()?), 4, false),
            Base::U64 => (c.u64()?, 8, false),
            Base::HexInt32 => (u64::from(c.u32()?), 4, false),
            Base::HexInt64 => (c.u64()?, 8, false),
            Base::Pointer => (c.pointer(self.pointer_size)?, self.pointer_size, false),
            Base::I8 => (i64::from(c.i8()?) as u64, 1, true),
            Base::I16 => (i64::from(c.i16()?) as u64, 2, true),
            Base::I32 => (i64::from(c.i32()?) as u64, 4, true),
            Base::I64 => (c.i64()? as u64, 8, true),
            _ => return Ok(None),
        }))
    }

    /// `value` is sign-extended when `is_signed`.
    fn number(&mut self, base: Base, value: u64, size: u8, is_signed: bool, show: Show) {
        let out = &mut *self.out;
        // What the value's own bytes say, without the sign extension.
        let raw = if size >= 8 { value } else { value & ((1 << (8 * size)) - 1) };
        match show {
            Show::Bool => json::boolean(out, value != 0),
            Show::Hex => json::hex(out, raw),
            Show::Status => json::status(out, raw as u32),
            Show::Port if size == 2 => json::unsigned(out, u64::from((raw as u16).swap_bytes())),
            Show::Ipv4 if size == 4 => json::ipv4(out, (raw as u32).to_le_bytes()),
            Show::FileTime if size == 8 => json::filetime(out, value as i64),
            Show::Text if size == 1 => self.bytes_text(&[raw as u8]),
            Show::Text if size == 2 => self.utf16_text(&(raw as u16).to_le_bytes()),
            Show::Unsigned => json::unsigned(out, raw),
            Show::Signed => {
                let shift = 64 - 8 * u32::from(size.min(8));
                json::signed(out, ((raw << shift) as i64) >> shift);
            }
            _ if matches!(base, Base::HexInt32 | Base::HexInt64 | Base::Pointer) => {
                json::hex(out, raw);
            }
            _ if is_signed => json::signed(out, value as i64),
            _ => json::unsigned(out, value),
        }
    }

    fn sid(&mut self, base: Base) -> Result<(), Failure> {
        use std::fmt::Write;
        let sid = match base {
            Base::TokenUserSid => self.cursor.token_user_sid(self.pointer_size)?,
            _ => Some(self.cursor.sid()?),
        };
        match sid {
            Some(sid) => {
                let _ = write!(self.out, "\"{sid}\"");
            }
            None => self.out.push_str("null"),
        }
        Ok(())
    }

    fn length(&self, field: &Field) -> Result<Option<usize>, Failure> {
        match field.length {
            Length::Natural => Ok(None),
            Length::Fixed(n) => Ok(Some(usize::from(n))),
            // A length beyond all memory fails like any other that the payload does not hold.
            Length::Slot(slot) => Ok(Some(usize::try_from(self.slot(slot)?).unwrap_or(usize::MAX))),
        }
    }

    fn binary(&mut self, field: &Field, base: Base, show: Show) -> Result<&'a [u8], Failure> {
        let length = match base {
            Base::CountedBinary => usize::from(self.cursor.u16()?),
            Base::HexDump => self.cursor.u32()? as usize,
            _ => match self.length(field)? {
                Some(length) => length,
                None if show == Show::Ipv6 => 16,
                None => self.cursor.remaining(),
            },
        };
        Ok(self.cursor.take(length)?)
    }

    fn text(&mut self, field: &Field, base: Base) -> Result<(), Failure> {
        let counted = |bytes: [u8; 2]| usize::from(u16::from_le_bytes(bytes));
        let reversed = |bytes: [u8; 2]| usize::from(u16::from_be_bytes(bytes));
        let length = self.length(field)?;
        let c = &mut self.cursor;
        let (bytes, wide) = match base {
            Base::Utf16 => match length {
                Some(n) => (until_nul_utf16(c.take(n.saturating_mul(2))?), true),
                None => (c.utf16z_bytes()?, true),
            },
            Base::Ansi => match length {
                Some(n) => (until_nul(c.take(n)?), false),
                None => (c.ansiz_bytes(), false),
            },
            Base::CountedUtf16 | Base::ReversedCountedUtf16 => {
                let prefix = c.array()?;
                let reverse = base == Base::ReversedCountedUtf16;
                let n = if reverse { reversed(prefix) } else { counted(prefix) };
                (whole_characters(c.take(n)?, c)?, true)
            }
            Base::CountedAnsi | Base::ReversedCountedAnsi => {
                let prefix = c.array()?;
                let reverse = base == Base::ReversedCountedAnsi;
                let n = if reverse { reversed(prefix) } else { counted(prefix) };
                (c.take(n)?, false)
            }
            Base::Utf16Rest => {
                let n = length.map_or(c.remaining(), |n| n.saturating_mul(2));
                (whole_characters(c.take(n)?, c)?, true)
            }
            Base::AnsiRest => (c.take(length.unwrap_or(c.remaining()))?, false),
            Base::Utf16Char => (c.take(2)?, true),
            // Base::AnsiChar; every other base type is read elsewhere.
            _ => (c.take(1)?, false),
        };
        if wide {
            self.utf16_text(bytes)
        } else {
            self.bytes_text(bytes)
        }
        Ok(())
    }

    fn utf16_text(&mut self, bytes: &[u8]) {
        self.notes.replaced += json::string_utf16(self.out, bytes);
    }

    fn bytes_text(&mut self, bytes: &[u8]) {
        self.notes.replaced += json::string_bytes(self.out, bytes);
    }
}

/// False for a field that a complete event may have no bytes for.
fn field_takes_bytes(field: &Field) -> bool {
    field.length == Length::Natural
        && !matches!(field.count, Count::Slot(_) | Count::Fixed(0))
        && !matches!(field.kind, Kind::Value(Base::Null, _))
}

fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&b| b == 0).next().unwrap_or(bytes)
}

fn until_nul_utf16(bytes: &[u8]) -> &[u8] {
    let n = bytes.chunks_exact(2).position(|c| c == [0, 0]).map_or(bytes.len(), |n| 2 * n);
    &bytes[..n]
}

/// Refuses half a character at the end of counted UTF-16.
fn whole_characters<'a>(bytes: &'a [u8], after: &Cursor<'_>) -> Result<&'a [u8], Short> {
    if bytes.len() % 2 == 1 { Err(Short { offset: after.offset() - 1 }) } else { Ok(bytes) }
}
