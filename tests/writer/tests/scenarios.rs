//! Every scenario text becomes files that can be walked record by record, in every variant, twice
//! the same; and no text, however broken, makes the writer panic.

use std::fs;
use std::path::{Path, PathBuf};

use etwas_writer::{OutFile, Scenario, Variant};

const EVERY_STATEMENT: &str = include_str!("every-statement.txt");

fn scenario_texts() -> Vec<(PathBuf, String)> {
    fn below(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
        for entry in fs::read_dir(folder).expect("the folder of scenarios is there") {
            let path = entry.expect("it can be listed").path();
            if path.is_dir() {
                below(&path, found);
            } else if path.extension().is_some_and(|e| e == "txt") {
                let text = fs::read_to_string(&path).expect("a scenario is text");
                found.push((path, text));
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/scenarios");
    let mut found = Vec::new();
    below(&root, &mut found);
    found.sort();
    found
}

fn u16_at(bytes: &[u8], at: usize) -> usize {
    u16::from_le_bytes([bytes[at], bytes[at + 1]]).into()
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]) as usize
}

/// Walks plain buffers; gives the number of records.
fn walk(file: &OutFile) -> usize {
    let bytes = &file.bytes;
    let (mut start, mut records) = (0, 0);
    while start + 0x48 <= bytes.len() && u32_at(bytes, start) >= 0x48 {
        let end = start + u32_at(bytes, start);
        assert!(end <= bytes.len(), "{}: a buffer at {start:#x} is cut", file.name);
        let valid = start + u32_at(bytes, start + 0x30);
        let mut at = start + 0x48;
        while at + 8 <= valid {
            let kind = bytes[at + 2];
            let size = match (bytes[at + 3], kind) {
                (0xC0, 1..=4 | 0x10 | 0x11) => u16_at(bytes, at + 4),
                _ => u16_at(bytes, at),
            };
            assert!(size >= 8 && at + size <= valid, "{}: record at {at:#x}", file.name);
            records += 1;
            at += size.next_multiple_of(8);
        }
        assert!(bytes[valid..end].iter().all(|b| *b == 0xFF), "{}: tail", file.name);
        start = end;
    }
    records
}

fn variants() -> Vec<Variant> {
    vec![
        Variant::default(),
        Variant { bits: Some(32), ..Variant::default() },
        Variant { bits: Some(64), file_bits: Some(32), ..Variant::default() },
        Variant { rotate: true, ..Variant::default() },
        Variant { buffer_bytes: Some(4096), ..Variant::default() },
    ]
}

/// Whether a scenario's files are not meant to be walked here: damaged, or compressed.
fn damaged(text: &str) -> bool {
    let odd = |l: &str| l.starts_with("damage") || l.contains("raw bytes");
    text.lines().any(|l| odd(l) || l.starts_with("machine") && l.contains("compressed"))
}

#[test]
fn every_statement_can_be_written_and_walked() {
    let scenario = Scenario::parse(EVERY_STATEMENT).unwrap();
    assert_eq!(scenario.name, "every-statement");
    assert_eq!(scenario.truths().len(), 1);
    let mut counts = Vec::new();
    for variant in variants() {
        let files = scenario.write(&variant);
        assert_eq!(files.len(), 2);
        assert_eq!(files[1].name, "every-statement.user.etl");
        counts.push(walk(&files[0]) + walk(&files[1]));
    }
    assert!(counts[0] > 150);
    assert!(counts.iter().all(|count| *count == counts[0]), "{counts:?}");
}

#[test]
fn every_scenario_can_be_written_the_same_twice() {
    for (path, text) in scenario_texts() {
        let scenario = Scenario::parse(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let name = scenario.name.clone();
        assert_eq!(path.file_stem().and_then(|s| s.to_str()), Some(name.as_str()));
        let mut counts = Vec::new();
        for variant in variants() {
            let files = scenario.write(&variant);
            assert!(!files.is_empty(), "{name}");
            let again = scenario.write(&variant);
            assert!(files.iter().zip(&again).all(|(a, b)| a.bytes == b.bytes), "{name}");
            if !damaged(&text) {
                counts.push(files.iter().map(walk).sum::<usize>());
            }
        }
        let slotted = text.contains("slots=");
        assert!(slotted || counts.iter().all(|count| *count == counts[0]), "{name} {counts:?}");
    }
}

#[test]
fn a_compressed_file_is_smaller_and_has_no_tails() {
    let scenario = Scenario::parse(EVERY_STATEMENT).unwrap();
    let plain = &scenario.write(&Variant::default())[1];
    let packed = &scenario.write(&Variant { compressed: true, ..Variant::default() })[1];
    assert!(packed.bytes.len() < plain.bytes.len());
    let mut start = 0;
    while start < packed.bytes.len() {
        start += u32_at(&packed.bytes, start);
    }
    assert_eq!(start, packed.bytes.len());
}

#[test]
fn no_text_makes_it_panic() {
    // A small generator with a fixed seed: every failure can be repeated.
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    let lines: Vec<&str> = EVERY_STATEMENT.lines().collect();
    let pieces = [
        "-1",
        "99999999999999999999",
        "{",
        "}",
        "\"",
        ":",
        "=",
        "+",
        "$(",
        "0x",
        "é",
        "",
        "4294967295",
    ];
    for _ in 0..3000 {
        let mut text: Vec<String> = Vec::new();
        for _ in 0..1 + random(30) {
            let mut line = lines[random(lines.len())].to_string();
            if random(3) == 0 && !line.is_empty() {
                let words: Vec<&str> = line.split(' ').collect();
                let at = random(words.len());
                let mut changed: Vec<String> = words.iter().map(|w| w.to_string()).collect();
                let piece = pieces[random(pieces.len())];
                changed[at] = match changed[at].split_once('=') {
                    Some((key, _)) if random(2) == 0 => format!("{key}={piece}"),
                    _ => piece.to_string(),
                };
                line = changed.join(" ");
            }
            text.push(line);
        }
        if let Ok(scenario) = Scenario::parse(&text.join("\n")) {
            scenario.write(&Variant { compressed: true, rotate: true, ..Variant::default() });
        }
    }
}
