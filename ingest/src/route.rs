//! The switchboard: which event fills which table. One match over the typed events; everything that has to be
//! remembered is asked of `state`, everything that is written goes to `sink`.

mod power;

use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int64Array};
use etwas_schema as schema;
use zerocopy::{FromBytes, Immutable, IntoBytes};

use crate::census::{Census, ClassKey, Fate};
use crate::etl::{Clock, EventId, Guid, NO_ID, RawEvent, RecordKind};
use crate::event::cswitch::{
    CSwitch, READY_DIRECT, READY_IN_DPC, READY_PROCESS_OUT, READY_STACK_OUT,
};
use crate::event::generic::{Schemas, Undecoded};
use crate::event::payload::TextRepairs;
use crate::event::perfinfo::Sample;
use crate::event::stackwalk::{Frames, StackTarget, is_kernel_address};
use crate::event::thread::PriorityChange;
use crate::event::win32k::{Focus, UiDelay};
use crate::event::{self, Event, Phase, names, uiforetw};
use crate::gaps::Gaps;
use crate::health::{Count, Health};
use crate::sink::{Tables, with_column};
use crate::state::identity::{Identity, Index, Space, key};
use crate::state::power::PowerState;
use crate::state::rows::{RowStore, Seq};
use crate::state::scheduler::{NO_THREAD, NONE16, NONE64, ReadyRow, Scheduler, SwitchRow};
use crate::state::stacks::{Definitions, NO_FRAGMENT, Stacks, Target};
use crate::survey::CompactEvent;

/// Samples that stay reachable for late stacks.
const SAMPLES_KEPT: usize = 128 * 1024;

/// Rows are drained after this many events.
const DRAIN_EVERY: u64 = 4096;

/// Generic events in a batch, and batches that stay reachable for late stacks.
const GENERIC_BATCH: usize = 4096;
const GENERIC_BATCHES_KEPT: usize = 8;

/// Bytes of a payload that are kept where its fields cannot be named.
const PAYLOAD_MAX: usize = 4096;

/// Sampling intervals that can be: 1 us to 10 s, in 100 ns.
const INTERVALS_POSSIBLE: std::ops::RangeInclusive<u32> = 10..=100_000_000;

/// Extended items.
const ITEM_RELATED_ACTIVITY: u16 = 1;
const ITEM_STACK32: u16 = 5;
const ITEM_STACK64: u16 = 6;
const ITEM_STACK_KEY32: u16 = 17;
const ITEM_STACK_KEY64: u16 = 18;

/// A sample on its way to its table.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
#[repr(C)]
struct SampleRow {
    ts_ns: i64,
    address: u64,
    weight_ns: i64,
    thread: Index,
    kernel: u32,
    user: u32,
    cpu: u16,
    priority: i16,
    rank: i16,
    /// Bit 0 DPC, bit 1 ISR; `NONE16` in version 1.
    flags: i16,
    user_exact: u32,
}

/// Generic events are built at once; only their stacks may still come.
#[derive(Default)]
struct GenericRows {
    /// Fragments of the rows in the builder.
    building: Vec<(u32, u32)>,
    /// Finished batches with the fragments of their rows.
    waiting: std::collections::VecDeque<(schema::RecordBatch, Vec<(u32, u32)>)>,
    /// Number of the first row that is still here.
    first: Seq,
}

/// What is left when all events have been routed.
pub struct Parts<'a> {
    pub identity: &'a Identity,
    pub tables: Tables,
    pub census: Census,
    pub health: Health,
    pub gaps: Gaps,
    pub scheduler: Scheduler,
    pub stacks: Stacks,
}

/// Everything the pass in time order needs.
pub struct Router<'a> {
    pub identity: &'a mut Identity,
    pub schemas: &'a Schemas,
    pub definitions: &'a Definitions,
    pub compact: &'a [CompactEvent],
    pub tables: Tables,
    pub census: Census,
    pub health: Health,
    pub gaps: Gaps,
    pub scheduler: Scheduler,
    pub stacks: Stacks,
    pub repairs: TextRepairs,
    pub power: PowerState,
    samples: RowStore<SampleRow>,
    generic: GenericRows,
    clocks: Vec<Clock>,
    build: u32,
    compact_next: usize,
    sample_weight_ns: i64,
    events: u64,
    /// Counts module events, so that interned stacks are looked up anew after them.
    image_epoch: u32,
    fields: String,
    addresses: Vec<u64>,
}

fn id(value: u32) -> Option<i64> {
    (value != NO_ID).then_some(i64::from(value))
}

fn opt16(value: i16) -> Option<i32> {
    (value != NONE16).then_some(i32::from(value))
}

fn opt64(value: i64) -> Option<i64> {
    (value != NONE64).then_some(value)
}

fn thread_key(thread: Index) -> Option<i64> {
    (thread != NO_THREAD).then(|| key(thread))
}

impl<'a> Router<'a> {
    /// A router for a trace.
    pub fn new(
        identity: &'a mut Identity,
        schemas: &'a Schemas,
        definitions: &'a Definitions,
        compact: &'a [CompactEvent],
        tables: Tables,
        clocks: Vec<Clock>,
        build: u32,
        lossless: bool,
        periodic: bool,
        scratch: &Path,
    ) -> Router<'a> {
        Router {
            identity,
            schemas,
            definitions,
            compact,
            tables,
            census: Census::default(),
            health: Health::default(),
            gaps: Gaps::new(periodic),
            scheduler: Scheduler::new(lossless, scratch),
            stacks: Stacks::default(),
            repairs: TextRepairs::default(),
            power: PowerState::default(),
            samples: RowStore::new(SAMPLES_KEPT, scratch),
            generic: GenericRows::default(),
            clocks,
            build,
            compact_next: 0,
            sample_weight_ns: NONE64,
            events: 0,
            image_epoch: 0,
            fields: String::new(),
            addresses: Vec::new(),
        }
    }

    /// The parts, for what is written at the end.
    pub fn into_parts(mut self) -> Parts<'a> {
        self.health.add(Count::text_surrogates, self.repairs.surrogates);
        self.health.add(Count::text_not_utf8, self.repairs.not_utf8);
        Parts {
            identity: self.identity,
            tables: self.tables,
            census: self.census,
            health: self.health,
            gaps: self.gaps,
            scheduler: self.scheduler,
            stacks: self.stacks,
        }
    }

    /// One event, in time order.
    pub fn event(&mut self, file: usize, raw: &RawEvent<'_>) -> io::Result<()> {
        while let Some(switch) = self.compact.get(self.compact_next)
            && switch.ticks <= raw.ticks
        {
            self.compact_next += 1;
            self.compact_switch(file, switch)?;
        }
        let ns = self.clocks[file].ns(raw.ticks);
        if self.gaps.note(ns) {
            self.scheduler.note_break(ns);
        }
        let schemas = self.schemas;
        let class = self.census.class(raw, |raw| describe(schemas, raw));
        let decoded = event::decode(raw, self.build);
        let rundown =
            matches!(&decoded, Event::Thread(t) if !matches!(t.phase, Phase::Start | Phase::End));
        if raw.tid != NO_ID && raw.kind != RecordKind::Message && !rundown {
            self.scheduler.note_logged(raw.cpu, raw.tid);
        }
        let fate = self.dispatch(raw, &decoded, ns, class)?;
        self.census.count(class, fate, raw.bytes, ns);
        match fate {
            Fate::Malformed => self.health.at(Count::events_malformed, ns),
            Fate::Unknown => self.health.at(Count::events_unknown, ns),
            _ => {}
        }
        self.events += 1;
        if self.events.is_multiple_of(DRAIN_EVERY) { self.drain(false) } else { Ok(()) }
    }

    fn dispatch(
        &mut self,
        raw: &RawEvent<'_>,
        decoded: &Event<'_>,
        ns: i64,
        class: u32,
    ) -> io::Result<Fate> {
        let fate = match decoded {
            Event::CSwitch(switch) => {
                let seq = self.scheduler.switch(self.identity, ns, raw.cpu, switch)?;
                let target = Target::Switch(seq);
                self.stacks.note_event(raw.ticks, Some(switch.new_tid), raw.cpu, target);
                return Ok(Fate::Stored("cswitch"));
            }
            Event::Ready(ready) => {
                let thread = self.identity.thread_at(ready.tid, ns, raw.cpu);
                let seq = self.scheduler.ready(thread, ns, raw.cpu, ready);
                let tid = self.scheduler.current_tid(raw.cpu);
                self.stacks.note_event(raw.ticks, tid, raw.cpu, Target::Ready(seq));
                return Ok(Fate::Stored("ready"));
            }
            Event::Sample(sample) => return self.sample(raw, sample, ns),
            Event::Stack(target, frames) => return self.stack(raw, *target, *frames, ns),
            Event::StackKey(target, key, kernel) => {
                return self.stack_key(raw, *target, *key, *kernel, ns);
            }
            Event::StackDefinition(..) => return Ok(Fate::Stored("stack")),
            Event::Generic => return self.generic_event(raw, ns),
            Event::Power(power) if !self.has_cpu(power) => return self.generic_event(raw, ns),
            Event::Malformed if matches!(raw.id, EventId::Manifest { .. }) => {
                // What a table of its own cannot take is kept as it is.
                self.generic_event(raw, ns)?;
                return Ok(Fate::Malformed);
            }
            Event::CSwitchBatch => Fate::Stored("cswitch"),
            Event::Thread(_) => Fate::Stored("thread"),
            Event::ThreadName(_) => Fate::Stored("thread"),
            Event::Process(_) | Event::Terminate(_) => Fate::Stored("process"),
            Event::Image(_) => {
                self.image_epoch += 1;
                Fate::Stored("image")
            }
            Event::ImageIdentity(_) => return Ok(Fate::Stored("image")),
            Event::SysConfig(_) => Fate::Stored("trace"),
            Event::Schema => return Ok(Fate::Known),
            Event::ManifestProcess(_) if self.identity.from_manifest.processes => {
                Fate::Stored("process")
            }
            Event::ManifestThread(_) if self.identity.from_manifest.threads => {
                Fate::Stored("thread")
            }
            Event::ManifestImage(_) if self.identity.from_manifest.images => {
                self.image_epoch += 1;
                Fate::Stored("image")
            }
            Event::ManifestProcess(_) | Event::ManifestThread(_) | Event::ManifestImage(_) => {
                return self.generic_event(raw, ns);
            }
            _ => self.plain(raw, decoded, ns)?,
        };
        if may_have_stack(raw) {
            let tid = (raw.tid != NO_ID).then_some(raw.tid);
            let tid = tid.or_else(|| self.scheduler.current_tid(raw.cpu));
            self.stacks.note_event(raw.ticks, tid, raw.cpu, Target::Other(class));
        }
        Ok(fate)
    }

    /// Events that become one row at once, without a stack.
    fn plain(&mut self, raw: &RawEvent<'_>, decoded: &Event<'_>, ns: i64) -> io::Result<Fate> {
        let fate = match decoded {
            Event::Priority(change) => self.priority_change(raw, change, "kernel", ns)?,
            Event::ManifestPriority(change) => {
                self.priority_change(raw, change, "kernel_process", ns)?
            }
            Event::SampleInterval(interval) => {
                let collection_ends = matches!(raw.id, EventId::Kernel { hook: 0x0F4A, .. });
                if interval.source == 0 && !collection_ends {
                    let possible = INTERVALS_POSSIBLE.contains(&interval.interval_100ns);
                    self.sample_weight_ns =
                        if possible { i64::from(interval.interval_100ns) * 100 } else { NONE64 };
                    if !possible {
                        self.health.at(Count::sample_interval_invalid, ns);
                    }
                }
                Fate::Known
            }
            Event::Interrupt(interrupt) => {
                let start = self.kernel_clock().ns(interrupt.initial_ticks);
                let image = self.identity.image_at(Space::Kernel, interrupt.routine, ns);
                let module = image.map(|image| self.identity.images[image as usize].path.as_str());
                self.tables.dpc_isr.builder.push(&schema::dpc_isr::Row {
                    start_ts_ns: start,
                    duration_ns: ns - start,
                    cpu: i32::from(raw.cpu),
                    kind: interrupt.kind,
                    routine: interrupt.routine,
                    module: module.map(crate::state::facts::file_name),
                });
                self.tables.dpc_isr.flush_if_full()?;
                Fate::Stored("dpc_isr")
            }
            Event::Mark(mark) => {
                let text = mark.text(&mut self.repairs);
                self.mark(ns, &text, "kernel")?
            }
            Event::UserMark(id) => match uiforetw::mark_text(raw, *id, &mut self.repairs) {
                Some(text) => self.mark(ns, &text, "Multi-Main")?,
                None => Fate::Malformed,
            },
            Event::GroupMasks(word) => {
                self.gaps.masks(ns, *word != 0);
                self.scheduler.note_break(ns);
                Fate::Known
            }
            Event::OldGroupMasks => Fate::Known,
            Event::UiDelay(delay) => self.ui_delay(raw, delay, ns)?,
            Event::Focus(focus) => self.focus(focus, ns)?,
            Event::Freeze(freeze) => {
                let process = self.identity.process_at(freeze.pid, ns);
                let by =
                    (raw.pid != NO_ID).then(|| self.identity.process_at(raw.pid, ns)).flatten();
                self.tables.process_freeze.builder.push(&schema::process_freeze::Row {
                    ts_ns: ns,
                    process_key: process.map(key),
                    pid: i64::from(freeze.pid),
                    state: if freeze.frozen { "frozen" } else { "thawed" },
                    by_process_key: by.map(key),
                });
                self.tables.process_freeze.flush_if_full()?;
                Fate::Stored("process_freeze")
            }
            Event::Input(input) => {
                let name = input.name.map(|name| name.text(&mut self.repairs));
                self.tables.input_event.builder.push(&schema::input_event::Row {
                    ts_ns: ns,
                    kind: input.kind,
                    code: input.code,
                    name: name.as_deref(),
                    pid: i64::from(raw.pid),
                });
                self.tables.input_event.flush_if_full()?;
                Fate::Stored("input_event")
            }
            Event::Power(power) => self.power(raw, power, ns)?,
            Event::IdleState(idle) => self.idle_state(raw.cpu, idle, ns)?,
            Event::Known => Fate::Known,
            Event::Malformed => Fate::Malformed,
            _ => Fate::Unknown,
        };
        Ok(fate)
    }

    fn kernel_clock(&self) -> &Clock {
        // Kernel events come from one session; its files share one clock.
        &self.clocks[0]
    }

    fn compact_switch(&mut self, file: usize, switch: &CompactEvent) -> io::Result<()> {
        let ns = self.clocks[file].ns(switch.ticks);
        let event = CSwitch {
            new_tid: switch.new_tid.unwrap_or(0),
            old_tid: switch.old_tid,
            old_priority: switch.old_priority,
            new_wait_ticks: switch.new_wait_ticks,
            ..CSwitch::default()
        };
        if switch.new_tid.is_none() {
            self.health.at(Count::compact_switches_open, ns);
            return self.scheduler.stop(self.identity, ns, switch.cpu, &event);
        }
        let seq = self.scheduler.switch(self.identity, ns, switch.cpu, &event)?;
        self.stacks.note_event(switch.ticks, switch.new_tid, switch.cpu, Target::Switch(seq));
        Ok(())
    }

    fn sample(&mut self, raw: &RawEvent<'_>, sample: &Sample, ns: i64) -> io::Result<Fate> {
        self.scheduler.note_logged(raw.cpu, sample.tid);
        let version = match raw.id {
            EventId::Kernel { version, .. } => version,
            _ => 0,
        };
        let ranked = CSwitch::has_rank(version, self.build);
        let thread = self.identity.thread_at(sample.tid, ns, raw.cpu);
        let flags = sample.flags;
        let row = SampleRow {
            ts_ns: ns,
            address: sample.address,
            weight_ns: self.sample_weight_ns,
            thread,
            kernel: NO_FRAGMENT,
            user: NO_FRAGMENT,
            cpu: raw.cpu,
            priority: flags.map_or(NONE16, |(flags, _)| i16::from(flags >> 3)),
            rank: flags.filter(|_| ranked).map_or(NONE16, |(_, rank)| i16::from(rank)),
            flags: flags.map_or(NONE16, |(flags, _)| i16::from(flags & 3)),
            user_exact: 0,
        };
        let seq = self.samples.push(row, false);
        self.stacks.note_event(raw.ticks, Some(sample.tid), raw.cpu, Target::Sample(seq));
        Ok(Fate::Stored("sample"))
    }

    fn priority_change(
        &mut self,
        raw: &RawEvent<'_>,
        change: &PriorityChange,
        source: &str,
        ns: i64,
    ) -> io::Result<Fate> {
        let thread = self.identity.thread_at(change.tid, ns, raw.cpu);
        let process = self.identity.threads[thread as usize].process;
        self.tables.priority_change.builder.push(&schema::priority_change::Row {
            ts_ns: ns,
            thread_key: key(thread),
            process_key: process.map(key),
            tid: i64::from(change.tid),
            kind: change.kind.name(),
            old_value: i32::from(change.old),
            new_value: i32::from(change.new),
            source,
        });
        self.tables.priority_change.flush_if_full()?;
        Ok(Fate::Stored("priority_change"))
    }

    fn mark(&mut self, ns: i64, text: &str, source: &str) -> io::Result<Fate> {
        self.tables.mark.builder.push(&schema::mark::Row { ts_ns: ns, text, source });
        self.tables.mark.flush_if_full()?;
        Ok(Fate::Stored("mark"))
    }

    fn ui_delay(&mut self, raw: &RawEvent<'_>, delay: &UiDelay<'_>, ns: i64) -> io::Result<Fate> {
        let tid = delay.tid.unwrap_or(raw.tid);
        let pid = delay.pid.unwrap_or(raw.pid);
        let thread = self.identity.known_thread_at(tid, ns);
        let process = thread.and_then(|thread| self.identity.threads[thread as usize].process);
        let process = process.or_else(|| self.identity.process_at(pid, ns));
        let duration_ns = delay.delay_ms.map(|ms| i64::from(ms) * 1_000_000);
        let window_class = delay.window_class.map(|text| text.text(&mut self.repairs));
        let image_path = delay.image_path.map(|text| text.text(&mut self.repairs));
        self.tables.ui_delay.builder.push(&schema::ui_delay::Row {
            ts_ns: ns - duration_ns.unwrap_or(0),
            duration_ns,
            thread_key: thread.map(key),
            process_key: process.map(key),
            tid: i64::from(tid),
            pid: i64::from(pid),
            window_class: window_class.as_deref(),
            image_path: image_path.as_deref(),
            message_id: delay.message_id.map(i64::from),
            kind: delay.kind,
        });
        self.tables.ui_delay.flush_if_full()?;
        Ok(Fate::Stored("ui_delay"))
    }

    fn focus(&mut self, focus: &Focus, ns: i64) -> io::Result<Fate> {
        let thread = focus.tid.and_then(|tid| self.identity.known_thread_at(tid, ns));
        let row = thread.map(|thread| &self.identity.threads[thread as usize]);
        let process = row.and_then(|row| row.process);
        let pid = focus.pid.or_else(|| row.and_then(|row| row.pid)).unwrap_or(0);
        let process = process.or_else(|| self.identity.process_at(pid, ns));
        self.tables.focus.builder.push(&schema::focus::Row {
            ts_ns: ns,
            process_key: process.map(key),
            pid: i64::from(pid),
            kind: focus.kind,
        });
        self.tables.focus.flush_if_full()?;
        Ok(Fate::Stored("focus"))
    }
}

// Stacks.
impl Router<'_> {
    fn space_of(&self, pid: u32, tid: u32, ns: i64) -> Space {
        let thread = self.identity.known_thread_at(tid, ns);
        let process = thread.and_then(|thread| self.identity.threads[thread as usize].process);
        match process.or_else(|| self.identity.process_at(pid, ns)) {
            Some(process) => Space::Process(process),
            None => Space::Unnamed(pid),
        }
    }

    /// Interns frames as a kernel and a user fragment.
    fn fragments(&mut self, target: StackTarget, ns: i64, wide: bool) -> (u32, u32) {
        let space = self.space_of(target.pid, target.tid, ns);
        let size = if wide { 8 } else { 4 };
        let addresses = std::mem::take(&mut self.addresses);
        let halves =
            self.stacks.intern(self.identity, space, self.image_epoch, ns, &addresses, |a| {
                is_kernel_address(a, size)
            });
        self.addresses = addresses;
        halves
    }

    fn stack(
        &mut self,
        raw: &RawEvent<'_>,
        target: StackTarget,
        frames: Frames<'_>,
        ns: i64,
    ) -> io::Result<Fate> {
        self.addresses.clear();
        self.addresses.extend(frames.iter());
        let halves = self.fragments(target, ns, frames.pointer_size() == 8);
        self.attach(raw, target, halves, ns)
    }

    fn stack_key(
        &mut self,
        raw: &RawEvent<'_>,
        target: StackTarget,
        key: u64,
        kernel: bool,
        ns: i64,
    ) -> io::Result<Fate> {
        self.addresses.clear();
        match self.definitions.find(key, kernel, raw.ticks) {
            Some(frames) => self.addresses.extend_from_slice(frames),
            None => {
                self.stacks.counts.unresolved_keys += 1;
                self.health.at(Count::stack_keys_unresolved, ns);
                // The event is found all the same, so that a record is matched or counted.
                self.stacks.find_event(target.ticks, target.tid, raw.cpu);
                return Ok(Fate::Known);
            }
        }
        let (a, b) = self.fragments(target, ns, raw.pointer_size == 8);
        // The table that the key is of decides, should an address lie in the other half.
        let halves = match (a, b) {
            (a, NO_FRAGMENT) if !kernel => (NO_FRAGMENT, a),
            halves => halves,
        };
        self.attach(raw, target, halves, ns)
    }

    /// Gives the halves to the event they belong to, and a user half to every kernel half that waits for one.
    fn attach(
        &mut self,
        raw: &RawEvent<'_>,
        target: StackTarget,
        (kernel, user): (u32, u32),
        ns: i64,
    ) -> io::Result<Fate> {
        self.scheduler.note_logged(raw.cpu, target.tid);
        let event = self.stacks.find_event(target.ticks, target.tid, raw.cpu);
        let mut fate = Fate::Known;
        if let Some(event) = event {
            match event {
                Target::Other(class) => self.count_not_stored(class),
                _ if self.give(event, kernel, user, true)? => {
                    self.stacks.counts.attached += 1;
                    fate = Fate::Stored("stack");
                }
                _ => self.stacks.counts.too_late += 1,
            }
        } else {
            self.health.first(Count::stacks_unmatched, Some(ns));
        }
        if user != NO_FRAGMENT {
            let waiting = self.stacks.take_waiting(target.tid);
            // A sample without a kernel half was taken in user mode: the thread had left the kernel before.
            let in_kernel = !self.is_user_sample(event)?;
            for other in waiting.into_iter().filter(|other| in_kernel && Some(*other) != event) {
                self.give(other, NO_FRAGMENT, user, false)?;
            }
        } else if let Some(event) = event.filter(|event| !matches!(event, Target::Other(_))) {
            self.stacks.wait_for_user(target.tid, event);
        }
        Ok(fate)
    }

    fn is_user_sample(&mut self, event: Option<Target>) -> io::Result<bool> {
        let Some(Target::Sample(seq)) = event else { return Ok(false) };
        let mut user_only = false;
        self.samples.update(seq, |row| user_only = row.kernel == NO_FRAGMENT)?;
        Ok(user_only)
    }

    fn count_not_stored(&mut self, class: u32) {
        self.stacks.counts.not_stored += 1;
        let name = class_label(self.census.get(class).key);
        *self.health.stacks_by_class.entry(name).or_default() += 1;
    }

    /// Adds halves to a row's stack. `exact`: the record names this very event; a shared user half never
    /// replaces one that does. False where the row is gone.
    fn give(&mut self, target: Target, kernel: u32, user: u32, exact: bool) -> io::Result<bool> {
        let stacks = &mut self.stacks;
        match target {
            Target::Switch(seq) => self.scheduler.switches.update(seq, |row| {
                let was_exact = row.new_user_exact != 0;
                add_halves(
                    stacks,
                    &mut row.new_kernel,
                    &mut row.new_user,
                    was_exact,
                    kernel,
                    user,
                    exact,
                );
                row.new_user_exact |= i16::from(exact && user != NO_FRAGMENT);
            }),
            Target::Ready(seq) => {
                let stacks = std::cell::RefCell::new(stacks);
                let mut was_exact = false;
                self.scheduler.readies.update(seq, |row| {
                    was_exact = row.user_exact != 0;
                    row.user_exact |= u8::from(exact && user != NO_FRAGMENT);
                })?;
                self.scheduler.ready_stack(seq, |k, u| {
                    add_halves(&mut stacks.borrow_mut(), k, u, was_exact, kernel, user, exact);
                })
            }
            Target::Sample(seq) => self.samples.update(seq, |row| {
                let was_exact = row.user_exact != 0;
                add_halves(stacks, &mut row.kernel, &mut row.user, was_exact, kernel, user, exact);
                row.user_exact |= u32::from(exact && user != NO_FRAGMENT);
            }),
            Target::Generic(seq) => Ok(self.generic.row(seq).is_some_and(|(k, u)| {
                let was_exact = *u != NO_FRAGMENT;
                add_halves(stacks, k, u, was_exact, kernel, user, exact);
                true
            })),
            Target::Other(_) => Ok(true),
        }
    }
}

/// Adds the halves of one record to those of a row.
fn add_halves(
    stacks: &mut Stacks,
    row_kernel: &mut u32,
    row_user: &mut u32,
    user_was_exact: bool,
    kernel: u32,
    user: u32,
    exact: bool,
) {
    if kernel != NO_FRAGMENT {
        *row_kernel = stacks.join(*row_kernel, kernel);
    }
    if user == NO_FRAGMENT {
        return;
    }
    if exact {
        // A second record of the event's own continues the first; what was shared gives way.
        *row_user = if user_was_exact { stacks.join(*row_user, user) } else { user };
    } else if *row_user == NO_FRAGMENT {
        *row_user = user;
    }
}

/// How a class is named in a health counter.
fn class_label(class: ClassKey) -> String {
    match class {
        ClassKey::Kernel { hook, .. } => {
            let group = names::group_name(hook).unwrap_or("group");
            let name = names::hook_name(hook).unwrap_or("event");
            format!("{group}/{name} ({hook:04x})")
        }
        ClassKey::Classic { class, opcode, .. } => match names::classic_name(class, opcode) {
            Some((provider, name)) => format!("{provider}/{name}"),
            None => format!("{class}/{opcode}"),
        },
        ClassKey::Manifest { provider, id, .. } => format!("{provider}/{id}"),
        ClassKey::Message { guid, number } => format!("{guid}/{number}"),
        ClassKey::Opaque { marker } => format!("{marker:08x}"),
    }
}

/// Whether a stack record can belong to an event: what a merge adds carries the times of other events, and a
/// counter record those of its switch.
fn may_have_stack(raw: &RawEvent<'_>) -> bool {
    match raw.id {
        EventId::Kernel { hook, .. } => hook != 0x0F2F,
        EventId::Classic { class, .. } => {
            ![event::IMAGE_ID, event::EVENT_METADATA, event::SYS_CONFIG_EX].contains(&class)
        }
        _ => true,
    }
}

/// Provider and event name of a class, for the census.
fn describe(schemas: &Schemas, raw: &RawEvent<'_>) -> (Option<String>, Option<String>) {
    let owned = |text: &str| Some(text.to_owned());
    match raw.id {
        EventId::Kernel { hook, .. } => {
            (names::group_name(hook).and_then(owned), names::hook_name(hook).and_then(owned))
        }
        EventId::Classic { class, opcode, .. } => match names::classic_name(class, opcode) {
            Some((provider, name)) => (owned(provider), owned(name)),
            None => match names::group_of_class(class) {
                Some(group) => {
                    let hook = u16::from(group) << 8 | u16::from(opcode);
                    (
                        names::group_name(hook).and_then(owned),
                        names::hook_name(hook).and_then(owned),
                    )
                }
                None => (None, None),
            },
        },
        EventId::Manifest { .. } => {
            let name = schemas.name(raw);
            (name.provider.map(str::to_owned), name.event.map(str::to_owned))
        }
        EventId::Message { .. } => (None, None),
        EventId::Opaque { .. } => (None, None),
    }
}

// Generic events.
impl GenericRows {
    fn next(&self) -> Seq {
        let waiting: usize = self.waiting.iter().map(|(_, rows)| rows.len()).sum();
        self.first + (waiting + self.building.len()) as u64
    }

    fn row(&mut self, seq: Seq) -> Option<(&mut u32, &mut u32)> {
        let mut at = usize::try_from(seq.checked_sub(self.first)?).ok()?;
        for (_, rows) in &mut self.waiting {
            if at < rows.len() {
                let (kernel, user) = &mut rows[at];
                return Some((kernel, user));
            }
            at -= rows.len();
        }
        self.building.get_mut(at).map(|(kernel, user)| (kernel, user))
    }
}

impl Router<'_> {
    fn generic_event(&mut self, raw: &RawEvent<'_>, ns: i64) -> io::Result<Fate> {
        let EventId::Manifest { provider, id: event_id, version, level, opcode, activity, .. } =
            raw.id
        else {
            return Ok(Fate::Unknown);
        };
        let (halves, related) = self.extended(raw, ns);
        self.fields.clear();
        let mut fields = std::mem::take(&mut self.fields);
        let mut fate = Fate::Stored("generic_event");
        let decoded = self.schemas.fields(raw, &mut fields);
        match &decoded {
            Ok(()) => {}
            Err(Undecoded::NoSchema) => self.health.at(Count::generic_undecoded, ns),
            Err(_) => {
                self.health.at(Count::generic_malformed, ns);
                fate = Fate::Malformed;
            }
        }
        if decoded.is_ok() {
            self.note_profile(provider, event_id, &fields);
        }
        let name = self.schemas.name(raw);
        let provider_guid = provider.to_string();
        let thread =
            (raw.tid != NO_ID).then(|| self.identity.known_thread_at(raw.tid, ns)).flatten();
        let process = (raw.pid != NO_ID).then(|| self.identity.process_at(raw.pid, ns)).flatten();
        let text = |guid: Guid| (!guid.is_zero()).then(|| guid.to_string());
        let (activity, related) = (text(activity), related.and_then(text));
        let payload = &raw.payload[..raw.payload.len().min(PAYLOAD_MAX)];
        self.tables.generic_event.builder.push(&schema::generic_event::Row {
            ts_ns: ns,
            cpu: i32::from(raw.cpu),
            provider: name.provider.unwrap_or(&provider_guid),
            event: name.event,
            event_id: i32::from(event_id),
            pid: id(raw.pid),
            tid: id(raw.tid),
            process_key: process.map(key),
            thread_key: thread.map(key),
            fields: decoded.is_ok().then_some(fields.as_str()),
            payload: decoded.is_err().then_some(payload),
            stack_id: None,
            provider_guid: &provider_guid,
            opcode: i32::from(opcode),
            version: i32::from(version),
            level: i32::from(level),
            activity_id: activity.as_deref(),
            related_activity_id: related.as_deref(),
        });
        self.fields = fields;
        let seq = self.generic.next();
        self.generic.building.push(halves);
        let tid = (raw.tid != NO_ID).then_some(raw.tid);
        self.stacks.note_event(raw.ticks, tid, raw.cpu, Target::Generic(seq));
        if self.generic.building.len() >= GENERIC_BATCH {
            self.finish_generic(false)?;
        }
        self.gaps.power(provider, event_id, ns);
        Ok(fate)
    }

    /// Stack and related activity from the extended items.
    fn extended(&mut self, raw: &RawEvent<'_>, ns: i64) -> ((u32, u32), Option<Guid>) {
        let mut halves = (NO_FRAGMENT, NO_FRAGMENT);
        let mut related = None;
        for item in raw.items() {
            match item.kind {
                ITEM_RELATED_ACTIVITY => related = item.data.first_chunk::<16>().map(|b| Guid(*b)),
                ITEM_STACK32 | ITEM_STACK64 | ITEM_STACK_KEY32 | ITEM_STACK_KEY64 => {
                    let part = self.item_stack(raw, item.kind, item.data, ns);
                    if part.0 != NO_FRAGMENT {
                        halves.0 = self.stacks.join(halves.0, part.0);
                    }
                    if part.1 != NO_FRAGMENT {
                        halves.1 = self.stacks.join(halves.1, part.1);
                    }
                }
                _ => {}
            }
        }
        (halves, related)
    }

    fn item_stack(&mut self, raw: &RawEvent<'_>, kind: u16, data: &[u8], ns: i64) -> (u32, u32) {
        let wide = matches!(kind, ITEM_STACK64 | ITEM_STACK_KEY64);
        // The match id comes first; it was 0 in every recording seen.
        let frames = data.get(8..).unwrap_or(&[]);
        self.addresses.clear();
        if matches!(kind, ITEM_STACK32 | ITEM_STACK64) {
            self.addresses.extend(Frames::new(frames, if wide { 8 } else { 4 }).iter());
        } else if let Some(key) = frames.first_chunk::<8>().map(|b| u64::from_le_bytes(*b)) {
            let key = if wide { key } else { key & 0xFFFF_FFFF };
            let kernel = self.definitions.find(key, true, raw.ticks);
            match kernel.or_else(|| self.definitions.find(key, false, raw.ticks)) {
                Some(found) => self.addresses.extend_from_slice(found),
                None => self.health.at(Count::stack_keys_unresolved, ns),
            }
        }
        let target = StackTarget { ticks: raw.ticks, pid: raw.pid, tid: raw.tid };
        self.fragments(target, ns, wide)
    }

    fn finish_generic(&mut self, all: bool) -> io::Result<()> {
        if !self.generic.building.is_empty() {
            let batch = self.tables.generic_event.take_batch();
            let rows = std::mem::take(&mut self.generic.building);
            self.generic.waiting.push_back((batch, rows));
        }
        while all || self.generic.waiting.len() > GENERIC_BATCHES_KEPT {
            let Some((batch, rows)) = self.generic.waiting.pop_front() else { break };
            self.generic.first += rows.len() as u64;
            let ids: Int64Array =
                rows.iter().map(|(kernel, user)| self.stacks.stack_id(*kernel, *user)).collect();
            let ids: ArrayRef = Arc::new(ids);
            let batch = with_column(&batch, "stack_id", ids)?;
            self.tables.generic_event.write(&batch)?;
        }
        Ok(())
    }
}

// Rows that have waited long enough.
impl Router<'_> {
    /// Writes rows that no longer wait; with `all`, every row.
    pub fn drain(&mut self, all: bool) -> io::Result<()> {
        let (tables, stacks, identity) = (&mut self.tables, &mut self.stacks, &*self.identity);
        self.scheduler.switches.drain(all, |row| push_switch(tables, stacks, identity, row))?;
        self.scheduler.readies.drain(all, |row| push_ready(tables, stacks, identity, row))?;
        self.samples.drain(all, |row| push_sample(tables, stacks, identity, row))?;
        if all {
            self.finish_generic(true)?;
        }
        let tables = &mut self.tables;
        self.stacks.drain_stacks(|stack_id, frame_ids| {
            let frame_count = frame_ids.len() as i32;
            tables.stack.builder.push(&schema::stack::Row { stack_id, frame_count, frame_ids });
            tables.stack.flush_if_full()
        })
    }

    /// Switches of compact batches that come after the last record.
    pub fn finish_compact(&mut self) -> io::Result<()> {
        while let Some(switch) = self.compact.get(self.compact_next) {
            self.compact_next += 1;
            self.compact_switch(0, switch)?;
        }
        Ok(())
    }
}

fn pid_of(identity: &Identity, thread: Index) -> Option<i64> {
    identity.threads[thread as usize].pid.map(i64::from)
}

fn process_of(identity: &Identity, thread: Index) -> Option<i64> {
    identity.threads[thread as usize].process.map(key)
}

fn push_switch(
    tables: &mut Tables,
    stacks: &mut Stacks,
    identity: &Identity,
    row: &SwitchRow,
) -> io::Result<()> {
    let tid = |thread: Index| i64::from(identity.threads[thread as usize].tid);
    let known = |thread: Index| (thread != NO_THREAD).then_some(thread);
    let (new, old, readying) = (row.new_thread, row.old_thread, known(row.readying_thread));
    let in_dpc = (row.ready_flags != NONE16).then_some(row.ready_flags as u8 & READY_IN_DPC != 0);
    tables.cswitch.builder.push(&schema::cswitch::Row {
        ts_ns: row.ts_ns,
        cpu: i32::from(row.cpu),
        new_thread_key: key(new),
        new_process_key: process_of(identity, new),
        new_tid: tid(new),
        new_pid: pid_of(identity, new),
        new_priority: opt16(row.new_priority),
        new_qos: opt16(row.new_qos),
        planned_tid: opt64(row.planned_tid),
        new_confirmed: opt16(row.confirmed).map(|confirmed| confirmed != 0),
        old_thread_key: key(old),
        old_process_key: process_of(identity, old),
        old_tid: tid(old),
        old_pid: pid_of(identity, old),
        old_priority: opt16(row.old_priority),
        old_state: opt16(row.old_state),
        old_wait_reason: opt16(row.old_wait_reason),
        old_wait_mode: opt16(row.old_wait_mode),
        old_rank: opt16(row.old_rank),
        old_qos: opt16(row.old_qos),
        old_ideal_cpu: opt16(row.old_ideal_cpu),
        old_remaining_quantum: opt64(row.old_remaining_quantum),
        previous_c_state: opt16(row.previous_c_state),
        new_priority_decrement: opt16(row.new_priority_decrement),
        new_wait_ticks: opt64(row.new_wait_ticks),
        run_ns: opt64(row.run_ns),
        new_rank: opt16(row.new_rank),
        new_rank_before: opt16(row.new_rank_before),
        prev_priority: opt16(row.prev_priority),
        out_priority: opt16(row.out_priority),
        new_ideal_cpu: opt16(row.new_ideal_cpu),
        since_last_ns: opt64(row.since_last_ns),
        prev_state: opt16(row.prev_state),
        prev_wait_reason: opt16(row.prev_wait_reason),
        prev_wait_mode: opt16(row.prev_wait_mode),
        ready_ns: opt64(row.ready_ns),
        ready_events: row.ready_events as i32,
        last_ready_ts_ns: opt64(row.last_ready_ns),
        readying_thread_key: readying.map(key),
        readying_process_key: readying.and_then(|thread| process_of(identity, thread)),
        readying_tid: readying.map(tid),
        readying_pid: readying.and_then(|thread| pid_of(identity, thread)),
        readying_cpu: (row.readying_cpu >= 0).then_some(row.readying_cpu),
        ready_in_dpc: in_dpc,
        interrupted_thread_key: thread_key(row.interrupted_thread),
        ready_flags: opt16(row.ready_flags),
        ready_adjust_increment: opt16(row.ready_adjust_increment),
        new_stack_id: stacks.stack_id(row.new_kernel, row.new_user),
        ready_stack_id: stacks.stack_id(row.ready_kernel, row.ready_user),
    });
    tables.cswitch.flush_if_full()
}

fn push_ready(
    tables: &mut Tables,
    stacks: &mut Stacks,
    identity: &Identity,
    row: &ReadyRow,
) -> io::Result<()> {
    let readying = (row.readying_thread != NO_THREAD).then_some(row.readying_thread);
    let flag = |bit: u8| row.flags & bit != 0;
    tables.ready.builder.push(&schema::ready::Row {
        ts_ns: row.ts_ns,
        cpu: i32::from(row.cpu),
        thread_key: key(row.thread),
        process_key: process_of(identity, row.thread),
        tid: i64::from(identity.threads[row.thread as usize].tid),
        readying_thread_key: readying.map(key),
        readying_process_key: readying.and_then(|thread| process_of(identity, thread)),
        readying_tid: readying.map(|thread| i64::from(identity.threads[thread as usize].tid)),
        in_dpc: flag(READY_IN_DPC),
        interrupted_thread_key: thread_key(row.interrupted_thread),
        kernel_stack_not_resident: flag(READY_STACK_OUT),
        process_not_resident: flag(READY_PROCESS_OUT),
        direct_switch_attempt: flag(READY_DIRECT),
        adjust_reason: i32::from(row.adjust_reason),
        adjust_increment: i32::from(row.adjust_increment),
        stack_id: stacks.stack_id(row.kernel, row.user),
    });
    tables.ready.flush_if_full()
}

fn push_sample(
    tables: &mut Tables,
    stacks: &mut Stacks,
    identity: &Identity,
    row: &SampleRow,
) -> io::Result<()> {
    let flags = opt16(row.flags);
    tables.sample.builder.push(&schema::sample::Row {
        ts_ns: row.ts_ns,
        cpu: i32::from(row.cpu),
        thread_key: key(row.thread),
        process_key: process_of(identity, row.thread),
        tid: i64::from(identity.threads[row.thread as usize].tid),
        pid: pid_of(identity, row.thread),
        address: row.address,
        priority: opt16(row.priority),
        rank: opt16(row.rank),
        in_dpc: flags.map(|flags| flags & 1 != 0),
        in_isr: flags.map(|flags| flags & 2 != 0),
        weight_ns: opt64(row.weight_ns),
        stack_id: stacks.stack_id(row.kernel, row.user),
    });
    tables.sample.flush_if_full()
}
