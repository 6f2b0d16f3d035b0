//! What the window system and the user do: hangs, focus, input, freezing, process events.
//!
//! Providers Win32k, Multi-Input and Multi-Main of UIforETW, and Kernel-Process.

use super::Lower;
use super::event::EventKind;
use super::items::Place;
use crate::body::Body;
use crate::text::{Reader, field32};

const KW_UNRESPONSIVE: u64 = 0x4_0000;
const KW_THREAD_INFO: u64 = 0x8_0000;
const KW_FREEZE: u64 = 0x200;

impl Lower {
    /// Writes a statement of this module; false if it is none.
    pub(super) fn emit_ui(&mut self, word: &str, reader: &Reader<'_>) -> Result<bool, String> {
        let mut body = Body::new(true);
        let kind = match word {
            "ui-delay" => hang(&mut body, reader, 38, true, false)?,
            "ui-input-delay" => hang(&mut body, reader, 37, false, false)?,
            "ui-immersive-delay" => hang(&mut body, reader, 173, true, true)?,
            "ui-immersive-input-delay" => hang(&mut body, reader, 172, false, true)?,
            "ui-wait-cursor" => self.wait_cursor(&mut body, reader)?,
            "ui-thread" => thread_info(&mut body, reader, 36)?,
            "ui-thread-exit" => thread_info(&mut body, reader, 45)?,
            "focus" | "focus-thread" | "focus-gained" | "focus-lost" | "user-active" => {
                focus(word, &mut body, reader)?
            }
            "key" | "button" | "pointer" | "wheel" => input(word, &mut body, reader)?,
            "ui-mark" => {
                body.z8(reader.need_word("a text")?);
                EventKind { provider: "Multi-Main", id: 102, opcode: 13, ..EventKind::default() }
            }
            "freeze" | "thaw" => self.freeze(word, &mut body, reader)?,
            "kp-start" => self.kernel_process_start(&mut body, reader)?,
            "kp-stop" => self.kernel_process_stop(&mut body, reader)?,
            _ => return Ok(false),
        };
        self.push_kind(reader, kind, &body)?;
        Ok(true)
    }

    /// `ui-wait-cursor ms=N tid=TID`: the payload repeats the thread.
    fn wait_cursor(&self, body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
        let at_ns = reader.at()?;
        let of: u32 = reader.need("thread")?;
        body.u32(of).u32(self.cast.pid_of(of, at_ns)).u32(reader.or("session", 1)?);
        body.u32(reader.or("cursor", 2)?).u32(reader.need("ms")?);
        Ok(EventKind { provider: "Win32k", id: 35, ..EventKind::default() })
    }

    fn file_times(&self, reader: &Reader<'_>, key: &str) -> Result<i64, String> {
        let place = Place { file: reader.statement.file, pid: 0, ns: reader.statement.base_ns };
        reader.text(key).map_or(Ok(0), |text| self.filetime_of(text, place))
    }

    /// `freeze PID`, `thaw PID`: start and stop of the task ProcessFreeze.
    fn freeze(
        &self,
        word: &str,
        body: &mut Body,
        reader: &Reader<'_>,
    ) -> Result<EventKind, String> {
        let version = reader.or("v", 1)?;
        body.u32(field32(reader.need_word("a process id")?)?);
        if version >= 1 {
            body.i64(self.file_times(reader, "created")?);
        }
        let (id, opcode) = if word == "freeze" { (11, 1) } else { (12, 2) };
        let (provider, keyword) = ("Kernel-Process", KW_FREEZE);
        Ok(EventKind { provider, id, version, opcode, keyword, task: 11 })
    }

    /// `kp-start PID parent= session= image= [v=0..3]`
    fn kernel_process_start(
        &self,
        body: &mut Body,
        reader: &Reader<'_>,
    ) -> Result<EventKind, String> {
        let version: u8 = reader.or("v", 3)?;
        let pid = field32(reader.need_word("a process id")?)?;
        let parent = reader.or32("parent", 0)?;
        let created = self.file_times(reader, "created")?;
        let (session, flags) = (reader.or32("session", 1)?, reader.or32("flags", 0)?);
        let image = reader.need_text("image")?;
        body.u32(pid);
        if version >= 3 {
            body.u64(reader.or("seq", u64::from(pid))?);
        }
        body.i64(created).u32(parent);
        if version >= 3 {
            body.u64(reader.or("parent_seq", u64::from(parent))?);
        }
        body.u32(session);
        if version >= 1 {
            body.u32(flags);
        }
        if version >= 3 {
            let label = crate::body::sid_bytes(reader.text("label").unwrap_or("S-1-16-8192"));
            body.u32(1).u32(0).raw(&label.ok_or("label is no SID")?);
        }
        body.z16(image);
        if version >= 2 {
            body.u32(reader.or32("checksum", 0)?).u32(reader.or32("time", 0)?);
            body.z16(reader.text("package").unwrap_or("")).z16(reader.text("app").unwrap_or(""));
        }
        let (id, opcode, keyword, task) = (1, 1, 0x10, 1);
        Ok(EventKind { provider: "Kernel-Process", id, version, opcode, task, keyword })
    }

    /// `kp-stop PID exit= name= [v=0..2]`
    fn kernel_process_stop(
        &self,
        body: &mut Body,
        reader: &Reader<'_>,
    ) -> Result<EventKind, String> {
        let version: u8 = reader.or("v", 1)?;
        let pid = field32(reader.need_word("a process id")?)?;
        body.u32(pid);
        if version >= 2 {
            body.u64(reader.or("seq", u64::from(pid))?);
        }
        body.i64(self.file_times(reader, "created")?).i64(self.file_times(reader, "exited")?);
        body.u32(reader.or32("exit", 0)?).u32(1).u32(reader.or("handles", 0)?).u64(0).u64(0);
        if version >= 1 {
            body.u64(reader.or("cycles", 0)?).zeros(20);
        }
        body.z8(reader.text("name").unwrap_or(""));
        let (id, opcode, keyword, task) = (2, 2, 0x10, 2);
        Ok(EventKind { provider: "Kernel-Process", id, version, opcode, task, keyword })
    }
}

/// The family of message-check delays: numbers, then three or four texts, message and parameter.
fn hang(
    body: &mut Body,
    reader: &Reader<'_>,
    id: u16,
    has_delay: bool,
    immersive: bool,
) -> Result<EventKind, String> {
    body.u32(reader.or32("flags", 0)?);
    if has_delay {
        body.u32(reader.need("ms")?);
    }
    body.u32(reader.or32("since", 0)?).u32(reader.or32("oldest", 0)?);
    if !reader.flag("win7") {
        body.z16(reader.text("class").unwrap_or("")).z16(reader.text("top").unwrap_or(""));
        if immersive {
            body.z16(reader.text("package").unwrap_or("")).z16(reader.text("app").unwrap_or(""));
        } else {
            body.z16(reader.text("path").unwrap_or(""));
        }
        body.u32(reader.or32("msg", 0)?).u64(reader.or("wparam", 0)?);
    }
    let keyword = KW_UNRESPONSIVE;
    Ok(EventKind { provider: "Win32k", id, keyword, ..EventKind::default() })
}

fn thread_info(body: &mut Body, reader: &Reader<'_>, id: u16) -> Result<EventKind, String> {
    body.u32(reader.need("thread")?).u32(reader.or32("flags", 0)?);
    body.u32(reader.or32("checked", 0)?).u32(reader.or32("removed", 0)?);
    body.u32(reader.or32("oldest", 0)?);
    let keyword = KW_THREAD_INFO;
    Ok(EventKind { provider: "Win32k", id, keyword, ..EventKind::default() })
}

/// `focus OLD_PID NEW_PID`, `focus-thread OLD_TID NEW_TID`, `focus-gained PID`, `focus-lost PID`.
fn focus(word: &str, body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let id_of = |what| field32(reader.need_word(what)?);
    let session: u32 = reader.or32("session", 1)?;
    let (id, keyword) = match word {
        "focus" => {
            body.u32(session).u32(id_of("the old process")?).u32(id_of("the new process")?);
            (26, 0x2_0000)
        }
        "focus-thread" => {
            body.u32(id_of("the old thread")?).u32(id_of("the new thread")?);
            (2, 0x2000)
        }
        _ => {
            body.u32(session).u32(id_of("a process")?).i64(reader.or("created", 0)?);
            let id = match word {
                "focus-gained" => 258,
                "focus-lost" => 259,
                _ => 25,
            };
            (id, 0x2_0000)
        }
    };
    Ok(EventKind { provider: "Win32k", id, keyword, ..EventKind::default() })
}

/// `key VK [name=]`, `button N x= y= [up]`, `pointer x= y=`, `wheel Z x= y=`.
fn input(word: &str, body: &mut Body, reader: &Reader<'_>) -> Result<EventKind, String> {
    let flags = reader.or32("flags", 0)?;
    let id = match word {
        "key" => {
            body.u32(field32(reader.need_word("a key code")?)?);
            body.z8(reader.text("name").unwrap_or(""));
            body.u32(reader.or32("repeat", 1)?).u32(flags);
            404
        }
        "button" => {
            body.u32(field32(reader.need_word("a button")?)?).u32(flags);
            if reader.flag("up") { 401 } else { 400 }
        }
        "pointer" => {
            body.u32(flags);
            402
        }
        _ => {
            body.u32(flags).u32(field32(reader.need_word("a distance")?)?);
            403
        }
    };
    if id != 404 {
        body.u32(reader.or32("x", 0)?).u32(reader.or32("y", 0)?);
    }
    Ok(EventKind { provider: "Multi-Input", id, ..EventKind::default() })
}
