-- # Power settings
--
-- Which power settings did the trace state, from which source, and did they change?
--
-- Every value of every source: the effective one (in force), those stored for AC and for DC,
-- overlays, and the processor engine's own profiles. A rundown says that the value was so, not when
-- it was set.
--
-- needs:   power_setting
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Power settings", Alois Kraus, 2024
-- caveats: GUIDs that are not known are kept raw.
-- key:     setting, efficiency_class, source
-- measure: max value
-- status:  stable
CREATE OR REPLACE MACRO power_settings(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the setting's alias, name or GUID; NULL for all.
    setting VARCHAR := NULL,
    -- 'effective', 'stored_ac', 'stored_dc', 'overlay' or 'engine'; NULL for all.
    source VARCHAR := NULL
) AS TABLE
SELECT
    t.trace,                              -- Name of the trace.
    coalesce(p.name, p.setting_guid) AS setting, -- Readable name, else the GUID.
    p.alias,                              -- powercfg alias; NULL: unknown.
    p.efficiency_class,                   -- Efficiency class that it is for; NULL: for all.
    p.source,                             -- Where the value comes from.
    p.scheme,                             -- Scheme, overlay or profile; NULL: not told.
    p.value,                              -- Value; NULL: no number.
    p.value_text,                         -- Readable value; NULL: unknown.
    p.unit,                               -- Unit; NULL: none.
    p.kind,                               -- 'rundown' or 'change'.
    p.ts_ns,                              -- When it was seen or changed.
    p.override,                           -- Whether an override is in force; NULL: not told.
    p.setting_guid,                       -- GUID of the setting.
    p.raw,                                -- The bytes in hex.
    p.trace_id                            -- Trace.
FROM power_setting p
JOIN selected_traces(trace) t ON t.trace_id = p.trace_id
WHERE (source IS NULL OR p.source = source)
    AND (glob_matches(p.alias, setting) OR glob_matches(p.name, setting)
        OR glob_matches(p.setting_guid, setting))
ORDER BY 1, p.trace_id, 5, 2, 4 NULLS FIRST, 6 NULLS FIRST, 11, 10 DESC, 14;
