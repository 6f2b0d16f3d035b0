-- # Waits by frame
--
-- How many switches, and how much waiting, go with a function on the stack?
--
-- Takes every switch whose stack has a frame that matches the pattern, at any depth, and adds up
-- the time the switched-in threads had waited. `stack := 'ready'` looks at the stack of the thread
-- that made them ready (who released them, and where), `'new'` at their own (where they had
-- waited). A switch counts once for each function that matches. Gaps of the recording do not count.
--
-- needs:   cswitch, stack
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: The waits of many threads behind one lock add up to more than the window is long.
-- key:     frame
-- measure: wait_ms
-- status:  stable
CREATE OR REPLACE MACRO waits_by_frame(
    -- Case-insensitive glob on `module!function`; without * and ? it matches anywhere.
    pattern VARCHAR,
    -- 'ready' for the readying thread's stack, 'new' for the waiting thread's.
    stack VARCHAR := 'ready',
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the process that waited; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds; the switch-in counts. NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.gaps FROM selected_traces(trace) s
),
found AS (
    SELECT DISTINCT f.trace_id, f.stack_id, f.frame
    FROM stack_frames(trace := trace) f
    WHERE frame_matches(f.frame, pattern)
),
waited AS (
    SELECT
        c.trace_id, c.new_process_key, c.ts_ns, c.since_last_ns, c.ready_ns,
        CASE WHEN lower(stack) = 'new' THEN c.new_stack_id ELSE c.ready_stack_id END AS stack_id
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND in_window(c.ts_ns, c.ts_ns, from_s, to_s)
        AND c.new_tid <> 0
)
SELECT
    t.trace,                              -- Name of the trace.
    f.frame,                              -- Function that matches.
    count(*) AS switches,                 -- Switches with it on the stack.
    CAST(coalesce(sum(
        w.since_last_ns - w.ready_ns
        - gap_within_ns(t.gaps, w.ts_ns - w.since_last_ns, w.ts_ns - w.ready_ns)
    ), 0) AS BIGINT) / 1000000.0 AS wait_ms, -- What the switched-in threads had waited, together.
    count(DISTINCT w.new_process_key) AS process_count, -- Processes that waited.
    t.trace_id                            -- Trace.
FROM waited w
JOIN found f ON f.trace_id = w.trace_id AND f.stack_id = w.stack_id
JOIN chosen t ON t.trace_id = w.trace_id
LEFT JOIN processes_of('chosen') p ON p.trace_id = w.trace_id AND p.process_key = w.new_process_key
WHERE glob_matches(p.name, process)
GROUP BY t.trace, t.trace_id, f.frame
ORDER BY 4 DESC, 3 DESC, 1, t.trace_id, 2;
