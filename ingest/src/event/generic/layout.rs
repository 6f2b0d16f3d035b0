//! The common form that every kind of schema is compiled to: a flat list of fields.
//!
//! TraceLogging blobs, embedded TRACE_EVENT_INFO, XML manifests and the built-in table all end up
//! here, and `decode.rs` reads payloads by it. Compiled once, read for every event.

use super::json;
use super::limits;

/// How the bytes of one value lie in the payload (the union of all kinds of schemas).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    Null,
    /// UTF-16, up to a NUL, or as long as [`Length`] says (in characters).
    Utf16,
    /// Bytes, up to a NUL, or as long as [`Length`] says.
    Ansi,
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    F32,
    F64,
    Bool32,
    /// As long as [`Length`] says, else all the rest.
    Binary,
    Guid,
    Pointer,
    FileTime,
    SystemTime,
    Sid,
    HexInt32,
    HexInt64,
    /// A u16 byte count, then UTF-16.
    CountedUtf16,
    /// A u16 byte count, then bytes of text.
    CountedAnsi,
    /// A u16 byte count, then bytes.
    CountedBinary,
    /// As [`Base::CountedUtf16`], with the count in big-endian order.
    ReversedCountedUtf16,
    /// As [`Base::CountedAnsi`], with the count in big-endian order.
    ReversedCountedAnsi,
    /// UTF-16 up to the end of the payload.
    Utf16Rest,
    /// Bytes of text up to the end of the payload.
    AnsiRest,
    Utf16Char,
    AnsiChar,
    /// A u32 byte count, then bytes.
    HexDump,
    /// A TOKEN_USER of two pointers, then a SID.
    TokenUserSid,
}

/// How a value is shown, where that is not what its base type suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Show {
    Plain,
    /// A number that is a character.
    Text,
    Bool,
    Hex,
    Signed,
    Unsigned,
    Port,
    Ipv4,
    Ipv6,
    SocketAddress,
    /// HRESULT and NTSTATUS: eight hex digits.
    Status,
    FileTime,
    Utc,
}

/// How many values a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    Fixed(u16),
    /// As an earlier field says.
    Slot(u8),
    /// A u16 in front of the values says.
    Prefixed,
}

/// How long a string or a binary value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Length {
    /// As the base type says.
    Natural,
    Fixed(u16),
    /// As an earlier field says.
    Slot(u8),
}

/// One value, or a structure of other fields of the same layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Value(Base, Show),
    /// Members `first .. first + members` of the layout's fields.
    Struct {
        first: u16,
        members: u16,
    },
}

/// One field.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// The name as it stands in the JSON text: quoted, escaped, with its colon.
    pub key: Box<str>,
    pub kind: Kind,
    pub count: Count,
    pub length: Length,
    /// Index into the value maps of the trace.
    pub map: Option<u32>,
    /// Where the value is remembered for the fields that refer to it.
    pub slot: Option<u8>,
}

impl Field {
    /// A field of one value, to be refined.
    pub(super) fn new(name: &str, kind: Kind) -> Self {
        Field {
            key: key(name),
            kind,
            count: Count::One,
            length: Length::Natural,
            map: None,
            slot: None,
        }
    }
}

/// A compiled schema.
///
/// # Invariants
/// Structures refer to ranges inside `fields`; slots are below [`limits::SLOTS`]; no two fields
/// of one object have the same key. [`Layout::seal`] establishes all three.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub provider: Option<Box<str>>,
    pub event: Option<Box<str>>,
    pub fields: Vec<Field>,
    /// The first so many fields are the event's own; what follows belongs to structures.
    pub top: usize,
    /// An event may end before its last fields: the writer was of an earlier version.
    pub may_end_early: bool,
    /// The layout stands for several versions, so an early end is nothing to count.
    pub is_for_many_versions: bool,
}

/// Why a schema could not be compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bad {
    /// It contradicts itself, or its bytes end early.
    Malformed,
    /// It is larger than this limit.
    Limit(&'static str),
}

impl From<super::cursor::Short> for Bad {
    fn from(_: super::cursor::Short) -> Self {
        Bad::Malformed
    }
}

impl Layout {
    /// Checks the references and makes the names of each object unique.
    pub(super) fn seal(mut self) -> Result<Self, Bad> {
        if self.fields.len() > limits::FIELDS {
            return Err(Bad::Limit("fields of an event"));
        }
        if self.top > self.fields.len() {
            return Err(Bad::Malformed);
        }
        let mut objects = vec![(0, self.top)];
        let mut members_left = self.fields.len();
        for field in &self.fields {
            if let Kind::Struct { first, members } = field.kind {
                let (first, members) = (usize::from(first), usize::from(members));
                // A field is a member of at most one structure, so the sum is bounded, too.
                members_left = members_left.checked_sub(members).ok_or(Bad::Malformed)?;
                if first + members > self.fields.len() {
                    return Err(Bad::Malformed);
                }
                objects.push((first, first + members));
            }
        }
        for (first, end) in objects {
            unique_keys(&mut self.fields[first..end]);
        }
        Ok(self)
    }

    /// The slot in which field `index` is remembered, made on first use.
    pub(super) fn slot_of(&mut self, index: usize) -> Result<u8, Bad> {
        let used = self.fields.iter().filter(|f| f.slot.is_some()).count();
        let field = self.fields.get_mut(index).ok_or(Bad::Malformed)?;
        if field.slot.is_none() {
            if used >= limits::SLOTS {
                return Err(Bad::Limit("fields that others refer to"));
            }
            field.slot = Some(used as u8);
        }
        field.slot.ok_or(Bad::Malformed)
    }
}

/// `"name":`, escaped.
fn key(name: &str) -> Box<str> {
    let mut out = String::with_capacity(name.len() + 3);
    json::string(&mut out, name);
    out.push(':');
    out.into()
}

/// A name that occurs again gets `_2`, `_3`, ...: a JSON object would lose the first value.
fn unique_keys(fields: &mut [Field]) {
    let mut next = rustc_hash::FxHashMap::<Box<str>, u32>::default();
    // The decoder's own name for bytes after the last field.
    next.insert(key(super::decode::REST), 1);
    for field in fields {
        let original = field.key.clone();
        while next.contains_key(&field.key) {
            let n = next.entry(original.clone()).or_insert(1);
            *n += 1;
            let stem = original.strip_suffix("\":").unwrap_or(&original);
            field.key = format!("{stem}_{n}\":").into();
        }
        next.insert(field.key.clone(), 1);
    }
}

/// Names for values, from an EVENT_MAP_INFO or a manifest.
#[derive(Clone, Debug, Default)]
pub(super) struct Map {
    /// Values are sets of bits, not single numbers.
    pub bits: bool,
    /// Sorted by value; the texts are escaped.
    pub entries: Vec<(u32, Box<str>)>,
}

impl Map {
    /// Takes the entries in any order; the first text of a value stays.
    pub(super) fn new(bits: bool, mut entries: Vec<(u32, Box<str>)>) -> Self {
        entries.sort_by_key(|e| e.0);
        entries.dedup_by_key(|e| e.0);
        for entry in &mut entries {
            let mut text = String::new();
            json::escaped(&mut text, entry.1.trim_end());
            entry.1 = text.into();
        }
        Map { bits, entries }
    }

    /// Appends the text of `value`: one name, or the names of its bits joined by `|`, with bits
    /// that have no name last, in hex. False, and nothing appended, when no name fits.
    pub(super) fn write(&self, out: &mut String, value: u32) -> bool {
        if let Ok(n) = self.entries.binary_search_by_key(&value, |e| e.0) {
            out.push('"');
            out.push_str(&self.entries[n].1);
            out.push('"');
            return true;
        }
        if !self.bits {
            return false;
        }
        let start = out.len();
        let mut left = value;
        out.push('"');
        for (bits, text) in &self.entries {
            if *bits != 0 && value & bits == *bits {
                if left != value {
                    out.push('|');
                }
                out.push_str(text);
                left &= !bits;
            }
        }
        if left == value {
            out.truncate(start);
            return false;
        }
        if left != 0 {
            use std::fmt::Write;
            let _ = write!(out, "|{left:#x}");
        }
        out.push('"');
        true
    }
}

impl Base {
    /// From the TDH number of an input type (tdh.h), as TRACE_EVENT_INFO has it.
    pub(super) fn from_tdh(number: u16) -> Option<Base> {
        Some(match number {
            0 => Base::Null,
            1 => Base::Utf16,
            2 => Base::Ansi,
            3 => Base::I8,
            4 => Base::U8,
            5 => Base::I16,
            6 => Base::U16,
            7 => Base::I32,
            8 => Base::U32,
            9 => Base::I64,
            10 => Base::U64,
            11 => Base::F32,
            12 => Base::F64,
            13 => Base::Bool32,
            14 => Base::Binary,
            15 => Base::Guid,
            16 | 308 => Base::Pointer,
            17 => Base::FileTime,
            18 => Base::SystemTime,
            19 => Base::Sid,
            20 => Base::HexInt32,
            21 => Base::HexInt64,
            22 | 300 => Base::CountedUtf16,
            23 | 301 => Base::CountedAnsi,
            25 => Base::CountedBinary,
            302 => Base::ReversedCountedUtf16,
            303 => Base::ReversedCountedAnsi,
            304 => Base::Utf16Rest,
            305 => Base::AnsiRest,
            306 => Base::Utf16Char,
            307 => Base::AnsiChar,
            309 => Base::HexDump,
            310 => Base::TokenUserSid,
            _ => return None,
        })
    }
}

impl Show {
    /// From the TDH number of an output type; one that changes nothing, or is unknown, is plain.
    pub(super) fn from_tdh(number: u16) -> Show {
        match number {
            1 => Show::Text,
            13 => Show::Bool,
            15..=19 | 37 => Show::Hex,
            22 => Show::Port,
            23 => Show::Ipv4,
            24 => Show::Ipv6,
            25 => Show::SocketAddress,
            31 | 32 => Show::Status,
            38 => Show::Utc,
            _ => Show::Plain,
        }
    }

    /// From the number of an output type in a TraceLogging schema, whose list is its own.
    pub(super) fn from_tracelogging(number: u8) -> Show {
        match number {
            2 => Show::Text,
            3 => Show::Bool,
            4 | 37 => Show::Hex,
            7 => Show::Port,
            8 => Show::Ipv4,
            9 => Show::Ipv6,
            10 => Show::SocketAddress,
            14 | 15 => Show::Status,
            16 => Show::FileTime,
            17 => Show::Signed,
            18 => Show::Unsigned,
            38 => Show::Utc,
            _ => Show::Plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_names_get_a_number() {
        let field = |name| Field::new(name, Kind::Value(Base::U8, Show::Plain));
        let fields = ["a", "a_2", "a", "a", "b"].map(field).to_vec();
        let layout = Layout { top: 5, fields, ..Layout::default() }.seal().unwrap();
        let keys: Vec<&str> = layout.fields.iter().map(|f| &*f.key).collect();
        assert_eq!(keys, ["\"a\":", "\"a_2\":", "\"a_3\":", "\"a_4\":", "\"b\":"]);
    }

    #[test]
    fn maps_name_values_and_bits() {
        let show = |map: &Map, value| {
            let mut out = String::new();
            map.write(&mut out, value).then_some(out)
        };
        let entries = vec![(2, "Two ".into()), (1, "O\"ne".into()), (2, "again".into())];
        let map = Map::new(false, entries.clone());
        assert_eq!(show(&map, 2).as_deref(), Some("\"Two\""));
        assert_eq!(show(&map, 1).as_deref(), Some("\"O\\\"ne\""));
        assert_eq!(show(&map, 3), None);
        let bits = Map::new(true, entries);
        assert_eq!(show(&bits, 3).as_deref(), Some("\"O\\\"ne|Two\""));
        assert_eq!(show(&bits, 0x11).as_deref(), Some("\"O\\\"ne|0x10\""));
        assert_eq!(show(&bits, 0x10), None);
        assert_eq!(show(&bits, 0), None);
    }

    #[test]
    fn references_outside_are_refused() {
        let field = Field::new("s", Kind::Struct { first: 1, members: 1 });
        let layout = Layout { top: 1, fields: vec![field], ..Layout::default() };
        assert!(matches!(layout.seal(), Err(Bad::Malformed)));
    }
}
