//! A second opinion: the reader of Windows itself (`ProcessTrace`, through ferrisetw) on the same file, compared
//! with ours event class by event class. `etwas ingest --reader os` and the oracle test call it.
//!
//! Only Windows has that reader, and only builds with the feature `os-reader` use it; [`AVAILABLE`] tells. The
//! comparison itself is plain code and is tested everywhere. What the system's reader tells a safe program is less
//! than what a table needs: no CPU, and payloads only property by property where this very machine has the
//! event's description. So it checks our reader, and never fills tables in its place.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::etl::{EtlFile, EventId, Guid, OpenError, RawEvent, scan};
use crate::event::names;

/// Whether this build, on this system, has the system's reader.
pub const AVAILABLE: bool = cfg!(all(windows, feature = "os-reader"));

/// Most times of events that are compared; beyond it only their number is.
const TIMES_MAX: usize = 32 << 20;

/// Most distinct payloads that are compared; beyond it none are.
const PAYLOADS_MAX: usize = 4 << 20;

/// Most payload lengths within a class; beyond it its payloads are not compared.
const LENGTHS_MAX: usize = 256;

/// Windows rounds times to this many of its 100 ns units.
const TICK: u64 = 1;

/// Why there is no second opinion.
#[derive(Debug, thiserror::Error)]
pub enum OsReaderError {
    /// Another system, or a build without the feature.
    #[error(
        "this build has no reader of the operating system: it takes Windows and a build with --features os-reader"
    )]
    Unavailable,
    /// Windows would read another file: the name up to there.
    #[error("the path has a NUL in it")]
    NulInPath,
    /// Windows does not open the file.
    #[error("Windows cannot open it: {0}")]
    Open(String),
    /// Windows stopped in the middle.
    #[error("Windows stopped reading it: {0}")]
    Process(String),
    /// The file cannot be read at all.
    #[error("cannot be read: {0}")]
    Io(#[from] std::io::Error),
}

/// How the events of a class are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Numbering {
    /// By opcode: kernel events and other classic ones.
    Opcode,
    /// By id: manifest and TraceLogging events.
    Id,
    /// By message number: WPP.
    Message,
}

/// What both readers call an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Class {
    /// Provider, or class of a classic event.
    pub provider: Guid,
    /// What `number` is.
    pub numbering: Numbering,
    /// Opcode, id or message number.
    pub number: u16,
    /// Version.
    pub version: u8,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = match self.numbering {
            Numbering::Opcode => "opcode",
            Numbering::Id => "id",
            Numbering::Message => "message",
        };
        write!(f, "{} {number} {} version {}", self.provider, self.number, self.version)
    }
}

impl Class {
    /// The class of a raw event; `None` for kernel events whose class is not public and for records of unknown kind.
    pub fn of(event: &RawEvent<'_>) -> Option<Class> {
        let class =
            |provider, numbering, number, version| Class { provider, numbering, number, version };
        match event.id {
            EventId::Kernel { hook, version } => {
                let provider = names::class_of_hook(hook)?;
                Some(class(provider, Numbering::Opcode, hook & 0xFF, version))
            }
            EventId::Classic { class: provider, opcode, version, .. } => {
                Some(class(provider, Numbering::Opcode, u16::from(opcode), version as u8))
            }
            EventId::Manifest { provider, id, version, .. } => {
                Some(class(provider, Numbering::Id, id, version))
            }
            EventId::Message { guid, number } => Some(class(guid, Numbering::Message, number, 0)),
            EventId::Opaque { .. } => None,
        }
    }

    /// The header record, which Windows rewrites before it gives it out.
    fn is_header(&self) -> bool {
        names::class_of_hook(0) == Some(self.provider) && self.number == 0
    }
}

/// One event as Windows gives it.
#[derive(Clone, Copy, Debug)]
pub struct OsEvent<'a> {
    /// What it is.
    pub class: Class,
    /// When (FILETIME, UTC).
    pub filetime: i64,
    /// Process and thread of the header.
    pub pid: u32,
    pub tid: u32,
    /// The payload up to the end of its last described property; `None` where it has no description here.
    pub payload: Option<&'a [u8]>,
}

/// What both readers found of one class.
#[derive(Default)]
struct Both {
    os: u64,
    native: u64,
    os_times: Vec<i64>,
    native_times: Vec<i64>,
    /// Payloads that Windows gave and we have not yet, by length and hash.
    payloads: HashMap<(u32, u64), u64>,
    lengths: BTreeSet<u32>,
    untold: u64,
    unmatched: u64,
}

/// A comparison under way: first everything from Windows, then everything from us.
#[derive(Default)]
pub struct Comparison {
    classes: BTreeMap<Class, Both>,
    times: usize,
    payloads: usize,
    compared: u64,
    /// Events of ours that have no public class.
    unnamed: u64,
}

/// What a comparison came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Events that Windows gave.
    pub os_events: u64,
    /// Events that we gave, among them `unnamed`.
    pub native_events: u64,
    /// Events of ours without a public class, which are not compared.
    pub unnamed: u64,
    /// Classes compared.
    pub classes: usize,
    /// Payloads of ours that Windows gave, too.
    pub payloads: u64,
    /// Whether the times of all events were compared.
    pub times_compared: bool,
    /// What differs, one sentence each.
    pub differences: Vec<String>,
}

/// Process, thread and payload in one number.
fn fingerprint(class: &Class, pid: u32, tid: u32, payload: &[u8]) -> u64 {
    let mut hasher = blake3::Hasher::new();
    if class.numbering != Numbering::Message {
        hasher.update(&pid.to_le_bytes()).update(&tid.to_le_bytes());
    }
    hasher.update(payload);
    let hash = hasher.finalize();
    hash.as_bytes().first_chunk::<8>().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

impl Comparison {
    /// Adds an event from Windows; all of them come before the first of ours.
    pub fn os(&mut self, event: &OsEvent<'_>) {
        let both = self.classes.entry(event.class).or_default();
        both.os += 1;
        self.times += 1;
        if self.times <= TIMES_MAX {
            both.os_times.push(event.filetime);
        }
        let known = event.payload.filter(|_| !event.class.is_header());
        let Some(payload) = known.filter(|payload| {
            let length = payload.len() as u32;
            both.lengths.len() < LENGTHS_MAX || both.lengths.contains(&length)
        }) else {
            both.untold += 1;
            return;
        };
        let hash = fingerprint(&event.class, event.pid, event.tid, payload);
        both.lengths.insert(payload.len() as u32);
        let count = both.payloads.entry((payload.len() as u32, hash)).or_default();
        self.payloads += usize::from(*count == 0);
        *count += 1;
    }

    /// Adds an event of ours, with its time as FILETIME.
    pub fn native(&mut self, event: &RawEvent<'_>, filetime: i64) {
        let Some(class) = Class::of(event) else {
            self.unnamed += 1;
            return;
        };
        let both = self.classes.entry(class).or_default();
        both.native += 1;
        if self.times <= TIMES_MAX && both.native_times.len() < TIMES_MAX {
            both.native_times.push(filetime);
        }
        if self.payloads > PAYLOADS_MAX {
            return;
        }
        // Windows may know fewer properties than there are bytes; the longest that fits is meant.
        let fitting = both.lengths.iter().rev().filter(|len| **len as usize <= event.payload.len());
        for length in fitting {
            let hash =
                fingerprint(&class, event.pid, event.tid, &event.payload[..*length as usize]);
            if let Some(count) = both.payloads.get_mut(&(*length, hash))
                && *count > 0
            {
                *count -= 1;
                self.compared += 1;
                return;
            }
        }
        both.unmatched += 1;
    }

    /// Sums up.
    pub fn finish(self) -> Report {
        let mut report = Report {
            unnamed: self.unnamed,
            native_events: self.unnamed,
            classes: self.classes.len(),
            payloads: self.compared,
            times_compared: self.times <= TIMES_MAX,
            ..Report::default()
        };
        for (class, mut both) in self.classes {
            report.os_events += both.os;
            report.native_events += both.native;
            let mut differs = |what: String| report.differences.push(format!("{class}: {what}"));
            if both.os != both.native {
                differs(format!("{} events from Windows, {} from etwas", both.os, both.native));
                continue;
            }
            if report.times_compared {
                both.os_times.sort_unstable();
                both.native_times.sort_unstable();
                let pairs = both.os_times.iter().zip(&both.native_times);
                let far = pairs.filter(|(os, native)| os.abs_diff(**native) > TICK).count();
                if far > 0 {
                    differs(format!("{far} times are more than 100 ns apart"));
                }
            }
            if self.payloads > PAYLOADS_MAX {
                continue;
            }
            // What Windows gave must be ours; what it did not describe may be anything.
            let missing: u64 = both.payloads.values().sum();
            if missing > 0 || (both.untold == 0 && both.unmatched > 0) {
                let count = missing.max(both.unmatched);
                differs(format!("{count} payloads, processes or threads differ"));
            }
        }
        report
    }
}

/// Has Windows read a file, then reads it ourselves, and compares.
pub fn compare(path: &Path) -> Result<Report, OsReaderError> {
    if path.as_os_str().to_string_lossy().contains('\0') {
        return Err(OsReaderError::NulInPath);
    }
    let mut comparison = read(path)?;
    let file = match EtlFile::open(Arc::new(std::fs::File::open(path)?)) {
        Ok(file) => file,
        Err(OpenError::Io(error)) => return Err(error.into()),
        Err(error) => {
            let mut report = comparison.finish();
            let events = report.os_events;
            report.differences =
                vec![format!("Windows reads {events} events, etwas none: {error}")];
            return Ok(report);
        }
    };
    let clock = file.clock();
    scan(&file, |event| comparison.native(event, clock.filetime(event.ticks)))?;
    Ok(comparison.finish())
}

#[cfg(not(all(windows, feature = "os-reader")))]
fn read(_path: &Path) -> Result<Comparison, OsReaderError> {
    Err(OsReaderError::Unavailable)
}

#[cfg(all(windows, feature = "os-reader"))]
use windows_reader::read;

/// The part that needs Windows.
#[cfg(all(windows, feature = "os-reader"))]
mod windows_reader {
    use std::collections::HashMap;
    use std::path::Path;
    use std::sync::{Arc, Mutex, PoisonError};

    use ferrisetw::parser::Parser;
    use ferrisetw::schema::Schema;
    use ferrisetw::trace::TraceTrait;
    use ferrisetw::{
        EventRecord, EventSerializer, EventSerializerOptions, FileTrace, GUID, SchemaLocator,
    };

    use super::{Class, Comparison, Numbering, OsEvent, OsReaderError};
    use crate::etl::Guid;

    /// Header flag of classic events, which an opcode numbers.
    const FLAG_CLASSIC: u16 = 0x100;
    /// Header flag of WPP messages.
    const FLAG_MESSAGE: u16 = 0x8;

    /// What the callback keeps. It is called on this thread only, but must be able to be sent.
    #[derive(Default)]
    struct Kept {
        comparison: Comparison,
        /// Names of a class's properties, in order.
        properties: HashMap<Class, Vec<String>>,
    }

    /// Every event that Windows gives.
    pub(super) fn read(path: &Path) -> Result<Comparison, OsReaderError> {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let shared = Arc::clone(&kept);
        let trace = FileTrace::new(path.to_owned(), move |record, locator| {
            shared.lock().unwrap_or_else(PoisonError::into_inner).note(record, locator);
        });
        let (trace, handle) =
            trace.start().map_err(|error| OsReaderError::Open(format!("{error:?}")))?;
        // Not `start_and_process`, which loses this error.
        let result = FileTrace::process_from_handle(handle);
        drop(trace);
        result.map_err(|error| OsReaderError::Process(format!("{error:?}")))?;
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(std::mem::take(&mut kept.comparison))
    }

    impl Kept {
        fn note(&mut self, record: &EventRecord, locator: &SchemaLocator) {
            let class = class_of(record);
            let schema = locator.event_schema(record).ok();
            let payload = schema.and_then(|schema| self.payload(&class, record, &schema));
            self.comparison.os(&OsEvent {
                class,
                filetime: record.raw_timestamp(),
                pid: record.process_id(),
                tid: record.thread_id(),
                payload: payload.as_deref(),
            });
        }

        /// The bytes of all properties one behind the other, which is the payload as far as it is described.
        fn payload(
            &mut self,
            class: &Class,
            record: &EventRecord,
            schema: &Schema,
        ) -> Option<Vec<u8>> {
            if !self.properties.contains_key(class) {
                self.properties.insert(*class, property_names(record, schema)?);
            }
            let names = self.properties.get(class)?;
            let parser = Parser::create(record, schema);
            let mut bytes = Vec::new();
            for name in names {
                // Stacks and other open ends have fewer properties than their description.
                let Ok(property) = parser.try_parse::<Vec<u8>>(name) else { break };
                bytes.extend_from_slice(&property);
            }
            (!bytes.is_empty()).then_some(bytes)
        }
    }

    /// Names in order; `None` where a property has a type that ferrisetw does not know, as it would leave a hole,
    /// or where two have the same name.
    fn property_names(record: &EventRecord, schema: &Schema) -> Option<Vec<String>> {
        let options = EventSerializerOptions {
            include_schema: false,
            include_header: false,
            include_extended_data: false,
            fail_unimplemented: true,
        };
        let value = serde_json::to_value(EventSerializer::new(record, schema, options)).ok()?;
        Some(value.get("Event")?.as_object()?.keys().cloned().collect())
    }

    fn class_of(record: &EventRecord) -> Class {
        let GUID { data1, data2, data3, data4 } = record.provider_id();
        let flags = record.event_flags();
        let (numbering, number, version) = if flags & FLAG_MESSAGE != 0 {
            (Numbering::Message, record.event_id(), 0)
        } else if flags & FLAG_CLASSIC != 0 {
            (Numbering::Opcode, u16::from(record.opcode()), record.version())
        } else {
            (Numbering::Id, record.event_id(), record.version())
        };
        Class { provider: Guid::new(data1, data2, data3, data4), numbering, number, version }
    }
}

#[cfg(test)]
mod tests;
