-- # Stretches in which processes were frozen
--
-- From each freeze to the thaw that follows; one that no thaw follows lasts to the end of the
-- record.
CREATE OR REPLACE MACRO frozen_intervals(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.end_ns FROM selected_traces(trace) s
),
ordered AS (
    SELECT
        f.trace_id, f.process_key, f.pid, f.state, f.ts_ns, f.by_process_key,
        lead(f.ts_ns) OVER (
            PARTITION BY f.trace_id, f.pid, f.process_key ORDER BY f.ts_ns, f.state DESC
        ) AS next_ts_ns
    FROM process_freeze f
    WHERE f.trace_id IN (SELECT s.trace_id FROM chosen s)
)
SELECT
    o.trace_id,                           -- Trace.
    o.process_key,                        -- Process; NULL: unknown.
    o.pid,                                -- Its process id.
    o.ts_ns AS from_ts_ns,                -- The freeze.
    greatest(o.ts_ns, coalesce(o.next_ts_ns, s.end_ns)) AS to_ts_ns, -- The next event for it, or
    -- the end.
    o.next_ts_ns IS NULL AS open,         -- Whether nothing followed.
    o.by_process_key                      -- Process that froze it.
FROM ordered o
JOIN chosen s ON s.trace_id = o.trace_id
WHERE o.state = 'frozen';
