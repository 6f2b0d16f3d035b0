//! One recording from start to end: the unit of parallelism, of failure and of memory.
//!
//! Survey, identities, merge, tables. A job shares nothing mutable with others; what it writes lies in its own
//! staging folder until it is published whole.

use std::io;
use std::path::Path;

use etwas_schema as schema;

use crate::census::ClassKey;
use crate::etl::{
    ClockKind, DamageKind, EtlFile, MODE_CIRCULAR, Merge, MergeReport, OpenError, ScanReport,
    filetime_to_unix_ns,
};
use crate::event::names;
use crate::health::{Count, Health};
use crate::route::{Parts, Router};
use crate::sink::{Filter, Tables, Target};
use crate::state::facts::{Facts, file_name};
use crate::state::identity::{Identity, Space, dos_path, key};
use crate::state::power::PowerState;
use crate::state::scheduler::{NO_THREAD, NONE16};
use crate::survey::Survey;

/// What is known of a recording from outside its bytes.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Name of the trace.
    pub name: String,
    /// Path as shown.
    pub path: String,
    /// Further paths.
    pub also_at: Vec<String>,
    /// Tags.
    pub tags: Vec<(String, String)>,
    /// Parts that could not be read, with the reason.
    pub failed_parts: Vec<String>,
    /// Whether a file changed while it was read, and how.
    pub changed: Option<String>,
}

/// What became of a recording.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// 'ok' or 'damaged'.
    pub status: &'static str,
    /// The first thing that is wrong.
    pub error: Option<String>,
    /// Rows by table.
    pub rows: Vec<(&'static str, u64)>,
    /// Records read.
    pub events: u64,
    /// Time covered.
    pub duration_ns: i64,
    /// Events the recorder lost.
    pub events_lost: u64,
    /// Buffers the recorder lost.
    pub buffers_lost: u64,
    /// Buffers damaged.
    pub buffers_damaged: u64,
}

/// Opens the parts of a recording; those that are no traces come back with the reason.
pub fn open_parts(
    sources: Vec<(String, std::sync::Arc<dyn crate::etl::Source>)>,
) -> (Vec<EtlFile>, Vec<(String, OpenError)>) {
    let mut files = Vec::new();
    let mut failed = Vec::new();
    for (path, source) in sources {
        match EtlFile::open(source) {
            Ok(file) => files.push(file),
            Err(error) => failed.push((path, error)),
        }
    }
    (files, failed)
}

/// A recording that has been surveyed.
pub struct Surveyed {
    files: Vec<EtlFile>,
    survey: Survey,
    build: u32,
}

impl Surveyed {
    /// The first pass.
    pub fn run(files: Vec<EtlFile>) -> io::Result<Surveyed> {
        let references: Vec<&EtlFile> = files.iter().collect();
        let clocks = Merge::new(&references).clocks().to_vec();
        let build = files.iter().map(|file| file.header().os_build).max().unwrap_or(0);
        let survey = Survey::run(&files, &clocks, build)?;
        Ok(Surveyed { files, survey, build })
    }

    /// BLAKE3 of each part.
    pub fn hashes(&self) -> &[[u8; 32]] {
        &self.survey.hashes
    }

    /// Bytes of the parts.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(EtlFile::len).sum()
    }

    /// The second pass: every table of the recording goes to `target`.
    pub fn write(
        mut self,
        trace_id: i64,
        content_hash: Option<&str>,
        labels: &Labels,
        target: &Target,
        filter: &Filter,
        scratch: &Path,
    ) -> io::Result<Outcome> {
        let mut identity = Identity::build(&mut self.survey.facts);
        let references: Vec<&EtlFile> = self.files.iter().collect();
        let merge = Merge::new(&references);
        let clocks = merge.clocks().to_vec();
        let start_filetime =
            self.files.iter().map(|f| f.clock().start_filetime()).min().unwrap_or(0);
        let start_unix_ns = filetime_to_unix_ns(start_filetime).unwrap_or(0);
        let recording = schema::Recording { trace_id, start_unix_ns };
        let tables = Tables::new(recording, target, filter);
        let lossless = self.is_lossless();
        let survey = &self.survey;
        let mut router = Router::new(
            &mut identity,
            &survey.schemas,
            &survey.definitions,
            &survey.compact,
            tables,
            clocks,
            self.build,
            lossless,
            survey.samples > 0,
            scratch,
        );
        router.power = PowerState::new(&survey.facts.power, &survey.facts.machine);
        let mut failure = None;
        let report = merge.run(|file, event| {
            if failure.is_none() {
                failure = router.event(file, event).err();
            }
        })?;
        if let Some(error) = failure {
            return Err(error);
        }
        router.finish_compact()?;
        router.drain(true)?;
        Finish { files: &self.files, survey, labels, content_hash, start_unix_ns, report }
            .write(router)
    }

    fn is_lossless(&self) -> bool {
        let lost = |file: &EtlFile| file.header().events_lost + file.header().buffers_lost > 0;
        let whole = self.survey.reports.iter().all(|report| report.damaged_buffers == 0);
        whole && !self.files.iter().any(|file| lost(file) || !file.damage().is_empty())
    }
}

/// What is written once all events have been read.
struct Finish<'a> {
    files: &'a [EtlFile],
    survey: &'a Survey,
    labels: &'a Labels,
    content_hash: Option<&'a str>,
    start_unix_ns: i64,
    report: MergeReport,
}

fn narrow(value: i16) -> Option<i32> {
    (value != NONE16).then_some(i32::from(value))
}

impl Finish<'_> {
    fn write(self, router: Router<'_>) -> io::Result<Outcome> {
        let Parts { identity, mut tables, census, mut health, gaps, scheduler, mut stacks } =
            router.into_parts();
        let facts = &self.survey.facts;
        let end_ns = self.survey.sched_end_ns();
        self.count_container(&mut health);
        self.count_analysis(&mut health, identity, &scheduler.counts, &stacks.counts);
        write_end_states(&mut tables, &mut stacks, identity, &scheduler, end_ns.unwrap_or(0))?;
        write_processes(&mut tables, identity)?;
        write_threads(&mut tables, identity, facts)?;
        write_images(&mut tables, identity, facts)?;
        write_frames(&mut tables, identity, &stacks)?;
        let gaps = gaps.finish();
        for gap in &gaps {
            tables.gap.builder.push(&schema::gap::Row {
                from_ts_ns: gap.from_ns,
                to_ts_ns: gap.to_ns,
                evidence: gap.evidence,
            });
        }
        let cpu_count = self.cpu_count();
        self.write_cpus(&mut tables, cpu_count);
        write_census(&mut tables, &census);
        write_health(&mut tables, &health);
        let (status, error) = self.status(&health);
        let duration_ns = self.survey.last_ns.unwrap_or(0);
        self.write_trace(&mut tables, status, error.as_deref(), duration_ns, end_ns, cpu_count);
        Ok(Outcome {
            status,
            error,
            rows: tables.close()?,
            events: self.report.records,
            duration_ns,
            events_lost: health.get(Count::events_lost),
            buffers_lost: health.get(Count::buffers_lost),
            buffers_damaged: health.get(Count::buffers_damaged),
        })
    }

    fn cpu_count(&self) -> u32 {
        let headers = self.files.iter().map(|file| file.header().cpus).max().unwrap_or(0);
        let told = self.survey.facts.machine.cpus.unwrap_or(headers);
        told.max(u32::from(self.survey.cpu_max) + 1)
    }

    /// Loss, damage and missing parts of the container.
    fn count_container(&self, health: &mut Health) {
        for (file, report) in self.files.iter().zip(&self.report.files) {
            let header = file.header();
            health.add(Count::events_lost, u64::from(header.events_lost));
            health.add(Count::buffers_lost, u64::from(header.buffers_lost));
            health.add(Count::buffers_damaged, damaged_buffers(file, report));
            health.add(Count::time_inversions, report.inversions);
            let between = file.damage_log().bytes_lost();
            health.add(Count::bytes_unreadable, between + report.bytes_lost());
            let circular = header.log_mode & MODE_CIRCULAR != 0;
            let buffers = file.buffers().len() as u64;
            let written = u64::from(header.buffers_written);
            if header.end_filetime == 0 {
                health.add(Count::file_not_closed, 1);
            } else if !circular {
                health.add(Count::buffers_missing, written.saturating_sub(buffers));
            }
            if circular {
                health.add(Count::log_wrapped, wrapped_buffers(file));
            }
            let clock = file.damage().iter().any(|damage| damage.what == DamageKind::Clock);
            health.add(Count::clock_unusable, u64::from(clock));
        }
        health.add(Count::parts_failed, self.labels.failed_parts.len() as u64);
    }

    fn count_analysis(
        &self,
        health: &mut Health,
        identity: &Identity,
        scheduler: &crate::state::scheduler::SchedulerCounts,
        stacks: &crate::state::stacks::StackCounts,
    ) {
        let survey = self.survey;
        health.add(Count::broken_chains, scheduler.broken_chains);
        health.first(Count::broken_chains, scheduler.first_broken_ns);
        health.add(Count::planned_thread_replaced, scheduler.repaired);
        health.add(Count::compact_switches_late, survey.compact_over_limit);
        health.add(Count::stacks_unmatched, stacks.orphans);
        health.add(Count::stacks_late, stacks.too_late);
        health.add(Count::stacks_not_stored, stacks.not_stored);
        health.add(Count::stacks_other_thread, stacks.other_thread);
        health.add(Count::stack_definitions_over_limit, survey.definitions.over_limit);
        health.add(Count::schemas_malformed, survey.schemas.problems().len() as u64);
        let repairs = survey.facts.repairs;
        health.add(Count::text_surrogates, repairs.surrogates);
        health.add(Count::text_not_utf8, repairs.not_utf8);
        for thread in &identity.threads {
            if thread.mentioned_only {
                health.add(Count::threads_unnamed, 1);
            } else if thread.process.is_none() && thread.idle_cpu.is_none() {
                health.add(Count::threads_without_process, 1);
            }
        }
    }

    /// 'damaged' where something that was written cannot be read, or was never written to the end.
    fn status(&self, health: &Health) -> (&'static str, Option<String>) {
        let labels = self.labels;
        if let Some(part) = labels.failed_parts.first() {
            return ("damaged", Some(part.clone()));
        }
        if let Some(changed) = &labels.changed {
            return ("damaged", Some(changed.clone()));
        }
        let found = self.files.iter().flat_map(EtlFile::damage);
        let found = found.chain(self.report.files.iter().flat_map(|report| report.damage.listed()));
        // A CPU beyond the stated number is odd, but its buffer is read.
        if let Some(damage) = found.into_iter().find(|d| d.what != DamageKind::CpuIndex) {
            return ("damaged", Some(damage.to_string()));
        }
        if health.get(Count::file_not_closed) > 0 {
            return ("damaged", Some("the log was never closed".to_owned()));
        }
        let missing = health.get(Count::buffers_missing);
        if missing > 0 {
            return (
                "damaged",
                Some(format!("{missing} buffers are missing at the end of the file")),
            );
        }
        ("ok", None)
    }

    fn write_cpus(&self, tables: &mut Tables, cpu_count: u32) {
        let facts = &self.survey.facts;
        for (cpu, info) in facts.power.cpus(&facts.machine, cpu_count).iter().enumerate() {
            tables.cpu.builder.push(&schema::cpu::Row {
                cpu: cpu as i32,
                group_number: info.place.map(|(group, _)| i32::from(group)),
                number_in_group: info.place.map(|(_, number)| i32::from(number)),
                efficiency_class: info.class.map(i32::from),
                nominal_mhz: info.nominal_mhz.map(|mhz| mhz as i32),
                relative_performance: info.relative.map(|relative| relative as i32),
                core_type: info.core_type,
                scheduling_class: info.scheduling_class.map(i32::from),
            });
        }
    }

    fn write_trace(
        &self,
        tables: &mut Tables,
        status: &str,
        error: Option<&str>,
        duration_ns: i64,
        sched_end_ns: Option<i64>,
        cpu_count: u32,
    ) {
        let machine = &self.survey.facts.machine;
        let labels = self.labels;
        let header = self.files[0].header();
        let sum = |of: &dyn Fn(&EtlFile) -> u64| self.files.iter().map(of).sum::<u64>() as i64;
        let damaged = |index: usize| damaged_buffers(&self.files[index], &self.report.files[index]);
        let also_at = (!labels.also_at.is_empty()).then(|| labels.also_at.join("\n"));
        let numbers = format!("Windows {}.{}", header.os_major, header.os_minor);
        let bits = self.survey.pointer_bits.unwrap_or(i32::from(header.record_bits));
        let clock = match self.files[0].clock().kind() {
            ClockKind::PerformanceCounter => "qpc",
            ClockKind::SystemTime => "system_time",
            ClockKind::CpuCycles => "cpu_cycles",
            ClockKind::Unstated => "none",
        };
        tables.trace.builder.push(&schema::trace::Row {
            name: &labels.name,
            path: &labels.path,
            also_at: also_at.as_deref(),
            parts: self.files.len() as i32,
            bytes: sum(&|file| file.len()),
            content_hash: self.content_hash,
            status,
            error,
            start_time: Some(self.start_unix_ns.div_euclid(1000)),
            duration_ns: Some(duration_ns),
            os_build: Some(header.os_build as i32),
            os_name: Some(machine.product.as_deref().unwrap_or(&numbers)),
            os_build_lab: machine.build_lab.as_deref(),
            computer_name: machine.computer_name.as_deref(),
            cpu_count: Some(cpu_count as i32),
            cpu_mhz: Some(machine.cpu_mhz.unwrap_or(header.cpu_mhz) as i32),
            cpu_model: machine.cpu_model.as_deref(),
            memory_mb: machine.memory_mb.map(i64::from),
            pointer_bits: Some(bits),
            clock: Some(clock),
            clock_hz: Some(self.files[0].clock().frequency()),
            utc_bias_minutes: Some(header.time_zone_bias_minutes),
            session_name: Some(&header.session_name),
            log_mode: Some(i64::from(header.log_mode)),
            compressed: self.files.iter().any(|file| file.compressed_buffers() > 0),
            buffer_count: sum(&|file| file.buffers().len() as u64),
            buffers_damaged: (0..self.files.len()).map(damaged).sum::<u64>() as i64,
            event_count: self.report.records as i64,
            events_lost: sum(&|file| u64::from(file.header().events_lost)),
            buffers_lost: sum(&|file| u64::from(file.header().buffers_lost)),
            sched_end_ns,
            tags: &labels.tags,
            etwas_version: env!("CARGO_PKG_VERSION"),
            start_unix_ns: self.start_unix_ns,
        });
    }
}

/// Buffers in which something is wrong: found by walking them, or already by their headers.
fn damaged_buffers(file: &EtlFile, report: &ScanReport) -> u64 {
    report.damaged_buffers + file.damage_log().count(DamageKind::BufferHeader)
}

/// Buffers that a circular log has overwritten: those before its oldest one.
fn wrapped_buffers(file: &EtlFile) -> u64 {
    let data = file.buffers().iter().skip(1).map(|buffer| buffer.sequence);
    // Numbers begin at 1 behind the header buffer, and are handed out as buffers are.
    data.min().map_or(0, |oldest| oldest.saturating_sub(1).max(0) as u64)
}

fn write_end_states(
    tables: &mut Tables,
    stacks: &mut crate::state::stacks::Stacks,
    identity: &Identity,
    scheduler: &crate::state::scheduler::Scheduler,
    end_ns: i64,
) -> io::Result<()> {
    for end in scheduler.end_states(identity, end_ns) {
        let readying = (end.readying_thread != NO_THREAD).then_some(end.readying_thread);
        tables.thread_end_state.builder.push(&schema::thread_end_state::Row {
            thread_key: key(end.thread),
            process_key: identity.threads[end.thread as usize].process.map(key),
            state: end.state,
            since_ts_ns: end.since_ns,
            wait_reason: narrow(end.wait_reason),
            stack_id: stacks.stack_id(end.kernel, end.user),
            readying_thread_key: readying.map(key),
            last_out_ts_ns: end.last_out_ns,
            prev_priority: narrow(end.prev_priority),
            rank: narrow(end.rank),
            prev_state: narrow(end.prev_state),
            cpu: end.cpu.map(i32::from),
            not_resident: end.not_resident,
        });
        tables.thread_end_state.flush_if_full()?;
    }
    stacks.drain_stacks(|stack_id, frame_ids| {
        let frame_count = frame_ids.len() as i32;
        tables.stack.builder.push(&schema::stack::Row { stack_id, frame_count, frame_ids });
        tables.stack.flush_if_full()
    })
}

fn write_processes(tables: &mut Tables, identity: &Identity) -> io::Result<()> {
    for (index, row) in identity.processes.iter().enumerate() {
        let lifetime = identity.process_lives.all()[index];
        tables.process.builder.push(&schema::process::Row {
            process_key: key(index as u32),
            pid: i64::from(row.pid),
            parent_pid: row.parent_pid.map(i64::from),
            parent_process_key: row.parent.map(key),
            name: row.name.as_deref(),
            command_line: row.command_line.as_deref(),
            session_id: row.session_id.map(i64::from),
            user_sid: row.sid.as_deref(),
            start_ts_ns: lifetime.start_ns,
            end_ts_ns: lifetime.end_ns,
            terminate_ts_ns: row.terminate_ns,
            exit_code: row.exit_code.map(i64::from),
            package: row.package.as_deref(),
            app_id: row.app_id.as_deref(),
            is_wow64: row.is_wow64,
        });
        tables.process.flush_if_full()?;
    }
    Ok(())
}

fn write_threads(tables: &mut Tables, identity: &Identity, facts: &Facts) -> io::Result<()> {
    let service = |tag: u32| {
        let found = facts.services.iter().find(|service| tag != 0 && service.tag == tag);
        found.map(|service| service.name.as_str())
    };
    for (index, row) in identity.threads.iter().enumerate() {
        let lifetime = identity.thread_lives.all()[index];
        tables.thread.builder.push(&schema::thread::Row {
            thread_key: key(index as u32),
            tid: i64::from(row.tid),
            pid: row.pid.map(i64::from),
            process_key: row.process.map(key),
            name: row.name.as_deref(),
            start_ts_ns: lifetime.start_ns,
            end_ts_ns: lifetime.end_ns,
            start_address: row.start_address,
            base_priority: row.base_priority.map(i32::from),
            affinity: row.affinity,
            service: service(row.sub_process_tag),
            idle_cpu: row.idle_cpu.map(i32::from),
        });
        tables.thread.flush_if_full()?;
    }
    Ok(())
}

/// Position of a text in a version resource record.
const VERSION_DESCRIPTION: usize = 1;
const VERSION_FILE: usize = 2;
const VERSION_PRODUCT: usize = 5;
const VERSION_COMPANY: usize = 6;

fn write_images(tables: &mut Tables, identity: &Identity, facts: &Facts) -> io::Result<()> {
    for (index, row) in identity.images.iter().enumerate() {
        let lifetime = identity.image_lives.all()[index];
        let version = |text: usize| {
            let fact = &facts.versions[row.version?];
            Some(fact.texts[text].as_str()).filter(|text| !text.is_empty())
        };
        let path = dos_path(&row.path, &facts.machine);
        tables.image.builder.push(&schema::image::Row {
            image_key: key(index as u32),
            process_key: match row.space {
                Space::Process(process) => Some(key(process)),
                Space::Kernel | Space::Unnamed(_) => None,
            },
            base: row.base,
            size: row.size.min(i64::MAX as u64) as i64,
            load_ts_ns: lifetime.start_ns,
            unload_ts_ns: lifetime.end_ns,
            path: &row.path,
            dos_path: path.as_deref(),
            name: file_name(&row.path),
            timestamp: row.timestamp.map(i64::from),
            checksum: row.checksum.map(i64::from),
            pdb_name: row.pdb.as_ref().map(|(name, _, _)| name.as_str()),
            pdb_guid: row.pdb.as_ref().map(|(_, guid, _)| guid.as_str()),
            pdb_age: row.pdb.as_ref().map(|(_, _, age)| i64::from(*age)),
            file_version: version(VERSION_FILE),
            company: version(VERSION_COMPANY),
            product: version(VERSION_PRODUCT),
            description: version(VERSION_DESCRIPTION),
            original_name: row.original_name.as_deref(),
        });
        tables.image.flush_if_full()?;
    }
    Ok(())
}

fn write_frames(
    tables: &mut Tables,
    identity: &Identity,
    stacks: &crate::state::stacks::Stacks,
) -> io::Result<()> {
    for (index, row) in stacks.frames.iter().enumerate() {
        let image = row.image.map(|image| &identity.images[image as usize]);
        let module_id = image.and_then(|image| match (&image.pdb, image.timestamp) {
            (Some((_, guid, age)), _) => {
                Some(format!("{}{age:X}", guid.replace('-', "").to_uppercase()))
            }
            (None, Some(stamp)) => Some(format!("PE-{stamp:08X}{:x}", image.size)),
            (None, None) => None,
        });
        tables.frame.builder.push(&schema::frame::Row {
            frame_id: index as i64 + 1,
            address: row.address,
            is_kernel: row.is_kernel,
            image_key: row.image.map(key),
            module: image.map(|image| file_name(&image.path)),
            rva: image.map(|image| (row.address - image.base) as i64),
            function: None,
            function_offset: None,
            module_id: module_id.as_deref(),
        });
        tables.frame.flush_if_full()?;
    }
    Ok(())
}

fn write_census(tables: &mut Tables, census: &crate::census::Census) {
    for (class, fate, tally) in census.rows() {
        let (hook, guid, event_id, opcode, version) = match class.key {
            ClassKey::Kernel { hook, version } => {
                let class = names::class_of_hook(hook).map(|class| class.to_string());
                (
                    Some(format!("{hook:04x}")),
                    class,
                    None,
                    i32::from(hook & 0xFF),
                    i32::from(version),
                )
            }
            ClassKey::Classic { class, opcode, version } => {
                (None, Some(class.to_string()), None, i32::from(opcode), i32::from(version))
            }
            ClassKey::Manifest { provider, id, version, opcode, .. } => (
                None,
                Some(provider.to_string()),
                Some(i32::from(id)),
                i32::from(opcode),
                i32::from(version),
            ),
            ClassKey::Message { guid, number } => {
                (None, Some(guid.to_string()), Some(i32::from(number)), 0, 0)
            }
            ClassKey::Opaque { marker } => (None, None, None, (marker >> 16 & 0xFF) as i32, 0),
        };
        tables.event_census.builder.push(&schema::event_census::Row {
            hook: hook.as_deref(),
            provider_guid: guid.as_deref(),
            provider: class.provider.as_deref(),
            event_id,
            opcode,
            version,
            name: class.name.as_deref(),
            events: tally.events as i64,
            bytes: tally.bytes as i64,
            first_ts_ns: tally.first_ns,
            last_ts_ns: tally.last_ns,
            fate,
            table_name: class.table.filter(|_| fate == "stored"),
        });
    }
}

fn write_health(tables: &mut Tables, health: &Health) {
    for (counter, count, first_ts_ns) in health.rows() {
        tables.health.builder.push(&schema::health::Row {
            counter: counter.name,
            severity: counter.severity,
            source: counter.source,
            count: count as i64,
            first_ts_ns,
            meaning: counter.meaning,
            remedy: counter.remedy,
        });
    }
    for (class, count) in &health.stacks_by_class {
        let counter = format!("stacks_not_stored: {class}");
        tables.health.builder.push(&schema::health::Row {
            counter: &counter,
            severity: "info",
            source: "analysis",
            count: *count as i64,
            first_ts_ns: None,
            meaning: "Stack records of this event class, whose table keeps no stack.",
            remedy: "none",
        });
    }
}

/// Writes the tables of a recording that could not be read: one row that says why.
pub fn write_failed(
    trace_id: i64,
    labels: &Labels,
    bytes: u64,
    content_hash: Option<&str>,
    error: &str,
    target: &Target,
) -> io::Result<Vec<(&'static str, u64)>> {
    let recording = schema::Recording { trace_id, start_unix_ns: 0 };
    let mut tables = Tables::new(recording, target, &Filter::default());
    let also_at = (!labels.also_at.is_empty()).then(|| labels.also_at.join("\n"));
    tables.trace.builder.push(&schema::trace::Row {
        name: &labels.name,
        path: &labels.path,
        also_at: also_at.as_deref(),
        parts: 1,
        bytes: bytes as i64,
        content_hash,
        status: "failed",
        error: Some(error),
        start_time: None,
        duration_ns: None,
        os_build: None,
        os_name: None,
        os_build_lab: None,
        computer_name: None,
        cpu_count: None,
        cpu_mhz: None,
        cpu_model: None,
        memory_mb: None,
        pointer_bits: None,
        clock: None,
        clock_hz: None,
        utc_bias_minutes: None,
        session_name: None,
        log_mode: None,
        compressed: false,
        buffer_count: 0,
        buffers_damaged: 0,
        event_count: 0,
        events_lost: 0,
        buffers_lost: 0,
        sched_end_ns: None,
        tags: &labels.tags,
        etwas_version: env!("CARGO_PKG_VERSION"),
        start_unix_ns: 0,
    });
    tables.close()
}
