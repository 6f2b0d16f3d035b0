//! The machine and the session a recording comes from: one `machine` line, or several.
//!
//! Defaults are a 4-CPU Windows 10 (build 19045) on 64 bits with a plain sequential kernel session.
//! Everything the header record says, and which layout version each event class uses, is here.

use crate::text::{Reader, number_list};
use crate::time::Ns;

/// 1601 to 1970 in units of 100 ns.
const EPOCH_FILETIME: i64 = 116_444_736_000_000_000;

/// Everything about machine, session and file that a scenario may say.
#[derive(Clone, Debug)]
pub(crate) struct Machine {
    pub(crate) cpus: u32,
    pub(crate) build: u32,
    pub(crate) os: (u8, u8),
    pub(crate) bits: u8,
    pub(crate) header_bits: u8,
    pub(crate) freq: i64,
    pub(crate) mhz: u32,
    pub(crate) clock: u32,
    pub(crate) anchor: i64,
    pub(crate) start: i64,
    pub(crate) boot: i64,
    pub(crate) bias: i32,
    pub(crate) daylight: bool,
    pub(crate) resolution: u32,
    pub(crate) buffer: u32,
    pub(crate) mode: u32,
    pub(crate) session: String,
    pub(crate) path: String,
    pub(crate) logger: u16,
    pub(crate) lost: u32,
    pub(crate) buffers_lost: u32,
    pub(crate) proc_index: bool,
    pub(crate) closed: bool,
    pub(crate) merged: bool,
    pub(crate) compressed: bool,
    pub(crate) slots: Option<u32>,
    pub(crate) first_sequence: i64,
    pub(crate) length: Option<Ns>,
    pub(crate) rundown_start: bool,
    pub(crate) rundown_end: bool,
    pub(crate) stacks: StackStyle,
    pub(crate) idle_prio: i8,
    pub(crate) partition: bool,
    pub(crate) versions: Versions,
}

/// How a `stack=` on an event is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StackStyle {
    /// Kernel and user half as two 0x1820 records.
    Inline,
    /// Both halves in one 0x1820 record.
    Joined,
    /// Keys 0x1825 and 0x1826, defined by 0x1824 at the end.
    Keyed,
}

/// Layout versions that differ from what the build implies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Versions {
    process: Option<u8>,
    thread: Option<u8>,
    image: Option<u8>,
    cswitch: Option<u8>,
    sample: Option<u8>,
}

impl Default for Machine {
    fn default() -> Machine {
        let start = filetime("2024-03-05 10:00:00").unwrap_or(0);
        Machine {
            cpus: 4,
            build: 19045,
            os: (10, 0),
            bits: 64,
            header_bits: 64,
            freq: 10_000_000,
            mhz: 2400,
            clock: 1,
            anchor: 110_988_826_450,
            start,
            boot: start - 111_000_000_000,
            bias: 0,
            daylight: false,
            resolution: 156_250,
            buffer: 0x1_0000,
            mode: 1,
            session: "NT Kernel Logger".into(),
            path: r"C:\traces\kernel.etl".into(),
            logger: 12,
            lost: 0,
            buffers_lost: 0,
            proc_index: true,
            closed: true,
            merged: false,
            compressed: false,
            slots: None,
            first_sequence: 0,
            length: None,
            rundown_start: true,
            rundown_end: true,
            stacks: StackStyle::Inline,
            idle_prio: 0,
            partition: true,
            versions: Versions::default(),
        }
    }
}

impl Machine {
    /// Applies a `machine` line (or the keys of a `file` line).
    pub(crate) fn apply(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        self.apply_system(reader)?;
        self.apply_clock(reader)?;
        self.apply_session(reader)?;
        self.apply_layout(reader)?;
        self.check()
    }

    fn apply_system(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        self.cpus = reader.or("cpus", self.cpus)?;
        if let Some(build) = reader.get("build")? {
            self.build = build;
            self.os = os_of_build(build);
            self.proc_index = build >= 9200;
            self.partition = build >= 10240;
        }
        if let Some(os) = reader.text("os") {
            let (major, minor) = os.split_once('.').ok_or("os is MAJOR.MINOR")?;
            self.os = (crate::text::field(major)?, crate::text::field(minor)?);
        }
        if let Some(bits) = reader.get("bits")? {
            (self.bits, self.header_bits) = (bits, bits);
        }
        self.header_bits = reader.or("header_bits", self.header_bits)?;
        self.mhz = reader.or("mhz", self.mhz)?;
        self.idle_prio = reader.or("idle_prio", self.idle_prio)?;
        Ok(())
    }

    fn apply_clock(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        self.freq = reader.or("freq", self.freq)?;
        self.clock = reader.or("clock", self.clock)?;
        self.anchor = reader.or("anchor", self.anchor)?;
        if let Some(text) = reader.text("start") {
            let start = filetime(text).ok_or("start is 'YYYY-MM-DD HH:MM:SS[.fffffff]' in UTC")?;
            self.boot += start - self.start;
            self.start = start;
        }
        if let Some(text) = reader.text("boot") {
            self.boot = filetime(text).ok_or("boot is 'YYYY-MM-DD HH:MM:SS[.fffffff]' in UTC")?;
        }
        self.bias = reader.or("bias", self.bias)?;
        self.daylight |= reader.flag("daylight");
        self.resolution = reader.or("resolution", self.resolution)?;
        self.length = reader.time("length")?.or(self.length);
        Ok(())
    }

    fn apply_session(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        if let Some(text) = reader.text("buffer") {
            self.buffer = size(text)?;
        }
        if let Some(text) = reader.text("mode") {
            self.mode = mode(text)?;
        }
        self.session = reader.text("session").unwrap_or(&self.session).into();
        self.path = reader.text("path").unwrap_or(&self.path).into();
        self.logger = reader.or("logger", self.logger)?;
        self.lost = reader.or("lost", self.lost)?;
        self.buffers_lost = reader.or("buffers_lost", self.buffers_lost)?;
        self.proc_index &= !reader.flag("old-cpu-byte");
        self.partition &= !reader.flag("no-partition");
        self.closed &= !reader.flag("unclosed");
        self.compressed |= reader.flag("compressed");
        if reader.flag("merged") {
            self.merged = true;
            self.mode = 0x0001_0001;
            self.session = "Relogger".into();
            self.path = "[multiple files]".into();
            self.logger = if self.build < 9200 { 0x8001 } else { 0 };
        }
        if let Some(slots) = reader.get::<u32>("slots")? {
            self.slots = Some(slots.max(1));
            self.mode = (self.mode & !3) | 2;
        }
        self.first_sequence = reader.or("first_sequence", self.first_sequence)?;
        Ok(())
    }

    fn apply_layout(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        match reader.text("rundown") {
            None => {}
            Some("both") => (self.rundown_start, self.rundown_end) = (true, true),
            Some("start") => (self.rundown_start, self.rundown_end) = (true, false),
            Some("end") => (self.rundown_start, self.rundown_end) = (false, true),
            Some("none") => (self.rundown_start, self.rundown_end) = (false, false),
            Some(_) => return Err("rundown is both, start, end or none".into()),
        }
        match reader.text("stacks") {
            None => {}
            Some("inline") => self.stacks = StackStyle::Inline,
            Some("joined") => self.stacks = StackStyle::Joined,
            Some("keyed") => self.stacks = StackStyle::Keyed,
            Some(_) => return Err("stacks is inline, joined or keyed".into()),
        }
        let versions = &mut self.versions;
        versions.process = reader.get("process")?.or(versions.process);
        versions.thread = reader.get("thread")?.or(versions.thread);
        versions.image = reader.get("image")?.or(versions.image);
        versions.cswitch = reader.get("cswitch")?.or(versions.cswitch);
        versions.sample = reader.get("sample")?.or(versions.sample);
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        let bits_known = |bits| bits == 32 || bits == 64;
        if !bits_known(self.bits) || !bits_known(self.header_bits) {
            return Err("bits is 32 or 64".into());
        }
        if !(1..=2048).contains(&self.cpus) {
            return Err("cpus is 1 to 2048".into());
        }
        if !(1..=100_000_000_000).contains(&self.freq) || self.mhz == 0 {
            return Err("freq and mhz are positive".into());
        }
        if !(1024..=16 << 20).contains(&self.buffer) || !self.buffer.is_multiple_of(8) {
            return Err("buffer is 1 KiB to 16 MiB and a multiple of 8".into());
        }
        if self.clock > 3 {
            return Err("clock is 1 (counter), 2 (system time) or 3 (cycles)".into());
        }
        if self.anchor.unsigned_abs() > 1 << 61 {
            return Err("anchor is too large".into());
        }
        Ok(())
    }

    /// Whether the kernel's pointers take eight bytes.
    pub(crate) fn wide(&self) -> bool {
        self.bits == 64
    }

    /// Raw clock value of an instant. Exact, or an error where the clock has whole ticks of it.
    pub(crate) fn ticks(&self, ns: Ns) -> Result<i64, String> {
        let (scaled, unit) = match self.clock {
            2 => (ns as i128, 100),
            3 => (ns as i128 * self.mhz as i128, 1_000),
            _ => (ns as i128 * self.freq as i128, 1_000_000_000),
        };
        let base = if self.clock == 2 { self.start } else { self.anchor };
        let exact_clock = match self.clock {
            2 => true,
            3 => false,
            _ => 1_000_000_000 % self.freq == 0 && self.freq <= 1_000_000_000,
        };
        if exact_clock && scaled % unit != 0 {
            return Err(format!("{ns} ns is no whole number of clock ticks"));
        }
        i64::try_from(base as i128 + scaled.div_euclid(unit)).map_err(|_| "time overflows".into())
    }

    /// Wall-clock time of an instant as FILETIME.
    pub(crate) fn filetime(&self, ns: Ns) -> i64 {
        self.start.saturating_add(ns.div_euclid(100))
    }

    /// Version of process records.
    pub(crate) fn process_version(&self) -> u8 {
        self.versions.process.unwrap_or(if self.build < 9200 { 3 } else { 4 })
    }
    /// Version of thread records.
    pub(crate) fn thread_version(&self) -> u8 {
        self.versions.thread.unwrap_or(if self.build < 7600 { 2 } else { 3 })
    }
    /// Version of image records.
    pub(crate) fn image_version(&self) -> u8 {
        self.versions.image.unwrap_or(if self.build < 10240 { 2 } else { 3 })
    }
    /// Version of context switches.
    pub(crate) fn cswitch_version(&self) -> u8 {
        let implied = match self.build {
            0..16299 => 2,
            16299..26100 => 4,
            _ => 5,
        };
        self.versions.cswitch.unwrap_or(implied)
    }
    /// Version of sampled-profile records.
    pub(crate) fn sample_version(&self) -> u8 {
        self.versions.sample.unwrap_or(2)
    }
    /// Whether thread records carry a name although their version does not say so.
    pub(crate) fn thread_names(&self) -> bool {
        self.versions.thread.is_none() && self.build >= 15063
    }
}

fn os_of_build(build: u32) -> (u8, u8) {
    match build {
        0..7600 => (6, 0),
        7600..9200 => (6, 1),
        9200..9600 => (6, 2),
        9600..10240 => (6, 3),
        _ => (10, 0),
    }
}

/// `64k`, `1m`, or bytes.
fn size(text: &str) -> Result<u32, String> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'k') => (&text[..text.len() - 1], 1024),
        Some(b'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    let value = crate::text::number(digits)?.checked_mul(unit).ok_or("too large")?;
    u32::try_from(value).map_err(|_| format!("'{text}' is no size"))
}

fn mode(text: &str) -> Result<u32, String> {
    match text {
        "sequential" => Ok(1),
        "circular" => Ok(2),
        "newfile" => Ok(9),
        "buffering" => Ok(0x400),
        _ => crate::text::field(text),
    }
}

/// Reads `YYYY-MM-DD HH:MM:SS[.fffffff]`, UTC, into a FILETIME.
pub(crate) fn filetime(text: &str) -> Option<i64> {
    let (date, clock) = text.split_once([' ', 'T'])?;
    let day: Vec<i64> = date.split('-').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, ""));
    let hms: Vec<i64> = clock.split(':').map(|p| p.parse().ok()).collect::<Option<_>>()?;
    let ([year, month, day], [hour, minute, second]) = (&day[..], &hms[..]) else { return None };
    let sane = (1601..=9999).contains(year)
        && (1..=12).contains(month)
        && (1..=31).contains(day)
        && (0..24).contains(hour)
        && (0..60).contains(minute)
        && (0..60).contains(second);
    if !sane || fraction.len() > 7 {
        return None;
    }
    let units: i64 =
        if fraction.is_empty() { 0 } else { format!("{fraction:0<7}").parse().ok()? };
    let seconds =
        days_since_1970(*year, *month, *day) * 86_400 + hour * 3600 + minute * 60 + second;
    Some(EPOCH_FILETIME + seconds * 10_000_000 + units)
}

/// Days of the Gregorian calendar, counted in years that begin with March.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// A wish to damage or pad the finished file.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    /// Keep the first bytes only.
    Truncate(u64),
    /// Keep everything up to a buffer (counted from 0 = header) and some bytes of it.
    CutBuffer { buffer: usize, keep: u64 },
    /// Overwrite bytes at an offset inside a buffer.
    Patch { buffer: usize, at: u64, bytes: Vec<u8> },
    /// Append zero buffers.
    Zeros(u32),
    /// Put zero buffers in front of a buffer.
    ZerosBefore { buffer: usize, count: u32 },
}

/// One file of the recording.
#[derive(Clone, Debug)]
pub(crate) struct FileSpec {
    /// Suffix after the scenario's name, without dot; empty for the main file.
    pub(crate) suffix: String,
    pub(crate) machine: Machine,
    pub(crate) damages: Vec<Damage>,
    /// Explicit flush points: time and CPU (None: all).
    pub(crate) flushes: Vec<(Ns, Option<u16>)>,
    /// Buffers to be flagged: index and flag bits.
    pub(crate) flags: Vec<(usize, u16)>,
}

impl FileSpec {
    /// An empty file of this machine.
    pub(crate) fn new(suffix: &str, machine: Machine) -> FileSpec {
        FileSpec {
            suffix: suffix.into(),
            machine,
            damages: Vec::new(),
            flushes: Vec::new(),
            flags: Vec::new(),
        }
    }

    /// A `damage` line.
    pub(crate) fn damage(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let buffer: usize = reader.or("buffer", usize::MAX)?;
        if let Some(bytes) = reader.get("truncate")? {
            self.damages.push(Damage::Truncate(bytes));
        }
        if let Some(keep) = reader.get("keep")? {
            self.damages.push(Damage::CutBuffer { buffer, keep });
        }
        if let Some(hex) = reader.text("bytes") {
            let bytes = crate::body::hex_bytes(hex).ok_or("bytes are hexadecimal pairs")?;
            self.damages.push(Damage::Patch { buffer, at: reader.need("at")?, bytes });
        }
        if let Some(count) = reader.get::<u32>("zeros")? {
            let count = count.min(1024);
            self.damages.push(match buffer {
                usize::MAX => Damage::Zeros(count),
                _ => Damage::ZerosBefore { buffer, count },
            });
        }
        if let Some(flag) = reader.get("flag")? {
            self.flags.push((buffer, flag));
        }
        Ok(())
    }

    /// A `flush` line.
    pub(crate) fn flush(&mut self, reader: &Reader<'_>) -> Result<(), String> {
        let at_ns = reader.at()?;
        match reader.text("cpu") {
            None => self.flushes.push((at_ns, None)),
            Some(list) => {
                for cpu in number_list(list)? {
                    self.flushes.push((at_ns, Some(cpu as u16)));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filetimes() {
        assert_eq!(filetime("1601-01-01 00:00:00"), Some(0));
        assert_eq!(filetime("1970-01-01 00:00:00"), Some(EPOCH_FILETIME));
        assert_eq!(filetime("2024-02-29 12:00:00.5"), Some(133_536_816_005_000_000));
        assert_eq!(filetime("2024-13-01 00:00:00"), None);
        assert_eq!(filetime("yesterday"), None);
    }

    #[test]
    fn ticks_are_exact_or_refused() {
        let machine = Machine { anchor: 1000, ..Machine::default() };
        assert_eq!(machine.ticks(1_000), Ok(1010));
        assert!(machine.ticks(1_050).is_err());
        let cycles = Machine { clock: 3, mhz: 2400, anchor: 5, ..Machine::default() };
        assert_eq!(cycles.ticks(1_000), Ok(2405));
        let system = Machine { clock: 2, start: 77, ..Machine::default() };
        assert_eq!(system.ticks(1_000), Ok(87));
    }
}
