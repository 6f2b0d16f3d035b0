//! From statements to records: who does what, in which order.
//!
//! Two passes over the statements. The first collects what others refer to (files, cast, stacks,
//! schedule), so that the order of lines does not matter; the second writes records. Records of one
//! time and CPU stay in this order: declarations, context switches, timed lines, final rundown.

mod event;
mod image;
mod items;
mod metadata;
mod power;
mod process;
mod raw;
mod sample;
mod stack;
mod switch;
mod system;
mod thread;
mod tracelogging;
mod ui;

use crate::Error;
use crate::body::Body;
use crate::cast::Cast;
use crate::container::Timeline;
use crate::machine::{FileSpec, Machine};
use crate::record::{self, SystemHeader};
use crate::scenario::Variant;
use crate::schedule::Schedule;
use crate::text::{Reader, Statement};
use crate::time::Ns;

/// Where a record belongs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct At {
    pub(crate) file: usize,
    pub(crate) ns: Ns,
    pub(crate) cpu: u16,
}

/// Who logs a record: the ids of its header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Actor {
    pub(crate) tid: u32,
    pub(crate) pid: u32,
    pub(crate) cpu: u16,
}

/// Everything a scenario has become.
#[derive(Debug)]
pub(crate) struct Lower {
    pub(crate) files: Vec<FileSpec>,
    pub(crate) timelines: Vec<Timeline>,
    pub(crate) cast: Cast,
    pub(crate) schedule: Schedule,
    pub(crate) stacks: stack::StackBook,
    masks: Vec<Vec<u32>>,
}

/// Assigns every statement to its file section and reads what describes machines and files.
pub(crate) fn settle(statements: &mut [Statement]) -> Result<Vec<FileSpec>, Error> {
    let mut files = vec![FileSpec::new("", Machine::default())];
    for statement in statements.iter_mut() {
        let line = statement.line;
        if statement.word == "file" {
            let base = files[0].machine.clone();
            files.push(FileSpec::new("", base));
        }
        statement.file = files.len() - 1;
        let spec = files.last_mut().expect("there is always a file");
        settle_one(statement, spec).map_err(|message| Error { line, message })?;
    }
    Ok(files)
}

fn settle_one(statement: &Statement, spec: &mut FileSpec) -> Result<(), String> {
    let reader = statement.reader();
    match statement.word.as_str() {
        "file" => {
            spec.suffix = match reader.need_word("a name")? {
                "main" => String::new(),
                name => name.to_string(),
            };
            spec.machine.apply(&reader)?;
        }
        "machine" => spec.machine.apply(&reader)?,
        "damage" => spec.damage(&reader)?,
        "flush" => spec.flush(&reader)?,
        _ => return Ok(()),
    }
    reader.finish()
}

/// Lowers settled statements for a variant.
pub(crate) fn lower(
    statements: &[Statement],
    mut files: Vec<FileSpec>,
    variant: &Variant,
) -> Result<Lower, Error> {
    let native_wide = files[0].machine.wide();
    for file in &mut files {
        variant.apply(&mut file.machine);
    }
    let mut lower = Lower {
        timelines: files.iter().map(|_| Timeline::default()).collect(),
        masks: files.iter().map(|_| vec![0; 8]).collect(),
        files,
        cast: Cast::new(native_wide),
        schedule: Schedule::default(),
        stacks: stack::StackBook::default(),
    };
    lower.each(statements, Lower::declare)?;
    lower.schedule.complete()?;
    lower.each(statements, Lower::begin)?;
    lower.write_switches()?;
    lower.each(statements, Lower::emit)?;
    let length_ns = lower.length_ns();
    lower.each(statements, |this, reader| this.end(reader, length_ns))?;
    lower.define_keys(length_ns).map_err(|message| Error { line: 0, message })?;
    Ok(lower)
}

impl Lower {
    fn each(
        &mut self,
        statements: &[Statement],
        mut step: impl FnMut(&mut Lower, &Reader<'_>) -> Result<(), String>,
    ) -> Result<(), Error> {
        for statement in statements {
            step(self, &statement.reader())
                .map_err(|message| Error { line: statement.line, message })?;
        }
        Ok(())
    }

    /// First pass: what other lines refer to.
    fn declare(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        match reader.statement.word.as_str() {
            "process" => self.declare_process(reader),
            "thread" => self.declare_thread(reader),
            "image" => self.declare_image(reader),
            "symbols" => self.declare_symbols(reader),
            "stack" => self.declare_stack(reader),
            "run" => {
                self.schedule.add_run(reader)?;
                self.check_ready_keys(reader)?;
                reader.finish()
            }
            "round-robin" => {
                self.schedule.add_round_robin(reader)?;
                reader.finish()
            }
            _ => Ok(()),
        }
    }

    /// Second pass, declarations without a leading time: live records and the opening rundown.
    fn begin(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        if reader.statement.time_ns.is_some() {
            return Ok(());
        }
        match reader.statement.word.as_str() {
            "process" => self.begin_process(reader),
            "thread" => self.begin_thread(reader),
            "image" => self.begin_image(reader),
            _ => Ok(()),
        }
    }

    /// Second pass, everything else.
    fn emit(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let timed = reader.statement.time_ns.is_some();
        match reader.statement.word.as_str() {
            "process" | "thread" | "image" if !timed => return Ok(()),
            "machine" | "file" | "damage" | "flush" | "symbols" | "stack" | "round-robin"
            | "scenario" => return Ok(()),
            "run" => return self.emit_run_ready(reader),
            "process" => self.emit_process(reader)?,
            "thread" => self.emit_thread(reader)?,
            "image" => self.emit_image(reader)?,
            "cswitch" => self.emit_cswitch(reader)?,
            "ready" => self.emit_ready(reader)?,
            "batch" => self.emit_batch(reader)?,
            "sample" => self.emit_sample(reader)?,
            "samples" => self.emit_samples(reader)?,
            "interval" => self.emit_interval(reader)?,
            "dpc" | "isr" => self.emit_interrupt(reader)?,
            "priority" => self.emit_priority(reader)?,
            "pmc" => self.emit_pmc(reader)?,
            "mark" => self.emit_mark(reader)?,
            "walk" => self.emit_walk(reader)?,
            "keydef" => self.emit_keydef(reader)?,
            "masks" => self.emit_masks(reader)?,
            "raw" => self.emit_raw(reader)?,
            "event" => self.emit_event(reader)?,
            "tl" => self.emit_tracelogging(reader)?,
            "metadata" => self.emit_metadata(reader)?,
            "manifest" => self.emit_manifest(reader)?,
            word => {
                let known = self.emit_system(word, reader)?
                    || self.emit_ui(word, reader)?
                    || self.emit_power(word, reader)?;
                if !known {
                    return Err(format!("'{word}' is no statement"));
                }
            }
        }
        reader.finish()
    }

    /// Second pass, at the very end: the closing rundown.
    fn end(&mut self, reader: &Reader<'_>, length_ns: Ns) -> Result<(), String> {
        if reader.statement.time_ns.is_some() {
            return Ok(());
        }
        match reader.statement.word.as_str() {
            "process" => self.end_process(reader, length_ns),
            "thread" => self.end_thread(reader, length_ns),
            "image" => self.end_image(reader, length_ns),
            _ => Ok(()),
        }
    }

    /// When the recording ends: as the machine says, else at its last record.
    fn length_ns(&self) -> Ns {
        let told = self.files[0].machine.length;
        told.unwrap_or_else(|| self.timelines.iter().map(Timeline::end_ns).max().unwrap_or(0))
    }

    /// The machine of a file.
    pub(crate) fn machine(&self, file: usize) -> &Machine {
        &self.files[file].machine
    }

    /// An empty payload of the kernel's width in a file.
    pub(crate) fn body(&self, file: usize) -> Body {
        Body::new(self.machine(file).wide())
    }

    /// An address of the scenario as this file's kernel writes it.
    pub(crate) fn address(&self, file: usize, address: u64) -> u64 {
        self.cast.translate(address, self.machine(file).wide())
    }

    /// Raw clock value of a time in a file.
    pub(crate) fn ticks(&self, file: usize, ns: Ns) -> Result<i64, String> {
        self.machine(file).ticks(ns)
    }

    /// Adds a finished record.
    pub(crate) fn push(&mut self, at: At, record: &[u8]) -> Result<(), String> {
        if record.len() > record::RECORD_BYTES_MAX {
            return Err("a record is larger than 65535 bytes".into());
        }
        if u32::from(at.cpu) >= self.machine(at.file).cpus {
            return Err(format!("there is no CPU {}", at.cpu));
        }
        self.timelines[at.file].push(at.ns, at.cpu, record);
        Ok(())
    }

    /// A kernel record whose header carries thread and process.
    pub(crate) fn push_system(
        &mut self,
        at: At,
        actor: (u32, u32),
        hook: u16,
        version: u8,
        payload: &Body,
    ) -> Result<(), String> {
        let (tid, pid) = actor;
        let header =
            SystemHeader { hook, version: version.into(), tid, pid, ..SystemHeader::default() };
        let ticks = self.ticks(at.file, at.ns)?;
        self.push(at, &record::system(&header, ticks, payload))
    }

    /// A kernel record without ids.
    pub(crate) fn push_perfinfo(
        &mut self,
        at: At,
        hook: u16,
        version: u8,
        payload: &Body,
    ) -> Result<(), String> {
        let ticks = self.ticks(at.file, at.ns)?;
        self.push(at, &record::perfinfo(hook, version, None, &[], ticks, payload))
    }

    /// A classic event as merge tools inject it.
    pub(crate) fn push_full(
        &mut self,
        at: At,
        header: &record::FullHeader,
        payload: &Body,
    ) -> Result<(), String> {
        let ticks = self.ticks(at.file, at.ns)?;
        self.push(at, &record::full(header, ticks, payload))
    }

    /// The CPU on which a thread runs at a time, by the schedule.
    pub(crate) fn cpu_of(&self, tid: u32, at_ns: Ns) -> Option<u16> {
        self.schedule.of_thread(tid, at_ns).map(|run| run.cpu)
    }

    /// Time, file and CPU of a line: `cpu=`, else where `tid` runs, else CPU 0.
    pub(crate) fn at(&self, reader: &Reader<'_>, tid: Option<u32>) -> Result<At, String> {
        let ns = reader.at()?;
        let cpu = match reader.get("cpu")? {
            Some(cpu) => cpu,
            None => tid.and_then(|tid| self.cpu_of(tid, ns)).unwrap_or(0),
        };
        Ok(At { file: reader.statement.file, ns, cpu })
    }

    /// Who logs a line: `tid=`, `pid=`, `cpu=`, completed from cast and schedule.
    pub(crate) fn actor(&self, reader: &Reader<'_>, at_ns: Ns) -> Result<Actor, String> {
        let tid: u32 = reader.or32("tid", 0)?;
        let pid = match reader.text("pid") {
            Some(text) => crate::text::field32(text)?,
            None => self.cast.pid_of(tid, at_ns),
        };
        let cpu = match reader.get("cpu")? {
            Some(cpu) => cpu,
            None => self.cpu_of(tid, at_ns).unwrap_or(0),
        };
        Ok(Actor { tid, pid, cpu })
    }

    /// A thread of a process that runs at a time, by the schedule.
    pub(crate) fn running_of(&self, pid: u32, at_ns: Ns) -> Option<Actor> {
        self.cast
            .threads
            .iter()
            .filter(|t| t.pid == pid)
            .find_map(|t| Some(Actor { tid: t.tid, pid, cpu: self.cpu_of(t.tid, at_ns)? }))
    }
}
