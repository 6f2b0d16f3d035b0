//! Power: settings, sleep and wake, the power source, schemes, and what the processor power engine says of each
//! CPU. Kernel-Power, UserModePowerService and Kernel-Processor-Power; event-payloads.md 7 and 8.
//!
//! Events whose published layouts leave the order of their fields open are read only where the values
//! themselves show it (a known setting stands where one must stand); otherwise they stay generic events.

use etwas_schema::power;

use super::Event;
use super::payload::{Ansi, Payload, Utf16};
use crate::etl::{Guid, RawEvent};
pub use crate::gaps::KERNEL_POWER;

/// Microsoft-Windows-UserModePowerService.
pub const SERVICE: Guid =
    Guid::new(0xce8dee0b, 0xd539, 0x4000, [0xb0, 0xf8, 0x77, 0xbe, 0xd0, 0x49, 0xc5, 0x90]);
/// Microsoft-Windows-Kernel-Processor-Power.
pub const PROCESSOR: Guid =
    Guid::new(0x0f67e49f, 0xfe51, 0x4e9f, [0xb4, 0x90, 0x6f, 0x29, 0x48, 0xcc, 0x60, 0x27]);

/// Numbers of CPUs within a group are below this.
const GROUP_CPUS: u8 = 64;

/// Group and number of a CPU.
pub type Cpu = (u16, u8);

/// What an event of the power providers says.
#[derive(Clone, Copy, Debug)]
pub enum PowerEvent<'a> {
    /// The value of a setting.
    Setting(Setting<'a>),
    /// A state of the machine.
    Change(Change<'a>),
    /// Properties of a CPU.
    Processor(Processor),
    /// The index of a CPU.
    Index(Cpu, u32),
    /// The frequency of a CPU.
    Frequency(Cpu, u32, &'static str),
    /// A CPU is parked (and whether softly) or unparked.
    Parking(Cpu, bool, Option<bool>),
}

/// What a setting's value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The event does not tell.
    Untold,
    /// The scheme that is active at that time.
    ActiveScheme,
    /// This scheme.
    Scheme(Guid),
    /// This overlay.
    Overlay(Guid),
    /// This profile, by its GUID.
    ProfileGuid(Guid),
    /// This profile of the processor engine, by its number.
    Profile(u8),
}

/// The value of a setting.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// Where the value comes from, as in `power_setting.source`.
    pub source: &'static str,
    /// What it belongs to.
    pub owner: Owner,
    /// Subgroup.
    pub subgroup: Option<Guid>,
    /// Setting.
    pub setting: Guid,
    /// Bytes of the value.
    pub data: &'a [u8],
    /// Whether it changes now; else it is told.
    pub change: bool,
    /// Whether an override is in force.
    pub overridden: Option<bool>,
    /// Efficiency class, where the event names it.
    pub class: Option<u8>,
    /// Alias, where the event names it.
    pub alias: Option<Ansi<'a>>,
}

/// A state of the machine: where it goes, or what it is in.
#[derive(Clone, Copy, Debug)]
pub enum Change<'a> {
    /// It goes to sleep: target and effective state, reason.
    Sleep(u32, u32, Option<u32>),
    /// It wakes: target and effective state, what woke it.
    Wake(u32, u32, u32),
    /// Whether it runs on AC, and whether that changes now.
    Source(bool, bool),
    /// The active scheme, as told.
    ActiveScheme(Guid),
    /// Another scheme: from, to, by which process.
    Scheme(Guid, Guid, Utf16<'a>, u32),
    /// An overlay: from, to; 'actual', 'effective' or 'changed'.
    Overlay(Option<Guid>, Guid, &'static str),
    /// Modern standby begins or ends.
    Standby(bool),
    /// Shutdown: action, event code, reason.
    Shutdown(u32, u32, u32),
    /// A transition starts: reason.
    TransitionStart(u32),
    /// A transition ends: status.
    TransitionEnd(u32),
}

/// Properties of a CPU; what an event or its version does not tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Processor {
    /// Group and number.
    pub cpu: Cpu,
    /// Efficiency class.
    pub class: Option<u8>,
    /// Scheduling class.
    pub scheduling_class: Option<u8>,
    /// MHz.
    pub nominal_mhz: Option<u32>,
    /// Relative performance.
    pub relative: Option<u32>,
    /// MHz that it ran at.
    pub delivered_mhz: Option<u32>,
}

/// Decodes an event of one of the three providers. `None` is malformed; `Generic` has no table of its own.
pub fn decode<'a>(event: &RawEvent<'a>, provider: Guid, id: u16, version: u8) -> Option<Event<'a>> {
    let mut p = Payload::of(event);
    let found = if provider == KERNEL_POWER {
        kernel_power(&mut p, id, version)?
    } else if provider == SERVICE {
        service(&mut p, id, version)?
    } else {
        processor_power(&mut p, id, version)?
    };
    Some(found.map_or(Event::Generic, Event::Power))
}

/// `Some(None)`: no layout known.
type Decoded<'a> = Option<Option<PowerEvent<'a>>>;

fn kernel_power<'a>(p: &mut Payload<'a>, id: u16, version: u8) -> Decoded<'a> {
    let change = match id {
        1 => Change::TransitionStart(p.u32()?),
        2 => Change::TransitionEnd(p.u32()?),
        42 => {
            let (target, effective) = (p.u32()?, p.u32()?);
            Change::Sleep(target, effective, if version >= 2 { Some(p.u32()?) } else { None })
        }
        105 | 106 => Change::Source(p.u32()? != 0, id == 105),
        107 => Change::Wake(p.u32()?, p.u32()?, p.u32()?),
        109 => Change::Shutdown(p.u32()?, p.u32()?, p.u32()?),
        111 | 112 => {
            let setting = p.guid()?;
            let data = sized(p)?;
            let overridden = if version >= 1 { Some(p.u32()? != 0) } else { None };
            return Some(Some(PowerEvent::Setting(Setting {
                overridden,
                change: id == 112,
                ..plain("effective", Owner::Untold, setting, data)
            })));
        }
        506 | 507 => Change::Standby(id == 506),
        _ => return Some(None),
    };
    Some(Some(PowerEvent::Change(change)))
}

fn plain<'a>(source: &'static str, owner: Owner, setting: Guid, data: &'a [u8]) -> Setting<'a> {
    Setting {
        source,
        owner,
        subgroup: None,
        setting,
        data,
        change: false,
        overridden: None,
        class: None,
        alias: None,
    }
}

/// Bytes behind their count.
fn sized<'a>(p: &mut Payload<'a>) -> Option<&'a [u8]> {
    let size = p.u32()?;
    p.bytes(usize::try_from(size).ok()?)
}

fn service<'a>(p: &mut Payload<'a>, id: u16, version: u8) -> Decoded<'a> {
    let setting = match id {
        2 => return change(Change::ActiveScheme(p.guid()?)),
        11 => return change(Change::Source(p.u32()? != 0, false)),
        12 => {
            let (process, pid) = (p.utf16(), p.u32()?);
            return change(Change::Scheme(p.guid()?, p.guid()?, process, pid));
        }
        50 => return change(Change::Overlay(None, p.guid()?, "actual")),
        52 => return change(Change::Overlay(None, p.guid()?, "effective")),
        51 => return Some(overlay_change(p)),
        3 | 4 => {
            let (subgroup, setting) = (p.guid()?, p.guid()?);
            p.skip(8)?;
            let source = if id == 3 { "stored_ac" } else { "stored_dc" };
            let data = sized(p)?;
            Setting {
                subgroup: Some(subgroup),
                ..plain(source, Owner::ActiveScheme, setting, data)
            }
        }
        16 => return overridden(p, version),
        17 => {
            let (profile, subgroup, setting) = (p.guid()?, p.guid()?, p.guid()?);
            p.skip(16 + 12)?;
            let data = sized(p)?;
            let owner = Owner::ProfileGuid(profile);
            Setting { subgroup: Some(subgroup), ..plain("profile", owner, setting, data) }
        }
        49 => {
            let (overlay, subgroup, setting) = (p.guid()?, p.guid()?, p.guid()?);
            p.skip(12)?;
            let data = sized(p)?;
            let owner = Owner::Overlay(overlay);
            Setting { subgroup: Some(subgroup), ..plain("overlay", owner, setting, data) }
        }
        59 => return live_update(p, version),
        _ => return Some(None),
    };
    Some(Some(PowerEvent::Setting(setting)))
}

fn change(change: Change<'_>) -> Decoded<'_> {
    Some(Some(PowerEvent::Change(change)))
}

/// Event 51 is read like a change of scheme, or as the two GUIDs alone, if both name overlays.
fn overlay_change<'a>(p: &Payload<'a>) -> Option<PowerEvent<'a>> {
    let known = |guid: Guid| power::overlay(&guid.to_string()).is_some();
    let pair =
        |mut p: Payload<'a>| Some((p.guid()?, p.guid()?)).filter(|(a, b)| known(*a) && known(*b));
    let mut behind = *p;
    behind.utf16();
    behind.u32();
    let (from, to) = pair(behind).or_else(|| if p.left() == 32 { pair(*p) } else { None })?;
    Some(PowerEvent::Change(Change::Overlay(Some(from), to, "changed")))
}

/// Which of three GUIDs is the setting: the one behind the subgroup of the processor. The third is its scheme.
fn by_subgroup(guids: [Guid; 3]) -> Option<(Guid, Guid, Guid)> {
    let is_subgroup = |guid: &Guid| guid.to_string() == power::SUB_PROCESSOR;
    let at = guids[..2].iter().position(is_subgroup)?;
    let scheme = if at == 0 { guids[2] } else { guids[0] };
    power::setting(&guids[at + 1].to_string())?;
    Some((scheme, guids[at], guids[at + 1]))
}

/// Event 16: a value that overrides those of schemes.
fn overridden<'a>(p: &mut Payload<'a>, _version: u8) -> Decoded<'a> {
    let guids = [p.guid()?, p.guid()?, p.guid()?];
    p.skip(8)?;
    let data = sized(p)?;
    Some(by_subgroup(guids).map(|(scheme, subgroup, setting)| {
        let owner = Owner::Scheme(scheme);
        let setting = plain("override", owner, setting, data);
        PowerEvent::Setting(Setting { subgroup: Some(subgroup), ..setting })
    }))
}

/// Event 59: a program sets a stored value; from version 1 on the event says of which setting.
fn live_update<'a>(p: &mut Payload<'a>, version: u8) -> Decoded<'a> {
    if version < 1 {
        return Some(None);
    }
    let (_system, ac, _pid) = (p.u8()?, p.u8()?, p.u32()?);
    p.utf16();
    let data = sized(p)?;
    let guids = [p.guid()?, p.guid()?, p.guid()?];
    let source = if ac != 0 { "stored_ac" } else { "stored_dc" };
    Some(by_subgroup(guids).map(|(scheme, subgroup, setting)| {
        let setting = plain(source, Owner::Scheme(scheme), setting, data);
        PowerEvent::Setting(Setting { subgroup: Some(subgroup), change: true, ..setting })
    }))
}

fn cpu(p: &mut Payload<'_>) -> Option<Cpu> {
    Some((p.u16()?, p.u8().filter(|number| *number < GROUP_CPUS)?))
}

fn processor_power<'a>(p: &mut Payload<'a>, id: u16, version: u8) -> Decoded<'a> {
    Some(Some(match id {
        10 | 18 => {
            p.skip(4)?;
            let mhz = p.u32()?;
            PowerEvent::Frequency(cpu(p)?, mhz, "requested")
        }
        14 => {
            p.skip(8)?;
            let cpu = cpu(p)?;
            let soft = if version >= 1 { Some(p.u32()? != 0) } else { None };
            PowerEvent::Parking(cpu, true, soft)
        }
        15 => {
            p.skip(8)?;
            PowerEvent::Parking(cpu(p)?, false, None)
        }
        55 => {
            let cpu = cpu(p)?;
            p.skip(8)?;
            let nominal_mhz = Some(p.u32()?);
            PowerEvent::Processor(Processor { cpu, nominal_mhz, ..Processor::default() })
        }
        64 => PowerEvent::Processor(rundown(p, version)?),
        68 if version >= 1 => {
            let cpu = cpu(p)?;
            p.skip(8)?;
            PowerEvent::Index(cpu, p.u32()?)
        }
        105 | 106 => PowerEvent::Setting(profile_setting(p, id == 105)?),
        111 | 148 => {
            let cpu = cpu(p)?;
            p.skip(12)?;
            PowerEvent::Frequency(cpu, p.u32()?, "delivered")
        }
        118 => PowerEvent::Processor(Processor {
            cpu: cpu(p)?,
            class: Some(p.u8()?),
            scheduling_class: Some(p.u8()?),
            ..Processor::default()
        }),
        _ => return Some(None),
    }))
}

/// Event 64, which each version makes longer.
fn rundown(p: &mut Payload<'_>, version: u8) -> Option<Processor> {
    let mut found = Processor { cpu: cpu(p)?, ..Processor::default() };
    p.skip(16)?;
    found.nominal_mhz = Some(p.u32()?);
    if version >= 2 {
        p.skip(16)?;
        found.class = Some(p.u8()?);
        found.scheduling_class = Some(p.u8()?);
        p.skip(4)?;
    }
    if version >= 3 {
        p.skip(12)?;
        found.relative = Some(p.u32()?);
    }
    if version >= 8 {
        p.skip(1 + 4 + 4)?;
        found.delivered_mhz = Some(p.u32()?);
    }
    Some(found)
}

/// Events 105 and 106: a value in one of the processor engine's profiles.
fn profile_setting<'a>(p: &mut Payload<'a>, change: bool) -> Option<Setting<'a>> {
    let profile = p.u8()?;
    let alias = p.ansi();
    p.skip(4)?;
    let class = p.u8()?;
    let setting = p.guid()?;
    let data = sized(p)?;
    let owner = Owner::Profile(profile);
    let setting = plain("engine", owner, setting, data);
    Some(Setting { change, class: Some(class), alias: Some(alias), ..setting })
}

/// A CPU enters or leaves an idle state: hooks 0x1239 and 0x123A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleState {
    /// Number of the state.
    pub state: u32,
    /// Whether it is entered.
    pub entered: bool,
}

impl IdleState {
    /// Decodes both hooks.
    pub fn decode(event: &RawEvent<'_>, entered: bool) -> Option<IdleState> {
        Some(IdleState { state: Payload::of(event).u32()?, entered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subgroup_shows_the_order_of_guids() {
        let guid = |text: &str| text.parse::<Guid>().unwrap();
        let scheme = guid("381b4222-f694-41f0-9685-ff5bb260df2e");
        let sub = guid(power::SUB_PROCESSOR);
        let epp = guid("36687f9e-e3a5-4dbf-b1dc-15eb381c6863");
        assert_eq!(by_subgroup([scheme, sub, epp]), Some((scheme, sub, epp)));
        assert_eq!(by_subgroup([sub, epp, scheme]), Some((scheme, sub, epp)));
        assert_eq!(by_subgroup([epp, scheme, sub]), None);
        assert_eq!(by_subgroup([scheme, sub, scheme]), None);
    }
}
