//! The figures of a report: each is one SQL statement, which the page shows, and its rows packed for
//! drawing. Times are nanoseconds since the start of the trace, exact.

use std::collections::BTreeMap;

use etwas_queries::{Error, Lake, catalog};
use serde_json::{Value as Json, json};

use crate::ask::{Row, Rows, literal, rows, seconds};

/// Buckets of a chart over time.
const BUCKETS: i64 = 200;

/// Processes or priorities told apart in a chart over time.
const SERIES_MAX: usize = 8;

/// Most runs on the CPUs of one figure, and most states on its threads, that are drawn one by one.
/// Where there are more, those shorter than a slot are added up by slot.
const RUNS_MAX: usize = 1500;
const STATES_MAX: usize = 1000;
const SLOTS: i64 = 300;

/// Most processes of a tree and of a placement strip.
const TREE_MAX: usize = 250;
const PLACED_MAX: usize = 12;

/// Chains of the longest waits, per trace.
const WAITS_MAX: usize = 3;

/// Processes in the matrix of experiments.
const MEASURED_MAX: usize = 6;

/// Most settings times columns of the table of power settings.
const POWER_COLUMNS_MAX: usize = 40;

/// A trace as figures need it.
pub struct Trace {
    /// Its id.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Logical CPUs.
    pub cpus: Option<i64>,
    /// End of the scheduling record.
    pub end_ns: i64,
    /// Names of its tags.
    pub tags: Option<Vec<String>>,
}

/// A stretch of time.
#[derive(Clone, Copy)]
pub struct Window {
    /// Start.
    pub from_ns: i64,
    /// End.
    pub to_ns: i64,
}

impl Window {
    /// The window with something of what was before and after it.
    fn padded(self, end_ns: i64) -> Window {
        let pad = ((self.to_ns - self.from_ns) / 10).max(1_000_000);
        let from_ns = self.from_ns.saturating_sub(pad).max(0);
        let to_ns = self.to_ns.saturating_add(pad).min(end_ns.max(self.to_ns));
        Window { from_ns, to_ns: to_ns.max(from_ns + 1) }
    }
}

/// How much data a report may carry.
pub struct Budget {
    bytes: usize,
}

impl Default for Budget {
    /// With overview and findings of hundreds of traces, the file stays below 10 MB.
    fn default() -> Budget {
        Budget { bytes: 6_000_000 }
    }
}

/// What is shown across traces.
pub struct Across {
    /// CPU time per trace and process, for the matrix.
    pub experiments: Json,
    /// Settings that differ.
    pub power: Json,
}

/// Makes figures until the budget is used up.
pub struct Figures<'a> {
    lake: &'a Lake,
    budget: Budget,
    made: Vec<Json>,
    /// Figures of windows, so that two findings about one thing share them.
    lanes_made: BTreeMap<(usize, Option<i64>, i64, i64), Option<usize>>,
    left_out: usize,
}

impl<'a> Figures<'a> {
    /// No figures yet.
    pub fn new(lake: &'a Lake, budget: Budget) -> Figures<'a> {
        Figures { lake, budget, made: Vec::new(), lanes_made: BTreeMap::new(), left_out: 0 }
    }

    /// Number of figures made.
    pub fn len(&self) -> usize {
        self.made.len()
    }

    /// The figures, and how many were left out for want of room.
    pub fn finish(self) -> (Vec<Json>, usize) {
        (self.made, self.left_out)
    }

    fn push(&mut self, figure: Json) -> Option<usize> {
        let bytes = figure.to_string().len();
        if bytes > self.budget.bytes {
            self.left_out += 1;
            return None;
        }
        self.budget.bytes -= bytes;
        self.made.push(figure);
        Some(self.made.len() - 1)
    }

    /// CPU use over time, by process and by priority.
    pub fn cpu(&mut self, place: usize, trace: &Trace) -> Result<Option<usize>, Error> {
        if trace.end_ns <= 0 {
            return Ok(None);
        }
        let bucket_ns = (trace.end_ns + BUCKETS - 1) / BUCKETS;
        let by_process = self.stacked(trace, bucket_ns, "p.name")?;
        let Some((process_sql, process)) = by_process else { return Ok(None) };
        let by_priority = self.stacked(trace, bucket_ns, "CAST(r.priority AS VARCHAR)")?;
        let Some((priority_sql, priority)) = by_priority else { return Ok(None) };
        let gaps = format!(
            "SELECT g.from_ts_ns, g.to_ts_ns FROM gap g WHERE g.trace_id = {} ORDER BY 1",
            trace.id
        );
        let gaps: Vec<Json> = rows(self.lake, &gaps)?
            .iter()
            .map(|row| json!([row.json("from_ts_ns"), row.json("to_ts_ns")]))
            .collect();
        Ok(self.push(json!({
            "kind": "cpu", "trace": place, "bucket_ns": bucket_ns, "end_ns": trace.end_ns,
            "cpus": trace.cpus, "gaps": gaps,
            "process": process, "process_sql": process_sql,
            "priority": priority, "priority_sql": priority_sql,
        })))
    }

    /// Busy nanoseconds per bucket and series; nothing where nothing ran.
    fn stacked(
        &self,
        trace: &Trace,
        bucket_ns: i64,
        by: &str,
    ) -> Result<Option<(String, Json)>, Error> {
        let chosen = chosen(trace, Window { from_ns: 0, to_ns: trace.end_ns });
        let sql = format!(
            "{chosen},\nrun AS (\n    SELECT coalesce({by}, '?') AS series, r.from_ts_ns, \
             r.to_ts_ns\n    FROM runs_of('chosen') r\n    LEFT JOIN processes_of('chosen') p ON \
             p.trace_id = r.trace_id AND p.process_key = r.process_key\n    WHERE NOT r.idle AND \
             r.trace_id = {}\n),\nshown AS (\n    SELECT n.series, row_number() OVER (ORDER BY \
             sum(n.to_ts_ns - n.from_ts_ns) DESC, n.series) AS place\n    FROM run n\n    GROUP BY \
             n.series\n),\npart AS (\n    SELECT CASE WHEN s.place <= {SERIES_MAX} THEN s.place END \
             AS place, CASE WHEN s.place <= {SERIES_MAX} THEN n.series END AS series, \
             n.from_ts_ns, n.to_ts_ns, unnest(range(n.from_ts_ns // {bucket_ns}, (n.to_ts_ns - 1) \
             // {bucket_ns} + 1)) AS bucket\n    FROM run n\n    JOIN shown s ON s.series = \
             n.series\n)\nSELECT a.place, a.series, a.bucket, CAST(sum(least(a.to_ts_ns, (a.bucket \
             + 1) * {bucket_ns}) - greatest(a.from_ts_ns, a.bucket * {bucket_ns})) AS BIGINT) AS \
             busy_ns\nFROM part a\nGROUP BY a.place, a.series, a.bucket\nORDER BY a.place NULLS \
             LAST, a.bucket",
            trace.id
        );
        let found = rows(self.lake, &sql)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut names: Vec<Json> = Vec::new();
        let mut values: Vec<Vec<i64>> = Vec::new();
        let mut last = None;
        for row in found.iter() {
            let place = row.int("place");
            if names.is_empty() || last != Some(place) {
                names.push(row.json("series"));
                values.push(vec![0; usize::try_from(BUCKETS).unwrap_or(0)]);
                last = Some(place);
            }
            let at = row.int("bucket").and_then(|at| usize::try_from(at).ok());
            let slot = at.and_then(|at| values.last_mut()?.get_mut(at));
            if let Some(slot) = slot {
                *slot = row.int("busy_ns").unwrap_or(0);
            }
        }
        Ok(Some((sql, json!({ "names": names, "busy_ns": values }))))
    }

    /// Lifetimes of processes as a tree.
    pub fn tree(&mut self, place: usize, trace: &Trace) -> Result<Option<usize>, Error> {
        let sql = format!(
            "SELECT x.depth, x.process, x.pid, x.start_ts_ns, x.end_ts_ns, x.exit_code, \
             x.command_line\nFROM process_tree(trace := {}) x\nWHERE x.trace_id = {}",
            literal(&trace.name),
            trace.id
        );
        let found = rows(self.lake, &sql)?;
        if found.is_empty() {
            return Ok(None);
        }
        // What lived only a while tells more than what was there all the time.
        let told =
            |row: &Row<'_>| row.int("start_ts_ns").is_some() || row.int("end_ts_ns").is_some();
        let kept: Vec<Row<'_>> = if found.len() > TREE_MAX {
            found.iter().filter(told).take(TREE_MAX).collect()
        } else {
            found.iter().collect()
        };
        let list: Vec<Json> = kept
            .iter()
            .map(|row| {
                let line = row.text("command_line").map(|line| clip(&line, 160));
                json!([
                    row.json("depth"),
                    row.json("process"),
                    row.json("pid"),
                    row.json("start_ts_ns"),
                    row.json("end_ts_ns"),
                    row.json("exit_code"),
                    line
                ])
            })
            .collect();
        Ok(self.push(json!({
            "kind": "tree", "trace": place, "end_ns": trace.end_ns, "all": found.len(),
            "rows": list, "sql": sql,
        })))
    }

    /// On which CPUs the busiest processes ran.
    pub fn placement(&mut self, place: usize, trace: &Trace) -> Result<Option<usize>, Error> {
        let cpus = format!(
            "SELECT c.cpu, c.core_type, c.efficiency_class FROM cpu c WHERE c.trace_id = {} ORDER \
             BY c.cpu",
            trace.id
        );
        let cpus: Vec<Json> = rows(self.lake, &cpus)?
            .iter()
            .map(|row| {
                json!([row.json("cpu"), row.json("core_type"), row.json("efficiency_class")])
            })
            .collect();
        let chosen = chosen(trace, Window { from_ns: 0, to_ns: trace.end_ns });
        let sql = format!(
            "{chosen},\nused AS (\n    SELECT r.process_key, r.cpu, CAST(sum(r.to_ts_ns - \
             r.from_ts_ns) AS BIGINT) AS cpu_ns\n    FROM runs_of('chosen') r\n    WHERE NOT r.idle \
             AND r.trace_id = {}\n    GROUP BY r.process_key, r.cpu\n),\nbusiest AS (\n    SELECT \
             u.process_key, sum(u.cpu_ns) AS all_ns\n    FROM used u\n    GROUP BY \
             u.process_key\n    ORDER BY 2 DESC, 1\n    LIMIT {PLACED_MAX}\n)\nSELECT \
             u.process_key, p.name AS process, p.pid, u.cpu, u.cpu_ns\nFROM used u\nJOIN busiest b \
             ON b.process_key = u.process_key\nJOIN processes_of('chosen') p ON p.process_key = \
             u.process_key\nORDER BY b.all_ns DESC, u.process_key, u.cpu",
            trace.id
        );
        let found = rows(self.lake, &sql)?;
        if found.is_empty() {
            return Ok(None);
        }
        let mut list: Vec<(Option<i64>, Json, Json, Vec<Json>)> = Vec::new();
        for row in found.iter() {
            let key = row.int("process_key");
            if list.last().is_none_or(|(last, ..)| *last != key) {
                list.push((key, row.json("process"), row.json("pid"), Vec::new()));
            }
            if let Some((.., used)) = list.last_mut() {
                used.push(json!([row.json("cpu"), row.json("cpu_ns")]));
            }
        }
        let list: Vec<Json> =
            list.into_iter().map(|(_, name, pid, used)| json!([name, pid, used])).collect();
        Ok(self.push(json!({
            "kind": "placement", "trace": place, "cpus": cpus, "end_ns": trace.end_ns,
            "rows": list, "sql": sql,
        })))
    }

    /// How many processes were exiting, and how many CPUs ran them.
    pub fn exits(&mut self, place: usize, trace: &Trace) -> Result<Option<usize>, Error> {
        let bucket_ms = (trace.end_ns as f64 / 1e6 / BUCKETS as f64).max(1.0);
        let sql = format!(
            "SELECT x.from_ts_ns, x.to_ts_ns, x.exiting_processes, x.cpus_exiting, \
             x.cpus_idle\nFROM exit_concurrency(bucket_ms := {bucket_ms:.3}, trace := {}) x\nWHERE \
             x.trace_id = {}",
            literal(&trace.name),
            trace.id
        );
        let found = rows(self.lake, &sql)?;
        let most = found.iter().filter_map(|row| row.int("exiting_processes")).max();
        if most.is_none_or(|most| most < 3) {
            return Ok(None);
        }
        let list: Vec<Json> = found
            .iter()
            .map(|row| {
                json!([
                    row.json("from_ts_ns"),
                    row.json("to_ts_ns"),
                    row.json("exiting_processes"),
                    row.json("cpus_exiting"),
                    row.json("cpus_idle")
                ])
            })
            .collect();
        Ok(self.push(json!({
            "kind": "exits", "trace": place, "cpus": trace.cpus, "end_ns": trace.end_ns,
            "rows": list, "sql": sql,
        })))
    }

    /// Chains behind the longest waits that somebody ended, each of another process.
    pub fn longest_waits(&mut self, place: usize, trace: &Trace) -> Result<Vec<usize>, Error> {
        let sql = format!(
            "SELECT w.process, w.tid, w.ts_ns\nFROM long_waits(trace := {}) w\nWHERE w.trace_id = \
             {} AND w.ts_ns IS NOT NULL AND w.readying_tid IS NOT NULL AND \
             w.frame IS NOT NULL\nQUALIFY row_number() OVER (PARTITION BY w.process ORDER BY \
             w.wait_ms DESC, w.ts_ns, w.tid) = 1\nORDER BY w.wait_ms DESC, w.ts_ns, w.tid\nLIMIT \
             {WAITS_MAX}",
            literal(&trace.name),
            trace.id
        );
        let mut out = Vec::new();
        for row in rows(self.lake, &sql)?.iter() {
            let (Some(tid), Some(at)) = (row.int("tid"), row.int("ts_ns")) else { continue };
            // The rest of a chain that is shown already tells nothing new.
            let hop = |made: &usize| {
                let hops = self.made.get(*made).and_then(|figure| figure["rows"].as_array());
                hops.is_some_and(|hops| hops.iter().any(|hop| hop[3] == tid))
            };
            if !out.iter().any(hop) {
                out.extend(self.chain(place, trace, tid, at)?);
            }
        }
        Ok(out)
    }

    /// What shows one finding.
    pub fn finding(
        &mut self,
        place: usize,
        trace: &Trace,
        question: &str,
        tid: Option<i64>,
        window: Window,
    ) -> Result<Vec<usize>, Error> {
        let mut out = Vec::new();
        let key = (place, tid, window.from_ns, window.to_ns);
        let lanes = match self.lanes_made.get(&key) {
            Some(made) => *made,
            None => self.lanes(place, trace, tid, window)?,
        };
        self.lanes_made.insert(key, lanes);
        out.extend(lanes);
        if (tid.is_some() || question == "convoys")
            && let Some((tid, at)) = self.longest_wait_in(trace, tid, window)?
        {
            out.extend(self.chain(place, trace, tid, at)?);
        }
        Ok(out)
    }

    /// The switch-in that ended the longest absence in a window.
    fn longest_wait_in(
        &self,
        trace: &Trace,
        tid: Option<i64>,
        window: Window,
    ) -> Result<Option<(i64, i64)>, Error> {
        let thread = tid.map_or(String::new(), |tid| format!(" AND c.new_tid = {tid}"));
        let sql = format!(
            "SELECT c.new_tid, c.ts_ns FROM cswitch c WHERE c.trace_id = {} AND c.ts_ns BETWEEN {} \
             AND {} AND c.new_tid <> 0 AND c.readying_thread_key IS NOT NULL{thread} ORDER BY \
             least(c.since_last_ns, c.ts_ns - {}) DESC NULLS LAST, c.ts_ns LIMIT 1",
            trace.id,
            window.from_ns,
            window.to_ns.saturating_add(1_000_000),
            window.from_ns
        );
        let found = rows(self.lake, &sql)?;
        Ok(found.first().and_then(|row| Some((row.int("new_tid")?, row.int("ts_ns")?))))
    }

    /// A chain of waits.
    fn chain(
        &mut self,
        place: usize,
        trace: &Trace,
        tid: i64,
        at_ns: i64,
    ) -> Result<Option<usize>, Error> {
        let sql = format!(
            "FROM wait_chain({tid}, {}, trace := {}) w\nWHERE w.trace_id = {}",
            seconds(at_ns),
            literal(&trace.name),
            trace.id
        );
        let found = rows(self.lake, &sql)?;
        if found.len() < 2 {
            return Ok(None);
        }
        let list: Vec<Json> = found
            .iter()
            .map(|row| {
                let names = ["hop", "process", "pid", "tid", "ts_ns", "waited_ms", "hold_us"];
                let mut list: Vec<Json> = names.iter().map(|name| row.json(name)).collect();
                list.push(row.json("folded"));
                list.push(row.text("frame").map(|text| clip(&text, 300)).into());
                list.push(row.text("wait_frame").map(|text| clip(&text, 300)).into());
                Json::from(list)
            })
            .collect();
        Ok(self.push(json!({ "kind": "chain", "trace": place, "rows": list, "sql": sql })))
    }

    /// CPUs and threads around a finding.
    fn lanes(
        &mut self,
        place: usize,
        trace: &Trace,
        tid: Option<i64>,
        mark: Window,
    ) -> Result<Option<usize>, Error> {
        let window = mark.padded(trace.end_ns);
        let runs_sql = runs_sql(trace, window);
        let runs = rows(self.lake, &runs_sql)?;
        if runs.is_empty() {
            return Ok(None);
        }
        let mut names = Names::default();
        let cpus = by_lane(&runs, "cpu", |row| {
            vec![
                (row.int("from_ts_ns").unwrap_or(0) - window.from_ns).into(),
                row.json("span_ns"),
                names.of(row.text("process")).into(),
                row.json("tid"),
                row.json("priority"),
                row.json("rank"),
                row.json("packed"),
                row.json("busy_ns"),
            ]
        });
        let first = runs.first();
        let (all, all_ns) =
            first.map_or((0, 0), |r| (r.int("every").unwrap_or(0), r.int("every_ns").unwrap_or(0)));
        let (threads, threads_sql, states) = self.threads(trace, tid, window)?;
        let types = format!(
            "SELECT c.cpu, c.core_type FROM cpu c WHERE c.trace_id = {} ORDER BY 1",
            trace.id
        );
        let types: Vec<Json> = rows(self.lake, &types)?
            .iter()
            .map(|row| json!([row.json("cpu"), row.json("core_type")]))
            .collect();
        Ok(self.push(json!({
            "kind": "lanes", "trace": place,
            "from_ns": window.from_ns, "to_ns": window.to_ns,
            "mark": [mark.from_ns, mark.to_ns],
            "names": names.list, "cpus": cpus, "cpu_count": trace.cpus, "types": types,
            "slot_ns": slot_ns(window), "runs": all, "runs_ns": all_ns, "runs_sql": runs_sql,
            "threads": threads, "states": states, "threads_sql": threads_sql,
        })))
    }

    /// States of the threads that matter in a window: the subject, those that were ready longest,
    /// and those that ran most.
    fn threads(
        &self,
        trace: &Trace,
        tid: Option<i64>,
        window: Window,
    ) -> Result<(Vec<Json>, String, usize), Error> {
        let sql = states_sql(trace, tid, window);
        let found = rows(self.lake, &sql)?;
        let mut out: Vec<Json> = Vec::new();
        let mut lane: Option<i64> = None;
        let mut segments: Vec<Json> = Vec::new();
        let mut head = Json::Null;
        let mut states = 0;
        for row in found.iter() {
            states = row.int("every").unwrap_or(0);
            if lane != row.int("thread_key") {
                if lane.is_some() {
                    out.push(json!([head, std::mem::take(&mut segments)]));
                }
                lane = row.int("thread_key");
                head = json!([row.json("process"), row.json("pid"), row.json("tid")]);
            }
            for value in [
                (row.int("from_ts_ns").unwrap_or(0) - window.from_ns).into(),
                row.json("span_ns"),
                row.json("state"),
                row.json("cpu"),
                row.json("priority"),
                row.json("rank"),
                row.json("packed"),
                row.json("busy_ns"),
            ] {
                segments.push(value);
            }
        }
        if lane.is_some() {
            out.push(json!([head, segments]));
        }
        Ok((out, sql, usize::try_from(states).unwrap_or(0)))
    }

    /// What is shown across traces.
    pub fn across(
        &mut self,
        traces: &[Trace],
        places: &BTreeMap<i64, usize>,
        pattern: &str,
    ) -> Result<Across, Error> {
        let experiments = self.experiments(traces, places, pattern)?;
        let power = if traces.len() > 1 { self.power(pattern)? } else { Json::Null };
        Ok(Across { experiments, power })
    }

    /// CPU time of the busiest processes per trace, where traces are tagged.
    fn experiments(
        &self,
        traces: &[Trace],
        places: &BTreeMap<i64, usize>,
        pattern: &str,
    ) -> Result<Json, Error> {
        let tagged = traces.iter().filter(|t| t.tags.as_ref().is_some_and(|tags| !tags.is_empty()));
        if tagged.count() < 2 {
            return Ok(Json::Null);
        }
        let sql = format!(
            "WITH placed AS MATERIALIZED (\n    SELECT x.trace_id, x.process, sum(x.cpu_s) AS \
             cpu_s, sum(x.p_cpu_s) AS p_cpu_s, sum(x.e_cpu_s) AS e_cpu_s, max(x.cores_used) AS \
             cores_used\n    FROM core_placement(trace := {pattern}) x\n    GROUP BY x.trace_id, \
             x.process\n)\nSELECT d.*\nFROM placed d\nWHERE d.process IN (\n    SELECT y.process \
             FROM placed y GROUP BY y.process ORDER BY sum(y.cpu_s) DESC, y.process LIMIT \
             {MEASURED_MAX}\n)\nORDER BY d.process, d.trace_id"
        );
        let list: Vec<Json> = rows(self.lake, &sql)?
            .iter()
            .filter_map(|row| {
                let place = places.get(&row.int("trace_id")?)?;
                let measure = |name: &str| {
                    row.number(name).map_or(Json::Null, |x| ((x * 1e6).round() / 1e6).into())
                };
                Some(json!([
                    place,
                    row.json("process"),
                    measure("cpu_s"),
                    measure("p_cpu_s"),
                    measure("e_cpu_s"),
                    row.json("cores_used")
                ]))
            })
            .collect();
        Ok(json!({ "rows": list, "sql": sql }))
    }

    /// Settings that differ, with traces of equal settings in one column.
    fn power(&self, pattern: &str) -> Result<Json, Error> {
        if catalog().question("power_diff").is_none() {
            return Ok(Json::Null);
        }
        let sql = format!("FROM power_diff(trace := {pattern})");
        let found = rows(self.lake, &sql)?;
        // Per trace, the values by setting; `None` in a row is a setting that the trace lacks.
        let mut settings: Vec<[Json; 3]> = Vec::new();
        let mut columns: BTreeMap<String, BTreeMap<usize, (Json, Json)>> = BTreeMap::new();
        for row in found.iter() {
            let name = [row.json("setting"), row.json("efficiency_class"), row.json("scheme")];
            let at = settings.iter().position(|known| *known == name).unwrap_or_else(|| {
                settings.push(name);
                settings.len() - 1
            });
            let values = columns.entry(row.text("trace").unwrap_or_default()).or_default();
            values.insert(at, (row.json("value_text"), row.json("status")));
        }
        let mut groups: Vec<(Vec<String>, Vec<Json>)> = Vec::new();
        for (trace, values) in columns {
            let list: Vec<Json> = (0..settings.len())
                .map(|at| {
                    values.get(&at).map_or(Json::Null, |(text, status)| json!([text, status]))
                })
                .collect();
            match groups.iter_mut().find(|(_, known)| *known == list) {
                Some((names, _)) => names.push(trace),
                None => groups.push((vec![trace], list)),
            }
        }
        let all = groups.len();
        groups.truncate(POWER_COLUMNS_MAX);
        let groups: Vec<Json> =
            groups.into_iter().map(|(traces, values)| json!([traces, values])).collect();
        Ok(json!({ "settings": settings, "groups": groups, "all": all, "sql": sql }))
    }
}

/// Names that stand once, and are named by number after that.
#[derive(Default)]
struct Names {
    list: Vec<Option<String>>,
}

impl Names {
    fn of(&mut self, name: Option<String>) -> usize {
        self.list.iter().position(|known| *known == name).unwrap_or_else(|| {
            self.list.push(name);
            self.list.len() - 1
        })
    }
}

/// Rows that are sorted by lane as one flat list of values per lane.
fn by_lane(rows: &Rows, lane: &str, mut values: impl FnMut(Row<'_>) -> Vec<Json>) -> Vec<Json> {
    let mut out: Vec<(Option<i64>, Vec<Json>)> = Vec::new();
    for row in rows.iter() {
        let key = row.int(lane);
        if out.last().is_none_or(|(last, _)| *last != key) {
            out.push((key, Vec::new()));
        }
        if let Some((_, list)) = out.last_mut() {
            list.extend(values(row));
        }
    }
    out.into_iter().map(|(key, list)| json!([key, list])).collect()
}

/// The beginning of a statement that asks about a window of one trace.
fn chosen(trace: &Trace, window: Window) -> String {
    format!(
        "WITH chosen AS (\n    SELECT t.trace_id, coalesce(t.sched_end_ns, t.duration_ns) AS \
         end_ns, CAST({} AS BIGINT) AS from_ns, CAST({} AS BIGINT) AS to_ns\n    FROM trace t\n    \
         WHERE t.trace_id = {}\n)",
        window.from_ns, window.to_ns, trace.id
    )
}

/// What is shorter than this is drawn together where there is too much of it.
fn slot_ns(window: Window) -> i64 {
    ((window.to_ns - window.from_ns) / SLOTS).max(1)
}

/// The statement behind the lanes of CPUs.
fn runs_sql(trace: &Trace, window: Window) -> String {
    let (from, slot) = (window.from_ns, slot_ns(window));
    format!(
        "{},
run AS (
    SELECT r.cpu, r.process_key, r.pid, r.tid, r.priority, r.rank, r.from_ts_ns, r.to_ts_ns,
        count(*) OVER () AS every,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) OVER () AS BIGINT) AS every_ns
    FROM runs_of('chosen') r
    WHERE NOT r.idle AND r.trace_id = {}
),
placed AS (
    SELECT r.*, CASE WHEN r.every > {RUNS_MAX} AND r.to_ts_ns - r.from_ts_ns < {slot}
        THEN (r.from_ts_ns - {from}) // {slot} END AS slot
    FROM run r
),
packed AS (
    SELECT n.cpu, n.process_key, n.priority, n.rank, n.every, n.every_ns, n.slot,
        CASE WHEN min(n.tid) = max(n.tid) THEN min(n.tid) END AS tid,
        min(n.from_ts_ns) AS from_ts_ns, max(n.to_ts_ns) AS to_ts_ns,
        count(*) AS runs, CAST(sum(n.to_ts_ns - n.from_ts_ns) AS BIGINT) AS busy_ns
    FROM placed n
    GROUP BY n.cpu, n.process_key, n.priority, n.rank, n.every, n.every_ns, n.slot,
        CASE WHEN n.slot IS NULL THEN n.from_ts_ns END
)
SELECT n.cpu, n.from_ts_ns, n.to_ts_ns - n.from_ts_ns AS span_ns, p.name AS process, n.tid,
    n.priority, n.rank, CASE WHEN n.slot IS NULL THEN 0 ELSE n.runs END AS packed, n.busy_ns,
    n.every, n.every_ns
FROM packed n
LEFT JOIN processes_of('chosen') p ON p.process_key = n.process_key
ORDER BY n.cpu, n.from_ts_ns, n.process_key, n.priority, n.rank",
        chosen(trace, window),
        trace.id
    )
}

/// The statement behind the lanes of threads.
fn states_sql(trace: &Trace, tid: Option<i64>, window: Window) -> String {
    let (id, from, to) = (trace.id, window.from_ns, window.to_ns);
    let slot = slot_ns(window);
    let subject = tid.map_or("NULL".into(), |tid| tid.to_string());
    format!(
        "{},
state AS MATERIALIZED (
    SELECT c.new_thread_key AS thread_key, 'running' AS state, c.ts_ns AS from_ns,
        c.ts_ns + c.run_ns AS to_ns, c.cpu, c.new_priority AS priority, c.new_rank AS rank
    FROM cswitch c
    WHERE c.trace_id = {id} AND c.new_tid <> 0 AND c.run_ns > 0
        AND c.ts_ns < {to} AND c.ts_ns + c.run_ns > {from}
    UNION ALL
    SELECT c.new_thread_key, 'ready', c.ts_ns - c.ready_ns, c.ts_ns, NULL,
        coalesce(c.prev_priority, c.new_priority), c.new_rank_before
    FROM cswitch c
    WHERE c.trace_id = {id} AND c.new_tid <> 0 AND c.ready_ns > 0
        AND c.ts_ns - c.ready_ns < {to} AND c.ts_ns > {from}
    UNION ALL
    SELECT c.new_thread_key, 'waiting', c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns, NULL,
        c.prev_priority, c.new_rank_before
    FROM cswitch c
    WHERE c.trace_id = {id} AND c.new_tid <> 0 AND c.since_last_ns > c.ready_ns
        AND c.ts_ns - c.since_last_ns < {to} AND c.ts_ns - c.ready_ns > {from}
    UNION ALL
    SELECT e.thread_key, e.state, e.since_ts_ns, k.end_ns, e.cpu, e.prev_priority, e.rank
    FROM thread_end_state e
    JOIN chosen k ON k.trace_id = e.trace_id
    WHERE e.trace_id = {id} AND e.since_ts_ns < {to} AND k.end_ns > {from}
        AND e.since_ts_ns < k.end_ns
),
clipped AS (
    SELECT s.*, greatest(s.from_ns, {from}) AS from_ts_ns,
        least(s.to_ns, {to}) - greatest(s.from_ns, {from}) AS state_ns
    FROM state s
),
thread_total AS (
    SELECT c.thread_key, any_value(h.tid) AS tid, any_value(h.pid) AS pid,
        any_value(h.process_key) AS process_key,
        coalesce(sum(c.state_ns) FILTER (WHERE c.state = 'ready'), 0) AS ready_ns,
        coalesce(sum(c.state_ns) FILTER (WHERE c.state = 'running'), 0) AS run_ns
    FROM clipped c
    JOIN thread h ON h.trace_id = {id} AND h.thread_key = c.thread_key AND h.tid <> 0
    GROUP BY c.thread_key
),
placed AS (
    SELECT t.*, row_number() OVER (ORDER BY t.ready_ns DESC, t.thread_key) AS by_ready,
        row_number() OVER (ORDER BY t.run_ns DESC, t.thread_key) AS by_run
    FROM thread_total t
),
shown AS (
    SELECT p.*, CASE WHEN p.tid = {subject} THEN 0 WHEN p.by_ready <= 4 AND p.ready_ns > 0 THEN 1
        ELSE 2 END AS sort
    FROM placed p
    WHERE p.tid = {subject} OR (p.by_ready <= 4 AND p.ready_ns > 0) OR p.by_run <= 6
),
counted AS (
    SELECT c.*, s.sort, s.tid, s.pid, s.process_key, s.ready_ns, s.run_ns,
        count(*) OVER () AS every
    FROM clipped c
    JOIN shown s ON s.thread_key = c.thread_key
    WHERE c.state_ns > 0
),
marked AS (
    SELECT c.*, CASE WHEN c.every > {STATES_MAX} AND c.state_ns < {slot}
        THEN (c.from_ts_ns - {from}) // {slot} END AS slot
    FROM counted c
),
packed AS (
    SELECT n.thread_key, n.sort, n.tid, n.pid, n.process_key, n.ready_ns, n.run_ns, n.state,
        n.priority, n.rank, n.every, n.slot,
        CASE WHEN min(n.cpu) = max(n.cpu) THEN min(n.cpu) END AS cpu,
        min(n.from_ts_ns) AS from_ts_ns, max(n.from_ts_ns + n.state_ns) AS to_ts_ns,
        count(*) AS states, CAST(sum(n.state_ns) AS BIGINT) AS busy_ns
    FROM marked n
    GROUP BY n.thread_key, n.sort, n.tid, n.pid, n.process_key, n.ready_ns, n.run_ns, n.state,
        n.priority, n.rank, n.every, n.slot, CASE WHEN n.slot IS NULL THEN n.from_ts_ns END
)
SELECT n.thread_key, p.name AS process, n.pid, n.tid, n.from_ts_ns,
    n.to_ts_ns - n.from_ts_ns AS span_ns, n.state, n.cpu, n.priority, n.rank,
    CASE WHEN n.slot IS NULL THEN 0 ELSE n.states END AS packed, n.busy_ns, n.every
FROM packed n
LEFT JOIN processes_of('chosen') p ON p.process_key = n.process_key
ORDER BY n.sort, CASE WHEN n.sort < 2 THEN n.ready_ns ELSE n.run_ns END DESC, n.thread_key,
    n.from_ts_ns, n.state, n.priority, n.rank",
        chosen(trace, window)
    )
}

/// The beginning of a text that is too long to show.
fn clip(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
