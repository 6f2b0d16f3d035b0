-- # Stacks with their weight
--
-- One row per trace and stack that occurs in the window, with how often and how heavy: samples with
-- their time, or switches with the time that the switched-in thread had waited.
CREATE OR REPLACE MACRO weighted_stacks(
    -- 'sample' for samples; of switches, 'ready' for the readier's stacks, 'new' for the waiter's.
    stacks VARCHAR := 'sample',
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the process that was sampled, or that waited; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.gaps FROM selected_traces(trace) s
),
hit AS (
    SELECT m.trace_id, m.stack_id, m.process_key, m.weight_ns
    FROM sample m
    WHERE lower(stacks) = 'sample'
        AND m.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND in_window(m.ts_ns, m.ts_ns, from_s, to_s)
        AND m.tid <> 0
    UNION ALL
    SELECT
        c.trace_id, CASE WHEN lower(stacks) = 'new' THEN c.new_stack_id ELSE c.ready_stack_id END,
        c.new_process_key,
        c.since_last_ns - c.ready_ns
            - gap_within_ns(k.gaps, c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns)
    FROM cswitch c
    JOIN chosen k ON k.trace_id = c.trace_id
    WHERE lower(stacks) IN ('ready', 'new')
        AND in_window(c.ts_ns, c.ts_ns, from_s, to_s)
        AND c.new_tid <> 0
)
SELECT
    h.trace_id,                           -- Trace.
    h.stack_id,                           -- Stack; NULL: none was recorded.
    count(*) AS hits,                     -- Samples, or switches.
    CAST(coalesce(sum(h.weight_ns), 0) AS BIGINT) AS weight_ns -- Sampled time, or waiting time.
FROM hit h
LEFT JOIN processes_of('chosen') p ON p.trace_id = h.trace_id AND p.process_key = h.process_key
WHERE glob_matches(p.name, process)
GROUP BY h.trace_id, h.stack_id;
