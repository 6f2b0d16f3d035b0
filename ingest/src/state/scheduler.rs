//! Who ran, who waited, who readied whom: context switches and ready events in time order become rows.
//!
//! The rules are those of the columns' documentation in `etwas_schema::cswitch`. One switch ends a run and
//! begins another; what it says of the old thread is recorded, what is known of the new thread is joined here.

use std::io;
use std::path::Path;

use etwas_schema::domain::PREEMPTION_REASONS;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use super::identity::{Identity, Index};
use super::rows::{NO_SEQ, RowStore, Seq};
use crate::event::cswitch::{
    CSwitch, READY_IN_DPC, READY_PROCESS_OUT, READY_STACK_OUT, ReadyThread,
};

/// A switch to another thread than the planned one shows within this time, or not at all.
const REPAIR_NS: i64 = 2_000_000;

/// Switches and ready events that stay reachable for late stacks.
const ROWS_KEPT: usize = 384 * 1024;

/// No thread.
pub const NO_THREAD: Index = Index::MAX;
/// No value in an `i16` column.
pub const NONE16: i16 = i16::MIN;
/// No value in an `i64` column.
pub const NONE64: i64 = i64::MIN;

/// A context switch on its way to its table. Absent values are `NONE16`, `NONE64`, `NO_THREAD`, `NO_SEQ`.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct SwitchRow {
    pub ts_ns: i64,
    pub run_ns: i64,
    pub since_last_ns: i64,
    pub ready_ns: i64,
    pub last_ready_ns: i64,
    pub new_wait_ticks: i64,
    pub old_remaining_quantum: i64,
    pub planned_tid: i64,
    pub new_thread: Index,
    pub old_thread: Index,
    pub readying_thread: Index,
    pub interrupted_thread: Index,
    pub ready_events: u32,
    pub new_kernel: u32,
    pub new_user: u32,
    pub ready_kernel: u32,
    pub ready_user: u32,
    pub readying_cpu: i32,
    pub cpu: u16,
    pub confirmed: i16,
    pub new_priority: i16,
    pub new_qos: i16,
    pub old_priority: i16,
    pub old_state: i16,
    pub old_wait_reason: i16,
    pub old_wait_mode: i16,
    pub old_rank: i16,
    pub old_qos: i16,
    pub old_ideal_cpu: i16,
    pub previous_c_state: i16,
    pub new_priority_decrement: i16,
    pub new_rank: i16,
    pub new_rank_before: i16,
    pub prev_priority: i16,
    pub out_priority: i16,
    pub new_ideal_cpu: i16,
    pub prev_state: i16,
    pub prev_wait_reason: i16,
    pub prev_wait_mode: i16,
    pub ready_flags: i16,
    pub ready_adjust_increment: i16,
    /// 1 where the user half came with the event's own time, not shared by another event.
    pub new_user_exact: i16,
}

/// A ready event on its way to its table.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
pub struct ReadyRow {
    pub ts_ns: i64,
    /// The switch whose columns name this event.
    pub consumed_by: Seq,
    pub thread: Index,
    pub readying_thread: Index,
    pub interrupted_thread: Index,
    pub kernel: u32,
    pub user: u32,
    pub cpu: u16,
    pub flags: u8,
    pub adjust_reason: u8,
    pub adjust_increment: i8,
    pub user_exact: u8,
    pub spare: [u8; 6],
}

/// What a thread's state needs of a ready event.
#[derive(Clone, Copy, Debug)]
struct ReadyRef {
    ts_ns: i64,
    seq: Seq,
    readying_thread: Index,
    interrupted_thread: Index,
    kernel: u32,
    user: u32,
    cpu: u16,
    flags: u8,
    adjust_increment: i8,
}

/// Ready events of a thread since it last came or went.
#[derive(Clone, Copy, Debug, Default)]
struct Readies {
    count: u32,
    first: Option<ReadyRef>,
    last: Option<ReadyRef>,
}

impl Readies {
    fn add(&mut self, event: ReadyRef) {
        self.count += 1;
        self.first.get_or_insert(event);
        self.last = Some(event);
    }

    /// These and the later ones of `other`.
    fn and(mut self, other: Readies) -> Readies {
        self.count += other.count;
        self.first = self.first.or(other.first);
        self.last = other.last.or(self.last);
        self
    }

    fn each(&mut self, change: impl Fn(&mut ReadyRef)) {
        self.first.iter_mut().for_each(&change);
        self.last.iter_mut().for_each(&change);
    }
}

/// How a thread last left a CPU.
#[derive(Clone, Copy, Debug)]
struct Out {
    ts_ns: i64,
    cpu: u16,
    state: i16,
    wait_reason: i16,
    wait_mode: i16,
    priority: i16,
    rank: i16,
}

/// What is known of a thread.
#[derive(Clone, Copy, Debug, Default)]
struct ThreadState {
    out: Option<Out>,
    /// Ready events between its last switch-in and its last switch-out.
    before: Readies,
    /// Ready events since it last came or went.
    since: Readies,
    seen: bool,
    running: bool,
}

/// The run that is open on a CPU.
#[derive(Clone, Debug)]
struct Run {
    row: Seq,
    thread: Index,
    tid: u32,
    ts_ns: i64,
    /// The thread's ready events as they were before this run used them.
    before: Readies,
    since: Readies,
    /// Ready events logged in this run.
    readies: Vec<Seq>,
    /// Other threads that logged on this CPU since the switch.
    strangers: Vec<u32>,
}

/// Strangers remembered of a run; there is hardly ever one.
const STRANGERS_MAX: usize = 8;

/// What the scheduler cannot know and counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchedulerCounts {
    /// Runs whose next switch names another old thread.
    pub broken_chains: u64,
    /// When that first happened.
    pub first_broken_ns: Option<i64>,
    /// Rows in which the planned thread was replaced by the real one.
    pub repaired: u64,
}

/// How and when a thread became ready.
struct Readiness {
    ready_ts_ns: Option<i64>,
    /// The event that names the waker.
    waker: Option<ReadyRef>,
    events: u32,
    last_ts_ns: Option<i64>,
}

/// A thread's state at the end.
#[derive(Clone, Copy, Debug)]
pub struct EndState {
    pub thread: Index,
    pub state: &'static str,
    pub since_ns: Option<i64>,
    pub wait_reason: i16,
    pub kernel: u32,
    pub user: u32,
    pub readying_thread: Index,
    pub last_out_ns: Option<i64>,
    pub prev_priority: i16,
    pub rank: i16,
    pub prev_state: i16,
    pub cpu: Option<u16>,
    pub not_resident: Option<bool>,
}

/// The scheduler's memory.
pub struct Scheduler {
    cpus: Vec<Option<Run>>,
    threads: Vec<ThreadState>,
    /// Switches.
    pub switches: RowStore<SwitchRow>,
    /// Ready events.
    pub readies: RowStore<ReadyRow>,
    /// What it could not know.
    pub counts: SchedulerCounts,
    /// No event was lost and no buffer damaged: a chain that does not fit is a replaced plan, not a hole.
    lossless: bool,
    /// Last sign of a gap: nothing is repaired across it.
    last_break_ns: i64,
}

fn narrow(value: Option<u8>) -> i16 {
    value.map_or(NONE16, i16::from)
}

fn signed(value: Option<i8>) -> i16 {
    value.map_or(NONE16, i16::from)
}

/// Whether a state is one of those of a thread that is ready: Ready, Standby, DeferredReady.
fn leaves_ready(state: i16) -> bool {
    matches!(state, 1 | 3 | 7)
}

const STATE_TERMINATED: i16 = 4;

/// When was the thread ready, and who made it so? `before`: events up to `out`; `since`: events after it.
fn readiness(out: Option<&Out>, before: &Readies, since: &Readies) -> Readiness {
    let last = since.last.or(before.last);
    let events = if since.count > 0 { since.count } else { before.count };
    let told = |ready_ts_ns, waker| Readiness {
        ready_ts_ns,
        waker,
        events,
        last_ts_ns: last.map(|event| event.ts_ns),
    };
    let Some(out) = out else {
        return told(since.first.map(|event| event.ts_ns), since.first);
    };
    if leaves_ready(out.state) {
        if PREEMPTION_REASONS.contains(&i32::from(out.wait_reason)) {
            return told(Some(out.ts_ns), None);
        }
        return told(Some(out.ts_ns), before.last.or(since.first));
    }
    match (since.first, before.last) {
        (Some(event), _) => told(Some(event.ts_ns), Some(event)),
        (None, Some(event)) => told(Some(out.ts_ns), Some(event)),
        (None, None) => told(None, None),
    }
}

impl Scheduler {
    /// A scheduler for a trace; `lossless` if nothing is known to be missing from it.
    pub fn new(lossless: bool, scratch: &Path) -> Scheduler {
        Scheduler {
            cpus: Vec::new(),
            threads: Vec::new(),
            switches: RowStore::new(ROWS_KEPT, scratch),
            readies: RowStore::new(ROWS_KEPT, scratch),
            counts: SchedulerCounts::default(),
            lossless,
            last_break_ns: i64::MIN,
        }
    }

    /// A gap, or a sign of one: sleep, wake, logging switched, a long silence.
    pub fn note_break(&mut self, ns: i64) {
        self.last_break_ns = ns;
    }

    /// The thread whose run is open on a CPU.
    pub fn current(&self, cpu: u16) -> Option<Index> {
        self.cpus.get(usize::from(cpu))?.as_ref().map(|run| run.thread)
    }

    /// The thread id of the run that is open on a CPU.
    #[inline]
    pub fn current_tid(&self, cpu: u16) -> Option<u32> {
        self.cpus.get(usize::from(cpu))?.as_ref().map(|run| run.tid)
    }

    /// A thread logged something on a CPU, which it can only do while it runs there.
    #[inline]
    pub fn note_logged(&mut self, cpu: u16, tid: u32) {
        if let Some(Some(run)) = self.cpus.get_mut(usize::from(cpu))
            && run.tid != tid
            && run.strangers.len() < STRANGERS_MAX
            && !run.strangers.contains(&tid)
        {
            run.strangers.push(tid);
        }
    }

    fn thread(&mut self, index: Index) -> &mut ThreadState {
        let at = index as usize;
        if self.threads.len() <= at {
            self.threads.resize(at + 1, ThreadState::default());
        }
        &mut self.threads[at]
    }

    /// A context switch. Gives the number of its row.
    pub fn switch(
        &mut self,
        identity: &mut Identity,
        ts_ns: i64,
        cpu: u16,
        event: &CSwitch,
    ) -> io::Result<Seq> {
        let slot = usize::from(cpu);
        if self.cpus.len() <= slot {
            self.cpus.resize(slot + 1, None);
        }
        let old = match self.cpus[slot].take() {
            Some(run) => self.end_run(identity, run, ts_ns, cpu, event)?,
            None => identity.thread_at(event.old_tid, ts_ns, cpu),
        };
        if event.old_tid != 0 {
            self.leave(old, ts_ns, cpu, event);
        }
        let new = identity.thread_at(event.new_tid, ts_ns, cpu);
        let mut row = new_row(ts_ns, cpu, old, new, event);
        let (before, since) = self.enter(&mut row, event.new_tid == 0);
        let seq = self.switches.push(row, true);
        self.mark_consumed(&row, &before, &since, seq)?;
        let (readies, strangers) = (Vec::new(), Vec::new());
        let tid = event.new_tid;
        self.cpus[slot] =
            Some(Run { row: seq, thread: new, tid, ts_ns, before, since, readies, strangers });
        Ok(seq)
    }

    /// A switch whose new thread nobody knows: the old thread leaves, and the CPU's record ends here.
    pub fn stop(
        &mut self,
        identity: &mut Identity,
        ts_ns: i64,
        cpu: u16,
        event: &CSwitch,
    ) -> io::Result<()> {
        let run = self.cpus.get_mut(usize::from(cpu)).and_then(Option::take);
        let old = match run {
            Some(run) => self.end_run(identity, run, ts_ns, cpu, event)?,
            None => identity.thread_at(event.old_tid, ts_ns, cpu),
        };
        if event.old_tid != 0 {
            self.leave(old, ts_ns, cpu, event);
        }
        Ok(())
    }

    /// Ends the run that was open; gives the thread that really ran.
    fn end_run(
        &mut self,
        identity: &mut Identity,
        mut run: Run,
        ts_ns: i64,
        cpu: u16,
        event: &CSwitch,
    ) -> io::Result<Index> {
        let agrees = run.tid == event.old_tid;
        let replaced = !agrees && self.is_replacement(&run, ts_ns, event.old_tid);
        let old = if agrees {
            run.thread
        } else {
            let at = if replaced { run.ts_ns } else { ts_ns };
            identity.thread_at(event.old_tid, at, cpu)
        };
        if replaced {
            self.replace_planned(&mut run, old, event.old_tid)?;
        }
        if agrees || replaced {
            let idle = event.old_tid == 0;
            self.switches.update(run.row, |row| {
                row.run_ns = ts_ns - row.ts_ns;
                row.confirmed = i16::from(agrees);
                row.new_rank = if idle { NONE16 } else { narrow(event.old_rank) };
                row.out_priority = signed(event.old_priority);
                row.new_ideal_cpu = narrow(event.old_ideal_cpu);
            })?;
        } else {
            self.counts.broken_chains += 1;
            self.counts.first_broken_ns.get_or_insert(ts_ns);
        }
        self.switches.close(run.row);
        for seq in &run.readies {
            self.readies.close(*seq);
        }
        Ok(old)
    }

    /// Whether another thread than the planned one ran: nothing was lost, no gap lies between, and the switches
    /// are close together or the other thread itself logged on this CPU.
    fn is_replacement(&self, run: &Run, ts_ns: i64, real_tid: u32) -> bool {
        let near = ts_ns - run.ts_ns <= REPAIR_NS || run.strangers.contains(&real_tid);
        self.lossless && self.last_break_ns <= run.ts_ns && near
    }

    /// The row of `run` becomes that of the thread that really ran.
    fn replace_planned(&mut self, run: &mut Run, real: Index, real_tid: u32) -> io::Result<()> {
        self.counts.repaired += 1;
        let planned = run.thread;
        let state = self.thread(planned);
        // The planned thread never ran: what it had before the switch is still ahead of it.
        state.since = run.since.and(state.since);
        state.before = run.before;
        state.running = false;
        let freed = [run.since, run.before];
        for event in freed.iter().flat_map(|readies| [readies.first, readies.last]).flatten() {
            self.readies.update(event.seq, |row| row.consumed_by = NO_SEQ)?;
        }
        let mut fresh = None;
        self.switches.update(run.row, |row| fresh = Some(*row))?;
        let Some(mut row) = fresh else { return Ok(()) };
        row.planned_tid = i64::from(run.tid);
        row.new_thread = real;
        row.new_priority = NONE16;
        row.new_qos = NONE16;
        row.new_wait_ticks = NONE64;
        row.new_priority_decrement = NONE16;
        forget_joined(&mut row);
        let (before, since) = self.enter(&mut row, real_tid == 0);
        self.switches.update(run.row, |slot| *slot = row)?;
        self.mark_consumed(&row, &before, &since, run.row)?;
        for index in 0..run.readies.len() {
            self.rename_readier(run.readies[index], real)?;
        }
        run.thread = real;
        run.tid = real_tid;
        Ok(())
    }

    /// A ready event was logged by `real`, not by the planned thread.
    fn rename_readier(&mut self, seq: Seq, real: Index) -> io::Result<()> {
        let mut target = None;
        self.readies.update(seq, |row| {
            if row.flags & READY_IN_DPC != 0 {
                row.interrupted_thread = real;
            } else {
                row.readying_thread = real;
            }
            target = Some((row.consumed_by, row.thread));
        })?;
        let Some((consumed_by, thread)) = target else { return Ok(()) };
        let rename = |event: &mut ReadyRef| {
            if event.seq == seq && event.flags & READY_IN_DPC != 0 {
                event.interrupted_thread = real;
            } else if event.seq == seq {
                event.readying_thread = real;
            }
        };
        let state = self.thread(thread);
        state.before.each(rename);
        state.since.each(rename);
        if consumed_by != NO_SEQ {
            self.switches.update(consumed_by, |row| {
                if row.interrupted_thread != NO_THREAD {
                    row.interrupted_thread = real;
                } else {
                    row.readying_thread = real;
                }
            })?;
        }
        Ok(())
    }

    /// Remembers how a thread leaves.
    fn leave(&mut self, thread: Index, ts_ns: i64, cpu: u16, event: &CSwitch) {
        let state = self.thread(thread);
        state.out = Some(Out {
            ts_ns,
            cpu,
            state: narrow(event.old_state),
            wait_reason: narrow(event.old_wait_reason),
            wait_mode: narrow(event.old_wait_mode),
            priority: signed(event.old_priority),
            rank: narrow(event.old_rank),
        });
        state.before = state.since;
        state.since = Readies::default();
        state.seen = true;
        state.running = false;
    }

    /// Joins what is known of the thread that `row` switches in, and takes its ready events, which are given back.
    fn enter(&mut self, row: &mut SwitchRow, idle: bool) -> (Readies, Readies) {
        if idle {
            return Default::default();
        }
        let ts_ns = row.ts_ns;
        let state = self.thread(row.new_thread);
        state.seen = true;
        state.running = true;
        let (before, since) = (std::mem::take(&mut state.before), std::mem::take(&mut state.since));
        if let Some(out) = &state.out {
            row.since_last_ns = ts_ns - out.ts_ns;
            row.prev_state = out.state;
            row.prev_wait_reason = out.wait_reason;
            row.prev_wait_mode = out.wait_mode;
            row.prev_priority = out.priority;
            row.new_rank_before = out.rank;
        }
        let ready = readiness(state.out.as_ref(), &before, &since);
        row.ready_ns = ready.ready_ts_ns.map_or(NONE64, |ready_ts_ns| ts_ns - ready_ts_ns);
        row.ready_events = ready.events;
        row.last_ready_ns = ready.last_ts_ns.unwrap_or(NONE64);
        if let Some(event) = ready.waker {
            row.readying_thread = event.readying_thread;
            row.interrupted_thread = event.interrupted_thread;
            row.readying_cpu = i32::from(event.cpu);
            row.ready_flags = i16::from(event.flags);
            row.ready_adjust_increment = i16::from(event.adjust_increment);
            row.ready_kernel = event.kernel;
            row.ready_user = event.user;
        }
        (before, since)
    }

    /// The ready event that a row names is told so, for stacks and names that come later.
    fn mark_consumed(
        &mut self,
        row: &SwitchRow,
        before: &Readies,
        since: &Readies,
        seq: Seq,
    ) -> io::Result<()> {
        if row.readying_cpu < 0 {
            return Ok(());
        }
        let state = self.threads.get(row.new_thread as usize);
        let out = state.and_then(|state| state.out.as_ref());
        if let Some(event) = readiness(out, before, since).waker {
            self.readies.update(event.seq, |ready| ready.consumed_by = seq)?;
        }
        Ok(())
    }

    /// A thread is made ready. Gives the number of the event's row.
    pub fn ready(&mut self, thread: Index, ts_ns: i64, cpu: u16, event: &ReadyThread) -> Seq {
        let in_dpc = event.flags & READY_IN_DPC != 0;
        let current = self.current(cpu).unwrap_or(NO_THREAD);
        let readying_thread = if in_dpc { NO_THREAD } else { current };
        let interrupted_thread = if in_dpc { current } else { NO_THREAD };
        let row = ReadyRow {
            ts_ns,
            consumed_by: NO_SEQ,
            thread,
            readying_thread,
            interrupted_thread,
            kernel: 0,
            user: 0,
            cpu,
            flags: event.flags,
            adjust_reason: event.adjust_reason,
            adjust_increment: event.adjust_increment,
            user_exact: 0,
            spare: [0; 6],
        };
        let open = current != NO_THREAD;
        let seq = self.readies.push(row, open);
        if let Some(Some(run)) = self.cpus.get_mut(usize::from(cpu)) {
            run.readies.push(seq);
        }
        let state = self.thread(thread);
        state.seen = true;
        state.since.add(ReadyRef {
            ts_ns,
            seq,
            readying_thread,
            interrupted_thread,
            kernel: 0,
            user: 0,
            cpu,
            flags: event.flags,
            adjust_increment: event.adjust_increment,
        });
        seq
    }

    /// A half of a ready event's stack came: its row, the switch that names it and the thread that still waits
    /// learn of it.
    pub fn ready_stack(
        &mut self,
        seq: Seq,
        change: impl Fn(&mut u32, &mut u32),
    ) -> io::Result<bool> {
        let mut target = None;
        let found = self.readies.update(seq, |row| {
            change(&mut row.kernel, &mut row.user);
            target = Some((row.consumed_by, row.thread, row.kernel, row.user));
        })?;
        let Some((consumed_by, thread, kernel, user)) = target else { return Ok(found) };
        if consumed_by != NO_SEQ {
            self.switches.update(consumed_by, |row| {
                row.ready_kernel = kernel;
                row.ready_user = user;
            })?;
        }
        let set = |event: &mut ReadyRef| {
            if event.seq == seq {
                event.kernel = kernel;
                event.user = user;
            }
        };
        let state = self.thread(thread);
        state.before.each(set);
        state.since.each(set);
        Ok(found)
    }

    /// What every thread was doing when the record of switches stopped; the idle threads are left out.
    pub fn end_states(&self, identity: &Identity, end_ns: i64) -> Vec<EndState> {
        let mut states = Vec::new();
        for (index, state) in self.threads.iter().enumerate() {
            let row = &identity.threads[index];
            let ended = identity.thread_lives.all()[index].end_ns.is_some_and(|end| end <= end_ns);
            if !state.seen || row.idle_cpu.is_some() || ended {
                continue;
            }
            if let Some(end) = self.end_state(index as Index, state) {
                states.push(end);
            }
        }
        states
    }

    fn end_state(&self, thread: Index, state: &ThreadState) -> Option<EndState> {
        let out = state.out.as_ref();
        let mut end = EndState {
            thread,
            state: "waiting",
            since_ns: out.map(|out| out.ts_ns),
            wait_reason: out.map_or(NONE16, |out| out.wait_reason),
            kernel: 0,
            user: 0,
            readying_thread: NO_THREAD,
            last_out_ns: out.map(|out| out.ts_ns),
            prev_priority: out.map_or(NONE16, |out| out.priority),
            rank: out.map_or(NONE16, |out| out.rank),
            prev_state: out.map_or(NONE16, |out| out.state),
            cpu: out.map(|out| out.cpu),
            not_resident: None,
        };
        if state.running {
            let run = self.cpus.iter().enumerate().find_map(|(cpu, run)| {
                run.as_ref().filter(|run| run.thread == thread).map(|run| (cpu as u16, run))
            });
            // A run whose chain is broken tells nothing of where the thread went.
            let (cpu, run) = run?;
            return Some(EndState {
                state: "running",
                since_ns: Some(run.ts_ns),
                wait_reason: NONE16,
                cpu: Some(cpu),
                ..end
            });
        }
        if out.is_some_and(|out| out.state == STATE_TERMINATED) {
            return None;
        }
        let ready = readiness(out, &state.before, &state.since);
        if let Some(ready_ts_ns) = ready.ready_ts_ns {
            end.state = "ready";
            end.since_ns = Some(ready_ts_ns);
            if let Some(event) = ready.waker {
                end.readying_thread = event.readying_thread;
                end.kernel = event.kernel;
                end.user = event.user;
                end.not_resident = Some(event.flags & (READY_STACK_OUT | READY_PROCESS_OUT) != 0);
            }
        } else if out.is_none() {
            return None;
        }
        Some(end)
    }
}

/// A row with what the event records; the joined columns are empty.
fn new_row(ts_ns: i64, cpu: u16, old: Index, new: Index, event: &CSwitch) -> SwitchRow {
    let mut row = SwitchRow {
        ts_ns,
        run_ns: NONE64,
        since_last_ns: NONE64,
        ready_ns: NONE64,
        last_ready_ns: NONE64,
        new_wait_ticks: event.new_wait_ticks.map_or(NONE64, i64::from),
        old_remaining_quantum: event.old_remaining_quantum.map_or(NONE64, i64::from),
        planned_tid: NONE64,
        new_thread: new,
        old_thread: old,
        readying_thread: NO_THREAD,
        interrupted_thread: NO_THREAD,
        ready_events: 0,
        new_kernel: 0,
        new_user: 0,
        ready_kernel: 0,
        ready_user: 0,
        readying_cpu: -1,
        cpu,
        confirmed: NONE16,
        new_priority: signed(event.new_priority),
        new_qos: narrow(event.new_qos),
        old_priority: signed(event.old_priority),
        old_state: narrow(event.old_state),
        old_wait_reason: narrow(event.old_wait_reason),
        old_wait_mode: narrow(event.old_wait_mode),
        old_rank: narrow(event.old_rank),
        old_qos: narrow(event.old_qos),
        old_ideal_cpu: narrow(event.old_ideal_cpu),
        previous_c_state: narrow(event.previous_c_state),
        new_priority_decrement: signed(event.new_priority_decrement),
        new_rank: NONE16,
        new_rank_before: NONE16,
        prev_priority: NONE16,
        out_priority: NONE16,
        new_ideal_cpu: NONE16,
        prev_state: NONE16,
        prev_wait_reason: NONE16,
        prev_wait_mode: NONE16,
        ready_flags: NONE16,
        ready_adjust_increment: NONE16,
        new_user_exact: 0,
    };
    forget_joined(&mut row);
    row
}

/// Empties the columns that [`Scheduler::enter`] joins.
fn forget_joined(row: &mut SwitchRow) {
    row.since_last_ns = NONE64;
    row.ready_ns = NONE64;
    row.last_ready_ns = NONE64;
    row.readying_thread = NO_THREAD;
    row.interrupted_thread = NO_THREAD;
    row.ready_events = 0;
    row.ready_kernel = 0;
    row.ready_user = 0;
    row.readying_cpu = -1;
    row.new_rank_before = NONE16;
    row.prev_priority = NONE16;
    row.prev_state = NONE16;
    row.prev_wait_reason = NONE16;
    row.prev_wait_mode = NONE16;
    row.ready_flags = NONE16;
    row.ready_adjust_increment = NONE16;
}
