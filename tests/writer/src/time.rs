//! Instants and durations as scenarios write them: `1.5s`, `250us`, `1s+250us`, `+10us`, `0`.
//!
//! Arithmetic is exact: what is no whole number of nanoseconds is refused, never rounded.

/// Nanoseconds since the start of the recording, or a duration.
pub(crate) type Ns = i64;

/// Longest time a scenario may name: about 73 years, far inside a FILETIME.
const TIME_MAX_NS: i128 = 1 << 61;

/// Reads a time. A leading `+` makes it relative to `base_ns`.
pub(crate) fn parse(text: &str, base_ns: Ns) -> Result<Ns, String> {
    let (relative, body) = match text.strip_prefix('+') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut total: i128 = if relative { base_ns as i128 } else { 0 };
    let mut rest = body;
    let mut sign = 1i128;
    if let Some(after) = rest.strip_prefix('-') {
        sign = -1;
        rest = after;
    }
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        total += sign * term(&rest[..end]).ok_or_else(|| format!("'{text}' is no time"))?;
        if total.abs() > TIME_MAX_NS {
            return Err(format!("'{text}' is too long a time"));
        }
        if end == rest.len() {
            return Ok(total as Ns);
        }
        sign = if rest.as_bytes()[end] == b'+' { 1 } else { -1 };
        rest = &rest[end + 1..];
    }
}

/// Whether a word at the start of a line is a time.
pub(crate) fn looks_like_time(word: &str) -> bool {
    let digits = word.trim_start_matches(['+', '-']);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

fn term(text: &str) -> Option<i128> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ns: i128 = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "min" => 60_000_000_000,
        "" if number.bytes().all(|b| b == b'0') && !number.is_empty() => return Some(0),
        _ => return None,
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || whole.len() > 18 || fraction.len() > 15 {
        return None;
    }
    let mut value = whole.parse::<i128>().ok()? * unit_ns;
    if !fraction.is_empty() {
        let scale = 10i128.pow(fraction.len() as u32);
        let part = fraction.parse::<i128>().ok()? * unit_ns;
        if part % scale != 0 {
            return None;
        }
        value += part / scale;
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        assert_eq!(parse("1.5s", 0), Ok(1_500_000_000));
        assert_eq!(parse("1s+250us", 0), Ok(1_000_250_000));
        assert_eq!(parse("2s-1ms", 0), Ok(1_999_000_000));
        assert_eq!(parse("+10us", 7), Ok(10_007));
        assert_eq!(parse("0", 9), Ok(0));
        assert_eq!(parse("3.273101862s", 0), Ok(3_273_101_862));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in ["", "5", "1.0000000001s", "1x", "s", "1s+", "9999999999999999999s", "é"] {
            assert!(parse(text, 0).is_err(), "{text}");
        }
    }
}
