//! The first pass: every record once, in file order. It hashes the content and collects what may come late in
//! a file but is needed from its beginning: identities, event descriptions, cached stacks, compact batches.

use std::io;

use crate::etl::{Clock, EtlFile, EventId, RawEvent, RecordKind, ScanReport, scan_with_bytes};
use crate::event::generic::Schemas;
use crate::event::{self, Event, cswitch, kernel_process, names, power};
use crate::state::facts::Facts;
use crate::state::stacks::Definitions;

/// Switches of compact batches that are kept to be sorted in; beyond it they are counted and left out.
const COMPACT_MAX: usize = 4 << 20;

/// Group mask bit of context switches in word 0.
const MASK_CSWITCH: u32 = 0x10;

/// One switch of a compact batch with the thread that comes, if a later packet tells.
#[derive(Clone, Copy, Debug)]
pub struct CompactEvent {
    pub ticks: i64,
    pub cpu: u16,
    pub old_tid: u32,
    pub old_priority: Option<i8>,
    pub new_tid: Option<u32>,
    pub new_wait_ticks: Option<u32>,
}

/// What the first pass found.
#[derive(Default)]
pub struct Survey {
    /// BLAKE3 of each file.
    pub hashes: Vec<[u8; 32]>,
    /// What the walk of each file found.
    pub reports: Vec<ScanReport>,
    /// Identities and the machine.
    pub facts: Facts,
    /// Descriptions of events.
    pub schemas: Schemas,
    /// Cached stacks.
    pub definitions: Definitions,
    /// Switches of compact batches, in time order.
    pub compact: Vec<CompactEvent>,
    /// Those beyond the limit.
    pub compact_over_limit: u64,
    /// Profile samples.
    pub samples: u64,
    /// Last event, nanoseconds since the start.
    pub last_ns: Option<i64>,
    /// Last CSwitch or ReadyThread.
    last_sched_ns: Option<i64>,
    /// Last group masks: when, and whether they leave context switches on.
    last_masks: Option<(i64, bool)>,
    /// Widest pointer of any record, in bits.
    pub pointer_bits: Option<i32>,
    /// Highest CPU that has records.
    pub cpu_max: u16,
}

impl Survey {
    /// Surveys files whose times `clocks` convert. `build` is the Windows build.
    pub fn run(files: &[EtlFile], clocks: &[Clock], build: u32) -> io::Result<Survey> {
        let mut survey = Survey::default();
        for (file, clock) in files.iter().zip(clocks) {
            let mut hasher = blake3::Hasher::new();
            let report = scan_with_bytes(
                file,
                |bytes| {
                    hasher.update(bytes);
                },
                |event| survey.note(event, clock, build),
            )?;
            survey.hashes.push(*hasher.finalize().as_bytes());
            if let Some((_, last)) = report.ticks {
                let last = clock.ns(last);
                survey.last_ns = Some(survey.last_ns.map_or(last, |ns| ns.max(last)));
            }
            survey.reports.push(report);
        }
        survey.schemas.finish();
        survey.definitions.finish();
        survey.chain_compact();
        Ok(survey)
    }

    #[inline]
    fn note(&mut self, raw: &RawEvent<'_>, clock: &Clock, build: u32) {
        if self.pointer_bits != Some(64)
            && !matches!(raw.kind, RecordKind::Message | RecordKind::Opaque)
        {
            self.note_width(raw);
        }
        self.cpu_max = self.cpu_max.max(raw.cpu);
        match raw.id {
            EventId::Kernel { hook, .. } => match hook {
                0x0524 | 0x0532 => self.note_sched(clock.ns(raw.ticks)),
                0x0F2E => self.samples += 1,
                0x1820 | 0x1825 | 0x1826 => {}
                0x1822..=0x1824 | 0x0525 | 0x0005 => self.note_special(raw, clock, build),
                0x0300..=0x03FF | 0x0501..=0x0504 | 0x0548 | 0x0B00..=0x0BFF | 0x1400..=0x14FF => {
                    self.note_fact(raw, clock, build);
                }
                _ => {}
            },
            EventId::Classic { class, .. } => {
                let named = class == event::IMAGE_ID || class == event::SYS_CONFIG_EX;
                if named || names::group_of_class(class).is_some() {
                    self.note_fact(raw, clock, build);
                } else {
                    self.schemas.note(raw);
                }
            }
            EventId::Manifest { provider, .. } => {
                self.schemas.note(raw);
                if provider == kernel_process::PROVIDER
                    || provider == power::PROCESSOR
                    || provider == power::SERVICE
                {
                    self.note_fact(raw, clock, build);
                }
            }
            _ => {}
        }
    }

    fn note_width(&mut self, raw: &RawEvent<'_>) {
        let bits = i32::from(raw.pointer_size) * 8;
        // The header record has the width of the program that wrote the file.
        if !matches!(raw.id, EventId::Kernel { hook: 0, .. }) {
            self.pointer_bits = Some(self.pointer_bits.map_or(bits, |known| known.max(bits)));
        }
    }

    fn note_sched(&mut self, ns: i64) {
        self.last_sched_ns = Some(self.last_sched_ns.map_or(ns, |last| last.max(ns)));
    }

    fn note_fact(&mut self, raw: &RawEvent<'_>, clock: &Clock, build: u32) {
        let event = event::decode(raw, build);
        self.facts.note(&event, clock.ns(raw.ticks), usize::from(raw.pointer_size));
    }

    fn note_special(&mut self, raw: &RawEvent<'_>, clock: &Clock, build: u32) {
        match event::decode(raw, build) {
            Event::StackDefinition(key, frames) => self.definitions.note(raw.ticks, key, frames),
            Event::GroupMasks(word) => {
                let ns = clock.ns(raw.ticks);
                if self.last_masks.is_none_or(|(last, _)| last <= ns) {
                    self.last_masks = Some((ns, word & MASK_CSWITCH != 0));
                }
            }
            Event::CSwitchBatch => self.note_batch(raw, clock),
            _ => {}
        }
    }

    fn note_batch(&mut self, raw: &RawEvent<'_>, clock: &Clock) {
        let Some(batch) = cswitch::unpack_compact(raw.payload) else { return };
        for switch in batch {
            if self.compact.len() >= COMPACT_MAX {
                self.compact_over_limit += 1;
                continue;
            }
            self.note_sched(clock.ns(switch.ticks));
            self.compact.push(CompactEvent {
                ticks: switch.ticks,
                cpu: raw.cpu,
                old_tid: switch.old_tid,
                old_priority: switch.old_priority,
                new_tid: None,
                new_wait_ticks: switch.new_wait_ticks,
            });
        }
    }

    /// The thread that comes is the one that leaves in the CPU's next packet.
    fn chain_compact(&mut self) {
        self.compact.sort_by_key(|switch| (switch.cpu, switch.ticks));
        for at in 1..self.compact.len() {
            let next = self.compact[at];
            let switch = &mut self.compact[at - 1];
            if switch.cpu == next.cpu {
                switch.new_tid = Some(next.old_tid);
            }
        }
        self.compact.sort_by_key(|switch| switch.ticks);
    }

    /// End of the scheduling record: merged recordings run on after the kernel session stopped.
    pub fn sched_end_ns(&self) -> Option<i64> {
        let last_sched = self.last_sched_ns?;
        match self.last_masks {
            Some((stopped, false)) => Some(stopped.max(last_sched)),
            _ => self.last_ns,
        }
    }
}
