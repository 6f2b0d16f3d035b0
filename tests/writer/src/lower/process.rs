//! Process records: hooks 0301 to 0304, 030B, 0327, versions 0 to 5.
//!
//! `process PID NAME key=value...` declares a whole life; `TIME process start|end|dcstart|dcend|
//! terminate|defunct PID NAME ...` writes one record.

use super::{At, Lower};
use crate::body::{Body, sid_bytes};
use crate::text::{Reader, field32};
use crate::time::Ns;

/// Exit status of a process that still runs.
const STILL_ACTIVE: u32 = 0x103;

struct ProcessLine {
    pid: u32,
    name: String,
    parent: u32,
    session: u32,
    sid: Option<String>,
    command: String,
    package: String,
    app: String,
    exit: u32,
    flags: u32,
    key: u64,
    version: Option<u8>,
    by: Option<u32>,
    exit_time: u64,
}

struct Life {
    start_ns: Option<Ns>,
    end_ns: Option<Ns>,
    terminate_ns: Option<Ns>,
    defunct: bool,
    no_start: bool,
    no_end: bool,
    cpu: Option<u16>,
}

fn read_line(reader: &Reader<'_>) -> Result<ProcessLine, String> {
    let pid = field32(reader.need_word("a process id")?)?;
    let name = reader.word().unwrap_or("").to_string();
    let text = |key| reader.text(key).unwrap_or("").to_string();
    let (package, app) = (text("package"), text("app"));
    let implied = u32::from(!app.is_empty()) | if package.is_empty() { 0 } else { 8 };
    let wow = if reader.flag("wow64") { 2 } else { 0 };
    Ok(ProcessLine {
        pid,
        parent: reader.or32("parent", 0)?,
        session: reader.or32("session", 1)?,
        sid: reader.text("sid").map(str::to_string),
        command: reader.text("cmd").unwrap_or(&name).to_string(),
        package,
        app,
        exit: reader.or32("exit", 0)?,
        flags: reader.or32("flags", implied | wow)?,
        key: reader.or("key", 0xFFFF_E000_0000_0080 + u64::from(pid) * 0x1000)?,
        version: reader.get("v")?,
        by: reader.get("by")?,
        exit_time: reader.or("exit_time", 0)?,
        name,
    })
}

fn read_life(reader: &Reader<'_>) -> Result<Life, String> {
    Ok(Life {
        start_ns: reader.time("start")?,
        end_ns: reader.time("end")?,
        terminate_ns: reader.time("terminate")?,
        defunct: reader.flag("defunct"),
        no_start: reader.flag("no-start"),
        no_end: reader.flag("no-end"),
        cpu: reader.get("cpu")?,
    })
}

impl Lower {
    /// First pass: only checks the line.
    pub(super) fn declare_process(&self, reader: &Reader<'_>) -> Result<(), String> {
        if reader.statement.time_ns.is_some() {
            return Ok(());
        }
        read_line(reader)?;
        read_life(reader)?;
        reader.finish()
    }

    /// Live records and the opening rundown of a declared process.
    pub(super) fn begin_process(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let (line, life) = (read_line(reader)?, read_life(reader)?);
        let file = reader.statement.file;
        match life.start_ns {
            Some(ns) => self.write_process(0x01, &line, file, ns, life.cpu)?,
            None if self.machine(file).rundown_start && !life.no_start => {
                self.write_process(0x03, &line, file, 0, None)?;
            }
            None => {}
        }
        if let Some(ns) = life.terminate_ns {
            self.write_process(0x0B, &line, file, ns, life.cpu)?;
        }
        match life.end_ns {
            Some(ns) => self.write_process(0x02, &line, file, ns, life.cpu),
            None => Ok(()),
        }
    }

    /// The closing rundown of a declared process.
    pub(super) fn end_process(&mut self, reader: &Reader<'_>, at_ns: Ns) -> Result<(), String> {
        let (line, life) = (read_line(reader)?, read_life(reader)?);
        let file = reader.statement.file;
        if life.defunct {
            self.write_process(0x27, &line, file, at_ns, None)?;
        }
        if life.end_ns.is_none() && self.machine(file).rundown_end && !life.no_end {
            self.write_process(0x04, &line, file, at_ns, None)?;
        }
        Ok(())
    }

    /// One explicit record.
    pub(super) fn emit_process(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let opcode = match reader.need_word("an operation")? {
            "start" => 0x01,
            "end" => 0x02,
            "dcstart" => 0x03,
            "dcend" => 0x04,
            "terminate" => 0x0B,
            "defunct" => 0x27,
            other => return Err(format!("'{other}' is no process operation")),
        };
        let line = read_line(reader)?;
        let cpu = reader.get("cpu")?;
        self.write_process(opcode, &line, reader.statement.file, reader.at()?, cpu)
    }

    fn write_process(
        &mut self,
        opcode: u8,
        line: &ProcessLine,
        file: usize,
        ns: Ns,
        cpu: Option<u16>,
    ) -> Result<(), String> {
        let hook = 0x0300 | u16::from(opcode);
        let rundown = matches!(opcode, 0x03 | 0x04 | 0x27);
        let mut version = line.version.unwrap_or(self.machine(file).process_version());
        let mut body = self.body(file);
        if opcode == 0x0B {
            version = line.version.unwrap_or(2);
            body.u32(line.pid);
        } else {
            let dead = matches!(opcode, 0x02 | 0x27);
            let exit = if dead { line.exit } else { STILL_ACTIVE };
            if opcode == 0x27 && version == 4 {
                version = line.version.unwrap_or(5);
            }
            let key = self.address(file, line.key);
            process_payload(&mut body, version, line, key, exit)?;
        }
        if rundown && self.machine(file).build >= 9200 {
            let at = At { file, ns, cpu: cpu.unwrap_or(0) };
            return self.push_perfinfo(at, hook, version, &body);
        }
        let actor = match (rundown, line.by) {
            (true, _) => None,
            (false, Some(tid)) => Some((tid, self.cast.pid_of(tid, ns), self.cpu_of(tid, ns))),
            (false, None) => {
                let doer = if opcode == 0x01 { line.parent } else { line.pid };
                self.running_of(doer, ns).map(|a| (a.tid, a.pid, Some(a.cpu)))
            }
        };
        let (tid, pid, place) = actor.unwrap_or((0, 0, None));
        let at = At { file, ns, cpu: cpu.or(place).unwrap_or(0) };
        self.push_system(at, (tid, pid), hook, version, &body)
    }
}

fn process_payload(
    body: &mut Body,
    version: u8,
    line: &ProcessLine,
    key: u64,
    exit: u32,
) -> Result<(), String> {
    if version == 0 {
        body.ptr(line.pid.into()).ptr(line.parent.into());
        put_sid(body, line)?;
        body.z8(&line.name);
        return Ok(());
    }
    body.ptr(key).u32(line.pid).u32(line.parent).u32(line.session).u32(exit);
    if version >= 3 {
        body.ptr(0x1AD0_0000 + u64::from(line.pid) * 0x1000);
    }
    if version >= 4 {
        body.u32(line.flags);
    }
    put_sid(body, line)?;
    body.z8(&line.name);
    if version >= 2 {
        body.z16(&line.command);
    }
    if version >= 4 {
        body.z16(&line.package).z16(&line.app);
    }
    if version >= 5 {
        body.u64(line.exit_time);
    }
    Ok(())
}

/// A zero word without a SID, else TOKEN_USER (pointer and attributes) and the SID.
fn put_sid(body: &mut Body, line: &ProcessLine) -> Result<(), String> {
    let Some(text) = &line.sid else {
        body.u32(0);
        return Ok(());
    };
    let sid = sid_bytes(text).ok_or_else(|| format!("'{text}' is no SID"))?;
    body.ptr(0xFFFF_F8A0_01ED_2B50).ptr(0).raw(&sid);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::hex_bytes;

    fn line(text: &str) -> ProcessLine {
        let words = crate::text::tokens(text).unwrap();
        let statement = crate::text::Statement::from_tokens(1, 0, words).unwrap();
        read_line(&statement.reader()).unwrap()
    }

    #[test]
    fn version_4_as_a_windows_8_kernel_wrote_it() {
        // The idle process of a public Windows 8 recording, its payload from the bytes of the file.
        let line = line("process 0 Idle session=-1 sid=S-1-5-18 cmd=\"\"");
        let mut body = Body::new(true);
        process_payload(&mut body, 4, &line, 0xFFFF_F800_217D_9200, 0).unwrap();
        let mut real = hex_bytes(
            "00927d2100f8ffff0000000000000000ffffffff0000000000701800000000000000000050\
             2bed01a0f8ffff0000000049004e0001010000000000051200000049646c6500000000000000",
        )
        .unwrap();
        // Three fields are the machine's own: page directory, the kernel pointer and the
        // attributes in front of the SID.
        real[24..32].copy_from_slice(&0x1AD0_0000u64.to_le_bytes());
        real[36..44].copy_from_slice(&0xFFFF_F8A0_01ED_2B50u64.to_le_bytes());
        real[44..52].fill(0);
        assert_eq!(body.bytes, real);
    }

    #[test]
    fn every_version_has_its_length() {
        let line = line("process 7 a.exe sid=S-1-5-18 cmd=x");
        for (wide, lengths) in [
            (false, [8 + 8 + 12 + 6, 20 + 8 + 12 + 6, 50, 54, 62, 70]),
            (true, [16 + 16 + 12 + 6, 24 + 16 + 12 + 6, 62, 70, 78, 86]),
        ] {
            for (version, length) in lengths.into_iter().enumerate() {
                let mut body = Body::new(wide);
                process_payload(&mut body, version as u8, &line, 1, 0).unwrap();
                assert_eq!(body.bytes.len(), length, "version {version} wide {wide}");
            }
        }
    }
}
