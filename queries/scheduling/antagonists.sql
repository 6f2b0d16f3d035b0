-- # Who ran while others were ready
--
-- Which processes had the CPUs while the threads of this process stood ready?
--
-- Adds up, for every pair of processes, the CPU time of the one during the ready intervals of the
-- other, on all CPUs and on the CPU where the ready thread then ran. Ready intervals that overlap
-- count each.
--
-- needs:   cswitch
-- source:  https://github.com/google/schedviz "SchedViz: antagonists", Google
-- caveats: On an idle machine, running beside a ready thread is no fault; see `why_not_running`.
-- key:     process, antagonist
-- measure: cpu_ms
-- status:  stable
CREATE OR REPLACE MACRO antagonists(
    -- Shortest ready time that counts, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 1.0,
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
        min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
),
-- By interval first, which is quicker than to count distinct ones.
beside AS (
    SELECT
        r.trace_id, r.process_key, r.thread_key, r.ready_ts_ns, r.run_process_key,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns,
        CAST(coalesce(sum(r.to_ts_ns - r.from_ts_ns) FILTER (WHERE r.near), 0) AS BIGINT)
            AS same_cpu_ns,
        min(r.run_least_priority) AS priority_min,
        max(r.run_greatest_priority) AS priority_max
    FROM ready_pieces('waiting', false) r
    WHERE NOT r.idle
    GROUP BY r.trace_id, r.process_key, r.thread_key, r.ready_ts_ns, r.run_process_key
),
ran AS (
    SELECT
        b.trace_id, b.process_key, b.run_process_key, count(*) AS intervals,
        CAST(sum(b.cpu_ns) AS BIGINT) AS cpu_ns, CAST(sum(b.same_cpu_ns) AS BIGINT) AS same_cpu_ns,
        min(b.priority_min) AS priority_min, max(b.priority_max) AS priority_max
    FROM beside b
    GROUP BY b.trace_id, b.process_key, b.run_process_key
),
chosen AS (
    SELECT w.trace_id, any_value(w.trace) AS trace FROM waiting w GROUP BY w.trace_id
),
named AS MATERIALIZED (
    SELECT p.* FROM processes_of('waiting') p
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name of the process whose threads were ready.
    p.pid,                                -- Its process id.
    q.name AS antagonist,                 -- Image name of the process that ran.
    q.pid AS antagonist_pid,              -- Its process id.
    r.intervals,                          -- Ready intervals in which it ran.
    r.cpu_ns / 1000000.0 AS cpu_ms,       -- Its CPU time in them, on all CPUs.
    r.same_cpu_ns / 1000000.0 AS same_cpu_ms, -- Of it, on the CPU where the ready thread then ran.
    r.priority_min,                       -- Lowest priority at which it ran.
    r.priority_max,                       -- Highest priority at which it ran.
    r.trace_id                            -- Trace.
FROM ran r
JOIN chosen t ON t.trace_id = r.trace_id
LEFT JOIN named p ON p.trace_id = r.trace_id AND p.process_key = r.process_key
LEFT JOIN named q ON q.trace_id = r.trace_id AND q.process_key = r.run_process_key
ORDER BY 7 DESC, 1, r.trace_id, 2, 3, 4, 5, r.process_key, r.run_process_key;
