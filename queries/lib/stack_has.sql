-- # Does a stack have a frame?
--
-- Whether any frame of the stack matches the pattern, as in `waits_by_frame`.
CREATE OR REPLACE MACRO stack_has(
    -- Trace.
    trace_id,
    -- Stack.
    stack_id,
    -- Case-insensitive glob on `module!function`; without * and ? it matches anywhere.
    pattern
) AS (
    (trace_id, stack_id) IN (
        SELECT (f.trace_id, f.stack_id)
        FROM stack_frames() f
        WHERE frame_matches(f.frame, pattern)
    )
);
