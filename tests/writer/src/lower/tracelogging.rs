//! TraceLogging events: schema and payload from one list of fields.
//!
//! `TIME tl GUID "Provider.Name" "EventName" ... : name:type=value ...`. Arrays are `name:type[]=1,2`
//! (counted) or `name:type[2]=1,2` (fixed); structs are `name:{ a:u32=1 b:z16=x }`, arrays of
//! structs `name:[]{ a:u32=1 } { a:u32=2 }`. `name:u32/hex=5` adds an out type.

use super::Lower;
use super::event::traits;
use super::items::{Place, put_plain};
use crate::body::Body;
use crate::record::EventHeader;
use crate::text::Reader;
use crate::values;

const CHANNEL_TRACELOGGING: u8 = 11;
const STRUCT: u8 = 24;
const FIXED_COUNT: u8 = 0x20;
const VARIABLE_COUNT: u8 = 0x40;
const HAS_OUT_TYPE: u8 = 0x80;
/// Deepest nesting of structs.
const NESTING_MAX: usize = 8;

const IN_TYPES: [(&str, u8); 23] = [
    ("z16", 1),
    ("z8", 2),
    ("i8", 3),
    ("u8", 4),
    ("i16", 5),
    ("u16", 6),
    ("i32", 7),
    ("u32", 8),
    ("i64", 9),
    ("u64", 10),
    ("f32", 11),
    ("f64", 12),
    ("bool", 13),
    ("bin", 14),
    ("guid", 15),
    ("filetime", 17),
    ("systemtime", 18),
    ("sid", 19),
    ("hex32", 20),
    ("hex64", 21),
    ("c16", 22),
    ("c8", 23),
    ("cbin", 25),
];

const OUT_TYPES: [(&str, u8); 17] = [
    ("none", 1),
    ("string", 2),
    ("boolean", 3),
    ("hex", 4),
    ("pid", 5),
    ("tid", 6),
    ("port", 7),
    ("ipv4", 8),
    ("ipv6", 9),
    ("xml", 11),
    ("json", 12),
    ("win32error", 13),
    ("ntstatus", 14),
    ("hresult", 15),
    ("signed", 17),
    ("unsigned", 18),
    ("utf8", 35),
];

/// Schema bytes and payload bytes grow side by side.
struct Fields<'a> {
    schema: Body,
    payload: Body,
    tokens: &'a [String],
    at: usize,
    /// Later elements of a struct array repeat fields that the schema has already.
    quiet: bool,
    place: Place,
    lower: &'a Lower,
}

impl Lower {
    /// `TIME tl GUID PROVIDER EVENT ... : fields`
    pub(super) fn emit_tracelogging(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let provider = values::provider(reader.need_word("a provider GUID")?)?;
        let provider_name = reader.need_word("a provider name")?;
        let event_name = reader.need_word("an event name")?;
        let header = EventHeader {
            provider,
            id: reader.or("id", 0)?,
            channel: CHANNEL_TRACELOGGING,
            level: 5,
            ..EventHeader::default()
        };
        let (at, mut header, empty) = self.event_header(reader, header)?;
        let mut fields = Fields {
            schema: Body::new(empty.wide),
            payload: empty,
            tokens: &reader.statement.items,
            at: 0,
            quiet: false,
            place: Place { file: at.file, pid: header.pid, ns: at.ns },
            lower: self,
        };
        fields.schema.u16(0).u8(0).z8(event_name);
        fields.all(0)?;
        if fields.at < fields.tokens.len() {
            return Err("'}' closes nothing".into());
        }
        let (mut schema, payload) = (fields.schema.bytes, fields.payload);
        let size = u16::try_from(schema.len()).map_err(|_| "the schema is too long")?;
        schema[..2].copy_from_slice(&size.to_le_bytes());
        header.items.push((12, traits(provider_name)));
        header.items.push((11, schema));
        self.push_event(reader, at, header, &payload)
    }
}

impl Fields<'_> {
    /// Fields up to a closing brace or the end; gives their number.
    fn all(&mut self, depth: usize) -> Result<u8, String> {
        let mut count = 0u8;
        while let Some(token) = self.tokens.get(self.at) {
            if token == "}" {
                break;
            }
            self.at += 1;
            count = count.checked_add(1).filter(|c| *c < 128).ok_or("too many fields")?;
            let (name, rest) =
                token.split_once(':').ok_or_else(|| format!("'{token}' is no name:type=value"))?;
            match rest {
                "{" => self.structure(name, None, depth)?,
                "[]{" => self.structure(name, Some(()), depth)?,
                _ => self.value(name, rest)?,
            }
        }
        Ok(count)
    }

    fn name(&mut self, name: &str) {
        if !self.quiet {
            self.schema.z8(name);
        }
    }

    fn schema_byte(&mut self, byte: u8) -> usize {
        if !self.quiet {
            self.schema.u8(byte);
        }
        self.schema.bytes.len().saturating_sub(1)
    }

    fn structure(&mut self, name: &str, array: Option<()>, depth: usize) -> Result<(), String> {
        if depth >= NESTING_MAX {
            return Err(format!("structs nest deeper than {NESTING_MAX}"));
        }
        self.name(name);
        let kind = STRUCT | HAS_OUT_TYPE | if array.is_some() { VARIABLE_COUNT } else { 0 };
        self.schema_byte(kind);
        let count_at = self.schema_byte(0);
        let elements_at = self.payload.bytes.len();
        if array.is_some() {
            self.payload.u16(0);
        }
        let was_quiet = self.quiet;
        let mut elements = 0u16;
        loop {
            let fields = self.all(depth + 1)?;
            if self.tokens.get(self.at).map(String::as_str) != Some("}") {
                return Err(format!("'{name}' is not closed"));
            }
            self.at += 1;
            elements += 1;
            if !self.quiet {
                self.schema.bytes[count_at] = fields;
            }
            if array.is_none() || self.tokens.get(self.at).map(String::as_str) != Some("{") {
                break;
            }
            self.at += 1;
            self.quiet = true;
        }
        self.quiet = was_quiet;
        if array.is_some() {
            self.payload.bytes[elements_at..elements_at + 2]
                .copy_from_slice(&elements.to_le_bytes());
        }
        Ok(())
    }

    fn value(&mut self, name: &str, rest: &str) -> Result<(), String> {
        let (kind, value) = rest.split_once('=').unwrap_or((rest, ""));
        let (kind, out) = match kind.split_once('/') {
            Some((kind, out)) => (kind.to_string(), Some(out_type(out)?)),
            None => (kind.to_string(), None),
        };
        let (kind, count) = match kind.split_once('[') {
            Some((kind, "]")) => (kind.to_string(), Some(None)),
            Some((kind, count)) => {
                let count: u16 = crate::text::field(count.trim_end_matches(']'))?;
                (kind.to_string(), Some(Some(count)))
            }
            None => (kind, None),
        };
        let code = in_type(&kind, self.payload.wide)?;
        let shape = match count {
            None => 0,
            Some(None) => VARIABLE_COUNT,
            Some(Some(_)) => FIXED_COUNT,
        };
        self.name(name);
        self.schema_byte(code | shape | if out.is_some() { HAS_OUT_TYPE } else { 0 });
        if let Some(out) = out {
            self.schema_byte(out);
        }
        if let (Some(Some(count)), false) = (count, self.quiet) {
            self.schema.u16(count);
        }
        let parts: Vec<&str> = match count {
            None => vec![value],
            Some(_) if value.is_empty() => Vec::new(),
            Some(_) => value.split(',').collect(),
        };
        match count {
            Some(None) => {
                self.payload.u16(parts.len() as u16);
            }
            Some(Some(count)) if usize::from(count) != parts.len() => {
                return Err(format!("'{name}' has not {count} values"));
            }
            _ => {}
        }
        for part in parts {
            self.put(&kind, part).map_err(|e| format!("{name}: {e}"))?;
        }
        Ok(())
    }

    fn put(&mut self, kind: &str, value: &str) -> Result<(), String> {
        match kind {
            "filetime" => {
                let units = self.lower.filetime_of(value, self.place)?;
                self.payload.i64(units);
                Ok(())
            }
            "cbin" => put_plain(&mut self.payload, "bin", value),
            _ => put_plain(&mut self.payload, kind, value),
        }
    }
}

fn in_type(kind: &str, wide: bool) -> Result<u8, String> {
    if kind == "ptr" {
        return Ok(if wide { 21 } else { 20 });
    }
    let known = IN_TYPES.iter().find(|(name, _)| *name == kind);
    known.map(|(_, code)| *code).ok_or_else(|| format!("'{kind}' is no type"))
}

fn out_type(name: &str) -> Result<u8, String> {
    match OUT_TYPES.iter().find(|(known, _)| *known == name) {
        Some((_, code)) => Ok(*code),
        None => crate::text::field(name),
    }
}
