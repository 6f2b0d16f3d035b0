//! Who is who: processes, threads and modules by lifetime, so that reused ids never mix.
//!
//! Built once from the survey's facts; the pass in time order then asks by id and time. Threads that no event
//! names are added at their first mention.

use rustc_hash::FxHashMap;

use super::facts::{Facts, ImageFact, Machine, ProcessFact, ThreadFact, file_name};
use super::lifetime::Lifetimes;
use crate::event::Phase;

/// Index of a process, thread or module; its key is one more.
pub type Index = u32;

/// The key under which an index is stored.
pub fn key(index: Index) -> i64 {
    i64::from(index) + 1
}

/// A process lifetime.
#[derive(Clone, Debug)]
pub struct ProcessRow {
    pub pid: u32,
    pub unique_key: u64,
    pub parent_pid: Option<u32>,
    pub parent: Option<Index>,
    pub session_id: Option<u32>,
    pub exit_code: Option<u32>,
    pub is_wow64: Option<bool>,
    pub sid: Option<String>,
    pub name: Option<String>,
    pub command_line: Option<String>,
    pub package: Option<String>,
    pub app_id: Option<String>,
    pub terminate_ns: Option<i64>,
}

/// A thread lifetime.
#[derive(Clone, Debug)]
pub struct ThreadRow {
    pub tid: u32,
    pub pid: Option<u32>,
    pub process: Option<Index>,
    pub name: Option<String>,
    pub start_address: Option<u64>,
    pub affinity: Option<u64>,
    pub base_priority: Option<i8>,
    pub sub_process_tag: u32,
    pub idle_cpu: Option<u16>,
    /// When an event first told of it; its process is the one that had the pid then.
    first_ns: i64,
    /// Whether no thread event names it.
    pub mentioned_only: bool,
}

/// A mapping of a module.
#[derive(Clone, Debug)]
pub struct ImageRow {
    pub space: Space,
    pub pid: u32,
    pub base: u64,
    pub size: u64,
    pub checksum: Option<u32>,
    pub timestamp: Option<u32>,
    pub path: String,
    pub pdb: Option<(String, String, u32)>,
    pub original_name: Option<String>,
    /// Index into the facts' version resources.
    pub version: Option<usize>,
    /// Times at which an event told of it; identities are joined by them.
    seen_ns: Vec<i64>,
}

/// An address space: the kernel's, a process's, or that of a pid that no process event names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Kernel,
    Process(Index),
    Unnamed(u32),
}

impl Space {
    fn id(self) -> u64 {
        match self {
            Space::Kernel => 1 << 40,
            Space::Process(index) => u64::from(index),
            Space::Unnamed(pid) => 1 << 41 | u64::from(pid),
        }
    }
}

/// All identities of a recording.
#[derive(Default)]
pub struct Identity {
    pub processes: Vec<ProcessRow>,
    pub process_lives: Lifetimes,
    pub threads: Vec<ThreadRow>,
    pub thread_lives: Lifetimes,
    pub images: Vec<ImageRow>,
    pub image_lives: Lifetimes,
    spaces: FxHashMap<Space, Vec<Index>>,
    idle: Vec<Option<Index>>,
    /// Whether lifetimes come from the manifest provider, because no kernel event tells of any.
    pub from_manifest: FromManifest,
}

/// Which lifetimes the manifest provider had to tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FromManifest {
    pub processes: bool,
    pub threads: bool,
    pub images: bool,
}

/// Takes the manifest provider's facts where the kernel has told nothing, in time order.
fn choose<T>(kernel: &mut Vec<T>, manifest: &mut Vec<T>, ns: impl Fn(&T) -> i64) -> bool {
    let from_manifest = kernel.is_empty() && !manifest.is_empty();
    if from_manifest {
        std::mem::swap(kernel, manifest);
    }
    manifest.clear();
    kernel.sort_by_key(ns);
    from_manifest
}

impl Identity {
    /// Builds all lifetimes. The facts' lists of lifetimes are used up.
    pub fn build(facts: &mut Facts) -> Identity {
        let from_manifest = FromManifest {
            processes: choose(&mut facts.processes, &mut facts.manifest_processes, |f| f.ns),
            threads: choose(&mut facts.threads, &mut facts.manifest_threads, |f| f.ns),
            images: choose(&mut facts.images, &mut facts.manifest_images, |f| f.ns),
        };
        let mut identity = Identity { from_manifest, ..Identity::default() };
        for fact in std::mem::take(&mut facts.processes) {
            identity.add_process(fact);
        }
        identity.add_parents();
        facts.terminates.sort();
        for (ns, pid) in &facts.terminates {
            if let Some(process) = identity.process_at(*pid, *ns) {
                identity.processes[process as usize].terminate_ns.get_or_insert(*ns);
            }
        }
        for fact in std::mem::take(&mut facts.threads) {
            identity.add_thread(fact);
        }
        facts.names.sort_by_key(|fact| fact.ns);
        for fact in std::mem::take(&mut facts.names) {
            if let Some(thread) = identity.thread_lives.at(u64::from(fact.tid), fact.ns) {
                identity.threads[thread].name = Some(fact.name);
            }
        }
        for index in 0..identity.threads.len() {
            let thread = &identity.threads[index];
            let process = thread.pid.and_then(|pid| identity.process_at(pid, thread.first_ns));
            identity.threads[index].process = process;
        }
        for fact in std::mem::take(&mut facts.images) {
            identity.add_image(fact);
        }
        identity.add_image_identities(facts);
        identity.index_spaces();
        identity
    }

    fn add_process(&mut self, fact: ProcessFact) {
        let rows = &self.processes;
        let same = |index: usize| {
            let row = &rows[index];
            if row.unique_key != 0 && fact.unique_key != 0 {
                return row.unique_key == fact.unique_key;
            }
            row.name.is_none()
                || fact.name.is_none()
                || row.name == fact.name
                || fact.phase == Phase::End
        };
        let zombie = fact.phase == Phase::DcEnd || fact.phase == Phase::DcStart;
        let ended = self.process_lives.last(u64::from(fact.pid)).filter(|index| {
            let keyed = fact.unique_key != 0 && rows[*index].unique_key == fact.unique_key;
            zombie && keyed && self.process_lives.all()[*index].end_ns.is_some()
        });
        // A process that has ended but is still held appears in the rundown; it is no new one.
        let index = ended.unwrap_or_else(|| {
            self.process_lives.observe(u64::from(fact.pid), fact.phase, fact.ns, same)
        });
        if index == self.processes.len() {
            self.processes.push(ProcessRow {
                pid: fact.pid,
                unique_key: 0,
                parent_pid: None,
                parent: None,
                session_id: None,
                exit_code: None,
                is_wow64: None,
                sid: None,
                name: None,
                command_line: None,
                package: None,
                app_id: None,
                terminate_ns: None,
            });
        }
        let row = &mut self.processes[index];
        if row.unique_key == 0 {
            row.unique_key = fact.unique_key;
        }
        row.parent_pid = row.parent_pid.or(fact.parent_pid);
        row.session_id = row.session_id.or(fact.session_id);
        row.exit_code = fact.exit_code.or(row.exit_code);
        row.is_wow64 = row.is_wow64.or(fact.is_wow64);
        fill(&mut row.sid, fact.sid);
        fill(&mut row.name, fact.name);
        let command_line = fact.command_line.filter(|text| !text.is_empty());
        fill(&mut row.command_line, command_line);
        fill(&mut row.package, fact.package);
        fill(&mut row.app_id, fact.app_id);
    }

    /// A parent is the lifetime that had the id when the child began; an id reused since names nobody.
    fn add_parents(&mut self) {
        for index in 0..self.processes.len() {
            let row = &self.processes[index];
            let child = self.process_lives.all()[index];
            let Some(parent_pid) = row.parent_pid.filter(|parent| *parent != row.pid) else {
                continue;
            };
            let at = child.start_ns.unwrap_or(i64::MIN);
            let parent = self.process_lives.at(u64::from(parent_pid), at);
            let parent = parent.filter(|parent| {
                let lifetime = self.process_lives.all()[*parent];
                *parent != index && lifetime.covers(at)
            });
            self.processes[index].parent = parent.map(|parent| parent as Index);
        }
    }

    fn add_thread(&mut self, fact: ThreadFact) {
        if fact.tid == 0 {
            // Idle threads are told apart by CPU, which these events do not name.
            return;
        }
        let rows = &self.threads;
        let same = |index: usize| rows[index].pid == Some(fact.pid);
        let index = self.thread_lives.observe(u64::from(fact.tid), fact.phase, fact.ns, same);
        if index == self.threads.len() {
            self.threads.push(ThreadRow {
                tid: fact.tid,
                pid: Some(fact.pid),
                process: None,
                name: None,
                start_address: None,
                affinity: None,
                base_priority: None,
                sub_process_tag: 0,
                idle_cpu: None,
                first_ns: fact.ns,
                mentioned_only: false,
            });
        }
        let row = &mut self.threads[index];
        row.start_address = row.start_address.or(fact.start_address);
        row.affinity = row.affinity.or(fact.affinity);
        row.base_priority = row.base_priority.or(fact.base_priority);
        if fact.sub_process_tag != 0 {
            row.sub_process_tag = fact.sub_process_tag;
        }
        if fact.name.is_some() {
            row.name = fact.name;
        }
    }

    fn space(&self, pid: u32, kernel: bool, ns: i64) -> Space {
        match self.process_at(pid, ns) {
            _ if kernel => Space::Kernel,
            Some(process) => Space::Process(process),
            None => Space::Unnamed(pid),
        }
    }

    fn add_image(&mut self, fact: ImageFact) {
        let space = self.space(fact.pid, fact.kernel, fact.ns);
        let rows = &self.images;
        let same = |index: usize| {
            let row = &rows[index];
            row.space == space
                && row.base == fact.base
                && (row.size == fact.size || row.path == fact.path)
        };
        // Two modules of one space at one base follow each other; the id only has to tell spaces apart.
        let id = fact.base ^ space.id().rotate_left(20);
        let index = self.image_lives.observe(id, fact.phase, fact.ns, same);
        if index == self.images.len() {
            self.images.push(ImageRow {
                space,
                pid: fact.pid,
                base: fact.base,
                size: fact.size,
                checksum: fact.checksum,
                timestamp: fact.timestamp,
                path: fact.path,
                pdb: None,
                original_name: None,
                version: None,
                seen_ns: vec![fact.ns],
            });
            return;
        }
        let row = &mut self.images[index];
        row.checksum = row.checksum.or(fact.checksum);
        row.timestamp = row.timestamp.or(fact.timestamp);
        row.seen_ns.push(fact.ns);
    }

    /// Joins what a merge tells of modules: by base, process and the exact time of one of the module's events,
    /// else by base and process alone where only one module was ever there.
    fn add_image_identities(&mut self, facts: &Facts) {
        let mut by_place: FxHashMap<(u64, bool, u32), Vec<usize>> = FxHashMap::default();
        for (index, row) in self.images.iter().enumerate() {
            let kernel = row.space == Space::Kernel;
            let pid = if kernel { 0 } else { row.pid };
            by_place.entry((row.base, kernel, pid)).or_default().push(index);
        }
        let images = &mut self.images;
        let find = |images: &[ImageRow], pid: u32, base: u64, ns: i64| -> Option<usize> {
            let list =
                by_place.get(&(base, false, pid)).or_else(|| by_place.get(&(base, true, 0)))?;
            let exact = list.iter().find(|index| images[**index].seen_ns.contains(&ns));
            exact.or(if list.len() == 1 { list.first() } else { None }).copied()
        };
        for fact in &facts.image_ids {
            if let Some(index) = find(images, fact.pid, fact.base, fact.ns) {
                let row = &mut images[index];
                row.timestamp = row.timestamp.or((fact.timestamp != 0).then_some(fact.timestamp));
                if !fact.original_name.is_empty() {
                    row.original_name = Some(fact.original_name.clone());
                }
            }
        }
        for fact in &facts.pdbs {
            if let Some(index) = find(images, fact.pid, fact.base, fact.ns) {
                let name = file_name(&fact.name).to_owned();
                images[index].pdb = Some((name, fact.guid.clone(), fact.age));
            }
        }
        let versions: FxHashMap<(u64, u32), usize> = facts
            .versions
            .iter()
            .enumerate()
            .map(|(index, fact)| ((u64::from(fact.size), fact.timestamp), index))
            .collect();
        for row in images {
            let stamp = row.timestamp.unwrap_or(0);
            row.version = versions.get(&(row.size, stamp)).copied();
        }
    }

    fn index_spaces(&mut self) {
        for (index, row) in self.images.iter().enumerate() {
            self.spaces.entry(row.space).or_default().push(index as Index);
        }
        for list in self.spaces.values_mut() {
            list.sort_by_key(|index| (self.images[*index as usize].base, *index));
        }
    }

    /// The process that has `pid` at `ns`.
    pub fn process_at(&self, pid: u32, ns: i64) -> Option<Index> {
        self.process_lives.at(u64::from(pid), ns).map(|index| index as Index)
    }

    /// The thread that has `tid` at `ns`; the idle thread is that of `cpu`. A thread that no event names is
    /// added here.
    #[inline]
    pub fn thread_at(&mut self, tid: u32, ns: i64, cpu: u16) -> Index {
        if tid == 0 {
            return self.idle_thread(cpu);
        }
        match self.thread_lives.at(u64::from(tid), ns) {
            Some(index) => index as Index,
            None => self.mention(tid, ns),
        }
    }

    /// The thread that has `tid` at `ns`, if an event or an earlier mention tells of one.
    pub fn known_thread_at(&self, tid: u32, ns: i64) -> Option<Index> {
        if tid == 0 {
            return None;
        }
        self.thread_lives.at(u64::from(tid), ns).map(|index| index as Index)
    }

    #[cold]
    fn mention(&mut self, tid: u32, ns: i64) -> Index {
        let index = self.thread_lives.mention(u64::from(tid), ns);
        debug_assert_eq!(index, self.threads.len());
        self.threads.push(ThreadRow {
            tid,
            pid: None,
            process: None,
            name: None,
            start_address: None,
            affinity: None,
            base_priority: None,
            sub_process_tag: 0,
            idle_cpu: None,
            first_ns: ns,
            mentioned_only: true,
        });
        index as Index
    }

    fn idle_thread(&mut self, cpu: u16) -> Index {
        let slot = usize::from(cpu);
        if let Some(Some(index)) = self.idle.get(slot) {
            return *index;
        }
        if self.idle.len() <= slot {
            self.idle.resize(slot + 1, None);
        }
        // An id beyond 32 bits keeps the idle threads of all CPUs apart.
        let index = self.thread_lives.mention(1 << 32 | u64::from(cpu), 0);
        let process = self.process_at(0, 0);
        self.threads.push(ThreadRow {
            tid: 0,
            pid: Some(0),
            process,
            name: None,
            start_address: None,
            affinity: None,
            base_priority: None,
            sub_process_tag: 0,
            idle_cpu: Some(cpu),
            first_ns: 0,
            mentioned_only: false,
        });
        self.idle[slot] = Some(index as Index);
        index as Index
    }

    /// The module at `address` in `space` at `ns`.
    pub fn image_at(&self, space: Space, address: u64, ns: i64) -> Option<Index> {
        let list = self.spaces.get(&space)?;
        let end = list.partition_point(|index| self.images[*index as usize].base <= address);
        // Modules that were at overlapping places at different times lie next to each other.
        list[..end].iter().rev().take(OVERLAPS_MAX).copied().find(|index| {
            let row = &self.images[*index as usize];
            address - row.base < row.size && self.image_lives.all()[*index as usize].covers(ns)
        })
    }
}

/// How many modules below an address are looked at: more than ever lived at overlapping places.
const OVERLAPS_MAX: usize = 256;

fn fill(slot: &mut Option<String>, text: Option<String>) {
    if slot.is_none() {
        *slot = text;
    }
}

/// A recorded path with a drive letter, where the trace's volumes or directories allow it.
pub fn dos_path(path: &str, machine: &Machine) -> Option<String> {
    if let Some(rest) = path.strip_prefix(r"\??\") {
        return Some(rest.to_owned());
    }
    if let Some(rest) = strip_prefix_ignoring_case(path, r"\SystemRoot") {
        return machine
            .windows_dir
            .as_ref()
            .map(|dir| format!("{}{rest}", dir.trim_end_matches('\\')));
    }
    if path.as_bytes().get(1) == Some(&b':') {
        return Some(path.to_owned());
    }
    machine.volumes.iter().find_map(|(nt, dos)| {
        let rest = strip_prefix_ignoring_case(path, nt.trim_end_matches('\\'))?;
        Some(format!("{}{rest}", dos.trim_end_matches('\\')))
    })
}

/// What follows `prefix` in `path`, if a path component ends there.
fn strip_prefix_ignoring_case<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    let head = path.get(..prefix.len())?;
    let rest = &path[prefix.len()..];
    let ends = rest.is_empty() || rest.starts_with('\\');
    (!prefix.is_empty() && ends && head.eq_ignore_ascii_case(prefix)).then_some(rest)
}
