//! Sampling and other performance records: samples, intervals, DPC and ISR, counters, marks.
//!
//! Hooks 0F2E, 0F2F, 0F42 to 0F4A, 0F22, and the priority changes 0530 to 0534.

use super::{At, Lower};
use crate::schedule::Run;
use crate::text::{Reader, field32};

impl Lower {
    /// `TIME sample [tid=TID] [cpu=C] [at=FRAME] [prio=P] [rank=R] [dpc] [isr] [count=N] [stack=NAME]`
    pub(super) fn emit_sample(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let ns = reader.at()?;
        let told: Option<u32> = reader.text("tid").map(field32).transpose()?;
        let at = self.at(reader, told)?;
        let run = self.schedule.on_cpu(at.cpu, ns).copied();
        let tid = told.or(run.map(|r| r.tid)).unwrap_or(0);
        self.sample(reader, at, tid, "stack")
    }

    /// `samples every=TIME from=TIME to=TIME [cpus=0-3] [tids=1,2] [at=FRAME] [stack=NAME] [idle]`
    pub(super) fn emit_samples(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let every_ns = reader.time("every")?.filter(|t| *t > 0).ok_or("'samples' needs every=")?;
        let from_ns = reader.time("from")?.unwrap_or(reader.statement.base_ns);
        let to_ns = reader.time("to")?.ok_or("'samples' needs to=")?;
        let file = reader.statement.file;
        let cpus = match reader.text("cpus") {
            Some(list) => crate::text::number_list(list)?,
            None => (0..self.machine(file).cpus).collect(),
        };
        let tids = reader.text("tids").map(crate::text::number_list).transpose()?;
        let idle = reader.flag("idle");
        if (to_ns - from_ns) / every_ns > 5_000_000 {
            return Err("more than 5000000 samples".into());
        }
        let mut ns = from_ns;
        while ns < to_ns {
            for &cpu in &cpus {
                let run = self.schedule.on_cpu(cpu as u16, ns).copied();
                let chosen = |run: &Run| tids.as_ref().is_none_or(|t| t.contains(&run.tid));
                let tid = match run.filter(chosen) {
                    Some(run) => run.tid,
                    None if idle && run.is_none() => 0,
                    None => continue,
                };
                // Every sample reads the same keys, so each gets its own reader.
                let own = reader.statement.reader();
                self.sample(&own, At { file, ns, cpu: cpu as u16 }, tid, "stack")?;
            }
            ns += every_ns;
        }
        for key in ["at", "prio", "rank", "count", "stack", "v"] {
            reader.text(key);
        }
        for flag in ["dpc", "isr"] {
            reader.flag(flag);
        }
        Ok(())
    }

    fn sample(
        &mut self,
        reader: &Reader<'_>,
        at: At,
        tid: u32,
        stack_key: &str,
    ) -> Result<(), String> {
        let pid = self.cast.pid_of(tid, at.ns);
        let address = match reader.text("at") {
            Some(frame) => self.cast.address(frame, pid, at.ns)?,
            None => 0,
        };
        let stack = reader.text(stack_key);
        let address = match (address, stack) {
            (0, Some(name)) => {
                let frames = self.frames(name, at.file, pid, at.ns)?;
                frames.first().copied().unwrap_or(0)
            }
            _ => self.address(at.file, address),
        };
        let declared = self.cast.thread(tid, at.ns).map_or(0, |t| t.prio as u8);
        let prio: u8 = reader.or("prio", declared)?;
        let rank: u8 = reader.or("rank", 0)?;
        let flags = u8::from(reader.flag("dpc")) | u8::from(reader.flag("isr")) << 1;
        let version = reader.or("v", self.machine(at.file).sample_version())?;
        let mut body = self.body(at.file);
        body.ptr(address).u32(tid).u16(reader.or("count", 1)?);
        match version {
            0 | 1 => body.u16(0),
            _ => body.u8(flags | prio << 3).u8(rank),
        };
        self.push_perfinfo(at, 0x0F2E, version, &body)?;
        match stack {
            Some(name) => self.attach(name, at, tid),
            None => Ok(()),
        }
    }

    /// `TIME interval NEW [old=TIME] [source=N] [start|end] [name=TEXT] [v=N]`: times of the profile.
    pub(super) fn emit_interval(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let hook = match (reader.flag("start"), reader.flag("end")) {
            (true, _) => 0x0F49,
            (_, true) => 0x0F4A,
            _ => 0x0F48,
        };
        let new_ns = crate::time::parse(reader.need_word("an interval")?, 0)?;
        let old_ns = reader.time("old")?.unwrap_or(new_ns);
        let at = self.at(reader, None)?;
        let version = reader.or("v", 3)?;
        let mut body = self.body(at.file);
        body.u32(reader.or("source", 0)?).u32((new_ns / 100) as u32).u32((old_ns / 100) as u32);
        if version >= 3 {
            body.z16(reader.text("name").unwrap_or("Timer"));
        }
        let ids = self.actor(reader, at.ns)?;
        self.push_system(at, (ids.tid, ids.pid), hook, version, &body)
    }

    /// `TIME dpc|isr cpu=C for=TIME routine=FRAME [threaded|timer|io] [vector=N] [message=N]`: logged
    /// when it is done, so the leading time is its end.
    pub(super) fn emit_interrupt(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let at = self.at(reader, None)?;
        let length_ns = reader.time("for")?.ok_or("it needs for=")?;
        let routine = self.cast.address(reader.need_text("routine")?, 0, at.ns)?;
        let mut body = self.body(at.file);
        body.i64(self.ticks(at.file, at.ns - length_ns)?).ptr(self.address(at.file, routine));
        if reader.statement.word == "dpc" {
            let hook = match (reader.flag("threaded"), reader.flag("timer"), reader.flag("io")) {
                (true, ..) => 0x0F42,
                (_, true, _) => 0x0F45,
                (.., true) => 0x0F46,
                _ => 0x0F44,
            };
            return self.push_perfinfo(at, hook, 2, &body);
        }
        let message: Option<u32> = reader.get("message")?;
        let passive = reader.flag("passive");
        body.u8(reader.or("returned", 1)?).u16(reader.or("vector", 0x81)?).u8(0);
        if let Some(message) = message {
            body.u32(message);
        }
        let hook = match (message.is_some(), passive) {
            (true, _) => 0x0F32,
            (_, true) => 0x0F5F,
            _ => 0x0F43,
        };
        self.push_perfinfo(at, hook, 2, &body)
    }

    /// `TIME priority TID base|dynamic|page|io OLD NEW [by=TID]`: hooks 0530, 0531, 0533, 0534.
    pub(super) fn emit_priority(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tid = field32(reader.need_word("a thread id")?)?;
        let hook = match reader.need_word("a kind")? {
            "dynamic" => 0x0530,
            "base" => 0x0531,
            "page" => 0x0533,
            "io" => 0x0534,
            other => return Err(format!("'{other}' is no priority")),
        };
        let old: i8 = crate::text::field(reader.need_word("the old value")?)?;
        let new: i8 = crate::text::field(reader.need_word("the new value")?)?;
        let dynamic: i8 = reader.or("now", if hook == 0x0531 { new } else { 0 })?;
        let by = reader.or("by", tid)?;
        let at = self.at(reader, Some(by))?;
        let mut body = self.body(at.file);
        body.u32(tid).u8(old as u8).u8(new as u8).u8(dynamic as u8).u8(0);
        let pid = self.cast.pid_of(by, at.ns);
        self.push_system(at, (by, pid), hook, 3, &body)
    }

    /// `TIME pmc tid=TID [cpu=C] [at=FRAME] [source=N]`: a counter sample, hook 0F2F.
    pub(super) fn emit_pmc(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tid: u32 = reader.need("tid")?;
        let at = self.at(reader, Some(tid))?;
        let pid = self.cast.pid_of(tid, at.ns);
        let address = match reader.text("at") {
            Some(frame) => self.cast.address(frame, pid, at.ns)?,
            None => 0,
        };
        let mut body = self.body(at.file);
        body.ptr(self.address(at.file, address)).u32(tid).u16(reader.or("source", 2)?).u16(0);
        self.push_perfinfo(at, 0x0F2F, 2, &body)
    }

    /// `TIME mark "TEXT" [wide]`: hook 0F22.
    pub(super) fn emit_mark(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let text = reader.need_word("a text")?;
        let wide = reader.flag("wide");
        let ids = self.actor(reader, reader.at()?)?;
        let at = At { file: reader.statement.file, ns: reader.at()?, cpu: ids.cpu };
        let mut body = self.body(at.file);
        if wide {
            body.z16(text)
        } else {
            body.z8(text)
        };
        self.push_system(at, (ids.tid, ids.pid), 0x0F22, 2, &body)
    }

    /// `TIME masks WORD0[,WORD1...]|off`: the group masks change (hooks 0020 old, 0005 new).
    pub(super) fn emit_masks(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let at = self.at(reader, None)?;
        let mut new = match reader.need_word("masks")? {
            "off" => vec![0],
            list => {
                let words: Result<Vec<u32>, String> = list.split(',').map(field32).collect();
                words?
            }
        };
        new.resize(8, 0);
        let old = std::mem::replace(&mut self.masks[at.file], new.clone());
        let version = if self.machine(at.file).build < 10240 { 42 } else { 70 };
        let only_new = reader.flag("only-new");
        for (hook, masks) in [(0x20u16, old), (0x05, new)] {
            if hook == 0x20 && only_new {
                continue;
            }
            let mut body = self.body(at.file);
            for mask in masks {
                body.u32(mask);
            }
            body.u32(version);
            self.push_perfinfo(at, hook, 2, &body)?;
        }
        Ok(())
    }
}
