//! The session clock: ticks of a recording to nanoseconds since its start, and to FILETIME.
//!
//! The anchor is the header record's own timestamp, which is the same moment as StartTime (etl-format.md 3).
//! BootTime is no anchor: it is off by seconds to minutes on real recordings.

use super::header::LogHeader;

/// 100 ns units from 1601-01-01 to 1970-01-01.
pub const FILETIME_UNIX_EPOCH: i64 = 116_444_736_000_000_000;

/// FILETIME units in a second.
const FILETIME_PER_SECOND: i64 = 10_000_000;

/// One day in FILETIME units: how near to StartTime a first timestamp must lie to be a FILETIME itself.
const FILETIME_DAY: i64 = 24 * 3600 * FILETIME_PER_SECOND;

const NS_PER_SECOND: i64 = 1_000_000_000;

/// What a recording's timestamps count (ReservedFlags of its header).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockKind {
    /// 0 or a value nobody has documented. Taken as FILETIME where the header record's timestamp lies
    /// within a day of StartTime, else as performance counter: the two cannot be mistaken for each other.
    Unstated,
    /// 1: performance counter.
    PerformanceCounter,
    /// 2: FILETIME.
    SystemTime,
    /// 3: CPU cycles at the header's nominal speed.
    CpuCycles,
}

/// Converts the ticks of one recording.
///
/// # Invariants
/// `frequency` is positive. Conversions are exact floors and saturate instead of overflowing (`tests/clock.rs`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    kind: ClockKind,
    anchor_ticks: i64,
    start_filetime: i64,
    frequency: i64,
    rate_known: bool,
    /// Whole nanoseconds a tick where the frequency divides 10^9, else 0.
    ns_per_tick: i64,
    /// Added to every result of `ns`; used when recordings with different starts share one axis.
    shift_ns: i64,
}

impl Clock {
    /// The clock that a recording's header describes.
    pub fn new(header: &LogHeader) -> Clock {
        let kind = match header.clock_type {
            1 => ClockKind::PerformanceCounter,
            2 => ClockKind::SystemTime,
            3 => ClockKind::CpuCycles,
            _ => ClockKind::Unstated,
        };
        let near_start = header.header_ticks.abs_diff(header.start_filetime) < FILETIME_DAY as u64;
        let is_filetime = match kind {
            ClockKind::SystemTime => true,
            ClockKind::Unstated => near_start && header.start_filetime > 0,
            _ => false,
        };
        if is_filetime {
            // The timestamp is the FILETIME itself; StartTime needs no record to stand for it.
            let anchor = match header.start_filetime {
                0 => header.header_ticks,
                start => start,
            };
            return Clock::with(kind, anchor, anchor, FILETIME_PER_SECOND);
        }
        let frequency = match kind {
            ClockKind::CpuCycles => i64::from(header.cpu_mhz) * 1_000_000,
            _ => header.perf_freq,
        };
        Clock::with(kind, header.header_ticks, header.start_filetime, frequency)
    }

    /// A clock from its parts: at `anchor_ticks` the wall clock read `start_filetime`.
    /// A frequency that is not positive is unknown; 10 MHz then stands in and `rate_known` says no.
    pub fn with(kind: ClockKind, anchor_ticks: i64, start_filetime: i64, frequency: i64) -> Clock {
        let rate_known = frequency > 0;
        let frequency = if rate_known { frequency } else { FILETIME_PER_SECOND };
        let ns_per_tick =
            if NS_PER_SECOND % frequency == 0 { NS_PER_SECOND / frequency } else { 0 };
        Clock {
            kind,
            anchor_ticks,
            start_filetime,
            frequency,
            rate_known,
            ns_per_tick,
            shift_ns: 0,
        }
    }

    /// The same clock with `shift_ns` added to every result of [`Clock::ns`].
    pub fn shifted(self, shift_ns: i64) -> Clock {
        Clock { shift_ns: self.shift_ns.saturating_add(shift_ns), ..self }
    }

    /// What the ticks count.
    pub fn kind(&self) -> ClockKind {
        self.kind
    }

    /// The ticks that are `ns` 0, before any shift.
    pub fn anchor_ticks(&self) -> i64 {
        self.anchor_ticks
    }

    /// The wall clock at the anchor.
    pub fn start_filetime(&self) -> i64 {
        self.start_filetime
    }

    /// Ticks in a second.
    pub fn frequency(&self) -> i64 {
        self.frequency
    }

    /// Whether the header stated a usable frequency. If not, durations are not to be believed.
    pub fn rate_known(&self) -> bool {
        self.rate_known
    }

    /// Nanoseconds since the start of the recording: the exact floor, negative before the start.
    #[inline]
    pub fn ns(&self, ticks: i64) -> i64 {
        let delta = ticks.saturating_sub(self.anchor_ticks);
        let ns = if self.ns_per_tick != 0 {
            delta.saturating_mul(self.ns_per_tick)
        } else {
            scale(delta, NS_PER_SECOND, self.frequency)
        };
        ns.saturating_add(self.shift_ns)
    }

    /// A difference of two timestamps in nanoseconds, as an exact floor.
    #[inline]
    pub fn duration_ns(&self, ticks: i64) -> i64 {
        if self.ns_per_tick != 0 {
            ticks.saturating_mul(self.ns_per_tick)
        } else {
            scale(ticks, NS_PER_SECOND, self.frequency)
        }
    }

    /// The wall clock (FILETIME, UTC) at `ticks`.
    pub fn filetime(&self, ticks: i64) -> i64 {
        let delta = ticks.saturating_sub(self.anchor_ticks);
        self.start_filetime.saturating_add(scale(delta, FILETIME_PER_SECOND, self.frequency))
    }

    /// Nanoseconds since the start of the recording at a wall clock moment (FILETIME, UTC).
    pub fn filetime_ns(&self, filetime: i64) -> i64 {
        filetime
            .saturating_sub(self.start_filetime)
            .saturating_mul(100)
            .saturating_add(self.shift_ns)
    }
}

/// Nanoseconds since 1970-01-01 UTC of a FILETIME; `None` where it does not fit (before 1678, after 2262).
pub fn filetime_to_unix_ns(filetime: i64) -> Option<i64> {
    filetime.checked_sub(FILETIME_UNIX_EPOCH)?.checked_mul(100)
}

/// floor(ticks * units / frequency), saturated; `frequency` is positive.
#[inline]
fn scale(ticks: i64, units: i64, frequency: i64) -> i64 {
    // ticks = whole * frequency + rest with 0 <= rest < frequency, so only the rest needs a product that is divided.
    let whole = ticks.div_euclid(frequency);
    let rest = ticks.rem_euclid(frequency);
    let fraction = match rest.checked_mul(units) {
        Some(product) => product / frequency,
        None => (i128::from(rest) * i128::from(units) / i128::from(frequency)) as i64,
    };
    match whole.checked_mul(units) {
        Some(product) => product.saturating_add(fraction),
        None if whole < 0 => i64::MIN,
        None => i64::MAX,
    }
}
