//! Small images (PE files) whose export tables name a scenario's symbols, so that frames can be named.
//!
//! An image carries the time stamp and size that the recording states, which is how a symbol store
//! finds it: `NAME/TIMESTAMPsize/NAME`. Nothing in it can run: it has headers and exports only.

use crate::body::Body;

const PE_HEADER_AT: usize = 0x40;
const HEADERS_BYTES: u32 = 0x400;
const SECTION_STEP: u64 = 0x1000;
const TEXT_RVA: u64 = 0x1000;
const OPTIONAL_HEADER_BYTES: u16 = 240;
const MACHINE_AMD64: u16 = 0x8664;

/// What an image says about itself.
pub(crate) struct Portable<'a> {
    pub(crate) name: &'a str,
    pub(crate) timestamp: u32,
    pub(crate) size: u64,
    /// Names and places, sorted by name as the loader wants.
    pub(crate) exports: Vec<(&'a str, u64)>,
}

impl Portable<'_> {
    /// Where a symbol store keeps it.
    pub(crate) fn store_path(&self) -> String {
        format!("{0}/{1:08X}{2:x}/{0}", self.name, self.timestamp, self.size)
    }

    /// The file, or None where the exports do not fit behind the last symbol.
    pub(crate) fn bytes(&self) -> Option<Vec<u8>> {
        let table_bytes = self.export_table(0).len() as u64;
        let taken = table_bytes.next_multiple_of(SECTION_STEP);
        let table_rva = (self.size - self.size % SECTION_STEP).checked_sub(taken)?;
        let last = self.exports.iter().map(|e| e.1).max().unwrap_or(0);
        if table_rva <= last || table_rva < TEXT_RVA || self.size > u64::from(u32::MAX) {
            return None;
        }
        let table = self.export_table(table_rva as u32);
        let mut file = Body::new(true);
        file.raw(b"MZ").zeros(0x3A).u32(PE_HEADER_AT as u32);
        self.headers(&mut file, table_rva as u32, table.len() as u32);
        file.bytes.resize(HEADERS_BYTES as usize, 0);
        file.raw(&table).align(0x200);
        Some(file.bytes)
    }

    fn headers(&self, file: &mut Body, table_rva: u32, table_bytes: u32) {
        file.raw(b"PE\0\0").u16(MACHINE_AMD64).u16(2).u32(self.timestamp).u32(0).u32(0);
        file.u16(OPTIONAL_HEADER_BYTES).u16(0x2022);
        let code_bytes = table_rva - TEXT_RVA as u32;
        file.u16(0x20B).u8(14).u8(0).u32(code_bytes).u32(table_bytes).u32(0).u32(0);
        file.u32(TEXT_RVA as u32).u64(0x1_8000_0000).u32(SECTION_STEP as u32).u32(0x200);
        file.u16(10).u16(0).u16(0).u16(0).u16(10).u16(0).u32(0);
        file.u32(self.size as u32).u32(HEADERS_BYTES).u32(0).u16(3).u16(0x8160);
        file.u64(0x10_0000).u64(0x1000).u64(0x10_0000).u64(0x1000).u32(0).u32(16);
        // Sixteen data directories; the first is the export table.
        file.u32(table_rva).u32(table_bytes).zeros(15 * 8);
        section(file, b".text\0\0\0", TEXT_RVA as u32, code_bytes, 0, 0x6000_0020);
        let raw_bytes = table_bytes.next_multiple_of(0x200);
        section(file, b".edata\0\0", table_rva, table_bytes, raw_bytes, 0x4000_0040);
    }

    /// Export directory, the three arrays, the names.
    fn export_table(&self, rva: u32) -> Vec<u8> {
        let count = self.exports.len() as u32;
        let functions = rva + 40;
        let names = functions + 4 * count;
        let ordinals = names + 4 * count;
        let texts = ordinals + 2 * count;
        let mut table = Body::new(true);
        table.u32(0).u32(self.timestamp).u16(0).u16(0).u32(texts).u32(1).u32(count).u32(count);
        table.u32(functions).u32(names).u32(ordinals);
        for (_, place) in &self.exports {
            table.u32(*place as u32);
        }
        let mut at = texts + self.name.len() as u32 + 1;
        for (name, _) in &self.exports {
            table.u32(at);
            at += name.len() as u32 + 1;
        }
        for ordinal in 0..count {
            table.u16(ordinal as u16);
        }
        table.z8(self.name);
        for (name, _) in &self.exports {
            table.z8(name);
        }
        table.bytes
    }
}

fn section(file: &mut Body, name: &[u8; 8], rva: u32, bytes: u32, raw_bytes: u32, flags: u32) {
    let raw_at = if raw_bytes == 0 { 0 } else { HEADERS_BYTES };
    file.raw(name).u32(bytes).u32(rva).u32(raw_bytes).u32(raw_at);
    file.u32(0).u32(0).u16(0).u16(0).u32(flags);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn u32_at(bytes: &[u8], at: usize) -> usize {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
    }

    #[test]
    fn exports_can_be_found_through_the_headers() {
        let image = Portable {
            name: "app.exe",
            timestamp: 0x5F00_0000,
            size: 0x10_0000,
            exports: vec![("Alpha", 0x1000), ("Beta", 0x1100)],
        };
        assert_eq!(image.store_path(), "app.exe/5F000000100000/app.exe");
        let bytes = image.bytes().unwrap();
        let pe = u32_at(&bytes, 0x3C);
        assert_eq!(&bytes[pe..pe + 4], b"PE\0\0");
        assert_eq!(u32_at(&bytes, pe + 24 + 56), 0x10_0000);
        let directory = u32_at(&bytes, pe + 24 + 112);
        let section = pe + 24 + 240 + 40;
        assert_eq!(u32_at(&bytes, section + 12), directory);
        let raw = |rva: usize| rva - directory + u32_at(&bytes, section + 20);
        let table = raw(directory);
        assert_eq!(u32_at(&bytes, table + 24), 2);
        let second = u32_at(&bytes, raw(u32_at(&bytes, table + 32)) + 4);
        assert_eq!(&bytes[raw(second)..raw(second) + 5], b"Beta\0");
        assert_eq!(u32_at(&bytes, raw(u32_at(&bytes, table + 28)) + 4), 0x1100);
    }

    #[test]
    fn what_does_not_fit_gives_no_file() {
        let exports = vec![("Far", 0x1FFF)];
        let image = Portable { name: "a", timestamp: 1, size: 0x2000, exports };
        assert!(image.bytes().is_none());
    }
}
