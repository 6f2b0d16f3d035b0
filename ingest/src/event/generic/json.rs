//! Values as JSON text, appended to a `String`; used by the field decoder alone.
//!
//! What each kind of value looks like is written in the documentation of the module above. Nothing
//! here allocates beyond the output. Functions that read text return how many characters had to be
//! replaced by U+FFFD.

use std::fmt::Write;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Appends one character, escaped where JSON asks for it.
#[inline]
fn character(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if u32::from(c) < 0x20 => {
            out.push_str("\\u00");
            hex_byte(out, c as u8);
        }
        c => out.push(c),
    }
}

#[inline]
fn hex_byte(out: &mut String, byte: u8) {
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// The inside of a string literal, without its quotes.
pub(super) fn escaped(out: &mut String, text: &str) {
    // Most text needs no escape and is copied in one piece.
    let mut rest = text;
    let special = |b: u8| b < 0x20 || b == b'"' || b == b'\\';
    while let Some(n) = rest.bytes().position(special) {
        out.push_str(&rest[..n]);
        character(out, char::from(rest.as_bytes()[n]));
        rest = &rest[n + 1..];
    }
    out.push_str(rest);
}

/// A string literal.
pub(super) fn string(out: &mut String, text: &str) {
    out.push('"');
    escaped(out, text);
    out.push('"');
}

/// A string literal from UTF-16LE bytes (an even number of them).
pub(super) fn string_utf16(out: &mut String, bytes: &[u8]) -> u32 {
    let mut replaced = 0;
    out.reserve(bytes.len() / 2 + 2);
    out.push('"');
    let units = bytes.chunks_exact(2).map(|c| u16::from_le_bytes([c[0], c[1]]));
    for c in char::decode_utf16(units) {
        character(
            out,
            c.unwrap_or_else(|_| {
                replaced += 1;
                char::REPLACEMENT_CHARACTER
            }),
        );
    }
    out.push('"');
    replaced
}

/// A string literal from bytes whose code page the trace does not name: UTF-8 where they are that.
pub(super) fn string_bytes(out: &mut String, bytes: &[u8]) -> u32 {
    let mut replaced = 0;
    out.push('"');
    for chunk in bytes.utf8_chunks() {
        escaped(out, chunk.valid());
        if !chunk.invalid().is_empty() {
            out.push(char::REPLACEMENT_CHARACTER);
            replaced += 1;
        }
    }
    out.push('"');
    replaced
}

/// Lower-case hex digits in quotes, two a byte, in the order of the bytes.
pub(super) fn binary(out: &mut String, bytes: &[u8]) {
    out.reserve(2 * bytes.len() + 2);
    out.push('"');
    for &byte in bytes {
        hex_byte(out, byte);
    }
    out.push('"');
}

/// `"0x1f"`.
pub(super) fn hex(out: &mut String, value: u64) {
    out.push_str("\"0x");
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for n in (0..digits).rev() {
        out.push(char::from(HEX[(value >> (4 * n)) as usize & 15]));
    }
    out.push('"');
}

/// `"0xc0000005"`: status codes are known by all eight digits.
pub(super) fn status(out: &mut String, value: u32) {
    let _ = write!(out, "\"{value:#010x}\"");
}

/// An unsigned number, all digits.
#[inline]
pub(super) fn unsigned(out: &mut String, mut value: u64) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.push_str(str::from_utf8(&digits[at..]).unwrap_or_default());
}

/// A signed number, all digits.
#[inline]
pub(super) fn signed(out: &mut String, value: i64) {
    if value < 0 {
        out.push('-');
    }
    unsigned(out, value.unsigned_abs());
}

/// The shortest digits that read back as the same number; JSON has no NaN and no infinity, so
/// these become the strings `"NaN"`, `"inf"`, `"-inf"`.
pub(super) fn float32(out: &mut String, value: f32) {
    let _ = if value.is_finite() { write!(out, "{value:?}") } else { write!(out, "\"{value}\"") };
}

/// As [`float32`], in double precision.
pub(super) fn float64(out: &mut String, value: f64) {
    let _ = if value.is_finite() { write!(out, "{value:?}") } else { write!(out, "\"{value}\"") };
}

/// `true` or `false`.
pub(super) fn boolean(out: &mut String, value: bool) {
    out.push_str(if value { "true" } else { "false" });
}

/// 16 bytes as on disk: the first three parts are little-endian numbers.
pub(super) fn guid(out: &mut String, g: &[u8; 16]) {
    out.push('"');
    for (n, at) in [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15].into_iter().enumerate() {
        if matches!(n, 4 | 6 | 8 | 10) {
            out.push('-');
        }
        hex_byte(out, g[at]);
    }
    out.push('"');
}

/// 100 ns units between 1601-01-01 and 10000-01-01, where years stop having four digits.
const FILETIME_END: i64 = 2_650_467_744_000_000_000;

/// An instant of 100 ns units since 1601 as `"2021-09-09T12:59:35.7912345Z"`; what lies before
/// 1601 or after 9999 is no date anybody meant and stays a number.
pub(super) fn filetime(out: &mut String, value: i64) {
    if !(0..FILETIME_END).contains(&value) {
        return signed(out, value);
    }
    let (seconds, fraction) = (value / 10_000_000, value % 10_000_000);
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil_from_days_since_1601(days as u32);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(
        out,
        "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:07}Z\""
    );
}

/// Gregorian calendar arithmetic. 1601-01-01 begins a cycle of 400 years; counting years from
/// March puts the leap day last, so that months need one linear rule.
fn civil_from_days_since_1601(days: u32) -> (u32, u32, u32) {
    // Days since 1600-03-01, which begins a 400-year cycle counted from March.
    let days = days + 306;
    let (cycle, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day_of_month = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (1600 + 400 * cycle + year + next, month, day_of_month)
}

/// A SYSTEMTIME (8 words) as `"2021-09-09T12:59:35.030"`, with a `Z` only where the schema says
/// that it is UTC. Words that are no date are written as they are: the text shows that, too.
pub(super) fn systemtime(out: &mut String, words: [u16; 8], utc: bool) {
    // The weekday follows from the date.
    let [year, month, _, day, hour, minute, second, ms] = words;
    let z = if utc { "Z" } else { "" };
    let _ = write!(
        out,
        "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}{z}\""
    );
}

/// Four bytes in network order, dotted.
pub(super) fn ipv4(out: &mut String, bytes: [u8; 4]) {
    let _ = write!(out, "\"{}\"", std::net::Ipv4Addr::from(bytes));
}

/// Sixteen bytes in network order, in the shortest form.
pub(super) fn ipv6(out: &mut String, bytes: [u8; 16]) {
    let _ = write!(out, "\"{}\"", std::net::Ipv6Addr::from(bytes));
}

/// A sockaddr as `"1.2.3.4:80"` or `"[::1]:80"`; a family that is neither IPv4 nor IPv6, or a
/// size that does not fit, as hex.
pub(super) fn socket_address(out: &mut String, bytes: &[u8]) {
    let port = |b: &[u8]| u16::from_be_bytes([b[2], b[3]]);
    let _ = match bytes {
        [2, 0, ..] if bytes.len() >= 8 => {
            let ip = std::net::Ipv4Addr::new(bytes[4], bytes[5], bytes[6], bytes[7]);
            write!(out, "\"{ip}:{}\"", port(bytes))
        }
        [23, 0, ..] if bytes.len() >= 24 => {
            let mut ip = [0; 16];
            ip.copy_from_slice(&bytes[8..24]);
            write!(out, "\"[{}]:{}\"", std::net::Ipv6Addr::from(ip), port(bytes))
        }
        _ => return binary(out, bytes),
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut String)) -> String {
        let mut out = String::new();
        write(&mut out);
        out
    }

    #[test]
    fn strings_are_escaped_and_repaired() {
        assert_eq!(text(|o| string(o, "a\"\\\n\r\t\u{1}é")), "\"a\\\"\\\\\\n\\r\\t\\u0001é\"");
        let mut out = String::new();
        let lone = [0x3D, 0xD8, b'a', 0, 0x3D, 0xD8, 0x00, 0xDE];
        assert_eq!(string_utf16(&mut out, &lone), 1);
        assert_eq!(out, "\"\u{FFFD}a\u{1F600}\"");
        out.clear();
        assert_eq!(string_bytes(&mut out, b"a\xFFb"), 1);
        assert_eq!(out, "\"a\u{FFFD}b\"");
    }

    #[test]
    fn numbers_keep_all_digits() {
        assert_eq!(text(|o| unsigned(o, u64::MAX)), "18446744073709551615");
        assert_eq!(text(|o| signed(o, i64::MIN)), "-9223372036854775808");
        assert_eq!(text(|o| unsigned(o, 0)), "0");
        assert_eq!(text(|o| float64(o, 0.1)), "0.1");
        assert_eq!(text(|o| float64(o, 1e300)), "1e300");
        assert_eq!(text(|o| float32(o, 0.1)), "0.1");
        assert_eq!(text(|o| float32(o, f32::NAN)), "\"NaN\"");
        assert_eq!(text(|o| float64(o, f64::NEG_INFINITY)), "\"-inf\"");
        assert_eq!(text(|o| hex(o, 0x1f)), "\"0x1f\"");
        assert_eq!(text(|o| hex(o, 0)), "\"0x0\"");
        assert_eq!(text(|o| hex(o, u64::MAX)), "\"0xffffffffffffffff\"");
        assert_eq!(text(|o| hex(o, 0x100)), "\"0x100\"");
        assert_eq!(text(|o| status(o, 5)), "\"0x00000005\"");
    }

    #[test]
    fn instants_are_iso_8601() {
        assert_eq!(text(|o| filetime(o, 0)), "\"1601-01-01T00:00:00.0000000Z\"");
        let leap = 132_274_079_999_999_999;
        assert_eq!(text(|o| filetime(o, leap)), "\"2020-02-28T23:59:59.9999999Z\"");
        assert_eq!(text(|o| filetime(o, leap + 1)), "\"2020-02-29T00:00:00.0000000Z\"");
        let day = 864_000_000_000;
        assert_eq!(text(|o| filetime(o, leap + 1 + day)), "\"2020-03-01T00:00:00.0000000Z\"");
        assert_eq!(
            text(|o| filetime(o, 116_444_736_000_000_000)),
            "\"1970-01-01T00:00:00.0000000Z\""
        );
        let last = FILETIME_END - 1;
        assert_eq!(text(|o| filetime(o, last)), "\"9999-12-31T23:59:59.9999999Z\"");
        assert_eq!(text(|o| filetime(o, last + 1)), "2650467744000000000");
        assert_eq!(text(|o| filetime(o, -1)), "-1");
        let words = [2021, 9, 4, 9, 12, 59, 35, 30];
        assert_eq!(text(|o| systemtime(o, words, true)), "\"2021-09-09T12:59:35.030Z\"");
        assert_eq!(text(|o| systemtime(o, words, false)), "\"2021-09-09T12:59:35.030\"");
    }

    #[test]
    fn addresses_and_guids() {
        assert_eq!(text(|o| ipv4(o, [10, 0, 0, 1])), "\"10.0.0.1\"");
        let mut v6 = [0u8; 16];
        v6[15] = 1;
        assert_eq!(text(|o| ipv6(o, v6)), "\"::1\"");
        let v4 = [2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(text(|o| socket_address(o, &v4)), "\"127.0.0.1:80\"");
        let mut v6 = [0u8; 28];
        (v6[0], v6[3], v6[23]) = (23, 80, 1);
        assert_eq!(text(|o| socket_address(o, &v6)), "\"[::1]:80\"");
        assert_eq!(text(|o| socket_address(o, &[1, 0, 7])), "\"010007\"");
        assert_eq!(
            text(|o| guid(o, &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15])),
            "\"03020100-0504-0706-0809-0a0b0c0d0e0f\""
        );
    }
}
