//! Power: settings, sleep and wake, efficiency classes, frequency, parking, idle states.
//!
//! Providers Kernel-Power, UserModePowerService, Kernel-Processor-Power; hooks 1233, 1239, 123A.

use super::event::EventKind;
use super::items::Place;
use super::{At, Lower};
use crate::body::{Body, Guid, hex_bytes};
use crate::text::{Reader, field32};

const POWER: &str = "Kernel-Power";
const SERVICE: &str = "UserModePowerService";
const PROCESSOR: &str = "Kernel-Processor-Power";

impl Lower {
    /// Writes a statement of this module; false if it is none.
    pub(super) fn emit_power(&mut self, word: &str, reader: &Reader<'_>) -> Result<bool, String> {
        let mut body = Body::new(true);
        let kind = match word {
            "idle-enter" | "idle-exit" | "perf-change" => {
                self.emit_idle(word, reader)?;
                return Ok(true);
            }
            "power-setting" => setting(&mut body, reader)?,
            "stored-setting" => stored(&mut body, reader)?,
            "overlay-setting" => overlay(&mut body, reader)?,
            "profile-setting" => profile(&mut body, reader)?,
            "active-scheme" => {
                body.guid(guid_word(reader)?);
                of(SERVICE, 2)
            }
            "scheme-change" => scheme_change(&mut body, reader)?,
            "effective-overlay" => {
                body.guid(guid_word(reader)?);
                of(SERVICE, 52)
            }
            "actual-overlay" => {
                body.guid(guid_word(reader)?);
                of(SERVICE, 50)
            }
            "sleep" => sleep(&mut body, reader)?,
            "wake" => self.wake(&mut body, reader)?,
            "power-source" => source(&mut body, reader)?,
            "core" => core(&mut body, reader)?,
            "core-id" => core_id(&mut body, reader)?,
            "class-update" => {
                let (group, number) = processor(reader)?;
                let class: u8 = reader.need("class")?;
                body.u16(group).u8(number).u8(class).u8(reader.or("scheduling", class)?);
                of(PROCESSOR, 118)
            }
            "perf-state" => {
                body.u32(reader.or32("state", 0)?).u32(reader.need("mhz")?);
                let (group, number) = processor(reader)?;
                body.u16(group).u8(number);
                of(PROCESSOR, reader.or("id", 10)?)
            }
            "delivered" => {
                let (group, number) = processor(reader)?;
                body.u16(group).u8(number).u32(reader.or("perf", 100)?);
                body.u64(reader.or("us", 0)?).u32(reader.need("mhz")?);
                of(PROCESSOR, 111)
            }
            "park" | "unpark" => park(word, &mut body, reader)?,
            _ => return Ok(false),
        };
        self.push_kind(reader, kind, &body)?;
        Ok(true)
    }

    /// `idle-enter CPU state=N`, `idle-exit CPU`, `perf-change CPU new= old=`: classic power hooks.
    fn emit_idle(&mut self, word: &str, reader: &Reader<'_>) -> Result<(), String> {
        let cpu = crate::text::field(reader.need_word("a CPU")?)?;
        let at = At { file: reader.statement.file, ns: reader.at()?, cpu };
        let mut body = self.body(at.file);
        let state = reader.or32("state", 1)?;
        let hook = match word {
            "idle-enter" => {
                body.u32(state).u32(reader.or32("flags", 0)?).u64(reader.or("expected", 0)?);
                0x1239
            }
            "idle-exit" => {
                body.u32(state).u32(reader.or32("status", 0)?);
                0x123A
            }
            _ => {
                body.u32(reader.or32("type", 0)?).u32(reader.need("new")?).u32(reader.need("old")?);
                body.u32(reader.or32("status", 0)?).u64(1 << (cpu % 64));
                0x1233
            }
        };
        self.push_perfinfo(at, hook, 2, &body)
    }

    /// `wake [target=N] [effective=N] [from=N] [v=0|1]`
    fn wake(&self, body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
        let version: u8 = reader.or("v", 1)?;
        body.u32(reader.or32("target", 4)?).u32(reader.or32("effective", 4)?);
        body.u32(reader.or32("source", 0)?);
        if version >= 1 {
            let place = Place { file: reader.statement.file, pid: 0, ns: reader.statement.base_ns };
            for key in ["slept", "woke"] {
                let units = reader.text(key).map_or(Ok(0), |t| self.filetime_of(t, place))?;
                body.i64(units);
            }
            body.u32(0).u32(0);
        }
        Ok(EventKind { version, ..of(POWER, 107) })
    }
}

fn of(provider: &'static str, id: u16) -> EventKind {
    EventKind { provider, id, ..EventKind::default() }
}

fn guid_word(reader: &Reader<'_>) -> Result<Guid, String> {
    let text = reader.need_word("a GUID")?;
    Guid::parse(text).ok_or_else(|| format!("'{text}' is no GUID"))
}

fn need_guid(reader: &Reader<'_>, key: &str) -> Result<Guid, String> {
    reader.guid(key)?.ok_or_else(|| format!("it needs {key}="))
}

/// `scheme-change OLD NEW [process=PATH] [by=PID]`
fn scheme_change(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let (old, new) = (guid_word(reader)?, guid_word(reader)?);
    body.z16(reader.text("process").unwrap_or_default());
    body.u32(reader.or32("by", 4)?).guid(old).guid(new);
    Ok(of(SERVICE, 12))
}

/// A setting's value: a number of 32 bits, a GUID, or `hex:` bytes.
fn value(text: &str) -> Result<Vec<u8>, String> {
    if let Some(hex) = text.strip_prefix("hex:") {
        return hex_bytes(hex).ok_or_else(|| "no hexadecimal bytes".into());
    }
    match Guid::parse(text) {
        Some(guid) => Ok(guid.0.to_vec()),
        None => Ok(field32(text)?.to_le_bytes().to_vec()),
    }
}

/// `power-setting GUID VALUE [change] [override] [v=0|1]`: the value in force.
fn setting(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let guid = guid_word(reader)?;
    let data = value(reader.need_word("a value")?)?;
    let version: u8 = reader.or("v", 1)?;
    body.guid(guid).u32(data.len() as u32).raw(&data);
    let over = reader.flag("override");
    if version >= 1 {
        body.u32(u32::from(over));
    }
    let id = if reader.flag("change") { 112 } else { 111 };
    Ok(EventKind { version, keyword: 0x80, ..of(POWER, id) })
}

/// `stored-setting ac|dc sub=GUID setting=GUID value=V [index=N] [type=N] [v=0|1] [altitude=N]`
fn stored(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let id = match reader.need_word("ac or dc")? {
        "ac" => 3,
        "dc" => 4,
        other => return Err(format!("'{other}' is neither ac nor dc")),
    };
    let version: u8 = reader.or("v", 0)?;
    body.guid(need_guid(reader, "sub")?).guid(need_guid(reader, "setting")?);
    typed_value(body, reader)?;
    if version >= 1 {
        body.u32(reader.or32("altitude", 0)?);
    }
    Ok(EventKind { version, ..of(SERVICE, id) })
}

/// `overlay-setting overlay=GUID sub=GUID setting=GUID value=V ...`
fn overlay(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    body.guid(need_guid(reader, "overlay")?).guid(need_guid(reader, "sub")?);
    body.guid(need_guid(reader, "setting")?).u32(reader.or32("flags", 0)?);
    typed_value(body, reader)?;
    Ok(of(SERVICE, 49))
}

fn typed_value(body: &mut Body, reader: &Reader<'_>) -> Result<(), String> {
    let data = value(reader.need_text("value")?)?;
    let number_type = if data.len() == 4 { 4 } else { 3 };
    body.u32(reader.or32("index", 0)?).u32(reader.or32("type", number_type)?);
    body.u32(data.len() as u32).raw(&data);
    Ok(())
}

/// `profile-setting PROFILE ALIAS setting=GUID value=V [class=N] [change]`
fn profile(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    body.u8(crate::text::field(reader.need_word("a profile id")?)?);
    body.z8(reader.need_word("an alias")?);
    let data = value(reader.need_text("value")?)?;
    body.u32(reader.or32("type", 4)?).u8(reader.or("class", 0)?);
    body.guid(need_guid(reader, "setting")?).u32(data.len() as u32).raw(&data);
    Ok(of(PROCESSOR, if reader.flag("change") { 105 } else { 106 }))
}

/// `sleep [target=N] [effective=N] [reason=N] [v=0|2|3]`
fn sleep(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let version: u8 = reader.or("v", 3)?;
    body.u32(reader.or32("target", 4)?).u32(reader.or32("effective", 4)?);
    if version >= 2 {
        body.u32(reader.or32("reason", 0)?).u32(reader.or32("flags", 0)?);
    }
    if version >= 3 {
        body.u32(reader.or32("transitions", 1)?);
    }
    Ok(EventKind { version, ..of(POWER, 42) })
}

/// `power-source ac|battery [change]`
fn source(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let online = match reader.need_word("ac or battery")? {
        "ac" => 1,
        "battery" => 0,
        other => return Err(format!("'{other}' is neither ac nor battery")),
    };
    body.u32(online);
    Ok(of(POWER, if reader.flag("change") { 105 } else { 106 }))
}

fn processor(reader: &Reader<'_>) -> Result<(u16, u8), String> {
    let number: u16 = crate::text::field(reader.need_word("a processor")?)?;
    let group = reader.or("group", number / 64)?;
    Ok((group, reader.or("number", (number % 64) as u8)?))
}

/// `core CPU class=N mhz=N [relative=N] [parked] [v=0..9]`: the rundown that names the class.
fn core(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let version: u8 = reader.or("v", 5)?;
    let (group, number) = processor(reader)?;
    body.u16(group).u8(number).u32(u32::from(reader.flag("parked")));
    body.u32(100).u32(100).u32(100).u32(reader.need("mhz")?);
    if version >= 1 {
        body.u32(reader.or32("min", 5)?).u32(reader.or32("max", 100)?).u32(0).u32(100);
    }
    if version >= 2 {
        let class: u8 = reader.or("class", 0)?;
        body.u8(class).u8(reader.or("scheduling", class)?).u32(1);
    }
    if version >= 3 {
        body.u32(reader.or32("epp", 50)?).u32(0).u32(reader.or32("qos", 0)?);
        body.u32(reader.or32("relative", 100)?);
    }
    if version >= 5 {
        body.u8(0);
    }
    if version >= 6 {
        body.u32(reader.or32("target", 0)?);
    }
    if version >= 7 {
        body.u32(u32::from(reader.flag("soft-parked")));
    }
    if version >= 8 {
        body.u32(reader.or32("delivered", 0)?);
    }
    if version >= 9 {
        body.u32(1);
    }
    Ok(EventKind { version, keyword: 0x2, ..of(PROCESSOR, 64) })
}

/// `core-id PROCESSOR index=N`: which CPU of the recording a group and number are.
fn core_id(body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let version: u8 = reader.or("v", 1)?;
    let (group, number) = processor(reader)?;
    let index: u32 = reader.or("index", u32::from(group) * 64 + u32::from(number))?;
    body.u16(group).u8(number).u32(index).u32(index * 2);
    if version >= 1 {
        body.u32(index);
    }
    if version >= 2 {
        body.u32(index);
    }
    Ok(EventKind { version, ..of(PROCESSOR, 68) })
}

/// `park PROCESSOR [soft]`, `unpark PROCESSOR`
fn park(word: &str, body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let (group, number) = processor(reader)?;
    body.u64(reader.or("time", 0)?).u16(group).u8(number);
    if word == "unpark" {
        return Ok(of(PROCESSOR, 15));
    }
    let version: u8 = reader.or("v", 1)?;
    let soft = reader.flag("soft");
    if version >= 1 {
        body.u32(u32::from(soft));
    }
    Ok(EventKind { version, ..of(PROCESSOR, 14) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_efficiency_class_lies_where_the_layout_says() {
        let words = crate::text::tokens("core 3 class=1 mhz=2100 relative=70 v=9").unwrap();
        let statement = crate::text::Statement::from_tokens(1, 0, words).unwrap();
        let mut body = Body::new(true);
        core(&mut body, &statement.reader()).unwrap();
        assert_eq!(body.bytes[2], 3);
        assert_eq!(body.bytes[19..23], 2100u32.to_le_bytes());
        assert_eq!(body.bytes[39], 1);
        assert_eq!(body.bytes[57..61], 70u32.to_le_bytes());
        assert_eq!(body.bytes.len(), 78);
    }
}
