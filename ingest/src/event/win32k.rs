//! Delays and focus (Microsoft-Windows-Win32k); event-payloads.md 9.

use super::payload::{Payload, Utf16};
use crate::etl::{Guid, RawEvent};

/// Microsoft-Windows-Win32k.
pub const PROVIDER: Guid =
    Guid::new(0x8c416c79, 0xd49b, 0x4f01, [0xa4, 0x67, 0xe5, 0x6d, 0x3a, 0xa8, 0x23, 0x4c]);

/// A window did not answer. Thread and process are those of the event's header.
#[derive(Clone, Copy, Debug)]
pub struct UiDelay<'a> {
    /// As stored in `ui_delay.kind`.
    pub kind: &'static str,
    /// Delay, where the event states one.
    pub delay_ms: Option<u32>,
    /// Thread, where the payload names it.
    pub tid: Option<u32>,
    /// Process, where the payload names it.
    pub pid: Option<u32>,
    /// Window class; `None` in the short form of Windows 7.
    pub window_class: Option<Utf16<'a>>,
    /// Image path.
    pub image_path: Option<Utf16<'a>>,
    /// Message.
    pub message_id: Option<u32>,
}

impl<'a> UiDelay<'a> {
    /// Decodes events 38, 37, 173, 172 (by length: the version is 0 in the short form, too) and 35.
    pub fn decode(event: &RawEvent<'a>, id: u16) -> Option<UiDelay<'a>> {
        let mut p = Payload::of(event);
        let (kind, states_delay, packaged) = match id {
            38 => ("message_check", true, false),
            37 => ("input_process", false, false),
            173 => ("immersive_message_check", true, true),
            172 => ("immersive_input_process", false, true),
            _ => return UiDelay::wait_cursor(&mut p),
        };
        p.u32()?;
        let delay_ms = if states_delay { Some(p.u32()?) } else { None };
        p.u32()?;
        p.u32()?;
        let mut delay = UiDelay {
            kind,
            delay_ms,
            tid: None,
            pid: None,
            window_class: None,
            image_path: None,
            message_id: None,
        };
        if p.left() > 0 {
            delay.window_class = Some(p.utf16());
            p.utf16();
            let path = p.utf16();
            if packaged {
                p.utf16();
            } else {
                delay.image_path = Some(path);
            }
            delay.message_id = p.u32();
        }
        Some(delay)
    }

    fn wait_cursor(p: &mut Payload<'a>) -> Option<UiDelay<'a>> {
        let (tid, pid) = (p.u32()?, p.u32()?);
        p.skip(8)?;
        Some(UiDelay {
            kind: "wait_cursor",
            delay_ms: Some(p.u32()?),
            tid: Some(tid),
            pid: Some(pid),
            window_class: None,
            image_path: None,
            message_id: None,
        })
    }
}

/// The focus moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Focus {
    /// As stored in `focus.kind`.
    pub kind: &'static str,
    /// Process; `None` for a focus change between threads.
    pub pid: Option<u32>,
    /// Thread, for a focus change between threads.
    pub tid: Option<u32>,
}

impl Focus {
    /// Decodes events 2, 25, 26, 258 and 259.
    pub fn decode(event: &RawEvent<'_>, id: u16) -> Option<Focus> {
        let mut p = Payload::of(event);
        p.u32()?;
        let focus = |kind, pid| Focus { kind, pid: Some(pid), tid: None };
        match id {
            2 => Some(Focus { kind: "thread", pid: None, tid: Some(p.u32()?) }),
            26 => {
                p.u32()?;
                Some(focus("process", p.u32()?))
            }
            258 => Some(focus("gained", p.u32()?)),
            259 => Some(focus("lost", p.u32()?)),
            _ => Some(focus("user_active", p.u32()?)),
        }
    }
}
