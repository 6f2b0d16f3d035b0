//! The file format of speedscope: samples on the CPU and waits off it, as two profiles.

use std::collections::BTreeMap;
use std::io::Write;

use etwas_queries::{Error, Lake};
use serde_json::json;

use super::stacks::{Base, profile};
use super::{Part, Stacks};
use crate::ask::seconds;

/// Writes the profiles that have anything. Says how many stacks.
pub fn write(
    lake: &Lake,
    part: &Part,
    process: Option<&str>,
    out: &mut dyn Write,
) -> Result<u64, Error> {
    let mut frames: Vec<String> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut profiles = Vec::new();
    let mut count = 0;
    for of in [Stacks::Cpu, Stacks::Waits] {
        let one = profile(lake, part, of, process, Base::Threads)?;
        if one.stacks.is_empty() && of == Stacks::Waits {
            continue;
        }
        let shared: Vec<usize> = one
            .frames
            .iter()
            .map(|name| {
                *places.entry(name.clone()).or_insert_with(|| {
                    frames.push(name.clone());
                    frames.len() - 1
                })
            })
            .collect();
        let samples: Vec<Vec<usize>> = one
            .stacks
            .iter()
            .map(|(stack, _)| stack.iter().map(|at| shared[*at]).collect())
            .collect();
        let weights: Vec<u64> = one.stacks.iter().map(|(_, weight)| *weight).collect();
        count += samples.len() as u64;
        profiles.push(json!({
            "type": "sampled",
            "name": format!("{}: {}", part.trace, one.name),
            "unit": if one.timed { "nanoseconds" } else { "none" },
            "startValue": 0,
            "endValue": weights.iter().sum::<u64>(),
            "samples": samples,
            "weights": weights,
        }));
    }
    let frames: Vec<_> = frames.iter().map(|name| json!({ "name": name })).collect();
    let file = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": format!(
            "{}, {} s to {} s", part.trace, seconds(part.from_ns), seconds(part.to_ns)
        ),
        "exporter": format!("etwas {}", env!("CARGO_PKG_VERSION")),
        "activeProfileIndex": 0,
        "shared": { "frames": frames },
        "profiles": profiles,
    });
    writeln!(out, "{file}")?;
    Ok(count)
}
