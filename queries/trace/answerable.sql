-- # Answerable questions
--
-- Which questions can each trace answer, and what must be recorded for the others?
--
-- Every question names the tables and columns it needs. A trace can answer it where each of them
-- has rows; where one has none, nothing of the kind was recorded, which is not the same as nothing
-- found. `record_with` says which kernel flag, provider or WPR profile to add next time.
--
-- needs:   trace
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/built-in-recording-profiles "Built-in recording profiles", Microsoft
-- caveats: That a table has rows does not say that it covers the whole recording: see `health`.
-- key:     question
-- status:  stable
CREATE OR REPLACE MACRO answerable(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the question's name; NULL for all.
    question VARCHAR := NULL
) AS TABLE
WITH lacks AS (
    SELECT t.trace_id, n.question, n.need, n.record_with
    FROM trace t
    CROSS JOIN question_needs n
    LEFT JOIN evidence e ON e.trace_id = t.trace_id AND e.need = n.need
    WHERE glob_matches(t.name, trace) AND e.found IS NULL
),
lists AS (
    SELECT
        k.trace_id, k.question,
        string_agg(DISTINCT k.need, ', ' ORDER BY k.need) AS missing,
        string_agg(DISTINCT k.record_with, '; ' ORDER BY k.record_with) AS record_with
    FROM lacks k
    GROUP BY k.trace_id, k.question
)
SELECT
    t.name AS trace,                      -- Name of the trace.
    q.name AS question,                   -- Name of the question.
    s.missing IS NULL AS answerable,      -- Whether the trace has what the question needs.
    s.missing,                            -- Tables and columns it lacks; NULL: none.
    s.record_with,                        -- What to record next time; NULL: nothing is missing.
    t.trace_id                            -- Trace.
FROM trace t
CROSS JOIN questions q
LEFT JOIN lists s ON s.trace_id = t.trace_id AND s.question = q.name
WHERE glob_matches(t.name, trace) AND glob_matches(q.name, question)
ORDER BY 1, t.trace_id, 2;
