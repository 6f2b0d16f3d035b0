//! Marks and input of UIforETW's providers; event-payloads.md 11.

use super::payload::{Ansi, Payload, TextRepairs};
use crate::etl::{Guid, RawEvent};

/// Multi-Main.
pub const MAIN: Guid =
    Guid::new(0x231cf54b, 0x22a0, 0x49e4, [0xa5, 0x9a, 0x47, 0x05, 0x2a, 0x30, 0xff, 0xed]);
/// Multi-Input.
pub const INPUT: Guid =
    Guid::new(0x70e2503b, 0xc6f3, 0x4780, [0xb3, 0x23, 0xbd, 0x8e, 0xd0, 0xc6, 0x1b, 0xf8]);

/// One input.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// As stored in `input_event.kind`.
    pub kind: &'static str,
    /// Virtual key, button or wheel distance.
    pub code: Option<i64>,
    /// Name of the key.
    pub name: Option<Ansi<'a>>,
}

impl<'a> Input<'a> {
    /// Decodes events 400 to 404.
    pub fn decode(event: &RawEvent<'a>, id: u16) -> Option<Input<'a>> {
        let mut p = Payload::of(event);
        let input = |kind, code| Some(Input { kind, code, name: None });
        match id {
            400 => input("button_down", Some(i64::from(p.i32()?))),
            401 => input("button_up", Some(i64::from(p.i32()?))),
            402 => {
                p.skip(12)?;
                input("move", None)
            }
            403 => {
                p.u32()?;
                input("wheel", Some(i64::from(p.i32()?)))
            }
            _ => {
                let code = Some(i64::from(p.u32()?));
                Some(Input { kind: "key", code, name: Some(p.ansi()) })
            }
        }
    }
}

/// Whether a Multi-Main event is a mark.
pub fn is_mark(id: u16) -> bool {
    matches!(id, 102 | 104..=107 | 114 | 116..=119)
}

/// The text of a mark, its numbers behind it.
pub fn mark_text(event: &RawEvent<'_>, id: u16, repairs: &mut TextRepairs) -> Option<String> {
    let mut p = Payload::of(event);
    let mut text = if id == 114 { p.utf16().text(repairs) } else { p.ansi().text(repairs) };
    let (integers, floats) = match id {
        104 => (1, 0),
        105 => (2, 0),
        118 => (3, 0),
        119 => (4, 0),
        106 => (0, 1),
        107 => (0, 2),
        116 => (0, 3),
        117 => (0, 4),
        _ => (0, 0),
    };
    for _ in 0..integers {
        text.push_str(&format!(" {}", p.i32()?));
    }
    for _ in 0..floats {
        text.push_str(&format!(" {}", f32::from_bits(p.u32()?)));
    }
    Some(text)
}
