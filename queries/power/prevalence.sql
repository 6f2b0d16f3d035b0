-- # What separates traces with a finding from the others
--
-- Which tag, power setting, Windows build or CPU model goes with a finding of a question?
--
-- Runs the question over the traces; a trace has the finding when the question gives at least one
-- row for it that meets the condition. For every value of every factor: how many of its traces have
-- the finding, how much more often than all traces do (`lift`), and how likely such a division is
-- by chance (two-sided Fisher test against all other traces). Factors that are the same everywhere
-- say nothing and are left out.
--
-- needs:   trace
-- source:  "What none of them has": finding against build, model, setting and file name
-- caveats: The p-values are not corrected for the number of factors.
-- caveats: A trace in which the question could not be answered counts as one without the finding;
--          leave such traces out with `trace` (see `answerable`).
-- key:     factor, level
-- measure: rate
-- portable: no
-- status:  stable
CREATE OR REPLACE MACRO prevalence(
    -- A question: its name, or a call with parameters such as 'starvation(min_ready_ms := 50)'.
    question VARCHAR,
    -- Name of the factor: a tag, 'os_build', 'cpu_model', 'power:ALIAS'; a glob, NULL for all.
    factor VARCHAR := NULL,
    -- SQL condition on the question's rows that makes one a finding.
    finding VARCHAR := 'true',
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH hit AS (
    SELECT DISTINCT q.trace_id
    FROM query(
        'SELECT f.trace_id FROM '
        || coalesce(question, '(SELECT CAST(NULL AS BIGINT) AS trace_id LIMIT 0)')
        || CASE WHEN question IS NULL OR contains(question, '(') THEN '' ELSE '()' END
        || ' AS f WHERE ' || finding
    ) q
),
judged AS (
    SELECT s.trace_id, h.trace_id IS NOT NULL AS found
    FROM selected_traces(trace) s
    LEFT JOIN hit h ON h.trace_id = s.trace_id
),
whole AS (
    SELECT count(*) AS traces, count(*) FILTER (WHERE j.found) AS found FROM judged j
),
leveled AS (
    SELECT
        f.factor, f.level, count(*) AS traces, count(*) FILTER (WHERE j.found) AS found,
        count(*) OVER (PARTITION BY f.factor) AS levels
    FROM trace_factors(trace := trace) f
    JOIN judged j ON j.trace_id = f.trace_id
    WHERE glob_matches(f.factor, factor)
    GROUP BY f.factor, f.level
)
SELECT
    v.factor,                             -- Name of the factor.
    v.level,                              -- Its value.
    v.traces,                             -- Traces with this value.
    v.found AS with_finding,              -- Of them, with the finding.
    v.found / nullif(CAST(v.traces AS DOUBLE), 0) AS rate, -- Share of them.
    (v.found / nullif(CAST(v.traces AS DOUBLE), 0))
        / nullif(w.found / nullif(CAST(w.traces AS DOUBLE), 0), 0) AS lift, -- Rate over that of
        -- all.
    fisher_exact(v.found, v.traces - v.found, w.found - v.found,
        w.traces - v.traces - (w.found - v.found)) AS p_value -- Two-sided, against the others.
FROM leveled v
CROSS JOIN whole w
WHERE v.levels > 1 OR v.traces < w.traces
ORDER BY 7, 6 DESC NULLS LAST, 1, 2;
