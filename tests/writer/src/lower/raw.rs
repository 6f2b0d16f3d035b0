//! `raw` lines: a record of any kind with a payload given item by item.
//!
//! `TIME raw system|compact|perfinfo|full|instance|message|bytes key=value ... : items`. `bytes` puts
//! the items down as the whole record, marker included, so that anything can be written, also what
//! no reader should accept.

use super::items::Place;
use super::{At, Lower};
use crate::body::{Body, Guid};
use crate::record::{self, FullHeader, MessageHeader, SystemHeader};
use crate::text::Reader;
use crate::values;

impl Lower {
    /// `TIME raw KIND ... : items`
    pub(super) fn emit_raw(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let kind = reader.need_word("a kind of record")?;
        let ns = reader.at()?;
        let actor = self.actor(reader, ns)?;
        let at = At { file: reader.statement.file, ns, cpu: actor.cpu };
        let wide = match reader.get::<u8>("width")? {
            None => self.machine(at.file).wide(),
            Some(32) => false,
            Some(64) => true,
            Some(_) => return Err("width is 32 or 64".into()),
        };
        let mut payload = Body::new(wide);
        let place = Place { file: at.file, pid: actor.pid, ns };
        self.put_items(&mut payload, &reader.statement.items, place)?;
        let ticks = self.ticks(at.file, ns)?;
        let record = match kind {
            "system" | "compact" => {
                let header = SystemHeader {
                    hook: reader.need("hook")?,
                    version: reader.or("v", 2)?,
                    tid: actor.tid,
                    pid: actor.pid,
                    kernel_time: reader.or("kernel", 0)?,
                    user_time: reader.or("user", 0)?,
                };
                match kind {
                    "system" => record::system(&header, ticks, &payload),
                    _ => record::compact(&header, ticks, &payload),
                }
            }
            "perfinfo" => {
                let counters = reader.text("pmc").map(counters).transpose()?.unwrap_or_default();
                let pebs = reader.get("pebs")?;
                let (hook, version) = (reader.need("hook")?, reader.or("v", 2)?);
                record::perfinfo(hook, version, pebs, &counters, ticks, &payload)
            }
            "full" => record::full(&full_header(reader, actor.tid, actor.pid)?, ticks, &payload),
            "instance" => {
                let header = full_header(reader, actor.tid, actor.pid)?;
                let ids = (reader.or("instance", 0)?, reader.or("parent_instance", 0)?);
                let parent = reader.guid("parent")?.unwrap_or_default();
                record::instance(&header, ids, parent, ticks, &payload)
            }
            "message" => {
                let header = message_header(reader, (actor.tid, actor.pid))?;
                record::message(&header, ticks, &payload)
            }
            "bytes" => payload.bytes,
            other => return Err(format!("'{other}' is no kind of record")),
        };
        self.push(at, &record)
    }
}

fn counters(text: &str) -> Result<Vec<u64>, String> {
    text.split(',').map(crate::text::field).collect()
}

fn full_header(reader: &Reader<'_>, tid: u32, pid: u32) -> Result<FullHeader, String> {
    Ok(FullHeader {
        class: values::provider(reader.need_text("class")?)?,
        opcode: reader.or("op", 0)?,
        level: reader.or("level", 0)?,
        version: reader.or("v", 0)?,
        tid,
        pid,
    })
}

fn message_header(reader: &Reader<'_>, ids: (u32, u32)) -> Result<MessageHeader, String> {
    let guid: Option<Guid> = reader.guid("guid")?;
    Ok(MessageHeader {
        number: reader.or("number", 10)?,
        sequence: reader.get("sequence")?,
        component: reader.get("component")?,
        guid,
        timed: !reader.flag("untimed"),
        ids: if reader.flag("no-ids") { None } else { Some(ids) },
    })
}
