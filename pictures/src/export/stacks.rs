//! Stacks with their weight, outermost frame first: samples are time on the CPU, waits time off it.
//! Below every process and thread; what has no stack is kept and says so.

use std::collections::BTreeMap;
use std::io::Write;

use etwas_queries::{Error, Lake};

use super::{Part, Stacks};
use crate::ask::{literal, rows};

/// Frame of what was recorded without a stack.
const NO_STACK: &str = "[no stack]";

/// What stacks stand on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// A process and a thread of it.
    Threads,
    /// The image name, so that processes of one name are one.
    Names,
}

/// Stacks of one kind.
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// Whether weights are nanoseconds; else they count samples.
    pub timed: bool,
    /// Names of frames.
    pub frames: Vec<String>,
    /// Stacks as places in `frames`, outermost first, with their weight.
    pub stacks: Vec<(Vec<usize>, u64)>,
}

/// Collects the stacks of a part of a trace.
pub fn profile(
    lake: &Lake,
    part: &Part,
    of: Stacks,
    process: Option<&str>,
    base: Base,
) -> Result<Profile, Error> {
    let found = rows(lake, &weights_sql(part, of, process))?;
    let known = texts(lake, part, of)?;
    // A trace that does not tell the interval of its samples has their number.
    let timed = found.iter().all(|row| row.int("unweighted") == Some(0));
    let mut names: BTreeMap<String, usize> = BTreeMap::new();
    let mut frames: Vec<String> = Vec::new();
    let mut place = |name: String| {
        *names.entry(name.clone()).or_insert_with(|| {
            frames.push(name);
            frames.len() - 1
        })
    };
    let mut stacks = Vec::new();
    for row in found.iter() {
        let process = row.text("process").unwrap_or_else(|| "?".into());
        let pid = row.text("pid").unwrap_or_else(|| "?".into());
        let tid = row.text("tid").unwrap_or_else(|| "?".into());
        let mut stack = match base {
            Base::Threads => {
                vec![place(format!("{process} ({pid})")), place(format!("thread {tid}"))]
            }
            Base::Names => vec![place(process)],
        };
        match row.int("stack_id").and_then(|id| known.get(&id)) {
            Some(texts) => stack.extend(texts.iter().rev().map(|text| place(text.clone()))),
            None => stack.push(place(NO_STACK.into())),
        }
        let weight = row.int(if timed { "weight_ns" } else { "hits" }).unwrap_or(0);
        if let (Ok(weight), true) = (u64::try_from(weight), weight > 0) {
            stacks.push((stack, weight));
        }
    }
    let name = if of == Stacks::Cpu { "samples on the CPU" } else { "waits off the CPU" };
    Ok(Profile { name, timed, frames, stacks })
}

/// One row per thread and stack. A wait counts where the thread ran again within the window.
fn weights_sql(part: &Part, of: Stacks, process: Option<&str>) -> String {
    let Part { id, from_ns, to_ns, .. } = part;
    let process = process.map_or("NULL".into(), literal);
    let hits = match of {
        Stacks::Cpu => format!(
            "SELECT m.process_key, m.tid, m.stack_id, m.weight_ns FROM sample m WHERE m.trace_id = \
             {id} AND m.ts_ns >= {from_ns} AND m.ts_ns < {to_ns} AND m.tid <> 0"
        ),
        Stacks::Waits => format!(
            "SELECT c.new_process_key AS process_key, c.new_tid AS tid, c.new_stack_id AS \
             stack_id, c.since_last_ns - c.ready_ns - gap_within_ns((SELECT list({{'from_ts_ns': \
             g.from_ts_ns, 'to_ts_ns': g.to_ts_ns}} ORDER BY g.from_ts_ns) FROM gap g WHERE \
             g.trace_id = {id}), c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns) AS weight_ns \
             FROM cswitch c WHERE c.trace_id = {id} AND c.ts_ns >= {from_ns} AND c.ts_ns < {to_ns} \
             AND c.new_tid <> 0 AND c.since_last_ns > c.ready_ns"
        ),
    };
    format!(
        "WITH hit AS ({hits}) SELECT p.name AS process, p.pid, h.tid, h.stack_id, count(*) AS \
         hits, CAST(sum(h.weight_ns) AS BIGINT) AS weight_ns, count(*) - count(h.weight_ns) AS \
         unweighted FROM hit h LEFT JOIN process p ON p.trace_id = {id} AND p.process_key = \
         h.process_key WHERE glob_matches(p.name, {process}) GROUP BY p.name, p.pid, h.tid, \
         h.stack_id ORDER BY p.name, p.pid, h.tid, h.stack_id NULLS LAST"
    )
}

/// The frames of the stacks, innermost first, as text.
fn texts(lake: &Lake, part: &Part, of: Stacks) -> Result<BTreeMap<i64, Vec<String>>, Error> {
    let Part { id, from_ns, to_ns, .. } = part;
    let used = match of {
        Stacks::Cpu => format!(
            "SELECT m.stack_id FROM sample m WHERE m.trace_id = {id} AND m.ts_ns >= {from_ns} AND m.ts_ns < {to_ns}"
        ),
        Stacks::Waits => format!(
            "SELECT c.new_stack_id FROM cswitch c WHERE c.trace_id = {id} AND c.ts_ns >= {from_ns} AND c.ts_ns < {to_ns}"
        ),
    };
    frames_of(lake, part, &used)
}

/// The frames of the stacks that `used` lists, innermost first, as text.
pub fn frames_of(
    lake: &Lake,
    part: &Part,
    used: &str,
) -> Result<BTreeMap<i64, Vec<String>>, Error> {
    let sql = format!(
        "SELECT f.stack_id, f.frame FROM stack_frames(trace := {}) f WHERE f.trace_id = {} AND \
         f.stack_id IN ({used}) ORDER BY f.stack_id, f.depth",
        literal(&part.trace),
        part.id
    );
    let mut out: BTreeMap<i64, Vec<String>> = BTreeMap::new();
    for row in rows(lake, &sql)?.iter() {
        let Some(id) = row.int("stack_id") else { continue };
        out.entry(id).or_default().push(row.text("frame").unwrap_or_else(|| "?".into()));
    }
    Ok(out)
}

impl Profile {
    /// One line a stack. Says how many.
    pub fn write_folded(&self, out: &mut dyn Write) -> Result<u64, Error> {
        let names: Vec<String> = self.frames.iter().map(|name| plain(name)).collect();
        for (stack, weight) in &self.stacks {
            let line: Vec<&str> = stack.iter().map(|at| names[*at].as_str()).collect();
            writeln!(out, "{} {weight}", line.join(";"))?;
        }
        Ok(self.stacks.len() as u64)
    }
}

/// A name without what separates frames and lines in this format.
fn plain(name: &str) -> String {
    name.chars()
        .map(|c| match c {
            ';' => ':',
            c if c.is_control() => ' ',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_a_line() {
        let profile = Profile {
            name: "x",
            timed: true,
            frames: vec!["a;b\nc 1".into(), "d".into()],
            stacks: vec![(vec![0, 1], 7)],
        };
        let mut out = Vec::new();
        assert_eq!(profile.write_folded(&mut out).unwrap(), 1);
        assert_eq!(String::from_utf8(out).unwrap(), "a:b c 1;d 7\n");
    }
}
