-- # How common the ranks are
--
-- How many threads had which rank, and how much did they run with it?
--
-- Counts, for each rank, the threads that had it at any switch-out, their runs that ended with it,
-- and the CPU time of those runs.
--
-- needs:   cswitch
-- needs_columns: cswitch.old_rank
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: A thread that had two ranks is counted at both.
-- key:     rank
-- measure: threads
-- status:  stable
CREATE OR REPLACE MACRO rank_histogram(
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
ranked AS MATERIALIZED (
    SELECT
        r.trace_id, r.new_rank AS rank, r.thread_key, r.from_ts_ns, r.to_ts_ns
    FROM runs_of('chosen') r
    LEFT JOIN processes_of('chosen') p ON p.trace_id = r.trace_id AND p.process_key = r.process_key
    WHERE NOT r.idle AND r.new_rank IS NOT NULL AND glob_matches(p.name, process)
),
counted AS (
    SELECT
        r.trace_id, r.rank, count(DISTINCT r.thread_key) AS threads, count(*) AS runs,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns
    FROM ranked r
    GROUP BY r.trace_id, r.rank
),
whole AS (
    SELECT r.trace_id, count(DISTINCT r.thread_key) AS threads
    FROM ranked r
    GROUP BY r.trace_id
)
SELECT
    t.trace,                              -- Name of the trace.
    c.rank,                               -- Rank; 0 is normal.
    c.threads,                            -- Threads that had it.
    c.threads / nullif(CAST(w.threads AS DOUBLE), 0) AS thread_share, -- Of all threads with a known
    -- rank.
    c.runs,                               -- Runs that ended with it.
    c.cpu_ns / 1e9 AS cpu_s,              -- CPU time of those runs, in seconds.
    c.trace_id                            -- Trace.
FROM counted c
JOIN whole w ON w.trace_id = c.trace_id
JOIN chosen t ON t.trace_id = c.trace_id
ORDER BY 1, c.trace_id, 2;
