-- # Input over time
--
-- When did the user press keys, click and move, and how far apart?
--
-- The input events in order, each with the time since the one before of the same kind and code: a
-- key tapped once a second that comes late tells when the machine did not answer.
--
-- needs:   input_event
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Only input that UIforETW logged.
-- key:     kind, code
-- measure: max since_previous_ms
-- status:  stable
CREATE OR REPLACE MACRO input_timeline(
    -- Kind of input: 'key', 'button_down', 'button_up', 'move' or 'wheel'; NULL for all.
    kind VARCHAR := NULL,
    -- Virtual key code, button or wheel distance; NULL for all.
    code BIGINT := NULL,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH spaced AS (
    SELECT
        i.*, i.ts_ns - lag(i.ts_ns) OVER (
            PARTITION BY i.trace_id, i.kind, i.code ORDER BY i.ts_ns
        ) AS since_previous_ns
    FROM input_event i
    WHERE i.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
        AND (kind IS NULL OR i.kind = kind)
        AND (code IS NULL OR i.code = code)
)
SELECT
    t.trace,                              -- Name of the trace.
    i.ts_ns,                              -- The event.
    i.kind,                               -- Kind of input.
    i.code,                               -- Virtual key code, button or wheel distance.
    i.name,                               -- Name of the key; NULL: not a key.
    i.since_previous_ns / 1000000.0 AS since_previous_ms, -- Since the one before of this kind and
    -- code.
    i.trace_id                            -- Trace.
FROM spaced i
JOIN selected_traces(trace) t ON t.trace_id = i.trace_id
WHERE in_window(i.ts_ns, i.ts_ns, from_s, to_s)
ORDER BY 1, i.trace_id, 2, 3, 4 NULLS FIRST;
