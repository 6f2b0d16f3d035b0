//! Who runs where and when, as `run` and `round-robin` lines tell it.
//!
//! The schedule is lowered to context switches that agree with each other: between two runs of a
//! CPU that do not touch, the idle thread runs. It also answers who runs on a CPU at a time, so that
//! other lines need not say where they happen.

use std::collections::HashMap;

use crate::Error;
use crate::text::{Reader, number_list};
use crate::time::Ns;
use crate::values;

/// Most runs a scenario may have.
const RUNS_MAX: usize = 12_000_000;

/// What a thread shows when it leaves, and how it came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunShape {
    pub(crate) prio: Option<i8>,
    pub(crate) out_prio: Option<i8>,
    pub(crate) state: u8,
    pub(crate) reason: u8,
    pub(crate) mode: u8,
    pub(crate) rank: u8,
    pub(crate) qos: u8,
    pub(crate) out_qos: u8,
    pub(crate) ideal: Option<u8>,
    pub(crate) quantum: i32,
    pub(crate) cstate: u8,
    pub(crate) wait_ticks: Option<u32>,
    pub(crate) decrement: i8,
    pub(crate) extra: u32,
}

impl RunShape {
    /// Reads the keys that `run`, `round-robin` and `cswitch` share.
    pub(crate) fn read(reader: &Reader<'_>) -> Result<RunShape, String> {
        let (state, reason) = values::leaving(reader.text("out").unwrap_or("waiting:UserRequest"))?;
        let mode = match reader.text("mode") {
            None | Some("user") => 1,
            Some("kernel") => 0,
            Some(_) => return Err("mode is user or kernel".into()),
        };
        let prio = reader.get("prio")?;
        let qos = reader.or("qos", 0)?;
        Ok(RunShape {
            prio,
            out_prio: reader.get("out_prio")?.or(prio),
            state,
            reason,
            mode,
            rank: reader.or("rank", 0)?,
            qos,
            out_qos: reader.or("out_qos", qos)?,
            ideal: reader.get("ideal")?,
            quantum: reader.or("quantum", 0)?,
            cstate: reader.or("cstate", 0)?,
            wait_ticks: reader.get("ticks")?,
            decrement: reader.or("dec", 0)?,
            extra: reader.or32("extra", 0)?,
        })
    }
}

/// One stretch of a thread on a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    pub(crate) line: u32,
    pub(crate) file: u16,
    pub(crate) cpu: u16,
    pub(crate) tid: u32,
    pub(crate) from_ns: Ns,
    /// None: still running at the end.
    pub(crate) to_ns: Option<Ns>,
    /// Runs already when the recording begins: no switch brings it in.
    pub(crate) already: bool,
    /// Index of its shape; many runs share one.
    pub(crate) shape: u32,
    /// Index of its stack name plus one, 0 for none.
    pub(crate) stack: u32,
}

/// All runs, sorted by CPU and time once complete.
#[derive(Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) runs: Vec<Run>,
    pub(crate) shapes: Vec<RunShape>,
    pub(crate) stack_names: Vec<String>,
    of_thread: HashMap<u32, Vec<u32>>,
    of_cpu: HashMap<u16, (usize, usize)>,
}

impl Schedule {
    /// A `run` line.
    pub(crate) fn add_run(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let (from_ns, to_ns) = span(reader)?;
        let run = Run {
            line: reader.statement.line as u32,
            file: reader.statement.file as u16,
            cpu: reader.need("cpu")?,
            tid: reader.need("tid")?,
            from_ns,
            to_ns,
            already: reader.flag("already"),
            shape: self.shape(RunShape::read(reader)?),
            stack: self.stack(reader.text("stack")),
        };
        if run.tid == 0 {
            return Err("the idle thread runs by itself between other runs".into());
        }
        self.push(run)
    }

    /// A `round-robin` line: threads take turns on CPUs, a quantum each.
    pub(crate) fn add_round_robin(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let tids = number_list(reader.need_text("tids")?)?;
        let cpus = number_list(reader.need_text("cpus")?)?;
        let from_ns = reader.time("from")?.unwrap_or(reader.statement.base_ns);
        let to_ns = reader.time("to")?.ok_or("'round-robin' needs to=")?;
        let quantum_ns = reader.time("quantum")?.ok_or("'round-robin' needs quantum=")?;
        let out = reader.text("last").unwrap_or("waiting:UserRequest");
        let mut between = RunShape::read(reader)?;
        let last = values::leaving(out)?;
        if reader.statement.args.iter().all(|a| !is_out(a)) {
            (between.state, between.reason) = (1, 30);
        }
        let ending = RunShape { state: last.0, reason: last.1, ..between };
        let (between, ending) = (self.shape(between), self.shape(ending));
        if quantum_ns <= 0 || to_ns <= from_ns {
            return Err("'round-robin' needs time".into());
        }
        let turns = Turns { tids, cpus, from_ns, to_ns, quantum_ns };
        let slots = (to_ns - from_ns + quantum_ns - 1) / quantum_ns;
        if slots as usize > RUNS_MAX {
            return Err(format!("more than {RUNS_MAX} runs"));
        }
        let proto = Run {
            line: reader.statement.line as u32,
            file: reader.statement.file as u16,
            cpu: 0,
            tid: 0,
            from_ns,
            to_ns: None,
            already: false,
            shape: between,
            stack: self.stack(reader.text("stack")),
        };
        turns.write(slots, proto, ending, self)
    }

    fn shape(&mut self, shape: RunShape) -> u32 {
        self.shapes.push(shape);
        self.shapes.len() as u32 - 1
    }

    fn stack(&mut self, name: Option<&str>) -> u32 {
        let Some(name) = name else { return 0 };
        let at = self.stack_names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.stack_names.push(name.to_string());
            self.stack_names.len() - 1
        });
        at as u32 + 1
    }

    fn push(&mut self, run: Run) -> Result<(), String> {
        if self.runs.len() >= RUNS_MAX {
            return Err(format!("more than {RUNS_MAX} runs"));
        }
        if run.to_ns.is_some_and(|to_ns| to_ns <= run.from_ns) {
            return Err("a run ends after it begins".into());
        }
        self.runs.push(run);
        Ok(())
    }

    /// Sorts the runs, refuses overlaps, and builds the look-ups.
    pub(crate) fn complete(&mut self) -> Result<(), Error> {
        self.runs.sort_by_key(|r| (r.cpu, r.from_ns));
        for pair in self.runs.windows(2) {
            let (a, b) = (&pair[0], &pair[1]);
            if a.cpu == b.cpu && a.to_ns.is_none_or(|to_ns| to_ns > b.from_ns) {
                let message = format!(
                    "CPU {} still runs thread {} (line {}) when thread {} comes",
                    a.cpu, a.tid, a.line, b.tid
                );
                return Err(Error { line: b.line as usize, message });
            }
        }
        for (at, run) in self.runs.iter().enumerate() {
            self.of_thread.entry(run.tid).or_default().push(at as u32);
            self.of_cpu.entry(run.cpu).or_insert((at, at)).1 = at + 1;
        }
        for list in self.of_thread.values_mut() {
            list.sort_by_key(|&at| self.runs[at as usize].from_ns);
        }
        Ok(())
    }

    /// The run on a CPU at a time; at the instant of a switch, the one that comes.
    pub(crate) fn on_cpu(&self, cpu: u16, at_ns: Ns) -> Option<&Run> {
        let &(low, high) = self.of_cpu.get(&cpu)?;
        let runs = &self.runs[low..high];
        let begun = runs.partition_point(|r| r.from_ns <= at_ns);
        let run = runs.get(begun.checked_sub(1)?)?;
        run.to_ns.is_none_or(|to_ns| at_ns < to_ns).then_some(run)
    }

    /// The run of a thread at a time, both of its ends included.
    pub(crate) fn of_thread(&self, tid: u32, at_ns: Ns) -> Option<&Run> {
        let list = self.of_thread.get(&tid)?;
        let begun = list.partition_point(|&at| self.runs[at as usize].from_ns <= at_ns);
        let run = &self.runs[*list.get(begun.checked_sub(1)?)? as usize];
        run.to_ns.is_none_or(|to_ns| at_ns <= to_ns).then_some(run)
    }

    /// When a thread last left a CPU before a time.
    pub(crate) fn last_out(&self, tid: u32, before_ns: Ns) -> Option<Ns> {
        let list = self.of_thread.get(&tid)?;
        let begun = list.partition_point(|&at| self.runs[at as usize].from_ns < before_ns);
        self.runs[*list.get(begun.checked_sub(1)?)? as usize].to_ns
    }
}

fn is_out(arg: &crate::text::Arg) -> bool {
    matches!(arg, crate::text::Arg::Pair(key, _) if key == "out")
}

/// `from=` (or the line's time, or a repeat's start) and `to=`, `for=`, or `open`.
fn span(reader: &Reader<'_>) -> Result<(Ns, Option<Ns>), String> {
    let from_ns = match (reader.time("from")?, reader.statement.time_ns) {
        (Some(from_ns), _) | (None, Some(from_ns)) => from_ns,
        (None, None) => return Err("'run' needs from=".into()),
    };
    let to_ns = match (reader.time("to")?, reader.text("for")) {
        (Some(to_ns), None) => Some(to_ns),
        (None, Some(length)) => Some(from_ns + crate::time::parse(length, 0)?),
        (None, None) if reader.flag("open") => None,
        _ => return Err("'run' needs one of to=, for=, open".into()),
    };
    Ok((from_ns, to_ns))
}

struct Turns {
    tids: Vec<u32>,
    cpus: Vec<u32>,
    from_ns: Ns,
    to_ns: Ns,
    quantum_ns: Ns,
}

impl Turns {
    /// Adds the runs. The last run of each thread leaves as `ending` says: nobody stays behind, ready
    /// for ever, when the turns are over.
    fn write(
        &self,
        slots: i64,
        proto: Run,
        ending: u32,
        schedule: &mut Schedule,
    ) -> Result<(), String> {
        let width = self.tids.len().min(self.cpus.len());
        let mut last_of: HashMap<u32, usize> = HashMap::new();
        for (column, &cpu) in self.cpus.iter().take(width).enumerate() {
            let mut open: Option<usize> = None;
            for slot in 0..slots {
                let at = (slot as usize * width + column) % self.tids.len();
                let from_ns = self.from_ns + slot * self.quantum_ns;
                let to_ns = Some((from_ns + self.quantum_ns).min(self.to_ns));
                let (cpu, tid) = (cpu as u16, self.tids[at]);
                match open {
                    Some(place) if schedule.runs[place].tid == tid => {
                        schedule.runs[place].to_ns = to_ns;
                    }
                    _ => {
                        open = Some(schedule.runs.len());
                        schedule.push(Run { cpu, tid, from_ns, to_ns, ..proto })?;
                    }
                }
                let place = open.unwrap_or_default();
                let last = last_of.entry(tid).or_insert(place);
                if schedule.runs[*last].to_ns < schedule.runs[place].to_ns {
                    *last = place;
                }
            }
        }
        for place in last_of.into_values() {
            schedule.runs[place].shape = ending;
        }
        Ok(())
    }
}

/// One context switch, ready to be laid out.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switch {
    pub(crate) new_tid: u32,
    pub(crate) old_tid: u32,
    pub(crate) new_prio: i8,
    pub(crate) old_prio: i8,
    /// Byte 10: rank or C-state (quantum in version 1).
    pub(crate) byte10: u8,
    /// Byte 11: priority decrement (quantum of the old thread in version 1).
    pub(crate) byte11: i8,
    pub(crate) reason: u8,
    pub(crate) mode: u8,
    pub(crate) old_qos: u8,
    pub(crate) new_qos: u8,
    pub(crate) state: u8,
    pub(crate) ideal: u8,
    pub(crate) wait_ticks: u32,
    pub(crate) quantum: i32,
    pub(crate) extra: u32,
}

impl Switch {
    /// The payload of hook 0x0524 in a version.
    pub(crate) fn payload(&self, version: u8, wide: bool) -> crate::body::Body {
        let mut body = crate::body::Body::new(wide);
        body.u32(self.new_tid).u32(self.old_tid);
        body.u8(self.new_prio as u8).u8(self.old_prio as u8);
        body.u8(self.byte10).u8(self.byte11 as u8).u8(self.reason);
        let flags = match version {
            0..=3 => self.mode,
            _ => self.mode & 1 | (self.old_qos & 7) << 1 | (self.new_qos & 7) << 4,
        };
        body.u8(flags).u8(self.state).u8(self.ideal);
        if version >= 2 {
            body.u32(self.wait_ticks).u32(self.quantum as u32);
        }
        if version >= 5 {
            body.u32(self.extra);
        }
        body
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::hex_bytes;

    #[test]
    fn a_version_5_switch_of_windows_11() {
        // The first of the public samples: idle to thread 3388.
        let switch = Switch {
            new_tid: 0x0d3c,
            new_prio: 8,
            byte10: 1,
            state: 2,
            ideal: 0x3e,
            quantum: 0x4fd6_b203,
            extra: 2,
            ..Switch::default()
        };
        let hex = "3c0d000000000000 08000100 0000023e 00000000 03b2d64f 02000000";
        assert_eq!(switch.payload(5, true).bytes, hex_bytes(hex).unwrap());
        assert_eq!(switch.payload(1, true).bytes.len(), 16);
        assert_eq!(switch.payload(2, false).bytes.len(), 24);
    }

    #[test]
    fn quality_of_service_stands_beside_the_wait_mode() {
        let switch = Switch { mode: 1, old_qos: 2, new_qos: 1, ..Switch::default() };
        assert_eq!(switch.payload(4, true).bytes[13], 0b0001_0101);
        assert_eq!(switch.payload(2, true).bytes[13], 1);
    }

    #[test]
    fn threads_take_turns() {
        let line = "round-robin tids=1,2,3 cpus=0-1 from=0 to=30ms quantum=10ms prio=8";
        let words = crate::text::tokens(line).unwrap();
        let statement = crate::text::Statement::from_tokens(1, 0, words).unwrap();
        let mut schedule = Schedule::default();
        schedule.add_round_robin(&statement.reader()).unwrap();
        schedule.complete().unwrap();
        let order: Vec<_> = schedule.runs.iter().map(|r| (r.cpu, r.tid, r.from_ns)).collect();
        let ms = 1_000_000;
        assert_eq!(
            order,
            [
                (0, 1, 0),
                (0, 3, 10 * ms),
                (0, 2, 20 * ms),
                (1, 2, 0),
                (1, 1, 10 * ms),
                (1, 3, 20 * ms)
            ]
        );
        assert_eq!(schedule.on_cpu(1, 10 * ms).map(|r| r.tid), Some(1));
        assert_eq!(schedule.last_out(3, 20 * ms), Some(20 * ms));
        assert_eq!(schedule.last_out(2, 20 * ms), Some(10 * ms));
    }
}
