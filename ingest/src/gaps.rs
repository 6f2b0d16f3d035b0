//! Gaps: stretches in which nothing was recorded on any CPU, with the evidence for each.
//!
//! Mere silence is no gap: an idle machine with few events is silent, too. A gap needs sleep and wake events,
//! logging switched off and on, or a trace that samples periodically and is silent for seconds.

use crate::etl::Guid;

/// Silence that is a gap in a trace with periodic samples.
const SILENCE_NS: i64 = 5_000_000_000;

/// Microsoft-Windows-Kernel-Power.
pub const KERNEL_POWER: Guid =
    Guid::new(0x331c3b3a, 0x2005, 0x44c2, [0xac, 0x5e, 0x77, 0x22, 0x0c, 0x37, 0xd6, 0xb4]);
const SLEEP: u16 = 42;
const WAKE: u16 = 107;

/// A gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    pub from_ns: i64,
    pub to_ns: i64,
    pub evidence: &'static str,
}

/// The longest silence since something that may have begun a gap.
#[derive(Clone, Copy, Debug)]
struct Watch {
    longest: Option<(i64, i64)>,
}

impl Watch {
    fn silence(&mut self, from_ns: i64, to_ns: i64) {
        if self.longest.is_none_or(|(from, to)| to - from < to_ns - from_ns) {
            self.longest = Some((from_ns, to_ns));
        }
    }
}

/// Finds gaps in a stream of event times.
pub struct Gaps {
    periodic: bool,
    last_ns: Option<i64>,
    asleep: Option<Watch>,
    off: Option<Watch>,
    masks_seen: bool,
    found: Vec<Gap>,
}

impl Gaps {
    /// `periodic`: the trace has samples.
    pub fn new(periodic: bool) -> Gaps {
        let (last_ns, asleep, off) = (None, None, None);
        Gaps { periodic, last_ns, asleep, off, masks_seen: false, found: Vec::new() }
    }

    /// Any event. True where a gap may end here.
    #[inline]
    pub fn note(&mut self, ns: i64) -> bool {
        let Some(last) = self.last_ns else {
            self.last_ns = Some(ns);
            return false;
        };
        if ns <= last {
            return false;
        }
        self.last_ns = Some(ns);
        if self.asleep.is_none() && self.off.is_none() && ns - last < SILENCE_NS {
            return false;
        }
        self.silence(last, ns)
    }

    #[cold]
    fn silence(&mut self, from_ns: i64, to_ns: i64) -> bool {
        if let Some(watch) = &mut self.asleep {
            watch.silence(from_ns, to_ns);
        }
        if let Some(watch) = &mut self.off {
            watch.silence(from_ns, to_ns);
        }
        let long = to_ns - from_ns >= SILENCE_NS;
        if long && self.periodic {
            self.add(from_ns, to_ns, "silence");
        }
        long
    }

    fn add(&mut self, from_ns: i64, to_ns: i64, evidence: &'static str) {
        // Sleep says more than silence: the same stretch is one gap, with the better evidence.
        let known = self.found.iter_mut().find(|gap| gap.from_ns < to_ns && from_ns < gap.to_ns);
        match known {
            Some(gap) if gap.evidence == "silence" => gap.evidence = evidence,
            Some(_) => {}
            None => self.found.push(Gap { from_ns, to_ns, evidence }),
        }
    }

    /// A Kernel-Power event; sleep and wake count.
    pub fn power(&mut self, provider: Guid, id: u16, _ns: i64) {
        if provider != KERNEL_POWER {
            return;
        }
        if id == SLEEP {
            self.asleep = Some(Watch { longest: None });
        } else if id == WAKE
            && let Some((from_ns, to_ns)) = self.asleep.take().and_then(|watch| watch.longest)
        {
            self.add(from_ns, to_ns, "sleep");
        }
    }

    /// New group masks: logging is on or off from now on.
    pub fn masks(&mut self, _ns: i64, on: bool) {
        if !on && self.masks_seen {
            self.off.get_or_insert(Watch { longest: None });
        } else if on && let Some((from_ns, to_ns)) = self.off.take().and_then(|watch| watch.longest)
        {
            self.add(from_ns, to_ns, "tracing_off");
        }
        self.masks_seen |= on;
    }

    /// The gaps, in time order.
    pub fn finish(mut self) -> Vec<Gap> {
        self.found.sort_by_key(|gap| gap.from_ns);
        self.found
    }
}
