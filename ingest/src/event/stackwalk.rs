//! Stack records (group 0x18); event-payloads.md 5, etl-format.md 7.

use super::payload::Payload;
use crate::etl::RawEvent;

/// Addresses of a stack, innermost first, as recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames<'a> {
    bytes: &'a [u8],
    wide: bool,
}

impl<'a> Frames<'a> {
    /// Frames of `pointer_size` bytes each; a cut last frame is left out.
    pub fn new(bytes: &'a [u8], pointer_size: usize) -> Frames<'a> {
        Frames { bytes, wide: pointer_size == 8 }
    }

    /// The addresses.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let (wide, narrow) = if self.wide {
            (self.bytes.as_chunks::<8>().0, &[][..])
        } else {
            (&[][..], self.bytes.as_chunks::<4>().0)
        };
        let wide = wide.iter().map(|b| u64::from_le_bytes(*b));
        wide.chain(narrow.iter().map(|b| u64::from(u32::from_le_bytes(*b))))
    }

    /// The first (innermost) address.
    pub fn first(&self) -> Option<u64> {
        self.iter().next()
    }

    /// Whether an address of these frames is a kernel address.
    pub fn is_kernel(&self, address: u64) -> bool {
        is_kernel_address(address, if self.wide { 8 } else { 4 })
    }

    /// Bytes of one frame.
    pub fn pointer_size(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }
}

/// Whether `address` lies in kernel space of a machine with this pointer size.
pub fn is_kernel_address(address: u64, pointer_size: usize) -> bool {
    if pointer_size == 8 { address >= 0xFFFF_8000_0000_0000 } else { address >= 0x8000_0000 }
}

/// The event that a stack belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackTarget {
    /// Exact timestamp of the event, session clock.
    pub ticks: i64,
    /// Process.
    pub pid: u32,
    /// Thread.
    pub tid: u32,
}

fn target(p: &mut Payload<'_>) -> Option<StackTarget> {
    Some(StackTarget { ticks: p.i64()?, pid: p.u32()?, tid: p.u32()? })
}

/// Decodes StackWalk: target and frames.
pub fn decode_walk<'a>(event: &RawEvent<'a>) -> Option<(StackTarget, Frames<'a>)> {
    let mut p = Payload::of(event);
    let target = target(&mut p)?;
    Some((target, Frames::new(p.rest(), p.pointer_size())))
}

/// Decodes a reference to a cached stack: target and key.
pub fn decode_key(event: &RawEvent<'_>) -> Option<(StackTarget, u64)> {
    let mut p = Payload::of(event);
    let target = target(&mut p)?;
    Some((target, p.pointer()?))
}

/// Decodes the definition of a cached stack: key and frames.
pub fn decode_definition<'a>(event: &RawEvent<'a>) -> Option<(u64, Frames<'a>)> {
    let mut p = Payload::of(event);
    let key = p.pointer()?;
    Some((key, Frames::new(p.rest(), p.pointer_size())))
}
