//! Payload items: `u32:5`, `z16:"text"`, `guid:...`: one typed value after the other.
//!
//! Used by `event` and `raw` lines, where the author gives the payload field by field.

use super::Lower;
use crate::body::{Body, Guid, hex_bytes, narrow, sid_bytes, utf16};
use crate::machine::filetime;
use crate::text::{field, field32, number};
use crate::time::Ns;

/// Where an item is put: what times and frames in it refer to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) file: usize,
    pub(super) pid: u32,
    pub(super) ns: Ns,
}

impl Lower {
    /// Puts all items of a line down.
    pub(super) fn put_items(
        &mut self,
        body: &mut Body,
        items: &[String],
        place: Place,
    ) -> Result<(), String> {
        for item in items {
            let (kind, value) =
                item.split_once(':').ok_or_else(|| format!("'{item}' is no TYPE:VALUE"))?;
            self.put_item(body, kind, value, place).map_err(|e| format!("{item}: {e}"))?;
        }
        Ok(())
    }

    fn put_item(
        &mut self,
        body: &mut Body,
        kind: &str,
        value: &str,
        place: Place,
    ) -> Result<(), String> {
        match kind {
            "ticks" => {
                let ns = crate::time::parse(value, place.ns)?;
                body.i64(self.ticks(place.file, ns)?);
            }
            "filetime" => {
                body.i64(self.filetime_of(value, place)?);
            }
            "addr" => {
                let address = self.cast.address(value, place.pid, place.ns)?;
                body.ptr(self.address(place.file, address));
            }
            _ => put_plain(body, kind, value)?,
        }
        Ok(())
    }

    /// A wall-clock time written as a date or as a time of the recording.
    pub(super) fn filetime_of(&self, value: &str, place: Place) -> Result<i64, String> {
        match filetime(value) {
            Some(units) => Ok(units),
            None => Ok(self.machine(place.file).filetime(crate::time::parse(value, place.ns)?)),
        }
    }
}

/// An item that needs no context.
pub(super) fn put_plain(body: &mut Body, kind: &str, value: &str) -> Result<(), String> {
    match kind {
        "u8" => body.u8(field(value)?),
        "i8" => body.u8(field::<i8>(value)? as u8),
        "u16" => body.u16(field(value)?),
        "i16" => body.u16(field::<i16>(value)? as u16),
        "u32" | "i32" | "hex32" => body.u32(field32(value)?),
        "u64" | "hex64" => body.u64(wrapping64(value)?),
        "i64" => body.i64(field(value)?),
        "ptr" => body.ptr(wrapping64(value)?),
        "f32" => body.raw(&float::<f32>(value)?.to_le_bytes()),
        "f64" => body.raw(&float::<f64>(value)?.to_le_bytes()),
        "bool" => body.u32(u32::from(boolean(value)?)),
        "bool8" => body.u8(u8::from(boolean(value)?)),
        "z16" => body.z16(value),
        "s16" => body.text16(value),
        "z8" => body.z8(value),
        "s8" => body.raw(&narrow(value)),
        "c16" => {
            counted(body, &utf16(value).iter().flat_map(|u| u.to_le_bytes()).collect::<Vec<_>>())
        }
        "c8" => counted(body, &narrow(value)),
        "bin" => counted(body, &hex_bytes(value).ok_or("no hexadecimal bytes")?),
        "guid" => body.guid(Guid::parse(value).ok_or("no GUID")?),
        "sid" => body.raw(&sid_bytes(value).ok_or("no SID")?),
        "hex" => body.raw(&hex_bytes(value).ok_or("no hexadecimal bytes")?),
        "zeros" => body.zeros(field::<u16>(value)? as usize),
        "systemtime" => system_time(body, value)?,
        _ => return Err(format!("'{kind}' is no type")),
    };
    Ok(())
}

fn counted<'a>(body: &'a mut Body, bytes: &[u8]) -> &'a mut Body {
    body.u16(bytes.len() as u16).raw(bytes)
}

fn wrapping64(value: &str) -> Result<u64, String> {
    match number(value)? {
        number @ i128::MIN..0 => i64::try_from(number).map(|n| n as u64).map_err(|e| e.to_string()),
        number => u64::try_from(number).map_err(|e| e.to_string()),
    }
}

fn float<T: std::str::FromStr>(value: &str) -> Result<T, String> {
    value.parse().map_err(|_| format!("'{value}' is no number"))
}

fn boolean(value: &str) -> Result<bool, String> {
    match value {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(format!("'{value}' is neither true nor false")),
    }
}

/// SYSTEMTIME from a date in the form of FILETIMEs.
fn system_time<'a>(body: &'a mut Body, value: &str) -> Result<&'a mut Body, String> {
    let units = filetime(value).ok_or("no date")?;
    let number =
        |range: std::ops::Range<usize>| -> Result<u16, String> {
            field(value.get(range).ok_or("no date")?.trim_start_matches('0').get(..).map_or(
                "0",
                |t| {
                    if t.is_empty() { "0" } else { t }
                },
            ))
        };
    // 1601-01-01 was a Monday; SYSTEMTIME counts from Sunday.
    let day_of_week = (units / 864_000_000_000 + 1) % 7;
    let milliseconds = units / 10_000 % 1000;
    body.u16(number(0..4)?).u16(number(5..7)?).u16(day_of_week as u16).u16(number(8..10)?);
    body.u16(number(11..13)?).u16(number(14..16)?).u16(number(17..19)?);
    Ok(body.u16(milliseconds as u16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(kind: &str, value: &str) -> Result<Vec<u8>, String> {
        let mut body = Body::new(true);
        put_plain(&mut body, kind, value)?;
        Ok(body.bytes)
    }

    #[test]
    fn typed_values() {
        assert_eq!(put("u32", "-1"), Ok(vec![255; 4]));
        assert_eq!(put("z16", "a"), Ok(vec![0x61, 0, 0, 0]));
        assert_eq!(put("c16", "a"), Ok(vec![2, 0, 0x61, 0]));
        assert_eq!(put("f32", "1.5"), Ok(vec![0, 0, 0xC0, 0x3F]));
        assert_eq!(put("i8", "-2"), Ok(vec![0xFE]));
        assert_eq!(put("u64", "-1"), Ok(vec![255; 8]));
        assert!(put("u8", "256").is_err());
        assert!(put("nothing", "1").is_err());
        // 2024-02-29 was a Thursday.
        let date = put("systemtime", "2024-02-29 12:34:56.789").unwrap();
        assert_eq!(date, hex_bytes("e807 0200 0400 1d00 0c00 2200 3800 1503").unwrap());
    }
}
