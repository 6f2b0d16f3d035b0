//! What holds in every lake, whatever was recorded: checks in SQL, each of which counts its violations. Called by
//! `etwas verify`, and by the tests for every scenario and recording.

use crate::error::Error;
use crate::run::{Answer, Lake, Target};
use crate::value::plain;

/// What holds in every lake: each statement counts its violations.
static CHECKS: &[(&str, &str)] = &[
    (
        "runs tile a CPU's time without overlap",
        "SELECT count(*) FROM (SELECT c.ts_ns, c.run_ns,
            lead(c.ts_ns) OVER (PARTITION BY c.trace_id, c.cpu ORDER BY c.ts_ns) AS next_ts_ns
        FROM cswitch AS c) AS r WHERE r.run_ns IS NOT NULL AND r.ts_ns + r.run_ns <> r.next_ts_ns",
    ),
    (
        "since_last is wait and ready",
        "SELECT count(*) FROM cswitch AS c WHERE c.since_last_ns <> c.wait_ns + c.ready_ns",
    ),
    (
        "no negative time",
        "SELECT count(*) FROM cswitch AS c WHERE c.run_ns < 0 OR c.since_last_ns < 0
            OR c.ready_ns < 0 OR c.wait_ns < 0",
    ),
    (
        "a switch's old thread is the one that the run before it names",
        "SELECT count(*) FROM (SELECT c.old_thread_key,
            lag(c.new_thread_key) OVER w AS before_key, lag(c.run_ns) OVER w AS before_run_ns
        FROM cswitch AS c WINDOW w AS (PARTITION BY c.trace_id, c.cpu ORDER BY c.ts_ns)) AS r
        WHERE r.before_run_ns IS NOT NULL AND r.before_key <> r.old_thread_key",
    ),
    (
        "the idle thread never waits",
        "SELECT count(*) FROM cswitch AS c WHERE c.new_tid = 0
            AND (c.since_last_ns IS NOT NULL OR c.ready_ns IS NOT NULL)",
    ),
    (
        "records are stored, known, unknown or malformed",
        "SELECT count(*) FROM (SELECT t.trace_id FROM trace AS t
            LEFT JOIN event_census AS c ON c.trace_id = t.trace_id
        GROUP BY t.trace_id, t.event_count HAVING coalesce(sum(c.events), 0) <> t.event_count)",
    ),
    (
        "rows belong to a trace",
        "SELECT count(*) FROM (SELECT c.trace_id FROM cswitch AS c UNION ALL SELECT h.trace_id FROM thread AS h
            UNION ALL SELECT e.trace_id FROM event_census AS e) AS r ANTI JOIN trace AS t ON t.trace_id = r.trace_id",
    ),
    (
        "threads of switches exist",
        "SELECT count(*) FROM cswitch AS c ANTI JOIN thread AS h
            ON h.trace_id = c.trace_id AND h.thread_key = c.new_thread_key",
    ),
    (
        "processes of threads exist",
        "SELECT count(*) FROM thread AS h ANTI JOIN process AS p
            ON p.trace_id = h.trace_id AND p.process_key = h.process_key
        WHERE h.process_key IS NOT NULL",
    ),
    (
        "stacks of samples exist",
        "SELECT count(*) FROM sample AS s ANTI JOIN stack AS k
            ON k.trace_id = s.trace_id AND k.stack_id = s.stack_id WHERE s.stack_id IS NOT NULL",
    ),
    (
        "frames of stacks exist",
        "SELECT count(*) FROM (SELECT s.trace_id, unnest(s.frame_ids) AS frame_id FROM stack AS s) AS u
            ANTI JOIN frame AS f ON f.trace_id = u.trace_id AND f.frame_id = u.frame_id",
    ),
    (
        "a frame lies in its image",
        "SELECT count(*) FROM frame AS f JOIN image AS i
            ON i.trace_id = f.trace_id AND i.image_key = f.image_key
        WHERE f.rva < 0 OR f.rva >= i.size OR f.address - i.base <> f.rva",
    ),
    (
        "keys are unique",
        "SELECT count(*) - count(DISTINCT (h.trace_id, h.thread_key)) FROM thread AS h",
    ),
    (
        "the run time of a thread is the sum of its switches",
        "SELECT count(*) FROM (SELECT r.trace_id, r.thread_key, sum(r.to_ts_ns - r.from_ts_ns) AS ns
            FROM runs_in() AS r WHERE NOT r.open GROUP BY ALL) AS a
        FULL JOIN (SELECT c.trace_id, c.new_thread_key AS thread_key, sum(c.run_ns) AS ns
            FROM cswitch AS c WHERE c.run_ns > 0 GROUP BY ALL) AS b
            ON a.trace_id = b.trace_id AND a.thread_key = b.thread_key
        WHERE a.ns IS DISTINCT FROM b.ns",
    ),
    (
        "a ready event is never after the switch that it explains",
        "SELECT count(*) FROM cswitch AS c ANTI JOIN ready AS r
            ON r.trace_id = c.trace_id AND r.thread_key = c.new_thread_key
                AND r.ts_ns = c.last_ready_ts_ns AND r.ts_ns <= c.ts_ns
        WHERE c.last_ready_ts_ns IS NOT NULL",
    ),
    (
        "no process ends before it starts",
        "SELECT count(*) FROM process AS p WHERE p.end_ts_ns < p.start_ts_ns",
    ),
];

/// What a lake breaks, a line each.
pub fn verify(lake: &Lake) -> Result<Vec<String>, Error> {
    let counts: Vec<String> = CHECKS.iter().map(|(_, sql)| format!("({sql})")).collect();
    let mut answer = Answer::default();
    lake.sql(&format!("SELECT {}", counts.join(",\n")), None, Target::Sink(&mut answer))?;
    let counts =
        answer.rows.first().map(|row| row.iter().map(plain).collect()).unwrap_or_else(Vec::new);
    let broken = CHECKS.iter().zip(&counts).filter(|(_, count)| *count != "0");
    Ok(broken
        .map(|((title, _), count)| format!("does not hold: {title} ({count} times)"))
        .collect())
}
