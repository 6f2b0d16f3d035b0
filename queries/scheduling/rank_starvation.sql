-- # Threads starved because of their rank
--
-- Which threads had to wait for a CPU because their rank let threads of lower rank go first?
--
-- The scheduler runs rank 0 before rank 1 before rank 2, whatever the priorities. Listed are the
-- ready intervals of `starvation` whose rank is above 0 and in which threads of a lower rank ran;
-- how much they ran, and how much of it at a lower priority, is shown.
--
-- needs:   cswitch
-- needs_columns: cswitch.old_rank
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: A rank is known only when a thread leaves a CPU; runs whose rank is unknown are not
--          counted.
-- key:     process
-- measure: ready_ms
-- finding: ready_ms >= 100
-- status:  stable
CREATE OR REPLACE MACRO rank_starvation(
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
    SELECT i.*, greatest(i.new_rank_before, i.new_rank) AS rank
    FROM ready_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND greatest(i.new_rank_before, i.new_rank) > 0
        AND in_window(i.from_ts_ns, i.to_ts_ns, from_s, to_s)
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
    FROM ready_pieces(
        trace := trace, process := process, min_ready_ms := min_ready_ms, from_s := from_s,
        to_s := to_s
    ) r
    WHERE NOT r.idle AND r.rank > 0
    GROUP BY ALL
),
blame AS (
    SELECT
        c.*, CAST(sum(c.lower_rank_ns) OVER of_interval AS BIGINT) AS all_lower_rank_ns,
        CAST(sum(c.lower_priority_ns) OVER of_interval AS BIGINT) AS all_lower_priority_ns
    FROM culprit c
    WINDOW of_interval AS (PARTITION BY c.trace_id, c.thread_key, c.ready_ts_ns)
    QUALIFY row_number() OVER (
        PARTITION BY c.trace_id, c.thread_key, c.ready_ts_ns
        ORDER BY c.run_process_key IS NULL, c.cpu_ns DESC, c.run_process_key
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
    s.rank,                                 -- Its rank: the higher of the next two.
    s.new_rank_before,                      -- Rank when it last left a CPU.
    s.new_rank,                             -- Rank when the run after the interval ended.
    q.name AS readying_process,             -- Process that made it ready; NULL: nobody, a DPC,
    -- unknown.
    s.readying_tid,                         -- Thread that made it ready.
    p.name AS blame_process,                -- Process with the most CPU time in the interval.
    b.cpu_ns / 1000000.0 AS blame_ms,       -- That CPU time, over all CPUs.
    b.all_lower_rank_ns / 1000000.0 AS lower_rank_ms, -- CPU time of threads of lower rank, over all
    -- CPUs.
    b.all_lower_priority_ns / 1000000.0 AS lower_priority_ms, -- Of it, at a lower priority.
    s.trace_id                              -- Trace.
FROM starved s
JOIN blame b
    ON b.trace_id = s.trace_id AND b.thread_key = s.thread_key AND b.ready_ts_ns = s.from_ts_ns
LEFT JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.run_process_key
LEFT JOIN process q ON q.trace_id = s.trace_id AND q.process_key = s.readying_process_key
WHERE b.all_lower_rank_ns > 0
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.thread_key;
