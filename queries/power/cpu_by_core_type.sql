-- # CPU time by kind of core and priority
--
-- On which kind of core did each process run, and at which priorities?
--
-- The columns of `core_placement`, with the priorities at which the threads were switched in.
--
-- needs:   cswitch, cpu
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Kinds of cores are known only where Kernel-Processor-Power was recorded; else they are
--          NULL.
-- key:     process
-- measure: p_cpu_s
-- status:  stable
CREATE OR REPLACE MACRO cpu_by_core_type(
    -- Threads that the process was told to run; NULL: not told.
    threads BIGINT := NULL,
    -- Seconds that each of them was to run; NULL: not told.
    expected_s DOUBLE := NULL,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name.
    p.pid,                                -- Process id.
    l.cpu_ns / 1e9 AS cpu_s,              -- CPU time in seconds.
    l.p_cpu_ns / 1e9 AS p_cpu_s,          -- Of it on P cores; NULL: the trace does not tell.
    l.e_cpu_ns / 1e9 AS e_cpu_s,          -- Of it on E cores; NULL: the trace does not tell.
    l.cores_used,                         -- CPUs with at least 1 % of its CPU time.
    threads * expected_s AS expected_cpu_s, -- Threads x seconds; NULL: not told.
    threads * expected_s - l.cpu_ns / 1e9 AS missing_cpu_s, -- Expected, but not got; NULL: not
    -- told.
    l.priority_min,                       -- Lowest priority at switch-in.
    l.priority_max,                       -- Highest priority at switch-in.
    l.priority_mean,                      -- Mean priority, weighted by CPU time.
    l.trace_id,                           -- Trace.
    l.process_key                         -- Key of the process.
FROM placement(trace := trace, process := process, from_s := from_s, to_s := to_s) l
JOIN selected_traces(trace) t ON t.trace_id = l.trace_id
JOIN process p ON p.trace_id = l.trace_id AND p.process_key = l.process_key
ORDER BY 4 DESC, 1, l.trace_id, 2, 3, l.process_key;
