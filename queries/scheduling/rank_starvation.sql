-- # Threads starved because of their rank
--
-- Which threads had to wait for a CPU because their rank let threads of lower rank go first?
--
-- The scheduler runs rank 0 before rank 1 before rank 2, whatever the priorities. Listed are the ready
-- intervals of `starvation` whose rank is above 0 and in which threads of a lower rank ran; how much
-- they ran, and how much of it at a lower priority, is shown.
--
-- needs:   cswitch
-- needs_columns: cswitch.old_rank
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: A rank is known only when a thread leaves a CPU; runs whose rank is unknown are not counted.
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
    SELECT
        i.*, greatest(i.new_rank_before, i.new_rank) AS rank,
        least(i.prev_priority, i.new_priority) AS least_priority,
        row_number() OVER (ORDER BY i.trace_id, i.thread_key, i.from_ts_ns) AS id
    FROM ready_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND greatest(i.new_rank_before, i.new_rank) > 0
        AND in_window(i.from_ts_ns, i.to_ts_ns, from_s, to_s)
),
-- As in `starvation`: intervals and runs meet in buckets of 2^24 ns.
starved_bucket AS (
    SELECT
        s.id, s.trace_id, s.from_ts_ns, s.to_ts_ns, s.rank, s.least_priority,
        unnest(range(s.from_ts_ns >> 24, ((s.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM starved s
),
run_bucket AS (
    SELECT
        r.trace_id, r.process_key, r.from_ts_ns, r.to_ts_ns, r.rank,
        greatest(r.priority, r.out_priority) AS priority,
        unnest(range(r.from_ts_ns >> 24, ((r.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM runs_in(trace := trace) r
    WHERE NOT r.idle AND r.trace_id IN (SELECT s.trace_id FROM starved s)
),
piece AS (
    SELECT
        s.id, s.trace_id, r.process_key, s.rank > r.rank AS lower_rank,
        r.priority < s.least_priority AS lower_priority,
        least(s.to_ts_ns, r.to_ts_ns, (s.bucket + 1) << 24)
            - greatest(s.from_ts_ns, r.from_ts_ns, s.bucket << 24) AS cpu_ns
    FROM starved_bucket s
    JOIN run_bucket r ON r.trace_id = s.trace_id AND r.bucket = s.bucket
    WHERE r.from_ts_ns < s.to_ts_ns AND r.to_ts_ns > s.from_ts_ns
),
culprit AS (
    SELECT
        c.id, c.trace_id, c.process_key, CAST(sum(c.cpu_ns) AS BIGINT) AS cpu_ns,
        CAST(coalesce(sum(c.cpu_ns) FILTER (WHERE c.lower_rank), 0) AS BIGINT) AS lower_rank_ns,
        CAST(coalesce(sum(c.cpu_ns) FILTER (WHERE c.lower_rank AND c.lower_priority), 0) AS BIGINT)
            AS lower_priority_ns
    FROM piece c
    GROUP BY c.id, c.trace_id, c.process_key
),
total AS (
    SELECT
        c.id, CAST(sum(c.lower_rank_ns) AS BIGINT) AS lower_rank_ns,
        CAST(sum(c.lower_priority_ns) AS BIGINT) AS lower_priority_ns
    FROM culprit c
    GROUP BY c.id
),
blame AS (
    SELECT c.id, c.trace_id, c.process_key, c.cpu_ns
    FROM culprit c
    WHERE c.process_key IS NOT NULL
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
    s.rank,                                 -- Its rank: the higher of the next two.
    s.new_rank_before,                      -- Rank when it last left a CPU.
    s.new_rank,                             -- Rank when the run after the interval ended.
    q.name AS readying_process,             -- Process that made it ready; NULL: nobody, a DPC, unknown.
    s.readying_tid,                         -- Thread that made it ready.
    p.name AS blame_process,                -- Process with the most CPU time in the interval.
    b.cpu_ns / 1000000.0 AS blame_ms,       -- That CPU time, over all CPUs.
    t.lower_rank_ns / 1000000.0 AS lower_rank_ms, -- CPU time of threads of lower rank, over all CPUs.
    t.lower_priority_ns / 1000000.0 AS lower_priority_ms, -- Of it, at a lower priority than this thread's.
    s.trace_id                              -- Trace.
FROM starved s
JOIN total t ON t.id = s.id AND t.lower_rank_ns > 0
LEFT JOIN blame b ON b.id = s.id
LEFT JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
LEFT JOIN process q ON q.trace_id = s.trace_id AND q.process_key = s.readying_process_key
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.id;
