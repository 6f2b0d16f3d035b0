-- # Stretches of focus
--
-- One row per stretch in which one process had the input focus. Changes of the focused process are
-- used where a trace has them, else gains and losses of focus.
CREATE OR REPLACE MACRO focus_intervals(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, greatest(s.end_ns, t.duration_ns) AS end_ns
    FROM selected_traces(trace) s
    JOIN trace t ON t.trace_id = s.trace_id
),
event AS (
    SELECT
        f.trace_id, f.ts_ns, f.kind,
        CASE WHEN f.kind <> 'lost' THEN f.process_key END AS process_key,
        CASE WHEN f.kind <> 'lost' THEN f.pid END AS pid,
        max(CASE WHEN f.kind = 'process' THEN 1 ELSE 0 END) OVER (PARTITION BY f.trace_id) AS exact
    FROM focus f
    WHERE f.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND f.kind IN ('process', 'gained', 'lost')
),
used AS (
    SELECT
        e.*, lag(e.pid) OVER by_time AS pid_before, lag(e.process_key) OVER by_time AS key_before,
        row_number() OVER by_time AS number
    FROM event e
    WHERE (e.exact = 1 AND e.kind = 'process') OR (e.exact = 0 AND e.kind IN ('gained', 'lost'))
    WINDOW by_time AS (PARTITION BY e.trace_id ORDER BY e.ts_ns, e.kind DESC, e.pid)
),
changed AS (
    SELECT
        u.*, lead(u.ts_ns) OVER (PARTITION BY u.trace_id ORDER BY u.ts_ns, u.number) AS next_ts_ns
    FROM used u
    WHERE u.number = 1 OR u.pid IS DISTINCT FROM u.pid_before
        OR u.process_key IS DISTINCT FROM u.key_before
)
SELECT
    c.trace_id,                           -- Trace.
    c.process_key,                        -- Process; NULL: unknown.
    c.pid,                                -- Its process id.
    c.ts_ns AS from_ts_ns,                -- When it got the focus.
    greatest(c.ts_ns, coalesce(c.next_ts_ns, k.end_ns)) AS to_ts_ns -- When it lost it.
FROM changed c
JOIN chosen k ON k.trace_id = c.trace_id
WHERE c.pid IS NOT NULL;
