-- # Root causes of long waits
--
-- Whom did all the long waits in the end wait for, and for which function?
--
-- Follows the chain of every wait over the threshold as `wait_chain` does: from the waiting thread
-- to the one that woke it, and on as long as that one had itself been waiting within the time of
-- the first wait. Holders shorter than `min_hold_us` pass the blame on. The last thread of the
-- chain that held longer is the root; `frame` is what it did when it woke the next. Waits that a
-- DPC or an unknown thread ended have no root process.
--
-- needs:   cswitch, ready
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Threads of pools wait long because they have nothing to do; name a process.
-- key:     root_process, frame
-- measure: wait_s
-- status:  stable
CREATE OR REPLACE MACRO wait_root_causes(
    -- Shortest wait to follow, in milliseconds, gaps not counted.
    min_wait_ms DOUBLE := 1000.0,
    -- Holders shorter than this, in microseconds, pass the blame on.
    min_hold_us DOUBLE := 100.0,
    -- Most hops to follow.
    max_hops INTEGER := 64,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the waiting process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that a wait meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that a wait meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH RECURSIVE root AS MATERIALIZED (
    SELECT w.*, row_number() OVER (ORDER BY w.trace_id, w.thread_key, w.from_ts_ns) AS id
    FROM wait_intervals(
        trace := trace, process := process,
        min_ns := CAST(ceil(min_wait_ms * 1000000.0) AS BIGINT)
    ) w
    WHERE w.wait_ns >= min_wait_ms * 1000000.0
        AND NOT w.open
        AND in_window(w.from_ts_ns, w.to_ts_ns, from_s, to_s)
),
switch AS MATERIALIZED (
    SELECT
        c.trace_id, c.new_thread_key AS thread_key, c.ts_ns,
        c.ts_ns - c.since_last_ns AS out_ts_ns, c.ts_ns - c.ready_ns AS ready_ts_ns,
        CASE WHEN c.since_last_ns > c.ready_ns AND NOT coalesce(c.ready_in_dpc, false)
            THEN c.readying_thread_key END AS readying_thread_key,
        c.ready_stack_id
    FROM cswitch c
    WHERE c.trace_id IN (SELECT r.trace_id FROM root r) AND c.new_tid <> 0
),
walk AS (
    SELECT
        r.id, r.trace_id, 0 AS hop, r.thread_key, r.from_ts_ns AS root_from_ns,
        r.from_ts_ns AS out_ts_ns, r.to_ts_ns AS ready_ts_ns, r.readying_thread_key,
        r.ready_stack_id, CAST(NULL AS BIGINT) AS hold_ns, CAST(NULL AS BIGINT) AS shown_stack_id,
        [r.thread_key] AS seen
    FROM root r
    UNION ALL
    SELECT
        n.id, n.trace_id, n.hop, n.thread_key, n.root_from_ns, n.out_ts_ns, n.ready_ts_ns,
        n.readying_thread_key, n.ready_stack_id, n.hold_ns, n.shown_stack_id, n.seen
    FROM (
        SELECT
            w.id, w.trace_id, w.hop + 1 AS hop, w.readying_thread_key AS thread_key,
            w.root_from_ns, s.out_ts_ns, s.ready_ts_ns,
            -- Beyond the beginning of the first wait nobody is to blame for it.
            CASE WHEN s.ts_ns > w.root_from_ns THEN s.readying_thread_key END
                AS readying_thread_key,
            s.ready_stack_id,
            w.ready_ts_ns - greatest(s.ts_ns, w.out_ts_ns, w.root_from_ns) AS hold_ns,
            w.ready_stack_id AS shown_stack_id,
            list_append(w.seen, w.readying_thread_key) AS seen,
            row_number() OVER (PARTITION BY w.id ORDER BY s.ts_ns DESC NULLS LAST) AS nearest
        FROM walk w
        LEFT JOIN switch s
            ON s.trace_id = w.trace_id AND s.thread_key = w.readying_thread_key
            AND s.ts_ns <= w.ready_ts_ns
        WHERE w.readying_thread_key IS NOT NULL
            AND w.hop < max_hops
            AND NOT list_contains(w.seen, w.readying_thread_key)
    ) n
    WHERE n.nearest = 1
),
cause AS (
    SELECT
        w.id, w.trace_id, w.hop, w.thread_key, w.hold_ns, w.shown_stack_id
    FROM walk w
    WHERE w.hop > 0
    QUALIFY row_number() OVER (
        PARTITION BY w.id ORDER BY w.hold_ns >= min_hold_us * 1000.0 DESC, w.hop DESC
    ) = 1
),
blamed AS (
    SELECT
        r.trace_id, r.trace, r.id, r.process, r.thread_key, r.wait_ns,
        p.name AS root_process, p.pid AS root_pid, f.frame, c.hop, c.hold_ns
    FROM root r
    LEFT JOIN cause c ON c.id = r.id
    LEFT JOIN thread h ON h.trace_id = c.trace_id AND h.thread_key = c.thread_key
    LEFT JOIN process p ON p.trace_id = h.trace_id AND p.process_key = h.process_key
    LEFT JOIN telling_frames(trace := trace) f
        ON f.trace_id = c.trace_id AND f.stack_id = c.shown_stack_id
)
SELECT
    b.trace,                              -- Name of the trace.
    b.root_process,                       -- Process at the end of the chains; NULL: unknown or a
    -- DPC.
    b.root_pid,                           -- Its process id.
    b.frame,                              -- What it did when it woke the next; NULL: no stack.
    count(*) AS waits,                    -- Waits that lead there.
    CAST(sum(b.wait_ns) AS BIGINT) / 1e9 AS wait_s, -- Their time, without gaps, in seconds.
    count(DISTINCT b.thread_key) AS threads, -- Threads that waited.
    string_agg(DISTINCT b.process, ', ' ORDER BY b.process) AS waiting_processes, -- Processes that
    -- waited.
    max(b.hop) AS hops_max,               -- Longest chain.
    CAST(coalesce(sum(b.hold_ns), 0) AS BIGINT) / 1000.0 AS hold_us, -- How long the roots held,
    -- together.
    b.trace_id                            -- Trace.
FROM blamed b
GROUP BY b.trace, b.trace_id, b.root_process, b.root_pid, b.frame
ORDER BY 6 DESC, 1, b.trace_id, 2, 3, 4;
