-- # What a function calls
--
-- Which functions does this one call, and how much time goes to each?
--
-- Looks at every stack that has a frame that matches, at its innermost place, and groups by the
-- function that it called (level 1), by what that called (level 2), and so on. Level 0 is the
-- function itself with all its time. Each stack counts once at each level. Stacks are samples (time
-- on the CPU) or, with `stacks`, switches (time waited).
--
-- needs:   stack
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Where the pattern matches several functions, each is counted for itself.
-- key:     frame, level, function
-- measure: weight_ms
-- status:  stable
CREATE OR REPLACE MACRO callees(
    -- Case-insensitive glob on `module!function`; without * and ? it matches anywhere.
    pattern VARCHAR,
    -- How many levels to show.
    levels BIGINT := 1,
    -- 'sample' for samples; of switches, 'ready' for the readier's stacks, 'new' for the waiter's.
    stacks VARCHAR := 'sample',
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the process that was sampled, or that waited; NULL for all.
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
    WHERE w.stack_id IS NOT NULL
),
in_stack AS MATERIALIZED (
    SELECT f.trace_id, f.stack_id, f.depth, f.frame
    FROM stack_frames(trace := trace) f
    WHERE (f.trace_id, f.stack_id) IN (SELECT (w.trace_id, w.stack_id) FROM weighted w)
),
matching AS (
    SELECT f.trace_id, f.stack_id, f.frame, min(f.depth) AS depth
    FROM in_stack f
    WHERE frame_matches(f.frame, pattern)
    GROUP BY f.trace_id, f.stack_id, f.frame
),
reached AS (
    SELECT
        m.trace_id, m.stack_id, m.frame, m.depth - f.depth AS level, f.frame AS function
    FROM matching m
    JOIN in_stack f ON f.trace_id = m.trace_id AND f.stack_id = m.stack_id
    WHERE f.depth <= m.depth AND f.depth >= m.depth - levels
),
counted AS (
    SELECT
        r.trace_id, r.frame, r.level, r.function, CAST(sum(w.hits) AS BIGINT) AS hits,
        CAST(sum(w.weight_ns) AS BIGINT) AS weight_ns
    FROM reached r
    JOIN weighted w ON w.trace_id = r.trace_id AND w.stack_id = r.stack_id
    GROUP BY r.trace_id, r.frame, r.level, r.function
)
SELECT
    t.trace,                              -- Name of the trace.
    c.frame,                              -- Function that matches the pattern.
    c.level,                              -- 0 for the function itself, 1 for its direct neighbour.
    c.function,                           -- The function at that level.
    c.hits AS samples,                    -- Samples (or switches) through both.
    c.weight_ns / 1000000.0 AS weight_ms, -- Their time: sampled, or waited.
    t.trace_id                            -- Trace.
FROM counted c
JOIN selected_traces(trace) t ON t.trace_id = c.trace_id
ORDER BY 1, t.trace_id, 2, 3, 6 DESC, 5 DESC, 4;
