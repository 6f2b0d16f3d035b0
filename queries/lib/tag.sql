-- # Tag of a trace
--
-- Value of a tag that `--tag`, `--name-pattern` or a sidecar file gave; NULL where there is none.
CREATE OR REPLACE MACRO tag(
    -- Trace.
    trace_id,
    -- Name of the tag.
    tag_name
) AS (
    SELECT m.lib_tags[tag_name]
    FROM (SELECT t.trace_id AS lib_trace_id, t.tags AS lib_tags FROM trace t) m
    WHERE m.lib_trace_id = trace_id
);
