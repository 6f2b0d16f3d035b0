//! Chrome's JSON trace events, which the Perfetto viewer (and others) open: CPUs, threads with
//! their states, arrows from who woke a thread to where it ran, UI delays, marks, and settings and
//! frequencies as counters.
//!
//! Times are microseconds in this format; three decimals keep every nanosecond.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

use etwas_queries::{Error, Lake};
use serde_json::{Map, Value as Json, json};

use super::Part;
use super::stacks::frames_of;
use crate::ask::{Row, rows, seconds};

/// Tracks that are no process of the trace. Real ids are multiples of four.
const CPUS: i64 = 1_000_000_001;
const SETTINGS: i64 = 1_000_000_003;

/// What is added to the key of a process or thread whose id another one in the file has too.
const REUSED: i64 = 1_100_000_001;

/// Most frames of a stack that are told with a wait.
const FRAMES_MAX: usize = 24;

/// Writes the events of a part. Says how many.
pub fn write(lake: &Lake, part: &Part, out: &mut dyn Write) -> Result<u64, Error> {
    let mut writer = Writer { out, events: 0 };
    let about = json!({
        "trace": part.trace, "from_s": seconds(part.from_ns), "to_s": seconds(part.to_ns),
        "exporter": format!("etwas {}", env!("CARGO_PKG_VERSION")),
    });
    write!(writer.out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\"traceEvents\":[")?;
    let ids = Ids::read(lake, part)?;
    cpus(lake, part, &mut writer)?;
    states(lake, part, &ids, &mut writer)?;
    arrows(lake, part, &ids, &mut writer)?;
    delays(lake, part, &ids, &mut writer)?;
    marks(lake, part, &mut writer)?;
    counters(lake, part, &mut writer)?;
    writeln!(writer.out, "\n]}}")?;
    Ok(writer.events)
}

struct Writer<'a> {
    out: &'a mut dyn Write,
    events: u64,
}

impl Writer<'_> {
    fn event(
        &mut self,
        event: &Map<String, Json>,
        ts_ns: Option<i64>,
        dur_ns: Option<i64>,
    ) -> Result<(), Error> {
        let comma = if self.events == 0 { "" } else { "," };
        write!(self.out, "{comma}\n{{")?;
        if let Some(ts) = ts_ns {
            write!(self.out, "\"ts\":{},", microseconds(ts))?;
        }
        if let Some(dur) = dur_ns {
            write!(self.out, "\"dur\":{},", microseconds(dur))?;
        }
        let text = Json::Object(event.clone()).to_string();
        write!(self.out, "{}", &text[1..])?;
        self.events += 1;
        Ok(())
    }

    fn name(&mut self, kind: &str, pid: i64, tid: Option<i64>, name: &str) -> Result<(), Error> {
        let mut event =
            object(json!({ "ph": "M", "name": kind, "pid": pid, "args": { "name": name } }));
        if let Some(tid) = tid {
            event.insert("tid".into(), tid.into());
        }
        self.event(&event, None, None)
    }
}

fn object(json: Json) -> Map<String, Json> {
    match json {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}

/// Nanoseconds as microseconds, exact.
fn microseconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    format!("{sign}{}.{:03}", ns / 1000, ns % 1000)
}

/// Process and thread ids as the file has them, by key: the real ones, except where an id was used
/// twice, since the viewers would join the two.
struct Ids {
    processes: BTreeMap<i64, i64>,
    threads: BTreeMap<i64, (i64, i64)>,
    names: BTreeMap<i64, String>,
}

impl Ids {
    fn read(lake: &Lake, part: &Part) -> Result<Ids, Error> {
        let mut ids =
            Ids { processes: BTreeMap::new(), threads: BTreeMap::new(), names: BTreeMap::new() };
        let mut used: BTreeSet<i64> = BTreeSet::new();
        let sql = format!(
            "SELECT p.process_key, p.pid, p.name FROM process p WHERE p.trace_id = {} ORDER BY \
             p.process_key",
            part.id
        );
        for row in rows(lake, &sql)?.iter() {
            let Some(key) = row.int("process_key") else { continue };
            let pid = row.int("pid").filter(|pid| used.insert(*pid)).unwrap_or(REUSED + key);
            ids.processes.insert(key, pid);
            let name = row.text("name").unwrap_or_else(|| "?".into());
            ids.names.insert(key, name);
        }
        let sql = format!(
            "SELECT h.thread_key, h.process_key, h.tid FROM thread h WHERE h.trace_id = {} ORDER \
             BY h.thread_key",
            part.id
        );
        used.clear();
        for row in rows(lake, &sql)?.iter() {
            let Some(key) = row.int("thread_key") else { continue };
            let tid = row.int("tid").filter(|tid| used.insert(*tid)).unwrap_or(REUSED + key);
            let pid = row.int("process_key").and_then(|key| ids.processes.get(&key)).copied();
            ids.threads.insert(key, (pid.unwrap_or(REUSED - 2), tid));
        }
        Ok(ids)
    }
}

/// What ran on each CPU.
fn cpus(lake: &Lake, part: &Part, writer: &mut Writer<'_>) -> Result<(), Error> {
    writer.name("process_name", CPUS, None, "CPUs")?;
    let Part { id, from_ns, to_ns, .. } = part;
    let sql =
        format!("SELECT c.cpu, c.core_type FROM cpu c WHERE c.trace_id = {id} ORDER BY c.cpu");
    for row in rows(lake, &sql)?.iter() {
        let cpu = row.int("cpu").unwrap_or(0);
        let core = row.text("core_type").map_or(String::new(), |core| format!(" ({core})"));
        writer.name("thread_name", CPUS, Some(cpu), &format!("CPU {cpu}{core}"))?;
    }
    let sql = format!(
        "{} SELECT r.cpu, r.from_ts_ns, r.to_ts_ns - r.from_ts_ns AS run_ns, p.name AS process, \
         r.pid, r.tid, r.priority, r.rank, r.qos FROM runs_of('chosen') r LEFT JOIN \
         processes_of('chosen') p ON p.process_key = r.process_key WHERE NOT r.idle AND r.trace_id \
         = {id} ORDER BY r.from_ts_ns, r.cpu",
        chosen(*id, *from_ns, *to_ns)
    );
    for row in rows(lake, &sql)?.iter() {
        let name = row.text("process").unwrap_or_else(|| "?".into());
        let event = object(json!({
            "ph": "X", "cat": "cpu", "pid": CPUS, "tid": row.json("cpu"), "name": name,
            "args": {
                "pid": row.json("pid"), "tid": row.json("tid"), "priority": row.json("priority"),
                "rank": row.json("rank"), "qos": row.json("qos"),
            },
        }));
        writer.event(&event, row.int("from_ts_ns"), row.int("run_ns"))?;
    }
    Ok(())
}

fn chosen(id: i64, from_ns: i64, to_ns: i64) -> String {
    format!(
        "WITH chosen AS (SELECT t.trace_id, coalesce(t.sched_end_ns, t.duration_ns) AS end_ns, \
         CAST({from_ns} AS BIGINT) AS from_ns, CAST({to_ns} AS BIGINT) AS to_ns FROM trace t WHERE \
         t.trace_id = {id})"
    )
}

/// What every thread did.
fn states(lake: &Lake, part: &Part, ids: &Ids, writer: &mut Writer<'_>) -> Result<(), Error> {
    let Part { id, from_ns, .. } = part;
    let used = format!(
        "SELECT c.new_stack_id FROM cswitch c WHERE c.trace_id = {id} AND c.ts_ns >= {from_ns}"
    );
    let stacks = frames_of(lake, part, &used)?;
    let mut named: BTreeSet<i64> = BTreeSet::new();
    for row in rows(lake, &states_sql(part))?.iter() {
        let Some(key) = row.int("thread_key") else { continue };
        let Some((pid, tid)) = ids.threads.get(&key).copied() else { continue };
        if named.insert(key) {
            name_thread(row, pid, tid, &mut named, ids, writer)?;
        }
        let mut args = Map::new();
        for name in ["cpu", "priority", "rank", "wait_reason"] {
            let value = row.json(name);
            if !value.is_null() {
                args.insert(name.into(), value);
            }
        }
        if let Some(frames) = row.int("stack_id").and_then(|id| stacks.get(&id)) {
            let frames: Vec<&str> = frames.iter().take(FRAMES_MAX).map(String::as_str).collect();
            args.insert("waited in".into(), frames.join(" < ").into());
        }
        let event = object(json!({
            "ph": "X", "cat": "state", "pid": pid, "tid": tid,
            "name": row.json("state"), "args": args,
        }));
        writer.event(&event, row.int("from_ts_ns"), row.int("state_ns"))?;
    }
    Ok(())
}

/// Names a thread, and its process when it is the first of it.
fn name_thread(
    row: Row<'_>,
    pid: i64,
    tid: i64,
    named: &mut BTreeSet<i64>,
    ids: &Ids,
    writer: &mut Writer<'_>,
) -> Result<(), Error> {
    let process = row.int("process_key");
    let name = process.and_then(|key| ids.names.get(&key)).map_or("?", String::as_str);
    // Keys of processes are kept apart from those of threads by their sign.
    if process.is_none_or(|key| named.insert(-1 - key)) {
        writer.name("process_name", pid, None, name)?;
    }
    let thread = row.text("thread_name").unwrap_or_else(|| name.to_owned());
    writer.name("thread_name", pid, Some(tid), &thread)
}

fn states_sql(part: &Part) -> String {
    let Part { id, from_ns: from, to_ns: to, .. } = part;
    format!(
        "{}, state AS (
    SELECT r.thread_key, 'running' AS state, r.from_ts_ns AS from_ns, r.to_ts_ns AS to_ns, r.cpu,
        r.priority, r.rank, NULL AS wait_reason, NULL AS stack_id
    FROM runs_of('chosen') r
    WHERE r.trace_id = {id} AND NOT r.idle
    UNION ALL
    SELECT c.new_thread_key, 'ready', c.ts_ns - c.ready_ns, c.ts_ns, NULL,
        coalesce(c.prev_priority, c.new_priority), c.new_rank_before, NULL, NULL
    FROM cswitch c
    WHERE c.trace_id = {id} AND c.new_tid <> 0 AND c.ready_ns > 0
        AND c.ts_ns - c.ready_ns < {to} AND c.ts_ns > {from}
    UNION ALL
    SELECT c.new_thread_key, 'waiting', c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns, NULL,
        c.prev_priority, c.new_rank_before, wait_reason_name(c.prev_wait_reason), c.new_stack_id
    FROM cswitch c
    WHERE c.trace_id = {id} AND c.new_tid <> 0 AND c.since_last_ns > c.ready_ns
        AND c.ts_ns - c.since_last_ns < {to} AND c.ts_ns - c.ready_ns > {from}
    UNION ALL
    SELECT e.thread_key, e.state, e.since_ts_ns, k.end_ns, NULL, e.prev_priority, e.rank,
        CASE WHEN e.state = 'waiting' THEN wait_reason_name(e.wait_reason) END, NULL
    FROM thread_end_state e
    JOIN chosen k ON k.trace_id = e.trace_id
    JOIN thread h ON h.trace_id = {id} AND h.thread_key = e.thread_key
    WHERE e.trace_id = {id} AND e.since_ts_ns < {to} AND k.end_ns > {from} AND e.state <> 'running'
        AND e.since_ts_ns < k.end_ns AND (e.state = 'ready' OR h.end_ts_ns IS NULL)
)
SELECT s.thread_key, h.process_key, h.name AS thread_name, greatest(s.from_ns, {from}) AS
    from_ts_ns, least(s.to_ns, {to}) - greatest(s.from_ns, {from}) AS state_ns, s.state, s.cpu,
    s.priority, s.rank, s.wait_reason, s.stack_id
FROM state s
JOIN thread h ON h.trace_id = {id} AND h.thread_key = s.thread_key AND h.tid <> 0
ORDER BY s.thread_key, 4, 6",
        chosen(*id, *from, *to)
    )
}

/// Arrows from the thread that woke another to where that one ran. A DPC wakes for nobody.
fn arrows(lake: &Lake, part: &Part, ids: &Ids, writer: &mut Writer<'_>) -> Result<(), Error> {
    let Part { id, from_ns, to_ns, .. } = part;
    let sql = format!(
        "SELECT c.readying_thread_key, c.new_thread_key, CASE WHEN c.since_last_ns > c.ready_ns OR \
         c.last_ready_ts_ns IS NULL THEN c.ts_ns - c.ready_ns ELSE least(c.ts_ns - c.ready_ns, \
         c.last_ready_ts_ns) END AS ready_ts_ns, c.ts_ns FROM cswitch c WHERE c.trace_id = {id} \
         AND c.new_tid <> 0 AND NOT coalesce(c.ready_in_dpc, false) AND c.readying_thread_key IS \
         NOT NULL AND c.ts_ns < {to_ns} AND c.ts_ns - c.ready_ns >= {from_ns} ORDER BY c.ts_ns, \
         c.cpu"
    );
    for (at, row) in rows(lake, &sql)?.iter().enumerate() {
        let thread = |name: &str| row.int(name).and_then(|key| ids.threads.get(&key)).copied();
        let (Some(from), Some(to)) = (thread("readying_thread_key"), thread("new_thread_key"))
        else {
            continue;
        };
        for (phase, (pid, tid), ts) in [("s", from, "ready_ts_ns"), ("f", to, "ts_ns")] {
            let mut event = object(json!({
                "ph": phase, "cat": "wake-up", "name": "wake-up", "id": at, "pid": pid, "tid": tid,
            }));
            if phase == "f" {
                event.insert("bp".into(), "e".into());
            }
            writer.event(&event, row.int(ts), None)?;
        }
    }
    Ok(())
}

/// UI delays stand beside the thread's states, not among them.
fn delays(lake: &Lake, part: &Part, ids: &Ids, writer: &mut Writer<'_>) -> Result<(), Error> {
    let Part { id, from_ns, to_ns, .. } = part;
    let sql = format!(
        "SELECT u.ts_ns, u.ts_ns + coalesce(u.duration_ns, 0) AS to_ts_ns, u.process_key, u.tid, \
         u.window_class, u.kind FROM ui_delay u WHERE u.trace_id = {id} AND u.ts_ns < {to_ns} AND \
         u.ts_ns + coalesce(u.duration_ns, 0) >= {from_ns} ORDER BY u.ts_ns, u.tid"
    );
    for (at, row) in rows(lake, &sql)?.iter().enumerate() {
        let pid = row.int("process_key").and_then(|key| ids.processes.get(&key)).copied();
        for (phase, ts) in [("b", "ts_ns"), ("e", "to_ts_ns")] {
            let event = object(json!({
                "ph": phase, "cat": "ui delay", "id": format!("ui-{at}"), "name": "UI delay",
                "pid": pid.unwrap_or(REUSED - 2), "tid": row.json("tid"),
                "args": { "kind": row.json("kind"), "window_class": row.json("window_class") },
            }));
            writer.event(&event, row.int(ts), None)?;
        }
    }
    Ok(())
}

fn marks(lake: &Lake, part: &Part, writer: &mut Writer<'_>) -> Result<(), Error> {
    let Part { id, from_ns, to_ns, .. } = part;
    let sql = format!(
        "SELECT m.ts_ns, m.text, m.source FROM mark m WHERE m.trace_id = {id} AND m.ts_ns >= \
         {from_ns} AND m.ts_ns < {to_ns} ORDER BY m.ts_ns, m.text"
    );
    for row in rows(lake, &sql)?.iter() {
        let event = object(json!({
            "ph": "i", "s": "g", "cat": "mark", "pid": CPUS, "tid": 0, "name": row.json("text"),
            "args": { "source": row.json("source") },
        }));
        writer.event(&event, row.int("ts_ns"), None)?;
    }
    Ok(())
}

/// Settings hold until they change, so the last one before the window counts at its start.
fn counters(lake: &Lake, part: &Part, writer: &mut Writer<'_>) -> Result<(), Error> {
    let Part { id, from_ns, to_ns, .. } = part;
    let settings = format!(
        "SELECT greatest(s.ts_ns, {from_ns}) AS ts_ns, coalesce(s.alias, s.name, s.setting_guid) || \
         coalesce(' class ' || s.efficiency_class, '') || ' (' || s.source || coalesce(' ' || \
         s.scheme, '') || ')' AS counter, s.value FROM power_setting s WHERE s.trace_id = {id} AND \
         s.value IS NOT NULL AND s.ts_ns < {to_ns} QUALIFY s.ts_ns >= {from_ns} OR row_number() \
         OVER (PARTITION BY s.source, s.scheme_guid, s.setting_guid, s.efficiency_class, s.ts_ns < \
         {from_ns} ORDER BY s.ts_ns DESC) = 1 ORDER BY 2, 1"
    );
    let frequencies = format!(
        "SELECT f.ts_ns, 'MHz of CPU ' || f.cpu || ' (' || f.kind || ')' AS counter, f.mhz AS value \
         FROM cpu_frequency f WHERE f.trace_id = {id} AND f.ts_ns >= {from_ns} AND f.ts_ns < \
         {to_ns} AND f.mhz IS NOT NULL ORDER BY 2, 1"
    );
    let mut named = false;
    for sql in [settings, frequencies] {
        for row in rows(lake, &sql)?.iter() {
            if !named {
                writer.name("process_name", SETTINGS, None, "Power settings")?;
                named = true;
            }
            let event = object(json!({
                "ph": "C", "pid": SETTINGS, "name": row.json("counter"),
                "args": { "value": row.json("value") },
            }));
            writer.event(&event, row.int("ts_ns"), None)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_keep_nanoseconds() {
        assert_eq!(microseconds(1), "0.001");
        assert_eq!(microseconds(-1_001), "-1.001");
        assert_eq!(microseconds(49_826_500_123), "49826500.123");
    }
}
