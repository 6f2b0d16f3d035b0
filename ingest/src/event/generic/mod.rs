//! Events that describe themselves become named JSON fields.
//!
//! Where a description comes from, best first: the schema inside the event (TraceLogging),
//! metadata that a merge embedded, manifests that providers write into the trace, and a table of
//! known Windows events. [`Schemas`] learns from every record in the survey pass; in the merge pass
//! it names events and decodes their fields. It knows neither tables nor state.
//!
//! # How values look in JSON
//! * Integers are numbers with all their digits (a TraceLogging UINT64 from 2^63 up is a negative
//!   number: see `tracelogging.rs`), floats the shortest digits that read back the
//!   same; NaN and the infinities are the strings `"NaN"`, `"inf"`, `"-inf"`.
//! * Pointers, and integers that the schema calls hexadecimal, are strings: `"0x7ff812340000"`.
//!   HRESULT and NTSTATUS have all eight digits: `"0xc0000005"`.
//! * Booleans of any size are `true` and `false`.
//! * Binary values are lower-case hex digits in byte order: `"0a0b0c"`. GUIDs are lower case and
//!   without braces, SIDs are `"S-1-5-18"`, addresses `"10.0.0.1"`, `"::1"`, `"10.0.0.1:80"`; ports
//!   are numbers.
//! * A FILETIME is UTC, `"2021-09-09T12:59:35.7912345Z"`. A SYSTEMTIME has milliseconds, and a `Z`
//!   only where its schema says UTC.
//! * A value with a value map is the map's text, a set of bits the texts joined by `|`; what has no
//!   text stays a number.
//! * Strings are UTF-8. What was no character (a lone surrogate, a byte that is no UTF-8) is U+FFFD
//!   and counted. An array of characters is one string, a single byte called a character is a
//!   number; other arrays are arrays, structures are
//!   objects.
//! * Fields stand in declared order; a name that comes again gets `_2`, `_3`, ... Bytes after the
//!   last field are kept as `_rest`. Fields that an older writer did not have are absent.
//! * A string-only event (EventWriteString) is `{"string": ...}`.

mod builtin;
pub mod cursor;
mod decode;
mod json;
mod layout;
pub mod limits;
mod manifest;
mod metadata;
#[cfg(test)]
mod tests;
mod tracelogging;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rustc_hash::FxHashMap;

use crate::etl::{EventId, Guid, RawEvent};
pub use cursor::{Cursor, Short, Sid};
use layout::{Bad, Layout, Map};

/// Extended items.
const ITEM_SCHEMA: u16 = 11;
const ITEM_PROVIDER_TRAITS: u16 = 12;
/// Flag of an event whose payload is one string.
const STRING_ONLY: u16 = 0x4;

/// Everything a trace says about its own events.
///
/// Filled in the survey pass with [`Schemas::note`], completed by [`Schemas::finish`], and only
/// read afterwards, from any number of threads.
#[derive(Debug, Default)]
pub struct Schemas {
    layouts: Vec<Layout>,
    maps: Vec<Map>,
    map_ids: FxHashMap<(Guid, String), u32>,
    /// Embedded metadata, and after `finish` manifests.
    events: FxHashMap<(Guid, u16, u8), u32>,
    classic: FxHashMap<(Guid, u8, u16), u32>,
    /// TraceLogging schemas by their bytes.
    blobs: FxHashMap<Box<[u8]>, u32>,
    blob_bytes: usize,
    /// From provider traits and manifests.
    providers: FxHashMap<Guid, Box<str>>,
    manifests: manifest::Assembler,
    problems: Vec<SchemaProblem>,
    replaced: AtomicU64,
    rest: AtomicU64,
    ended_early: AtomicU64,
}

/// What an event is called; None where the trace does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventName<'s> {
    /// The provider.
    pub provider: Option<&'s str>,
    /// The event: its own name, or its task and opcode (`GC/Start`).
    pub event: Option<&'s str>,
}

/// Why an event has no fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Undecoded {
    /// Nothing says how the payload is laid out.
    NoSchema,
    /// The payload, or the schema in the event, contradicts itself or ends early.
    Malformed {
        /// Where in the payload (0 when the schema is at fault).
        offset: usize,
    },
    /// Larger than a limit of [`limits`].
    Limit {
        /// What there is too much of.
        what: &'static str,
    },
}

impl fmt::Display for Undecoded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Undecoded::NoSchema => f.write_str("no schema"),
            Undecoded::Malformed { offset } => write!(f, "malformed at payload offset {offset:#x}"),
            Undecoded::Limit { what } => write!(f, "too many {what}"),
        }
    }
}

impl std::error::Error for Undecoded {}

impl From<Bad> for Undecoded {
    fn from(bad: Bad) -> Self {
        match bad {
            Bad::Malformed => Undecoded::Malformed { offset: 0 },
            Bad::Limit(what) => Undecoded::Limit { what },
        }
    }
}

/// Descriptions that could not be used, by kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaProblem {
    /// What is wrong.
    pub kind: ProblemKind,
    /// How often.
    pub count: u64,
    /// File offset of the first such record; 0 for problems found in `finish`.
    pub first_offset: u64,
}

/// The kinds of [`SchemaProblem`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProblemKind {
    /// An embedded TRACE_EVENT_INFO cannot be read.
    EventInfo,
    /// An embedded EVENT_MAP_INFO cannot be read.
    MapInfo,
    /// The TraceLogging schema or the provider traits of an event cannot be read.
    TraceLogging,
    /// An event with the id of a manifest chunk is none.
    ManifestChunk,
    /// Chunks of a manifest are missing.
    ManifestIncomplete,
    /// A manifest is no readable XML, or refers to what it does not have.
    Manifest,
    /// A limit was reached; further descriptions are ignored.
    Limit(&'static str),
}

impl Schemas {
    /// Knows only the built-in table.
    pub fn new() -> Self {
        Schemas::default()
    }

    /// Takes in one record, in any order. True when it is a description (and thus no event that
    /// a user asks about).
    pub fn note(&mut self, e: &RawEvent<'_>) -> bool {
        match e.id {
            EventId::Classic { class: metadata::CLASS, opcode, .. } => match opcode {
                metadata::EVENT_INFO => self.note_event_info(e),
                metadata::MAP_INFO => self.note_map_info(e),
                _ => return false,
            },
            EventId::Manifest {
                provider,
                id: manifest::EVENT_ID,
                opcode: manifest::OPCODE,
                ..
            } => match self.manifests.add(provider, e.pid, e.payload) {
                Ok(()) => {}
                Err(bad) => self.problem(ProblemKind::ManifestChunk, bad, e.offset),
            },
            EventId::Manifest { provider, .. } => {
                if !e.extended.is_empty() {
                    self.note_items(provider, e);
                }
                return false;
            }
            _ => return false,
        }
        true
    }

    fn note_event_info(&mut self, e: &RawEvent<'_>) {
        let (maps, map_ids) = (&mut self.maps, &mut self.map_ids);
        let compiled =
            metadata::event_info(e.payload, |provider, name| map_id(maps, map_ids, provider, name));
        match compiled {
            Ok((metadata::Subject::Manifest { provider, id, version }, layout)) => {
                self.add_event((provider, id, version), layout, e.offset);
            }
            Ok((metadata::Subject::Classic { class, opcode, version }, layout)) => {
                if let Some(index) = self.add_layout(layout, e.offset) {
                    self.classic.entry((class, opcode, version)).or_insert(index);
                }
            }
            Ok((metadata::Subject::Other, _)) => {}
            Err(bad) => self.problem(ProblemKind::EventInfo, bad, e.offset),
        }
    }

    fn note_map_info(&mut self, e: &RawEvent<'_>) {
        match metadata::map_info(e.payload) {
            Ok(Some((provider, name, map))) => {
                match map_id(&mut self.maps, &mut self.map_ids, provider, name) {
                    Some(id) => self.maps[id as usize] = map,
                    None => self.problem(ProblemKind::MapInfo, Bad::Limit("value maps"), e.offset),
                }
            }
            Ok(None) => {}
            Err(bad) => self.problem(ProblemKind::MapInfo, bad, e.offset),
        }
    }

    fn note_items(&mut self, provider: Guid, e: &RawEvent<'_>) {
        for item in e.items() {
            let noted = match item.kind {
                ITEM_SCHEMA => self.note_schema(item.data, e.offset),
                ITEM_PROVIDER_TRAITS if !self.providers.contains_key(&provider) => {
                    tracelogging::provider_name(item.data).map(|name| {
                        if self.providers.len() < limits::SCHEMAS && !name.is_empty() {
                            let name = String::from_utf8_lossy(name).into_owned();
                            self.providers.insert(provider, name.into());
                        }
                    })
                }
                _ => Ok(()),
            };
            if let Err(bad) = noted {
                self.problem(ProblemKind::TraceLogging, bad, e.offset);
            }
        }
    }

    fn note_schema(&mut self, item: &[u8], offset: u64) -> Result<(), Bad> {
        let blob = tracelogging::blob(item)?;
        if self.blobs.contains_key(blob) {
            return Ok(());
        }
        if self.blob_bytes + blob.len() > limits::SCHEMA_BYTES {
            return Err(Bad::Limit("bytes of schemas"));
        }
        let layout = tracelogging::compile(blob)?;
        if let Some(index) = self.add_layout(layout, offset) {
            self.blob_bytes += blob.len();
            self.blobs.insert(blob.into(), index);
        }
        Ok(())
    }

    /// Reads the manifests whose chunks are all there. Embedded metadata wins over them.
    pub fn finish(&mut self) {
        let (whole, lost) = self.manifests.take();
        for _ in 0..lost {
            self.problem(ProblemKind::ManifestIncomplete, Bad::Malformed, 0);
        }
        for (provider, text) in whole {
            let (maps, map_ids) = (&mut self.maps, &mut self.map_ids);
            let parsed =
                manifest::parse(&text, |name| map_id(maps, map_ids, provider, name.to_owned()));
            let manifest = match parsed {
                Ok(manifest) => manifest,
                Err(bad) => {
                    self.problem(ProblemKind::Manifest, bad, 0);
                    continue;
                }
            };
            for (name, map) in manifest.maps {
                if let Some(id) = map_id(&mut self.maps, &mut self.map_ids, provider, name) {
                    let known = &mut self.maps[id as usize];
                    if known.entries.is_empty() {
                        *known = map;
                    }
                }
            }
            if let Some(name) = manifest.provider {
                self.providers.entry(provider).or_insert(name);
            }
            for (id, version, layout) in manifest.events {
                self.add_event((provider, id, version), layout, 0);
            }
        }
    }

    /// The first description of an event stays.
    fn add_event(&mut self, key: (Guid, u16, u8), layout: Layout, offset: u64) {
        if self.events.contains_key(&key) {
            return;
        }
        if let Some(index) = self.add_layout(layout, offset) {
            self.events.insert(key, index);
        }
    }

    fn add_layout(&mut self, layout: Layout, offset: u64) -> Option<u32> {
        if self.layouts.len() >= limits::SCHEMAS {
            self.problem(ProblemKind::EventInfo, Bad::Limit("schemas of a recording"), offset);
            return None;
        }
        self.layouts.push(layout);
        Some(self.layouts.len() as u32 - 1)
    }

    /// Counts a complaint; a limit is a complaint of its own kind.
    fn problem(&mut self, kind: ProblemKind, bad: Bad, first_offset: u64) {
        let kind = match bad {
            Bad::Malformed => kind,
            Bad::Limit(what) => ProblemKind::Limit(what),
        };
        match self.problems.iter_mut().find(|p| p.kind == kind) {
            Some(problem) => problem.count += 1,
            None => self.problems.push(SchemaProblem { kind, count: 1, first_offset }),
        }
    }

    /// The compiled description of an event that carries none in itself.
    fn layout(&self, id: &EventId) -> Option<(&Layout, &[Map])> {
        let own = |index: &u32| Some((self.layouts.get(*index as usize)?, &self.maps[..]));
        match *id {
            EventId::Manifest { provider, id, version, .. } => {
                let noted = self.events.get(&(provider, id, version));
                builtin::layout(provider, id, version, noted.is_some())
                    .or_else(|| noted.and_then(own))
            }
            EventId::Classic { class, opcode, version, .. } => {
                self.classic.get(&(class, opcode, version)).and_then(own)
            }
            _ => None,
        }
    }

    /// What the event and its provider are called.
    pub fn name<'s>(&'s self, e: &RawEvent<'s>) -> EventName<'s> {
        let EventId::Manifest { provider, id, opcode, flags, .. } = e.id else {
            let layout = self.layout(&e.id).map(|(l, _)| l);
            return EventName {
                provider: layout.and_then(|l| l.provider.as_deref()),
                event: layout.and_then(|l| l.event.as_deref()),
            };
        };
        let mut name = EventName { provider: self.provider(&provider), event: None };
        if let Some(item) = schema_item(e) {
            if let Ok(blob) = tracelogging::blob(item) {
                name.event = match self.blobs.get(blob) {
                    Some(index) => self.layouts[*index as usize].event.as_deref(),
                    None => {
                        tracelogging::event_name(blob).ok().and_then(|n| str::from_utf8(n).ok())
                    }
                };
            }
        } else if id == manifest::EVENT_ID && opcode == manifest::OPCODE {
            name.event = Some("ManifestData");
        } else if flags & STRING_ONLY == 0
            && let Some((layout, _)) = self.layout(&e.id)
        {
            name.event = layout.event.as_deref();
            name.provider = layout.provider.as_deref().or(name.provider);
        }
        if name.provider.is_none() && !e.extended.is_empty() {
            let traits = e.items().find(|item| item.kind == ITEM_PROVIDER_TRAITS);
            name.provider = traits
                .and_then(|item| tracelogging::provider_name(item.data).ok())
                .and_then(|name| str::from_utf8(name).ok());
        }
        name
    }

    /// The name of a provider: from its own traits or manifest, else the known name.
    pub fn provider(&self, guid: &Guid) -> Option<&str> {
        self.providers.get(guid).map(|name| &**name).or_else(|| builtin::provider(guid))
    }

    /// Appends one JSON object with the fields of the event in declared order. On failure `out`
    /// is left as it was.
    pub fn fields(&self, e: &RawEvent<'_>, out: &mut String) -> Result<(), Undecoded> {
        if let EventId::Manifest { id, opcode, flags, .. } = e.id {
            if flags & STRING_ONLY != 0 {
                return self.string_only(e, out);
            }
            if let Some(item) = schema_item(e) {
                let blob = tracelogging::blob(item)?;
                return match self.blobs.get(blob) {
                    Some(index) => self.decode(&self.layouts[*index as usize], &[], e, out),
                    None => self.decode(&tracelogging::compile(blob)?, &[], e, out),
                };
            }
            if id == manifest::EVENT_ID && opcode == manifest::OPCODE {
                return Err(Undecoded::NoSchema);
            }
        }
        let (layout, maps) = self.layout(&e.id).ok_or(Undecoded::NoSchema)?;
        self.decode(layout, maps, e, out)
    }

    fn decode(
        &self,
        layout: &Layout,
        maps: &[Map],
        e: &RawEvent<'_>,
        out: &mut String,
    ) -> Result<(), Undecoded> {
        let notes = decode::decode(layout, maps, e.payload, e.pointer_size, out)?;
        if notes != decode::Notes::default() {
            let add = |to: &AtomicU64, n: u32| {
                to.fetch_add(u64::from(n), Ordering::Relaxed);
            };
            add(&self.replaced, notes.replaced);
            add(&self.rest, u32::from(notes.rest > 0));
            add(&self.ended_early, u32::from(notes.ended_early));
        }
        Ok(())
    }

    fn string_only(&self, e: &RawEvent<'_>, out: &mut String) -> Result<(), Undecoded> {
        let text = Cursor::new(e.payload)
            .utf16z_bytes()
            .map_err(|short| Undecoded::Malformed { offset: short.offset })?;
        out.push_str("{\"string\":");
        let replaced = json::string_utf16(out, text);
        out.push('}');
        self.replaced.fetch_add(u64::from(replaced), Ordering::Relaxed);
        Ok(())
    }

    /// Descriptions that could not be used, by kind, in the order of their first appearance.
    pub fn problems(&self) -> &[SchemaProblem] {
        &self.problems
    }

    /// Characters of strings that were replaced by U+FFFD so far.
    pub fn replaced_characters(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }

    /// Events so far that were longer than their description (their last bytes are `_rest`).
    pub fn events_longer(&self) -> u64 {
        self.rest.load(Ordering::Relaxed)
    }

    /// Events so far that ended before the last fields of their description.
    pub fn events_shorter(&self) -> u64 {
        self.ended_early.load(Ordering::Relaxed)
    }
}

/// The index of a map, made on first mention: properties and maps come in any order.
fn map_id(
    maps: &mut Vec<Map>,
    ids: &mut FxHashMap<(Guid, String), u32>,
    provider: Guid,
    name: String,
) -> Option<u32> {
    if let Some(id) = ids.get(&(provider, name.clone())) {
        return Some(*id);
    }
    if maps.len() >= limits::MAPS {
        return None;
    }
    maps.push(Map::default());
    let id = maps.len() as u32 - 1;
    ids.insert((provider, name), id);
    Some(id)
}

/// The TraceLogging schema in the event.
#[inline]
fn schema_item<'a>(e: &RawEvent<'a>) -> Option<&'a [u8]> {
    if e.extended.is_empty() {
        return None;
    }
    e.items().find(|item| item.kind == ITEM_SCHEMA).map(|item| item.data)
}
