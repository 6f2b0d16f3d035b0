-- # Frozen processes
--
-- Which processes were frozen, when, for how long, and by whom?
--
-- A freeze lasts to the next event for the same process: its thaw, or the end of the record
-- (`open`). A thaw whose freeze lies before the recording has no start.
--
-- needs:   process_freeze
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Freezing processes in the background is normal for packaged applications.
-- key:     process
-- measure: frozen_ms
-- status:  stable
CREATE OR REPLACE MACRO process_freezes(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the frozen process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that a freeze meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that a freeze meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH spell AS (
    SELECT
        f.trace_id, f.process_key, f.pid, f.from_ts_ns,
        CASE WHEN NOT f.open THEN f.to_ts_ns END AS to_ts_ns,
        f.to_ts_ns - f.from_ts_ns AS frozen_ns, f.open, f.by_process_key
    FROM frozen_intervals(trace := trace) f
    UNION ALL
    SELECT
        o.trace_id, o.process_key, o.pid, NULL AS from_ts_ns, o.ts_ns AS to_ts_ns,
        NULL AS frozen_ns, false AS open, o.by_process_key
    FROM (
        SELECT
            z.*, lag(z.state) OVER (
                PARTITION BY z.trace_id, z.pid, z.process_key ORDER BY z.ts_ns, z.state DESC
            ) AS state_before
        FROM process_freeze z
        WHERE z.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
    ) o
    WHERE o.state = 'thawed' AND o.state_before IS NULL
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name of the frozen process; NULL: unknown.
    f.pid,                                -- Its process id.
    f.from_ts_ns AS frozen_ts_ns,         -- When it was frozen; NULL: before the recording.
    f.to_ts_ns AS thawed_ts_ns,           -- When it was thawed; NULL: not in the recording.
    f.frozen_ns / 1000000.0 AS frozen_ms, -- For how long; an open one to the end of the record.
    f.open,                               -- Whether it was never thawed.
    q.name AS by_process,                 -- Process that froze it; NULL: unknown.
    f.trace_id                            -- Trace.
FROM spell f
JOIN selected_traces(trace) t ON t.trace_id = f.trace_id
LEFT JOIN process p ON p.trace_id = f.trace_id AND p.process_key = f.process_key
LEFT JOIN process q ON q.trace_id = f.trace_id AND q.process_key = f.by_process_key
WHERE glob_matches(p.name, process)
    AND in_window(
        coalesce(f.from_ts_ns, f.to_ts_ns), coalesce(f.to_ts_ns, t.end_ns), from_s, to_s
    )
ORDER BY 1, f.trace_id, 4 NULLS FIRST, 5 NULLS LAST, 3;
