-- # Ready time by process
--
-- How long do the threads of each process stand ready before they run?
--
-- The distribution over all switches to threads of the process, with exact percentiles. Switches
-- whose ready time is not known are counted apart.
--
-- needs:   cswitch
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/cpu-analysis "CPU Analysis", Microsoft
-- caveats: Ready intervals that never ended are in `starvation`. Gaps are not subtracted from a
--          single value.
-- key:     process
-- measure: max ready_us_p99
-- status:  stable
CREATE OR REPLACE MACRO ready_time(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds; the switch-in counts. NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace FROM selected_traces(trace) s
),
spread AS (
    SELECT
        c.trace_id, c.new_process_key AS process_key, count(*) AS switches,
        count(*) FILTER (WHERE c.ready_ns IS NULL) AS unknown,
        CAST(sum(c.ready_ns) AS BIGINT) AS ready_ns,
        quantile_disc(c.ready_ns, [0.5, 0.9, 0.99]) AS ready_quantiles,
        max(c.ready_ns) AS ready_ns_max
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND in_window(c.ts_ns, c.ts_ns, from_s, to_s)
        AND c.new_tid <> 0
    GROUP BY c.trace_id, c.new_process_key
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name.
    p.pid,                                -- Process id.
    d.switches,                           -- Switches to its threads.
    d.unknown,                            -- Of them, with unknown ready time.
    d.ready_ns / 1e9 AS ready_s,          -- Ready time of all, in seconds.
    d.ready_quantiles[1] / 1000.0 AS ready_us_p50, -- Median.
    d.ready_quantiles[2] / 1000.0 AS ready_us_p90, -- 90 % are not longer.
    d.ready_quantiles[3] / 1000.0 AS ready_us_p99, -- 99 % are not longer.
    d.ready_ns_max / 1000.0 AS ready_us_max, -- Longest.
    d.trace_id                            -- Trace.
FROM spread d
JOIN chosen t ON t.trace_id = d.trace_id
LEFT JOIN processes_of('chosen') p ON p.trace_id = d.trace_id AND p.process_key = d.process_key
WHERE glob_matches(p.name, process)
ORDER BY 6 DESC NULLS LAST, 1, d.trace_id, 2, 3, d.process_key;
