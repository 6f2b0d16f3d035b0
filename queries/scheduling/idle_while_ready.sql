-- # Threads ready beside idle CPUs
--
-- Which threads stood ready although a CPU that they may use was idle?
--
-- For every ready interval, the time in which at least one CPU that the thread's affinity allows
-- ran the idle thread. A healthy scheduler keeps this to the time that a CPU needs to wake.
--
-- needs:   cswitch
-- source:  https://github.com/google/schedviz "SchedViz: idle while overloaded", Google
-- caveats: Parked CPUs are idle too; where they are many, look at the power settings.
-- key:     process
-- measure: idle_ms
-- finding: idle_ms >= 100
-- status:  stable
CREATE OR REPLACE MACRO idle_while_ready(
    -- Shortest time beside an idle CPU worth reporting, in milliseconds.
    min_idle_ms DOUBLE := 10.0,
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
        placed := true, min_ns := CAST(ceil(min_idle_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_idle_ms * 1000000.0
),
idle_piece AS (
    SELECT r.trace_id, r.thread_key, r.ready_ts_ns, r.from_ts_ns, r.to_ts_ns
    FROM ready_pieces('waiting', true) r
    WHERE r.idle AND r.allowed
),
edge AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns, CAST(sum(e.step) AS BIGINT) AS step
    FROM (
        SELECT p.*, p.from_ts_ns AS ts_ns, 1 AS step FROM idle_piece p
        UNION ALL
        SELECT p.*, p.to_ts_ns AS ts_ns, -1 AS step FROM idle_piece p
    ) e
    GROUP BY e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns
),
moment AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns,
        lead(e.ts_ns) OVER by_time AS next_ts_ns,
        CAST(sum(e.step) OVER by_time AS BIGINT) AS idle_cpus
    FROM edge e
    WINDOW by_time AS (PARTITION BY e.trace_id, e.thread_key, e.ready_ts_ns ORDER BY e.ts_ns)
),
-- Moments in gaps of the recording are nobody's fault.
beside AS (
    SELECT
        m.trace_id, m.thread_key, m.ready_ts_ns, max(m.idle_cpus) AS idle_cpus_max,
        CAST(sum(m.next_ts_ns - m.ts_ns - gap_within_ns(s.gaps, m.ts_ns, m.next_ts_ns)) AS BIGINT)
            AS idle_ns
    FROM moment m
    JOIN selected_traces(trace) s ON s.trace_id = m.trace_id
    WHERE m.idle_cpus > 0
    GROUP BY m.trace_id, m.thread_key, m.ready_ts_ns
)
SELECT
    i.trace,                              -- Name of the trace.
    i.process,                            -- Image name of the ready thread's process.
    i.pid,                                -- Its process id.
    i.tid,                                -- Its thread id.
    i.from_ts_ns AS ready_ts_ns,          -- Since when it was ready.
    CASE WHEN NOT i.open THEN i.to_ts_ns END AS ts_ns, -- When it ran at last; NULL: never.
    (i.interval_ns - i.gap_ns) / 1000000.0 AS ready_ms, -- How long it was ready, without gaps.
    b.idle_ns / 1000000.0 AS idle_ms,     -- Of it, with at least one allowed CPU idle.
    b.idle_cpus_max,                      -- Most allowed CPUs idle at once.
    i.open,                               -- Whether it was still ready at the end of the record.
    i.trace_id                            -- Trace.
FROM waiting i
JOIN beside b
    ON b.trace_id = i.trace_id AND b.thread_key = i.thread_key AND b.ready_ts_ns = i.from_ts_ns
WHERE b.idle_ns >= min_idle_ms * 1000000.0
ORDER BY 8 DESC, 1, i.trace_id, 5, 4, i.thread_key;
