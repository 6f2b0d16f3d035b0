-- # Where the work ran, with and without focus
--
-- Did a process run on other cores while it had the input focus?
--
-- Splits the runs of each process that ever had the focus into those while it had it and the
-- others, and adds up each by the kind of core.
--
-- needs:   cswitch, cpu, focus
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Kinds of cores are known only where Kernel-Processor-Power was recorded; else they are
--          NULL.
-- key:     process, focused
-- measure: mean p_share
-- status:  stable
CREATE OR REPLACE MACRO placement_by_focus(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH spell AS MATERIALIZED (
    SELECT f.* FROM focus_intervals(trace := trace) f WHERE f.process_key IS NOT NULL
),
run AS MATERIALIZED (
    SELECT
        r.trace_id, r.process_key, r.thread_key, r.cpu, r.priority, r.from_ts_ns, r.to_ts_ns
    FROM runs_in(trace := trace, from_s := from_s, to_s := to_s) r
    WHERE NOT r.idle
        AND (r.trace_id, r.process_key) IN (SELECT (s.trace_id, s.process_key) FROM spell s)
),
with_focus AS (
    SELECT
        r.trace_id, r.process_key, r.cpu, r.from_ts_ns, r.priority,
        r.to_ts_ns - r.from_ts_ns AS run_ns,
        CAST(coalesce(sum(
            overlap_ns(r.from_ts_ns, r.to_ts_ns, s.from_ts_ns, s.to_ts_ns)
        ), 0) AS BIGINT) AS focused_ns
    FROM run r
    LEFT JOIN spell s
        ON s.trace_id = r.trace_id AND s.process_key = r.process_key
        AND s.from_ts_ns < r.to_ts_ns AND s.to_ts_ns > r.from_ts_ns
    GROUP BY r.trace_id, r.process_key, r.cpu, r.from_ts_ns, r.priority, r.to_ts_ns
),
split AS (
    SELECT w.trace_id, w.process_key, w.cpu, w.priority, true AS focused, w.focused_ns AS cpu_ns
    FROM with_focus w
    UNION ALL
    SELECT
        w.trace_id, w.process_key, w.cpu, w.priority, false AS focused,
        w.run_ns - w.focused_ns AS cpu_ns
    FROM with_focus w
),
known AS (
    SELECT u.trace_id, count(u.core_type) > 0 AS typed FROM cpu u GROUP BY u.trace_id
),
summed AS (
    SELECT
        s.trace_id, s.process_key, s.focused, CAST(sum(s.cpu_ns) AS BIGINT) AS cpu_ns,
        CASE WHEN bool_or(k.typed) THEN CAST(coalesce(
            sum(s.cpu_ns) FILTER (WHERE u.core_type = 'P'), 0) AS BIGINT) END AS p_cpu_ns,
        CASE WHEN bool_or(k.typed) THEN CAST(coalesce(
            sum(s.cpu_ns) FILTER (WHERE u.core_type = 'E'), 0) AS BIGINT) END AS e_cpu_ns,
        min(s.priority) AS priority_min, max(s.priority) AS priority_max
    FROM split s
    LEFT JOIN cpu u ON u.trace_id = s.trace_id AND u.cpu = s.cpu
    LEFT JOIN known k ON k.trace_id = s.trace_id
    WHERE s.cpu_ns > 0
    GROUP BY s.trace_id, s.process_key, s.focused
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name.
    p.pid,                                -- Process id.
    s.focused,                            -- Whether it had the focus.
    s.cpu_ns / 1e9 AS cpu_s,              -- CPU time in seconds.
    s.p_cpu_ns / 1e9 AS p_cpu_s,          -- Of it on P cores; NULL: the trace does not tell.
    s.e_cpu_ns / 1e9 AS e_cpu_s,          -- Of it on E cores; NULL: the trace does not tell.
    s.p_cpu_ns / nullif(CAST(s.cpu_ns AS DOUBLE), 0) AS p_share, -- Share on P cores.
    s.priority_min,                       -- Lowest priority at switch-in.
    s.priority_max,                       -- Highest priority at switch-in.
    s.trace_id                            -- Trace.
FROM summed s
JOIN selected_traces(trace) t ON t.trace_id = s.trace_id
JOIN process p ON p.trace_id = s.trace_id AND p.process_key = s.process_key
WHERE glob_matches(p.name, process)
ORDER BY 1, s.trace_id, 2, 3, s.process_key, 4 DESC;
