//! Context switches, ready events and compact batches: hooks 0524, 0525, 0532.
//!
//! `run` lines become switches that agree with each other; `cswitch` and `ready` write single records
//! exactly as told.

use super::{At, Lower};
use crate::Error;
use crate::schedule::{Run, RunShape, Switch};
use crate::text::{Reader, field32};
use crate::time::Ns;

/// The idle thread: id 0, state running when it leaves.
const IDLE: u32 = 0;
const STATE_RUNNING: u8 = 2;

/// One side of a switch made from the schedule.
#[derive(Clone, Copy)]
struct Side {
    tid: u32,
    shape: Option<RunShape>,
    prio: i8,
}

impl Lower {
    /// Writes every switch of the schedule.
    pub(super) fn write_switches(&mut self) -> Result<(), Error> {
        let mut before: Option<Run> = None;
        for at in 0..self.schedule.runs.len() {
            let run = self.schedule.runs[at];
            let earlier = before.filter(|b| b.cpu == run.cpu);
            let fail = |message: String| Error { line: run.line as usize, message };
            let touches = earlier.is_some_and(|b| b.to_ns == Some(run.from_ns));
            if !run.already {
                let old = earlier.filter(|_| touches);
                self.write_switch(&run, run.from_ns, old, Some(run)).map_err(fail)?;
            }
            let next = self.schedule.runs.get(at + 1).filter(|n| n.cpu == run.cpu);
            let followed = next.is_some_and(|n| Some(n.from_ns) == run.to_ns && !n.already);
            if let (Some(to_ns), false) = (run.to_ns, followed) {
                self.write_switch(&run, to_ns, Some(run), None).map_err(fail)?;
            }
            before = Some(run);
        }
        Ok(())
    }

    fn side(&self, run: Option<Run>, file: usize, leaving: bool) -> Side {
        let Some(run) = run else {
            return Side { tid: IDLE, shape: None, prio: self.machine(file).idle_prio };
        };
        let shape = self.schedule.shapes[run.shape as usize];
        let declared = self.cast.thread(run.tid, run.from_ns).map_or(8, |t| t.prio);
        let told = if leaving { shape.out_prio } else { shape.prio };
        Side { tid: run.tid, shape: Some(shape), prio: told.unwrap_or(declared) }
    }

    fn write_switch(
        &mut self,
        place: &Run,
        ns: Ns,
        old: Option<Run>,
        new: Option<Run>,
    ) -> Result<(), String> {
        let file = place.file as usize;
        let version = self.machine(file).cswitch_version();
        let (leaves, comes) = (self.side(old, file, true), self.side(new, file, false));
        let cstate = comes.shape.map_or(0, |s| s.cstate);
        let waited = new.and_then(|run| self.wait_ticks(&run));
        let switch = Switch {
            new_tid: comes.tid,
            old_tid: leaves.tid,
            new_prio: comes.prio,
            old_prio: leaves.prio,
            byte10: leaves.shape.map_or(cstate, |s| s.rank),
            byte11: comes.shape.map_or(0, |s| s.decrement),
            reason: leaves.shape.map_or(0, |s| s.reason),
            mode: leaves.shape.map_or(0, |s| s.mode),
            old_qos: leaves.shape.map_or(0, |s| s.out_qos),
            new_qos: comes.shape.map_or(0, |s| s.qos),
            state: leaves.shape.map_or(STATE_RUNNING, |s| s.state),
            ideal: leaves.shape.and_then(|s| s.ideal).unwrap_or(place.cpu as u8),
            wait_ticks: comes.shape.and_then(|s| s.wait_ticks).or(waited).unwrap_or(0),
            quantum: leaves.shape.map_or(0, |s| s.quantum),
            extra: comes.shape.map_or(0, |s| s.extra),
        };
        let at = At { file, ns, cpu: place.cpu };
        let body = switch.payload(version, self.machine(file).wide());
        self.push_perfinfo(at, 0x0524, version, &body)?;
        match new.filter(|run| run.stack > 0) {
            Some(run) => {
                let name = self.schedule.stack_names[run.stack as usize - 1].clone();
                self.attach(&name, at, run.tid)
            }
            None => Ok(()),
        }
    }

    /// Clock ticks since a thread left, as the kernel counts them.
    fn wait_ticks(&self, run: &Run) -> Option<u32> {
        let out_ns = self.schedule.last_out(run.tid, run.from_ns)?;
        let tick_ns = i64::from(self.machine(run.file as usize).resolution) * 100;
        u32::try_from((run.from_ns - out_ns) / tick_ns.max(1)).ok()
    }

    /// `TIME cswitch cpu=C new=TID old=TID ...`: one record, nothing filled in.
    pub(super) fn emit_cswitch(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let new: u32 = reader.need("new")?;
        let old: u32 = reader.need("old")?;
        let at = At { file: reader.statement.file, ns: reader.at()?, cpu: reader.need("cpu")? };
        let told_out = reader.statement.args.iter().any(is_out);
        let shape = RunShape::read(reader)?;
        let (state, reason) = match told_out || old != IDLE {
            true => (shape.state, shape.reason),
            false => (STATE_RUNNING, 0),
        };
        let prio = |tid| match tid {
            IDLE => self.machine(at.file).idle_prio,
            _ => self.cast.thread(tid, at.ns).map_or(8, |t| t.prio),
        };
        let switch = Switch {
            new_tid: new,
            old_tid: old,
            new_prio: reader.or("new_prio", prio(new))?,
            old_prio: reader.or("old_prio", prio(old))?,
            byte10: reader.or("byte10", if old == IDLE { shape.cstate } else { shape.rank })?,
            byte11: reader.or("byte11", shape.decrement)?,
            reason,
            mode: if old == IDLE && !told_out { 0 } else { shape.mode },
            old_qos: shape.out_qos,
            new_qos: shape.qos,
            state,
            ideal: shape.ideal.unwrap_or(at.cpu as u8),
            wait_ticks: shape.wait_ticks.unwrap_or(0),
            quantum: shape.quantum,
            extra: shape.extra,
        };
        let version = reader.or("v", self.machine(at.file).cswitch_version())?;
        let body = switch.payload(version, self.machine(at.file).wide());
        self.push_perfinfo(at, 0x0524, version, &body)?;
        match reader.text("stack") {
            Some(name) => self.attach(name, at, new),
            None => Ok(()),
        }
    }

    /// `TIME ready TID by=TID|cpu=C [dpc] [kernel-stack-out] [process-out] [direct] [adjust=R:I]`
    pub(super) fn emit_ready(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tid = field32(reader.need_word("the thread that is woken")?)?;
        self.ready(reader, tid, reader.at()?, "stack")
    }

    /// Whether a `run` line may have its ready keys; they are read in the second pass.
    pub(super) fn check_ready_keys(&self, reader: &Reader<'_>) -> Result<(), String> {
        for key in ["ready", "by", "ready_cpu", "ready_stack", "adjust"] {
            reader.text(key);
        }
        for flag in ["dpc", "kernel-stack-out", "process-out", "direct"] {
            reader.flag(flag);
        }
        Ok(())
    }

    /// The ready event of a `run ... ready=TIME by=TID` line.
    pub(super) fn emit_run_ready(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        match reader.time("ready")? {
            Some(ns) => self.ready(reader, reader.need("tid")?, ns, "ready_stack"),
            None => Ok(()),
        }
    }

    fn ready(
        &mut self,
        reader: &Reader<'_>,
        tid: u32,
        ns: Ns,
        stack_key: &str,
    ) -> Result<(), String> {
        let cpu_key = if stack_key == "stack" { "cpu" } else { "ready_cpu" };
        let by: Option<u32> = reader.get("by")?;
        let cpu = match (reader.get(cpu_key)?, by) {
            (Some(cpu), _) => cpu,
            (None, Some(by)) => self
                .cpu_of(by, ns)
                .ok_or_else(|| format!("thread {by} does not run then, so cpu= is needed"))?,
            (None, None) => return Err("'ready' needs by= or cpu=".into()),
        };
        let at = At { file: reader.statement.file, ns, cpu };
        let (reason, increment) = match reader.text("adjust") {
            None => (0, 0),
            Some(text) => adjust(text)?,
        };
        let mut flags = 0;
        for (bit, flag) in ["dpc", "kernel-stack-out", "process-out", "direct"].iter().enumerate() {
            flags |= u8::from(reader.flag(flag)) << bit;
        }
        let mut body = self.body(at.file);
        body.u32(tid).u8(reason).u8(increment as u8).u8(flags).u8(0);
        self.push_perfinfo(at, 0x0532, 2, &body)?;
        let Some(name) = reader.text(stack_key) else { return Ok(()) };
        let runs = self.schedule.on_cpu(cpu, ns).map(|r| r.tid);
        let walker = by.or(runs).ok_or("no thread is known to run there, so by= is needed")?;
        self.attach(name, at, walker)
    }

    /// `TIME batch cpu=C from=TIME tids=1,2 prios=8,9 : short:DELTA idle:DELTA lite:TID,INC,CODE,DELTA
    /// full:TID,CODE,PRIO,WAIT,DELTA`: one compact batch; deltas are times since the switch before.
    pub(super) fn emit_batch(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let at = At { file: reader.statement.file, ns: reader.at()?, cpu: reader.need("cpu")? };
        let first_ns = reader.time("from")?.ok_or("'batch' needs from=")?;
        let tids = crate::text::number_list(reader.need_text("tids")?)?;
        if tids.len() > 16 {
            return Err("a batch has at most 16 threads".into());
        }
        let mut prios = [0u8; 16];
        for (place, text) in prios.iter_mut().zip(reader.text("prios").unwrap_or("").split(',')) {
            *place = if text.is_empty() { 0 } else { crate::text::field(text)? };
        }
        let mut body = self.body(at.file);
        body.i64(self.ticks(at.file, first_ns)?);
        for index in 0..16 {
            body.u32(tids.get(index).copied().unwrap_or(0));
        }
        body.raw(&prios);
        for item in &reader.statement.items {
            self.batch_entry(&mut body, at.file, item, &tids)?;
        }
        self.push_perfinfo(at, 0x0525, 2, &body)
    }

    fn batch_entry(
        &self,
        body: &mut crate::body::Body,
        file: usize,
        item: &str,
        tids: &[u32],
    ) -> Result<(), String> {
        let (kind, rest) = item.split_once(':').ok_or("a batch entry is KIND:FIELDS")?;
        let fields: Vec<&str> = rest.split(',').collect();
        let number = |at: usize| -> Result<u64, String> {
            crate::text::field(fields.get(at).ok_or("a field is missing")?)
        };
        let delta = |bits: u32| -> Result<u64, String> {
            let text = fields.last().ok_or("a delta is missing")?;
            let ticks = self.ticks(file, crate::time::parse(text, 0)?)? - self.ticks(file, 0)?;
            u64::try_from(ticks).ok().filter(|t| t >> bits == 0).ok_or("a delta is too long".into())
        };
        let index = || -> Result<u64, String> {
            let tid = number(0)?;
            let at = tids.iter().position(|t| u64::from(*t) == tid);
            at.map(|at| at as u64).ok_or_else(|| format!("thread {tid} is not in tids="))
        };
        match kind {
            "short" => body.u16((delta(14)? << 2) as u16),
            "idle" => body.u32((1 | delta(30)? << 2) as u32),
            "lite" => {
                let (increment, code) = (number(1)? & 7, number(2)? & 63);
                let word = 2 | index()? << 2 | increment << 6 | code << 9 | delta(17)? << 15;
                body.u32(word as u32)
            }
            "full" => {
                let (code, prio, wait) = (number(1)? & 63, number(2)? & 31, number(3)? & 0x1FFFF);
                let high = index()? | code << 4 | prio << 10 | wait << 15;
                body.u64(3 | delta(30)? << 2 | high << 32)
            }
            _ => return Err(format!("'{kind}' is no batch entry")),
        };
        Ok(())
    }
}

fn is_out(arg: &crate::text::Arg) -> bool {
    matches!(arg, crate::text::Arg::Pair(key, _) if key == "out")
}

fn adjust(text: &str) -> Result<(u8, i8), String> {
    let (reason, increment) = text.split_once(':').unwrap_or((text, "0"));
    let reason = match reason {
        "none" => 0,
        "unwait" => 1,
        "boost" => 2,
        other => crate::text::field(other)?,
    };
    Ok((reason, crate::text::field(increment)?))
}
