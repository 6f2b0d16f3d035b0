-- # Chain of waits
--
-- Whom was this thread waiting for, and whom was that one waiting for, hop by hop?
--
-- Starts at the switch-in of the thread that is nearest to the time. Hop 0 is that thread; each
-- further hop is the thread that made the one before ready, at its own last switch-in before that.
-- `hold_us` runs from the later of its switch-in and the beginning of the other's wait, to the
-- ready event: how long it kept the other waiting while it could run. Short holders are marked
-- `folded`: they only passed on what they waited for themselves. The chain crosses processes and
-- stops at a DPC, at an unknown waker, at a thread that it has already seen, and at `max_hops`.
--
-- needs:   cswitch, ready
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Who made a thread ready is usually, not always, who held what it waited for.
-- key:     hop
-- measure: mean hold_us
-- status:  stable
CREATE OR REPLACE MACRO wait_chain(
    -- Thread id of the thread that waited.
    tid BIGINT,
    -- Time of its switch-in after the wait, in seconds since the trace start; the nearest is taken.
    at_s DOUBLE,
    -- Holders shorter than this, in microseconds, are marked as folded.
    min_hold_us DOUBLE := 100.0,
    -- Most hops to follow.
    max_hops INTEGER := 64,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH RECURSIVE asked AS (
    -- Beside a column of the same name the parameter could not be seen.
    SELECT tid AS asked_tid, seconds_ns(at_s) AS at_ns
),
-- Only traces that have such a thread are read; the threads of all are looked at once.
named_trace AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.gaps FROM selected_traces(trace) s
),
chosen AS MATERIALIZED (
    SELECT n.*
    FROM named_trace n
    WHERE n.trace_id IN (
        SELECT h.trace_id
        FROM thread h
        JOIN asked a ON a.asked_tid = h.tid
        WHERE h.trace_id IN (SELECT m.trace_id FROM named_trace m)
    )
),
switch AS MATERIALIZED (
    SELECT
        c.trace_id, c.new_thread_key, c.new_process_key, c.new_tid, c.new_pid, c.ts_ns,
        c.ts_ns - c.since_last_ns AS out_ts_ns, c.ts_ns - c.ready_ns AS ready_ts_ns,
        -- A thread made ready before it had left was ready at once; the event was earlier.
        CASE WHEN c.since_last_ns > c.ready_ns OR c.last_ready_ts_ns IS NULL
            THEN c.ts_ns - c.ready_ns
            ELSE least(c.ts_ns - c.ready_ns, c.last_ready_ts_ns)
        END AS event_ts_ns,
        CASE WHEN NOT coalesce(c.ready_in_dpc, false) THEN c.readying_thread_key END
            AS readying_thread_key,
        c.readying_tid, c.new_stack_id, c.ready_stack_id
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k) AND c.new_tid <> 0
),
first_switch AS (
    SELECT s.*
    FROM switch s
    JOIN asked a ON a.asked_tid = s.new_tid
    QUALIFY row_number() OVER (
        PARTITION BY s.trace_id ORDER BY abs(s.ts_ns - a.at_ns), s.ts_ns, s.new_thread_key
    ) = 1
),
walk AS (
    SELECT
        f.trace_id, 0 AS hop, f.new_thread_key, f.ts_ns, f.out_ts_ns, f.ready_ts_ns, f.event_ts_ns,
        f.readying_thread_key, f.readying_tid, f.new_stack_id, f.ready_stack_id,
        CAST(NULL AS BIGINT) AS hold_ns, f.new_stack_id AS shown_stack_id,
        [f.new_thread_key] AS seen
    FROM first_switch f
    UNION ALL
    SELECT
        n.trace_id, n.hop, n.new_thread_key, n.ts_ns, n.out_ts_ns, n.ready_ts_ns, n.event_ts_ns,
        n.readying_thread_key, n.readying_tid, n.new_stack_id, n.ready_stack_id,
        n.hold_ns, n.shown_stack_id, n.seen
    FROM (
        SELECT
            w.trace_id, w.hop + 1 AS hop, w.readying_thread_key AS new_thread_key,
            s.ts_ns, s.out_ts_ns, s.ready_ts_ns, s.event_ts_ns, s.readying_thread_key,
            s.readying_tid, s.new_stack_id, s.ready_stack_id,
            w.event_ts_ns - greatest(s.ts_ns, w.out_ts_ns) AS hold_ns,
            w.ready_stack_id AS shown_stack_id,
            list_append(w.seen, w.readying_thread_key) AS seen,
            row_number() OVER (PARTITION BY w.trace_id ORDER BY s.ts_ns DESC NULLS LAST) AS nearest
        FROM walk w
        LEFT JOIN switch s
            ON s.trace_id = w.trace_id AND s.new_thread_key = w.readying_thread_key
            AND s.ts_ns <= w.event_ts_ns
        WHERE w.readying_thread_key IS NOT NULL
            AND w.hop < max_hops
            AND NOT list_contains(w.seen, w.readying_thread_key)
    ) n
    WHERE n.nearest = 1
),
telling AS (
    SELECT f.trace_id, f.stack_id, f.frame
    FROM telling_frames(trace := trace) f
    WHERE (f.trace_id, f.stack_id) IN (
        SELECT (w.trace_id, w.shown_stack_id) FROM walk w
        UNION ALL
        SELECT (w.trace_id, w.new_stack_id) FROM walk w
    )
)
SELECT
    k.trace,                              -- Name of the trace.
    w.hop,                                -- 0 for the thread asked about, then one more for each
    -- waker.
    p.name AS process,                    -- Image name of this node's process.
    coalesce(p.pid, h.pid) AS pid,        -- Process id.
    h.tid,                                -- Thread id.
    w.ts_ns,                              -- Its switch-in; NULL: it ran before the trace began.
    (w.ready_ts_ns - w.out_ts_ns - CASE WHEN w.ready_ts_ns > w.out_ts_ns
        THEN gap_within_ns(k.gaps, w.out_ts_ns, w.ready_ts_ns) ELSE 0 END
    ) / 1000000.0 AS waited_ms,           -- How long it had waited itself before that; NULL:
    -- unknown.
    w.readying_tid AS readied_by_tid,     -- Thread that made it ready; NULL: nobody, a DPC,
    -- unknown.
    w.hold_ns / 1000.0 AS hold_us,        -- How long it kept the hop before it waiting; NULL at hop
    -- 0.
    coalesce(w.hold_ns < min_hold_us * 1000.0, false) AS folded, -- Whether that is below
    -- `min_hold_us`.
    a.frame,                              -- Hop 0: where it waited. Else: what it did when it woke
    -- the hop before.
    b.frame AS wait_frame,                -- Where this thread had waited itself.
    w.trace_id,                           -- Trace.
    w.new_thread_key AS thread_key        -- Key of the thread.
FROM walk w
JOIN chosen k ON k.trace_id = w.trace_id
LEFT JOIN (
    SELECT x.trace_id, x.thread_key, x.tid, x.pid, x.process_key
    FROM thread x
    WHERE x.trace_id IN (SELECT y.trace_id FROM chosen y)
) h ON h.trace_id = w.trace_id AND h.thread_key = w.new_thread_key
LEFT JOIN processes_of('chosen') p ON p.trace_id = w.trace_id AND p.process_key = h.process_key
LEFT JOIN telling a ON a.trace_id = w.trace_id AND a.stack_id = w.shown_stack_id
LEFT JOIN telling b ON b.trace_id = w.trace_id AND b.stack_id = w.new_stack_id
ORDER BY 1, w.trace_id, 2;
