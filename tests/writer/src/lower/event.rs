//! Manifest events: header, extended items, payload given field by field.
//!
//! `TIME event PROVIDER/ID[/VERSION] [tid= pid= cpu= level= op= task= kw= channel= activity= related=
//! stack=NAME walk=NAME wow ...] : items`. The named events of `ui` and `power` come here too.

use super::items::Place;
use super::{At, Lower};
use crate::body::{Body, hex_bytes, sid_bytes};
use crate::record::{self, EventHeader};
use crate::text::Reader;
use crate::values;

/// What a named event is before its line says otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventKind {
    pub(super) provider: &'static str,
    pub(super) id: u16,
    pub(super) version: u8,
    pub(super) opcode: u8,
    pub(super) task: u16,
    pub(super) keyword: u64,
}

impl Lower {
    /// `TIME event PROVIDER/ID[/VERSION] ... : items`
    pub(super) fn emit_event(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let name = reader.need_word("PROVIDER/ID")?;
        let mut parts = name.split('/');
        let provider = values::provider(parts.next().unwrap_or(""))?;
        let id = crate::text::field(parts.next().ok_or("'event' needs PROVIDER/ID")?)?;
        let version = match parts.next() {
            Some(version) => crate::text::field(version.trim_start_matches('v'))?,
            None => 0,
        };
        let header = EventHeader { provider, id, version, level: 4, ..EventHeader::default() };
        let (at, header, mut body) = self.event_header(reader, header)?;
        let place = Place { file: at.file, pid: header.pid, ns: at.ns };
        self.put_items(&mut body, &reader.statement.items, place)?;
        self.push_event(reader, at, header, &body)
    }

    /// A named event with a payload made by its own module.
    pub(super) fn push_kind(
        &mut self,
        reader: &Reader<'_>,
        kind: EventKind,
        payload: &Body,
    ) -> Result<(), String> {
        let header = EventHeader {
            provider: values::provider(kind.provider)?,
            id: kind.id,
            version: kind.version,
            opcode: kind.opcode,
            task: kind.task,
            keyword: kind.keyword,
            level: 4,
            ..EventHeader::default()
        };
        let (at, header, mut body) = self.event_header(reader, header)?;
        body.raw(&payload.bytes);
        self.push_event(reader, at, header, &body)
    }

    /// Reads the header's keys; the body has the width of the process that logs.
    pub(super) fn event_header(
        &mut self,
        reader: &Reader<'_>,
        mut header: EventHeader,
    ) -> Result<(At, EventHeader, Body), String> {
        let ns = reader.at()?;
        let actor = self.actor(reader, ns)?;
        let at = At { file: reader.statement.file, ns, cpu: actor.cpu };
        (header.tid, header.pid) = (actor.tid, actor.pid);
        header.level = reader.or("level", header.level)?;
        header.opcode = reader.or("op", header.opcode)?;
        header.task = reader.or("task", header.task)?;
        header.keyword = reader.or("kw", header.keyword)?;
        header.channel = reader.or("channel", header.channel)?;
        header.flags = reader.or("header_flags", header.flags)?;
        header.property = reader.or("property", header.property)?;
        header.activity = reader.guid("activity")?.unwrap_or_default();
        let wow = reader.flag("wow");
        let wide = self.machine(at.file).wide() && !wow;
        self.extended_items(reader, at, &mut header)?;
        Ok((at, header, Body::new(wide)))
    }

    /// Extended items in the order Windows writes them: stack first, provider traits late.
    fn extended_items(
        &mut self,
        reader: &Reader<'_>,
        at: At,
        header: &mut EventHeader,
    ) -> Result<(), String> {
        let match_id: u64 = reader.or("match", 0)?;
        let kernel_wide = self.machine(at.file).wide();
        if let Some(name) = reader.text("stack") {
            let mut data = Body::new(kernel_wide);
            data.u64(match_id);
            for frame in self.frames(name, at.file, header.pid, at.ns)? {
                data.ptr(frame);
            }
            header.items.push((if kernel_wide { 6 } else { 5 }, data.bytes));
        }
        if let Some(key) = reader.get::<u64>("stackkey")? {
            let mut data = Body::new(kernel_wide);
            data.u64(match_id).ptr(self.address(at.file, key)).align(8);
            header.items.push((if kernel_wide { 18 } else { 17 }, data.bytes));
        }
        if let Some(related) = reader.guid("related")? {
            header.items.push((1, related.0.to_vec()));
        }
        if let Some(sid) = reader.text("sid") {
            header.items.push((2, sid_bytes(sid).ok_or("sid= is no SID")?));
        }
        if let Some(session) = reader.get::<u32>("session_item")? {
            header.items.push((3, session.to_le_bytes().to_vec()));
        }
        for (key, kind) in [("event_key", 10u16), ("start_key", 13)] {
            if let Some(value) = reader.get::<u64>(key)? {
                header.items.push((kind, value.to_le_bytes().to_vec()));
            }
        }
        if let Some(container) = reader.text("container") {
            header.items.push((16, container.as_bytes().to_vec()));
        }
        while let Some(item) = reader.text("item") {
            let (kind, hex) = item.split_once(':').ok_or("item is KIND:HEX")?;
            let data = hex_bytes(hex).ok_or("item is KIND:HEX")?;
            header.items.push((crate::text::field(kind)?, data));
        }
        if let Some(name) = reader.text("traits") {
            header.items.push((12, traits(name)));
        }
        Ok(())
    }

    /// Adds the event, and its stack where that comes as a separate record.
    pub(super) fn push_event(
        &mut self,
        reader: &Reader<'_>,
        at: At,
        header: EventHeader,
        body: &Body,
    ) -> Result<(), String> {
        let ticks = self.ticks(at.file, at.ns)?;
        self.push(at, &record::event(&header, ticks, body))?;
        match reader.text("walk") {
            Some(name) => self.attach(name, at, header.tid),
            None => Ok(()),
        }
    }

    /// `TIME manifest GUID [chunk=BYTES] ... <<END`: the XML manifest an EventSource logs, in chunks.
    pub(super) fn emit_manifest(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let provider = values::provider(reader.need_word("a provider")?)?;
        let chunk_bytes: usize = reader.or("chunk", 60_000)?;
        let xml = reader.statement.text.as_bytes();
        if !(16..=60_000).contains(&chunk_bytes) || xml.len() / chunk_bytes > 60_000 {
            return Err("chunk is 16 to 60000".into());
        }
        let header = EventHeader {
            provider,
            id: 0xFFFE,
            version: 1,
            opcode: 254,
            task: 0xFFFE,
            keyword: u64::MAX,
            ..EventHeader::default()
        };
        let skip: Option<u16> = reader.get("without")?;
        let (at, header, empty) = self.event_header(reader, header)?;
        let total = xml.len().div_ceil(chunk_bytes) as u16;
        for (number, chunk) in xml.chunks(chunk_bytes).enumerate() {
            if skip == Some(number as u16) {
                continue;
            }
            let mut body = Body::new(empty.wide);
            body.u8(1).u8(1).u8(0).u8(0x5B).u16(total).u16(number as u16).raw(chunk);
            let ticks = self.ticks(at.file, at.ns)?;
            self.push(at, &record::event(&header, ticks, &body))?;
        }
        Ok(())
    }
}

/// Provider traits: size, name, no further trait.
pub(super) fn traits(name: &str) -> Vec<u8> {
    let mut data = Body::new(true);
    data.u16((3 + name.len()) as u16).z8(name);
    data.bytes
}
