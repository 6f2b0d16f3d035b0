-- # Why ready threads did not run
--
-- What kept each ready thread from running, moment by moment?
--
-- Every ready interval over the threshold is cut where anything changes, and each moment gets the
-- first cause that holds: 'gap' (not recorded), 'frozen', 'not resident' (its stack or process is
-- being brought in), 'dpc' (a DPC or interrupt on the CPU where it then ran), 'rank' (a CPU that it
-- may use ran a thread that only its lower rank put first), 'ideal cpu' (another CPU was idle or
-- ran lower priorities, but its ideal one was taken), 'affinity' (a CPU that it may not use was
-- free), 'core class' (a core of another type was free), 'equal priority' (turns were taken),
-- 'higher priority', else 'unexplained'. The causes of an interval add up to it, to the nanosecond.
-- `cause_process` got the most CPU time among the runs behind the cause.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: A rank, and an ideal CPU, are known only when a thread leaves a CPU.
-- key:     process, cause
-- measure: cause_ms
-- status:  stable
CREATE OR REPLACE MACRO why_not_running(
    -- Shortest ready time worth reporting, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 10.0,
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
        placed := true, min_ns := CAST(ceil(min_ready_ms * 1000000.0) AS BIGINT)
    ) i
    WHERE i.interval_ns - i.gap_ns >= min_ready_ms * 1000000.0
),
piece AS MATERIALIZED (
    SELECT
        r.trace_id, r.thread_key, r.ready_ts_ns, r.from_ts_ns, r.to_ts_ns, r.run_process_key,
        r.allowed, r.ideal, r.other_class,
        CASE
            WHEN r.idle THEN 'free'
            WHEN r.priority IS NULL OR r.run_greatest_priority IS NULL THEN 'unknown'
            WHEN r.run_greatest_priority > r.priority THEN 'higher'
            WHEN r.run_rank < r.rank THEN 'rank'
            WHEN r.run_greatest_priority < r.least_priority THEN 'free'
            ELSE 'equal'
        END AS kind,
        r.idle
    FROM ready_pieces('waiting', true) r
),
-- One row per span and what it counts for; the interval itself counts for nothing but its ends.
span AS (
    SELECT
        p.trace_id, p.thread_key, p.ready_ts_ns, p.from_ts_ns, p.to_ts_ns,
        CASE
            WHEN p.kind = 'free' AND NOT p.allowed THEN 'affinity'
            WHEN p.kind = 'free' AND p.other_class THEN 'core class'
            ELSE p.kind
        END AS what,
        p.allowed AND p.ideal AND p.kind <> 'free' AS ideal_taken
    FROM piece p
    WHERE p.kind = 'free' OR (p.allowed AND p.kind <> 'unknown')
    UNION ALL
    SELECT i.trace_id, i.thread_key, i.from_ts_ns, i.from_ts_ns, i.to_ts_ns, 'none', false
    FROM waiting i
    UNION ALL
    SELECT
        i.trace_id, i.thread_key, i.from_ts_ns, i.from_ts_ns,
        least(i.to_ts_ns, resident_ts_ns(i.last_ready_ts_ns, i.ready_events, i.to_ts_ns)),
        'not resident', false
    FROM waiting i
    WHERE i.not_resident
        AND resident_ts_ns(i.last_ready_ts_ns, i.ready_events, i.to_ts_ns) > i.from_ts_ns
    UNION ALL
    SELECT
        i.trace_id, i.thread_key, i.from_ts_ns, greatest(i.from_ts_ns, g.from_ts_ns),
        least(i.to_ts_ns, g.to_ts_ns), 'gap', false
    FROM waiting i
    JOIN gap g
        ON g.trace_id = i.trace_id AND g.from_ts_ns < i.to_ts_ns AND g.to_ts_ns > i.from_ts_ns
    UNION ALL
    SELECT
        i.trace_id, i.thread_key, i.from_ts_ns, greatest(i.from_ts_ns, f.from_ts_ns),
        least(i.to_ts_ns, f.to_ts_ns), 'frozen', false
    FROM waiting i
    JOIN frozen_intervals(trace := trace) f
        ON f.trace_id = i.trace_id AND f.process_key = i.process_key
        AND f.from_ts_ns < i.to_ts_ns AND f.to_ts_ns > i.from_ts_ns
    UNION ALL
    -- There may be millions: cut at multiples of 2^24 ns as in `ready_pieces`.
    SELECT
        i.trace_id, i.thread_key, i.from_ts_ns,
        greatest(i.from_ts_ns, d.start_ts_ns, i.bucket * 16777216),
        least(i.to_ts_ns, d.end_ts_ns, (i.bucket + 1) * 16777216), 'dpc', false
    FROM (
        SELECT w.*, unnest(range(w.from_ts_ns >> 24, ((w.to_ts_ns - 1) >> 24) + 1)) AS bucket
        FROM waiting w
    ) i
    JOIN (
        SELECT
            q.trace_id, q.cpu, q.start_ts_ns, q.start_ts_ns + q.duration_ns AS end_ts_ns,
            unnest(range(
                q.start_ts_ns >> 24, ((q.start_ts_ns + q.duration_ns - 1) >> 24) + 1
            )) AS bucket
        FROM dpc_isr q
        WHERE q.duration_ns > 0 AND q.trace_id IN (SELECT w.trace_id FROM waiting w)
    ) d
        ON d.trace_id = i.trace_id AND d.cpu = i.near_cpu AND d.bucket = i.bucket
        AND d.start_ts_ns < i.to_ts_ns AND d.end_ts_ns > i.from_ts_ns
),
-- How many of each hold is kept in one number, 12 bits each, so that one running sum counts all.
edge AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns,
        CAST(sum(e.step * (
            CASE e.what
                WHEN 'none' THEN CAST(0 AS HUGEINT)
                WHEN 'gap' THEN CAST(1 AS HUGEINT)
                WHEN 'frozen' THEN CAST(1 AS HUGEINT) << 12
                WHEN 'not resident' THEN CAST(1 AS HUGEINT) << 24
                WHEN 'dpc' THEN CAST(1 AS HUGEINT) << 36
                WHEN 'rank' THEN CAST(1 AS HUGEINT) << 48
                WHEN 'free' THEN CAST(1 AS HUGEINT) << 60
                WHEN 'affinity' THEN CAST(1 AS HUGEINT) << 72
                WHEN 'core class' THEN CAST(1 AS HUGEINT) << 84
                WHEN 'equal' THEN CAST(1 AS HUGEINT) << 96
                WHEN 'higher' THEN CAST(1 AS HUGEINT) << 108
            END
        )) AS HUGEINT) AS step,
        CAST(sum(e.step) FILTER (WHERE e.ideal_taken) AS BIGINT) AS ideal_step
    FROM (
        SELECT s.*, s.from_ts_ns AS ts_ns, 1 AS step FROM span s
        UNION ALL
        SELECT s.*, s.to_ts_ns AS ts_ns, -1 AS step FROM span s
    ) e
    GROUP BY e.trace_id, e.thread_key, e.ready_ts_ns, e.ts_ns
),
moment AS (
    SELECT
        e.trace_id, e.thread_key, e.ready_ts_ns,
        lead(e.ts_ns) OVER by_time - e.ts_ns AS moment_ns,
        CAST(sum(e.step) OVER by_time AS HUGEINT) AS held,
        coalesce(sum(e.ideal_step) OVER by_time, 0) > 0 AS ideal_taken
    FROM edge e
    WINDOW by_time AS (PARTITION BY e.trace_id, e.thread_key, e.ready_ts_ns ORDER BY e.ts_ns)
),
blamed AS MATERIALIZED (
    SELECT
        m.trace_id, m.thread_key, m.ready_ts_ns,
        CASE
            WHEN (m.held & 4095) > 0 THEN 'gap'
            WHEN ((m.held >> 12) & 4095) > 0 THEN 'frozen'
            WHEN ((m.held >> 24) & 4095) > 0 THEN 'not resident'
            WHEN ((m.held >> 36) & 4095) > 0 THEN 'dpc'
            WHEN ((m.held >> 48) & 4095) > 0 THEN 'rank'
            WHEN ((m.held >> 60) & 4095) > 0 AND m.ideal_taken THEN 'ideal cpu'
            WHEN ((m.held >> 60) & 4095) > 0 THEN 'unexplained'
            WHEN ((m.held >> 72) & 4095) > 0 THEN 'affinity'
            WHEN ((m.held >> 84) & 4095) > 0 THEN 'core class'
            WHEN ((m.held >> 96) & 4095) > 0 THEN 'equal priority'
            WHEN ((m.held >> 108) & 4095) > 0 THEN 'higher priority'
            ELSE 'unexplained'
        END AS cause,
        CAST(sum(m.moment_ns) AS BIGINT) AS cause_ns
    FROM moment m
    WHERE m.moment_ns > 0
    GROUP BY ALL
),
by_kind AS (
    SELECT
        p.trace_id, p.thread_key, p.ready_ts_ns, p.run_process_key, p.kind,
        CAST(sum(p.to_ts_ns - p.from_ts_ns) AS BIGINT) AS cpu_ns
    FROM piece p
    WHERE p.allowed AND NOT p.idle AND p.run_process_key IS NOT NULL
    GROUP BY p.trace_id, p.thread_key, p.ready_ts_ns, p.run_process_key, p.kind
),
culprit AS (
    SELECT
        b.trace_id, b.thread_key, b.ready_ts_ns, b.cause, k.run_process_key,
        CAST(sum(k.cpu_ns) AS BIGINT) AS cpu_ns
    FROM blamed b
    JOIN by_kind k
        ON k.trace_id = b.trace_id AND k.thread_key = b.thread_key
        AND k.ready_ts_ns = b.ready_ts_ns
    WHERE CASE b.cause
        WHEN 'rank' THEN k.kind = 'rank'
        WHEN 'equal priority' THEN k.kind = 'equal'
        WHEN 'higher priority' THEN k.kind = 'higher'
        WHEN 'unexplained' THEN k.kind = 'free'
        ELSE b.cause IN ('ideal cpu', 'affinity', 'core class')
            AND k.kind IN ('rank', 'equal', 'higher')
    END
    GROUP BY b.trace_id, b.thread_key, b.ready_ts_ns, b.cause, k.run_process_key
),
-- The greatest pair is the process with the most time, the first of equals.
worst AS (
    SELECT
        c.trace_id, c.thread_key, c.ready_ts_ns, c.cause,
        max({'cpu_ns': c.cpu_ns, 'order': -c.run_process_key}) AS most
    FROM culprit c
    GROUP BY c.trace_id, c.thread_key, c.ready_ts_ns, c.cause
)
SELECT
    i.trace,                              -- Name of the trace.
    i.process,                            -- Image name of the ready thread's process.
    i.pid,                                -- Its process id.
    i.tid,                                -- Its thread id.
    i.from_ts_ns AS ready_ts_ns,          -- Since when it was ready.
    CASE WHEN NOT i.open THEN i.to_ts_ns END AS ts_ns, -- When it ran at last; NULL: never.
    i.interval_ns / 1000000.0 AS ready_ms, -- Length of the interval, gaps included.
    i.open,                               -- Whether it was still ready at the end of the record.
    b.cause,                              -- What kept it from running.
    b.cause_ns / 1000000.0 AS cause_ms,   -- For how long.
    p.name AS cause_process,              -- Process behind it; NULL: none.
    b.cause_ns,                           -- For how long, in nanoseconds: exact.
    i.trace_id                            -- Trace.
FROM waiting i
JOIN blamed b
    ON b.trace_id = i.trace_id AND b.thread_key = i.thread_key AND b.ready_ts_ns = i.from_ts_ns
LEFT JOIN worst w
    ON w.trace_id = b.trace_id AND w.thread_key = b.thread_key AND w.ready_ts_ns = b.ready_ts_ns
    AND w.cause = b.cause
LEFT JOIN processes_of('waiting') p ON p.trace_id = w.trace_id AND p.process_key = -w.most.order
ORDER BY 7 DESC, 1, i.trace_id, 5, 4, i.thread_key, 10 DESC, 9;
