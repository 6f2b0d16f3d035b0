-- # Process trees compared
--
-- Which processes does one set of traces have that the other has not, and which live longer?
--
-- Groups the processes of each set by image name and by the parent's image name, and compares
-- counts and median lifetimes. Lifetimes are known only of processes that start and end in the
-- trace.
--
-- needs:   process
-- source:  "Chasing a hitch" (two process trees side by side)
-- caveats: Where the sets have different numbers of traces, compare the counts per trace.
-- key:     process, parent_process
-- measure: candidate_duration_ms
-- finding: status <> 'same'
-- status:  stable
CREATE OR REPLACE MACRO process_tree_diff(
    -- Glob on the names of the traces to compare with.
    baseline VARCHAR,
    -- Glob on the names of the traces to judge.
    candidate VARCHAR,
    -- Whether only processes that started in the trace count.
    started_only BOOLEAN := false
) AS TABLE
WITH member AS (
    SELECT s.trace_id, 'baseline' AS side FROM selected_traces(baseline) s
    UNION ALL
    SELECT s.trace_id, 'candidate' AS side FROM selected_traces(candidate) s
),
grouped AS (
    SELECT
        m.side, p.name AS process, q.name AS parent_process, count(*) AS processes,
        count(DISTINCT p.trace_id) AS traces,
        median((p.end_ts_ns - p.start_ts_ns) / 1000000.0) AS duration_ms
    FROM member m
    JOIN process p ON p.trace_id = m.trace_id
    LEFT JOIN process q ON q.trace_id = p.trace_id AND q.process_key = p.parent_process_key
    WHERE coalesce(p.pid, -1) <> 0 AND (NOT started_only OR p.start_ts_ns IS NOT NULL)
    GROUP BY m.side, p.name, q.name
),
-- A whole join on text that may be NULL: an empty text stands for NULL.
compared AS (
    SELECT
        coalesce(b.process, c.process) AS process,
        coalesce(b.parent_process, c.parent_process) AS parent_process,
        CASE
            WHEN b.side IS NULL THEN 'new'
            WHEN c.side IS NULL THEN 'gone'
            WHEN b.processes * c.traces <> c.processes * b.traces THEN 'count'
            ELSE 'same'
        END AS status,
        coalesce(b.processes, 0) AS baseline_count,
        coalesce(c.processes, 0) AS candidate_count,
        b.duration_ms AS baseline_duration_ms, c.duration_ms AS candidate_duration_ms
    FROM (SELECT g.* FROM grouped g WHERE g.side = 'baseline') b
    FULL JOIN (SELECT g.* FROM grouped g WHERE g.side = 'candidate') c
        ON coalesce(c.process, '') = coalesce(b.process, '')
        AND coalesce(c.parent_process, '') = coalesce(b.parent_process, '')
)
SELECT
    d.process,                            -- Image name.
    d.parent_process,                     -- Image name of the parent; NULL: unknown.
    d.status,                             -- 'new', 'gone', 'count' (more or fewer per trace) or
    -- 'same'.
    d.baseline_count,                     -- Processes in the baseline.
    d.candidate_count,                    -- Processes in the candidate.
    d.baseline_duration_ms,               -- Median lifetime in the baseline; NULL: unknown.
    d.candidate_duration_ms,              -- Median lifetime in the candidate; NULL: unknown.
    d.candidate_duration_ms - d.baseline_duration_ms AS delta_ms -- Difference; NULL: one is
    -- unknown.
FROM compared d
ORDER BY
    list_position(['new', 'gone', 'count', 'same'], d.status),
    abs(coalesce(d.candidate_duration_ms - d.baseline_duration_ms, 0)) DESC, 1, 2;
