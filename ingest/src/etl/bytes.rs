//! Little-endian reads from byte slices that cannot panic. The whole container decoder reads through them.
//!
//! A read beyond the end gives `None`; callers that checked the length once read from arrays instead.

/// The byte at `at`.
#[inline]
pub(crate) fn u8_at(data: &[u8], at: usize) -> Option<u8> {
    data.get(at).copied()
}

/// `N` bytes from `at`.
#[inline]
pub(crate) fn array_at<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..)?.first_chunk::<N>().copied()
}

/// The u16 at `at`.
#[inline]
pub(crate) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    array_at(data, at).map(u16::from_le_bytes)
}

/// The u32 at `at`.
#[inline]
pub(crate) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    array_at(data, at).map(u32::from_le_bytes)
}

/// The i32 at `at`.
#[inline]
pub(crate) fn i32_at(data: &[u8], at: usize) -> Option<i32> {
    array_at(data, at).map(i32::from_le_bytes)
}

/// The u64 at `at`.
#[inline]
pub(crate) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    array_at(data, at).map(u64::from_le_bytes)
}

/// The i64 at `at`.
#[inline]
pub(crate) fn i64_at(data: &[u8], at: usize) -> Option<i64> {
    array_at(data, at).map(i64::from_le_bytes)
}

/// A NUL-terminated UTF-16LE string at the start of `data`, unpaired surrogates replaced, and the bytes it
/// takes with its terminator. Without a terminator the string runs to the end of `data`.
pub(crate) fn utf16_z(data: &[u8]) -> (String, usize) {
    let units: Vec<u16> = data
        .chunks_exact(2)
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .take_while(|unit| *unit != 0)
        .collect();
    let taken = (units.len() * 2 + 2).min(data.len());
    (String::from_utf16_lossy(&units), taken)
}

/// `value` rounded up to a multiple of 8; record positions are multiples of 8 from the buffer's start.
#[inline]
pub(crate) fn align8(value: usize) -> usize {
    value.wrapping_add(7) & !7
}
