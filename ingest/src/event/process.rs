//! Process lifetimes (group 0x03); event-payloads.md 2.

use super::Phase;
use super::payload::{Ansi, Payload, Utf16};
use crate::etl::RawEvent;

const FLAG_WOW64: u32 = 2;

/// A process's start, end or rundown.
#[derive(Clone, Copy, Debug)]
pub struct Process<'a> {
    /// What happened.
    pub phase: Phase,
    /// The kernel's key of the process object; 0 where the version has none.
    pub unique_key: u64,
    /// Process id.
    pub pid: u32,
    /// Parent's id.
    pub parent_pid: u32,
    /// Session; `u32::MAX` is none.
    pub session_id: Option<u32>,
    /// Exit status as recorded; 0x103 while it runs.
    pub exit_status: Option<i32>,
    /// Whether it is a 32-bit process on 64-bit Windows, from version 4.
    pub is_wow64: Option<bool>,
    /// SID; empty where there is none.
    pub sid: &'a [u8],
    /// Short image name.
    pub name: Ansi<'a>,
    /// Command line; `None` where the version has none.
    pub command_line: Option<Utf16<'a>>,
    /// Package full name, from version 4.
    pub package: Utf16<'a>,
    /// Application id, from version 4.
    pub app_id: Utf16<'a>,
}

impl<'a> Process<'a> {
    /// Decodes versions 0 to 5. The texts at the end may be missing; everything before may not.
    pub fn decode(event: &RawEvent<'a>, phase: Phase, version: u8) -> Option<Process<'a>> {
        let mut p = Payload::of(event);
        let mut process = Process {
            phase,
            unique_key: 0,
            pid: 0,
            parent_pid: 0,
            session_id: None,
            exit_status: None,
            is_wow64: None,
            sid: &[],
            name: Ansi::default(),
            command_line: None,
            package: Utf16::default(),
            app_id: Utf16::default(),
        };
        if version == 0 {
            process.pid = p.pointer()? as u32;
            process.parent_pid = p.pointer()? as u32;
            process.sid = p.token_user_sid()?;
            process.name = p.ansi();
            return Some(process);
        }
        let key = p.pointer()?;
        // Version 1 has the page directory in its place.
        process.unique_key = if version >= 2 { key } else { 0 };
        process.pid = p.u32()?;
        process.parent_pid = p.u32()?;
        process.session_id = Some(p.u32()?);
        process.exit_status = Some(p.i32()?);
        if version >= 3 {
            p.pointer()?;
        }
        if version >= 4 {
            process.is_wow64 = Some(p.u32()? & FLAG_WOW64 != 0);
        }
        process.sid = p.token_user_sid()?;
        process.name = p.ansi();
        if version >= 2 {
            process.command_line = Some(p.utf16());
        }
        if version >= 4 {
            process.package = p.utf16();
            process.app_id = p.utf16();
        }
        Some(process)
    }
}
