//! Lifetimes of things that have reusable ids: processes, threads, modules.
//!
//! Starts, ends and rundowns come in time order; each is assigned to a lifetime, so that a rundown never
//! makes a second one, and a reused id always does. `identity.rs` keeps what each lifetime is.

use rustc_hash::FxHashMap;

use crate::event::Phase;

/// How long after its end an id is still taken for the thing that ended: a dying thread logs its end before
/// it is switched out for the last time.
const GRACE_NS: i64 = 1_000_000_000;

/// Two ends of one thing within this time are one end, told by two sessions.
const SAME_END_NS: i64 = 10_000_000;

/// One lifetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// Start, if it lies in the trace.
    pub start_ns: Option<i64>,
    /// End, if it lies in the trace.
    pub end_ns: Option<i64>,
    /// From when on the id means this lifetime.
    from_ns: i64,
    /// Until when it does.
    until_ns: i64,
}

impl Lifetime {
    /// Whether the id means this lifetime at `ns`.
    pub fn covers(&self, ns: i64) -> bool {
        self.from_ns <= ns && ns < self.until_ns
    }
}

/// Assigns events to lifetimes of ids.
#[derive(Default)]
pub struct Lifetimes {
    all: Vec<Lifetime>,
    by_id: FxHashMap<u64, Vec<u32>>,
}

impl Lifetimes {
    /// The lifetime that an event is about; a new one where none fits. Events must come in time order.
    /// `same` tells whether a known lifetime can be the one that the event describes.
    pub fn observe(
        &mut self,
        id: u64,
        phase: Phase,
        ns: i64,
        same: impl Fn(usize) -> bool,
    ) -> usize {
        let last = self.by_id.get(&id).and_then(|list| list.last()).map(|index| *index as usize);
        let open = last.filter(|index| self.all[*index].until_ns == i64::MAX);
        match phase {
            Phase::Start => match open {
                // Two sessions tell the same start.
                Some(index) if self.all[index].start_ns == Some(ns) && same(index) => index,
                _ => self.add(id, open, Some(ns), None, ns),
            },
            Phase::End => match (open, last) {
                (Some(index), _) if same(index) => {
                    self.all[index].end_ns = Some(ns);
                    self.all[index].until_ns = ns;
                    index
                }
                (None, Some(index)) if same(index) && self.ended_near(index, ns) => index,
                _ => {
                    let index = self.add(id, open, None, Some(ns), ns);
                    self.all[index].until_ns = ns;
                    index
                }
            },
            Phase::DcStart | Phase::DcEnd => match open {
                Some(index) if same(index) => index,
                _ => self.add(id, open, None, None, ns),
            },
            Phase::Defunct => match last {
                Some(index) if same(index) => index,
                _ => self.add_past(id),
            },
        }
    }

    fn ended_near(&self, index: usize, ns: i64) -> bool {
        self.all[index].end_ns.is_some_and(|end| ns.saturating_sub(end) < SAME_END_NS)
    }

    fn add(
        &mut self,
        id: u64,
        open: Option<usize>,
        start_ns: Option<i64>,
        end_ns: Option<i64>,
        ns: i64,
    ) -> usize {
        if let Some(index) = open {
            // Its end was lost: it ended some time before this.
            self.all[index].until_ns = ns;
        }
        let list = self.by_id.entry(id).or_default();
        let before = list.last().map(|index| self.all[*index as usize].until_ns);
        let from_ns = start_ns.or(before).unwrap_or(i64::MIN);
        list.push(self.all.len() as u32);
        self.all.push(Lifetime { start_ns, end_ns, from_ns, until_ns: i64::MAX });
        self.all.len() - 1
    }

    /// A lifetime that was over before anything else was told of its id; nothing refers to it by time.
    fn add_past(&mut self, id: u64) -> usize {
        self.by_id.entry(id).or_default().insert(0, self.all.len() as u32);
        let never = i64::MIN;
        self.all.push(Lifetime { start_ns: None, end_ns: None, from_ns: never, until_ns: never });
        self.all.len() - 1
    }

    /// A lifetime for an id that is mentioned at `ns` but that no event tells of.
    pub fn mention(&mut self, id: u64, ns: i64) -> usize {
        let list = self.by_id.entry(id).or_default();
        let next = list.iter().position(|index| self.all[*index as usize].from_ns > ns);
        let until_ns = next.map_or(i64::MAX, |at| self.all[list[at] as usize].from_ns);
        let before = next.unwrap_or(list.len()).checked_sub(1);
        let from_ns = before.map_or(i64::MIN, |at| self.all[list[at] as usize].until_ns);
        list.insert(next.unwrap_or(list.len()), self.all.len() as u32);
        self.all.push(Lifetime { start_ns: None, end_ns: None, from_ns, until_ns });
        self.all.len() - 1
    }

    /// The lifetime that `id` means at `ns`; one that has just ended included.
    #[inline]
    pub fn at(&self, id: u64, ns: i64) -> Option<usize> {
        let list = self.by_id.get(&id)?;
        let index = match list.as_slice() {
            [one] => *one as usize,
            many => {
                let found =
                    many.iter().rev().find(|index| self.all[**index as usize].from_ns <= ns);
                *found? as usize
            }
        };
        let lifetime = &self.all[index];
        let near = lifetime.from_ns <= ns && ns <= lifetime.until_ns.saturating_add(GRACE_NS);
        near.then_some(index)
    }

    /// Every lifetime, in order of first mention.
    pub fn all(&self) -> &[Lifetime] {
        &self.all
    }

    /// The newest lifetime of an id.
    pub fn last(&self, id: u64) -> Option<usize> {
        self.by_id.get(&id)?.last().map(|index| *index as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reused_id_is_a_new_lifetime_and_a_rundown_is_none() {
        let mut lives = Lifetimes::default();
        let first = lives.observe(8, Phase::DcStart, 10, |_| true);
        assert_eq!(lives.observe(8, Phase::End, 50, |_| true), first);
        let second = lives.observe(8, Phase::Start, 60, |_| true);
        assert_ne!(first, second);
        assert_eq!(lives.observe(8, Phase::DcEnd, 99, |_| true), second);
        assert_eq!(lives.at(8, 5), Some(first), "running before the trace");
        assert_eq!(lives.at(8, 55), Some(first), "just ended");
        assert_eq!(lives.at(8, 60), Some(second));
        assert_eq!(lives.all()[first].end_ns, Some(50));
        assert_eq!(lives.all()[second].end_ns, None);
    }

    #[test]
    fn an_end_rundown_alone_covers_the_whole_trace() {
        let mut lives = Lifetimes::default();
        let only = lives.observe(8, Phase::DcEnd, 1_000, |_| true);
        assert_eq!(lives.at(8, -5), Some(only));
        assert_eq!(lives.at(8, 5_000), Some(only));
    }

    #[test]
    fn a_lost_end_is_followed_by_a_new_start() {
        let mut lives = Lifetimes::default();
        let first = lives.observe(8, Phase::Start, 10, |_| true);
        let second = lives.observe(8, Phase::Start, 90, |_| true);
        assert_eq!(lives.all()[first].end_ns, None, "the end was not recorded");
        assert_eq!(lives.at(8, 89), Some(first));
        assert_eq!(lives.at(8, 90), Some(second));
    }

    #[test]
    fn a_mention_fits_between_known_lifetimes() {
        let mut lives = Lifetimes::default();
        let later = lives.observe(8, Phase::Start, 5_000_000_000, |_| true);
        assert_eq!(lives.at(8, 10), None);
        let mentioned = lives.mention(8, 10);
        assert_eq!(lives.at(8, 20), Some(mentioned));
        assert_eq!(lives.at(8, 5_000_000_000), Some(later));
    }
}
