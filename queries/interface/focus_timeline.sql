-- # Focus over time
--
-- Which process had the input focus, from when to when?
--
-- Uses the changes of the focused process; where a trace has none, the gains and losses of focus
-- that windows reported. Neighbouring stretches of one process are one row. The last one lasts to
-- the end.
--
-- needs:   focus
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: What had the focus before the first event is not known.
-- key:     process
-- measure: duration_ms
-- status:  stable
CREATE OR REPLACE MACRO focus_timeline(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that a stretch meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that a stretch meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH spell AS (
    SELECT f.* FROM focus_intervals(trace := trace) f
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name; NULL: the process is not known.
    f.pid,                                -- Process id.
    f.from_ts_ns,                         -- When it got the focus.
    f.to_ts_ns,                           -- When another got it, or the end of the trace.
    (f.to_ts_ns - f.from_ts_ns) / 1000000.0 AS duration_ms, -- How long, gaps included.
    gap_within_ns(t.gaps, f.from_ts_ns, f.to_ts_ns) / 1000000.0 AS gap_ms, -- Of it, not recorded.
    f.trace_id                            -- Trace.
FROM spell f
JOIN selected_traces(trace) t ON t.trace_id = f.trace_id
LEFT JOIN process p ON p.trace_id = f.trace_id AND p.process_key = f.process_key
WHERE glob_matches(p.name, process)
    AND in_window(f.from_ts_ns, f.to_ts_ns, from_s, to_s)
ORDER BY 1, f.trace_id, 4, 3;
