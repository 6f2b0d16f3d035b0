//! Image records: hooks 030A, 1402, 1403, 1404, versions 0 to 3, and their ImageID companions.
//!
//! `image NAME pid=PID key=value...` declares a whole life (pid 0: a driver or the kernel); `TIME image
//! load|unload|dcstart|dcend|kernelbase NAME ...` writes one record. With `pdb="GUID AGE NAME"` the
//! merge's records about identity follow, with the same time and CPU.

use super::{At, Lower};
use crate::body::{Body, Guid};
use crate::cast::{Cast, IMAGE_BYTES_DEFAULT, Image};
use crate::record::FullHeader;
use crate::text::Reader;
use crate::time::Ns;
use crate::values;

struct ImageLine {
    name: String,
    pid: u32,
    size: u64,
    base: Option<u64>,
    checksum: u32,
    timestamp: u32,
    default_base: Option<u64>,
    path: String,
    signature: (u8, u8),
    version: Option<u8>,
    pdb: Option<(Guid, u32, String)>,
    il_pdb: bool,
    original: Option<String>,
    file_version: Option<String>,
    no_debug: bool,
}

struct Life {
    load_ns: Option<Ns>,
    unload_ns: Option<Ns>,
    no_start: bool,
    no_end: bool,
    cpu: Option<u16>,
}

fn read_line(reader: &Reader<'_>) -> Result<ImageLine, String> {
    let name = reader.need_word("a name")?.to_string();
    let pid = reader.or("pid", 0)?;
    let default_path = match pid {
        0 => format!(r"\SystemRoot\system32\{name}"),
        _ => format!(r"\Device\HarddiskVolume3\Program Files\{name}"),
    };
    Ok(ImageLine {
        pid,
        size: reader.or("size", IMAGE_BYTES_DEFAULT)?,
        base: reader.get("base")?,
        checksum: reader.or32("checksum", 0)?,
        timestamp: reader.or32("time", 0x5F00_0000)?,
        default_base: reader.get("default_base")?,
        path: reader.text("path").unwrap_or(&default_path).to_string(),
        signature: (reader.or("sig_level", 0)?, reader.or("sig_type", 0)?),
        version: reader.get("v")?,
        pdb: reader.text("pdb").map(pdb).transpose()?,
        il_pdb: reader.flag("managed"),
        original: reader.text("original").map(str::to_string),
        file_version: reader.text("file_version").map(str::to_string),
        no_debug: reader.flag("no-debug"),
        name,
    })
}

fn pdb(text: &str) -> Result<(Guid, u32, String), String> {
    let mut parts = text.splitn(3, ' ');
    let guid = parts.next().and_then(Guid::parse).ok_or("pdb is \"GUID AGE NAME\"")?;
    let age = crate::text::field32(parts.next().ok_or("pdb is \"GUID AGE NAME\"")?)?;
    Ok((guid, age, parts.next().unwrap_or("").to_string()))
}

fn read_life(reader: &Reader<'_>) -> Result<Life, String> {
    Ok(Life {
        load_ns: reader.time("load")?,
        unload_ns: reader.time("unload")?,
        no_start: reader.flag("no-start"),
        no_end: reader.flag("no-end"),
        cpu: reader.get("cpu")?,
    })
}

impl Lower {
    /// First pass: gives the image its place in memory.
    pub(super) fn declare_image(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let timed = reader.statement.time_ns;
        if timed.is_some() && !matches!(reader.need_word("an operation")?, "load" | "dcstart") {
            return Ok(());
        }
        let line = read_line(reader)?;
        let life = read_life(reader)?;
        if timed.is_none() {
            reader.finish()?;
        }
        let image = Image {
            pid: line.pid,
            name: line.name,
            base64: 0,
            base32: 0,
            size: line.size,
            timestamp: line.timestamp,
            load_ns: life.load_ns.or(timed),
            unload_ns: life.unload_ns,
        };
        self.cast.add_image(image, line.base);
        Ok(())
    }

    /// `symbols MODULE NAME=RVA...`
    pub(super) fn declare_symbols(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let module = reader.need_word("a module")?;
        for arg in &reader.statement.args {
            if let crate::text::Arg::Pair(symbol, rva) = arg {
                self.cast.define_symbol(module, symbol, crate::text::field(rva)?);
            }
        }
        Ok(())
    }

    /// Live records and the opening rundown of a declared image.
    pub(super) fn begin_image(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let (line, life) = (read_line(reader)?, read_life(reader)?);
        let file = reader.statement.file;
        match life.load_ns {
            Some(ns) => self.write_image(0x0A, &line, file, ns, life.cpu)?,
            None if self.machine(file).rundown_start && !life.no_start => {
                self.write_image(0x03, &line, file, 0, None)?;
            }
            None => {}
        }
        match life.unload_ns {
            Some(ns) => self.write_image(0x02, &line, file, ns, life.cpu),
            None => Ok(()),
        }
    }

    /// The closing rundown of a declared image.
    pub(super) fn end_image(&mut self, reader: &Reader<'_>, at_ns: Ns) -> Result<(), String> {
        let (line, life) = (read_line(reader)?, read_life(reader)?);
        let file = reader.statement.file;
        if life.unload_ns.is_none() && self.machine(file).rundown_end && !life.no_end {
            let again = ImageLine { pdb: None, original: None, file_version: None, ..line };
            self.write_image(0x04, &again, file, at_ns, None)?;
        }
        Ok(())
    }

    /// One explicit record.
    pub(super) fn emit_image(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let opcode = match reader.need_word("an operation")? {
            "load" => 0x0A,
            "unload" => 0x02,
            "dcstart" => 0x03,
            "dcend" => 0x04,
            "kernelbase" => 0x21,
            other => return Err(format!("'{other}' is no image operation")),
        };
        let line = read_line(reader)?;
        let cpu = reader.get("cpu")?;
        let (file, ns) = (reader.statement.file, reader.at()?);
        if opcode == 0x21 {
            let mut body = self.body(file);
            let base = self.image_base(&line, file, ns);
            body.ptr(base);
            return self.push_perfinfo(At { file, ns, cpu: cpu.unwrap_or(0) }, 0x1421, 2, &body);
        }
        self.write_image(opcode, &line, file, ns, cpu)
    }

    fn image_base(&self, line: &ImageLine, file: usize, ns: Ns) -> u64 {
        let wide = self.machine(file).wide();
        let same = |i: &&Image| i.pid == line.pid && i.name == line.name;
        let alive = |i: &&Image| i.load_ns.is_none_or(|l| l <= ns);
        let images = || self.cast.images.iter().filter(same);
        let own = line.base.map(|base| self.cast.translate(base, wide));
        let found = images().rfind(alive).or_else(|| images().next());
        own.or_else(|| found.map(|i| Cast::base_of(i, wide))).unwrap_or(0)
    }

    fn write_image(
        &mut self,
        opcode: u8,
        line: &ImageLine,
        file: usize,
        ns: Ns,
        cpu: Option<u16>,
    ) -> Result<(), String> {
        let version = line.version.unwrap_or(self.machine(file).image_version());
        let base = self.image_base(line, file, ns);
        let default_base = line.default_base.map_or(base, |b| self.address(file, b));
        let mut body = self.body(file);
        image_payload(&mut body, version, line, base, default_base);
        let live = matches!(opcode, 0x02 | 0x0A);
        let hook = if opcode == 0x0A { 0x030A } else { 0x1400 | u16::from(opcode) };
        let actor = if live { self.running_of(line.pid, ns) } else { None };
        let place = actor.map_or(0, |a| a.cpu);
        let at = At { file, ns, cpu: cpu.unwrap_or(place) };
        if !live && self.machine(file).build >= 9200 {
            self.push_perfinfo(at, hook, version, &body)?;
        } else {
            let ids = actor.map_or((0, if live { line.pid } else { 0 }), |a| (a.tid, a.pid));
            self.push_system(at, ids, hook, version, &body)?;
        }
        self.write_identity(line, at, base)
    }

    /// What a merge adds about an image: ImageID, PDB identity, file version.
    fn write_identity(&mut self, line: &ImageLine, at: At, base: u64) -> Result<(), String> {
        let header = FullHeader {
            class: values::provider("ImageID")?,
            version: 2,
            tid: u32::MAX,
            pid: line.pid,
            ..FullHeader::default()
        };
        if let Some(original) = &line.original {
            let mut body = self.body(at.file);
            body.ptr(base).ptr(line.size).u32(0).u32(line.timestamp).z16(original);
            self.push_full(at, &FullHeader { opcode: 0, ..header }, &body)?;
        }
        if let Some((guid, age, name)) = &line.pdb {
            let mut body = self.body(at.file);
            body.ptr(base).u32(line.pid).guid(*guid).u32(*age).z8(name);
            let opcode = if line.il_pdb { 37 } else { 36 };
            self.push_full(at, &FullHeader { opcode, ..header }, &body)?;
        }
        if line.no_debug {
            let mut body = self.body(at.file);
            body.ptr(base).u32(line.pid);
            self.push_full(at, &FullHeader { opcode: 32, ..header }, &body)?;
        }
        if let Some(version) = &line.file_version {
            let mut body = self.body(at.file);
            body.u32(line.size as u32).u32(line.timestamp);
            body.z16(line.original.as_ref().unwrap_or(&line.name)).z16("A program");
            body.z16(version).z16(version).z16("English").z16("Product").z16("Company");
            body.z16(version).z16("0000").z16("0000");
            self.push_full(at, &FullHeader { opcode: 64, version: 0, ..header }, &body)?;
        }
        Ok(())
    }
}

fn image_payload(body: &mut Body, version: u8, line: &ImageLine, base: u64, default_base: u64) {
    body.ptr(base);
    match version {
        0 => body.u32(line.size as u32),
        _ => body.ptr(line.size).u32(line.pid),
    };
    if version >= 2 {
        body.u32(line.checksum).u32(line.timestamp);
        match version {
            2 => body.u32(0),
            _ => body.u8(line.signature.0).u8(line.signature.1).u16(0),
        };
        body.ptr(default_base).zeros(16);
    }
    body.z16(&line.path);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::hex_bytes;

    fn line(text: &str) -> ImageLine {
        let words = crate::text::tokens(text).unwrap();
        let statement = crate::text::Statement::from_tokens(1, 0, words).unwrap();
        read_line(&statement.reader()).unwrap()
    }

    #[test]
    fn version_0_is_a_public_payload() {
        let line = line("image t.exe pid=7644 size=0x19e000 path=\"C:\\t.exe\"");
        let mut body = Body::new(false);
        image_payload(&mut body, 0, &line, 0x0116_0000, 0);
        let hex = "0000160100e0190043003a005c0074002e006500780065000000";
        assert_eq!(body.bytes, hex_bytes(hex).unwrap());
    }

    #[test]
    fn version_2_is_a_public_payload() {
        let text = "image ntoskrnl.exe size=6184960 checksum=5612101 time=0 \
                    path=\"\\SystemRoot\\system32\\ntoskrnl.exe\"";
        let mut body = Body::new(true);
        image_payload(&mut body, 2, &line(text), 0xFFFF_F800_02E0_8000, 0);
        let hex = "0080e00200f8ffff00605e00000000000000000045a25500000000000000000000000000\
                   00000000000000000000000000000000000000005c00530079007300740065006d0052006f00\
                   6f0074005c00730079007300740065006d00330032005c006e0074006f0073006b0072006e00\
                   6c002e006500780065000000";
        assert_eq!(body.bytes, hex_bytes(hex).unwrap());
    }
}
