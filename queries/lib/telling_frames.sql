-- # The frame that tells where a thread waited, or what it did when it ended a wait
--
-- One row per stack: the innermost frame that is not the machinery of waiting, signalling and
-- entering the kernel. Where the stack has nothing else, it is the innermost frame.
CREATE OR REPLACE MACRO telling_frames(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
SELECT
    f.trace_id,                           -- Trace.
    f.stack_id,                           -- Stack.
    arg_min(
        f.frame,
        CASE WHEN is_wait_machinery(f.module, f.function) THEN 1000000 ELSE 0 END + f.depth
    ) AS frame                            -- The frame.
FROM stack_frames(trace := trace) f
GROUP BY f.trace_id, f.stack_id;
