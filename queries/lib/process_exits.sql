-- # Exits of processes
--
-- From where an exit begins (the Terminate event, else the first thread end after which no thread
-- of the process starts) to the end of the process.
CREATE OR REPLACE MACRO process_exits(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id FROM selected_traces(trace) s
),
last_start AS (
    SELECT h.trace_id, h.process_key, max(h.start_ts_ns) AS ts_ns
    FROM thread h
    WHERE h.trace_id IN (SELECT k.trace_id FROM chosen k)
    GROUP BY h.trace_id, h.process_key
),
first_end AS (
    SELECT h.trace_id, h.process_key, min(h.end_ts_ns) AS ts_ns
    FROM thread h
    JOIN last_start l ON l.trace_id = h.trace_id AND l.process_key = h.process_key
    WHERE h.end_ts_ns IS NOT NULL AND (l.ts_ns IS NULL OR h.end_ts_ns >= l.ts_ns)
    GROUP BY h.trace_id, h.process_key
)
SELECT
    p.trace_id,                           -- Trace.
    p.process_key,                        -- Process.
    p.name AS process,                    -- Its image name.
    p.pid,                                -- Its id.
    least(coalesce(p.terminate_ts_ns, f.ts_ns, p.end_ts_ns), p.end_ts_ns) AS from_ts_ns, -- The exit
    -- begins.
    p.end_ts_ns AS to_ts_ns               -- The process has ended.
FROM process p
LEFT JOIN first_end f ON f.trace_id = p.trace_id AND f.process_key = p.process_key
WHERE p.trace_id IN (SELECT k.trace_id FROM chosen k)
    AND p.end_ts_ns IS NOT NULL
    AND coalesce(p.pid, -1) <> 0
    AND glob_matches(p.name, process);
