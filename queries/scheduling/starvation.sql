-- # Threads starved of CPU
--
-- Which threads were ready to run but had to wait for a CPU, for how long, and behind whom?
--
-- A thread is ready from the moment it is made ready (or loses its CPU) until it is switched in.
-- Intervals that were still open when the recording of switches stopped are listed with `open`,
-- counted to the end of that record. Time in gaps of the recording does not count. The process to
-- blame is the one that got the most CPU time on all CPUs during the interval. With a window, every
-- interval that meets it is listed whole.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/cpu-analysis "CPU Analysis", Microsoft
-- caveats: Without ReadyThread events only preempted threads have a known ready time.
-- key:     process
-- measure: ready_ms
-- finding: ready_ms >= 1000
-- status:  stable
CREATE OR REPLACE MACRO starvation(
    -- Shortest ready time worth reporting, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 10.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the starved process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH starved AS MATERIALIZED (
    SELECT i.*, row_number() OVER (ORDER BY i.trace_id, i.thread_key, i.from_ts_ns) AS id
    FROM ready_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND in_window(i.from_ts_ns, i.to_ts_ns, from_s, to_s)
),
-- Intervals and runs meet in buckets of 2^24 ns, which makes the range join an equality join; every
-- pair is clipped to the bucket, so that nothing counts twice.
starved_bucket AS (
    SELECT
        s.id, s.trace_id, s.from_ts_ns, s.to_ts_ns,
        unnest(range(s.from_ts_ns >> 24, ((s.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM starved s
),
run_bucket AS (
    SELECT
        r.trace_id, r.process_key, r.from_ts_ns, r.to_ts_ns,
        unnest(range(r.from_ts_ns >> 24, ((r.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM runs_in(trace := trace) r
    WHERE NOT r.idle
        AND r.process_key IS NOT NULL
        AND r.trace_id IN (SELECT s.trace_id FROM starved s)
),
culprit AS (
    SELECT
        s.id, s.trace_id, r.process_key,
        CAST(sum(
            least(s.to_ts_ns, r.to_ts_ns, (s.bucket + 1) << 24)
            - greatest(s.from_ts_ns, r.from_ts_ns, s.bucket << 24)
        ) AS BIGINT) AS cpu_ns
    FROM starved_bucket s
    JOIN run_bucket r ON r.trace_id = s.trace_id AND r.bucket = s.bucket
    WHERE r.from_ts_ns < s.to_ts_ns AND r.to_ts_ns > s.from_ts_ns
    GROUP BY s.id, s.trace_id, r.process_key
),
blame AS (
    SELECT c.id, c.trace_id, c.process_key, c.cpu_ns
    FROM culprit c
    QUALIFY row_number() OVER (PARTITION BY c.id ORDER BY c.cpu_ns DESC, c.process_key) = 1
)
SELECT
    s.trace,                                -- Name of the trace.
    s.process,                              -- Image name of the starved thread's process.
    s.pid,                                  -- Its process id.
    s.tid,                                  -- Its thread id.
    s.from_ts_ns AS ready_ts_ns,            -- Since when it was ready.
    CASE WHEN NOT s.open THEN s.to_ts_ns END AS ts_ns, -- When it ran at last; NULL: never.
    (s.interval_ns - s.gap_ns) / 1000000.0 AS ready_ms, -- How long it was ready, without gaps.
    s.gap_ns / 1000000.0 AS gap_ms,         -- How much of the interval was not recorded.
    s.open,                                 -- Whether it was still ready at the end of the record.
    s.cpu,                                  -- CPU on which it then ran; NULL: none.
    coalesce(s.new_priority, s.prev_priority) AS priority, -- Its priority at switch-in, else before.
    greatest(s.new_rank_before, s.new_rank) AS rank, -- Its rank: the higher of the next two.
    s.new_rank_before,                      -- Rank when it last left a CPU.
    s.new_rank,                             -- Rank when the run after the interval ended.
    q.name AS readying_process,             -- Process that made it ready; NULL: nobody, a DPC, unknown.
    s.readying_tid,                         -- Thread that made it ready.
    p.name AS blame_process,                -- Process with the most CPU time in the interval.
    b.cpu_ns / 1000000.0 AS blame_ms,       -- That CPU time, over all CPUs.
    s.trace_id,                             -- Trace.
    b.process_key AS blame_process_key      -- Key of the process to blame.
FROM starved s
LEFT JOIN blame b ON b.id = s.id
LEFT JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
LEFT JOIN process q ON q.trace_id = s.trace_id AND q.process_key = s.readying_process_key
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.id;
