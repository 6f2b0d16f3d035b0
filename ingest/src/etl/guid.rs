//! A GUID as it lies on disk, with its text form. Used for providers, event classes and activities.

use std::fmt;
use std::str::FromStr;

/// A GUID: 16 bytes as on disk, where the first three fields are little-endian.
///
/// The order (`Ord`) is that of the bytes; it is stable, and means nothing beyond that.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Guid(pub [u8; 16]);

impl Guid {
    /// The GUID of sixteen zero bytes, which stands for "none".
    pub const ZERO: Guid = Guid([0; 16]);

    /// Builds a GUID from its four written fields, as in `2cb15d1d-5fc1-11d2-abe1-00a0c911f518`.
    pub const fn new(d1: u32, d2: u16, d3: u16, d4: [u8; 8]) -> Guid {
        let a = d1.to_le_bytes();
        let b = d2.to_le_bytes();
        let c = d3.to_le_bytes();
        Guid([
            a[0], a[1], a[2], a[3], b[0], b[1], c[0], c[1], d4[0], d4[1], d4[2], d4[3], d4[4],
            d4[5], d4[6], d4[7],
        ])
    }

    /// The first written field.
    pub const fn d1(&self) -> u32 {
        u32::from_le_bytes([self.0[0], self.0[1], self.0[2], self.0[3]])
    }

    /// The second written field.
    pub const fn d2(&self) -> u16 {
        u16::from_le_bytes([self.0[4], self.0[5]])
    }

    /// The third written field.
    pub const fn d3(&self) -> u16 {
        u16::from_le_bytes([self.0[6], self.0[7]])
    }

    /// Whether all bytes are zero.
    pub fn is_zero(&self) -> bool {
        *self == Guid::ZERO
    }
}

impl fmt::Display for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}-{:04x}-{:04x}-", self.d1(), self.d2(), self.d3())?;
        for (index, byte) in self.0[8..].iter().enumerate() {
            if index == 2 {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Guid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a GUID.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuidParseError;

impl fmt::Display for GuidParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a GUID of the form 01234567-89ab-cdef-0123-456789abcdef")
    }
}

impl std::error::Error for GuidParseError {}

impl FromStr for Guid {
    type Err = GuidParseError;

    /// Reads the written form in either case, with or without braces.
    fn from_str(text: &str) -> Result<Guid, GuidParseError> {
        let inner = match text.strip_prefix('{') {
            Some(rest) => rest.strip_suffix('}').ok_or(GuidParseError)?,
            None => text,
        };
        let mut digits = [0u8; 32];
        let mut count = 0;
        if inner.len() != 36 {
            return Err(GuidParseError);
        }
        for (index, byte) in inner.bytes().enumerate() {
            if matches!(index, 8 | 13 | 18 | 23) {
                if byte != b'-' {
                    return Err(GuidParseError);
                }
                continue;
            }
            let value = (byte as char).to_digit(16).ok_or(GuidParseError)?;
            digits[count] = value as u8;
            count += 1;
        }
        let mut written = [0u8; 16];
        for (byte, pair) in written.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        // The first three fields are written most significant byte first, and stored the other way.
        written[0..4].reverse();
        written[4..6].reverse();
        written[6..8].reverse();
        Ok(Guid(written))
    }
}
