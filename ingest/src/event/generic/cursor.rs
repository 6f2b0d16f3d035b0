//! A bounds-checked little-endian reader over one payload.
//!
//! Every decoder of payload bytes goes through it: it never panics, and when bytes are missing it
//! says at which offset, so that a complaint can name the place. It knows no event and no schema.

use std::borrow::Cow;
use std::fmt;

/// The bytes ended, or made no sense, at `offset` (from the start of the payload).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Where the value that could not be read begins.
    pub offset: usize,
}

impl fmt::Display for Short {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "payload ends inside the value at offset {:#x}", self.offset)
    }
}

impl std::error::Error for Short {}

/// A position in a slice of bytes.
///
/// # Invariants
/// `offset <= bytes.len()`; a read that fails leaves the position where it was
/// (test `a_failed_read_does_not_move`).
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    offset: usize,
}

macro_rules! number {
    ($($name:ident: $type:ty, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[inline]
        pub fn $name(&mut self) -> Result<$type, Short> {
            self.array().map(<$type>::from_le_bytes)
        }
    )*};
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Cursor { bytes, offset: 0 }
    }

    /// Starts at `offset`, or at the end when that is nearer.
    pub fn at(bytes: &'a [u8], offset: usize) -> Self {
        Cursor { bytes, offset: offset.min(bytes.len()) }
    }

    /// Bytes read so far.
    #[inline]
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Bytes not yet read, as a count.
    #[inline]
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.offset
    }

    /// True when nothing is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.remaining() == 0
    }

    /// Bytes not yet read; the position stays.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    /// The complaint for the present position.
    #[inline]
    pub fn short(&self) -> Short {
        Short { offset: self.offset }
    }

    /// The next `count` bytes.
    #[inline]
    pub fn take(&mut self, count: usize) -> Result<&'a [u8], Short> {
        let bytes = self.rest().get(..count).ok_or(Short { offset: self.offset })?;
        self.offset += count;
        Ok(bytes)
    }

    /// Passes over `count` bytes.
    #[inline]
    pub fn skip(&mut self, count: usize) -> Result<(), Short> {
        self.take(count).map(|_| ())
    }

    /// The next `N` bytes as an array (GUIDs, IPv6 addresses).
    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Short> {
        let bytes = self.rest().first_chunk::<N>().ok_or(Short { offset: self.offset })?;
        self.offset += N;
        Ok(*bytes)
    }

    number! {
        u8: u8, "One byte.";
        u16: u16, "Two bytes.";
        u32: u32, "Four bytes.";
        u64: u64, "Eight bytes.";
        i8: i8, "One byte, signed.";
        i16: i16, "Two bytes, signed.";
        i32: i32, "Four bytes, signed.";
        i64: i64, "Eight bytes, signed.";
        f32: f32, "A single-precision float.";
        f64: f64, "A double-precision float.";
    }

    /// A pointer of `width` bytes: 8, or else 4.
    #[inline]
    pub fn pointer(&mut self, width: u8) -> Result<u64, Short> {
        if width == 8 { self.u64() } else { self.u32().map(u64::from) }
    }

    /// A FILETIME: 100 ns units since 1601, UTC.
    #[inline]
    pub fn filetime(&mut self) -> Result<i64, Short> {
        self.i64()
    }

    /// The bytes of a NUL-terminated byte string, without the NUL.
    ///
    /// A string that the end of the payload cuts off is whole: providers leave the last NUL out,
    /// and the system's own decoder takes it so.
    pub fn ansiz_bytes(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let (length, used) = match rest.iter().position(|&b| b == 0) {
            Some(n) => (n, n + 1),
            None => (rest.len(), rest.len()),
        };
        self.offset += used;
        &rest[..length]
    }

    /// A NUL-terminated byte string; bytes that are not UTF-8 become U+FFFD.
    pub fn ansiz(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.ansiz_bytes())
    }

    /// The bytes of a NUL-terminated UTF-16 string, without the NUL; the end of the payload ends
    /// it as well. An odd last byte is no character: that is a complaint.
    pub fn utf16z_bytes(&mut self) -> Result<&'a [u8], Short> {
        let rest = self.rest();
        let (length, used) = match rest.chunks_exact(2).position(|c| c == [0, 0]) {
            Some(n) => (2 * n, 2 * n + 2),
            None if rest.len() % 2 == 1 => {
                return Err(Short { offset: self.offset + rest.len() - 1 });
            }
            None => (rest.len(), rest.len()),
        };
        self.offset += used;
        Ok(&rest[..length])
    }

    /// A NUL-terminated UTF-16 string; lone surrogates become U+FFFD.
    pub fn utf16z(&mut self) -> Result<String, Short> {
        self.utf16z_bytes().map(utf16)
    }

    /// A security identifier: 8 + 4 x the count in its second byte.
    pub fn sid(&mut self) -> Result<Sid<'a>, Short> {
        let start = self.offset;
        let count = *self.rest().get(1).ok_or(Short { offset: start })?;
        if count > Sid::MAX_SUB_AUTHORITIES {
            return Err(Short { offset: start });
        }
        self.take(8 + 4 * usize::from(count)).map(Sid)
    }

    /// A SID behind a TOKEN_USER (two pointers of no use); a first u32 of zero means four bytes
    /// and no SID (event-payloads.md, section 2).
    pub fn token_user_sid(&mut self, width: u8) -> Result<Option<Sid<'a>>, Short> {
        let before = self.offset;
        if self.u32()? == 0 {
            return Ok(None);
        }
        self.offset = before;
        let sid = self.skip(2 * usize::from(width)).and_then(|()| self.sid());
        if sid.is_err() {
            self.offset = before;
        }
        sid.map(Some)
    }
}

/// UTF-16LE bytes as a string; lone surrogates become U+FFFD, an odd last byte is dropped.
pub fn utf16(bytes: &[u8]) -> String {
    let units = bytes.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]]));
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// The bytes of a security identifier; shows itself as `S-1-5-18`.
///
/// # Invariants
/// At least 8 bytes, and as long as its own count says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sid<'a>(&'a [u8]);

impl Sid<'_> {
    /// Windows knows no SID with more sub-authorities.
    pub const MAX_SUB_AUTHORITIES: u8 = 15;
}

impl fmt::Display for Sid<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The authority is the one big-endian number in all of ETW.
        let authority = self.0[2..8].iter().fold(0u64, |n, &b| n << 8 | u64::from(b));
        write!(f, "S-{}-", self.0[0])?;
        if authority > u64::from(u32::MAX) {
            write!(f, "{authority:#014x}")?;
        } else {
            write!(f, "{authority}")?;
        }
        for part in self.0[8..].chunks_exact(4) {
            write!(f, "-{}", u32::from_le_bytes([part[0], part[1], part[2], part[3]]))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_does_not_move() {
        let bytes = [1, 2, 3];
        let mut c = Cursor::at(&bytes, 1);
        assert_eq!(c.u32(), Err(Short { offset: 1 }));
        assert_eq!(c.token_user_sid(8), Err(Short { offset: 1 }));
        assert_eq!(c.sid(), Err(Short { offset: 1 }));
        assert_eq!(c.u16(), Ok(0x0302));
        assert!(c.is_empty());
        assert_eq!(Cursor::at(&bytes, 9).offset(), 3);
    }

    #[test]
    fn strings_end_at_nul_or_at_the_end() {
        let mut c = Cursor::new(b"ab\0cd");
        assert_eq!((c.ansiz(), c.ansiz(), c.ansiz()), ("ab".into(), "cd".into(), "".into()));
        let mut c = Cursor::new(&[b'a', 0, 0, 0, b'b', 0]);
        assert_eq!((c.utf16z().unwrap(), c.utf16z().unwrap()), ("a".into(), "b".into()));
        assert_eq!(Cursor::new(&[b'a', 0, b'b']).utf16z(), Err(Short { offset: 2 }));
        assert_eq!(Cursor::new(&[0x00, 0xD8, b'x', 0]).utf16z().unwrap(), "\u{FFFD}x");
    }

    #[test]
    fn sids_read_as_text() {
        let bytes = [1, 2, 0, 0, 0, 0, 0, 5, 32, 0, 0, 0, 0x20, 2, 0, 0];
        assert_eq!(Cursor::new(&bytes).sid().unwrap().to_string(), "S-1-5-32-544");
        let big = [1, 0, 1, 0, 0, 0, 0, 5];
        assert_eq!(Cursor::new(&big).sid().unwrap().to_string(), "S-1-0x010000000005");
        let mut user = vec![7; 16];
        user.extend_from_slice(&bytes);
        let mut c = Cursor::new(&user);
        assert_eq!(c.token_user_sid(8).unwrap().unwrap().to_string(), "S-1-5-32-544");
        assert_eq!(Cursor::new(&[0, 0, 0, 0, 9]).token_user_sid(4), Ok(None));
    }
}
