-- # Long ready intervals, and who had the CPUs meanwhile
--
-- One row per ready interval that is long enough, with the process that got the most CPU time on
-- all CPUs during it, and the CPU time that went to threads of lower rank.
CREATE OR REPLACE MACRO starved_intervals(
    -- Shortest ready time, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 10.0,
    -- Least rank of the ready thread; NULL: any, also unknown.
    min_rank BIGINT := NULL,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the starved process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that the interval meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that the interval meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH starved AS MATERIALIZED (
    SELECT i.*, greatest(i.new_rank_before, i.new_rank) AS rank
    FROM ready_intervals(
        trace := trace, process := process, from_s := from_s, to_s := to_s,
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND (min_rank IS NULL OR greatest(i.new_rank_before, i.new_rank) >= min_rank)
),
culprit AS (
    SELECT
        r.trace_id, r.thread_key, r.ready_ts_ns, r.run_process_key,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns,
        CAST(coalesce(sum(r.to_ts_ns - r.from_ts_ns) FILTER (
            WHERE r.run_rank < r.rank
        ), 0) AS BIGINT) AS lower_rank_ns,
        CAST(coalesce(sum(r.to_ts_ns - r.from_ts_ns) FILTER (
            WHERE r.run_rank < r.rank AND r.run_greatest_priority < r.least_priority
        ), 0) AS BIGINT) AS lower_priority_ns
    FROM ready_pieces('starved', false) r
    WHERE NOT r.idle
    GROUP BY r.trace_id, r.thread_key, r.ready_ts_ns, r.run_process_key
),
-- The greatest pair is the process with the most time, the first of equals.
blame AS (
    SELECT
        c.trace_id, c.thread_key, c.ready_ts_ns,
        max({'cpu_ns': c.cpu_ns, 'order': -c.run_process_key})
            FILTER (WHERE c.run_process_key IS NOT NULL) AS most,
        CAST(sum(c.lower_rank_ns) AS BIGINT) AS lower_rank_ns,
        CAST(sum(c.lower_priority_ns) AS BIGINT) AS lower_priority_ns
    FROM culprit c
    GROUP BY c.trace_id, c.thread_key, c.ready_ts_ns
),
named AS MATERIALIZED (
    SELECT p.* FROM processes_of('starved') p
)
SELECT
    s.trace,                              -- Name of the trace.
    s.process,                            -- Image name of the starved thread's process.
    s.pid,                                -- Its process id.
    s.tid,                                -- Its thread id.
    s.from_ts_ns AS ready_ts_ns,          -- Since when it was ready.
    CASE WHEN NOT s.open THEN s.to_ts_ns END AS ts_ns, -- When it ran at last; NULL: never.
    (s.interval_ns - s.gap_ns) / 1000000.0 AS ready_ms, -- How long it was ready, without gaps.
    s.gap_ns / 1000000.0 AS gap_ms,       -- How much of the interval was not recorded.
    s.open,                               -- Whether it was still ready at the end of the record.
    s.cpu,                                -- CPU on which it then ran; NULL: none.
    coalesce(s.new_priority, s.prev_priority) AS priority, -- Its priority at switch-in, else
    -- before.
    s.rank,                               -- Its rank: the higher of the next two.
    s.new_rank_before,                    -- Rank when it last left a CPU.
    s.new_rank,                           -- Rank when the run after the interval ended.
    q.name AS readying_process,           -- Process that made it ready; NULL: nobody, a DPC,
    -- unknown.
    s.readying_tid,                       -- Thread that made it ready.
    p.name AS blame_process,              -- Process with the most CPU time in the interval.
    b.most.cpu_ns / 1000000.0 AS blame_ms, -- That CPU time, over all CPUs.
    b.lower_rank_ns / 1000000.0 AS lower_rank_ms, -- CPU time of threads of lower rank, over all
    -- CPUs.
    b.lower_priority_ns / 1000000.0 AS lower_priority_ms, -- Of it, at a lower priority.
    s.trace_id,                           -- Trace.
    -b.most.order AS blame_process_key,   -- Key of the process to blame.
    s.thread_key                          -- Key of the starved thread.
FROM starved s
LEFT JOIN blame b
    ON b.trace_id = s.trace_id AND b.thread_key = s.thread_key AND b.ready_ts_ns = s.from_ts_ns
LEFT JOIN named p ON p.trace_id = b.trace_id AND p.process_key = -b.most.order
LEFT JOIN named q ON q.trace_id = s.trace_id AND q.process_key = s.readying_process_key;
