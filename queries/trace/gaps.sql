-- # Gaps
--
-- In which stretches was nothing recorded on any CPU, and what is the evidence?
--
-- A gap is neither idle nor waiting time: the other questions subtract it and show it as `gap_ms`.
-- 'sleep' is between sleep and wake events, 'tracing_off' between logging switched off and on, and
-- 'silence' is 5 s or more without an event in a trace that samples periodically.
--
-- needs:   trace
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Silence in a trace that records little is no gap.
-- key:     evidence
-- measure: gap_ms
-- status:  stable
CREATE OR REPLACE MACRO gaps(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Shortest gap worth reporting, in milliseconds.
    min_ms DOUBLE := 0.0,
    -- Start of the window that a gap meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that a gap meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
SELECT
    t.name AS trace,                      -- Name of the trace.
    g.from_ts_ns,                         -- Last event before the gap.
    g.to_ts_ns,                           -- First event after it.
    (g.to_ts_ns - g.from_ts_ns) / 1000000.0 AS gap_ms, -- Length.
    g.evidence,                           -- What tells that it is one.
    (g.to_ts_ns - g.from_ts_ns) / nullif(CAST(t.duration_ns AS DOUBLE), 0) AS share, -- Of the
    -- trace.
    g.trace_id                            -- Trace.
FROM gap g
JOIN trace t ON t.trace_id = g.trace_id
WHERE glob_matches(t.name, trace)
    AND g.to_ts_ns - g.from_ts_ns >= min_ms * 1000000.0
    AND in_window(g.from_ts_ns, g.to_ts_ns, from_s, to_s)
ORDER BY 1, g.trace_id, 2, 3, 5;
