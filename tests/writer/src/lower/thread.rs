//! Thread records: hooks 0501 to 0504, versions 0 to 4, and names (0548).
//!
//! `thread TID pid=PID key=value...` declares a whole life; `TIME thread start|end|dcstart|dcend TID
//! pid=PID ...` and `TIME thread name TID "NAME"` write one record.

use super::{At, Lower};
use crate::body::Body;
use crate::cast::Thread;
use crate::text::{Reader, field32};
use crate::time::Ns;

struct ThreadLine {
    tid: u32,
    pid: u32,
    name: Option<String>,
    base: u8,
    affinity: u64,
    start_address: u64,
    tag: u32,
    page_prio: u8,
    io_prio: u8,
    flags: u8,
    version: Option<u8>,
    by: Option<u32>,
}

struct Life {
    start_ns: Option<Ns>,
    end_ns: Option<Ns>,
    no_start: bool,
    no_end: bool,
}

fn read_life(reader: &Reader<'_>) -> Result<Life, String> {
    Ok(Life {
        start_ns: reader.time("start")?,
        end_ns: reader.time("end")?,
        no_start: reader.flag("no-start"),
        no_end: reader.flag("no-end"),
    })
}

impl Lower {
    fn read_thread(&mut self, reader: &Reader<'_>) -> Result<ThreadLine, String> {
        let tid = field32(reader.need_word("a thread id")?)?;
        let pid = reader.need("pid")?;
        let base: u8 = reader.or("base", 8)?;
        // Read in the first pass; here it only has to be known.
        reader.text("prio");
        let at_ns = reader.statement.time_ns.unwrap_or(0);
        let start_address = match reader.text("entry") {
            Some(frame) => self.cast.address(frame, pid, at_ns)?,
            None => 0,
        };
        let cpus = self.machine(reader.statement.file).cpus;
        let all = if cpus >= 64 { u64::MAX } else { (1u64 << cpus) - 1 };
        Ok(ThreadLine {
            tid,
            pid,
            name: reader.text("name").map(str::to_string),
            base,
            affinity: reader.or("affinity", all)?,
            start_address,
            tag: reader.or32("tag", 0)?,
            page_prio: reader.or("page_prio", 5)?,
            io_prio: reader.or("io_prio", 2)?,
            flags: reader.or("flags", 0)?,
            version: reader.get("v")?,
            by: reader.get("by")?,
        })
    }

    /// First pass: remembers to which process the thread belongs, and when.
    pub(super) fn declare_thread(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        if reader.statement.time_ns.is_some() {
            return self.declare_timed_thread(reader);
        }
        let tid = field32(reader.need_word("a thread id")?)?;
        let life = read_life(reader)?;
        let base: u8 = reader.or("base", 8)?;
        self.cast.add_thread(Thread {
            tid,
            pid: reader.need("pid")?,
            prio: reader.or("prio", base as i8)?,
            start_ns: life.start_ns,
            end_ns: life.end_ns,
        });
        Ok(())
    }

    /// An explicit start or rundown record names the thread's process for later lines.
    fn declare_timed_thread(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let operation = reader.need_word("an operation")?;
        if !matches!(operation, "start" | "dcstart") {
            return Ok(());
        }
        let tid = field32(reader.need_word("a thread id")?)?;
        let base: u8 = reader.or("base", 8)?;
        let start_ns = if operation == "start" { reader.statement.time_ns } else { None };
        let pid = reader.need("pid")?;
        let prio = reader.or("prio", base as i8)?;
        self.cast.add_thread(Thread { tid, pid, prio, start_ns, end_ns: None });
        Ok(())
    }

    /// Live records and the opening rundown of a declared thread.
    pub(super) fn begin_thread(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let (line, life) = (self.read_thread(reader)?, read_life(reader)?);
        let cpu = reader.get("cpu")?;
        reader.finish()?;
        let file = reader.statement.file;
        match life.start_ns {
            Some(ns) => self.write_thread(1, &line, file, ns, cpu)?,
            None if self.machine(file).rundown_start && !life.no_start => {
                self.write_thread(3, &line, file, 0, None)?;
            }
            None => {}
        }
        match life.end_ns {
            Some(ns) => self.write_thread(2, &line, file, ns, cpu),
            None => Ok(()),
        }
    }

    /// The closing rundown of a declared thread.
    pub(super) fn end_thread(&mut self, reader: &Reader<'_>, at_ns: Ns) -> Result<(), String> {
        let (line, life) = (self.read_thread(reader)?, read_life(reader)?);
        let file = reader.statement.file;
        if life.end_ns.is_none() && self.machine(file).rundown_end && !life.no_end {
            self.write_thread(4, &line, file, at_ns, None)?;
        }
        Ok(())
    }

    /// One explicit record.
    pub(super) fn emit_thread(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let opcode = match reader.need_word("an operation")? {
            "start" => 1,
            "end" => 2,
            "dcstart" => 3,
            "dcend" => 4,
            "name" => return self.emit_thread_name(reader),
            other => return Err(format!("'{other}' is no thread operation")),
        };
        let line = self.read_thread(reader)?;
        let cpu = reader.get("cpu")?;
        self.write_thread(opcode, &line, reader.statement.file, reader.at()?, cpu)
    }

    fn emit_thread_name(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tid = field32(reader.need_word("a thread id")?)?;
        let name = reader.need_word("a name")?;
        let at = self.at(reader, Some(tid))?;
        let pid = reader.or("pid", self.cast.pid_of(tid, at.ns))?;
        let by = reader.or("by", tid)?;
        let mut body = self.body(at.file);
        body.u32(pid).u32(tid).z16(name);
        self.push_system(at, (by, self.cast.pid_of(by, at.ns)), 0x0548, 2, &body)
    }

    fn write_thread(
        &mut self,
        opcode: u8,
        line: &ThreadLine,
        file: usize,
        ns: Ns,
        cpu: Option<u16>,
    ) -> Result<(), String> {
        let machine = self.machine(file);
        let version = line.version.unwrap_or(machine.thread_version());
        let named = line.name.is_some() || line.version.is_none() && machine.thread_names();
        let start = self.address(file, line.start_address);
        let mut body = self.body(file);
        thread_payload(&mut body, version, opcode, line, start);
        if named && version >= 3 || version >= 4 {
            body.z16(line.name.as_deref().unwrap_or(""));
        }
        let doer = match opcode {
            1 => line.by.or_else(|| self.running_of(line.pid, ns).map(|a| a.tid)),
            2 => Some(line.tid),
            _ => None,
        };
        let actor = doer.map_or((0, 0), |tid| match tid == line.tid {
            true => (tid, line.pid),
            false => (tid, self.cast.pid_of(tid, ns)),
        });
        let place = doer.and_then(|tid| self.cpu_of(tid, ns));
        let at = At { file, ns, cpu: cpu.or(place).unwrap_or(0) };
        self.push_system(at, actor, 0x0500 | u16::from(opcode), version, &body)
    }
}

fn thread_payload(body: &mut Body, version: u8, opcode: u8, line: &ThreadLine, start: u64) {
    if version == 0 {
        body.u32(line.tid).u32(line.pid);
        return;
    }
    body.u32(line.pid).u32(line.tid);
    if version == 1 && opcode == 2 {
        return;
    }
    let kernel = 0xFFFF_F880_0500_0000u64 + u64::from(line.tid & 0xFFFF) * 0x8000;
    body.ptr(kernel + 0x7000).ptr(kernel);
    if version == 1 {
        let width = if body.wide { 8 } else { 4 };
        body.ptr(0).ptr(0).ptr(start).ptr(start).u8(0xFF).align(width);
        return;
    }
    body.ptr(0).ptr(0).ptr(if version == 2 { start } else { line.affinity });
    body.ptr(start).ptr(0).u32(line.tag);
    if version >= 3 {
        body.u8(line.base).u8(line.page_prio).u8(line.io_prio).u8(line.flags);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line() -> ThreadLine {
        ThreadLine {
            tid: 0x88c,
            pid: 4,
            name: None,
            base: 8,
            affinity: 0xff,
            start_address: 0,
            tag: 0,
            page_prio: 5,
            io_prio: 2,
            flags: 0,
            version: None,
            by: None,
        }
    }

    #[test]
    fn lengths_are_those_of_real_payloads() {
        let cases = [
            (false, 1, 1, 36),
            (false, 1, 2, 8),
            (false, 3, 1, 44),
            (true, 2, 3, 68),
            (true, 3, 3, 72),
            (true, 0, 1, 8),
        ];
        for (wide, version, opcode, length) in cases {
            let mut body = Body::new(wide);
            thread_payload(&mut body, version, opcode, &line(), 0);
            assert_eq!(body.bytes.len(), length, "version {version} opcode {opcode}");
        }
    }
}
