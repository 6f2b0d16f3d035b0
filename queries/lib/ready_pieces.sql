-- # What the CPUs did while a thread was ready
--
-- One row per ready interval and run that overlap, clipped to their overlap (a run may come in
-- several abutting pieces). Intervals and runs are cut at multiples of 2^24 ns, so that the join is
-- one of equal buckets and stays linear.
CREATE OR REPLACE MACRO ready_pieces(
    -- Name of the caller's table of intervals, with the columns of `ready_intervals`.
    intervals,
    -- Whether CPUs matter: where not, `allowed`, `other_class` and `ideal` mean nothing.
    placed
) AS TABLE
WITH pieces_trace AS MATERIALIZED (
    SELECT
        i.trace_id, any_value(i.end_ns) AS end_ns, min(i.from_ts_ns) AS from_ns,
        max(i.to_ts_ns) AS to_ns
    FROM query_table(intervals) i
    GROUP BY i.trace_id
),
starved_bucket AS (
    SELECT
        i.trace_id, i.thread_key, i.process_key, i.from_ts_ns, i.to_ts_ns, i.new_ideal_cpu,
        i.near_cpu, i.affinity, greatest(i.new_rank_before, i.new_rank) AS rank,
        least(i.prev_priority, i.new_priority) AS least_priority,
        coalesce(i.new_priority, i.prev_priority) AS priority,
        unnest(range(i.from_ts_ns >> 24, ((i.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM query_table(intervals) i
),
run_bucket AS (
    SELECT
        r.trace_id, r.cpu, r.thread_key, r.process_key, r.from_ts_ns, r.to_ts_ns, r.idle, r.rank,
        least(r.priority, r.out_priority) AS least_priority,
        greatest(r.priority, r.out_priority) AS greatest_priority,
        unnest(range(r.from_ts_ns >> 24, ((r.to_ts_ns - 1) >> 24) + 1)) AS bucket
    FROM runs_of('pieces_trace') r
),
piece AS (
    SELECT
        s.trace_id, s.thread_key, s.from_ts_ns AS ready_ts_ns, s.process_key,
        greatest(s.from_ts_ns, r.from_ts_ns, s.bucket * 16777216) AS from_ts_ns,
        least(s.to_ts_ns, r.to_ts_ns, (s.bucket + 1) * 16777216) AS to_ts_ns,
        r.cpu, r.thread_key AS run_thread_key, r.process_key AS run_process_key, r.idle,
        r.least_priority AS run_least_priority, r.greatest_priority AS run_greatest_priority,
        r.rank AS run_rank, s.priority, s.least_priority, s.rank, s.near_cpu, s.new_ideal_cpu,
        s.affinity
    FROM starved_bucket s
    JOIN run_bucket r ON r.trace_id = s.trace_id AND r.bucket = s.bucket
    WHERE r.from_ts_ns < s.to_ts_ns AND r.to_ts_ns > s.from_ts_ns
),
-- Where the caller does not ask for places, CPUs are not read.
core AS (
    SELECT u.trace_id, u.cpu, u.number_in_group, u.group_number, u.core_type
    FROM cpu u
    WHERE placed AND u.trace_id IN (SELECT t.trace_id FROM pieces_trace t)
)
SELECT
    p.trace_id,                           -- Trace.
    p.thread_key,                         -- The ready thread; with the next it names the interval.
    p.ready_ts_ns,                        -- Start of the interval.
    p.process_key,                        -- Process of the ready thread.
    p.from_ts_ns,                         -- Start of the piece.
    p.to_ts_ns,                           -- End of the piece.
    p.cpu,                                -- CPU.
    p.run_thread_key,                     -- Thread that ran.
    p.run_process_key,                    -- Its process.
    p.idle,                               -- Whether the CPU was idle.
    p.run_least_priority,                 -- Lowest priority known of the run.
    p.run_greatest_priority,              -- Highest priority known of the run.
    p.run_rank,                           -- Highest rank known of the run.
    p.priority,                           -- Priority of the ready thread at switch-in, else before.
    p.least_priority,                     -- The lower of the two.
    p.rank,                               -- Rank of the ready thread.
    affinity_allows(p.affinity, p.cpu, u.number_in_group, u.group_number, n.group_number)
        AS allowed,                       -- Whether the thread may run on the CPU.
    coalesce(p.cpu = p.near_cpu, false) AS near, -- Whether it is the CPU where the thread then ran.
    coalesce(n.core_type <> u.core_type, false) AS other_class, -- Whether its cores are of another
    -- type.
    coalesce(p.new_ideal_cpu = (p.cpu & 255), false) AS ideal   -- Whether it is its ideal CPU.
FROM piece p
LEFT JOIN core u ON u.trace_id = p.trace_id AND u.cpu = p.cpu
LEFT JOIN core n ON n.trace_id = p.trace_id AND n.cpu = p.near_cpu;
