//! The census: every record of the container by class and fate.

use rustc_hash::FxHashMap;

use crate::etl::{EventId, Guid, RawEvent};

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It became a row of a table, or part of one.
    Stored(&'static str),
    /// Understood, but no table keeps it.
    Known,
    /// No layout known.
    Unknown,
    /// Too short or contradictory.
    Malformed,
}

impl Fate {
    const NAMES: [&'static str; 4] = ["stored", "known", "unknown", "malformed"];

    fn index(self) -> usize {
        match self {
            Fate::Stored(_) => 0,
            Fate::Known => 1,
            Fate::Unknown => 2,
            Fate::Malformed => 3,
        }
    }
}

/// What tells event classes apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClassKey {
    /// Kernel record.
    Kernel {
        /// Hook.
        hook: u16,
        /// Version.
        version: u8,
    },
    /// Classic event.
    Classic {
        /// Class.
        class: Guid,
        /// Opcode.
        opcode: u8,
        /// Version.
        version: u16,
    },
    /// Manifest event, or TraceLogging event with the hash of its schema.
    Manifest {
        /// Provider.
        provider: Guid,
        /// Id.
        id: u16,
        /// Version.
        version: u8,
        /// Opcode.
        opcode: u8,
        /// Hash of the TraceLogging schema; 0 for manifest events.
        schema: u64,
    },
    /// WPP message.
    Message {
        /// Message GUID.
        guid: Guid,
        /// Number.
        number: u16,
    },
    /// Any other record.
    Opaque {
        /// Marker.
        marker: u32,
    },
}

/// Channel of TraceLogging events.
const CHANNEL_TRACE_LOGGING: u8 = 11;
/// Extended item with the TraceLogging schema.
const ITEM_SCHEMA: u16 = 11;

impl ClassKey {
    /// The class of an event.
    pub fn of(event: &RawEvent<'_>) -> ClassKey {
        match event.id {
            EventId::Kernel { hook, version } => ClassKey::Kernel { hook, version },
            EventId::Classic { class, opcode, version, .. } => {
                ClassKey::Classic { class, opcode, version }
            }
            EventId::Manifest { provider, id, version, opcode, channel, .. } => {
                let schema = if channel == CHANNEL_TRACE_LOGGING { schema_hash(event) } else { 0 };
                ClassKey::Manifest { provider, id, version, opcode, schema }
            }
            EventId::Message { guid, number } => ClassKey::Message { guid, number },
            EventId::Opaque { marker } => ClassKey::Opaque { marker },
        }
    }
}

fn schema_hash(event: &RawEvent<'_>) -> u64 {
    use std::hash::Hasher;
    let mut hasher = rustc_hash::FxHasher::default();
    if let Some(item) = event.items().find(|item| item.kind == ITEM_SCHEMA) {
        hasher.write(item.data);
    }
    hasher.finish() | 1
}

/// Counts of one fate.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Records.
    pub events: u64,
    /// Bytes.
    pub bytes: u64,
    /// First record.
    pub first_ns: i64,
    /// Last record.
    pub last_ns: i64,
}

/// One class.
#[derive(Clone, Debug)]
pub struct Class {
    /// What it is.
    pub key: ClassKey,
    /// Provider name, once somebody asked.
    pub provider: Option<String>,
    /// Event name.
    pub name: Option<String>,
    /// Table of its stored events.
    pub table: Option<&'static str>,
    fates: [Tally; 4],
}

/// The census of a recording.
pub struct Census {
    classes: Vec<Class>,
    by_key: FxHashMap<ClassKey, u32>,
    /// For each hook the class of the version seen first, plus one.
    hooks: Vec<u32>,
}

impl Default for Census {
    fn default() -> Self {
        Census { classes: Vec::new(), by_key: FxHashMap::default(), hooks: vec![0; 1 << 16] }
    }
}

impl Census {
    /// The class of an event; `describe` names one that is new.
    #[inline]
    pub fn class(
        &mut self,
        event: &RawEvent<'_>,
        describe: impl FnOnce(&RawEvent<'_>) -> (Option<String>, Option<String>),
    ) -> u32 {
        if let EventId::Kernel { hook, version } = event.id {
            let known = self.hooks[usize::from(hook)];
            if known != 0
                && self.classes[known as usize - 1].key == (ClassKey::Kernel { hook, version })
            {
                return known - 1;
            }
        }
        let key = ClassKey::of(event);
        if let Some(index) = self.by_key.get(&key) {
            return *index;
        }
        let index = self.classes.len() as u32;
        let (provider, name) = describe(event);
        self.classes.push(Class { key, provider, name, table: None, fates: Default::default() });
        self.by_key.insert(key, index);
        if let EventId::Kernel { hook, .. } = event.id
            && self.hooks[usize::from(hook)] == 0
        {
            self.hooks[usize::from(hook)] = index + 1;
        }
        index
    }

    /// Counts an event of a class.
    #[inline]
    pub fn count(&mut self, class: u32, fate: Fate, bytes: u32, ns: i64) {
        let class = &mut self.classes[class as usize];
        if let Fate::Stored(table) = fate {
            class.table = Some(table);
        }
        let tally = &mut class.fates[fate.index()];
        if tally.events == 0 {
            tally.first_ns = ns;
            tally.last_ns = ns;
        }
        tally.events += 1;
        tally.bytes += u64::from(bytes);
        tally.first_ns = tally.first_ns.min(ns);
        tally.last_ns = tally.last_ns.max(ns);
    }

    /// A class by number.
    pub fn get(&self, class: u32) -> &Class {
        &self.classes[class as usize]
    }

    /// Events of a fate, all classes together.
    pub fn total(&self, fate: Fate) -> u64 {
        self.classes.iter().map(|class| class.fates[fate.index()].events).sum()
    }

    /// One entry per class and fate that occurs: class, name of the fate, counts.
    pub fn rows(&self) -> Vec<(&Class, &'static str, Tally)> {
        let mut rows = Vec::new();
        for class in &self.classes {
            for (name, tally) in Fate::NAMES.into_iter().zip(class.fates) {
                if tally.events > 0 {
                    rows.push((class, name, tally));
                }
            }
        }
        rows
    }
}
