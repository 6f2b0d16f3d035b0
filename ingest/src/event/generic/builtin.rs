//! Layouts of events of Windows providers, for traces that carry no metadata of their own.
//!
//! The table is text (`builtin.txt`), one event a line; it is parsed once, at first use, and a test
//! parses all of it. Metadata from the trace wins over it. The grammar stands in the table.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::layout::{Base, Count, Field, Kind, Layout, Length, Map, Show};
use crate::etl::Guid;

const TABLE: &str = include_str!("builtin.txt");

struct Event {
    first_version: u8,
    last_version: u8,
    /// Wins over metadata of the trace, which is known to be wrong.
    corrects: bool,
    layout: Layout,
}

#[derive(Default)]
struct Table {
    providers: FxHashMap<Guid, &'static str>,
    events: FxHashMap<(Guid, u16), Vec<Event>>,
    maps: Vec<Map>,
    /// Names are those of the whole table.
    map_ids: FxHashMap<&'static str, u32>,
}

static PARSED: LazyLock<Table> = LazyLock::new(|| {
    // A mistake in the table is ours, and the tests find it; a running program goes without.
    parse(TABLE).unwrap_or_default()
});

/// The layout of an event, if the table has it; with `corrections_only`, if the event's own
/// metadata is known to be wrong.
pub(super) fn layout(
    provider: Guid,
    id: u16,
    version: u8,
    corrections_only: bool,
) -> Option<(&'static Layout, &'static [Map])> {
    let events = PARSED.events.get(&(provider, id))?;
    let fits = |e: &&Event| {
        (e.first_version..=e.last_version).contains(&version) && (e.corrects || !corrections_only)
    };
    events.iter().find(fits).map(|e| (&e.layout, &PARSED.maps[..]))
}

/// The name of a provider, if the table has it.
pub(super) fn provider(guid: &Guid) -> Option<&'static str> {
    PARSED.providers.get(guid).copied()
}

/// The complaint names the line.
fn parse(table: &'static str) -> Result<Table, String> {
    let mut parsed = Table::default();
    let mut current = None;
    for line in table.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let bad = || format!("line not understood: {line}");
        if let Some(rest) = line.strip_prefix("provider ") {
            let (guid, name) = rest.split_once(' ').ok_or_else(bad)?;
            let guid: Guid = guid.parse().map_err(|_| bad())?;
            parsed.providers.insert(guid, name.trim());
            current = Some((guid, name.trim()));
            continue;
        }
        let (guid, provider) = current.ok_or_else(bad)?;
        if let Some(rest) = line.strip_prefix("map ") {
            let (name, map) = map(rest).ok_or_else(bad)?;
            parsed.map_ids.insert(name, parsed.maps.len() as u32);
            parsed.maps.push(map);
            continue;
        }
        let (ids, event) = event(line, provider, &parsed.map_ids).ok_or_else(bad)?;
        for id in ids {
            let event = Event { layout: event.layout.clone(), ..event };
            parsed.events.entry((guid, id)).or_default().push(event);
        }
    }
    Ok(parsed)
}

/// `NAME value|bits: VALUE=TEXT, ...`.
fn map(line: &'static str) -> Option<(&'static str, Map)> {
    let (head, entries) = line.split_once(':')?;
    let (name, kind) = head.split_once(' ')?;
    let entry = |pair: &str| {
        let (value, text) = pair.split_once('=')?;
        Some((value.trim().parse().ok()?, text.into()))
    };
    let entries: Option<Vec<(u32, Box<str>)>> = entries.split(',').map(entry).collect();
    Some((name, Map::new(kind == "bits", entries?)))
}

/// `[!]ID[/ID...] [vFIRST[-LAST]|vFIRST+] NAME: FIELDS`.
fn event(line: &str, provider: &str, maps: &FxHashMap<&str, u32>) -> Option<(Vec<u16>, Event)> {
    let (corrects, line) = line.strip_prefix('!').map_or((false, line), |line| (true, line));
    let (head, fields) = line.split_once(':')?;
    let mut words = head.split_whitespace();
    let ids: Option<Vec<u16>> = words.next()?.split('/').map(|id| id.parse().ok()).collect();
    let mut name = words.next()?;
    let (mut first_version, mut last_version) = (0, u8::MAX);
    if let Some(range) = name.strip_prefix('v') {
        (first_version, last_version) = match range.split_once('-') {
            Some((first, last)) => (first.parse().ok()?, last.parse().ok()?),
            None => match range.strip_suffix('+') {
                Some(first) => (first.parse().ok()?, u8::MAX),
                None => (range.parse().ok()?, range.parse().ok()?),
            },
        };
        name = words.next()?;
    }
    let mut layout = Layout {
        provider: Some(provider.into()),
        event: Some(name.into()),
        may_end_early: true,
        is_for_many_versions: true,
        ..Layout::default()
    };
    let mut names = Vec::new();
    for pair in fields.split(',').map(str::trim).filter(|f| !f.is_empty()) {
        let (name, kind) = pair.split_once(' ')?;
        let (kind, map) = match kind.trim().split_once('{') {
            Some((kind, map)) => (kind, Some(*maps.get(map.strip_suffix('}')?)?)),
            None => (kind.trim(), None),
        };
        layout.fields.push(Field { map, ..field(name, kind, &names)? });
        if let Some((_, of)) =
            kind.split_once('[').filter(|(_, of)| !of.starts_with(char::is_numeric))
        {
            let index = names.iter().position(|n| *n == of.trim_end_matches(']'))?;
            let slot = layout.slot_of(index).ok()?;
            let last = layout.fields.last_mut()?;
            if matches!(last.kind, Kind::Value(Base::Binary | Base::Utf16, _)) {
                last.length = Length::Slot(slot);
            } else {
                last.count = Count::Slot(slot);
            }
        }
        names.push(name);
    }
    layout.top = layout.fields.len();
    let layout = layout.seal().ok()?;
    Some((ids?, Event { first_version, last_version, corrects, layout }))
}

fn field(name: &str, kind: &str, earlier: &[&str]) -> Option<Field> {
    let (kind, of) = kind.split_once('[').map_or((kind, None), |(k, of)| (k, Some(of)));
    let plain = |base| Some((base, Show::Plain));
    let (base, show) = match kind {
        "u8" => plain(Base::U8),
        "i8" => plain(Base::I8),
        "u16" => plain(Base::U16),
        "u32" => plain(Base::U32),
        "i32" => plain(Base::I32),
        "i16" => plain(Base::I16),
        "u64" => plain(Base::U64),
        "i64" => plain(Base::I64),
        "f32" => plain(Base::F32),
        "f64" => plain(Base::F64),
        "bool8" => Some((Base::U8, Show::Bool)),
        "bool32" => plain(Base::Bool32),
        "hex32" => plain(Base::HexInt32),
        "hex64" => plain(Base::HexInt64),
        "status" => Some((Base::U32, Show::Status)),
        "ptr" => plain(Base::Pointer),
        "guid" => plain(Base::Guid),
        "filetime" => plain(Base::FileTime),
        "sid" => plain(Base::Sid),
        "z16" | "text16" => plain(Base::Utf16),
        "z8" => plain(Base::Ansi),
        "bytes" => plain(Base::Binary),
        _ => None,
    }?;
    let mut field = Field::new(name, Kind::Value(base, show));
    if let Some(of) = of.and_then(|of| of.strip_suffix(']')) {
        match of.parse() {
            Ok(count) => field.count = Count::Fixed(count),
            Err(_) if earlier.contains(&of) => {}
            Err(_) => return None,
        }
    }
    Some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_is_understood() {
        let table = parse(TABLE).unwrap_or_else(|line| panic!("{line}"));
        assert!(table.providers.len() > 5 && table.events.len() > 80);
    }

    #[test]
    fn no_two_lines_claim_the_same_version() {
        for (key, events) in &parse(TABLE).unwrap().events {
            for version in 0..=u8::MAX {
                let claims = |e: &&Event| (e.first_version..=e.last_version).contains(&version);
                assert!(events.iter().filter(claims).count() < 2, "{key:?} version {version}");
            }
        }
    }

    #[test]
    fn mistakes_are_found() {
        let provider = "provider 331c3b3a-2005-44c2-ac5e-77220c37d6b4 P\n";
        for wrong in [
            "map a value: x",
            "1 A: x u8{m}",
            "1 A: x nothing",
            "1 A: x bytes[y]",
            "1 A x u8",
            "x A: x u8",
            "1 v1 :",
        ] {
            let table: &'static str = Box::leak(format!("{provider}{wrong}").into_boxed_str());
            assert!(parse(table).is_err(), "{wrong}");
        }
    }
}
