-- # Long waits
--
-- Which single waits were long, what did the thread wait in, and who ended the wait?
--
-- A wait runs from the switch-out to the ready event; one that nobody ended is `open` and counts to
-- the end of the scheduling record. Gaps of the recording do not count. `frame` is where the thread
-- waited and `ready_frame` what the other side did, both as the innermost frame that is more
-- telling than the wait or signal function itself. With a window, every wait that meets it is
-- listed whole.
--
-- needs:   cswitch, ready
-- source:  "Chasing a hitch" (waits with the new thread's and the readying thread's stacks)
-- caveats: Threads of pools wait long because they have nothing to do; name a process.
-- key:     process, frame
-- measure: wait_ms
-- status:  stable
CREATE OR REPLACE MACRO long_waits(
    -- Shortest wait worth reporting, in milliseconds, gaps not counted.
    min_wait_ms DOUBLE := 1000.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the waiting process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH waited AS MATERIALIZED (
    SELECT w.*
    FROM wait_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_wait_ms * 1000000.0) AS BIGINT)
    ) w
    WHERE w.wait_ns >= min_wait_ms * 1000000.0
        AND in_window(w.from_ts_ns, w.to_ts_ns, from_s, to_s)
),
telling AS (
    SELECT f.trace_id, f.stack_id, f.frame
    FROM telling_frames(trace := trace) f
    WHERE (f.trace_id, f.stack_id) IN (
        SELECT (w.trace_id, w.new_stack_id) FROM waited w
        UNION ALL
        SELECT (w.trace_id, w.ready_stack_id) FROM waited w
    )
)
SELECT
    w.trace,                              -- Name of the trace.
    w.process,                            -- Image name of the waiting process.
    w.pid,                                -- Process id.
    w.tid,                                -- Thread id.
    w.from_ts_ns,                         -- The switch-out that began the wait.
    CASE WHEN NOT w.open THEN w.to_ts_ns END AS ready_ts_ns, -- When it was made ready; NULL: never.
    w.ts_ns,                              -- When it ran again; NULL: never.
    w.wait_ns / 1000000.0 AS wait_ms,     -- How long it waited, without gaps.
    w.gap_ns / 1000000.0 AS gap_ms,       -- How much of the wait was not recorded.
    w.open,                               -- Whether nobody ended it.
    wait_reason_name(w.wait_reason) AS wait_reason, -- What kind of wait it was.
    q.name AS readying_process,           -- Process that ended it; NULL: none, a DPC, unknown.
    w.readying_tid,                       -- Thread that ended it.
    a.frame,                              -- Where it waited.
    b.frame AS ready_frame,               -- Where the other side was when it ended the wait.
    w.new_stack_id,                       -- Stack where it waited.
    w.ready_stack_id,                     -- Stack of the other side.
    w.trace_id                            -- Trace.
FROM waited w
LEFT JOIN processes_of('waited') q
    ON q.trace_id = w.trace_id AND q.process_key = w.readying_process_key
LEFT JOIN telling a ON a.trace_id = w.trace_id AND a.stack_id = w.new_stack_id
LEFT JOIN telling b ON b.trace_id = w.trace_id AND b.stack_id = w.ready_stack_id
ORDER BY 8 DESC, 1, w.trace_id, 5, 4, w.thread_key;
