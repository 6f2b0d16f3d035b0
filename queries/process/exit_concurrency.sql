-- # CPU use of exiting processes over time
--
-- How many processes were exiting at a time, and how many CPUs did they keep busy?
--
-- Cuts the time of the exits into buckets. An exit runs from the Terminate event (else the first
-- thread end after which no thread starts) to the end of the process.
--
-- needs:   cswitch, process, thread
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Buckets in which no process was exiting are left out.
-- key:     from_ts_ns
-- measure: cpus_exiting
-- status:  stable
CREATE OR REPLACE MACRO exit_concurrency(
    -- Length of a bucket in milliseconds.
    bucket_ms DOUBLE := 100.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the processes that exit; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH asked AS (
    SELECT CAST(greatest(1.0, round(bucket_ms * 1000000.0)) AS BIGINT) AS bucket_ns
),
ended AS MATERIALIZED (
    SELECT x.*, a.bucket_ns
    FROM process_exits(trace := trace, process := process) x
    CROSS JOIN asked a
    WHERE in_window(x.from_ts_ns, x.to_ts_ns, from_s, to_s)
        AND x.trace_id IN (SELECT c.trace_id FROM cswitch c)
),
ended_trace AS MATERIALIZED (
    SELECT
        s.trace_id, any_value(s.trace) AS trace, any_value(s.cpu_count) AS cpu_count,
        any_value(s.end_ns) AS end_ns, CAST(NULL AS BIGINT) AS from_ns,
        CAST(NULL AS BIGINT) AS to_ns
    FROM selected_traces(trace) s
    JOIN ended e ON e.trace_id = s.trace_id
    GROUP BY s.trace_id
),
exiting AS (
    SELECT u.trace_id, u.bucket, any_value(u.bucket_ns) AS bucket_ns, count(*) AS processes
    FROM (
        SELECT
            e.trace_id, e.bucket_ns,
            unnest(range(
                bucket_of(e.from_ts_ns, e.bucket_ns), bucket_of(e.to_ts_ns, e.bucket_ns) + 1
            )) AS bucket
        FROM ended e
    ) u
    GROUP BY u.trace_id, u.bucket
),
run_bucket AS (
    SELECT
        r.trace_id, r.idle, r.from_ts_ns, r.to_ts_ns,
        e.from_ts_ns AS exit_from, e.to_ts_ns AS exit_to,
        a.bucket_ns,
        unnest(range(
            bucket_of(r.from_ts_ns, a.bucket_ns), bucket_of(r.to_ts_ns - 1, a.bucket_ns) + 1
        )) AS bucket
    FROM runs_of('ended_trace') r
    CROSS JOIN asked a
    LEFT JOIN ended e ON e.trace_id = r.trace_id AND e.process_key = r.process_key AND NOT r.idle
),
busy AS (
    SELECT
        p.trace_id, p.bucket,
        CAST(sum(p.to_ns - p.from_ns) FILTER (WHERE p.idle) AS BIGINT) AS idle_ns,
        CAST(sum(overlap_ns(p.from_ns, p.to_ns, p.exit_from, p.exit_to))
            FILTER (WHERE p.exit_from IS NOT NULL) AS BIGINT) AS exit_ns
    FROM (
        SELECT
            b.trace_id, b.bucket, b.idle, b.exit_from, b.exit_to,
            greatest(b.from_ts_ns, b.bucket * b.bucket_ns) AS from_ns,
            least(b.to_ts_ns, (b.bucket + 1) * b.bucket_ns) AS to_ns
        FROM run_bucket b
        WHERE (b.trace_id, b.bucket) IN (SELECT (x.trace_id, x.bucket) FROM exiting x)
    ) p
    GROUP BY p.trace_id, p.bucket
)
SELECT
    t.trace,                              -- Name of the trace.
    x.bucket * x.bucket_ns AS from_ts_ns, -- Start of the bucket.
    (x.bucket + 1) * x.bucket_ns AS to_ts_ns, -- End of the bucket.
    x.processes AS exiting_processes,     -- Processes that were exiting in it.
    coalesce(y.exit_ns, 0) / nullif(CAST(x.bucket_ns AS DOUBLE), 0) AS cpus_exiting, -- CPUs that
    -- ran them, on average.
    coalesce(y.idle_ns, 0) / nullif(CAST(x.bucket_ns AS DOUBLE), 0) AS cpus_idle, -- CPUs idle, on
    -- average.
    t.cpu_count,                          -- Logical CPUs.
    t.trace_id                            -- Trace.
FROM exiting x
JOIN ended_trace t ON t.trace_id = x.trace_id
LEFT JOIN busy y ON y.trace_id = x.trace_id AND y.bucket = x.bucket
ORDER BY 1, t.trace_id, 2;
