-- # CPU samples by process
--
-- Which processes did the sampling profiler meet on the CPUs, and how often?
--
-- Every sample is one hit of the profiling timer; its weight is the nominal interval in force then.
-- The idle process (pid 0) is left out, and the share is of what remains. Where a trace also has
-- context switches, `cpu_by_process` is exact and this is the estimate to hold beside it.
--
-- needs:   sample
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/cpu-analysis "CPU Analysis", Microsoft
-- caveats: Weights are nominal intervals, not the distances between samples that WPA shows.
-- key:     process
-- measure: cpu_s
-- status:  stable
CREATE OR REPLACE MACRO cpu_samples_by_process(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH counted AS (
    SELECT
        m.trace_id, m.process_key, CASE WHEN m.process_key IS NULL THEN m.pid END AS lone_pid,
        count(*) AS samples,
        CAST(sum(m.weight_ns) AS BIGINT) AS weight_ns,
        count(DISTINCT m.thread_key) AS threads
    FROM sample m
    LEFT JOIN process p ON p.trace_id = m.trace_id AND p.process_key = m.process_key
    WHERE m.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
        AND coalesce(p.pid, m.pid, -1) <> 0
        AND (from_s IS NULL OR m.ts_ns >= seconds_ns(from_s))
        AND (to_s IS NULL OR m.ts_ns < seconds_ns(to_s))
    GROUP BY ALL
),
shared AS (
    SELECT
        c.*, sum(c.samples) OVER (PARTITION BY c.trace_id) AS all_samples
    FROM counted c
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name; NULL: no event names the process.
    coalesce(p.pid, b.lone_pid) AS pid,   -- Process id; NULL: the sample names none.
    b.samples,                            -- Number of samples.
    b.weight_ns / 1e9 AS cpu_s,           -- Their weight; NULL: the trace tells no interval.
    b.samples / nullif(b.all_samples, 0) AS share, -- Part of the samples that are not idle.
    b.threads,                            -- Threads that were met.
    b.trace_id,                           -- Trace.
    b.process_key                         -- Key of the process.
FROM shared b
JOIN selected_traces(trace) t ON t.trace_id = b.trace_id
LEFT JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
WHERE glob_matches(p.name, process)
ORDER BY 4 DESC, 1, b.trace_id, 2, 3, b.process_key;
