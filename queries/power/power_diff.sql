-- # Power settings that differ
--
-- In which power settings do these traces differ?
--
-- Takes the last value of every setting in each trace and keeps the settings whose value is not the
-- same in all of them. The first trace by name (or `baseline`) is what the others are compared
-- with: 'same', 'changed', 'new' (the baseline has no value) or 'removed' (only the baseline has
-- one). Effective values are compared where every trace has them, else the values of every source.
--
-- needs:   power_setting
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "DumpPower.md", Siemens Healthineers
-- caveats: A setting that a trace does not state may still have had the same value.
-- key:     setting, alias, efficiency_class, source, scheme
-- pivot:   trace, value_text
-- status:  stable
CREATE OR REPLACE MACRO power_diff(
    -- Glob on the names of the traces to compare; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the name of the trace to compare with; NULL for the first by name.
    baseline VARCHAR := NULL,
    -- 'effective', 'stored_ac', 'stored_dc', 'overlay' or 'engine'; NULL for the best.
    source VARCHAR := NULL,
    -- Whether to list the settings that are the same everywhere, too.
    all_settings BOOLEAN := false
) AS TABLE
WITH stated AS (
    SELECT p.*
    FROM power_setting p
    WHERE p.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
        AND (source IS NULL OR p.source = source)
),
-- Traces that state nothing are not compared.
compared AS MATERIALIZED (
    SELECT
        s.trace_id, s.trace,
        row_number() OVER (
            ORDER BY baseline IS NOT NULL AND glob_matches(s.trace, baseline) DESC, s.trace,
                s.trace_id
        ) AS number,
        bool_and(s.effective) OVER () AS all_effective
    FROM (
        SELECT t.trace_id, t.trace, bool_or(p.source = 'effective') AS effective
        FROM selected_traces(trace) t
        JOIN stated p ON p.trace_id = t.trace_id
        GROUP BY t.trace_id, t.trace
    ) s
),
latest AS MATERIALIZED (
    SELECT
        c.trace_id, c.trace, c.number, p.source,
        -- The active scheme differs on purpose; a profile of the engine is part of the setting.
        CASE WHEN p.source IN ('engine', 'overlay') THEN coalesce(p.scheme, p.scheme_guid) END
            AS scheme,
        p.setting_guid, p.efficiency_class,
        arg_max(
            {'name': p.name, 'alias': p.alias, 'value': p.value, 'text': p.value_text,
                'raw': p.raw, 'ts_ns': p.ts_ns},
            {'ts_ns': p.ts_ns, 'change': p.kind = 'change', 'raw': p.raw}
        ) AS last
    FROM stated p
    JOIN compared c ON c.trace_id = p.trace_id
    WHERE source IS NOT NULL OR NOT c.all_effective OR p.source = 'effective'
    GROUP BY ALL
),
setting AS MATERIALIZED (
    SELECT
        l.source, l.scheme, l.setting_guid, l.efficiency_class,
        max(l.last.name) AS name, max(l.last.alias) AS alias, count(*) AS traces,
        count(DISTINCT coalesce(CAST(l.last.value AS VARCHAR), l.last.raw)) AS versions
    FROM latest l
    GROUP BY ALL
),
differing AS (
    SELECT s.*
    FROM setting s
    WHERE all_settings OR s.versions > 1 OR s.traces < (SELECT count(*) FROM compared)
),
cell AS (
    SELECT
        d.name, d.alias, d.source, d.scheme, d.setting_guid, d.efficiency_class,
        c.trace_id, c.trace, c.number, l.last, b.last AS base,
        l.trace_id IS NOT NULL AS stated, b.trace_id IS NOT NULL AS base_stated
    FROM differing d
    CROSS JOIN compared c
    LEFT JOIN latest l
        ON l.trace_id = c.trace_id AND l.setting_guid = d.setting_guid AND l.source = d.source
        AND l.scheme IS NOT DISTINCT FROM d.scheme
        AND l.efficiency_class IS NOT DISTINCT FROM d.efficiency_class
    LEFT JOIN latest b
        ON b.number = 1 AND b.setting_guid = d.setting_guid AND b.source = d.source
        AND b.scheme IS NOT DISTINCT FROM d.scheme
        AND b.efficiency_class IS NOT DISTINCT FROM d.efficiency_class
)
SELECT
    coalesce(e.name, e.setting_guid) AS setting, -- Readable name, else the GUID.
    e.alias,                              -- powercfg alias; NULL: unknown.
    e.efficiency_class,                   -- Efficiency class that it is for; NULL: for all.
    e.trace,                              -- Name of the trace.
    e.last.value AS value,                -- Its last value; NULL: none, or no number.
    coalesce(
        e.last.text, regexp_replace(CAST(e.last.value AS VARCHAR), '\.0$', ''), e.last.raw
    ) AS value_text,                      -- Readable.
    CASE
        WHEN NOT e.stated THEN 'removed'
        WHEN NOT e.base_stated THEN 'new'
        WHEN coalesce(CAST(e.last.value AS VARCHAR), e.last.raw)
            = coalesce(CAST(e.base.value AS VARCHAR), e.base.raw) THEN 'same'
        ELSE 'changed'
    END AS status,                        -- Compared with the baseline.
    e.source,                             -- Where the values come from.
    e.scheme,                             -- Profile or overlay; NULL: not one of these.
    e.trace_id                            -- Trace.
FROM cell e
WHERE e.stated OR e.base_stated
ORDER BY 8, 9 NULLS FIRST, 1, 2 NULLS FIRST, 3 NULLS FIRST, e.setting_guid, e.number;
