//! What the survey pass collects about processes, threads, modules and the machine, in any order.
//!
//! These events are few, and those that name things often come last (the rundown at the end of a session, the
//! identities that a merge appends). They are collected first, so that the pass in time order knows everything.

use crate::event::image::{Image, ImageIdentity};
use crate::event::kernel_process::{ManifestProcess, ProcessImage};
use crate::event::payload::{TextRepairs, sid_text};
use crate::event::process::Process;
use crate::event::sysconfig::SysConfig;
use crate::event::thread::{Thread, ThreadName};
use crate::event::{Event, Phase};
use crate::state::power::PowerFacts;

/// A process event.
#[derive(Clone, Debug)]
pub struct ProcessFact {
    pub ns: i64,
    pub phase: Phase,
    pub unique_key: u64,
    pub pid: u32,
    pub parent_pid: Option<u32>,
    pub session_id: Option<u32>,
    pub exit_code: Option<u32>,
    pub is_wow64: Option<bool>,
    pub sid: Option<String>,
    pub name: Option<String>,
    pub command_line: Option<String>,
    pub package: Option<String>,
    pub app_id: Option<String>,
}

/// A thread event.
#[derive(Clone, Debug)]
pub struct ThreadFact {
    pub ns: i64,
    pub phase: Phase,
    pub pid: u32,
    pub tid: u32,
    pub start_address: Option<u64>,
    pub affinity: Option<u64>,
    pub base_priority: Option<i8>,
    pub sub_process_tag: u32,
    pub name: Option<String>,
}

/// A thread gets a name.
#[derive(Clone, Debug)]
pub struct NameFact {
    pub ns: i64,
    pub tid: u32,
    pub name: String,
}

/// A module event.
#[derive(Clone, Debug)]
pub struct ImageFact {
    pub ns: i64,
    pub phase: Phase,
    pub pid: u32,
    pub base: u64,
    pub size: u64,
    pub checksum: Option<u32>,
    pub timestamp: Option<u32>,
    pub path: String,
    pub kernel: bool,
}

/// The PDB of a module at a time.
#[derive(Clone, Debug)]
pub struct PdbFact {
    pub ns: i64,
    pub pid: u32,
    pub base: u64,
    pub guid: String,
    pub age: u32,
    pub name: String,
}

/// Size, time stamp and name of a module at a time.
#[derive(Clone, Debug)]
pub struct ImageIdFact {
    pub ns: i64,
    pub pid: u32,
    pub base: u64,
    pub timestamp: u32,
    pub original_name: String,
}

/// A version resource, by size and time stamp.
#[derive(Clone, Debug)]
pub struct VersionFact {
    pub size: u32,
    pub timestamp: u32,
    /// OrigFileName, FileDescription, FileVersion, BinFileVersion, VerLanguage, ProductName, CompanyName.
    pub texts: [String; 7],
}

/// A service and the tag of its threads.
#[derive(Clone, Debug)]
pub struct ServiceFact {
    pub tag: u32,
    pub name: String,
}

/// The machine as SystemConfig describes it.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    pub cpu_mhz: Option<u32>,
    pub cpus: Option<u32>,
    pub memory_mb: Option<u32>,
    pub computer_name: Option<String>,
    pub cpu_model: Option<String>,
    pub build_lab: Option<String>,
    pub product: Option<String>,
    pub windows_dir: Option<String>,
    /// Per CPU: MHz.
    pub processors: Vec<(u32, u32)>,
    /// Per CPU: group and number.
    pub numbers: Vec<(u16, u8)>,
    /// Per group: mask of its CPUs.
    pub groups: Vec<u64>,
    /// NT path and DOS path of volumes.
    pub volumes: Vec<(String, String)>,
}

/// Everything of the kind.
#[derive(Default)]
pub struct Facts {
    pub processes: Vec<ProcessFact>,
    pub threads: Vec<ThreadFact>,
    pub names: Vec<NameFact>,
    pub images: Vec<ImageFact>,
    pub terminates: Vec<(i64, u32)>,
    pub manifest_processes: Vec<ProcessFact>,
    pub manifest_threads: Vec<ThreadFact>,
    pub manifest_images: Vec<ImageFact>,
    pub pdbs: Vec<PdbFact>,
    pub image_ids: Vec<ImageIdFact>,
    pub versions: Vec<VersionFact>,
    pub services: Vec<ServiceFact>,
    pub machine: Machine,
    pub power: PowerFacts,
    pub repairs: TextRepairs,
}

/// Processor groups of a machine.
const GROUPS_MAX: usize = 64;

/// "Still active": what a process that runs has for an exit status.
const STILL_ACTIVE: i32 = 0x103;

fn some_text(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

impl Facts {
    /// Takes what an event tells; others are passed over.
    pub fn note(&mut self, event: &Event<'_>, ns: i64, pointer_size: usize) {
        match event {
            Event::Process(process) => {
                let fact = self.process(process, ns);
                self.processes.push(fact);
            }
            Event::ManifestProcess(process) => {
                let fact = self.manifest_process(process, ns);
                self.manifest_processes.push(fact);
            }
            Event::Terminate(pid) => self.terminates.push((ns, *pid)),
            Event::Thread(thread) => {
                let fact = self.thread(thread, ns);
                self.threads.push(fact);
            }
            Event::ManifestThread(thread) => {
                let fact = self.thread(thread, ns);
                self.manifest_threads.push(fact);
            }
            Event::ThreadName(ThreadName { tid, name, .. }) => {
                let name = name.text(&mut self.repairs);
                self.names.push(NameFact { ns, tid: *tid, name });
            }
            Event::Image(image) => {
                let fact = self.image(image, ns, pointer_size);
                self.images.push(fact);
            }
            Event::ManifestImage(image) => {
                let fact = self.image(image, ns, pointer_size);
                self.manifest_images.push(fact);
            }
            Event::ImageIdentity(identity) => self.identity(identity, ns),
            Event::Power(power) => self.power.note(power, ns),
            Event::SysConfig(config) => self.machine(config),
            _ => {}
        }
    }

    fn process(&mut self, p: &Process<'_>, ns: i64) -> ProcessFact {
        let repairs = &mut self.repairs;
        let ended = matches!(p.phase, Phase::End | Phase::Defunct);
        let exit_code = p.exit_status.filter(|status| ended && *status != STILL_ACTIVE);
        ProcessFact {
            ns,
            phase: p.phase,
            unique_key: p.unique_key,
            pid: p.pid,
            parent_pid: Some(p.parent_pid),
            session_id: p.session_id.filter(|session| *session != u32::MAX),
            exit_code: exit_code.map(|status| status as u32),
            is_wow64: p.is_wow64,
            sid: sid_text(p.sid),
            name: some_text(p.name.text(repairs)),
            command_line: p.command_line.map(|text| text.text(repairs)),
            package: some_text(p.package.text(repairs)),
            app_id: some_text(p.app_id.text(repairs)),
        }
    }

    fn manifest_process(&mut self, p: &ManifestProcess<'_>, ns: i64) -> ProcessFact {
        let name = match p.image {
            ProcessImage::Path(path) => path.text(&mut self.repairs),
            ProcessImage::Name(name) => name.text(&mut self.repairs),
        };
        ProcessFact {
            ns,
            phase: p.phase,
            unique_key: 0,
            pid: p.pid,
            parent_pid: p.parent_pid,
            session_id: p.session_id.filter(|session| *session != u32::MAX),
            exit_code: p.exit_code,
            is_wow64: None,
            sid: None,
            name: some_text(file_name(&name).to_owned()),
            command_line: None,
            package: None,
            app_id: None,
        }
    }

    fn thread(&mut self, t: &Thread<'_>, ns: i64) -> ThreadFact {
        ThreadFact {
            ns,
            phase: t.phase,
            pid: t.pid,
            tid: t.tid,
            start_address: t.start_address,
            affinity: t.affinity,
            base_priority: t.base_priority,
            sub_process_tag: t.sub_process_tag.unwrap_or(0),
            name: some_text(t.name.text(&mut self.repairs)),
        }
    }

    fn image(&mut self, i: &Image<'_>, ns: i64, pointer_size: usize) -> ImageFact {
        let kernel = i.pid == 0 || crate::event::stackwalk::is_kernel_address(i.base, pointer_size);
        ImageFact {
            ns,
            phase: i.phase,
            pid: i.pid,
            base: i.base,
            size: i.size,
            checksum: i.checksum,
            timestamp: i.timestamp.filter(|stamp| *stamp != 0),
            path: i.path.text(&mut self.repairs),
            kernel,
        }
    }

    fn identity(&mut self, identity: &ImageIdentity<'_>, ns: i64) {
        let repairs = &mut self.repairs;
        match identity {
            ImageIdentity::Id { base, pid, timestamp, original_name, .. } => {
                let original_name = original_name.text(repairs);
                let (base, pid, timestamp) = (*base, *pid, *timestamp);
                self.image_ids.push(ImageIdFact { ns, pid, base, timestamp, original_name });
            }
            ImageIdentity::Pdb { base, pid, guid, age, name } => self.pdbs.push(PdbFact {
                ns,
                pid: *pid,
                base: *base,
                guid: guid.to_string(),
                age: *age,
                name: name.text(repairs),
            }),
            ImageIdentity::Version { size, timestamp, texts } => self.versions.push(VersionFact {
                size: *size,
                timestamp: *timestamp,
                texts: std::array::from_fn(|index| texts[index].text(repairs)),
            }),
        }
    }

    fn machine(&mut self, config: &SysConfig<'_>) {
        let repairs = &mut self.repairs;
        let machine = &mut self.machine;
        match config {
            SysConfig::Cpu { mhz, cpus, memory_mb, computer } => {
                machine.cpu_mhz = Some(*mhz);
                machine.cpus = Some(*cpus);
                machine.memory_mb = Some(*memory_mb);
                machine.computer_name = some_text(computer.text(repairs));
            }
            SysConfig::Processor { index, mhz, name } => {
                machine.processors.push((*index, *mhz));
                machine.cpu_model = some_text(name.text(repairs).trim().to_owned());
            }
            SysConfig::Service { tag, name, .. } => {
                let name = name.text(repairs);
                self.services.push(ServiceFact { tag: *tag, name });
            }
            SysConfig::ProcessorNumbers(bytes) => {
                let numbers = bytes.as_chunks::<4>().0.iter();
                machine.numbers =
                    numbers.map(|b| (u16::from_le_bytes([b[0], b[1]]), b[2])).collect();
            }
            SysConfig::ProcessorGroups(bytes, size) => {
                let masks = bytes.chunks_exact(*size).take(GROUPS_MAX);
                let mask = |b: &[u8]| b.iter().rev().fold(0, |m, byte| m << 8 | u64::from(*byte));
                machine.groups = masks.map(mask).collect();
            }
            SysConfig::Volume { nt, dos } => {
                let pair = (nt.text(repairs), dos.text(repairs));
                if !machine.volumes.contains(&pair) {
                    machine.volumes.push(pair);
                }
            }
            SysConfig::Paths { windows, .. } => {
                machine.windows_dir = some_text(windows.text(repairs));
            }
            SysConfig::Build { lab, product } => {
                machine.build_lab = some_text(lab.text(repairs));
                machine.product = some_text(product.text(repairs));
            }
        }
    }
}

/// The last component of a Windows path.
pub fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}
