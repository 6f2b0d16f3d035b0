-- # Processes that lived at the same time as another
--
-- Which processes, outside the target's tree, started and ended together with it?
--
-- Compares every process with each process that the target names: it starts within the tolerance of
-- the target's start (both are known), and ends within the tolerance of its end, or neither ends in
-- the trace. The target's ancestors and descendants are left out: strangers that live exactly as
-- long are the ones that work for it without being its children.
--
-- needs:   process
-- source:  "Chasing a hitch" (processes with suspicious timing)
-- caveats: Short-lived processes meet by chance; lower the tolerance.
-- key:     process, parent_process
-- measure: mean duration_ms
-- status:  stable
CREATE OR REPLACE MACRO cotemporal_processes(
    -- Glob on the image name of the target.
    target VARCHAR,
    -- Largest distance of starts, and of ends, in milliseconds.
    tolerance_ms DOUBLE := 250.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH RECURSIVE target_process AS (
    SELECT p.trace_id, p.process_key, p.parent_process_key, p.pid, p.start_ts_ns, p.end_ts_ns
    FROM process p
    WHERE p.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
        AND p.start_ts_ns IS NOT NULL
        AND target IS NOT NULL
        AND glob_matches(p.name, target)
),
-- UNION drops pairs it has seen, so that a cycle of parents ends.
descendant AS (
    SELECT t.trace_id, t.process_key AS target_key, t.process_key FROM target_process t
    UNION
    SELECT d.trace_id, d.target_key, p.process_key
    FROM descendant d
    JOIN process p ON p.trace_id = d.trace_id AND p.parent_process_key = d.process_key
),
ancestor AS (
    SELECT t.trace_id, t.process_key AS target_key, t.parent_process_key AS process_key
    FROM target_process t
    UNION
    SELECT a.trace_id, a.target_key, p.parent_process_key
    FROM ancestor a
    JOIN process p ON p.trace_id = a.trace_id AND p.process_key = a.process_key
    WHERE p.parent_process_key IS NOT NULL
),
tree AS (
    SELECT d.trace_id, d.target_key, d.process_key FROM descendant d
    UNION
    SELECT a.trace_id, a.target_key, a.process_key FROM ancestor a WHERE a.process_key IS NOT NULL
)
SELECT
    s.trace,                              -- Name of the trace.
    t.pid AS target_pid,                  -- Process id of the target.
    p.name AS process,                    -- Image name of the process that lived with it.
    p.pid,                                -- Its process id.
    q.name AS parent_process,             -- Image name of its parent; NULL: unknown.
    (p.start_ts_ns - t.start_ts_ns) / 1000000.0 AS start_diff_ms, -- Its start, after the target's.
    (p.end_ts_ns - t.end_ts_ns) / 1000000.0 AS end_diff_ms, -- Its end, after the target's; NULL:
    -- neither ended.
    (p.end_ts_ns - p.start_ts_ns) / 1000000.0 AS duration_ms, -- How long it lived; NULL: it did not
    -- end.
    p.start_ts_ns,                        -- When it started.
    p.command_line,                       -- Its command line.
    s.trace_id                            -- Trace.
FROM target_process t
JOIN selected_traces(trace) s ON s.trace_id = t.trace_id
JOIN process p
    ON p.trace_id = t.trace_id
    AND abs(p.start_ts_ns - t.start_ts_ns) <= tolerance_ms * 1000000.0
    AND (
        abs(p.end_ts_ns - t.end_ts_ns) <= tolerance_ms * 1000000.0
        OR (p.end_ts_ns IS NULL AND t.end_ts_ns IS NULL)
    )
LEFT JOIN tree r
    ON r.trace_id = t.trace_id AND r.target_key = t.process_key AND r.process_key = p.process_key
LEFT JOIN process q ON q.trace_id = p.trace_id AND q.process_key = p.parent_process_key
WHERE r.process_key IS NULL
ORDER BY 1, s.trace_id, t.start_ts_ns, 2, p.start_ts_ns, 4, p.process_key, t.process_key;
