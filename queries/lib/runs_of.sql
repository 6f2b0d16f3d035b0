-- # Runs on CPUs of given traces
--
-- As `runs_in`, for traces that the caller has chosen already: a table expression of its own,
-- given by its name, with a row per trace. Each trace is read once, whatever the caller does.
-- The last run of a CPU is open and counts to the end of the scheduling record; a run whose chain
-- is broken has no known end and is left out.
CREATE OR REPLACE MACRO runs_of(
    -- Name of the caller's table: `trace_id`, `end_ns` (end of the scheduling record), and the
    -- window to which runs are clipped, `from_ns` and `to_ns`, each NULL for none.
    traces
) AS TABLE
WITH every AS (
    SELECT
        c.trace_id, c.cpu, c.ts_ns, c.ts_ns + c.run_ns AS end_ts_ns, false AS open,
        c.new_thread_key, c.new_process_key, c.new_tid, c.new_pid, c.new_priority, c.out_priority,
        c.new_rank_before, c.new_rank, c.new_qos
    FROM cswitch c
    WHERE c.run_ns > 0 AND c.trace_id IN (SELECT t.trace_id FROM query_table(traces) t)
    UNION ALL
    -- Whether an open run is its CPU's last is told by all switches of the CPU.
    SELECT
        l.trace_id, l.cpu, l.open_ts_ns AS ts_ns, k.end_ns AS end_ts_ns, true AS open,
        l.run.new_thread_key, l.run.new_process_key, l.run.new_tid, l.run.new_pid,
        l.run.new_priority, NULL AS out_priority, l.run.new_rank_before, NULL AS new_rank,
        l.run.new_qos
    FROM (
        SELECT
            c.trace_id, c.cpu, max(c.ts_ns) AS last_ts_ns,
            max(c.ts_ns) FILTER (WHERE c.run_ns IS NULL) AS open_ts_ns,
            arg_max({
                'new_thread_key': c.new_thread_key, 'new_process_key': c.new_process_key,
                'new_tid': c.new_tid, 'new_pid': c.new_pid, 'new_priority': c.new_priority,
                'new_rank_before': c.new_rank_before, 'new_qos': c.new_qos
            }, c.ts_ns) FILTER (WHERE c.run_ns IS NULL) AS run
        FROM cswitch c
        WHERE c.trace_id IN (SELECT t.trace_id FROM query_table(traces) t)
        GROUP BY c.trace_id, c.cpu
    ) l
    JOIN query_table(traces) k ON k.trace_id = l.trace_id
    WHERE l.open_ts_ns = l.last_ts_ns
)
SELECT
    w.trace_id,                           -- Trace.
    w.cpu,                                -- CPU.
    greatest(w.ts_ns, k.from_ns) AS from_ts_ns, -- Start, clipped to the window.
    least(w.end_ts_ns, k.to_ns) AS to_ts_ns,    -- End, clipped to the window.
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
FROM every w
JOIN query_table(traces) k ON k.trace_id = w.trace_id
WHERE greatest(w.ts_ns, k.from_ns) < least(w.end_ts_ns, k.to_ns) AND w.end_ts_ns IS NOT NULL;
