-- # CPU time of processes by kind of core
--
-- One row per process that ran: its CPU time on P and on E cores, and on how many CPUs. Where a
-- trace does not tell its kinds of cores, those columns are NULL.
CREATE OR REPLACE MACRO placement(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.*, seconds_ns(from_s) AS from_ns, seconds_ns(to_s) AS to_ns
    FROM selected_traces(trace) s
),
by_cpu AS (
    SELECT
        r.trace_id, r.process_key, r.cpu,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns,
        CAST(sum(CAST(r.to_ts_ns - r.from_ts_ns AS HUGEINT) * r.priority) AS HUGEINT) AS weighted,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) FILTER (WHERE r.priority IS NOT NULL) AS BIGINT)
            AS known_ns,
        min(r.priority) AS priority_min, max(r.priority) AS priority_max,
        min(r.from_ts_ns) AS first_ts_ns, max(r.to_ts_ns) AS last_ts_ns
    FROM runs_of('chosen') r
    WHERE NOT r.idle AND r.process_key IS NOT NULL
    GROUP BY r.trace_id, r.process_key, r.cpu
),
typed AS (
    SELECT
        b.*, u.core_type,
        sum(b.cpu_ns) OVER (PARTITION BY b.trace_id, b.process_key) AS process_ns
    FROM by_cpu b
    JOIN processes_of('chosen') p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
    LEFT JOIN cpu u ON u.trace_id = b.trace_id AND u.cpu = b.cpu
    WHERE glob_matches(p.name, process)
),
known AS (
    SELECT u.trace_id, count(u.core_type) > 0 AS typed FROM cpu u GROUP BY u.trace_id
)
SELECT
    y.trace_id,                           -- Trace.
    y.process_key,                        -- Process.
    CAST(sum(y.cpu_ns) AS BIGINT) AS cpu_ns, -- CPU time.
    CASE WHEN bool_or(k.typed) THEN CAST(coalesce(
        sum(y.cpu_ns) FILTER (WHERE y.core_type = 'P'), 0) AS BIGINT) END AS p_cpu_ns, -- On P.
    CASE WHEN bool_or(k.typed) THEN CAST(coalesce(
        sum(y.cpu_ns) FILTER (WHERE y.core_type = 'E'), 0) AS BIGINT) END AS e_cpu_ns, -- On E.
    count(*) FILTER (WHERE y.cpu_ns * 100 >= y.process_ns) AS cores_used, -- CPUs with 1 % or more.
    count(*) AS cores_touched,            -- CPUs on which it ran at all.
    min(y.priority_min) AS priority_min,  -- Lowest priority at switch-in.
    max(y.priority_max) AS priority_max,  -- Highest priority at switch-in.
    CAST(sum(y.weighted) AS DOUBLE) / nullif(CAST(sum(y.known_ns) AS DOUBLE), 0)
        AS priority_mean,                 -- Mean priority, weighted by time.
    min(y.first_ts_ns) AS first_ts_ns,    -- Start of its first run.
    max(y.last_ts_ns) AS last_ts_ns       -- End of its last run.
FROM typed y
LEFT JOIN known k ON k.trace_id = y.trace_id
GROUP BY y.trace_id, y.process_key;
