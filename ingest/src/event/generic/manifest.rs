//! Manifests that a provider writes into the trace itself (EventSource and PerfView): an XML
//! document, cut into chunks of at most 64 KB, each in an event of id 0xFFFE and opcode 254.
//!
//! `Assembler` puts the chunks together, `parse` turns a document into layouts. Chunks of several
//! processes and providers may interleave, and every process that starts repeats the document.
//! Called by `Schemas::note` and `Schemas::finish`.

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use rustc_hash::FxHashMap;

use super::cursor::Cursor;
use super::layout::{Bad, Base, Count, Field, Kind, Layout, Length, Map, Show};
use super::{limits, metadata};
use crate::etl::Guid;

/// Id and opcode of the events that carry chunks.
pub(super) const EVENT_ID: u16 = 0xFFFE;
pub(super) const OPCODE: u8 = 254;

/// In front of the text of each chunk stand format, version (2 bytes), magic, total, index.
const FORMAT: u8 = 1;
const MAGIC: u8 = 0x5B;

/// Collects chunks until documents are whole.
#[derive(Debug, Default)]
pub(super) struct Assembler {
    /// By provider and process.
    unfinished: FxHashMap<(Guid, u32), Unfinished>,
    whole: Vec<(Guid, Vec<u8>)>,
    bytes: usize,
}

#[derive(Debug)]
struct Unfinished {
    chunks: Vec<Option<Vec<u8>>>,
    missing: usize,
    bytes: usize,
}

impl Assembler {
    /// Takes the payload of one chunk event.
    pub(super) fn add(&mut self, provider: Guid, pid: u32, payload: &[u8]) -> Result<(), Bad> {
        let mut c = Cursor::new(payload);
        let (format, _version, magic) = (c.u8()?, c.u16()?, c.u8()?);
        let (total, index) = (c.u16()?, c.u16()?);
        if format != FORMAT || magic != MAGIC || index >= total {
            return Err(Bad::Malformed);
        }
        if total > limits::MANIFEST_CHUNKS {
            return Err(Bad::Limit("chunks of a manifest"));
        }
        let text = c.rest();
        if self.bytes + text.len() > limits::MANIFESTS_BYTES {
            return Err(Bad::Limit("bytes of all manifests"));
        }
        let key = (provider, pid);
        if !self.unfinished.contains_key(&key) && self.unfinished.len() >= limits::ASSEMBLIES {
            return Err(Bad::Limit("manifests being assembled"));
        }
        let fresh = |total: u16| {
            let n = usize::from(total);
            Unfinished { chunks: vec![None; n], missing: n, bytes: 0 }
        };
        let entry = self.unfinished.entry(key).or_insert_with(|| fresh(total));
        if entry.chunks.len() != usize::from(total) {
            // Another document of the same provider: the first one will not be completed.
            self.bytes -= entry.bytes;
            *entry = fresh(total);
        }
        if entry.bytes + text.len() > limits::MANIFEST_BYTES {
            return Err(Bad::Limit("bytes of a manifest"));
        }
        let slot = &mut entry.chunks[usize::from(index)];
        let replaced = slot.replace(text.to_vec());
        entry.missing -= usize::from(replaced.is_none());
        let replaced = replaced.map_or(0, |r| r.len());
        entry.bytes = entry.bytes + text.len() - replaced;
        self.bytes = self.bytes + text.len() - replaced;
        if entry.missing == 0 {
            self.complete(key);
        }
        Ok(())
    }

    fn complete(&mut self, key: (Guid, u32)) {
        let Some(done) = self.unfinished.remove(&key) else { return };
        let text: Vec<u8> = done.chunks.into_iter().flatten().flatten().collect();
        if self.whole.iter().any(|(guid, known)| *guid == key.0 && *known == text) {
            self.bytes -= text.len();
        } else {
            self.whole.push((key.0, text));
        }
    }

    /// The whole documents in the order of their completion, each once, and how many documents
    /// remain of which chunks are missing and no other process had them all.
    pub(super) fn take(&mut self) -> (Vec<(Guid, Vec<u8>)>, usize) {
        self.bytes = 0;
        let whole = std::mem::take(&mut self.whole);
        let known = |guid: &Guid| whole.iter().any(|(g, _)| g == guid);
        let lost = self.unfinished.drain().filter(|((guid, _), _)| !known(guid)).count();
        (whole, lost)
    }
}

/// What one document says.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    pub provider: Option<Box<str>>,
    /// By event id and version.
    pub events: Vec<(u16, u8, Layout)>,
    /// By name.
    pub maps: Vec<(String, Map)>,
}

/// The document as it stands, before references are followed.
#[derive(Default)]
struct Document {
    provider: Option<String>,
    events: Vec<Attributes>,
    tasks: FxHashMap<String, Attributes>,
    opcodes: FxHashMap<String, Attributes>,
    templates: FxHashMap<String, Vec<Data>>,
    maps: Vec<(String, bool, Vec<Attributes>)>,
    strings: FxHashMap<String, String>,
}

type Attributes = FxHashMap<String, String>;

struct Data {
    attributes: Attributes,
    /// Of a structure.
    members: Option<Vec<Data>>,
}

/// Reads a document. `map_id` gives the index of a map by its name.
pub(super) fn parse(
    text: &[u8],
    mut map_id: impl FnMut(&str) -> Option<u32>,
) -> Result<Manifest, Bad> {
    let document = read(text)?;
    let mut manifest =
        Manifest { provider: document.provider.as_deref().map(Into::into), ..Manifest::default() };
    for (name, bits, entries) in &document.maps {
        let entries = entries.iter().filter_map(|e| document.map_entry(e)).collect();
        manifest.maps.push((name.clone(), Map::new(*bits, entries)));
    }
    for event in &document.events {
        let Some(id) = event.get("value").and_then(|v| number(v)) else { continue };
        let version = event.get("version").and_then(|v| number(v)).unwrap_or(0);
        let (Ok(id), Ok(version)) = (u16::try_from(id), u8::try_from(version)) else { continue };
        let mut layout = Layout {
            provider: manifest.provider.clone(),
            event: document.event_name(event),
            may_end_early: true,
            ..Layout::default()
        };
        if let Some(data) = event.get("template").and_then(|t| document.templates.get(t)) {
            fill(&mut layout, data, &mut map_id)?;
        }
        manifest.events.push((id, version, layout.seal()?));
    }
    Ok(manifest)
}

/// Decimal, or hexadecimal with 0x.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Document {
    /// The text of `$(string.id)`.
    fn message(&self, attributes: &Attributes) -> Option<String> {
        let id = attributes.get("message")?.strip_prefix("$(string.")?.strip_suffix(')')?;
        self.strings.get(id).map(|s| s.trim_end().to_owned()).filter(|s| !s.is_empty())
    }

    fn map_entry(&self, entry: &Attributes) -> Option<(u32, Box<str>)> {
        let value = number(entry.get("value")?)?;
        Some((value, self.message(entry)?.into()))
    }

    /// Task and opcode as in embedded metadata; an event without a task has its symbol.
    fn event_name(&self, event: &Attributes) -> Option<Box<str>> {
        let shown = |of: &FxHashMap<String, Attributes>, name: &String| {
            let text = of.get(name).and_then(|a| self.message(a));
            text.unwrap_or_else(|| name.clone())
        };
        let task = event.get("task").filter(|t| *t != "win:None" && !t.is_empty());
        let Some(task) = task.map(|t| shown(&self.tasks, t)) else {
            return event.get("symbol").map(|s| s.as_str().into());
        };
        let opcode = event.get("opcode").filter(|o| *o != "win:Info" && !o.is_empty());
        let code = u8::from(opcode.is_some());
        metadata::event_name(Some(task), opcode.map(|o| shown(&self.opcodes, o)), code)
    }
}

/// Lays a template out flat: its own fields first, then those of each structure.
fn fill(
    layout: &mut Layout,
    template: &[Data],
    map_id: &mut impl FnMut(&str) -> Option<u32>,
) -> Result<(), Bad> {
    let members = |d: &Data| d.members.as_ref().map_or(0, Vec::len);
    if template.len() + template.iter().map(members).sum::<usize>() > limits::FIELDS {
        return Err(Bad::Limit("fields of an event"));
    }
    layout.top = template.len();
    for data in template {
        layout.fields.push(field(data, map_id)?);
    }
    let mut objects = vec![(0, template)];
    for (n, data) in template.iter().enumerate() {
        if let Some(members) = &data.members {
            let first = layout.fields.len();
            let kind = Kind::Struct { first: first as u16, members: members.len() as u16 };
            layout.fields[n].kind = kind;
            for member in members {
                layout.fields.push(field(member, map_id)?);
            }
            objects.push((first, members));
        }
    }
    for (first, object) in objects {
        for (n, data) in object.iter().enumerate() {
            // A name is sought among the neighbours, then among the event's own fields.
            let find = |name: &str| {
                let among = |of: &[Data]| of.iter().position(|d| d.is_called(name));
                among(object).map(|at| first + at).or_else(|| among(template))
            };
            if let Some(count) = data.attributes.get("count") {
                layout.fields[first + n].count = match number(count) {
                    Some(n) => Count::Fixed(u16::try_from(n).map_err(|_| Bad::Malformed)?),
                    None => Count::Slot(layout.slot_of(find(count).ok_or(Bad::Malformed)?)?),
                };
            }
            if let Some(length) = data.attributes.get("length") {
                layout.fields[first + n].length = match number(length) {
                    Some(n) => Length::Fixed(u16::try_from(n).map_err(|_| Bad::Malformed)?),
                    None => Length::Slot(layout.slot_of(find(length).ok_or(Bad::Malformed)?)?),
                };
            }
        }
    }
    Ok(())
}

impl Data {
    fn is_called(&self, name: &str) -> bool {
        self.attributes.get("name").is_some_and(|n| n == name)
    }
}

fn field(data: &Data, map_id: &mut impl FnMut(&str) -> Option<u32>) -> Result<Field, Bad> {
    let attribute = |name: &str| data.attributes.get(name).map(String::as_str);
    let name = attribute("name").unwrap_or_default();
    if data.members.is_some() {
        return Ok(Field::new(name, Kind::Struct { first: 0, members: 0 }));
    }
    let base = base(attribute("inType").ok_or(Bad::Malformed)?).ok_or(Bad::Malformed)?;
    let kind = Kind::Value(base, show(attribute("outType").unwrap_or_default()));
    let map = attribute("map").and_then(map_id);
    Ok(Field { map, ..Field::new(name, kind) })
}

/// The input types of manifests.
fn base(name: &str) -> Option<Base> {
    Some(match name.rsplit(':').next()? {
        "UnicodeString" => Base::Utf16,
        "AnsiString" => Base::Ansi,
        "Int8" => Base::I8,
        "UInt8" => Base::U8,
        "Int16" => Base::I16,
        "UInt16" => Base::U16,
        "Int32" => Base::I32,
        "UInt32" => Base::U32,
        "Int64" => Base::I64,
        "UInt64" => Base::U64,
        "Float" => Base::F32,
        "Double" => Base::F64,
        "Boolean" => Base::Bool32,
        "Binary" => Base::Binary,
        "GUID" => Base::Guid,
        "Pointer" | "SizeT" => Base::Pointer,
        "FILETIME" => Base::FileTime,
        "SYSTEMTIME" => Base::SystemTime,
        "SID" => Base::Sid,
        "HexInt32" => Base::HexInt32,
        "HexInt64" => Base::HexInt64,
        "CountedUnicodeString" => Base::CountedUtf16,
        "CountedAnsiString" => Base::CountedAnsi,
        "CountedBinary" => Base::CountedBinary,
        "UnicodeChar" => Base::Utf16Char,
        "AnsiChar" => Base::AnsiChar,
        _ => return None,
    })
}

/// The output types of manifests that change what is shown.
fn show(name: &str) -> Show {
    match name.rsplit(':').next().unwrap_or_default() {
        "string" => Show::Text,
        "boolean" => Show::Bool,
        "HexInt8" | "HexInt16" | "HexInt32" | "HexInt64" | "hexBinary" | "CodePointer" => Show::Hex,
        "Port" => Show::Port,
        "IPv4" => Show::Ipv4,
        "IPv6" => Show::Ipv6,
        "SocketAddress" => Show::SocketAddress,
        "NTSTATUS" | "HResult" => Show::Status,
        "DateTimeUtc" => Show::Utc,
        _ => Show::Plain,
    }
}

/// Walks the elements once. Elements it does not know are passed over.
fn read(text: &[u8]) -> Result<Document, Bad> {
    let text = String::from_utf8_lossy(text);
    let mut reader = Reader::from_str(text.trim_start_matches('\u{FEFF}'));
    // An end tag that does not fit would only hide what is still readable.
    reader.config_mut().check_end_names = false;
    let mut document = Document::default();
    let mut place = Place::default();
    loop {
        match reader.read_event().map_err(|_| Bad::Malformed)? {
            Event::Start(e) => document.element(&mut place, &e, false)?,
            Event::Empty(e) => document.element(&mut place, &e, true)?,
            Event::End(e) => match e.name().local_name().into_inner() {
                "struct" => place.in_struct = false,
                "template" => place.template = None,
                "valueMap" | "bitMap" => place.in_map = false,
                _ => {}
            },
            Event::Eof => return Ok(document),
            _ => {}
        }
    }
}

/// Which elements are open.
#[derive(Default)]
struct Place {
    template: Option<String>,
    in_struct: bool,
    in_map: bool,
}

impl Document {
    fn element(
        &mut self,
        place: &mut Place,
        element: &BytesStart<'_>,
        is_empty: bool,
    ) -> Result<(), Bad> {
        let attributes = attributes(element)?;
        let get = |name: &str| attributes.get(name).cloned().unwrap_or_default();
        match element.name().local_name().into_inner() {
            // One document describes one provider; an EventSource knows no other.
            "provider" => self.provider = self.provider.take().or(Some(get("name"))),
            "event" if attributes.contains_key("value") => {
                if self.events.len() >= limits::SCHEMAS {
                    return Err(Bad::Limit("schemas of a recording"));
                }
                self.events.push(attributes);
            }
            "task" => drop(self.tasks.insert(get("name"), attributes)),
            "opcode" => drop(self.opcodes.insert(get("name"), attributes)),
            "template" if !is_empty => {
                let id = get("tid");
                self.templates.entry(id.clone()).or_default();
                *place = Place { template: Some(id), ..Place::default() };
            }
            name @ ("data" | "struct") => self.data(place, name, attributes, is_empty)?,
            name @ ("valueMap" | "bitMap") if !is_empty => {
                if self.maps.len() >= limits::MAPS {
                    return Err(Bad::Limit("value maps"));
                }
                place.in_map = true;
                self.maps.push((get("name"), name == "bitMap", Vec::new()));
            }
            "map" if place.in_map => {
                if let Some((_, _, entries)) = self.maps.last_mut() {
                    if entries.len() >= limits::MAP_ENTRIES {
                        return Err(Bad::Limit("entries of a value map"));
                    }
                    entries.push(attributes);
                }
            }
            // The first table is the one of the provider's own language.
            "string" => drop(self.strings.entry(get("id")).or_insert(get("value"))),
            _ => {}
        }
        Ok(())
    }

    fn data(
        &mut self,
        place: &mut Place,
        name: &str,
        attributes: Attributes,
        is_empty: bool,
    ) -> Result<(), Bad> {
        let Some(template) = place.template.as_ref().and_then(|t| self.templates.get_mut(t)) else {
            return Ok(());
        };
        if template.len() >= limits::FIELDS {
            return Err(Bad::Limit("fields of an event"));
        }
        if name == "struct" {
            place.in_struct = !is_empty;
            template.push(Data { attributes, members: Some(Vec::new()) });
            return Ok(());
        }
        let data = Data { attributes, members: None };
        match template.last_mut().and_then(|d| d.members.as_mut()) {
            Some(members) if place.in_struct => {
                if members.len() >= limits::FIELDS {
                    return Err(Bad::Limit("fields of an event"));
                }
                members.push(data);
            }
            _ => template.push(data),
        }
        Ok(())
    }
}

fn attributes(element: &BytesStart<'_>) -> Result<Attributes, Bad> {
    let mut found = Attributes::default();
    for attribute in element.attributes().with_checks(false) {
        let attribute = attribute.map_err(|_| Bad::Malformed)?;
        let value = attribute
            .normalized_value(quick_xml::XmlVersion::Implicit1_0)
            .map_err(|_| Bad::Malformed)?;
        found.insert(attribute.key.local_name().into_inner().to_owned(), value.into_owned());
    }
    Ok(found)
}
