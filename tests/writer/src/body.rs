//! Little-endian bytes put down one field after the other: payloads, headers, GUIDs, SIDs, text.
//!
//! Every layout module builds its bytes with [`Body`]; nothing here knows what a field means.
//! Text keeps what a Rust string cannot hold in a private area of Unicode: [`lone_unit`] and
//! [`raw_byte`] say how, and only this module turns them back.

/// Where lone UTF-16 surrogates are kept inside a scenario's text.
const LONE_UNIT_BASE: u32 = 0x10_0000;
/// Where single bytes of ANSI text are kept inside a scenario's text.
const RAW_BYTE_BASE: u32 = 0x10_E000;

/// The character that stands for the lone surrogate `unit` until it is written.
pub(crate) fn lone_unit(unit: u32) -> Option<char> {
    if (0xD800..0xE000).contains(&unit) { char::from_u32(LONE_UNIT_BASE + unit) } else { None }
}

/// The character that stands for the single byte `byte` until it is written.
pub(crate) fn raw_byte(byte: u32) -> Option<char> {
    if byte <= 0xFF { char::from_u32(RAW_BYTE_BASE + byte) } else { None }
}

/// UTF-16 units of a text, lone surrogates put back.
pub(crate) fn utf16(text: &str) -> Vec<u16> {
    let mut units = Vec::with_capacity(text.len());
    let mut pair = [0u16; 2];
    for c in text.chars() {
        let lone = (c as u32).wrapping_sub(LONE_UNIT_BASE);
        if (0xD800..0xE000).contains(&lone) {
            units.push(lone as u16);
        } else {
            units.extend_from_slice(c.encode_utf16(&mut pair));
        }
    }
    units
}

/// Bytes of a narrow text: UTF-8, single bytes put back.
pub(crate) fn narrow(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut buffer = [0u8; 4];
    for c in text.chars() {
        let raw = (c as u32).wrapping_sub(RAW_BYTE_BASE);
        if raw <= 0xFF {
            bytes.push(raw as u8);
        } else {
            bytes.extend_from_slice(c.encode_utf8(&mut buffer).as_bytes());
        }
    }
    bytes
}

/// A GUID as it lies on disk: first three fields little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Guid(pub [u8; 16]);

impl Guid {
    /// Reads `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`, braces allowed.
    pub(crate) fn parse(text: &str) -> Option<Guid> {
        let digits: String = text.trim_matches(|c| c == '{' || c == '}').replace('-', "");
        if digits.len() != 32 || !digits.is_ascii() {
            return None;
        }
        let big = hex_bytes(&digits)?;
        let mut on_disk = [0u8; 16];
        on_disk.copy_from_slice(&big);
        on_disk[0..4].reverse();
        on_disk[4..6].reverse();
        on_disk[6..8].reverse();
        Some(Guid(on_disk))
    }

    /// A GUID known to the code. A wrong constant is our own mistake and a test reads them all.
    pub(crate) fn known(text: &str) -> Guid {
        Guid::parse(text).unwrap_or_default()
    }
}

/// Reads pairs of hexadecimal digits; spaces and underscores between pairs are allowed.
pub(crate) fn hex_bytes(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace() && *b != b'_').collect();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits
        .chunks(2)
        .map(|pair| {
            let high = (pair[0] as char).to_digit(16)?;
            let low = (pair[1] as char).to_digit(16)?;
            Some((high * 16 + low) as u8)
        })
        .collect()
}

/// Reads a SID in its written form `S-1-5-18` into its binary form.
pub(crate) fn sid_bytes(text: &str) -> Option<Vec<u8>> {
    let mut parts = text.strip_prefix("S-")?.split('-');
    let revision: u8 = parts.next()?.parse().ok()?;
    let authority: u64 = parts.next()?.parse().ok()?;
    let subs: Vec<u32> = parts.map(|p| p.parse().ok()).collect::<Option<_>>()?;
    if subs.len() > 15 || authority >= 1 << 48 {
        return None;
    }
    let mut bytes = vec![revision, subs.len() as u8];
    bytes.extend_from_slice(&authority.to_be_bytes()[2..]);
    for sub in subs {
        bytes.extend_from_slice(&sub.to_le_bytes());
    }
    Some(bytes)
}

/// Bytes under construction, with the width of a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Body {
    /// What has been put down so far.
    pub(crate) bytes: Vec<u8>,
    /// Whether a pointer takes eight bytes.
    pub(crate) wide: bool,
}

impl Body {
    /// An empty body.
    pub(crate) fn new(wide: bool) -> Body {
        Body { bytes: Vec::new(), wide }
    }
    /// One byte.
    pub(crate) fn u8(&mut self, value: u8) -> &mut Body {
        self.bytes.push(value);
        self
    }
    /// Two bytes.
    pub(crate) fn u16(&mut self, value: u16) -> &mut Body {
        self.raw(&value.to_le_bytes())
    }
    /// Four bytes.
    pub(crate) fn u32(&mut self, value: u32) -> &mut Body {
        self.raw(&value.to_le_bytes())
    }
    /// Eight bytes.
    pub(crate) fn u64(&mut self, value: u64) -> &mut Body {
        self.raw(&value.to_le_bytes())
    }
    /// Eight bytes, signed.
    pub(crate) fn i64(&mut self, value: i64) -> &mut Body {
        self.raw(&value.to_le_bytes())
    }
    /// A pointer of this body's width; the upper half is dropped on 32 bits.
    pub(crate) fn ptr(&mut self, value: u64) -> &mut Body {
        if self.wide { self.u64(value) } else { self.u32(value as u32) }
    }
    /// NUL-terminated UTF-16.
    pub(crate) fn z16(&mut self, text: &str) -> &mut Body {
        self.text16(text).u16(0)
    }
    /// UTF-16 without an end.
    pub(crate) fn text16(&mut self, text: &str) -> &mut Body {
        for unit in utf16(text) {
            self.u16(unit);
        }
        self
    }
    /// UTF-16 in a field of `units` units, cut or filled with zeros.
    pub(crate) fn fixed16(&mut self, text: &str, units: usize) -> &mut Body {
        let mut all = utf16(text);
        all.resize(units, 0);
        for unit in all {
            self.u16(unit);
        }
        self
    }
    /// NUL-terminated narrow text.
    pub(crate) fn z8(&mut self, text: &str) -> &mut Body {
        self.raw(&narrow(text)).u8(0)
    }
    /// A GUID.
    pub(crate) fn guid(&mut self, guid: Guid) -> &mut Body {
        self.raw(&guid.0)
    }
    /// Bytes as they are.
    pub(crate) fn raw(&mut self, bytes: &[u8]) -> &mut Body {
        self.bytes.extend_from_slice(bytes);
        self
    }
    /// `count` zero bytes.
    pub(crate) fn zeros(&mut self, count: usize) -> &mut Body {
        self.bytes.resize(self.bytes.len() + count, 0);
        self
    }
    /// Zeros up to the next multiple of `step`.
    pub(crate) fn align(&mut self, step: usize) -> &mut Body {
        let length = self.bytes.len().next_multiple_of(step);
        self.bytes.resize(length, 0);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guid_lies_with_its_first_fields_reversed() {
        let guid = Guid::known("3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c");
        assert_eq!(
            guid.0,
            [
                0xd1, 0xa8, 0x6f, 0x3d, 0x05, 0xfe, 0xd0, 0x11, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7,
                0xba, 0x7c
            ]
        );
        assert_eq!(Guid::parse("{3d6fa8d1}"), None);
    }

    #[test]
    fn a_sid_has_its_authority_big_endian() {
        let bytes = [1, 1, 0, 0, 0, 0, 0, 5, 18, 0, 0, 0];
        assert_eq!(sid_bytes("S-1-5-18").as_deref(), Some(&bytes[..]));
        assert_eq!(sid_bytes("S-1"), None);
    }

    #[test]
    fn lone_surrogates_and_bytes_survive() {
        let text: String = [lone_unit(0xD83D).unwrap(), 'a'].iter().collect();
        assert_eq!(utf16(&text), [0xD83D, 0x61]);
        let text: String = [raw_byte(0xE4).unwrap(), 'a'].iter().collect();
        assert_eq!(narrow(&text), [0xE4, 0x61]);
    }
}
