-- # CPU time by process
--
-- Which processes used the CPUs, and how long did their threads wait and stand ready?
--
-- CPU time is the sum of the runs of the process, clipped to the window; a CPU's last run counts to
-- the end of the scheduling record. Ready and waiting time are sums over its threads, from the
-- switches that ended them, clipped to the window and without gaps of the recording.
--
-- needs:   cswitch
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/cpu-analysis "CPU Analysis", Microsoft
-- caveats: Waits and ready intervals that never ended are not in the sums; `max_waits` and
--          `starvation` list them.
-- key:     process
-- measure: cpu_s
-- status:  stable
CREATE OR REPLACE MACRO cpu_by_process(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.*, seconds_ns(from_s) AS from_ns, seconds_ns(to_s) AS to_ns
    FROM selected_traces(trace) s
),
ran AS (
    SELECT
        r.trace_id, r.process_key, CASE WHEN r.process_key IS NULL THEN r.pid END AS lone_pid,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) AS BIGINT) AS cpu_ns
    FROM runs_of('chosen') r
    WHERE NOT r.idle
    GROUP BY ALL
),
came AS (
    SELECT
        c.trace_id, c.new_process_key AS process_key,
        CASE WHEN c.new_process_key IS NULL THEN c.new_pid END AS lone_pid,
        count(*) FILTER (WHERE in_window(c.ts_ns, c.ts_ns, from_s, to_s)) AS switches,
        -- `least` and `greatest` pass over NULL, so unknown times are kept out here.
        CAST(coalesce(sum(
            clipped_ns(s.gaps, c.ts_ns - c.ready_ns, c.ts_ns, from_s, to_s)
        ) FILTER (WHERE c.ready_ns > 0), 0) AS BIGINT) AS ready_ns,
        CAST(coalesce(sum(
            clipped_ns(s.gaps, c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns, from_s, to_s)
        ) FILTER (WHERE c.since_last_ns > c.ready_ns), 0) AS BIGINT) AS wait_ns
    FROM cswitch c
    JOIN chosen s ON s.trace_id = c.trace_id
    WHERE c.new_tid <> 0 AND coalesce(c.new_pid, -1) <> 0
        AND (from_s IS NULL OR c.ts_ns >= seconds_ns(from_s))
        AND (to_s IS NULL OR c.ts_ns - coalesce(c.since_last_ns, c.ready_ns, 0) < seconds_ns(to_s))
    GROUP BY ALL
),
every AS (
    SELECT
        coalesce(r.trace_id, c.trace_id) AS trace_id,
        coalesce(r.process_key, c.process_key) AS process_key,
        coalesce(r.lone_pid, c.lone_pid) AS lone_pid,
        coalesce(r.cpu_ns, 0) AS cpu_ns,
        coalesce(c.switches, 0) AS switches,
        coalesce(c.ready_ns, 0) AS ready_ns,
        coalesce(c.wait_ns, 0) AS wait_ns
    FROM ran r
    FULL JOIN came c
        ON c.trace_id = r.trace_id
        AND coalesce(c.process_key, -1) = coalesce(r.process_key, -1)
        AND coalesce(c.lone_pid, -1) = coalesce(r.lone_pid, -1)
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name; NULL: no event names the process.
    coalesce(p.pid, b.lone_pid) AS pid,   -- Process id.
    b.cpu_ns / 1e9 AS cpu_s,              -- CPU time in seconds.
    b.switches,                           -- Switches to its threads.
    b.ready_ns / 1e9 AS ready_s,          -- Seconds its threads were ready but did not run.
    b.wait_ns / 1e9 AS wait_s,            -- Seconds its threads waited.
    b.trace_id,                           -- Trace.
    b.process_key                         -- Key of the process.
FROM every b
JOIN chosen t ON t.trace_id = b.trace_id
LEFT JOIN processes_of('chosen') p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
WHERE glob_matches(p.name, process)
ORDER BY 4 DESC, 1, b.trace_id, 2, 3, b.process_key;
