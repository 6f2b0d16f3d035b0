-- # When processes reached their concurrency
--
-- One row per process that ran: how many of its threads ran at once at most, and when that many, or
-- `threads`, did so for the first time.
CREATE OR REPLACE MACRO ramp_ups(
    -- Threads that should run at once; NULL for as many as ever did.
    threads BIGINT := NULL,
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
run AS MATERIALIZED (
    SELECT r.trace_id, r.process_key, r.from_ts_ns, r.to_ts_ns
    FROM runs_of('chosen') r
    JOIN processes_of('chosen') p ON p.trace_id = r.trace_id AND p.process_key = r.process_key
    WHERE NOT r.idle AND glob_matches(p.name, process)
),
edge AS (
    SELECT e.trace_id, e.process_key, e.ts_ns, CAST(sum(e.step) AS BIGINT) AS step
    FROM (
        SELECT r.trace_id, r.process_key, r.from_ts_ns AS ts_ns, 1 AS step FROM run r
        UNION ALL
        SELECT r.trace_id, r.process_key, r.to_ts_ns AS ts_ns, -1 AS step FROM run r
    ) e
    GROUP BY e.trace_id, e.process_key, e.ts_ns
),
level AS MATERIALIZED (
    SELECT
        e.trace_id, e.process_key, e.ts_ns,
        CAST(sum(e.step) OVER (
            PARTITION BY e.trace_id, e.process_key ORDER BY e.ts_ns
        ) AS BIGINT) AS running
    FROM edge e
),
most AS (
    SELECT g.*, coalesce(threads, g.threads_max) AS threads_wanted
    FROM (
        SELECT
            v.trace_id, v.process_key, max(v.running) AS threads_max, min(v.ts_ns) AS first_ts_ns
        FROM level v
        GROUP BY v.trace_id, v.process_key
    ) g
)
SELECT
    m.trace_id,                           -- Trace.
    m.process_key,                        -- Process.
    m.threads_max,                        -- Most threads that ran at once.
    m.threads_wanted,                     -- Threads that should.
    m.first_ts_ns,                        -- Start of the first run.
    min(v.ts_ns) AS reached_ts_ns         -- When that many first ran at once; NULL: never.
FROM most m
LEFT JOIN level v
    ON v.trace_id = m.trace_id AND v.process_key = m.process_key
    AND v.running >= m.threads_wanted
GROUP BY m.trace_id, m.process_key, m.threads_max, m.threads_wanted, m.first_ts_ns;
