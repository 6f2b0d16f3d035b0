-- # An experiment as a matrix
--
-- How does a measure of a process change over two parameters of an experiment?
--
-- Groups the traces by the values of two tags and summarises one measure of the process over each
-- group: its total CPU time and the rest of `core_placement`, its ramp-up, or its ready time. A
-- measure of a trace is the sum over the processes that match (the largest ramp-up).
--
-- needs:   cswitch
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Traces without the tags are in the group NULL. Traces in which the process did not run
--          are left out.
-- key:     row_value, column_value
-- measure: median
-- pivot:   column_value, median
-- portable: no
-- status:  stable
CREATE OR REPLACE MACRO experiment_matrix(
    -- Tag whose values are the rows.
    row_tag VARCHAR,
    -- Tag whose values are the columns.
    column_tag VARCHAR,
    -- 'cpu_s', 'p_cpu_s', 'e_cpu_s', 'cores_used', 'missing_cpu_s' or 'ramp_up_s'.
    measure VARCHAR := 'cpu_s',
    -- Glob on the image name of the process that is measured; NULL for all.
    process VARCHAR := NULL,
    -- Threads that the process was told to run; NULL: not told.
    threads BIGINT := NULL,
    -- Seconds that each of them was to run; NULL: not told.
    expected_s DOUBLE := NULL,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH asked AS (
    -- Beside columns of the same name parameters could not be seen.
    SELECT row_tag AS row_name, column_tag AS column_name
),
placed AS (
    SELECT
        l.trace_id, sum(l.cpu_ns) / 1e9 AS cpu_s, sum(l.p_cpu_ns) / 1e9 AS p_cpu_s,
        sum(l.e_cpu_ns) / 1e9 AS e_cpu_s, CAST(sum(l.cores_used) AS DOUBLE) AS cores_used,
        count(*) AS processes
    FROM placement(trace := trace, process := process) l
    WHERE lower(measure) <> 'ramp_up_s'
    GROUP BY l.trace_id
),
ramped AS (
    SELECT
        r.trace_id,
        CASE WHEN bool_and(r.reached_ts_ns IS NOT NULL)
            THEN max(r.reached_ts_ns - r.first_ts_ns) / 1e9 END AS ramp_up_s
    FROM ramp_ups(threads := threads, trace := trace, process := process) r
    WHERE lower(measure) = 'ramp_up_s'
    GROUP BY r.trace_id
),
measured AS (
    SELECT
        l.trace_id,
        CASE lower(measure)
            WHEN 'cpu_s' THEN l.cpu_s
            WHEN 'p_cpu_s' THEN l.p_cpu_s
            WHEN 'e_cpu_s' THEN l.e_cpu_s
            WHEN 'cores_used' THEN l.cores_used
            WHEN 'missing_cpu_s' THEN l.processes * threads * expected_s - l.cpu_s
            ELSE error('measure is cpu_s, p_cpu_s, e_cpu_s, cores_used, missing_cpu_s or ramp_up_s')
        END AS measured
    FROM placed l
    UNION ALL
    SELECT r.trace_id, r.ramp_up_s AS measured FROM ramped r
),
tagged AS (
    SELECT
        m.trace_id, m.measured, t.tags[a.row_name] AS row_value,
        t.tags[a.column_name] AS column_value
    FROM measured m
    JOIN trace t ON t.trace_id = m.trace_id
    CROSS JOIN asked a
)
SELECT
    g.row_value,                          -- Value of the row's tag; NULL: not tagged.
    g.column_value,                       -- Value of the column's tag; NULL: not tagged.
    count(*) AS traces,                   -- Traces in the cell.
    median(g.measured) AS median,         -- Median of the measure; NULL: unknown in all of them.
    min(g.measured) AS least,             -- Smallest.
    max(g.measured) AS greatest,          -- Largest.
    count(g.measured) AS measured         -- Traces in which the measure is known.
FROM tagged g
GROUP BY g.row_value, g.column_value
ORDER BY 1 NULLS LAST, 2 NULLS LAST;
