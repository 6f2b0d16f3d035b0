-- # A stack as text
--
-- The frames of a stack, innermost first, joined by ` < `.
CREATE OR REPLACE MACRO stack_text(
    -- Trace.
    trace_id,
    -- Stack.
    stack_id
) AS (
    SELECT string_agg(m.lib_frame, ' < ' ORDER BY m.lib_depth)
    FROM (
        SELECT
            f.trace_id AS lib_trace_id, f.stack_id AS lib_stack_id, f.depth AS lib_depth,
            f.frame AS lib_frame
        FROM stack_frames() f
    ) m
    WHERE m.lib_trace_id = trace_id AND m.lib_stack_id = stack_id
);
