-- # Hot functions
--
-- In which functions, and below which, was the time spent?
--
-- Exclusive is the time of stacks whose innermost frame is the function; inclusive that of all
-- stacks that have it at any depth, each counted once. Stacks are samples (time on the CPU) or,
-- with `stacks`, switches (time waited). Samples of idle CPUs are left out.
--
-- needs:   sample, stack
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Sampled time is samples times the nominal interval.
-- caveats: Without symbols, a function is a module and an address in it.
-- key:     frame
-- measure: inclusive_ms
-- status:  stable
CREATE OR REPLACE MACRO hot_functions(
    -- 'sample' for samples; of switches, 'ready' for the readier's stacks, 'new' for the waiter's.
    stacks VARCHAR := 'sample',
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH weighted AS MATERIALIZED (
    SELECT w.*
    FROM weighted_stacks(
        stacks := stacks, trace := trace, process := process, from_s := from_s, to_s := to_s
    ) w
),
whole AS (
    SELECT
        w.trace_id, CAST(sum(w.weight_ns) AS BIGINT) AS weight_ns,
        CAST(sum(w.hits) AS BIGINT) AS hits
    FROM weighted w
    GROUP BY w.trace_id
),
in_stack AS (
    SELECT f.trace_id, f.stack_id, f.frame, min(f.depth) AS depth
    FROM stack_frames(trace := trace) f
    WHERE (f.trace_id, f.stack_id) IN (SELECT (w.trace_id, w.stack_id) FROM weighted w)
    GROUP BY f.trace_id, f.stack_id, f.frame
    UNION ALL
    SELECT w.trace_id, w.stack_id, '(no stack)', 0 FROM weighted w WHERE w.stack_id IS NULL
),
counted AS (
    SELECT
        i.trace_id, i.frame,
        CAST(coalesce(sum(w.hits) FILTER (WHERE i.depth = 0), 0) AS BIGINT) AS exclusive_hits,
        CAST(sum(w.hits) AS BIGINT) AS inclusive_hits,
        CAST(coalesce(sum(w.weight_ns) FILTER (WHERE i.depth = 0), 0) AS BIGINT) AS exclusive_ns,
        CAST(sum(w.weight_ns) AS BIGINT) AS inclusive_ns
    FROM in_stack i
    JOIN weighted w
        ON w.trace_id = i.trace_id AND coalesce(w.stack_id, -1) = coalesce(i.stack_id, -1)
    GROUP BY i.trace_id, i.frame
)
SELECT
    t.trace,                              -- Name of the trace.
    c.frame,                              -- Function.
    c.exclusive_ns / 1000000.0 AS exclusive_ms, -- Time in the function itself.
    c.inclusive_ns / 1000000.0 AS inclusive_ms, -- Time in it and below it.
    c.exclusive_hits AS exclusive_samples, -- Samples (or switches) in the function itself.
    c.inclusive_hits AS inclusive_samples, -- Samples (or switches) in it and below it.
    c.inclusive_hits / nullif(CAST(h.hits AS DOUBLE), 0) AS inclusive_share, -- Share of all
    -- samples.
    t.trace_id                            -- Trace.
FROM counted c
JOIN whole h ON h.trace_id = c.trace_id
JOIN selected_traces(trace) t ON t.trace_id = c.trace_id
ORDER BY 3 DESC, 5 DESC, 4 DESC, 6 DESC, 1, t.trace_id, 2;
