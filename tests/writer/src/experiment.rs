//! An experiment over power policies: one small recording for each combination of Windows release, heterogeneous
//! policy, thread policy and priority, several times over. Written by `etwas-writer --experiment DIR`.
//!
//! The machine has 16 P and 8 E threads; LoadStress.exe has 12 threads that each want a CPU for 10 s. Where the
//! policies leave fewer CPUs than threads, they take turns on them, so that CPU time is missing. The behaviour of
//! each combination is stated in [`placement`] and nowhere else.

use std::fmt::Write;

use crate::{Error, OutFile, Scenario, Variant};

/// Threads of the load, and the time that each wants.
const THREADS: u32 = 12;
/// Begin and end of the load in milliseconds.
const FROM_MS: u32 = 1_000;
const TO_MS: u32 = 11_000;
/// CPUs: P first, then E.
const P_CPUS: u32 = 16;
const CPUS: u32 = 24;

/// A Windows release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Release {
    Win10,
    Win11,
}

/// Priorities by name, with the base priority of the threads.
const PRIORITIES: [(&str, i8); 3] = [("BelowNormal", 6), ("Normal", 8), ("AboveNormal", 10)];

/// Where the threads of a combination run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placement {
    /// A CPU for each thread: this many on P, the others on E.
    Apart(u32),
    /// Fewer CPUs than threads: first CPU and how many.
    Crowded(u32, u32),
}

/// How the policies place the load.
fn placement(release: Release, hetero: u32, thread: u32, base: i8) -> Placement {
    let e_only = Placement::Crowded(P_CPUS, CPUS - P_CPUS);
    match (release, hetero, thread) {
        (_, 2, _) | (Release::Win11, _, 3) => e_only,
        // Performant processors leave one CPU, preferring them two, unless the priority is low.
        (Release::Win10, 4, 1) if base >= 8 => Placement::Crowded(0, 1),
        (Release::Win10, 4, 2) if base >= 8 => Placement::Crowded(0, 2),
        (_, 3, _) => Placement::Apart(11),
        (_, 4, _) if base < 8 => Placement::Apart(4),
        (_, 4, _) => Placement::Apart(10),
        (_, _, 1 | 2) => Placement::Apart(12),
        (_, _, 3 | 4) => Placement::Apart(4),
        _ => Placement::Apart(8),
    }
}

/// Milliseconds until the last threads of a run get their CPUs: seldom, and without any visible reason.
fn delay_ms(combination: u32, repeat: u32) -> u32 {
    let mixed = (combination * 7 + repeat * 13 + 5).wrapping_mul(2_654_435_761) >> 16;
    if mixed.is_multiple_of(12) { 1_500 + mixed % 7 * 250 } else { 0 }
}

/// One recording of the experiment.
struct Run {
    name: String,
    build: u32,
    hetero: u32,
    thread: u32,
    base: i8,
    place: Placement,
    delay_ms: u32,
    /// Minutes after the first of them.
    minute: u32,
}

/// Every recording, `repeats` for each combination.
fn runs(repeats: u32) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut combination = 0;
    for (release, build) in [(Release::Win10, 19045), (Release::Win11, 22631)] {
        for (hetero, thread) in (0..5).flat_map(|hetero| (0..6).map(move |thread| (hetero, thread)))
        {
            for (priority, base) in PRIORITIES {
                for repeat in 1..=repeats {
                    runs.push(Run {
                        name: format!("{release:?}_H{hetero}_T{thread}_{priority}_r{repeat}"),
                        build,
                        hetero,
                        thread,
                        base,
                        place: placement(release, hetero, thread, base),
                        delay_ms: delay_ms(combination, repeat),
                        minute: combination * repeats + repeat,
                    });
                }
                combination += 1;
            }
        }
    }
    runs
}

/// Names of the recordings in which every thread has a CPU, but the last ones get theirs late.
pub fn late_runs(repeats: u32) -> Vec<String> {
    let late = |run: &Run| run.delay_ms > 0 && matches!(run.place, Placement::Apart(_));
    runs(repeats).into_iter().filter(late).map(|run| run.name).collect()
}

/// Calls `each` with every file of the experiment, `repeats` for each combination.
pub fn experiment(
    repeats: u32,
    mut each: impl FnMut(&OutFile) -> Result<(), String>,
) -> Result<(), String> {
    for run in runs(repeats) {
        let mut text = machine(&run.name, run.build, run.minute);
        settings(&mut text, run.hetero, run.thread);
        load(&mut text, run.place, run.base, run.delay_ms);
        let scenario = Scenario::parse(&text).map_err(|e: Error| format!("{}: {e}", run.name))?;
        for file in scenario.write(&Variant::default()) {
            each(&file)?;
        }
    }
    Ok(())
}

/// The machine, its processors, and when it was recorded.
fn machine(name: &str, build: u32, minute: u32) -> String {
    let (day, hour, minute) = (1 + minute / 1440 % 28, minute / 60 % 24, minute % 60);
    let start = format!("2024-04-{day:02} {hour:02}:{minute:02}:00");
    let mut text = format!(
        "scenario {name}\nmachine cpus={CPUS} build={build} buffer=4k length=16s start=\"{start}\"\n\
         process 4000 LoadStress.exe start=500ms\n"
    );
    for cpu in 0..CPUS {
        let (class, mhz, relative) = if cpu < P_CPUS { (1, 2100, 100) } else { (0, 1500, 70) };
        let _ = writeln!(text, "10ms core {cpu} class={class} mhz={mhz} relative={relative}");
        let _ = writeln!(text, "10ms core-id {cpu} index={cpu}");
    }
    text
}

/// Settings in force: the two policies, and some that are the same everywhere.
fn settings(text: &mut String, hetero: u32, thread: u32) {
    let told = [
        ("7f2f5cfa-f10c-4823-b5e1-e93ae85f46b5", hetero.to_string()),
        ("93b8b6dc-0698-4d1c-9ee4-0644e900c85d", thread.to_string()),
        ("bae08b81-2d5e-4688-ad6a-13243356654b", thread.to_string()),
        ("be337238-0d82-4146-a960-4f3749d470c7", "2".to_owned()),
        ("36687f9e-e3a5-4dbf-b1dc-15eb381c6863", "50".to_owned()),
        ("36687f9e-e3a5-4dbf-b1dc-15eb381c6864", "50".to_owned()),
        ("bc5038f7-23e0-4960-96da-33abaf5935ed", "100".to_owned()),
        ("b000397d-9b0b-483d-98c9-692a6060cfc0", "hex:3c3c3c3c".to_owned()),
        ("31f9f286-5084-42fe-b720-2b0264993763", "381b4222-f694-41f0-9685-ff5bb260df2e".to_owned()),
    ];
    for (guid, value) in told {
        // Recorders capture the state at the start and at the end.
        let _ = writeln!(text, "20ms power-setting {guid} {value}");
        let _ = writeln!(text, "15.5s power-setting {guid} {value}");
    }
}

/// The load: long runs where each thread has a CPU, turns where they share.
fn load(text: &mut String, place: Placement, base: i8, delay_ms: u32) {
    for thread in 0..THREADS {
        let tid = 4001 + thread;
        let _ = writeln!(text, "thread {tid} pid=4000 base={base} start=600ms");
    }
    match place {
        Placement::Crowded(first, count) => {
            let (last_tid, last) = (4000 + THREADS, first + count - 1);
            let _ = writeln!(
                text,
                "round-robin tids=4001-{last_tid} cpus={first}-{last} from={FROM_MS}ms to={TO_MS}ms \
                 quantum=250ms prio={base}"
            );
        }
        Placement::Apart(on_p) => {
            for thread in 0..THREADS {
                // Over the P cores first, one hardware thread each, then their siblings.
                let p_cpu = if thread < 8 { thread * 2 } else { (thread - 8) * 2 + 1 };
                let cpu = if thread < on_p { p_cpu } else { P_CPUS + thread - on_p };
                let late = if thread >= THREADS - 3 { delay_ms } else { 0 };
                let (from, to) = (FROM_MS + thread + late, TO_MS + thread + late);
                let tid = 4001 + thread;
                let _ =
                    writeln!(text, "run cpu={cpu} tid={tid} from={from}ms to={to}ms prio={base}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_combination_is_a_file_and_the_same_every_time() {
        let mut names = Vec::new();
        let mut bytes = 0;
        let take = |file: &OutFile| {
            names.push(file.name.clone());
            bytes += file.bytes.len();
            Ok(())
        };
        experiment(1, take).unwrap();
        assert_eq!(names.len(), 2 * 5 * 6 * 3);
        assert!(names.contains(&"Win11_H3_T2_Normal_r1.etl".to_owned()));
        names.dedup();
        assert_eq!(names.len(), 180);
    }

    #[test]
    fn the_worst_is_one_cpu_and_some_starts_are_slow() {
        assert_eq!(placement(Release::Win10, 4, 1, 8), Placement::Crowded(0, 1));
        assert_eq!(placement(Release::Win11, 4, 1, 8), Placement::Apart(10));
        let late = late_runs(3).len();
        assert!((10..=100).contains(&late), "{late}");
    }
}
