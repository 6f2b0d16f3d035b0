-- # What may explain a finding
--
-- One row per trace and property: every tag, the Windows build, the CPU model and count, and the
-- last effective value of every power setting.
CREATE OR REPLACE MACRO trace_factors(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH chosen AS (
    SELECT t.trace_id, t.os_build, t.os_name, t.cpu_model, t.cpu_count, t.memory_mb, t.tags
    FROM trace t
    WHERE glob_matches(t.name, trace)
),
tagged AS (
    SELECT k.trace_id, unnest(map_entries(k.tags)) AS entry FROM chosen k
),
setting AS (
    SELECT
        p.trace_id, 'power:' || coalesce(p.alias, p.setting_guid)
            || CASE WHEN p.alias IS NOT NULL OR p.efficiency_class IS NULL THEN ''
                ELSE ':' || p.efficiency_class END AS factor,
        arg_max(
            coalesce(p.value_text, CAST(p.value AS VARCHAR), p.raw),
            {'ts_ns': p.ts_ns, 'change': p.kind = 'change', 'raw': p.raw}
        ) AS level
    FROM power_setting p
    WHERE p.source = 'effective' AND p.trace_id IN (SELECT k.trace_id FROM chosen k)
    GROUP BY ALL
)
SELECT
    f.trace_id,                           -- Trace.
    f.factor,                             -- Name: a tag's own, or `os_build`, `power:ALIAS` and so
    -- on.
    f.level                               -- Its value in this trace.
FROM (
    SELECT g.trace_id, g.entry.key AS factor, g.entry.value AS level FROM tagged g
    UNION ALL
    SELECT k.trace_id, 'os_build', CAST(k.os_build AS VARCHAR) FROM chosen k
    UNION ALL
    SELECT k.trace_id, 'os_name', k.os_name FROM chosen k
    UNION ALL
    SELECT k.trace_id, 'cpu_model', k.cpu_model FROM chosen k
    UNION ALL
    SELECT k.trace_id, 'cpu_count', CAST(k.cpu_count AS VARCHAR) FROM chosen k
    UNION ALL
    SELECT k.trace_id, 'memory_mb', CAST(k.memory_mb AS VARCHAR) FROM chosen k
    UNION ALL
    SELECT s.trace_id, s.factor, s.level FROM setting s
) f
WHERE f.level IS NOT NULL;
