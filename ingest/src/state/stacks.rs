//! Stacks: frames, distinct stacks, cached definitions, and which event a stack record belongs to.
//!
//! A stack record names its event by the event's exact time; the kernel half comes at once, the user half when
//! the thread next leaves the kernel. Halves are interned as *fragments*; a stack is a kernel and a user
//! fragment. An event's row keeps the two numbers, and gets its `stack_id` when it is written.

use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

use rustc_hash::{FxHashMap, FxHasher};

use super::identity::{Identity, Index, Space};
use super::rows::Seq;
use crate::event::stackwalk::Frames;

/// No fragment.
pub const NO_FRAGMENT: u32 = 0;

/// Events that stay reachable for stacks that come late.
const CANDIDATES_MAX: usize = 1 << 20;

/// Kernel halves of a thread that wait for one user half.
const PENDING_MAX: usize = 1024;

/// Frames of a stack record; the recorder stops at 192.
const FRAMES_MAX: usize = 4096;

/// Addresses of cached stacks that are kept; beyond it references stay unresolved and are counted.
const DEFINITION_ADDRESSES_MAX: usize = 12 << 20;

/// A distinct frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameRow {
    pub space: Space,
    pub address: u64,
    pub image: Option<Index>,
    pub is_kernel: bool,
}

/// What kind of row an event became, and which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Switch(Seq),
    Ready(Seq),
    Sample(Seq),
    Generic(Seq),
    /// An event whose table has no stack column: its class in the census.
    Other(u32),
}

#[derive(Clone, Copy, Debug)]
struct Candidate {
    ticks: i64,
    /// Thread that the stack must name; `None` where the record carries none.
    tid: Option<u32>,
    cpu: u16,
    target: Target,
}

/// A cached stack's definition.
#[derive(Clone, Copy, Debug)]
struct Definition {
    ticks: i64,
    start: u32,
    count: u32,
}

/// Definitions of cached stacks, collected by the survey.
#[derive(Default)]
pub struct Definitions {
    addresses: Vec<u64>,
    by_key: FxHashMap<(u64, bool), Vec<Definition>>,
    /// Definitions left out because there were too many.
    pub over_limit: u64,
    /// Definitions read.
    pub count: u64,
}

impl Definitions {
    /// Keeps one definition.
    pub fn note(&mut self, ticks: i64, key: u64, frames: Frames<'_>) {
        self.count += 1;
        let start = self.addresses.len();
        if start > DEFINITION_ADDRESSES_MAX {
            self.over_limit += 1;
            return;
        }
        self.addresses.extend(frames.iter().take(FRAMES_MAX));
        // Kernel and user keys are two tables; the frames tell which one this is.
        let kernel = frames.first().is_some_and(|address| frames.is_kernel(address));
        let definition =
            Definition { ticks, start: start as u32, count: (self.addresses.len() - start) as u32 };
        self.by_key.entry((key, kernel)).or_default().push(definition);
    }

    /// Puts every key's definitions in time order.
    pub fn finish(&mut self) {
        self.by_key.values_mut().for_each(|list| list.sort_by_key(|definition| definition.ticks));
    }

    /// The frames that a reference at `ticks` means: the first definition at or after it.
    pub fn find(&self, key: u64, kernel: bool, ticks: i64) -> Option<&[u64]> {
        let list = self.by_key.get(&(key, kernel))?;
        let definition = list.get(list.partition_point(|definition| definition.ticks < ticks))?;
        let start = definition.start as usize;
        self.addresses.get(start..start + definition.count as usize)
    }
}

/// What happened to stack records.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackCounts {
    /// Records that belong to a row.
    pub attached: u64,
    /// Records of events whose table has no stack column; the census classes are counted apart.
    pub not_stored: u64,
    /// Records without an event of that time.
    pub orphans: u64,
    /// Records whose event lies too far back.
    pub too_late: u64,
    /// References to a definition that never came.
    pub unresolved_keys: u64,
    /// Records that agree with an event only in time and CPU, not in the thread.
    pub other_thread: u64,
}

/// Everything about stacks.
#[derive(Default)]
pub struct Stacks {
    pub frames: Vec<FrameRow>,
    frame_ids: FxHashMap<FrameRow, u32>,
    /// Frame ids of all fragments, one after the other.
    arena: Vec<u32>,
    fragments: Vec<(u32, u32)>,
    fragment_ids: FxHashMap<u64, Vec<u32>>,
    /// Fragments by what was recorded, so that a stack seen before costs one look.
    recorded: FxHashMap<u64, Vec<(Space, u32, u32, u32)>>,
    stack_ids: FxHashMap<(u32, u32), u32>,
    /// Stacks that have been given an id but not been written.
    unwritten: Vec<(u32, u32, u32)>,
    candidates: VecDeque<Candidate>,
    dropped_before: Option<i64>,
    pending: FxHashMap<u32, Vec<Target>>,
    pub counts: StackCounts,
}

fn hash_of(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}

impl Stacks {
    /// An event that a stack may belong to.
    #[inline]
    pub fn note_event(&mut self, ticks: i64, tid: Option<u32>, cpu: u16, target: Target) {
        if self.candidates.len() == CANDIDATES_MAX
            && let Some(oldest) = self.candidates.pop_front()
        {
            self.dropped_before = Some(oldest.ticks);
        }
        self.candidates.push_back(Candidate { ticks, tid, cpu, target });
        // Small steps back in time happen; the list stays sorted.
        let mut at = self.candidates.len() - 1;
        while at > 0 && self.candidates[at - 1].ticks > ticks {
            self.candidates.swap(at - 1, at);
            at -= 1;
        }
    }

    /// The event that a stack record belongs to: exact time, then thread, then CPU.
    pub fn find_event(&mut self, ticks: i64, tid: u32, cpu: u16) -> Option<Target> {
        let start = self.first_at(ticks);
        let mut best: Option<(u8, Target)> = None;
        for candidate in self.candidates.range(start..) {
            if candidate.ticks != ticks {
                break;
            }
            let here = candidate.cpu == cpu;
            let rank = match candidate.tid {
                Some(named) if named == tid => 4 + u8::from(here),
                None if here => 3,
                Some(_) if here => 2,
                None => 1,
                Some(_) => 0,
            };
            if rank > 0 && best.is_none_or(|(other, _)| rank > other) {
                best = Some((rank, candidate.target));
            }
        }
        match best {
            Some((rank, target)) => {
                self.counts.other_thread += u64::from(rank == 2);
                Some(target)
            }
            None if self.dropped_before.is_some_and(|before| ticks <= before) => {
                self.counts.too_late += 1;
                None
            }
            None => {
                self.counts.orphans += 1;
                None
            }
        }
    }

    /// Index of the first candidate at or after `ticks`; the search starts at the newest, where nearly all are.
    fn first_at(&self, ticks: i64) -> usize {
        let len = self.candidates.len();
        let mut step = 8;
        while step < len && self.candidates[len - step].ticks >= ticks {
            step *= 2;
        }
        let mut low = len.saturating_sub(step);
        let mut high = len;
        while low < high {
            let middle = (low + high) / 2;
            if self.candidates[middle].ticks < ticks {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// A kernel half came without its user half.
    pub fn wait_for_user(&mut self, tid: u32, target: Target) {
        let list = self.pending.entry(tid).or_default();
        if list.len() < PENDING_MAX && list.last() != Some(&target) {
            list.push(target);
        }
    }

    /// The events of a thread that a user half serves, besides its own.
    pub fn take_waiting(&mut self, tid: u32) -> Vec<Target> {
        self.pending.get_mut(&tid).map(std::mem::take).unwrap_or_default()
    }

    /// Interns recorded addresses: a kernel fragment and a user fragment, either of which may be absent.
    /// `epoch` changes whenever modules of `space` or of the kernel change.
    pub fn intern(
        &mut self,
        identity: &Identity,
        space: Space,
        epoch: u32,
        ns: i64,
        addresses: &[u64],
        is_kernel: impl Fn(u64) -> bool,
    ) -> (u32, u32) {
        let addresses = &addresses[..addresses.len().min(FRAMES_MAX)];
        let hash = hash_of(&(space, epoch, addresses));
        if let Some(list) = self.recorded.get(&hash) {
            for (known_space, known_epoch, kernel, user) in list {
                let same = *known_space == space && *known_epoch == epoch;
                if same && self.has_addresses(*kernel, *user, addresses) {
                    return (*kernel, *user);
                }
            }
        }
        let split = addresses.iter().position(|address| !is_kernel(*address));
        let (kernel, user) = addresses.split_at(split.unwrap_or(addresses.len()));
        let kernel = self.fragment(identity, Space::Kernel, ns, kernel, true);
        let user = self.fragment(identity, space, ns, user, false);
        self.recorded.entry(hash).or_default().push((space, epoch, kernel, user));
        (kernel, user)
    }

    fn frames_of(&self, fragment: u32) -> &[u32] {
        if fragment == NO_FRAGMENT {
            return &[];
        }
        let (start, count) = self.fragments[fragment as usize - 1];
        &self.arena[start as usize..(start + count) as usize]
    }

    fn has_addresses(&self, kernel: u32, user: u32, addresses: &[u64]) -> bool {
        let frames = self.frames_of(kernel).iter().chain(self.frames_of(user));
        frames.map(|id| self.frames[*id as usize].address).eq(addresses.iter().copied())
    }

    fn fragment(
        &mut self,
        identity: &Identity,
        space: Space,
        ns: i64,
        addresses: &[u64],
        is_kernel: bool,
    ) -> u32 {
        if addresses.is_empty() {
            return NO_FRAGMENT;
        }
        let start = self.arena.len();
        for address in addresses {
            let image = identity.image_at(space, *address, ns);
            let row = FrameRow { space, address: *address, image, is_kernel };
            let next = self.frames.len() as u32;
            let id = *self.frame_ids.entry(row).or_insert(next);
            if id == next {
                self.frames.push(row);
            }
            self.arena.push(id);
        }
        self.settle(start)
    }

    /// Interns the frames at the end of the arena, from `start` on.
    fn settle(&mut self, start: usize) -> u32 {
        let hash = hash_of(&self.arena[start..]);
        for known in self.fragment_ids.get(&hash).into_iter().flatten() {
            if self.frames_of(*known) == &self.arena[start..] {
                let known = *known;
                self.arena.truncate(start);
                return known;
            }
        }
        self.fragments.push((start as u32, (self.arena.len() - start) as u32));
        let id = self.fragments.len() as u32;
        self.fragment_ids.entry(hash).or_default().push(id);
        id
    }

    /// A further part of a half that already has one: the two follow each other.
    pub fn join(&mut self, first: u32, second: u32) -> u32 {
        if first == NO_FRAGMENT || first == second {
            return second;
        }
        let start = self.arena.len();
        for fragment in [first, second] {
            let (from, count) = self.fragments[fragment as usize - 1];
            self.arena.extend_from_within(from as usize..(from + count) as usize);
        }
        self.settle(start)
    }

    /// The id of a stack of two fragments; `None` without any.
    pub fn stack_id(&mut self, kernel: u32, user: u32) -> Option<i64> {
        if kernel == NO_FRAGMENT && user == NO_FRAGMENT {
            return None;
        }
        let next = self.stack_ids.len() as u32 + 1;
        let id = *self.stack_ids.entry((kernel, user)).or_insert(next);
        if id == next {
            self.unwritten.push((id, kernel, user));
        }
        Some(i64::from(id))
    }

    /// Gives out stacks that have got an id since the last call: id and frame ids, innermost first.
    pub fn drain_stacks(
        &mut self,
        mut out: impl FnMut(i64, &[i64]) -> std::io::Result<()>,
    ) -> std::io::Result<()> {
        let mut frames = Vec::new();
        for (id, kernel, user) in std::mem::take(&mut self.unwritten) {
            frames.clear();
            let ids = self.frames_of(kernel).iter().chain(self.frames_of(user));
            frames.extend(ids.map(|id| i64::from(*id) + 1));
            out(i64::from(id), &frames)?;
        }
        Ok(())
    }
}
