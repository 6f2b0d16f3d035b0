-- # CPU time by priority
--
-- At which priorities was the CPU time spent, and by whom?
--
-- Groups the runs by the priority at which the thread was switched in, boosts included. Runs of a
-- replaced thread have no known priority. The process with the most CPU time at each priority is
-- named.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: The priority may change during a run; see `priority_change`.
-- key:     priority
-- measure: cpu_s
-- status:  stable
CREATE OR REPLACE MACRO cpu_by_priority(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.*, seconds_ns(from_s) AS from_ns, seconds_ns(to_s) AS to_ns
    FROM selected_traces(trace) s
),
by_process AS (
    SELECT
        r.trace_id, r.priority, r.process_key, count(*) AS runs,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns
    FROM runs_of('chosen') r
    WHERE NOT r.idle
    GROUP BY r.trace_id, r.priority, r.process_key
),
named AS (
    SELECT b.*, p.name
    FROM by_process b
    LEFT JOIN processes_of('chosen') p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
    WHERE glob_matches(p.name, process)
),
by_priority AS (
    SELECT
        n.trace_id, n.priority, CAST(sum(n.runs) AS BIGINT) AS runs,
        CAST(sum(n.cpu_ns) AS BIGINT) AS cpu_ns, count(*) AS processes,
        arg_max(n.name, {'ns': n.cpu_ns, 'first': -n.process_key}) AS top_process,
        max(n.cpu_ns) AS top_ns
    FROM named n
    GROUP BY n.trace_id, n.priority
)
SELECT
    t.trace,                              -- Name of the trace.
    y.priority,                           -- Priority at switch-in; NULL: unknown.
    y.cpu_ns / 1e9 AS cpu_s,              -- CPU time in seconds.
    y.cpu_ns / nullif(sum(y.cpu_ns) OVER (PARTITION BY y.trace_id), 0) AS share, -- Of the CPU time
    -- listed for the trace.
    y.runs,                               -- Runs.
    y.processes,                          -- Processes.
    y.top_process,                        -- The process with the most CPU time at this priority.
    y.top_ns / 1e9 AS top_cpu_s,          -- Its CPU time.
    y.trace_id                            -- Trace.
FROM by_priority y
JOIN chosen t ON t.trace_id = y.trace_id
ORDER BY 1, y.trace_id, 2 NULLS LAST;
