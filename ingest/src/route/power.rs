//! Rows of the power tables. Part of the router, which calls [`Router::power`] for every power event.

use std::io;

use etwas_schema as schema;
use etwas_schema::power;
use serde_json::{Value, json};

use super::Router;
use crate::census::Fate;
use crate::etl::{EventId, Guid, RawEvent};
use crate::event::power::{Change, Cpu, IdleState, PROCESSOR, PowerEvent, Setting};

/// Bytes of a value that become text.
const VALUE_BYTES_MAX: usize = 4096;

/// Profiles of the processor engine are named by these events.
const PROFILE_NAMES: std::ops::RangeInclusive<u16> = 102..=103;

/// A row of `power_event`.
struct Row {
    kind: &'static str,
    from: Option<String>,
    to: Option<String>,
    detail: Option<Value>,
}

impl Router<'_> {
    /// An event of a power provider.
    pub(super) fn power(
        &mut self,
        raw: &RawEvent<'_>,
        event: &PowerEvent<'_>,
        ns: i64,
    ) -> io::Result<Fate> {
        if let EventId::Manifest { provider, id, .. } = raw.id {
            self.gaps.power(provider, id, ns);
        }
        match event {
            PowerEvent::Setting(setting) => self.power_setting(setting, ns),
            PowerEvent::Change(change) => self.power_change(change, ns),
            PowerEvent::Index(..) => Ok(Fate::Stored("cpu")),
            PowerEvent::Processor(processor) => {
                if let Some(mhz) = processor.delivered_mhz.filter(|mhz| *mhz != 0) {
                    self.cpu_frequency(processor.cpu, mhz, "rundown", ns)?;
                }
                Ok(Fate::Stored("cpu"))
            }
            PowerEvent::Frequency(cpu, mhz, kind) => {
                self.cpu_frequency(*cpu, *mhz, kind, ns)?;
                Ok(Fate::Stored("cpu_frequency"))
            }
            PowerEvent::Parking(cpu, parked, soft) => {
                if let Some(cpu) = self.power.cpu(*cpu) {
                    self.tables.cpu_parking.builder.push(&schema::cpu_parking::Row {
                        ts_ns: ns,
                        cpu: cpu as i32,
                        parked: *parked,
                        soft: *soft,
                    });
                    self.tables.cpu_parking.flush_if_full()?;
                }
                Ok(Fate::Stored("cpu_parking"))
            }
        }
    }

    /// False for what happens to a CPU that the trace does not name: no row can say which one it is.
    pub(super) fn has_cpu(&self, event: &PowerEvent<'_>) -> bool {
        match event {
            PowerEvent::Frequency(cpu, ..) | PowerEvent::Parking(cpu, ..) => {
                self.power.cpu(*cpu).is_some()
            }
            _ => true,
        }
    }

    fn cpu_frequency(&mut self, cpu: Cpu, mhz: u32, kind: &str, ns: i64) -> io::Result<()> {
        let Some(cpu) = self.power.cpu(cpu) else { return Ok(()) };
        self.tables.cpu_frequency.builder.push(&schema::cpu_frequency::Row {
            ts_ns: ns,
            cpu: cpu as i32,
            mhz: f64::from(mhz),
            kind,
        });
        self.tables.cpu_frequency.flush_if_full()
    }

    /// A CPU enters or leaves an idle state.
    pub(super) fn idle_state(&mut self, cpu: u16, idle: &IdleState, ns: i64) -> io::Result<Fate> {
        self.tables.c_state.builder.push(&schema::c_state::Row {
            ts_ns: ns,
            cpu: i32::from(cpu),
            state: idle.state as i32,
            entered: idle.entered,
        });
        self.tables.c_state.flush_if_full()?;
        Ok(Fate::Stored("c_state"))
    }

    /// Takes the name of a profile from a generic event whose fields the trace itself describes.
    pub(super) fn note_profile(&mut self, provider: Guid, id: u16, fields: &str) {
        if provider != PROCESSOR || !PROFILE_NAMES.contains(&id) {
            return;
        }
        let Ok(Value::Object(fields)) = serde_json::from_str::<Value>(fields) else { return };
        let number = ["ProfileId", "Id"].iter().find_map(|key| fields.get(*key)?.as_u64());
        let name = ["ProfileName", "Name"].iter().find_map(|key| fields.get(*key)?.as_str());
        if let (Some(number), Some(name)) = (number.and_then(|n| u8::try_from(n).ok()), name) {
            self.power.name_profile(number, name.to_owned());
        }
    }

    fn power_setting(&mut self, setting: &Setting<'_>, ns: i64) -> io::Result<Fate> {
        let guid = setting.setting.to_string();
        let known = power::setting(&guid);
        let class = efficiency_class(known, setting.class);
        let (scheme_guid, scheme) = self.power.owner(setting, ns);
        let owner = scheme_guid.as_deref().or(scheme.as_deref());
        if !self.power.is_new(setting, owner, class) {
            return Ok(Fate::Stored("power_setting"));
        }
        let alias = setting.alias.map(|alias| alias.text(&mut self.repairs));
        let alias = alias.filter(|alias| !alias.is_empty());
        let data = &setting.data[..setting.data.len().min(VALUE_BYTES_MAX)];
        let known_alias = known.map(|known| known.alias).filter(|alias| !alias.is_empty());
        let value_text = match known {
            Some(known) if known.values == power::Values::Scheme => scheme_text(data),
            Some(known) => power::value_text(known, data),
            None => None,
        };
        let packed = known.is_some_and(|known| matches!(known.values, power::Values::Packed(_)));
        let value = if packed { None } else { power::number(data).map(|number| number as f64) };
        let subgroup = setting.subgroup.map(|guid| guid.to_string());
        self.tables.power_setting.builder.push(&schema::power_setting::Row {
            ts_ns: ns,
            source: setting.source,
            scheme_guid: scheme_guid.as_deref(),
            scheme: scheme.as_deref(),
            subgroup_guid: subgroup.as_deref(),
            setting_guid: &guid,
            alias: known_alias.or(alias.as_deref()),
            name: known.map(|known| known.name),
            efficiency_class: class,
            value,
            value_text: value_text.as_deref(),
            unit: known.and_then(|known| known.unit()),
            kind: if setting.change { "change" } else { "rundown" },
            r#override: setting.overridden,
            raw: &hex(data),
        });
        self.tables.power_setting.flush_if_full()?;
        Ok(Fate::Stored("power_setting"))
    }

    fn power_change(&mut self, change: &Change<'_>, ns: i64) -> io::Result<Fate> {
        if let Some((what, state)) = repeated(change)
            && !self.power.is_new_state(what, &state)
        {
            return Ok(Fate::Stored("power_event"));
        }
        if let Change::Source(ac, true) = change {
            // A rundown that comes later tells it again.
            self.power.is_new_state("source", &ac.to_string());
        }
        let row = match change {
            Change::Scheme(from, to, process, pid) => {
                let process = process.text(&mut self.repairs);
                self.power.is_new_state("scheme", &to.to_string());
                let guids = json!({
                    "process": process, "pid": pid,
                    "from_guid": from.to_string(), "to_guid": to.to_string(),
                });
                Row {
                    kind: "scheme",
                    from: Some(scheme_name(*from)),
                    to: Some(scheme_name(*to)),
                    detail: Some(guids),
                }
            }
            _ => row_of(change),
        };
        let detail = row.detail.map(|detail| detail.to_string());
        self.tables.power_event.builder.push(&schema::power_event::Row {
            ts_ns: ns,
            kind: row.kind,
            from_state: row.from.as_deref(),
            to_state: row.to.as_deref(),
            detail: detail.as_deref(),
        });
        self.tables.power_event.flush_if_full()?;
        Ok(Fate::Stored("power_event"))
    }
}

/// States that rundowns repeat: what it is, and its value.
fn repeated(change: &Change<'_>) -> Option<(&'static str, String)> {
    match change {
        Change::Source(ac, false) => Some(("source", ac.to_string())),
        Change::ActiveScheme(guid) => Some(("scheme", guid.to_string())),
        Change::Overlay(None, guid, which) => Some((*which, guid.to_string())),
        _ => None,
    }
}

fn row_of(change: &Change<'_>) -> Row {
    let row = |kind, from, to, detail| Row { kind, from, to, detail };
    let source = |ac: bool| Some(if ac { "AC" } else { "DC" }.to_owned());
    match change {
        Change::Sleep(target, effective, reason) => {
            let detail = json!({ "target": target, "effective": effective, "reason": reason });
            row("sleep", None, system_state(*effective), Some(detail))
        }
        Change::Wake(target, effective, by) => {
            let detail = json!({ "target": target, "effective": effective, "wake_from": by });
            row("wake", system_state(*effective), None, Some(detail))
        }
        Change::Source(ac, true) => row("ac_dc", source(!*ac), source(*ac), None),
        Change::Source(ac, false) => row("ac_dc_rundown", None, source(*ac), None),
        Change::ActiveScheme(guid) => {
            let detail = json!({ "to_guid": guid.to_string(), "rundown": true });
            row("scheme", None, Some(scheme_name(*guid)), Some(detail))
        }
        Change::Scheme(from, to, ..) => {
            row("scheme", Some(scheme_name(*from)), Some(scheme_name(*to)), None)
        }
        Change::Overlay(from, to, which) => {
            let detail = json!({ "which": which, "to_guid": to.to_string() });
            row("overlay", from.map(overlay_name), Some(overlay_name(*to)), Some(detail))
        }
        Change::Standby(true) => row("modern_standby_enter", None, None, None),
        Change::Standby(false) => row("modern_standby_exit", None, None, None),
        Change::Shutdown(action, code, reason) => {
            let detail = json!({ "action": action, "event_code": code, "reason": reason });
            row("shutdown", None, None, Some(detail))
        }
        Change::TransitionStart(reason) => {
            row("transition_start", None, None, Some(json!({ "reason": reason })))
        }
        Change::TransitionEnd(status) => {
            row("transition_end", None, None, Some(json!({ "status": status })))
        }
    }
}

/// The class a setting is for. Twins have one each; the processor engine names the class beside the first twin.
fn efficiency_class(known: Option<&power::Setting>, told: Option<u8>) -> Option<i32> {
    let told = told.map(i32::from);
    match known {
        Some(known) => known.efficiency_class.map(|class| told.unwrap_or(0).max(class)),
        None => told.filter(|class| *class > 0),
    }
}

fn system_state(state: u32) -> Option<String> {
    power::name_of(power::SYSTEM_STATES, i64::from(state)).map(str::to_owned)
}

fn scheme_name(guid: Guid) -> String {
    let text = guid.to_string();
    power::scheme(&text).map_or(text.clone(), str::to_owned)
}

fn overlay_name(guid: Guid) -> String {
    let text = guid.to_string();
    power::overlay(&text).map_or(text.clone(), str::to_owned)
}

/// A value that is the GUID of a scheme: its name, else the GUID.
fn scheme_text(data: &[u8]) -> Option<String> {
    Some(scheme_name(Guid(data.try_into().ok()?)))
}

fn hex(data: &[u8]) -> String {
    use std::fmt::Write;
    data.iter().fold(String::with_capacity(2 * data.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
