//! Records: the header of every kind in front of its payload.
//!
//! One function for each kind, in the order of the marker's type byte. Timestamps are raw clock
//! values; sizes are exact and not rounded, as the format wants.

use crate::body::{Body, Guid};

/// Largest record: its size is a u16.
pub(crate) const RECORD_BYTES_MAX: usize = 65_535;

/// Header of a kernel record with the ids of the thread that logged it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemHeader {
    pub(crate) hook: u16,
    /// Low byte: layout version. High byte: flags about words before the payload.
    pub(crate) version: u16,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) kernel_time: u32,
    pub(crate) user_time: u32,
}

/// SYSTEM32 or SYSTEM64: 0x20 bytes.
pub(crate) fn system(header: &SystemHeader, ticks: i64, payload: &Body) -> Vec<u8> {
    let mut out = Body::new(payload.wide);
    out.u16(header.version).u8(if payload.wide { 2 } else { 1 }).u8(0xC0);
    out.u16((0x20 + payload.bytes.len()) as u16).u16(header.hook);
    out.u32(header.tid).u32(header.pid).i64(ticks);
    out.u32(header.kernel_time).u32(header.user_time).raw(&payload.bytes);
    out.bytes
}

/// COMPACT32 or COMPACT64: the same without times, 0x18 bytes.
pub(crate) fn compact(header: &SystemHeader, ticks: i64, payload: &Body) -> Vec<u8> {
    let mut out = Body::new(payload.wide);
    out.u16(header.version).u8(if payload.wide { 4 } else { 3 }).u8(0xC0);
    out.u16((0x18 + payload.bytes.len()) as u16).u16(header.hook);
    out.u32(header.tid).u32(header.pid).i64(ticks).raw(&payload.bytes);
    out.bytes
}

/// PERFINFO32 or PERFINFO64: 0x10 bytes, counter words, payload.
pub(crate) fn perfinfo(
    hook: u16,
    version: u8,
    pebs: Option<u64>,
    counters: &[u64],
    ticks: i64,
    payload: &Body,
) -> Vec<u8> {
    let mut out = Body::new(payload.wide);
    let words = counters.len().min(7);
    let flags = (words as u16) << 8 | if pebs.is_some() { 0x8000 } else { 0 };
    let size = 0x10 + 8 * words + if pebs.is_some() { 8 } else { 0 } + payload.bytes.len();
    out.u16(u16::from(version) | flags).u8(if payload.wide { 0x11 } else { 0x10 }).u8(0xC0);
    out.u16(size as u16).u16(hook).i64(ticks);
    if let Some(index) = pebs {
        out.u64(index);
    }
    for counter in &counters[..words] {
        out.u64(*counter);
    }
    out.raw(&payload.bytes);
    out.bytes
}

/// Header of a classic event with its class GUID.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullHeader {
    pub(crate) class: Guid,
    pub(crate) opcode: u8,
    pub(crate) level: u8,
    pub(crate) version: u16,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
}

/// FULL_HEADER32 or 64: 0x30 bytes.
pub(crate) fn full(header: &FullHeader, ticks: i64, payload: &Body) -> Vec<u8> {
    let kind = if payload.wide { 0x14 } else { 0x0A };
    let mut out = classic(header, kind, 0x30 + payload.bytes.len(), ticks);
    out.raw(&payload.bytes);
    out.bytes
}

/// INSTANCE32 or 64: 0x48 bytes.
pub(crate) fn instance(
    header: &FullHeader,
    ids: (u32, u32),
    parent: Guid,
    ticks: i64,
    payload: &Body,
) -> Vec<u8> {
    let kind = if payload.wide { 0x15 } else { 0x0B };
    let mut out = classic(header, kind, 0x48 + payload.bytes.len(), ticks);
    out.u32(ids.0).u32(ids.1).guid(parent).raw(&payload.bytes);
    out.bytes
}

fn classic(header: &FullHeader, kind: u8, size: usize, ticks: i64) -> Body {
    let mut out = Body::new(true);
    out.u16(size as u16).u8(kind).u8(0xC0);
    out.u8(header.opcode).u8(header.level).u16(header.version);
    out.u32(header.tid).u32(header.pid).i64(ticks).guid(header.class).u32(0).u32(0);
    out
}

/// Header of a manifest or TraceLogging event.
#[derive(Clone, Debug, Default)]
pub(crate) struct EventHeader {
    pub(crate) provider: Guid,
    pub(crate) id: u16,
    pub(crate) version: u8,
    pub(crate) channel: u8,
    pub(crate) level: u8,
    pub(crate) opcode: u8,
    pub(crate) task: u16,
    pub(crate) keyword: u64,
    pub(crate) flags: u16,
    pub(crate) property: u16,
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) activity: Guid,
    /// Extended items: type and data.
    pub(crate) items: Vec<(u16, Vec<u8>)>,
}

/// EVENT_HEADER32 or 64: 0x50 bytes, extended items, payload.
pub(crate) fn event(header: &EventHeader, ticks: i64, payload: &Body) -> Vec<u8> {
    let mut items = Body::new(true);
    for (at, (kind, data)) in header.items.iter().enumerate() {
        let more = u16::from(at + 1 < header.items.len());
        items.u16((8 + data.len()).next_multiple_of(8) as u16);
        items.u16(*kind).u16(more).u16(data.len() as u16).raw(data).align(8);
    }
    let flags = header.flags | u16::from(!header.items.is_empty());
    let mut out = Body::new(true);
    out.u16((0x50 + items.bytes.len() + payload.bytes.len()) as u16);
    out.u8(if payload.wide { 0x13 } else { 0x12 }).u8(0xC0).u16(flags).u16(header.property);
    out.u32(header.tid).u32(header.pid).i64(ticks).guid(header.provider);
    out.u16(header.id).u8(header.version).u8(header.channel).u8(header.level).u8(header.opcode);
    out.u16(header.task).u64(header.keyword).u32(0).u32(0).guid(header.activity);
    out.raw(&items.bytes).raw(&payload.bytes);
    out.bytes
}

/// Header of a WPP message; what is None is left out of the record.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MessageHeader {
    pub(crate) number: u16,
    pub(crate) sequence: Option<u32>,
    pub(crate) component: Option<u32>,
    pub(crate) guid: Option<Guid>,
    pub(crate) timed: bool,
    pub(crate) ids: Option<(u32, u32)>,
}

/// A WPP message: byte 3 of the marker is 0x90, fields follow as the option flags say.
pub(crate) fn message(header: &MessageHeader, ticks: i64, payload: &Body) -> Vec<u8> {
    let mut flags = if payload.wide { 0x80u16 } else { 0x40 };
    let mut tail = Body::new(payload.wide);
    if let Some(sequence) = header.sequence {
        flags |= 0x01;
        tail.u32(sequence);
    }
    if let Some(guid) = header.guid {
        flags |= 0x02;
        if header.component.is_none() {
            tail.guid(guid);
        }
    }
    if let Some(component) = header.component {
        flags |= 0x04;
        tail.u32(component);
    }
    if header.timed {
        flags |= 0x08;
        tail.i64(ticks);
    }
    if let Some((tid, pid)) = header.ids {
        flags |= 0x20;
        tail.u32(tid).u32(pid);
    }
    tail.raw(&payload.bytes);
    let mut out = Body::new(payload.wide);
    out.u16((8 + tail.bytes.len()) as u16).u8(0).u8(0x90).u16(header.number).u16(flags);
    out.raw(&tail.bytes);
    out.bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::hex_bytes;

    #[test]
    fn a_sample_record_of_windows_8() {
        // A record of a public Windows 8 recording, read from its bytes.
        let mut payload = Body::new(true);
        payload.raw(&hex_bytes("30d0ffffffffc40e0000010058000000").unwrap());
        let record = perfinfo(0x0F2E, 2, None, &[], 0x73CE_6E0F, &payload);
        assert_eq!(record[..8], hex_bytes("020011c020002e0f").unwrap()[..]);
        assert_eq!(record.len(), 0x20);
    }

    #[test]
    fn counter_words_stand_before_the_payload() {
        let mut payload = Body::new(true);
        payload.u32(7);
        let record = perfinfo(0x0524, 4, Some(9), &[1, 2], 5, &payload);
        assert_eq!(u16::from_le_bytes([record[0], record[1]]), 0x8204);
        assert_eq!(record.len(), 0x10 + 24 + 4);
        assert_eq!(record[record.len() - 4..], 7u32.to_le_bytes());
    }

    #[test]
    fn extended_items_are_chained_and_padded() {
        let header = EventHeader {
            items: vec![(1, vec![1; 16]), (11, vec![2; 5])],
            ..EventHeader::default()
        };
        let record = event(&header, 0, &Body::new(true));
        assert_eq!(record[0x50..0x58], hex_bytes("1800 0100 0100 1000").unwrap()[..]);
        assert_eq!(record[0x68..0x70], hex_bytes("1000 0b00 0000 0500").unwrap()[..]);
        assert_eq!(record.len(), 0x78);
        assert_eq!(record[4], 1);
    }

    #[test]
    fn a_message_has_only_what_its_flags_say() {
        let header = MessageHeader { number: 10, timed: true, ..MessageHeader::default() };
        let record = message(&header, 0x11, &Body::new(true));
        assert_eq!(record, hex_bytes("1000 00 90 0a00 8800 1100000000000000").unwrap());
    }
}
