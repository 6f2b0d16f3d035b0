-- # What the CPUs did while a thread was ready
--
-- One row per ready interval and run that overlap, clipped to their overlap (a run may come in
-- several abutting pieces). Intervals and runs are cut at multiples of 2^24 ns, so that the join is
-- one of equal buckets and stays linear.
CREATE OR REPLACE MACRO ready_pieces(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the ready thread's process; NULL for all.
    process VARCHAR := NULL,
    -- Shortest interval, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 0.0,
    -- Shortest interval, in milliseconds, gaps included.
    min_interval_ms DOUBLE := 0.0,
    -- Start of the window that the interval meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that the interval meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH starved AS MATERIALIZED (
    SELECT
        i.trace_id, i.thread_key, i.process_key, i.from_ts_ns, i.to_ts_ns, i.affinity,
        i.new_ideal_cpu, i.near_cpu, u.group_number, u.core_type,
        greatest(i.new_rank_before, i.new_rank) AS rank,
        least(i.prev_priority, i.new_priority) AS least_priority,
        coalesce(i.new_priority, i.prev_priority) AS priority
    FROM ready_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(greatest(min_ready_ms, min_interval_ms) * 1000000.0) AS BIGINT)
    ) i
    LEFT JOIN cpu u ON u.trace_id = i.trace_id AND u.cpu = i.near_cpu
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
        AND in_window(i.from_ts_ns, i.to_ts_ns, from_s, to_s)
),
starved_bucket AS (
    SELECT
        s.*, unnest(range(s.from_ts_ns >> 24, ((s.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM starved s
),
run_bucket AS (
    SELECT
        r.trace_id, r.cpu, r.thread_key, r.process_key, r.from_ts_ns, r.to_ts_ns, r.idle, r.rank,
        least(r.priority, r.out_priority) AS least_priority,
        greatest(r.priority, r.out_priority) AS greatest_priority,
        unnest(range(r.from_ts_ns >> 24, ((r.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM runs_in(trace := trace) r
    WHERE r.trace_id IN (SELECT s.trace_id FROM starved s)
)
SELECT
    s.trace_id,                           -- Trace.
    s.thread_key,                         -- The ready thread; with the next it names the interval.
    s.from_ts_ns AS ready_ts_ns,          -- Start of the interval.
    s.to_ts_ns AS until_ts_ns,            -- End of the interval.
    s.process_key,                        -- Process of the ready thread.
    greatest(s.from_ts_ns, r.from_ts_ns, s.bucket << 24) AS from_ts_ns, -- Start of the piece.
    least(s.to_ts_ns, r.to_ts_ns, (s.bucket + 1) << 24) AS to_ts_ns,    -- End of the piece.
    r.cpu,                                -- CPU.
    r.thread_key AS run_thread_key,       -- Thread that ran.
    r.process_key AS run_process_key,     -- Its process.
    r.idle,                               -- Whether the CPU was idle.
    r.least_priority AS run_least_priority,       -- Lowest priority known of the run.
    r.greatest_priority AS run_greatest_priority, -- Highest priority known of the run.
    r.rank AS run_rank,                   -- Highest rank known of the run.
    s.priority,                           -- Priority of the ready thread at switch-in, else before.
    s.least_priority,                     -- The lower of the two.
    s.rank,                               -- Rank of the ready thread.
    affinity_allows(s.affinity, r.cpu, u.number_in_group, u.group_number, s.group_number)
        AS allowed,                       -- Whether the thread may run on the CPU.
    coalesce(r.cpu = s.near_cpu, false) AS near, -- Whether it is the CPU where the thread then ran.
    coalesce(s.core_type <> u.core_type, false) AS other_class, -- Whether its cores are of another
    -- type.
    coalesce(s.new_ideal_cpu = (r.cpu & 255), false) AS ideal   -- Whether it is its ideal CPU.
FROM starved_bucket s
JOIN run_bucket r ON r.trace_id = s.trace_id AND r.bucket = s.bucket
LEFT JOIN cpu u ON u.trace_id = r.trace_id AND u.cpu = r.cpu
WHERE r.from_ts_ns < s.to_ts_ns AND r.to_ts_ns > s.from_ts_ns;
