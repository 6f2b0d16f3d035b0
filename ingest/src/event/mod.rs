//! Meaning: a raw event becomes a typed event, borrowed from its bytes. Pure: no state, no tables.
//!
//! Decoding is total: [`decode`] yields an [`Event`], or [`Event::Malformed`] where the bytes contradict
//! their layout, or [`Event::Unknown`] where no layout is known. `route.rs` decides what becomes of it.

pub mod cswitch;
pub mod generic;
pub mod image;
pub mod kernel_process;
pub mod names;
pub mod payload;
pub mod perfinfo;
pub mod power;
pub mod process;
pub mod stackwalk;
pub mod sysconfig;
pub mod thread;
pub mod uiforetw;
pub mod win32k;

use crate::etl::{EventId, Guid, RawEvent};
use cswitch::{CSwitch, ReadyThread};
use image::{Image, ImageIdentity};
use kernel_process::{Freeze, ManifestProcess};
use perfinfo::{Interrupt, Mark, Sample, SampleInterval};
use power::{IdleState, PowerEvent};
use process::Process;
use stackwalk::{Frames, StackTarget};
use sysconfig::SysConfig;
use thread::{PriorityChange, PriorityKind, Thread, ThreadName};
use uiforetw::Input;
use win32k::{Focus, UiDelay};

/// What a lifetime event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It begins now.
    Start,
    /// It ends now.
    End,
    /// It is there, told at the start of a session.
    DcStart,
    /// It is there, told at the end of a session.
    DcEnd,
    /// A process that has ended but is still held.
    Defunct,
}

/// A typed event.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// Context switch.
    CSwitch(CSwitch),
    /// Batch of compact switches; its switches come through the survey.
    CSwitchBatch,
    /// A thread is made ready.
    Ready(ReadyThread),
    /// Thread lifetime.
    Thread(Thread<'a>),
    /// Thread name.
    ThreadName(ThreadName<'a>),
    /// Priority set.
    Priority(PriorityChange),
    /// Process lifetime.
    Process(Process<'a>),
    /// A process begins to terminate.
    Terminate(u32),
    /// Module lifetime.
    Image(Image<'a>),
    /// Identity of a module.
    ImageIdentity(ImageIdentity<'a>),
    /// Profile sample.
    Sample(Sample),
    /// Sampling interval.
    SampleInterval(SampleInterval),
    /// DPC or ISR.
    Interrupt(Interrupt),
    /// Kernel mark.
    Mark(Mark<'a>),
    /// UIforETW mark; the text is read on demand.
    UserMark(u16),
    /// Stack with its frames.
    Stack(StackTarget, Frames<'a>),
    /// Reference to a cached stack; true is a kernel half.
    StackKey(StackTarget, u64, bool),
    /// Definition of a cached stack.
    StackDefinition(u64, Frames<'a>),
    /// The machine.
    SysConfig(SysConfig<'a>),
    /// New group masks (0x05): what is logged from now on.
    GroupMasks(u32),
    /// Old group masks (0x20), logged just before new ones.
    OldGroupMasks,
    /// Delay of a window.
    UiDelay(UiDelay<'a>),
    /// Focus.
    Focus(Focus),
    /// Freeze or thaw.
    Freeze(Freeze),
    /// Key or mouse.
    Input(Input<'a>),
    /// Process lifetime from the manifest provider.
    ManifestProcess(ManifestProcess<'a>),
    /// Thread lifetime from the manifest provider.
    ManifestThread(Thread<'a>),
    /// Module lifetime from the manifest provider.
    ManifestImage(Image<'a>),
    /// Priority set, from the manifest provider.
    ManifestPriority(PriorityChange),
    /// Power: a setting, a state of the machine or of a CPU.
    Power(PowerEvent<'a>),
    /// A CPU enters or leaves an idle state.
    IdleState(IdleState),
    /// Manifest or TraceLogging event without a table of its own.
    Generic,
    /// Metadata of events (embedded descriptions, maps, manifests).
    Schema,
    /// Understood, but no table keeps it.
    Known,
    /// No layout known.
    Unknown,
    /// Too short or contradictory.
    Malformed,
}

/// Merged metadata about events.
pub const EVENT_METADATA: Guid =
    Guid::new(0xbbccf6c1, 0x6cd1, 0x48c4, [0x80, 0xff, 0x83, 0x94, 0x82, 0xe3, 0x76, 0x71]);
/// Identities of images, written by a merge.
pub const IMAGE_ID: Guid =
    Guid::new(0xb3e675d7, 0x2554, 0x4f18, [0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde]);
/// System configuration, written by a merge.
pub const SYS_CONFIG_EX: Guid =
    Guid::new(0x9b79ee91, 0xb5fd, 0x41c0, [0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0]);

/// Id of PerfView's manifest chunks.
const MANIFEST_DATA: u16 = 0xFFFE;
const MANIFEST_DATA_OPCODE: u8 = 254;

/// Decodes one event. `build` is the Windows build of the trace.
#[inline]
pub fn decode<'a>(event: &RawEvent<'a>, build: u32) -> Event<'a> {
    match event.id {
        EventId::Kernel { hook, version } => kernel(event, hook, version, build),
        EventId::Classic { class, opcode, version, .. } => {
            classic(event, class, opcode, version, build)
        }
        EventId::Manifest { provider, id, version, opcode, .. } => {
            if id == MANIFEST_DATA && opcode == MANIFEST_DATA_OPCODE {
                return Event::Schema;
            }
            manifest(event, provider, id, version).unwrap_or(Event::Malformed)
        }
        EventId::Message { .. } | EventId::Opaque { .. } => Event::Unknown,
    }
}

/// `Malformed` where a decoder found too few bytes.
fn or_malformed<'a, T>(value: Option<T>, event: impl FnOnce(T) -> Event<'a>) -> Event<'a> {
    value.map_or(Event::Malformed, event)
}

fn phase(opcode: u8) -> Phase {
    match opcode {
        1 | 10 => Phase::Start,
        2 => Phase::End,
        3 => Phase::DcStart,
        4 => Phase::DcEnd,
        _ => Phase::Defunct,
    }
}

/// Kernel records, by hook: group in the high byte, opcode in the low one.
#[inline]
fn kernel<'a>(event: &RawEvent<'a>, hook: u16, version: u8, build: u32) -> Event<'a> {
    match hook {
        0x0524 => or_malformed(CSwitch::decode(event, version, build), Event::CSwitch),
        0x0532 => or_malformed(ReadyThread::decode(event), Event::Ready),
        0x1820 => or_malformed(stackwalk::decode_walk(event), |(t, f)| Event::Stack(t, f)),
        0x1825 => or_malformed(stackwalk::decode_key(event), |(t, k)| Event::StackKey(t, k, true)),
        0x1826 => or_malformed(stackwalk::decode_key(event), |(t, k)| Event::StackKey(t, k, false)),
        0x1822..=0x1824 => {
            or_malformed(stackwalk::decode_definition(event), |(k, f)| Event::StackDefinition(k, f))
        }
        0x0F2E => or_malformed(Sample::decode(event, version), Event::Sample),
        _ => kernel_rare(event, hook, version),
    }
}

fn kernel_rare<'a>(event: &RawEvent<'a>, hook: u16, version: u8) -> Event<'a> {
    let opcode = hook as u8;
    let priority = |kind| or_malformed(PriorityChange::decode(event, kind), Event::Priority);
    let interrupt = |kind| or_malformed(Interrupt::decode(event, kind), Event::Interrupt);
    match hook {
        0x0005 => or_malformed(payload::Payload::of(event).u32(), Event::GroupMasks),
        0x0020 => Event::OldGroupMasks,
        0x0301..=0x0304 | 0x0327 => {
            or_malformed(Process::decode(event, phase(opcode), version), Event::Process)
        }
        0x030A | 0x1402..=0x1404 | 0x140A => {
            let version = u16::from(version);
            or_malformed(Image::decode(event, phase(opcode), version), Event::Image)
        }
        0x030B => or_malformed(payload::Payload::of(event).u32(), Event::Terminate),
        0x0501..=0x0504 => {
            or_malformed(Thread::decode(event, phase(opcode), version), Event::Thread)
        }
        0x0525 => or_malformed(event.payload.get(..88), |_| Event::CSwitchBatch),
        0x0530 => priority(PriorityKind::Dynamic),
        0x0531 => priority(PriorityKind::Base),
        0x0533 => priority(PriorityKind::Page),
        0x0534 => priority(PriorityKind::Io),
        0x0548 => or_malformed(ThreadName::decode(event), Event::ThreadName),
        0x0B0A | 0x0B0F | 0x0B1A | 0x0B1B | 0x0B23 => {
            or_malformed(SysConfig::decode(event, opcode), Event::SysConfig)
        }
        0x0F22 => Event::Mark(Mark(event.payload)),
        0x0F32 => interrupt("msi"),
        0x0F42 => interrupt("threaded_dpc"),
        0x0F43 => interrupt("isr"),
        0x0F44 => interrupt("dpc"),
        0x0F45 => interrupt("timer_dpc"),
        0x0F46 => interrupt("io_timer"),
        0x0F5F => interrupt("passive_isr"),
        0x1239 | 0x123A => or_malformed(IdleState::decode(event, hook == 0x1239), Event::IdleState),
        0x0F48..=0x0F4A => or_malformed(SampleInterval::decode(event), Event::SampleInterval),
        _ if names::hook_name(hook).is_some() => Event::Known,
        _ => Event::Unknown,
    }
}

/// Classic events by class and opcode; the classes of the kernel are read as their hooks.
fn classic<'a>(
    event: &RawEvent<'a>,
    class: Guid,
    opcode: u8,
    version: u16,
    build: u32,
) -> Event<'a> {
    if class == IMAGE_ID {
        return match opcode {
            0 | 36 | 64 => or_malformed(ImageIdentity::decode(event, opcode), Event::ImageIdentity),
            32 | 37 | 38 | 40 => Event::Known,
            _ => Event::Unknown,
        };
    }
    if class == SYS_CONFIG_EX {
        return match opcode {
            32 | 33 | 35 => or_malformed(SysConfig::decode_merge(event, opcode), Event::SysConfig),
            34 | 36 | 37 => Event::Known,
            _ => Event::Unknown,
        };
    }
    if class == EVENT_METADATA {
        return if matches!(opcode, 32 | 33) { Event::Schema } else { Event::Unknown };
    }
    match names::group_of_class(class) {
        Some(group) => {
            kernel(event, u16::from(group) << 8 | u16::from(opcode), version.min(255) as u8, build)
        }
        None if names::classic_name(class, opcode).is_some() => Event::Known,
        None => Event::Unknown,
    }
}

/// Manifest events that have a table of their own; `None` is malformed.
fn manifest<'a>(event: &RawEvent<'a>, provider: Guid, id: u16, version: u8) -> Option<Event<'a>> {
    if provider == win32k::PROVIDER {
        return Some(match id {
            35 | 37 | 38 | 172 | 173 => Event::UiDelay(UiDelay::decode(event, id)?),
            2 | 25 | 26 | 258 | 259 => Event::Focus(Focus::decode(event, id)?),
            _ => Event::Generic,
        });
    }
    if provider == kernel_process::PROVIDER {
        let priority =
            |kind| PriorityChange::decode_manifest(event, kind).map(Event::ManifestPriority);
        return Some(match id {
            1 | 2 | 15 => Event::ManifestProcess(ManifestProcess::decode(event, id, version)?),
            3 | 4 => Event::ManifestThread(kernel_process::decode_thread(event, id)?),
            5 | 6 => Event::ManifestImage(kernel_process::decode_image(event, id)?),
            7 => priority(PriorityKind::Base)?,
            8 => priority(PriorityKind::Dynamic)?,
            9 => priority(PriorityKind::Page)?,
            10 => priority(PriorityKind::Io)?,
            11 | 12 => Event::Freeze(Freeze::decode(event, id)?),
            _ => Event::Generic,
        });
    }
    if provider == power::KERNEL_POWER || provider == power::SERVICE || provider == power::PROCESSOR
    {
        return power::decode(event, provider, id, version);
    }
    if provider == uiforetw::INPUT && (400..=404).contains(&id) {
        return Some(Event::Input(Input::decode(event, id)?));
    }
    if provider == uiforetw::MAIN && uiforetw::is_mark(id) {
        return Some(Event::UserMark(id));
    }
    Some(Event::Generic)
}
