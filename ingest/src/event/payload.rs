//! Reading payloads: a cursor that cannot panic, and the texts that payloads hold.
//!
//! Every decoder of `event` reads through [`Payload`]; a field beyond the end is `None`, which the decoder
//! turns into "malformed" or into an absent tail, as the event's versions demand.

use crate::etl::{Guid, RawEvent};

/// A cursor over one payload.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    data: &'a [u8],
    at: usize,
    pointer_size: u8,
}

impl<'a> Payload<'a> {
    /// The payload of an event, with the pointer size of its record.
    pub fn of(event: &RawEvent<'a>) -> Payload<'a> {
        Payload { data: event.payload, at: 0, pointer_size: event.pointer_size }
    }

    /// Bytes not read yet.
    pub fn rest(&self) -> &'a [u8] {
        self.data.get(self.at..).unwrap_or(&[])
    }

    /// How many bytes are not read yet.
    pub fn left(&self) -> usize {
        self.data.len().saturating_sub(self.at)
    }

    /// Pointer size of the record, 4 or 8.
    pub fn pointer_size(&self) -> usize {
        usize::from(self.pointer_size)
    }

    /// The next `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let end = self.at.checked_add(count)?;
        let bytes = self.data.get(self.at..end)?;
        self.at = end;
        Some(bytes)
    }

    /// Passes over `count` bytes.
    pub fn skip(&mut self, count: usize) -> Option<()> {
        self.bytes(count).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.first_chunk::<N>().copied()
    }

    /// u8.
    pub fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|b| b[0])
    }

    /// i8.
    pub fn i8(&mut self) -> Option<i8> {
        self.u8().map(|b| b as i8)
    }

    /// u16.
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// u32.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// i32.
    pub fn i32(&mut self) -> Option<i32> {
        self.array().map(i32::from_le_bytes)
    }

    /// u64.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// i64.
    pub fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    /// A pointer of the record's width.
    pub fn pointer(&mut self) -> Option<u64> {
        if self.pointer_size == 4 { self.u32().map(u64::from) } else { self.u64() }
    }

    /// A GUID.
    pub fn guid(&mut self) -> Option<Guid> {
        self.array::<16>().map(Guid)
    }

    /// A NUL-terminated UTF-16 text; without a terminator it runs to the end.
    pub fn utf16(&mut self) -> Utf16<'a> {
        let rest = self.rest();
        let length = rest.chunks_exact(2).position(|unit| unit == [0, 0]).map(|units| units * 2);
        let text = &rest[..length.unwrap_or(rest.len() & !1)];
        self.at += length.map_or(rest.len(), |length| length + 2);
        Utf16(text)
    }

    /// A NUL-terminated 8-bit text; without a terminator it runs to the end.
    pub fn ansi(&mut self) -> Ansi<'a> {
        let rest = self.rest();
        let length = rest.iter().position(|byte| *byte == 0);
        let text = &rest[..length.unwrap_or(rest.len())];
        self.at += length.map_or(rest.len(), |length| length + 1);
        Ansi(text)
    }

    /// The SID field of the classic process events: a zero u32, or a TOKEN_USER of two pointers and the SID.
    /// The pointers are kernel addresses of no use, and zero in some recordings, too: a SID behind them decides.
    pub fn token_user_sid(&mut self) -> Option<&'a [u8]> {
        let first = self.rest().first_chunk::<4>().copied()?;
        let head = self.rest().split_at_checked(2 * self.pointer_size());
        let follows = head.is_some_and(|(pointers, sid)| {
            let one_and_some = matches!(sid, [1, 1..=15, 0, 0, ..]);
            pointers.iter().all(|byte| *byte == 0) && one_and_some
        });
        if u32::from_le_bytes(first) == 0 && !follows {
            self.skip(4)?;
            return Some(&[]);
        }
        self.skip(2 * self.pointer_size())?;
        self.sid()
    }

    /// A SID: revision, count of sub-authorities, authority, sub-authorities.
    pub fn sid(&mut self) -> Option<&'a [u8]> {
        let count = usize::from(*self.rest().get(1)?);
        if count > MAX_SUB_AUTHORITIES {
            return None;
        }
        self.bytes(8 + 4 * count)
    }
}

/// Sub-authorities a SID may have.
const MAX_SUB_AUTHORITIES: usize = 15;

/// A SID in its text form; `None` for no or a broken SID.
pub fn sid_text(sid: &[u8]) -> Option<String> {
    let (head, subs) = sid.split_at_checked(8)?;
    let authority = head[2..8].iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    let mut text = format!("S-{}-{authority}", head[0]);
    for sub in subs.as_chunks::<4>().0 {
        text.push_str(&format!("-{}", u32::from_le_bytes(*sub)));
    }
    Some(text)
}

/// UTF-16LE bytes as recorded, without terminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Utf16<'a>(pub &'a [u8]);

/// 8-bit characters as recorded, without terminator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ansi<'a>(pub &'a [u8]);

/// What had to be replaced while texts were read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextRepairs {
    /// Texts with unpaired surrogates, which became U+FFFD.
    pub surrogates: u64,
    /// 8-bit texts that are not UTF-8 and were read as windows-1252.
    pub not_utf8: u64,
}

impl Utf16<'_> {
    /// The text; unpaired surrogates become U+FFFD and are counted.
    pub fn text(&self, repairs: &mut TextRepairs) -> String {
        let units = self.0.as_chunks::<2>().0.iter().map(|pair| u16::from_le_bytes(*pair));
        let mut text = String::with_capacity(self.0.len() / 2);
        let mut replaced = false;
        for unit in char::decode_utf16(units) {
            replaced |= unit.is_err();
            text.push(unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        repairs.surrogates += u64::from(replaced);
        text
    }
}

impl Ansi<'_> {
    /// The text: UTF-8 if it is valid, else windows-1252, which is counted.
    pub fn text(&self, repairs: &mut TextRepairs) -> String {
        match std::str::from_utf8(self.0) {
            Ok(text) => text.to_owned(),
            Err(_) => {
                repairs.not_utf8 += 1;
                self.0.iter().map(|byte| windows_1252(*byte)).collect()
            }
        }
    }
}

/// The characters of windows-1252 from 0x80 to 0x9F; the five unassigned bytes keep their number.
const WINDOWS_1252: [char; 32] = [
    '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}',
    '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}',
    '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}',
    '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
];

fn windows_1252(byte: u8) -> char {
    match byte {
        0x80..=0x9F => WINDOWS_1252[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}
