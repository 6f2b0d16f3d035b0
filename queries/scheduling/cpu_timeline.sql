-- # CPU use over time
--
-- How busy were the CPUs, stretch by stretch?
--
-- Cuts the record into buckets and adds up the runs in each. Utilisation is busy time over the time
-- of all CPUs, without gaps of the recording: what nobody recorded is not idle. With `process`,
-- only its runs are busy time.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Before a CPU's first switch nothing is known of it; that time counts as not busy.
-- key:     from_ts_ns
-- measure: busy_s
-- status:  stable
CREATE OR REPLACE MACRO cpu_timeline(
    -- Length of a bucket in milliseconds.
    bucket_ms DOUBLE := 1000.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH named_trace AS MATERIALIZED (
    SELECT s.* FROM selected_traces(trace) s
),
chosen AS MATERIALIZED (
    SELECT
        s.trace_id, s.trace, s.cpu_count, s.gaps, s.end_ns,
        greatest(0, seconds_ns(from_s)) AS from_ns, least(s.end_ns, seconds_ns(to_s)) AS to_ns,
        CAST(greatest(1.0, round(bucket_ms * 1000000.0)) AS BIGINT) AS bucket_ns
    FROM named_trace s
    WHERE s.trace_id IN (
        SELECT c.trace_id
        FROM cswitch c
        WHERE c.trace_id IN (SELECT n.trace_id FROM named_trace n)
    )
),
bucket AS (
    SELECT
        k.*,
        unnest(range(0, bucket_of(k.to_ns - k.from_ns + k.bucket_ns - 1, k.bucket_ns))) AS number
    FROM chosen k
    WHERE k.to_ns > k.from_ns
),
run_bucket AS (
    SELECT
        r.trace_id, r.from_ts_ns, r.to_ts_ns, k.from_ns, k.bucket_ns,
        unnest(range(
            bucket_of(greatest(r.from_ts_ns, k.from_ns) - k.from_ns, k.bucket_ns),
            bucket_of(r.to_ts_ns - 1 - k.from_ns, k.bucket_ns) + 1
        )) AS number
    FROM runs_of('chosen') r
    JOIN chosen k ON k.trace_id = r.trace_id
    LEFT JOIN processes_of('chosen') p ON p.trace_id = r.trace_id AND p.process_key = r.process_key
    WHERE NOT r.idle AND r.to_ts_ns > k.from_ns AND glob_matches(p.name, process)
),
busy AS (
    SELECT
        r.trace_id, r.number,
        CAST(sum(
            least(r.to_ts_ns, r.from_ns + (r.number + 1) * r.bucket_ns)
            - greatest(r.from_ts_ns, r.from_ns + r.number * r.bucket_ns)
        ) AS BIGINT) AS busy_ns
    FROM run_bucket r
    GROUP BY r.trace_id, r.number
),
measured AS (
    SELECT
        b.trace_id, b.trace, b.cpu_count,
        b.from_ns + b.number * b.bucket_ns AS from_ts_ns,
        least(b.to_ns, b.from_ns + (b.number + 1) * b.bucket_ns) AS to_ts_ns,
        gap_within_ns(
            b.gaps, b.from_ns + b.number * b.bucket_ns,
            least(b.to_ns, b.from_ns + (b.number + 1) * b.bucket_ns)
        ) AS gap_ns,
        coalesce(y.busy_ns, 0) AS busy_ns
    FROM bucket b
    LEFT JOIN busy y ON y.trace_id = b.trace_id AND y.number = b.number
)
SELECT
    m.trace,                              -- Name of the trace.
    m.from_ts_ns,                         -- Start of the bucket.
    m.to_ts_ns,                           -- End of the bucket.
    m.busy_ns / 1e9 AS busy_s,            -- CPU-seconds used.
    m.busy_ns / nullif(CAST(m.cpu_count AS DOUBLE) * (m.to_ts_ns - m.from_ts_ns - m.gap_ns), 0)
        AS utilisation,                   -- Of all CPUs, 0 to 1; NULL: nothing was recorded.
    m.gap_ns / 1000000.0 AS gap_ms,       -- Gaps in the bucket.
    m.cpu_count,                          -- Logical CPUs.
    m.trace_id                            -- Trace.
FROM measured m
ORDER BY 1, m.trace_id, 2;
