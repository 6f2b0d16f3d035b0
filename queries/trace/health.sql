-- # Health of the traces
--
-- What was lost, damaged or not understood, and what does it mean for the answers?
--
-- One row per trace and counter that is not zero, the worst first. No row is the best answer:
-- nothing was lost, nothing is damaged, everything was understood.
--
-- needs:   trace
-- source:  https://learn.microsoft.com/windows/win32/api/evntrace/ns-evntrace-event_trace_properties "EVENT_TRACE_PROPERTIES", Microsoft
-- key:     counter
-- measure: count
-- status:  stable
CREATE OR REPLACE MACRO health(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
SELECT
    t.name AS trace,                      -- Name of the trace.
    h.severity,                           -- 'error', 'data_loss', 'notice' or 'info'.
    h.counter,                            -- Name of the counter.
    h.count,                              -- How often.
    h.source,                             -- 'recorder', 'file' or 'analysis'.
    h.first_ts_ns,                        -- Where it first happened; NULL: not known.
    h.meaning,                            -- What it means for answers.
    h.remedy,                             -- What to do about it.
    h.trace_id                            -- Trace.
FROM health h
JOIN trace t ON t.trace_id = h.trace_id
WHERE glob_matches(t.name, trace)
ORDER BY
    list_position(['error', 'data_loss', 'notice', 'info'], h.severity) NULLS LAST,
    1, h.trace_id, 3, 5;
