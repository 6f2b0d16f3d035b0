//! Modules (group 0x14, and loads logged as 0x030A) and the identities that a merge adds; event-payloads.md 3.

use super::Phase;
use super::payload::{Ansi, Payload, Utf16};
use crate::etl::{Guid, RawEvent};

/// Load, unload or rundown of a module.
#[derive(Clone, Copy, Debug)]
pub struct Image<'a> {
    /// Start = load, End = unload.
    pub phase: Phase,
    /// Load address.
    pub base: u64,
    /// Size in bytes.
    pub size: u64,
    /// Process; version 0 has none in its payload, so that the header's is taken.
    pub pid: u32,
    /// Checksum, from version 2.
    pub checksum: Option<u32>,
    /// TimeDateStamp, from version 2; 0 is unknown.
    pub timestamp: Option<u32>,
    /// Path as recorded.
    pub path: Utf16<'a>,
}

impl<'a> Image<'a> {
    /// Decodes versions 0 to 3.
    pub fn decode(event: &RawEvent<'a>, phase: Phase, version: u16) -> Option<Image<'a>> {
        let mut p = Payload::of(event);
        let base = p.pointer()?;
        if version == 0 {
            let size = u64::from(p.u32()?);
            let path = p.utf16();
            let pid = event.pid;
            return Some(Image { phase, base, size, pid, checksum: None, timestamp: None, path });
        }
        let size = p.pointer()?;
        let pid = p.u32()?;
        if version == 1 {
            let path = p.utf16();
            return Some(Image { phase, base, size, pid, checksum: None, timestamp: None, path });
        }
        let checksum = Some(p.u32()?);
        let timestamp = Some(p.u32()?);
        p.u32()?;
        p.pointer()?;
        p.skip(16)?;
        let path = p.utf16();
        Some(Image { phase, base, size, pid, checksum, timestamp, path })
    }
}

/// What a merge adds about a module; joined by time, base and process.
#[derive(Clone, Copy, Debug)]
pub enum ImageIdentity<'a> {
    /// Size, time stamp and original name.
    Id {
        /// Load address.
        base: u64,
        /// Size.
        size: u64,
        /// Process.
        pid: u32,
        /// TimeDateStamp.
        timestamp: u32,
        /// OriginalFileName.
        original_name: Utf16<'a>,
    },
    /// The PDB.
    Pdb {
        /// Load address.
        base: u64,
        /// Process.
        pid: u32,
        /// GUID.
        guid: Guid,
        /// Age.
        age: u32,
        /// PDB name, possibly with a path.
        name: Ansi<'a>,
    },
    /// The version resource, found again by size and time stamp.
    Version {
        /// Image size.
        size: u32,
        /// TimeDateStamp.
        timestamp: u32,
        /// OrigFileName, FileDescription, FileVersion, BinFileVersion, VerLanguage, ProductName, CompanyName.
        texts: [Utf16<'a>; 7],
    },
}

impl<'a> ImageIdentity<'a> {
    /// Decodes the KernelTraceControl events that carry an identity; `None` if too short.
    pub fn decode(event: &RawEvent<'a>, opcode: u8) -> Option<ImageIdentity<'a>> {
        let mut p = Payload::of(event);
        match opcode {
            0 => Some(ImageIdentity::Id {
                base: p.pointer()?,
                size: p.pointer()?,
                pid: p.u32()?,
                timestamp: p.u32()?,
                original_name: p.utf16(),
            }),
            36 => Some(ImageIdentity::Pdb {
                base: p.pointer()?,
                pid: p.u32()?,
                guid: p.guid()?,
                age: p.u32()?,
                name: p.ansi(),
            }),
            _ => {
                let (size, timestamp) = (p.u32()?, p.u32()?);
                let texts = std::array::from_fn(|_| p.utf16());
                Some(ImageIdentity::Version { size, timestamp, texts })
            }
        }
    }
}
