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
    SELECT i.*
    FROM ready_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND in_window(i.from_ts_ns, i.to_ts_ns, from_s, to_s)
),
culprit AS (
    SELECT
        r.trace_id, r.thread_key, r.ready_ts_ns, r.run_process_key,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns
    FROM ready_pieces(
        trace := trace, process := process, min_ready_ms := min_ready_ms, from_s := from_s,
        to_s := to_s
    ) r
    WHERE NOT r.idle AND r.run_process_key IS NOT NULL
    GROUP BY ALL
),
blame AS (
    SELECT c.*
    FROM culprit c
    QUALIFY row_number() OVER (
        PARTITION BY c.trace_id, c.thread_key, c.ready_ts_ns
        ORDER BY c.cpu_ns DESC, c.run_process_key
    ) = 1
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
    coalesce(s.new_priority, s.prev_priority) AS priority, -- Its priority at switch-in, else
    -- before.
    greatest(s.new_rank_before, s.new_rank) AS rank, -- Its rank: the higher of the next two.
    s.new_rank_before,                      -- Rank when it last left a CPU.
    s.new_rank,                             -- Rank when the run after the interval ended.
    q.name AS readying_process,             -- Process that made it ready; NULL: nobody, a DPC,
    -- unknown.
    s.readying_tid,                         -- Thread that made it ready.
    p.name AS blame_process,                -- Process with the most CPU time in the interval.
    b.cpu_ns / 1000000.0 AS blame_ms,       -- That CPU time, over all CPUs.
    s.trace_id,                             -- Trace.
    b.run_process_key AS blame_process_key  -- Key of the process to blame.
FROM starved s
LEFT JOIN blame b
    ON b.trace_id = s.trace_id AND b.thread_key = s.thread_key AND b.ready_ts_ns = s.from_ts_ns
LEFT JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.run_process_key
LEFT JOIN process q ON q.trace_id = s.trace_id AND q.process_key = s.readying_process_key
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.thread_key;
