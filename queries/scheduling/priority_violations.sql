-- # Ready threads passed over by lower priorities
--
-- Which threads were ready while a CPU that they may use ran a thread of lower priority?
--
-- A certain violation is a stretch in which the thread is ready and at least one CPU that its
-- affinity allows runs a thread (not the idle thread) whose priority, when it was switched in and
-- when it was switched out, is below the ready thread's, before and after the interval. Stretches
-- are maximal: CPUs are not added up. Priorities that are not known are left out; where a side has
-- none, there is no violation. `explained_by` names the first of these that leaves less than
-- `min_ms` of the stretch: rank (a lower rank goes first), frozen, not resident, dpc, core class
-- (only cores of another type ran lower priorities), gap. On a healthy Windows nothing stays
-- unexplained.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Windows compares a ready thread with its ideal CPU only, so short stretches are normal.
-- caveats: Idle CPUs beside a ready thread are the matter of `idle_while_ready`.
-- key:     process
-- measure: violation_ms
-- finding: explained_by IS NULL
-- status:  stable
CREATE OR REPLACE MACRO priority_violations(
    -- Shortest stretch worth reporting, in milliseconds.
    min_ms DOUBLE := 100.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the ready process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH waiting AS MATERIALIZED (
    SELECT i.*
    FROM ready_intervals(
        trace := trace, process := process, from_s := from_s, to_s := to_s,
        placed := true, min_ns := CAST(ceil(min_ms * 1000000.0) AS BIGINT)
    ) i
),
lower_run AS MATERIALIZED (
    SELECT
        r.trace_id, r.thread_key, r.ready_ts_ns, r.from_ts_ns, r.to_ts_ns, r.cpu,
        r.run_least_priority, r.least_priority,
        CASE WHEN r.run_rank < r.rank THEN 0 ELSE 1 END AS not_by_rank,
        CASE WHEN r.other_class THEN 0 ELSE 1 END AS not_by_class
    FROM ready_pieces('waiting', true) r
    WHERE NOT r.idle AND r.allowed AND r.run_greatest_priority < r.least_priority
),
edge AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns,
        CAST(sum(e.step) AS BIGINT) AS step,
        CAST(sum(e.step * e.not_by_rank) AS BIGINT) AS rank_step,
        CAST(sum(e.step * e.not_by_class) AS BIGINT) AS class_step
    FROM (
        SELECT l.*, l.from_ts_ns AS ts_ns, 1 AS step FROM lower_run l
        UNION ALL
        SELECT l.*, l.to_ts_ns AS ts_ns, -1 AS step FROM lower_run l
    ) e
    GROUP BY e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns
),
segment AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns,
        lead(e.ts_ns) OVER by_time AS next_ts_ns,
        sum(e.step) OVER by_time AS running,
        sum(e.rank_step) OVER by_time AS running_not_by_rank,
        sum(e.class_step) OVER by_time AS running_not_by_class
    FROM edge e
    WINDOW by_time AS (PARTITION BY e.trace_id, e.thread_key, e.ready_ts_ns ORDER BY e.ts_ns)
),
numbered AS (
    SELECT
        g.*,
        count(*) FILTER (WHERE g.running = 0) OVER (
            PARTITION BY g.trace_id, g.thread_key, g.ready_ts_ns ORDER BY g.ts_ns
        ) AS stretch_number
    FROM segment g
),
every_stretch AS (
    SELECT
        n.trace_id, n.thread_key, n.ready_ts_ns,
        min(n.ts_ns) AS from_ts_ns, max(n.next_ts_ns) AS to_ts_ns,
        CAST(coalesce(sum(n.next_ts_ns - n.ts_ns) FILTER (WHERE n.running_not_by_rank > 0), 0)
            AS BIGINT) AS not_by_rank_ns,
        CAST(coalesce(sum(n.next_ts_ns - n.ts_ns) FILTER (WHERE n.running_not_by_class > 0), 0)
            AS BIGINT) AS not_by_class_ns
    FROM numbered n
    WHERE n.running > 0
    GROUP BY n.trace_id, n.thread_key, n.ready_ts_ns, n.stretch_number
),
stretch AS MATERIALIZED (
    SELECT e.* FROM every_stretch e WHERE e.to_ts_ns - e.from_ts_ns >= min_ms * 1000000.0
),
by_cpu AS (
    SELECT
        s.trace_id, s.thread_key, s.ready_ts_ns, s.from_ts_ns, l.cpu, l.least_priority,
        CAST(sum(l.to_ts_ns - l.from_ts_ns) AS BIGINT) AS lower_ns,
        min(l.run_least_priority) AS lower_priority
    FROM stretch s
    JOIN lower_run l
        ON l.trace_id = s.trace_id AND l.thread_key = s.thread_key
        AND l.ready_ts_ns = s.ready_ts_ns
        AND l.from_ts_ns >= s.from_ts_ns AND l.from_ts_ns < s.to_ts_ns
    GROUP BY ALL
),
worst AS MATERIALIZED (
    SELECT b.*, s.to_ts_ns, s.not_by_rank_ns, s.not_by_class_ns
    FROM by_cpu b
    JOIN stretch s
        ON s.trace_id = b.trace_id AND s.thread_key = b.thread_key
        AND s.ready_ts_ns = b.ready_ts_ns AND s.from_ts_ns = b.from_ts_ns
    QUALIFY row_number() OVER (
        PARTITION BY b.trace_id, b.thread_key, b.ready_ts_ns, b.from_ts_ns
        ORDER BY b.lower_ns DESC, b.cpu
    ) = 1
),
dpc AS (
    SELECT
        w.trace_id, w.thread_key, w.from_ts_ns,
        CAST(sum(overlap_ns(w.from_ts_ns, w.to_ts_ns, d.start_ts_ns, d.start_ts_ns + d.duration_ns))
            AS BIGINT) AS dpc_ns
    FROM worst w
    JOIN dpc_isr d
        ON d.trace_id = w.trace_id AND d.cpu = w.cpu
        AND d.start_ts_ns < w.to_ts_ns AND d.start_ts_ns + d.duration_ns > w.from_ts_ns
    GROUP BY ALL
),
frozen AS (
    SELECT
        w.trace_id, w.thread_key, w.from_ts_ns,
        CAST(sum(overlap_ns(w.from_ts_ns, w.to_ts_ns, f.from_ts_ns, f.to_ts_ns)) AS BIGINT)
            AS frozen_ns
    FROM worst w
    JOIN thread h ON h.trace_id = w.trace_id AND h.thread_key = w.thread_key
    JOIN frozen_intervals(trace := trace) f
        ON f.trace_id = w.trace_id AND f.process_key = h.process_key
        AND f.from_ts_ns < w.to_ts_ns AND f.to_ts_ns > w.from_ts_ns
    GROUP BY ALL
)
SELECT
    i.trace,                              -- Name of the trace.
    i.process,                            -- Image name of the ready thread's process.
    i.pid,                                -- Its process id.
    i.tid,                                -- Its thread id.
    w.from_ts_ns,                         -- Start of the stretch.
    w.to_ts_ns,                           -- End of the stretch.
    (w.to_ts_ns - w.from_ts_ns) / 1000000.0 AS violation_ms, -- Length of the stretch.
    w.least_priority AS priority,         -- The ready thread's priority: the lower of before and
    -- after.
    w.lower_priority,                     -- The lowest priority that `cpu` ran meanwhile.
    w.cpu,                                -- The CPU that ran lower priorities longest.
    CASE
        WHEN w.not_by_rank_ns < min_ms * 1000000.0 THEN 'rank'
        WHEN w.to_ts_ns - w.from_ts_ns - coalesce(f.frozen_ns, 0) < min_ms * 1000000.0 THEN 'frozen'
        WHEN i.not_resident AND w.to_ts_ns - greatest(w.from_ts_ns, resident_ts_ns(
            i.last_ready_ts_ns, i.ready_events, i.to_ts_ns)) < min_ms * 1000000.0
            THEN 'not resident'
        WHEN w.to_ts_ns - w.from_ts_ns - coalesce(d.dpc_ns, 0) < min_ms * 1000000.0 THEN 'dpc'
        WHEN w.not_by_class_ns < min_ms * 1000000.0 THEN 'core class'
        WHEN w.to_ts_ns - w.from_ts_ns - gap_within_ns(t.gaps, w.from_ts_ns, w.to_ts_ns)
            < min_ms * 1000000.0 THEN 'gap'
    END AS explained_by,                  -- What explains it; NULL: nothing does.
    greatest(i.new_rank_before, i.new_rank) AS rank, -- Rank of the ready thread.
    i.from_ts_ns AS ready_ts_ns,          -- Since when the thread was ready.
    i.trace_id                            -- Trace.
FROM worst w
JOIN waiting i
    ON i.trace_id = w.trace_id AND i.thread_key = w.thread_key AND i.from_ts_ns = w.ready_ts_ns
JOIN selected_traces(trace) t ON t.trace_id = w.trace_id
LEFT JOIN dpc d
    ON d.trace_id = w.trace_id AND d.thread_key = w.thread_key AND d.from_ts_ns = w.from_ts_ns
LEFT JOIN frozen f
    ON f.trace_id = w.trace_id AND f.thread_key = w.thread_key AND f.from_ts_ns = w.from_ts_ns
ORDER BY 7 DESC, 1, i.trace_id, 5, 4, i.thread_key;
