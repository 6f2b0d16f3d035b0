-- # Traces by name
--
-- The recordings whose name matches, with what nearly every question needs of them.
-- Questions join it first, so that only the files of these recordings are read.
CREATE OR REPLACE MACRO selected_traces(
    -- Glob on the trace's name; NULL for all.
    pattern VARCHAR := NULL
) AS TABLE
SELECT
    t.trace_id,               -- Trace.
    t.name AS trace,          -- Its name.
    t.cpu_count,              -- Logical CPUs.
    coalesce(t.sched_end_ns, t.duration_ns) AS end_ns, -- End of the scheduling record.
    g.gaps                    -- Stretches that nobody recorded, or NULL.
FROM trace t
LEFT JOIN (
    SELECT
        p.trace_id,
        list({'from_ts_ns': p.from_ts_ns, 'to_ts_ns': p.to_ts_ns} ORDER BY p.from_ts_ns) AS gaps
    FROM gap p
    GROUP BY p.trace_id
) g ON g.trace_id = t.trace_id
WHERE glob_matches(t.name, pattern);
