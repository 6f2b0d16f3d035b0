-- # Stretches in which threads were ready but did not run
--
-- One row per ready interval: those that a switch ended, and those still open when the recording
-- of switches stopped. The idle thread is never ready. With a window, every interval that meets it
-- comes whole.
CREATE OR REPLACE MACRO ready_intervals(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the ready thread's process; NULL for all.
    process VARCHAR := NULL,
    -- Shortest interval, in nanoseconds, gaps included.
    min_ns BIGINT := 0,
    -- Start of the window in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL,
    -- Whether the affinity of threads is wanted; where not, threads are not read for it.
    placed BOOLEAN := false
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.end_ns, s.gaps FROM selected_traces(trace) s
),
every AS (
    SELECT
        c.trace_id, c.new_thread_key AS thread_key, c.new_process_key AS process_key,
        c.new_tid AS tid, c.new_pid AS pid,
        c.ts_ns - c.ready_ns AS from_ts_ns, c.ts_ns AS to_ts_ns, false AS open, c.cpu,
        c.cpu AS near_cpu,
        c.new_priority, c.prev_priority, c.new_rank_before, c.new_rank, c.new_ideal_cpu,
        c.readying_process_key, c.readying_tid, c.last_ready_ts_ns, c.ready_events,
        (coalesce(c.ready_flags, 0) & 6) <> 0 AS not_resident, c.ready_stack_id,
        c.prev_wait_reason
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND c.ready_ns >= greatest(min_ns, 1)
        AND c.new_tid <> 0
        AND in_window(c.ts_ns - c.ready_ns, c.ts_ns, from_s, to_s)
    UNION ALL
    SELECT
        e.trace_id, e.thread_key, e.process_key, h.tid, h.pid,
        e.since_ts_ns AS from_ts_ns, k.end_ns AS to_ts_ns, true AS open, NULL AS cpu,
        e.cpu AS near_cpu,
        NULL AS new_priority, e.prev_priority, e.rank AS new_rank_before, NULL AS new_rank,
        NULL AS new_ideal_cpu, r.process_key AS readying_process_key, r.tid AS readying_tid,
        NULL AS last_ready_ts_ns, NULL AS ready_events,
        coalesce(e.not_resident, false) AS not_resident, e.stack_id AS ready_stack_id,
        e.wait_reason AS prev_wait_reason
    FROM thread_end_state e
    JOIN chosen k ON k.trace_id = e.trace_id
    JOIN thread h ON h.trace_id = e.trace_id AND h.thread_key = e.thread_key
    LEFT JOIN thread r ON r.trace_id = e.trace_id AND r.thread_key = e.readying_thread_key
    WHERE e.trace_id IN (SELECT s.trace_id FROM chosen s)
        AND e.state = 'ready'
        AND h.tid <> 0
        AND k.end_ns - e.since_ts_ns >= min_ns
        AND k.end_ns > e.since_ts_ns
        AND in_window(e.since_ts_ns, k.end_ns, from_s, to_s)
)
SELECT
    b.trace_id,                -- Trace.
    k.trace,                   -- Its name.
    b.thread_key,              -- The thread that was ready.
    b.process_key,             -- Its process.
    p.name AS process,         -- Image name of the process.
    coalesce(b.pid, p.pid) AS pid, -- Process id.
    b.tid,                     -- Thread id.
    b.from_ts_ns,              -- When it became ready.
    b.to_ts_ns,                -- When it ran, or the end of the scheduling record.
    b.to_ts_ns - b.from_ts_ns AS interval_ns, -- Length, gaps included.
    gap_within_ns(k.gaps, b.from_ts_ns, b.to_ts_ns) AS gap_ns, -- Of it, in gaps.
    b.open,                    -- Whether it never ran.
    b.cpu,                     -- CPU on which it then ran.
    b.near_cpu,                -- The same; of one that never ran, the CPU that it last left.
    b.new_priority,            -- Priority at switch-in.
    b.prev_priority,           -- Priority while it waited.
    b.new_rank_before,         -- Rank when it last left.
    b.new_rank,                -- Rank at the end of the run.
    b.new_ideal_cpu,           -- Ideal CPU, from the end of the run.
    b.readying_process_key,    -- Process that made it ready.
    b.readying_tid,            -- Thread that made it ready.
    b.last_ready_ts_ns,        -- Last ready event.
    b.ready_events,            -- Number of ready events.
    b.not_resident,            -- Whether stack or process had to be brought in.
    b.ready_stack_id,          -- Stack of the ready event.
    b.prev_wait_reason,        -- Why it had left the CPU.
    k.end_ns,                  -- End of the trace's scheduling record.
    m.affinity                 -- Affinity mask of the thread; NULL: unknown, or not wanted.
FROM every b
JOIN chosen k ON k.trace_id = b.trace_id
LEFT JOIN processes_of('chosen') p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
LEFT JOIN (
    SELECT h.trace_id, h.thread_key, h.affinity
    FROM thread h
    WHERE placed AND h.trace_id IN (SELECT s.trace_id FROM chosen s)
) m ON m.trace_id = b.trace_id AND m.thread_key = b.thread_key
WHERE glob_matches(p.name, process);
