//! Real kernel payloads with the values of their fields. They are not part of the repository: `ETWAS_CORPUS`
//! names the folder that holds `vectors/`, else `../shared`; without it the test says so and passes.

use std::path::{Path, PathBuf};

use etwas_ingest::etl::{EventId, NO_ID, RawEvent, RecordKind};
use etwas_ingest::event::payload::TextRepairs;
use etwas_ingest::event::{Event, decode};
use serde_json::{Value, json};

/// A build that logs ranks with version 2, so that byte 10 is one or the other.
const BUILD: u32 = 19045;

/// Vectors whose label says 32 bits while their payload is that of a 64-bit kernel.
const LABELLED_WRONG: &[&str] = &["ImageDCEndV3"];

fn vectors() -> Option<Vec<Value>> {
    let folder = std::env::var_os("ETWAS_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared"), PathBuf::from);
    let path = folder.join("vectors/kernel-payloads.json");
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!("skipped: no payloads at {} (set ETWAS_CORPUS)", path.display());
        return None;
    };
    Some(serde_json::from_str(&text).expect("the vectors are JSON"))
}

fn group(category: &str) -> u16 {
    match category {
        "Process" => 0x03,
        "Thread" => 0x05,
        "PerfInfo" => 0x0F,
        "Image" => 0x14,
        other => panic!("unknown category {other}"),
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// What the decoder found, under the names of the MOF.
fn found(event: &Event<'_>) -> Vec<(&'static str, Value)> {
    let mut repairs = TextRepairs::default();
    match event {
        Event::Image(image) => vec![
            ("BaseAddress", json!(image.base)),
            ("ModuleSize", json!(image.size)),
            ("ProcessId", json!(image.pid)),
            ("ImageCheckSum", json!(image.checksum)),
            ("TimeDateStamp", json!(image.timestamp)),
            ("ImageFileName", json!(image.path.text(&mut repairs))),
        ],
        Event::Process(process) => vec![
            ("UniqueProcessKey", json!(process.unique_key)),
            ("ProcessId", json!(process.pid)),
            ("ParentId", json!(process.parent_pid)),
            ("SessionId", json!(process.session_id)),
            ("ExitStatus", json!(process.exit_status)),
            ("ImageFileName", json!(process.name.text(&mut repairs))),
            ("CommandLine", json!(process.command_line.map(|text| text.text(&mut repairs)))),
            ("PackageFullName", json!(process.package.text(&mut repairs))),
            ("ApplicationId", json!(process.app_id.text(&mut repairs))),
        ],
        Event::Terminate(pid) => vec![("ProcessId", json!(pid))],
        Event::Thread(thread) => vec![
            ("ProcessId", json!(thread.pid)),
            ("TThreadId", json!(thread.tid)),
            ("Win32StartAddr", json!(thread.start_address)),
            ("Affinity", json!(thread.affinity)),
            ("SubProcessTag", json!(thread.sub_process_tag)),
            ("BasePriority", json!(thread.base_priority)),
        ],
        Event::CSwitch(switch) => vec![
            ("NewThreadId", json!(switch.new_tid)),
            ("OldThreadId", json!(switch.old_tid)),
            ("NewThreadPriority", json!(switch.new_priority)),
            ("OldThreadPriority", json!(switch.old_priority)),
            ("PreviousCState", json!(switch.previous_c_state.or(switch.old_rank))),
            ("SpareByte", json!(switch.new_priority_decrement)),
            ("OldThreadWaitReason", json!(switch.old_wait_reason)),
            ("OldThreadWaitMode", json!(switch.old_wait_mode)),
            ("OldThreadState", json!(switch.old_state)),
            ("OldThreadWaitIdealProcessor", json!(switch.old_ideal_cpu)),
            ("NewThreadWaitTime", json!(switch.new_wait_ticks)),
            // Of the idle thread it is garbage, and not kept.
            ("Reserved", json!(switch.old_remaining_quantum)),
        ],
        Event::Priority(change) => vec![
            ("ThreadId", json!(change.tid)),
            ("OldPriority", json!(change.old)),
            ("NewPriority", json!(change.new)),
        ],
        Event::Sample(sample) => {
            let word = |(flags, rank)| u32::from(rank) << 8 | u32::from(flags);
            vec![
                ("InstructionPointer", json!(sample.address)),
                ("ThreadId", json!(sample.tid)),
                ("Reserved", json!(sample.flags.map(word))),
            ]
        }
        Event::Interrupt(interrupt) => vec![
            ("InitialTime", json!(interrupt.initial_ticks)),
            ("Routine", json!(interrupt.routine)),
        ],
        Event::SampleInterval(interval) => vec![
            ("Source", json!(interval.source)),
            ("NewInterval", json!(interval.interval_100ns)),
        ],
        _ => Vec::new(),
    }
}

#[test]
fn real_payloads_decode_to_their_fields() {
    let Some(vectors) = vectors() else { return };
    let (mut compared, mut wrong) = (0, Vec::new());
    for vector in &vectors {
        let name = vector["name"].as_str().unwrap();
        let number = |key: &str| vector[key].as_u64().unwrap();
        let payload = bytes(vector["payload"].as_str().unwrap());
        let hook = group(vector["category"].as_str().unwrap()) << 8 | number("opcode") as u16;
        let wide = number("pointer_bits") == 64 || LABELLED_WRONG.contains(&name);
        let raw = RawEvent {
            ticks: 0,
            cpu: 0,
            kind: RecordKind::System,
            pointer_size: if wide { 8 } else { 4 },
            tid: NO_ID,
            pid: NO_ID,
            id: EventId::Kernel { hook, version: number("version") as u8 },
            extended: &[],
            payload: &payload,
            offset: 0,
            bytes: payload.len() as u32,
        };
        let event = decode(&raw, BUILD);
        if matches!(event, Event::Malformed | Event::Unknown) {
            wrong.push(format!("{name}: {event:?}"));
            continue;
        }
        let found = found(&event);
        for (field, want) in vector["fields"].as_object().unwrap() {
            let have = found.iter().find(|(known, _)| known == field).map(|(_, have)| have);
            let Some(have) = have.filter(|have| !have.is_null()) else { continue };
            compared += 1;
            if have != want {
                wrong.push(format!("{name}.{field}: {have}, not {want}"));
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert!(compared > 150, "{compared} fields of {} payloads compared", vectors.len());
}
