//! Files for the viewers that people already have: Perfetto, speedscope, flame graphs. Called by
//! `etwas export`.

mod flame;
mod perfetto;
mod speedscope;
mod stacks;

use std::io::Write;

use etwas_queries::{Error, Lake};

use self::stacks::Base;
use crate::ask::{literal, rows, seconds};

/// The kinds of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Chrome's JSON trace events, which the Perfetto viewer opens.
    Perfetto,
    /// The file format of speedscope.
    Speedscope,
    /// One line per stack, its frames joined by `;`, and its weight.
    Folded,
    /// A flame graph as an SVG picture.
    Flamegraph,
}

impl Kind {
    /// Every kind by name.
    pub const ALL: &'static [(&'static str, Kind)] = &[
        ("perfetto", Kind::Perfetto),
        ("speedscope", Kind::Speedscope),
        ("folded", Kind::Folded),
        ("flamegraph", Kind::Flamegraph),
    ];
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(name: &str) -> Result<Kind, String> {
        let found = Kind::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind).ok_or_else(|| {
            let names: Vec<&str> = Kind::ALL.iter().map(|(name, _)| *name).collect();
            format!("unknown kind '{name}', one of {}", names.join(", "))
        })
    }
}

/// What folded stacks and flame graphs show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stacks {
    /// Samples: where CPU time went.
    #[default]
    Cpu,
    /// Waits: where threads were when they were off the CPU.
    Waits,
}

impl std::str::FromStr for Stacks {
    type Err = String;

    fn from_str(name: &str) -> Result<Stacks, String> {
        match name {
            "cpu" => Ok(Stacks::Cpu),
            "waits" => Ok(Stacks::Waits),
            _ => Err(format!("unknown stacks '{name}', one of cpu, waits")),
        }
    }
}

/// What to export.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Glob on the name of the trace; NULL where the lake has one only.
    pub trace: Option<String>,
    /// Glob on the image names of processes, for stacks.
    pub process: Option<String>,
    /// Start in seconds.
    pub from_s: Option<f64>,
    /// End in seconds.
    pub to_s: Option<f64>,
    /// A question of `findings`: its worst case of the trace gives the window.
    pub finding: Option<String>,
    /// What stacks are of.
    pub stacks: Stacks,
}

/// The part of a trace that is exported.
#[derive(Clone, Debug)]
pub struct Part {
    /// Trace.
    pub id: i64,
    /// Its name.
    pub trace: String,
    /// Start.
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
}

/// Largest window: that of 292 years.
const NS_MAX: f64 = 9.0e18;

/// Finds the trace and the window.
pub fn part(lake: &Lake, options: &Options) -> Result<Part, Error> {
    let pattern = options.trace.as_deref().map_or("NULL".into(), literal);
    let sql = format!(
        "SELECT t.trace_id, t.name, greatest(coalesce(t.sched_end_ns, 0), \
         coalesce(t.duration_ns, 0)) AS end_ns FROM trace t WHERE glob_matches(t.name, {pattern}) \
         ORDER BY t.name, t.trace_id"
    );
    let found = rows(lake, &sql)?;
    let first = match (found.first(), found.len()) {
        (Some(row), 1) => row,
        (None, _) => {
            return Err(match &options.trace {
                Some(glob) => Error::NoTrace { glob: glob.clone() },
                None => Error::Usage("the lake holds no traces".into()),
            });
        }
        (Some(_), several) => {
            return Err(Error::Usage(format!(
                "{several} traces match, and an export is of one\n\
                 hint: --trace NAME; etwas report traces lists them"
            )));
        }
    };
    let name = first.text("name").unwrap_or_default();
    let id = first.int("trace_id").unwrap_or(0);
    let end = first.int("end_ns").unwrap_or(0);
    let ns = |seconds: f64| (seconds * 1e9).round().clamp(-NS_MAX, NS_MAX) as i64;
    let (mut from_ns, mut to_ns) = (0, end.saturating_add(1));
    if let Some(question) = &options.finding {
        (from_ns, to_ns) = window_of(lake, id, &name, question)?;
    }
    from_ns = options.from_s.map_or(from_ns, ns);
    to_ns = options.to_s.map_or(to_ns, ns);
    if from_ns >= to_ns {
        return Err(Error::Usage(format!(
            "the window from {} s to {} s is empty",
            seconds(from_ns),
            seconds(to_ns)
        )));
    }
    Ok(Part { id, trace: name, from_ns, to_ns })
}

/// The window of a finding, with a tenth of it before and after.
fn window_of(lake: &Lake, id: i64, trace: &str, question: &str) -> Result<(i64, i64), Error> {
    let sql = format!(
        "SELECT f.ts_ns, f.seconds FROM findings(trace := {}) f WHERE f.trace_id = {id} AND \
         f.question = {} AND f.ts_ns IS NOT NULL",
        literal(trace),
        literal(question)
    );
    let found = rows(lake, &sql)?;
    let Some(row) = found.first() else {
        return Err(Error::Usage(format!(
            "'{question}' found nothing with a time in this trace\n\
             hint: etwas report findings --trace \"{trace}\""
        )));
    };
    let from = row.int("ts_ns").unwrap_or(0);
    let length = (row.number("seconds").unwrap_or(0.0) * 1e9).round() as i64;
    let pad = (length / 10).max(1_000_000);
    Ok((from.saturating_sub(pad).max(0), from.saturating_add(length).saturating_add(pad)))
}

/// Writes one file. Says how many things are in it: events, or stacks.
pub fn write(
    lake: &Lake,
    kind: Kind,
    options: &Options,
    part: &Part,
    out: &mut dyn Write,
) -> Result<u64, Error> {
    let process = options.process.as_deref();
    let written = match kind {
        Kind::Perfetto => perfetto::write(lake, part, out)?,
        Kind::Speedscope => speedscope::write(lake, part, process, out)?,
        Kind::Folded => {
            let profile = stacks::profile(lake, part, options.stacks, process, Base::Threads)?;
            profile.write_folded(out)?
        }
        Kind::Flamegraph => {
            let profile = stacks::profile(lake, part, options.stacks, process, Base::Names)?;
            flame::write(&profile, part, out)?
        }
    };
    out.flush()?;
    Ok(written)
}
