-- # Stretches in which threads waited
--
-- One row per wait: from the switch-out to the ready event. Waits of threads that were made ready
-- but never ran again, and waits still open when the recording of switches stopped, are included.
-- A thread that lost its CPU or was made ready at once did not wait.
CREATE OR REPLACE MACRO wait_intervals(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the waiting thread's process; NULL for all.
    process VARCHAR := NULL,
    -- Shortest wait, in nanoseconds, gaps included.
    min_ns BIGINT := 0
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.end_ns, s.gaps FROM selected_traces(trace) s
),
every AS (
    SELECT
        c.trace_id, c.new_thread_key AS thread_key, c.new_process_key AS process_key,
        c.new_tid AS tid, c.new_pid AS pid,
        c.ts_ns - c.since_last_ns AS from_ts_ns, c.ts_ns - c.ready_ns AS to_ts_ns, c.ts_ns,
        false AS open, c.prev_wait_reason AS wait_reason, c.readying_thread_key,
        c.readying_process_key, c.readying_tid, coalesce(c.ready_in_dpc, false) AS ready_in_dpc,
        c.new_stack_id, c.ready_stack_id
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND c.since_last_ns - c.ready_ns >= min_ns
        AND c.since_last_ns - c.ready_ns > 0
        AND c.new_tid <> 0
    UNION ALL
    SELECT
        e.trace_id, e.thread_key, e.process_key, h.tid, h.pid,
        coalesce(e.last_out_ts_ns, CASE WHEN e.state = 'waiting' THEN e.since_ts_ns END)
            AS from_ts_ns,
        CASE WHEN e.state = 'ready' THEN e.since_ts_ns ELSE k.end_ns END AS to_ts_ns,
        NULL AS ts_ns, e.state = 'waiting' AS open, e.wait_reason, e.readying_thread_key,
        r.process_key AS readying_process_key, r.tid AS readying_tid, false AS ready_in_dpc,
        NULL AS new_stack_id, e.stack_id AS ready_stack_id
    FROM thread_end_state e
    JOIN chosen k ON k.trace_id = e.trace_id
    JOIN thread h ON h.trace_id = e.trace_id AND h.thread_key = e.thread_key
    LEFT JOIN thread r ON r.trace_id = e.trace_id AND r.thread_key = e.readying_thread_key
    WHERE e.trace_id IN (SELECT s.trace_id FROM chosen s)
        AND e.state IN ('waiting', 'ready')
        AND h.tid <> 0
        AND e.prev_state IS DISTINCT FROM 4
        AND (e.state = 'ready' OR h.end_ts_ns IS NULL)
)
SELECT
    b.trace_id,                -- Trace.
    k.trace,                   -- Its name.
    b.thread_key,              -- The thread that waited.
    b.process_key,             -- Its process.
    p.name AS process,         -- Image name of the process.
    coalesce(b.pid, p.pid) AS pid, -- Process id.
    b.tid,                     -- Thread id.
    b.from_ts_ns,              -- The switch-out that began the wait.
    b.to_ts_ns,                -- The ready event, or the end of the scheduling record.
    b.ts_ns,                   -- The switch-in that followed; NULL: none.
    b.to_ts_ns - b.from_ts_ns
        - gap_within_ns(k.gaps, b.from_ts_ns, b.to_ts_ns) AS wait_ns, -- Length without gaps.
    gap_within_ns(k.gaps, b.from_ts_ns, b.to_ts_ns) AS gap_ns, -- Gaps in it.
    b.open,                    -- Whether nobody ended it.
    b.wait_reason,             -- What it waited for.
    b.readying_thread_key,     -- Thread that ended it.
    b.readying_process_key,    -- Process that ended it.
    b.readying_tid,            -- Thread id of the one that ended it.
    b.ready_in_dpc,            -- Whether a DPC ended it.
    b.new_stack_id,            -- Stack where it waited.
    b.ready_stack_id           -- Stack of the readier.
FROM every b
JOIN chosen k ON k.trace_id = b.trace_id
LEFT JOIN processes_of('chosen') p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
WHERE b.to_ts_ns > b.from_ts_ns
    AND b.to_ts_ns - b.from_ts_ns >= min_ns
    AND glob_matches(p.name, process);
