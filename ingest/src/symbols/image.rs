//! What a Windows image (PE file) says about itself: its identity, the PDB it was linked with, and the names of
//! its exports, which are the last resort where no PDB is at hand. Called by `find` and `resolve`.
//!
//! Every offset and count in the file is a claim: reads go through one function with a limit, and what does not
//! fit ends that image.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::identity::PdbKey;
use super::name::undecorate;
use super::resolve::Named;

/// Most bytes read at once: the export or exception table of the largest images stays far below.
const READ_BYTES_MAX: usize = 64 << 20;
/// Most sections; Windows refuses images with more than 96.
const SECTIONS_MAX: usize = 96;
/// Most named exports; ordinals have 16 bits.
const EXPORTS_MAX: usize = 1 << 16;
/// Longest export or PDB name.
const NAME_BYTES_MAX: usize = 4096;
/// Farthest that an address may lie behind an export where the image has no table of its functions' bounds.
const DISTANCE_MAX: u32 = 0x400;

const MACHINE_X86: u16 = 0x014c;
const MACHINE_X64: u16 = 0x8664;

/// Why an image gives nothing.
#[derive(Debug, thiserror::Error)]
pub(super) enum ImageError {
    #[error("cannot be read: {0}")]
    Io(#[from] io::Error),
    #[error("is damaged or no image: {0}")]
    Damaged(&'static str),
}

const CUT: ImageError = ImageError::Damaged("a table lies outside the file");

/// An open image whose headers have been read.
pub(super) struct Image {
    file: File,
    bytes: u64,
    machine: u16,
    pub(super) timestamp: u32,
    pub(super) size: u32,
    sections: Vec<Section>,
    exports: Directory,
    exceptions: Directory,
    debug: Directory,
}

#[derive(Clone, Copy, Default)]
struct Directory {
    rva: u32,
    size: u32,
}

struct Section {
    rva: u32,
    virtual_size: u32,
    raw_size: u32,
    raw_offset: u32,
}

impl Image {
    /// Opens a file and reads its headers.
    pub(super) fn open(path: &Path) -> Result<Image, ImageError> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut image = Image {
            file,
            bytes,
            machine: 0,
            timestamp: 0,
            size: 0,
            sections: Vec::new(),
            exports: Directory::default(),
            exceptions: Directory::default(),
            debug: Directory::default(),
        };
        image.read_headers()?;
        Ok(image)
    }

    fn read_headers(&mut self) -> Result<(), ImageError> {
        let dos = self.read_at(0, 64)?;
        if dos[..2] != *b"MZ" {
            return Err(ImageError::Damaged("no MZ mark"));
        }
        let start = u64::from(u32_at(&dos, 60)?);
        let coff = self.read_at(start, 24)?;
        if coff[..4] != *b"PE\0\0" {
            return Err(ImageError::Damaged("no PE mark"));
        }
        self.machine = u16_at(&coff, 4)?;
        self.timestamp = u32_at(&coff, 8)?;
        let section_count = usize::from(u16_at(&coff, 6)?);
        let optional_size = usize::from(u16_at(&coff, 20)?);
        if section_count > SECTIONS_MAX {
            return Err(ImageError::Damaged("too many sections"));
        }
        let optional = self.read_at(start + 24, optional_size)?;
        self.size = u32_at(&optional, 56)?;
        let directories = match u16_at(&optional, 0)? {
            0x10b => 96,
            0x20b => 112,
            _ => return Err(ImageError::Damaged("unknown optional header")),
        };
        let count = u32_at(&optional, directories - 4)? as usize;
        let directory = |index: usize| -> Result<Directory, ImageError> {
            if index >= count {
                return Ok(Directory::default());
            }
            let at = directories + index * 8;
            Ok(Directory { rva: u32_at(&optional, at)?, size: u32_at(&optional, at + 4)? })
        };
        (self.exports, self.exceptions, self.debug) = (directory(0)?, directory(3)?, directory(6)?);
        let table = self.read_at(start + 24 + optional_size as u64, section_count * 40)?;
        for header in table.chunks_exact(40) {
            self.sections.push(Section {
                virtual_size: u32_at(header, 8)?,
                rva: u32_at(header, 12)?,
                raw_size: u32_at(header, 16)?,
                raw_offset: u32_at(header, 20)?,
            });
        }
        Ok(())
    }

    /// The PDB that the linker wrote beside this image, where it says so.
    pub(super) fn pdb(&mut self) -> Result<Option<PdbKey>, ImageError> {
        const CODEVIEW: u32 = 2;
        let entries = self.read_rva(self.debug.rva, self.debug.size as usize)?;
        for entry in entries.chunks_exact(28) {
            if u32_at(entry, 12)? != CODEVIEW {
                continue;
            }
            let length = (u32_at(entry, 16)? as usize).min(24 + NAME_BYTES_MAX);
            let record = self.read_at(u64::from(u32_at(entry, 24)?), length)?;
            if record.len() > 24 && record[..4] == *b"RSDS" {
                let guid = guid_text(&record[4..20]);
                let name = String::from_utf8_lossy(until_zero(&record[24..])).into_owned();
                return Ok(PdbKey::new(&name, &guid, u32_at(&record, 20)?));
            }
        }
        Ok(None)
    }

    /// Names for sorted, distinct addresses from the exports; those without one are left out.
    ///
    /// On x64 the image lists where its functions begin and end, so that an address inside a function that is
    /// not exported gets no name. Elsewhere the nearest export before it counts, up to a short distance.
    pub(super) fn resolve(&mut self, rvas: &[u32]) -> Result<Vec<Named>, ImageError> {
        let exports = self.read_exports()?;
        let functions = self.read_functions()?;
        let x86 = self.machine == MACHINE_X86;
        let mut names = Vec::new();
        for &rva in rvas {
            let index = exports.partition_point(|export| export.0 <= rva);
            let Some((start, name)) = index.checked_sub(1).map(|index| &exports[index]) else {
                continue;
            };
            let same = match &functions {
                Some(functions) => same_function(functions, *start, rva),
                None => rva - start <= DISTANCE_MAX,
            };
            if same && self.section_of(*start) == self.section_of(rva) {
                names.push(Named::new(rva, undecorate(name, x86), rva - start));
            }
        }
        Ok(names)
    }

    /// Address and name of every export by name, sorted; of several at one address the first by name.
    fn read_exports(&mut self) -> Result<Vec<(u32, String)>, ImageError> {
        let table = self.exports;
        if table.rva == 0 {
            return Ok(Vec::new());
        }
        let header = self.read_rva(table.rva, 40)?;
        let function_count = u32_at(&header, 20)? as usize;
        let name_count = u32_at(&header, 24)? as usize;
        if function_count > EXPORTS_MAX || name_count > EXPORTS_MAX {
            return Err(ImageError::Damaged("too many exports"));
        }
        let functions = self.read_rva(u32_at(&header, 28)?, function_count * 4)?;
        let names = self.read_rva(u32_at(&header, 32)?, name_count * 4)?;
        let ordinals = self.read_rva(u32_at(&header, 36)?, name_count * 2)?;
        let mut exports = Vec::with_capacity(name_count);
        for (name, ordinal) in names.chunks_exact(4).zip(ordinals.chunks_exact(2)) {
            let at = usize::from(u16_at(ordinal, 0)?) * 4;
            let Ok(rva) = u32_at(&functions, at) else { continue };
            // An address inside the table itself is the text of a forwarder to another module.
            let forwarder = rva.wrapping_sub(table.rva) < table.size;
            if rva != 0 && !forwarder {
                exports.push((rva, self.read_name(u32_at(name, 0)?)?));
            }
        }
        exports.sort();
        exports.dedup_by_key(|export| export.0);
        Ok(exports)
    }

    /// Begin and end of every function of an x64 image, sorted; nothing for other machines.
    fn read_functions(&mut self) -> Result<Option<Vec<(u32, u32)>>, ImageError> {
        if self.machine != MACHINE_X64 || self.exceptions.rva == 0 {
            return Ok(None);
        }
        let table = self.read_rva(self.exceptions.rva, self.exceptions.size as usize)?;
        let mut functions = Vec::with_capacity(table.len() / 12);
        for entry in table.chunks_exact(12) {
            functions.push((u32_at(entry, 0)?, u32_at(entry, 4)?));
        }
        functions.sort_unstable();
        Ok(Some(functions))
    }

    fn section_of(&self, rva: u32) -> Option<usize> {
        self.sections
            .iter()
            .position(|section| rva.wrapping_sub(section.rva) < section.virtual_size)
    }

    /// Text up to its zero. Reads in small steps, because most names are short.
    fn read_name(&mut self, rva: u32) -> Result<String, ImageError> {
        let mut step = 64;
        loop {
            let bytes = self.read_rva_up_to(rva, step)?;
            let text = until_zero(&bytes);
            if text.len() < bytes.len() || step >= NAME_BYTES_MAX || bytes.len() < step {
                return Ok(String::from_utf8_lossy(text).into_owned());
            }
            step *= 4;
        }
    }

    /// Exactly `length` bytes as they lie in memory once loaded.
    fn read_rva(&mut self, rva: u32, length: usize) -> Result<Vec<u8>, ImageError> {
        let bytes = self.read_rva_up_to(rva, length)?;
        if bytes.len() < length { Err(CUT) } else { Ok(bytes) }
    }

    fn read_rva_up_to(&mut self, rva: u32, length: usize) -> Result<Vec<u8>, ImageError> {
        let inside = |section: &&Section| rva.wrapping_sub(section.rva) < section.raw_size;
        let Some(section) = self.sections.iter().find(inside) else {
            return if length == 0 { Ok(Vec::new()) } else { Err(CUT) };
        };
        let skip = rva - section.rva;
        let offset = u64::from(section.raw_offset) + u64::from(skip);
        let length = length.min((section.raw_size - skip) as usize);
        self.read_at(offset, length)
    }

    /// Exactly `length` bytes of the file.
    fn read_at(&mut self, offset: u64, length: usize) -> Result<Vec<u8>, ImageError> {
        let inside = offset.checked_add(length as u64).is_some_and(|end| end <= self.bytes);
        if !inside || length > READ_BYTES_MAX {
            return Err(CUT);
        }
        let mut bytes = vec![0; length];
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Whether no other function begins after `start` and up to `rva`, and, where the function that begins at
/// `start` is listed, `rva` lies before its end. Functions without a frame of their own are not listed.
fn same_function(functions: &[(u32, u32)], start: u32, rva: u32) -> bool {
    let index = functions.partition_point(|function| function.0 <= rva);
    match index.checked_sub(1).map(|index| functions[index]) {
        Some((begin, end)) if begin == start => rva < end,
        Some((begin, end)) if begin < start => end <= start,
        Some(_) => false,
        None => true,
    }
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, ImageError> {
    let two = bytes.get(at..).and_then(|rest| rest.first_chunk::<2>()).ok_or(CUT)?;
    Ok(u16::from_le_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, ImageError> {
    let four = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>()).ok_or(CUT)?;
    Ok(u32::from_le_bytes(*four))
}

/// Sixteen bytes as they lie in a file, as hexadecimal digits in the order in which a GUID is written.
fn guid_text(bytes: &[u8]) -> String {
    const ORDER: [usize; 16] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    ORDER.iter().map(|&at| format!("{:02x}", bytes.get(at).copied().unwrap_or(0))).collect()
}

#[cfg(test)]
mod tests {
    use super::same_function;

    #[test]
    fn an_address_belongs_to_an_export_only_inside_its_function() {
        let functions = [(0x100, 0x180), (0x200, 0x280)];
        for (start, rva, same) in [
            (0x100, 0x100, true),
            (0x100, 0x17f, true),
            (0x100, 0x180, false), // behind its end
            (0x100, 0x210, false), // inside another one
            (0x1a0, 0x1b0, true),  // a leaf, not listed
            (0x120, 0x130, false), // a label inside a listed function: not its beginning
            (0x050, 0x060, true),  // before all listed ones
            (0x050, 0x110, false),
        ] {
            assert_eq!(same_function(&functions, start, rva), same, "{start:x} {rva:x}");
        }
    }
}
