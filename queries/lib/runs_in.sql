-- # Runs on CPUs
--
-- Every stretch in which a thread had a CPU, clipped to the window, the idle thread's included.
-- The last run of a CPU is open and counts to the end of the scheduling record; a run whose chain
-- is broken has no known end and is left out.
CREATE OR REPLACE MACRO runs_in(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Start of the window in seconds; NULL for the start of the trace.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end of the trace.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS (
    SELECT s.trace_id, s.end_ns FROM selected_traces(trace) s
),
last_switch AS (
    SELECT c.trace_id, c.cpu, max(c.ts_ns) AS ts_ns
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
    GROUP BY c.trace_id, c.cpu
),
whole AS (
    SELECT
        c.trace_id, c.cpu, c.ts_ns, c.new_thread_key, c.new_process_key, c.new_tid, c.new_pid,
        c.new_priority, c.out_priority, c.new_rank_before, c.new_rank, c.new_qos,
        c.run_ns IS NULL AS open,
        CASE
            WHEN c.run_ns IS NOT NULL THEN c.ts_ns + c.run_ns
            WHEN l.ts_ns IS NOT NULL THEN k.end_ns
        END AS end_ts_ns
    FROM cswitch c
    JOIN chosen k ON k.trace_id = c.trace_id
    LEFT JOIN last_switch l
        ON l.trace_id = c.trace_id AND l.cpu = c.cpu AND l.ts_ns = c.ts_ns
)
SELECT
    w.trace_id,                           -- Trace.
    w.cpu,                                -- CPU.
    greatest(w.ts_ns, seconds_ns(from_s)) AS from_ts_ns, -- Start, clipped to the window.
    least(w.end_ts_ns, seconds_ns(to_s)) AS to_ts_ns,    -- End, clipped to the window.
    w.ts_ns,                              -- The switch that began the run.
    w.new_thread_key AS thread_key,       -- Thread.
    w.new_process_key AS process_key,     -- Its process.
    w.new_tid AS tid,                     -- Thread id; 0 is the idle thread.
    w.new_pid AS pid,                     -- Process id.
    w.new_priority AS priority,           -- Priority at switch-in.
    w.out_priority,                       -- Priority at switch-out.
    greatest(w.new_rank_before, w.new_rank) AS rank,  -- Highest rank known of the run.
    w.new_rank,                           -- Rank at switch-out.
    w.new_qos AS qos,                     -- Quality-of-service level.
    w.open,                               -- Whether the run is its CPU's last.
    w.new_tid = 0 OR coalesce(w.new_pid, -1) = 0 AS idle  -- Whether the CPU was idle.
FROM whole w
WHERE greatest(w.ts_ns, seconds_ns(from_s)) < least(w.end_ts_ns, seconds_ns(to_s))
    AND w.end_ts_ns IS NOT NULL;
