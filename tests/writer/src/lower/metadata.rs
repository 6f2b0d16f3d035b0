//! Metadata that a merge embeds: TRACE_EVENT_INFO (opcode 32) and EVENT_MAP_INFO (opcode 33).
//!
//! `TIME metadata event PROVIDER/ID[/VERSION] provider_name= task_name= op_name= : name:type ...` and
//! `TIME metadata map PROVIDER NAME [bits] : value=text ...`. A field is `name:u32`,
//! `name:u32@MapName`, `name:u16[count_field]`, `name:u16[3]`, `name:hex(length_field)`,
//! `name:hex(16)`, or `name:{ member:type ... }`.

use super::{At, Lower};
use crate::body::{Body, Guid};
use crate::record::FullHeader;
use crate::text::Reader;
use crate::values;

const FLAG_STRUCT: u32 = 0x1;
const FLAG_PARAM_LENGTH: u32 = 0x2;
const FLAG_PARAM_COUNT: u32 = 0x4;
const FLAG_FIXED_LENGTH: u32 = 0x10;
const FLAG_FIXED_COUNT: u32 = 0x20;
const FIXED_BYTES: usize = 112;
const PROPERTY_BYTES: usize = 24;

const TYPES: [(&str, u16, u16); 23] = [
    ("z16", 1, 0),
    ("z8", 2, 0),
    ("i8", 3, 1),
    ("u8", 4, 1),
    ("i16", 5, 2),
    ("u16", 6, 2),
    ("i32", 7, 4),
    ("u32", 8, 4),
    ("i64", 9, 8),
    ("u64", 10, 8),
    ("f32", 11, 4),
    ("f64", 12, 8),
    ("bool", 13, 4),
    ("hex", 14, 0),
    ("guid", 15, 16),
    ("ptr", 16, 0),
    ("filetime", 17, 8),
    ("systemtime", 18, 16),
    ("sid", 19, 0),
    ("hex32", 20, 4),
    ("hex64", 21, 8),
    ("c16", 300, 0),
    ("c8", 301, 0),
];

/// One property before its strings have places.
#[derive(Default)]
struct Property {
    name: String,
    flags: u32,
    in_type: u16,
    out_type: u16,
    map: Option<String>,
    count: u16,
    length: u16,
    members: Vec<Property>,
}

impl Lower {
    /// `TIME metadata event|map ...`
    pub(super) fn emit_metadata(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let at = self.at(reader, None)?;
        match reader.need_word("event or map")? {
            "event" => self.event_info(reader, at),
            "map" => self.map_info(reader, at),
            other => Err(format!("'{other}' is no metadata")),
        }
    }

    fn push_metadata(&mut self, at: At, opcode: u8, blob: Vec<u8>) -> Result<(), String> {
        let class = values::provider("EventMetadata")?;
        let header = FullHeader { class, opcode, ..FullHeader::default() };
        let mut body = self.body(at.file);
        body.raw(&blob);
        self.push_full(at, &header, &body)
    }

    fn event_info(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let mut parts = reader.need_word("PROVIDER/ID")?.split('/');
        let provider = values::provider(parts.next().unwrap_or(""))?;
        let id: u16 = crate::text::field(parts.next().ok_or("it needs PROVIDER/ID")?)?;
        let version: u8 = match parts.next() {
            Some(version) => crate::text::field(version.trim_start_matches('v'))?,
            None => 0,
        };
        let mut tokens = reader.statement.items.iter();
        let top = properties(&mut tokens, 0)?;
        let mut flat: Vec<&Property> = top.iter().collect();
        let mut starts = Vec::new();
        for property in &top {
            starts.push(flat.len() as u16);
            if property.flags & FLAG_STRUCT != 0 {
                flat.extend(&property.members);
            }
        }
        let mut head = Body::new(true);
        head.guid(provider).guid(Guid::default());
        head.u16(id).u8(version).u8(reader.or("channel", 0)?).u8(reader.or("level", 4)?);
        head.u8(reader.or("op", 0)?).u16(reader.or("task", 0)?).u64(reader.or("kw", 0)?).u32(0);
        let mut strings = Strings::after(FIXED_BYTES + PROPERTY_BYTES * flat.len());
        let provider_name = strings.add(reader.text("provider_name"));
        let task = strings.add(reader.text("task_name"));
        let opcode = strings.add(reader.text("op_name"));
        let message = strings.add(reader.text("message"));
        head.u32(provider_name).u32(0).u32(0).u32(0).u32(task).u32(opcode).u32(message);
        head.u32(0).u32(0).u32(0).u32(0).u32(0);
        head.u32(flat.len() as u32).u32(top.len() as u32).u32(0);
        for (index, property) in flat.iter().enumerate() {
            let start = starts.get(index).copied().unwrap_or(0);
            put_property(&mut head, &mut strings, property, start, &flat)?;
        }
        head.raw(&strings.bytes.bytes);
        self.push_metadata(at, 32, head.bytes)
    }

    fn map_info(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let provider = values::provider(reader.need_word("a provider")?)?;
        let name = reader.need_word("a map name")?;
        let flags = if reader.flag("bits") { 2 } else { 1 };
        let entries = &reader.statement.items;
        let mut strings = Strings::after(16 + 8 * entries.len());
        let mut map = Body::new(true);
        map.u32(strings.add(Some(name))).u32(flags).u32(entries.len() as u32).u32(0);
        for entry in entries {
            let (value, text) = entry.split_once('=').ok_or("a map entry is value=text")?;
            map.u32(strings.add(Some(text))).u32(crate::text::field32(value)?);
        }
        let mut blob = provider.0.to_vec();
        blob.extend_from_slice(&map.bytes);
        blob.extend_from_slice(&strings.bytes.bytes);
        self.push_metadata(at, 33, blob)
    }
}

/// Strings at the end of a blob, with the offsets they get.
struct Strings {
    base: usize,
    bytes: Body,
}

impl Strings {
    fn after(base: usize) -> Strings {
        Strings { base, bytes: Body::new(true) }
    }

    fn add(&mut self, text: Option<&str>) -> u32 {
        let Some(text) = text else { return 0 };
        let at = self.base + self.bytes.bytes.len();
        self.bytes.z16(text);
        at as u32
    }
}

fn put_property(
    head: &mut Body,
    strings: &mut Strings,
    property: &Property,
    struct_start: u16,
    all: &[&Property],
) -> Result<(), String> {
    let place = |text: &str| all.iter().position(|p| p.name == text);
    let name = strings.add(Some(&property.name));
    let map = strings.add(property.map.as_deref());
    let (mut first, mut second) = (property.in_type, property.out_type);
    if property.flags & FLAG_STRUCT != 0 {
        (first, second) = (struct_start, property.members.len() as u16);
    }
    let (mut count, mut length) = (property.count, property.length);
    if property.flags & FLAG_PARAM_COUNT != 0 {
        count = place(&property.members[0].name).ok_or("no such count field")? as u16;
    }
    if property.flags & FLAG_PARAM_LENGTH != 0 {
        length = place(&property.members[0].name).ok_or("no such length field")? as u16;
    }
    head.u32(property.flags).u32(name).u16(first).u16(second).u32(map);
    head.u16(count).u16(length).u32(0);
    Ok(())
}

fn properties<'a>(
    tokens: &mut impl Iterator<Item = &'a String>,
    depth: usize,
) -> Result<Vec<Property>, String> {
    let mut all = Vec::new();
    while let Some(token) = tokens.next() {
        if token == "}" && depth > 0 {
            return Ok(all);
        }
        let (name, kind) = token.split_once(':').ok_or("a field is name:type")?;
        if kind == "{" {
            if depth > 0 {
                return Err("structs do not nest here".into());
            }
            let members = properties(tokens, depth + 1)?;
            let (name, flags, count) = (name.to_string(), FLAG_STRUCT, 1);
            all.push(Property { name, flags, count, members, ..Property::default() });
        } else {
            all.push(property(name, kind)?);
        }
    }
    if depth > 0 { Err("a struct is not closed".into()) } else { Ok(all) }
}

fn property(name: &str, text: &str) -> Result<Property, String> {
    let (text, map) = match text.split_once('@') {
        Some((text, map)) => (text, Some(map.to_string())),
        None => (text, None),
    };
    let end = text.find(['[', '(']).unwrap_or(text.len());
    let (kind, size) = text.split_at(end);
    let known = TYPES.iter().find(|(known, ..)| *known == kind);
    let (_, in_type, length) = *known.ok_or_else(|| format!("'{kind}' is no type"))?;
    let mut property =
        Property { name: name.into(), in_type, map, count: 1, length, ..Property::default() };
    let inner = size.trim_matches(|c| "[]()".contains(c));
    let number = crate::text::field::<u16>(inner).ok();
    // A field that gives the count or length is remembered by name until all have places.
    let other = || vec![Property { name: inner.into(), ..Property::default() }];
    match (size.chars().next(), number) {
        (Some('['), Some(count)) => {
            property.flags = FLAG_FIXED_COUNT;
            property.count = count;
        }
        (Some('['), None) => {
            property.flags = FLAG_PARAM_COUNT;
            property.members = other();
        }
        (Some('('), Some(length)) => {
            property.flags = FLAG_FIXED_LENGTH;
            property.length = length;
        }
        (Some('('), None) => {
            property.flags = FLAG_PARAM_LENGTH;
            property.members = other();
        }
        _ => {}
    }
    Ok(property)
}
