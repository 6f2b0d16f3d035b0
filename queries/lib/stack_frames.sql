-- # Frames of every stack
--
-- One row per stack and frame, innermost first (depth 0).
CREATE OR REPLACE MACRO stack_frames(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH unnested AS (
    SELECT
        s.trace_id, s.stack_id, unnest(s.frame_ids) AS frame_id,
        unnest(range(0, len(s.frame_ids))) AS depth
    FROM stack s
    WHERE s.trace_id IN (SELECT t.trace_id FROM selected_traces(trace) t)
)
SELECT
    u.trace_id,                           -- Trace.
    u.stack_id,                           -- Stack.
    u.depth,                              -- 0 for the innermost frame.
    u.frame_id,                           -- Frame.
    f.is_kernel,                          -- Whether it is a kernel address.
    f.module,                             -- Module.
    f.function,                           -- Function; NULL: not resolved.
    frame_text(f.module, f.function, f.rva, f.address) AS frame -- `module!function`.
FROM unnested u
JOIN frame f ON f.trace_id = u.trace_id AND f.frame_id = u.frame_id;
