//! One value of an answer, and its text in the machine formats.

use std::fmt::Write as _;

use duckdb::types::TimeUnit;
pub use duckdb::types::Value;
use serde_json::Value as Json;

/// A value as plain text, as CSV shows it. NULL gives the empty text.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Text(text) | Value::Enum(text) => text.clone(),
        other => match json(other) {
            Json::String(text) => text,
            Json::Null => special(other),
            json => json.to_string(),
        },
    }
}

/// What a number is that JSON has no word for.
fn special(value: &Value) -> String {
    let number = match value {
        Value::Double(x) => *x,
        Value::Float(x) => f64::from(*x),
        _ => return String::new(),
    };
    if number.is_nan() {
        "nan".into()
    } else if number > 0.0 {
        "inf".into()
    } else {
        "-inf".into()
    }
}

/// A value as JSON: integers exact whatever their size, lists, maps and structs as such, an infinite
/// or undefined number as null, bytes as hex text, times as text.
pub fn json(value: &Value) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Boolean(x) => Json::Bool(*x),
        Value::TinyInt(x) => (*x).into(),
        Value::SmallInt(x) => (*x).into(),
        Value::Int(x) => (*x).into(),
        Value::BigInt(x) => (*x).into(),
        Value::UTinyInt(x) => (*x).into(),
        Value::USmallInt(x) => (*x).into(),
        Value::UInt(x) => (*x).into(),
        Value::UBigInt(x) => (*x).into(),
        Value::HugeInt(x) => big(x.to_string()),
        Value::UHugeInt(x) => big(x.to_string()),
        Value::Float(x) => short(*x),
        Value::Double(x) => (*x).into(),
        Value::Decimal(x) => big(x.to_string()),
        Value::Text(x) | Value::Enum(x) => Json::String(x.clone()),
        Value::Blob(x) | Value::Geometry(x) => Json::String(hex(x)),
        Value::Timestamp(unit, x) => Json::String(timestamp(*unit, *x)),
        Value::Date32(days) => Json::String(date(i64::from(*days))),
        Value::Time64(unit, x) => Json::String(time_of_day(nanoseconds(*unit, *x))),
        Value::Interval { months, days, nanos } => {
            Json::String(format!("{months} months {days} days {} s", *nanos as f64 / 1e9))
        }
        Value::List(items) | Value::Array(items) => items.iter().map(json).collect(),
        Value::Struct(fields) => {
            Json::Object(fields.iter().map(|(k, v)| (k.clone(), json(v))).collect())
        }
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(k, v)| (plain(k), json(v))).collect())
        }
        Value::Union(inner) => json(inner),
        other => Json::String(format!("{other:?}")),
    }
}

/// An integer or decimal of any size. JSON numbers here keep 64 bits, so larger ones are text.
fn big(digits: String) -> Json {
    match digits.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) if digits.contains('.') => {
            digits.parse::<f64>().map_or(Json::Null, |number| number.into())
        }
        Err(_) => Json::String(digits),
    }
}

/// A 32-bit float with its own few digits, not those of its 64-bit neighbour.
fn short(x: f32) -> Json {
    x.to_string().parse::<f64>().map_or(Json::Null, |number| number.into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn nanoseconds(unit: TimeUnit, x: i64) -> i128 {
    i128::from(x)
        * match unit {
            TimeUnit::Second => 1_000_000_000,
            TimeUnit::Millisecond => 1_000_000,
            TimeUnit::Microsecond => 1000,
            TimeUnit::Nanosecond => 1,
        }
}

/// `2020-02-29 12:34:56.123456`, with as many digits as the value has, in steps of three.
pub fn timestamp(unit: TimeUnit, x: i64) -> String {
    const DAY_NS: i128 = 86_400_000_000_000;
    let all = nanoseconds(unit, x);
    let (days, rest) = (all.div_euclid(DAY_NS), all.rem_euclid(DAY_NS));
    format!("{} {}", date(i64::try_from(days).unwrap_or(0)), time_of_day(rest))
}

fn time_of_day(ns: i128) -> String {
    let (s, part) = (ns / 1_000_000_000, ns % 1_000_000_000);
    let mut text = format!("{:02}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
    if part != 0 {
        let digits = format!("{part:09}");
        let mut digits = digits.as_str();
        while let Some(shorter) = digits.strip_suffix("000") {
            digits = shorter;
        }
        let _ = write!(text, ".{digits}");
    }
    text
}

/// Days since 1970 as a date of the Gregorian calendar.
fn date(days: i64) -> String {
    // Years begin in March here, so that a leap day is the last one; 400 years are one era.
    const ERA: i64 = 146_097;
    let shifted = days + 719_468;
    let (era, day) = (shifted.div_euclid(ERA), shifted.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{of_month:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01");
        assert_eq!(date(18_321), "2020-02-29");
        assert_eq!(date(-1), "1969-12-31");
        assert_eq!(date(47_540), "2100-02-28");
        assert_eq!(date(47_541), "2100-03-01");
    }

    #[test]
    fn times_have_the_digits_they_need() {
        assert_eq!(timestamp(TimeUnit::Microsecond, 0), "1970-01-01 00:00:00");
        assert_eq!(timestamp(TimeUnit::Microsecond, -1), "1969-12-31 23:59:59.999999");
        assert_eq!(timestamp(TimeUnit::Nanosecond, 1_500_000_000), "1970-01-01 00:00:01.500");
    }

    #[test]
    fn integers_stay_exact() {
        assert_eq!(plain(&Value::BigInt(i64::MAX)), "9223372036854775807");
        assert_eq!(plain(&Value::UBigInt(u64::MAX)), "18446744073709551615");
        assert_eq!(plain(&Value::HugeInt(-1)), "-1");
        assert_eq!(plain(&Value::Double(0.1)), "0.1");
        assert_eq!(plain(&Value::Float(0.1)), "0.1");
        assert_eq!(plain(&Value::Double(f64::INFINITY)), "inf");
    }
}
