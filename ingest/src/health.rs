//! Every counter of what is missing, damaged or doubtful: severity, source, meaning and remedy in one list.
//!
//! A counter that is not zero becomes a row of the table `health`. Nothing is dropped without one.

/// A counter's declaration.
pub struct Counter {
    /// Name in the table.
    pub name: &'static str,
    /// 'info', 'notice', 'data_loss' or 'error'.
    pub severity: &'static str,
    /// 'recorder', 'file' or 'analysis'.
    pub source: &'static str,
    /// What it counts.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

macro_rules! counters {
    ($($id:ident: $severity:literal $source:literal $meaning:literal, $remedy:literal;)+) => {
        /// The counters, in the order of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(non_camel_case_types, missing_docs)]
        pub enum Count { $($id),+ }

        /// Their declarations, by number.
        pub static COUNTERS: &[Counter] = &[$(Counter {
            name: stringify!($id),
            severity: $severity,
            source: $source,
            meaning: $meaning,
            remedy: $remedy,
        }),+];
    };
}

counters! {
    events_lost: "data_loss" "recorder"
        "Events that found no buffer while recording; nothing tells where they are missing.",
        "record with more or larger buffers, or fewer events";
    buffers_lost: "data_loss" "recorder"
        "Whole buffers that were lost while recording.",
        "record to a faster disk, or with more buffers";
    log_wrapped: "notice" "recorder"
        "The log is circular and has wrapped: what happened before its oldest buffer is gone. Counts the buffers that are gone.",
        "record with a larger circular log, or stop it sooner after the problem";
    file_not_closed: "data_loss" "file"
        "The log was never closed: its last buffers were not written.",
        "stop the session before copying the file";
    buffers_missing: "data_loss" "file"
        "Buffers that the log header counts but the file does not hold.",
        "copy the file again";
    buffers_damaged: "data_loss" "file"
        "Buffers that cannot be read wholly; the records before the damage are kept.",
        "copy the file again; check the disk";
    bytes_unreadable: "data_loss" "file"
        "Bytes of the file that hold no readable buffer.",
        "copy the file again; check the disk";
    clock_unusable: "error" "file"
        "The log header states no usable clock frequency; durations are not to be believed.",
        "record again";
    time_inversions: "notice" "file"
        "Records that are earlier than the record before them in their buffer; their order is kept.",
        "none: the kernel stamps an event before it owns its place";
    events_malformed: "error" "analysis"
        "Events whose bytes contradict their layout; see event_census, fate malformed.",
        "report the event class with a sample";
    events_unknown: "info" "analysis"
        "Events of classes for which no layout is known; see event_census, fate unknown.",
        "none, unless a question needs them";
    generic_undecoded: "info" "analysis"
        "Manifest events whose fields cannot be named, because the trace carries no description of them; their payload is kept.",
        "merge the trace on the machine that recorded it (xperf -merge, wpr -stop), which embeds the descriptions";
    generic_malformed: "notice" "analysis"
        "Manifest events whose payload contradicts its own description; their payload is kept.",
        "none: the provider wrote them so";
    schemas_malformed: "notice" "analysis"
        "Event descriptions carried in the trace that cannot be read.",
        "none: the merge wrote them so";
    text_surrogates: "info" "analysis"
        "Texts with unpaired surrogates, which became U+FFFD.",
        "none";
    text_not_utf8: "info" "analysis"
        "8-bit texts that are not UTF-8 and were read as windows-1252.",
        "none";
    threads_unnamed: "notice" "analysis"
        "Threads that no thread event names; they have no process.",
        "record thread start and rundown (kernel flag PROC_THREAD) and merge the rundown in";
    threads_without_process: "notice" "analysis"
        "Threads whose process id belongs to no process event.",
        "record process start and rundown (kernel flag PROC_THREAD)";
    broken_chains: "notice" "analysis"
        "Switches after which the CPU's next switch names another thread as the one that ran: the run's length is unknown.",
        "see events_lost; record with more buffers";
    planned_thread_replaced: "info" "analysis"
        "Switches whose planned thread was replaced at the last moment; the row names the thread that really ran.",
        "none";
    compact_switches_late: "notice" "analysis"
        "Switches of compact batches beyond the limit that is sorted in; they were left out.",
        "record full context switches";
    compact_switches_open: "info" "analysis"
        "Last switches of compact batches, whose new thread no later packet names.",
        "none";
    stacks_unmatched: "notice" "analysis"
        "Stack records whose event is not in the trace.",
        "see events_lost; keep the whole log";
    stacks_late: "notice" "analysis"
        "Stack records that came so long after their event that its row had been written.",
        "none: a thread stayed in the kernel for very long";
    stacks_not_stored: "info" "analysis"
        "Stack records of events whose table keeps no stack; one counter per event class follows.",
        "none";
    stacks_other_thread: "info" "analysis"
        "Stack records that fit an event by time and CPU but name another thread.",
        "none: the planned thread of a switch was replaced";
    stack_keys_unresolved: "data_loss" "analysis"
        "References to cached stacks whose definition is not in the trace.",
        "stop the session in order, so that the cached stacks are written";
    stack_definitions_over_limit: "data_loss" "analysis"
        "Definitions of cached stacks beyond the limit that is kept in memory.",
        "split the trace by time";
    sample_interval_invalid: "notice" "analysis"
        "Statements of a sampling interval that cannot be one; samples after it have no weight.",
        "none: virtual machines state nonsense here";
    parts_failed: "error" "file"
        "Files of the recording that could not be read.",
        "copy the files again";
}

impl Count {
    /// The counter's declaration.
    pub fn declaration(self) -> &'static Counter {
        &COUNTERS[self as usize]
    }
}

/// The counters of one recording.
#[derive(Clone, Debug)]
pub struct Health {
    counts: Vec<(u64, Option<i64>)>,
    /// Stack records that were not stored, by the class of their event.
    pub stacks_by_class: std::collections::BTreeMap<String, u64>,
}

impl Default for Health {
    fn default() -> Self {
        Health { counts: vec![(0, None); COUNTERS.len()], stacks_by_class: Default::default() }
    }
}

impl Health {
    /// Adds to a counter.
    pub fn add(&mut self, count: Count, number: u64) {
        self.counts[count as usize].0 += number;
    }

    /// Adds one that happened at a time.
    pub fn at(&mut self, count: Count, ns: i64) {
        let slot = &mut self.counts[count as usize];
        slot.0 += 1;
        slot.1 = Some(slot.1.map_or(ns, |first| first.min(ns)));
    }

    /// Sets the time of the first.
    pub fn first(&mut self, count: Count, ns: Option<i64>) {
        self.counts[count as usize].1 = ns;
    }

    /// A counter's value.
    pub fn get(&self, count: Count) -> u64 {
        self.counts[count as usize].0
    }

    /// The counters that are not zero: declaration, number, first time.
    pub fn rows(&self) -> impl Iterator<Item = (&'static Counter, u64, Option<i64>)> {
        let counts = self.counts.iter().zip(COUNTERS);
        counts
            .filter(|((number, _), _)| *number > 0)
            .map(|((n, first), counter)| (counter, *n, *first))
    }
}
