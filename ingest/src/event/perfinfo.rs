//! Samples, intervals, interrupts and marks (group 0x0F); event-payloads.md 4.

use super::payload::{Ansi, Payload};
use crate::etl::RawEvent;

/// One profile sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Instruction pointer.
    pub address: u64,
    /// Thread.
    pub tid: u32,
    /// Flags and rank, from version 2.
    pub flags: Option<(u8, u8)>,
}

impl Sample {
    /// Decodes versions 1 and 2.
    pub fn decode(event: &RawEvent<'_>, version: u8) -> Option<Sample> {
        let mut p = Payload::of(event);
        let address = p.pointer()?;
        let tid = p.u32()?;
        p.u16()?;
        let flags = if version >= 2 { p.u8().zip(p.u8()) } else { None };
        Some(Sample { address, tid, flags })
    }
}

/// The sampling interval of a source is stated or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleInterval {
    /// Profile source; 0 is the timer.
    pub source: u32,
    /// Interval from now on, in 100 ns.
    pub interval_100ns: u32,
}

impl SampleInterval {
    /// Decodes SetInterval, CollectionStart and CollectionEnd.
    pub fn decode(event: &RawEvent<'_>) -> Option<SampleInterval> {
        let mut p = Payload::of(event);
        Some(SampleInterval { source: p.u32()?, interval_100ns: p.u32()? })
    }
}

/// A deferred procedure call or interrupt; it ends at the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    /// As stored in `dpc_isr.kind`.
    pub kind: &'static str,
    /// Start, session clock.
    pub initial_ticks: i64,
    /// Routine.
    pub routine: u64,
}

impl Interrupt {
    /// Decodes the DPC and ISR events, whose head is the same.
    pub fn decode(event: &RawEvent<'_>, kind: &'static str) -> Option<Interrupt> {
        let mut p = Payload::of(event);
        Some(Interrupt { kind, initial_ticks: p.i64()?, routine: p.pointer()? })
    }
}

/// The text of a kernel mark, which is 8-bit or UTF-16.
#[derive(Clone, Copy, Debug)]
pub struct Mark<'a>(pub &'a [u8]);

impl Mark<'_> {
    /// The text: UTF-16 where every second byte of the first characters is zero, else 8-bit.
    pub fn text(&self, repairs: &mut super::payload::TextRepairs) -> String {
        let wide = self.0.len() >= 4 && self.0[1] == 0 && self.0[3] == 0 && self.0[0] != 0;
        let event = self.0;
        if wide {
            let end =
                event.chunks_exact(2).position(|u| u == [0, 0]).map_or(event.len() & !1, |n| n * 2);
            super::payload::Utf16(&event[..end]).text(repairs)
        } else {
            let end = event.iter().position(|b| *b == 0).unwrap_or(event.len());
            Ansi(&event[..end]).text(repairs)
        }
    }
}
