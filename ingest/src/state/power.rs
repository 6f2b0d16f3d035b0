//! What has to be remembered about power: which CPU a group and a number are, the classes of CPUs, the active
//! scheme over time, and the last value of every setting.
//!
//! Processors and schemes are told by rundowns that may come at the end of a file, so the survey collects them;
//! the last values belong to the pass in time order.

use std::collections::{BTreeMap, HashMap};

use crate::etl::Guid;
use crate::event::power::{Change, Cpu, Owner, PowerEvent, Processor, Setting};
use crate::state::facts::Machine;

/// Processors that are kept; Windows has at most 2048.
const PROCESSORS_MAX: usize = 4096;
/// Changes of the scheme that are kept.
const SCHEMES_MAX: usize = 4096;
/// Settings whose last value is kept; beyond it repeated ones are rows.
const SETTINGS_MAX: usize = 65_536;
/// Bytes of a value that are kept to be compared.
const VALUE_BYTES_MAX: usize = 1024;

/// A property and when it was told: the latest holds.
type Told<T> = Option<(i64, T)>;

fn tell<T>(known: &mut Told<T>, ns: i64, value: Option<T>) {
    if let Some(value) = value
        && known.as_ref().is_none_or(|(at, _)| *at <= ns)
    {
        *known = Some((ns, value));
    }
}

/// What is known of a CPU.
#[derive(Clone, Debug, Default)]
struct Core {
    class: Told<u8>,
    scheduling_class: Told<u8>,
    nominal_mhz: Told<u32>,
    relative: Told<u32>,
}

/// What the survey collects.
#[derive(Clone, Debug, Default)]
pub struct PowerFacts {
    indexes: BTreeMap<Cpu, u32>,
    cores: BTreeMap<Cpu, Core>,
    /// When which scheme was active: time, the one before if told, the one from then on.
    schemes: Vec<(i64, Option<Guid>, Guid)>,
}

/// One CPU as the table describes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    pub place: Option<Cpu>,
    pub class: Option<u8>,
    pub scheduling_class: Option<u8>,
    pub nominal_mhz: Option<u32>,
    pub relative: Option<u32>,
    pub core_type: Option<&'static str>,
}

impl PowerFacts {
    /// Takes what an event tells.
    pub fn note(&mut self, event: &PowerEvent<'_>, ns: i64) {
        match event {
            PowerEvent::Processor(processor) => self.processor(processor, ns),
            PowerEvent::Index(cpu, index)
                if self.indexes.len() < PROCESSORS_MAX || self.indexes.contains_key(cpu) =>
            {
                self.indexes.insert(*cpu, *index);
            }
            PowerEvent::Change(Change::ActiveScheme(guid)) => self.scheme(ns, None, *guid),
            PowerEvent::Change(Change::Scheme(from, to, ..)) => self.scheme(ns, Some(*from), *to),
            _ => {}
        }
    }

    fn scheme(&mut self, ns: i64, from: Option<Guid>, to: Guid) {
        if self.schemes.len() < SCHEMES_MAX {
            self.schemes.push((ns, from, to));
        }
    }

    fn processor(&mut self, told: &Processor, ns: i64) {
        if self.cores.len() >= PROCESSORS_MAX && !self.cores.contains_key(&told.cpu) {
            return;
        }
        let core = self.cores.entry(told.cpu).or_default();
        tell(&mut core.class, ns, told.class);
        tell(&mut core.scheduling_class, ns, told.scheduling_class);
        tell(&mut core.nominal_mhz, ns, told.nominal_mhz);
        tell(&mut core.relative, ns, told.relative);
    }

    /// Which CPU each group and number is.
    fn places(&self, machine: &Machine) -> Places {
        let mut indexes: HashMap<Cpu, u32> = HashMap::new();
        // The masks of groups say it as long as no CPU is added later; the lists say it themselves.
        let mut next = 0;
        for (group, mask) in machine.groups.iter().enumerate() {
            for number in (0..64).filter(|number| mask >> number & 1 == 1) {
                indexes.insert((group as u16, number), next);
                next += 1;
            }
        }
        let numbers = machine.numbers.iter().enumerate();
        indexes.extend(numbers.map(|(index, cpu)| (*cpu, index as u32)));
        indexes.extend(self.indexes.iter().map(|(cpu, index)| (*cpu, *index)));
        let one_group = self.cores.keys().all(|(group, _)| *group == 0);
        Places { indexes, one_group }
    }

    /// Describes the first `count` CPUs.
    pub fn cpus(&self, machine: &Machine, count: u32) -> Vec<CpuInfo> {
        let mut cpus = vec![CpuInfo::default(); count as usize];
        for (index, mhz) in &machine.processors {
            if let Some(cpu) = cpus.get_mut(*index as usize) {
                cpu.nominal_mhz = Some(*mhz);
            }
        }
        let places = self.places(machine);
        for (place, index) in &places.indexes {
            if let Some(cpu) = cpus.get_mut(*index as usize) {
                cpu.place = Some(*place);
            }
        }
        for (place, core) in &self.cores {
            let Some(cpu) = places.index(*place).and_then(|at| cpus.get_mut(at as usize)) else {
                continue;
            };
            cpu.place = Some(*place);
            cpu.class = core.class.map(|(_, class)| class);
            cpu.scheduling_class = core.scheduling_class.map(|(_, class)| class);
            cpu.relative = core.relative.map(|(_, relative)| relative);
            let told = core.nominal_mhz.map(|(_, mhz)| mhz).filter(|mhz| *mhz != 0);
            cpu.nominal_mhz = told.or(cpu.nominal_mhz);
        }
        let classes = cpus.iter().filter_map(|cpu| cpu.class);
        if let (Some(least), Some(most)) = (classes.clone().min(), classes.max())
            && least < most
        {
            for cpu in &mut cpus {
                cpu.core_type = cpu.class.map(|class| if class == most { "P" } else { "E" });
            }
        }
        cpus
    }
}

/// Which CPU a group and a number are.
#[derive(Clone, Debug, Default)]
struct Places {
    indexes: HashMap<Cpu, u32>,
    /// Every CPU that was told of is in group 0, where the number is the index.
    one_group: bool,
}

impl Places {
    fn index(&self, cpu: Cpu) -> Option<u32> {
        let known = self.indexes.get(&cpu).copied();
        known.or_else(|| {
            (self.indexes.is_empty() && self.one_group && cpu.0 == 0).then(|| u32::from(cpu.1))
        })
    }
}

/// Key of a value: source, owner, setting, class.
type ValueKey = (&'static str, Option<String>, Guid, Option<i32>);

/// What the pass in time order remembers.
#[derive(Clone, Debug, Default)]
pub struct PowerState {
    places: Places,
    schemes: Vec<(i64, Option<Guid>, Guid)>,
    values: HashMap<ValueKey, (Vec<u8>, Option<bool>)>,
    states: HashMap<&'static str, String>,
    profiles: HashMap<u8, String>,
}

impl PowerState {
    /// Begins with what the survey found.
    pub fn new(facts: &PowerFacts, machine: &Machine) -> PowerState {
        let mut schemes = facts.schemes.clone();
        schemes.sort_by_key(|(ns, ..)| *ns);
        PowerState { places: facts.places(machine), schemes, ..PowerState::default() }
    }

    /// Index of a CPU.
    pub fn cpu(&self, cpu: Cpu) -> Option<u32> {
        self.places.index(cpu)
    }

    /// The scheme that is active at a time, as far as the trace tells.
    pub fn active_scheme(&self, ns: i64) -> Option<Guid> {
        let before = self.schemes.iter().rev().find(|(at, ..)| *at <= ns).map(|(.., to)| *to);
        before.or_else(|| {
            // A rundown that comes later tells what was active before it, unless a change comes first.
            self.schemes.first().map(|(_, from, to)| from.unwrap_or(*to))
        })
    }

    /// A profile of the processor engine is called this.
    pub fn name_profile(&mut self, profile: u8, name: String) {
        self.profiles.insert(profile, name);
    }

    /// GUID and name of what a value belongs to.
    pub fn owner(&self, setting: &Setting<'_>, ns: i64) -> (Option<String>, Option<String>) {
        let named = |guid: Guid, name: fn(&str) -> Option<&'static str>| {
            let text = guid.to_string();
            let name = name(&text).map(str::to_owned);
            (Some(text), name)
        };
        let scheme = etwas_schema::power::scheme;
        match setting.owner {
            Owner::Untold => (None, None),
            Owner::ActiveScheme => match self.active_scheme(ns) {
                Some(guid) => named(guid, scheme),
                None => (None, None),
            },
            Owner::Scheme(guid) | Owner::ProfileGuid(guid) => named(guid, scheme),
            Owner::Overlay(guid) => named(guid, etwas_schema::power::overlay),
            Owner::Profile(number) => {
                let known = self.profiles.get(&number).cloned();
                (None, Some(known.unwrap_or_else(|| format!("profile {number}"))))
            }
        }
    }

    /// Whether a value is to be a row: a change always is, a rundown where it says something new.
    pub fn is_new(
        &mut self,
        setting: &Setting<'_>,
        owner: Option<&str>,
        class: Option<i32>,
    ) -> bool {
        if setting.data.len() > VALUE_BYTES_MAX {
            return true;
        }
        let key = (setting.source, owner.map(str::to_owned), setting.setting, class);
        let value = (setting.data.to_vec(), setting.overridden);
        let known = self.values.get(&key) == Some(&value);
        if !known && (self.values.len() < SETTINGS_MAX || self.values.contains_key(&key)) {
            self.values.insert(key, value);
        }
        setting.change || !known
    }

    /// Whether a state that rundowns repeat is another than before.
    pub fn is_new_state(&mut self, what: &'static str, state: &str) -> bool {
        let known = self.states.get(what).is_some_and(|known| known == state);
        if !known {
            self.states.insert(what, state.to_owned());
        }
        !known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn core(cpu: Cpu, class: u8) -> PowerEvent<'static> {
        PowerEvent::Processor(Processor { cpu, class: Some(class), ..Processor::default() })
    }

    #[test]
    fn cores_are_named_only_where_classes_differ() {
        let mut facts = PowerFacts::default();
        facts.note(&core((0, 0), 1), 5);
        facts.note(&core((0, 1), 1), 5);
        let types = |facts: &PowerFacts| {
            let cpus = facts.cpus(&Machine::default(), 3);
            cpus.iter().map(|cpu| (cpu.class, cpu.core_type)).collect::<Vec<_>>()
        };
        assert_eq!(types(&facts), [(Some(1), None), (Some(1), None), (None, None)]);
        facts.note(&core((0, 1), 0), 6);
        // An older statement that stands later in the file changes nothing.
        facts.note(&core((0, 1), 1), 4);
        assert_eq!(types(&facts), [(Some(1), Some("P")), (Some(0), Some("E")), (None, None)]);
    }

    #[test]
    fn groups_need_something_that_tells_the_index() {
        let mut facts = PowerFacts::default();
        facts.note(&core((0, 0), 0), 0);
        facts.note(&core((1, 0), 1), 0);
        let classes = |facts: &PowerFacts, machine: &Machine| {
            facts.cpus(machine, 2).iter().map(|cpu| cpu.class).collect::<Vec<_>>()
        };
        assert_eq!(classes(&facts, &Machine::default()), [None, None]);
        let masks = Machine { groups: vec![1, 1], ..Machine::default() };
        assert_eq!(classes(&facts, &masks), [Some(0), Some(1)]);
        facts.note(&PowerEvent::Index((0, 0), 1), 0);
        facts.note(&PowerEvent::Index((1, 0), 0), 0);
        assert_eq!(classes(&facts, &Machine::default()), [Some(1), Some(0)]);
    }

    #[test]
    fn a_later_rundown_tells_the_scheme_before_it() {
        let guid = |byte: u8| Guid([byte; 16]);
        let mut facts = PowerFacts::default();
        facts.note(&PowerEvent::Change(Change::ActiveScheme(guid(1))), 10);
        let state = PowerState::new(&facts, &Machine::default());
        assert_eq!(state.active_scheme(5), Some(guid(1)));
        facts.note(&PowerEvent::Change(Change::Scheme(guid(2), guid(1), Default::default(), 1)), 8);
        let state = PowerState::new(&facts, &Machine::default());
        assert_eq!(state.active_scheme(5), Some(guid(2)));
        assert_eq!(state.active_scheme(9), Some(guid(1)));
    }
}
