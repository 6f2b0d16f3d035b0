//! All records of one or several files in time order: a k-way merge over the CPUs' streams of buffers.
//!
//! A stream has at most one open buffer, and none before its first record is due. A run of records that all come
//! before the next stream's is delivered without touching the heap. Records of a buffer stay in their order, even
//! where their times step back; nothing is dropped for being late. The second pass of a job uses it.

use std::io;

use super::buffer::{BufferEntry, CPUS_MAX, settle, unpack};
use super::clock::Clock;
use super::damage::DamageKind;
use super::file::EtlFile;
use super::record::{Place, RawEvent, Walker};
use super::scan::ScanReport;
use super::source::read_full;
use super::xpress::Ending;

/// Most bytes in open buffers at a time. Beyond it buffers are lost and counted: it takes more CPUs times
/// buffer size than any machine that traces, and keeps a hostile file from filling memory.
pub const OPEN_BYTES_MAX: usize = 2 << 30;

/// What a merge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeReport {
    /// What was found in each file, in the order given.
    pub files: Vec<ScanReport>,
    /// Records delivered, all files together.
    pub records: u64,
    /// Records delivered with a time before that of a record delivered earlier.
    pub out_of_order: u64,
    /// Most buffers open at a time.
    pub open_buffers_max: usize,
    /// Most bytes of buffers open at a time.
    pub open_bytes_max: usize,
}

/// A merge, ready to run.
pub struct Merge<'a> {
    files: Vec<&'a EtlFile>,
    clocks: Vec<Clock>,
    one_clock: bool,
    streams: Vec<Stream>,
    open_bytes_limit: usize,
}

/// The buffers of one CPU of one file.
struct Stream {
    file: usize,
    /// Indexes of its buffers, in time order.
    order: Vec<u32>,
    /// For each of them the time at which it must be open.
    due: Vec<i64>,
    /// How many of them have been opened.
    opened: usize,
    open: Option<Open>,
}

/// A buffer being read.
struct Open {
    entry: BufferEntry,
    data: Vec<u8>,
    valid: usize,
    ending: Ending,
    place: Place,
}

impl<'a> Merge<'a> {
    /// Prepares a merge. Where the files do not share a session clock their times are compared as wall clock.
    pub fn new(files: &[&'a EtlFile]) -> Merge<'a> {
        let one_clock = files.windows(2).all(|pair| same_clock(pair[0], pair[1]));
        let clocks = align(files, one_clock);
        let mut streams = Vec::new();
        for (index, file) in files.iter().enumerate() {
            let mut by_cpu: Vec<Vec<u32>> = vec![Vec::new(); CPUS_MAX];
            for (number, entry) in file.buffers().iter().enumerate() {
                by_cpu[usize::from(entry.cpu)].push(number as u32);
            }
            for mut order in by_cpu.into_iter().filter(|order| !order.is_empty()) {
                sort_stream(file.buffers(), &mut order);
                let key = |ticks| if one_clock { ticks } else { clocks[index].ns(ticks) };
                let due = due_times(file.buffers(), &order, key);
                streams.push(Stream { file: index, order, due, opened: 0, open: None });
            }
        }
        let files = files.to_vec();
        Merge { files, clocks, one_clock, streams, open_bytes_limit: OPEN_BYTES_MAX }
    }

    /// The same merge with another limit than `OPEN_BYTES_MAX` on the bytes in open buffers.
    pub fn with_open_bytes_limit(self, bytes: usize) -> Merge<'a> {
        Merge { open_bytes_limit: bytes, ..self }
    }

    /// For each file the clock that gives nanoseconds since the start of the earliest one.
    pub fn clocks(&self) -> &[Clock] {
        &self.clocks
    }

    /// Whether all files count the same session clock, so that their ticks can be compared.
    pub fn one_clock(&self) -> bool {
        self.one_clock
    }

    /// Delivers every record with the index of its file, by (time, file, CPU, position in the stream).
    pub fn run<F>(self, mut on_event: F) -> Result<MergeReport, io::Error>
    where
        F: FnMut(usize, &RawEvent<'_>),
    {
        let Merge { files, clocks, one_clock, mut streams, open_bytes_limit } = self;
        let mut heap = Heap::new(&streams);
        let mut pool = Pool::new(&files, open_bytes_limit);
        while let Some((_, number)) = heap.top() {
            let limit = heap.second();
            let stream = &mut streams[number as usize];
            let file = stream.file;
            let next = if stream.open.is_none() && !pool.open(stream)? {
                stream.due.get(stream.opened).copied()
            } else if one_clock {
                pool.deliver(stream, number, limit, |ticks| ticks, |event| on_event(file, event))
            } else {
                let clock = clocks[file];
                let key = |ticks| clock.ns(ticks);
                pool.deliver(stream, number, limit, key, |event| on_event(file, event))
            };
            heap.replace_top(next.map(|key| (key, number)));
        }
        pool.report.records = pool.report.files.iter().map(|file| file.records).sum();
        Ok(pool.report)
    }
}

/// How far the boots of two files may lie apart for one boot: BootTime is coarse, and set anew after clock changes.
const BOOT_SLACK_FILETIME: u64 = 10_000_000;

/// Whether the ticks of two files count the same thing from the same moment.
fn same_clock(one: &EtlFile, other: &EtlFile) -> bool {
    let (a, b) = (one.header(), other.header());
    let (clock_a, clock_b) = (one.clock(), other.clock());
    if clock_a.kind() != clock_b.kind() || clock_a.frequency() != clock_b.frequency() {
        return false;
    }
    // Either the machine says that it was the same boot, or the counters agree on the wall clock.
    let same_boot =
        a.boot_filetime != 0 && a.boot_filetime.abs_diff(b.boot_filetime) <= BOOT_SLACK_FILETIME;
    let wall = clock_a.filetime(clock_b.anchor_ticks());
    same_boot || wall.abs_diff(clock_b.start_filetime()) <= BOOT_SLACK_FILETIME
}

/// The clocks of the files on one axis, whose zero is the earliest start.
fn align(files: &[&EtlFile], one_clock: bool) -> Vec<Clock> {
    let clocks: Vec<Clock> = files.iter().map(|file| file.clock()).collect();
    if one_clock {
        // One anchor for all: two anchors of the same counter differ by the wall clock's corrections.
        let first = clocks.iter().min_by_key(|clock| clock.anchor_ticks()).copied();
        return first.map_or(Vec::new(), |first| vec![first; files.len()]);
    }
    let start = clocks.iter().map(|clock| clock.start_filetime()).min().unwrap_or(0);
    let later = |clock: &Clock| clock.start_filetime().saturating_sub(start).saturating_mul(100);
    clocks.iter().map(|clock| clock.shifted(later(clock))).collect()
}

/// Puts the buffers of one CPU, given in file order, into time order.
///
/// Sequence numbers give it: in a file that wrapped they rise with one step back, where the oldest buffer follows
/// the newest. Where they are not like that (numbers damaged, doubled or absent) the first records' times decide.
fn sort_stream(buffers: &[BufferEntry], order: &mut [u32]) {
    let entry = |number: &u32| &buffers[*number as usize];
    let falls = |order: &[u32]| {
        order.windows(2).filter(|pair| entry(&pair[0]).sequence >= entry(&pair[1]).sequence).count()
    };
    let rising = match falls(order) {
        0 => true,
        1 => {
            order.sort_by_key(|number| entry(number).sequence);
            falls(order) == 0
        }
        _ => false,
    };
    let mut latest = i64::MIN;
    let in_time = order.iter().filter_map(|number| entry(number).first_ticks).all(|ticks| {
        let later = ticks >= latest;
        latest = latest.max(ticks);
        later
    });
    let unwrapped = order.windows(2).all(|pair| pair[0] < pair[1]);
    if in_time || (rising && unwrapped) {
        return;
    }
    order.sort_unstable();
    // A buffer without a time stays behind the one before it.
    let mut time = i64::MIN;
    let mut timed: Vec<(i64, u32)> = Vec::with_capacity(order.len());
    for number in order.iter() {
        time = entry(number).first_ticks.unwrap_or(time);
        timed.push((time, *number));
    }
    timed.sort();
    for (number, (_, sorted)) in order.iter_mut().zip(timed) {
        *number = sorted;
    }
}

/// Due time of a buffer that is opened as soon as the one before it has ended.
const AT_ONCE: i64 = i64::MIN;

/// When each buffer must be open: at its first record; at once where that is not known, or lies behind the
/// first record of a later buffer, which a damaged timestamp can do.
fn due_times(buffers: &[BufferEntry], order: &[u32], key: impl Fn(i64) -> i64) -> Vec<i64> {
    let mut earliest = i64::MAX;
    let mut due: Vec<i64> = order
        .iter()
        .rev()
        .map(|number| match buffers[*number as usize].first_ticks.map(&key) {
            Some(first) if first <= earliest => {
                earliest = first;
                first
            }
            _ => AT_ONCE,
        })
        .collect();
    due.reverse();
    due
}

/// Open buffers, memory for the next ones, and the report.
struct Pool<'a> {
    files: &'a [&'a EtlFile],
    open_bytes_limit: usize,
    free: Vec<Vec<u8>>,
    raw: Vec<u8>,
    open_buffers: usize,
    open_bytes: usize,
    latest: i64,
    report: MergeReport,
}

impl<'a> Pool<'a> {
    fn new(files: &'a [&'a EtlFile], open_bytes_limit: usize) -> Pool<'a> {
        let report = MergeReport {
            files: vec![ScanReport::default(); files.len()],
            ..MergeReport::default()
        };
        Pool {
            files,
            open_bytes_limit,
            free: Vec::new(),
            raw: Vec::new(),
            open_buffers: 0,
            open_bytes: 0,
            latest: i64::MIN,
            report,
        }
    }

    /// Opens the next buffer of a stream; `false` when there is none or it is over the limit.
    fn open(&mut self, stream: &mut Stream) -> io::Result<bool> {
        let file = self.files[stream.file];
        let Some(number) = stream.order.get(stream.opened) else { return Ok(false) };
        let entry = file.buffers()[*number as usize];
        stream.opened += 1;
        let report = &mut self.report.files[stream.file];
        report.buffers += 1;
        if self.open_bytes + entry.memory_bytes() > self.open_bytes_limit {
            report.damaged_buffers += 1;
            let detail = "too many bytes in open buffers";
            report.damage.add(DamageKind::Limit, entry.offset, u64::from(entry.filled), detail);
            return Ok(false);
        }
        let mut data = self.free.pop().unwrap_or_default();
        let raw = if entry.compressed { &mut self.raw } else { &mut data };
        let bytes = match entry.compressed {
            true => entry.file_bytes,
            false => entry.file_bytes.min(entry.filled),
        };
        if raw.len() < bytes as usize {
            raw.resize(bytes as usize, 0);
        }
        let read = read_full(file.source(), entry.offset, &mut raw[..bytes as usize])?;
        let (valid, ending) = if entry.compressed {
            unpack(&entry, &self.raw[..read], &mut data)
        } else {
            (read, Ending::Complete)
        };
        let anchor = file.header().header_ticks;
        let place = Walker::start(&data[..valid], entry.context(file.header()), anchor).place;
        stream.open = Some(Open { entry, data, valid, ending, place });
        self.open_buffers += 1;
        self.open_bytes += entry.memory_bytes();
        self.report.open_buffers_max = self.report.open_buffers_max.max(self.open_buffers);
        self.report.open_bytes_max = self.report.open_bytes_max.max(self.open_bytes);
        Ok(true)
    }

    /// Delivers records of a stream up to `limit`, the head of the next stream; gives the key of what follows.
    #[inline]
    fn deliver(
        &mut self,
        stream: &mut Stream,
        number: u32,
        limit: (i64, u32),
        key: impl Fn(i64) -> i64,
        mut on_event: impl FnMut(&RawEvent<'_>),
    ) -> Option<i64> {
        let Some(open) = &mut stream.open else { return None };
        let file = self.files[stream.file];
        let report = &mut self.report.files[stream.file];
        let data = &open.data[..open.valid];
        let mut walker = Walker::resume(data, open.entry.context(file.header()), open.place);
        loop {
            let parsed = match walker.look() {
                Ok(parsed) => parsed,
                Err(stop) => {
                    walker.place.stop = Some(stop);
                    break;
                }
            };
            let now = key(parsed.event.ticks);
            if (now, number) > limit {
                // One record far in the future must not hold up the records behind it.
                let following = walker.after(&parsed).peek_ticks().map(&key);
                let later = stream.due.get(stream.opened..).unwrap_or(&[]);
                let next_due = || later.iter().copied().find(|due| *due != AT_ONCE);
                let due = now.min(following.or_else(next_due).unwrap_or(now));
                if (due, number) > limit {
                    open.place = walker.place;
                    return Some(due);
                }
            }
            walker.pass(&parsed);
            self.report.out_of_order += u64::from(now < self.latest);
            self.latest = self.latest.max(now);
            report.count(&parsed.event);
            on_event(&parsed.event);
        }
        report.inversions += walker.place.inversions;
        let damaged = settle(&open.entry, data, open.ending, &walker.place, &mut report.damage);
        report.damaged_buffers += u64::from(damaged);
        self.close(stream)
    }

    /// Gives the memory of a stream's buffer back, and the key of the stream's next buffer.
    fn close(&mut self, stream: &mut Stream) -> Option<i64> {
        if let Some(open) = stream.open.take() {
            self.open_buffers -= 1;
            self.open_bytes -= open.entry.memory_bytes();
            self.free.push(open.data);
        }
        stream.due.get(stream.opened).copied()
    }
}

/// A binary heap of streams by (key, number), which tells its second smallest too.
struct Heap {
    items: Vec<(i64, u32)>,
}

impl Heap {
    fn new(streams: &[Stream]) -> Heap {
        let first = |(number, stream): (usize, &Stream)| {
            stream.due.first().map(|due| (*due, number as u32))
        };
        let mut items: Vec<(i64, u32)> = streams.iter().enumerate().filter_map(first).collect();
        // A sorted list is a heap.
        items.sort_unstable();
        Heap { items }
    }

    #[inline]
    fn top(&self) -> Option<(i64, u32)> {
        self.items.first().copied()
    }

    /// The smallest but one; the largest possible where there is none.
    #[inline]
    fn second(&self) -> (i64, u32) {
        let none = (i64::MAX, u32::MAX);
        let left = self.items.get(1).copied().unwrap_or(none);
        let right = self.items.get(2).copied().unwrap_or(none);
        left.min(right)
    }

    /// Replaces the smallest, or removes it.
    #[inline]
    fn replace_top(&mut self, item: Option<(i64, u32)>) {
        let Some(item) = item.or_else(|| self.items.pop()) else { return };
        if self.items.is_empty() {
            return;
        }
        let mut at = 0;
        loop {
            let left = 2 * at + 1;
            let Some(mut small) = self.items.get(left).copied() else { break };
            let mut child = left;
            if let Some(right) = self.items.get(left + 1)
                && *right < small
            {
                small = *right;
                child = left + 1;
            }
            if item <= small {
                break;
            }
            self.items[at] = small;
            at = child;
        }
        self.items[at] = item;
    }
}
