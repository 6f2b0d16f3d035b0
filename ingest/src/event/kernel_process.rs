//! Microsoft-Windows-Kernel-Process; event-payloads.md 10. Lifetimes from here are used only where the trace
//! has no kernel events of the kind.

use super::Phase;
use super::payload::{Ansi, Payload, Utf16};
use crate::etl::{Guid, RawEvent};

/// Microsoft-Windows-Kernel-Process.
pub const PROVIDER: Guid =
    Guid::new(0x22fb2cd6, 0x0e7b, 0x422b, [0xa0, 0xc7, 0x2f, 0xad, 0x1f, 0xd0, 0xe7, 0x16]);

/// A process starts (event 1), ends (2) or is running (15).
#[derive(Clone, Copy, Debug)]
pub struct ManifestProcess<'a> {
    /// What happened.
    pub phase: Phase,
    /// Process id.
    pub pid: u32,
    /// Parent's id; `None` at the end.
    pub parent_pid: Option<u32>,
    /// Session; `None` at the end.
    pub session_id: Option<u32>,
    /// Exit code; `None` unless it ends.
    pub exit_code: Option<u32>,
    /// Image path or name.
    pub image: ProcessImage<'a>,
}

/// The name of a process's image in either encoding.
#[derive(Clone, Copy, Debug)]
pub enum ProcessImage<'a> {
    /// Path of a start.
    Path(Utf16<'a>),
    /// Name of a stop.
    Name(Ansi<'a>),
}

impl<'a> ManifestProcess<'a> {
    /// Decodes event 1 of versions 0 to 5, event 15 (one version behind it, with the same layouts) and event 2.
    pub fn decode(event: &RawEvent<'a>, id: u16, version: u8) -> Option<ManifestProcess<'a>> {
        match id {
            1 => ManifestProcess::start(event, Phase::Start, version),
            2 => ManifestProcess::stop(event, version),
            _ => ManifestProcess::start(event, Phase::DcStart, version.saturating_add(2)),
        }
    }

    fn start(event: &RawEvent<'a>, phase: Phase, version: u8) -> Option<ManifestProcess<'a>> {
        let mut p = Payload::of(event);
        let pid = p.u32()?;
        if version >= 3 {
            p.u64()?;
        }
        p.u64()?;
        let parent_pid = Some(p.u32()?);
        if version >= 3 {
            p.u64()?;
        }
        let session_id = Some(p.u32()?);
        if version >= 1 {
            p.u32()?;
        }
        if version >= 3 {
            p.skip(8)?;
            p.sid()?;
        }
        let image = ProcessImage::Path(p.utf16());
        Some(ManifestProcess { phase, pid, parent_pid, session_id, exit_code: None, image })
    }

    fn stop(event: &RawEvent<'a>, version: u8) -> Option<ManifestProcess<'a>> {
        let mut p = Payload::of(event);
        let pid = p.u32()?;
        if version >= 2 {
            p.u64()?;
        }
        p.skip(16)?;
        let exit_code = Some(p.u32()?);
        p.skip(8 + 16)?;
        if version >= 1 {
            p.skip(8 + 20)?;
        }
        let image = ProcessImage::Name(p.ansi());
        Some(ManifestProcess {
            phase: Phase::End,
            pid,
            parent_pid: None,
            session_id: None,
            exit_code,
            image,
        })
    }
}

/// Decodes thread start and stop (3, 4) as the kernel's own thread event.
pub fn decode_thread<'a>(event: &RawEvent<'a>, id: u16) -> Option<super::thread::Thread<'a>> {
    let mut p = Payload::of(event);
    let (pid, tid) = (p.u32()?, p.u32()?);
    p.skip(4 * p.pointer_size())?;
    p.pointer()?;
    let start_address = p.pointer();
    p.pointer();
    Some(super::thread::Thread {
        phase: if id == 3 { Phase::Start } else { Phase::End },
        pid,
        tid,
        start_address,
        affinity: None,
        base_priority: None,
        sub_process_tag: p.u32(),
        name: Utf16::default(),
    })
}

/// Decodes image load and unload (5, 6) as the kernel's own image event.
pub fn decode_image<'a>(event: &RawEvent<'a>, id: u16) -> Option<super::image::Image<'a>> {
    let mut p = Payload::of(event);
    let (base, size, pid) = (p.pointer()?, p.pointer()?, p.u32()?);
    let (checksum, timestamp) = (Some(p.u32()?), Some(p.u32()?));
    p.pointer()?;
    let phase = if id == 5 { Phase::Start } else { Phase::End };
    Some(super::image::Image { phase, base, size, pid, checksum, timestamp, path: p.utf16() })
}

/// A process is frozen (start, event 11) or thawed (stop, event 12).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// Process.
    pub pid: u32,
    /// Whether it is frozen from now on.
    pub frozen: bool,
}

impl Freeze {
    /// Decodes events 11 and 12.
    pub fn decode(event: &RawEvent<'_>, id: u16) -> Option<Freeze> {
        Some(Freeze { pid: Payload::of(event).u32()?, frozen: id == 11 })
    }
}
