-- # The frame at a depth of a stack
--
-- `module!function` of the frame; depth 0 is the innermost. NULL where the stack is not that deep.
CREATE OR REPLACE MACRO frame_at(
    -- Trace.
    trace_id,
    -- Stack.
    stack_id,
    -- Depth, 0 for the innermost.
    depth
) AS (
    SELECT any_value(m.lib_frame)
    FROM (
        SELECT
            f.trace_id AS lib_trace_id, f.stack_id AS lib_stack_id, f.depth AS lib_depth,
            f.frame AS lib_frame
        FROM stack_frames() f
    ) m
    WHERE m.lib_trace_id = trace_id AND m.lib_stack_id = stack_id AND m.lib_depth = depth
);
