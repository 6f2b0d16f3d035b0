//! What the machine is: SystemConfig records, volumes, build, services, session markers.
//!
//! Hooks 0Bxx, 0008, 0042, 0052, 0545, and the class SysConfigEx that merges add. Most stand at the
//! start of a recording, so their time may be left out.

use super::items::Place;
use super::{At, Lower};
use crate::record::FullHeader;
use crate::text::{Reader, field32, number_list};
use crate::values;

impl Lower {
    /// Writes a statement of this module; false if it is none.
    pub(super) fn emit_system(&mut self, word: &str, reader: &Reader<'_>) -> Result<bool, String> {
        let at =
            At { file: reader.statement.file, ns: reader.statement.time_ns.unwrap_or(0), cpu: 0 };
        match word {
            "cpu-config" => self.cpu_config(reader, at)?,
            "cpu-identity" => self.cpu_identity(reader, at)?,
            "service" => self.service(reader, at)?,
            "processor-groups" => self.processor_groups(reader, at)?,
            "processor-numbers" => self.processor_numbers(reader, at)?,
            "platform" => {
                let mut body = self.body(at.file);
                for key in ["maker", "product", "bios_date", "bios"] {
                    body.z16(reader.text(key).unwrap_or(""));
                }
                self.push_system(at, (0, 0), 0x0B19, 2, &body)?;
            }
            "volume" | "unmapped-volume" | "build" | "paths" => {
                self.sys_config_ex(word, reader, at)?;
            }
            "rundown-complete" => {
                let body = self.body(at.file);
                self.push_perfinfo(at, 0x0008, 2, &body)?;
            }
            "build-lab" => {
                let mut body = self.body(at.file);
                body.z8(reader.need_word("a build")?);
                self.push_system(at, (0, 0), 0x0042, 2, &body)?;
            }
            "tag" => {
                let old = field32(reader.need_word("the old tag")?)?;
                let new = field32(reader.need_word("the new tag")?)?;
                let tid: u32 = reader.need("tid")?;
                let at = self.at(reader, Some(tid))?;
                let mut body = self.body(at.file);
                body.u32(old).u32(new);
                let pid = self.cast.pid_of(tid, at.ns);
                self.push_system(at, (tid, pid), 0x0545, 2, &body)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// `cpu-config mhz=N memory=MB computer=NAME [domain=NAME] [v=0..3]`
    fn cpu_config(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let machine = self.machine(at.file);
        let (mhz, cpus) = (machine.mhz, machine.cpus);
        let version: u8 = reader.or("v", 3)?;
        let mut body = self.body(at.file);
        body.u32(reader.or("mhz", mhz)?).u32(cpus).u32(reader.or("memory", 16384)?);
        body.u32(4096).u32(65536).fixed16(reader.text("computer").unwrap_or("MACHINE"), 256);
        let domain_units = if version >= 2 { 134 } else { 132 };
        body.fixed16(reader.text("domain").unwrap_or(""), domain_units);
        let highest = self.address(at.file, 0x7FFF_FFFE_FFFF);
        body.ptr(0).ptr(highest);
        if version >= 2 {
            body.u16(9).u16(6).u16(0x9E0A).u8(1).u8(1);
        }
        if version >= 3 {
            body.u32(reader.or("memory_speed", 3200)?).align(4);
        }
        self.push_system(at, (0, 0), 0x0B0A, version, &body)
    }

    /// `cpu-identity CPU mhz=N [name=] [vendor=] [identifier=]`
    fn cpu_identity(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let index = field32(reader.need_word("a CPU")?)?;
        let mhz = self.machine(at.file).mhz;
        let mut body = self.body(at.file);
        body.u32(index).u32(reader.or32("features", 0)?).u32(reader.or("mhz", mhz)?);
        body.fixed16(reader.text("name").unwrap_or("A Processor"), 64);
        body.fixed16(reader.text("vendor").unwrap_or("GenuineIntel"), 16);
        body.fixed16(reader.text("identifier").unwrap_or(""), 128);
        self.push_system(at, (0, 0), 0x0B23, 2, &body)
    }

    /// `service NAME pid=PID tag=N [display=] [process=] [group=] [svchost=] [state=N]`
    fn service(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let name = reader.need_word("a service name")?;
        let mut body = self.body(at.file);
        body.u32(reader.need("pid")?).u32(reader.or("state", 4)?).u32(reader.or("tag", 0)?);
        body.z16(name).z16(reader.text("display").unwrap_or(name));
        for key in ["process", "group", "svchost"] {
            body.z16(reader.text(key).unwrap_or(""));
        }
        self.push_system(at, (0, 0), 0x0B0F, 3, &body)
    }

    /// `processor-groups MASK...`: one mask for each group.
    fn processor_groups(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let mut masks = Vec::new();
        while let Some(word) = reader.word() {
            masks.push(crate::text::field::<u64>(word)?);
        }
        let mut body = self.body(at.file);
        body.u32(masks.len() as u32);
        for mask in masks {
            body.ptr(mask);
        }
        self.push_system(at, (0, 0), 0x0B1A, 2, &body)
    }

    /// `processor-numbers GROUP:NUMBERS...`: the CPUs of the recording in their order.
    fn processor_numbers(&mut self, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let mut all = Vec::new();
        while let Some(word) = reader.word() {
            let (group, numbers) = word.split_once(':').ok_or("it needs GROUP:NUMBERS")?;
            let group: u16 = crate::text::field(group)?;
            for number in number_list(numbers)? {
                all.push(u32::from(group) | number << 16);
            }
        }
        let mut body = self.body(at.file);
        body.u32(all.len() as u32);
        for packed in all {
            body.u32(packed);
        }
        self.push_system(at, (0, 0), 0x0B1B, 2, &body)
    }

    /// `volume NT DOS`, `unmapped-volume NT`, `build LAB PRODUCT`, `paths SYSTEM WINDOWS`.
    fn sys_config_ex(&mut self, word: &str, reader: &Reader<'_>, at: At) -> Result<(), String> {
        let mut body = self.body(at.file);
        let opcode = match word {
            "build" => {
                let place = Place { file: at.file, pid: 0, ns: at.ns };
                let installed = reader.text("installed").unwrap_or("2023-01-01 00:00:00");
                body.i64(self.filetime_of(installed, place)?);
                body.z16(reader.need_word("a build")?).z16(reader.need_word("a product")?);
                32
            }
            "paths" => {
                body.z16(reader.need_word("a folder")?).z16(reader.need_word("a folder")?);
                33
            }
            "unmapped-volume" => {
                body.z16(reader.need_word("a volume")?);
                34
            }
            _ => {
                body.z16(reader.need_word("an NT path")?).z16(reader.need_word("a DOS path")?);
                35
            }
        };
        let class = values::provider("SysConfigEx")?;
        self.push_full(at, &FullHeader { class, opcode, ..FullHeader::default() }, &body)
    }
}
