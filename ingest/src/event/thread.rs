//! Thread lifetimes, names and priority changes (group 0x05); event-payloads.md 1.4 and 1.5.

use super::Phase;
use super::payload::{Payload, Utf16};
use crate::etl::RawEvent;

/// A thread's start, end or rundown.
#[derive(Clone, Copy, Debug)]
pub struct Thread<'a> {
    /// What happened.
    pub phase: Phase,
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Win32 start address.
    pub start_address: Option<u64>,
    /// Affinity mask, from version 3.
    pub affinity: Option<u64>,
    /// Base priority, from version 3.
    pub base_priority: Option<i8>,
    /// Sub-process tag of a service thread; 0 is none.
    pub sub_process_tag: Option<u32>,
    /// Name; empty where the event has none.
    pub name: Utf16<'a>,
}

impl<'a> Thread<'a> {
    /// Decodes versions 0 to 4 by version and length: events with a name still say version 3.
    pub fn decode(event: &RawEvent<'a>, phase: Phase, version: u8) -> Option<Thread<'a>> {
        let mut p = Payload::of(event);
        let (first, second) = (p.u32()?, p.u32()?);
        let (pid, tid) = if version == 0 { (second, first) } else { (first, second) };
        let mut thread = Thread {
            phase,
            pid,
            tid,
            start_address: None,
            affinity: None,
            base_priority: None,
            sub_process_tag: None,
            name: Utf16::default(),
        };
        if version >= 1 {
            // What is missing at the end is not recorded: the end event of version 1 has ids only.
            let _ = thread.tail(&mut p, version);
        }
        Some(thread)
    }

    fn tail(&mut self, p: &mut Payload<'a>, version: u8) -> Option<()> {
        p.skip(4 * p.pointer_size())?;
        let slot = p.pointer()?;
        if version >= 3 {
            self.affinity = Some(slot);
        }
        self.start_address = Some(p.pointer()?);
        if version == 1 {
            return Some(());
        }
        p.pointer()?;
        self.sub_process_tag = Some(p.u32()?);
        if version < 3 {
            return Some(());
        }
        self.base_priority = Some(p.i8()?);
        p.skip(3)?;
        self.name = p.utf16();
        Some(())
    }
}

/// A thread is given a name (0x0548).
#[derive(Clone, Copy, Debug)]
pub struct ThreadName<'a> {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Name.
    pub name: Utf16<'a>,
}

impl<'a> ThreadName<'a> {
    /// Decodes version 2.
    pub fn decode(event: &RawEvent<'a>) -> Option<ThreadName<'a>> {
        let mut p = Payload::of(event);
        Some(ThreadName { pid: p.u32()?, tid: p.u32()?, name: p.utf16() })
    }
}

/// Which of a thread's priorities is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PriorityKind {
    /// Dynamic priority.
    Dynamic,
    /// Base priority.
    Base,
    /// I/O priority.
    Io,
    /// Page priority.
    Page,
}

impl PriorityKind {
    /// As stored in `priority_change.kind`.
    pub fn name(self) -> &'static str {
        match self {
            PriorityKind::Dynamic => "priority",
            PriorityKind::Base => "base",
            PriorityKind::Io => "io",
            PriorityKind::Page => "page",
        }
    }
}

/// A priority is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PriorityChange {
    /// Which one.
    pub kind: PriorityKind,
    /// Thread id.
    pub tid: u32,
    /// Old value.
    pub old: i8,
    /// New value.
    pub new: i8,
}

impl PriorityChange {
    /// Decodes hooks 0x0530, 0x0531, 0x0533 and 0x0534.
    pub fn decode(event: &RawEvent<'_>, kind: PriorityKind) -> Option<PriorityChange> {
        let mut p = Payload::of(event);
        Some(PriorityChange { kind, tid: p.u32()?, old: p.i8()?, new: p.i8()? })
    }

    /// Decodes Kernel-Process events 7 to 10: process, thread, old, new.
    pub fn decode_manifest(event: &RawEvent<'_>, kind: PriorityKind) -> Option<PriorityChange> {
        let mut p = Payload::of(event);
        p.u32()?;
        Some(PriorityChange { kind, tid: p.u32()?, old: p.i8()?, new: p.i8()? })
    }
}
