-- # CPUs of the machine
--
-- How many logical CPUs of which kind did the recorded machine have?
--
-- One row per processor group and efficiency class. Classes are known only where the provider
-- Microsoft-Windows-Kernel-Processor-Power was recorded; 'P' and 'E' only where at least two occur.
--
-- needs:   trace
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Class 0 is the most efficient one. On a machine with one class it does not mean 'E'.
-- key:     group_number, efficiency_class
-- measure: cpus
-- status:  stable
CREATE OR REPLACE MACRO topology(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH grouped AS (
    SELECT
        u.trace_id, u.group_number, u.efficiency_class, u.core_type, count(*) AS cpus,
        min(u.cpu) AS first_cpu, max(u.cpu) AS last_cpu, min(u.nominal_mhz) AS nominal_mhz_min,
        max(u.nominal_mhz) AS nominal_mhz_max, min(u.relative_performance) AS performance_min,
        max(u.relative_performance) AS performance_max
    FROM cpu u
    WHERE u.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
    GROUP BY u.trace_id, u.group_number, u.efficiency_class, u.core_type
)
SELECT
    t.name AS trace,                      -- Name of the trace.
    t.cpu_model,                          -- Processor model; NULL: not recorded.
    t.os_build,                           -- Windows build.
    t.cpu_count,                          -- Logical CPUs of the machine.
    g.group_number,                       -- Processor group; NULL: not recorded.
    g.efficiency_class,                   -- Efficiency class; NULL: not recorded.
    g.core_type,                          -- 'P' or 'E'; NULL: one class only, or not recorded.
    coalesce(g.cpus, t.cpu_count) AS cpus, -- Logical CPUs of this kind.
    g.first_cpu,                          -- Lowest CPU index.
    g.last_cpu,                           -- Highest CPU index.
    g.nominal_mhz_min,                    -- Lowest nominal frequency.
    g.nominal_mhz_max,                    -- Highest nominal frequency.
    g.performance_min,                    -- Lowest relative performance.
    g.performance_max,                    -- Highest relative performance.
    t.trace_id                            -- Trace.
FROM trace t
LEFT JOIN grouped g ON g.trace_id = t.trace_id
WHERE glob_matches(t.name, trace)
ORDER BY 1, t.trace_id, 5 NULLS LAST, 6 DESC NULLS LAST, 9 NULLS LAST;
