-- # User-interface delays
--
-- Which windows did not answer, and for how long?
--
-- Win32k reports when a thread with a window has not looked at its messages for a while; the delay
-- ends when it looks again. With a window, every delay that meets it is listed whole.
--
-- needs:   ui_delay
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: A hang that never ends leaves no event. Delays of unknown length are listed when min_ms
--          is 0.
-- key:     process
-- measure: duration_ms
-- finding: duration_ms >= 1000
-- status:  stable
CREATE OR REPLACE MACRO ui_delays(
    -- Shortest delay worth reporting, in milliseconds.
    min_ms DOUBLE := 0.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH named AS (
    SELECT
        t.trace, u.trace_id, u.pid, u.tid, u.ts_ns, u.duration_ns, u.window_class, u.message_id,
        u.kind,
        coalesce(p.name, regexp_extract(u.image_path, '[^\\/]*$')) AS process
    FROM ui_delay u
    JOIN selected_traces(trace) t ON t.trace_id = u.trace_id
    LEFT JOIN process p ON p.trace_id = u.trace_id AND p.process_key = u.process_key
    WHERE coalesce(u.duration_ns, 0) >= min_ms * 1000000.0
        AND in_window(u.ts_ns, u.ts_ns + coalesce(u.duration_ns, 0), from_s, to_s)
)
SELECT
    u.trace,                              -- Name of the trace.
    u.process,                            -- Image name.
    u.pid,                                -- Process id.
    u.tid,                                -- Thread that did not answer.
    u.ts_ns,                              -- Start of the delay.
    u.duration_ns / 1000000.0 AS duration_ms, -- How long; NULL: the event does not tell.
    u.window_class,                       -- Window class; NULL: the event does not tell.
    u.message_id,                         -- Message that waited; NULL: the event does not tell.
    u.kind,                               -- Kind of delay.
    u.trace_id                            -- Trace.
FROM named u
WHERE glob_matches(u.process, process)
ORDER BY 6 DESC NULLS LAST, 1, u.trace_id, 5, 4, 9, 7 NULLS LAST, 8 NULLS LAST;
