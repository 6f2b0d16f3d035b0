//! What the trace says about the machine: SystemConfig (group 0x0B) and the merge's SysConfigEx; event-payloads.md 6.

use super::payload::{Payload, Utf16};
use crate::etl::RawEvent;

/// One statement about the machine.
#[derive(Clone, Copy, Debug)]
pub enum SysConfig<'a> {
    /// The CPU record: frequency, count, memory, computer name.
    Cpu {
        /// MHz.
        mhz: u32,
        /// Logical CPUs.
        cpus: u32,
        /// Memory in MiB.
        memory_mb: u32,
        /// Computer name.
        computer: Utf16<'a>,
    },
    /// One processor.
    Processor {
        /// CPU index.
        index: u32,
        /// MHz.
        mhz: u32,
        /// Model name.
        name: Utf16<'a>,
    },
    /// A service and the tag that its threads carry.
    Service {
        /// Process.
        pid: u32,
        /// Sub-process tag.
        tag: u32,
        /// Service name.
        name: Utf16<'a>,
    },
    /// Group and number of every CPU: packed words as recorded.
    ProcessorNumbers(&'a [u8]),
    /// Affinity masks of the processor groups.
    ProcessorGroups(&'a [u8], usize),
    /// A volume's device path and drive letter.
    Volume {
        /// NT path.
        nt: Utf16<'a>,
        /// DOS path.
        dos: Utf16<'a>,
    },
    /// Windows and system directory.
    Paths {
        /// System directory.
        system: Utf16<'a>,
        /// Windows directory.
        windows: Utf16<'a>,
    },
    /// Build lab and product name.
    Build {
        /// Build lab.
        lab: Utf16<'a>,
        /// Product.
        product: Utf16<'a>,
    },
}

/// A fixed array of UTF-16 characters as a text.
fn fixed<'a>(p: &mut Payload<'a>, characters: usize) -> Option<Utf16<'a>> {
    let bytes = p.bytes(2 * characters)?;
    let end = bytes.chunks_exact(2).position(|unit| unit == [0, 0]).unwrap_or(characters);
    Some(Utf16(&bytes[..2 * end]))
}

impl<'a> SysConfig<'a> {
    /// Decodes the kernel records that a table uses.
    pub fn decode(event: &RawEvent<'a>, opcode: u8) -> Option<SysConfig<'a>> {
        let mut p = Payload::of(event);
        match opcode {
            0x0A => {
                let (mhz, cpus, memory_mb) = (p.u32()?, p.u32()?, p.u32()?);
                p.skip(8)?;
                Some(SysConfig::Cpu { mhz, cpus, memory_mb, computer: fixed(&mut p, 256)? })
            }
            0x0F => {
                let pid = p.u32()?;
                p.u32()?;
                Some(SysConfig::Service { pid, tag: p.u32()?, name: p.utf16() })
            }
            0x1A => {
                p.u32()?;
                Some(SysConfig::ProcessorGroups(p.rest(), p.pointer_size()))
            }
            0x1B => {
                p.u32()?;
                Some(SysConfig::ProcessorNumbers(p.rest()))
            }
            _ => {
                let index = p.u32()?;
                p.u32()?;
                Some(SysConfig::Processor { index, mhz: p.u32()?, name: fixed(&mut p, 64)? })
            }
        }
    }

    /// Decodes the records of a merge; `None` if too short.
    pub fn decode_merge(event: &RawEvent<'a>, opcode: u8) -> Option<SysConfig<'a>> {
        let mut p = Payload::of(event);
        match opcode {
            32 => {
                p.skip(8)?;
                Some(SysConfig::Build { lab: p.utf16(), product: p.utf16() })
            }
            33 => Some(SysConfig::Paths { system: p.utf16(), windows: p.utf16() }),
            _ => Some(SysConfig::Volume { nt: p.utf16(), dos: p.utf16() }),
        }
    }
}
