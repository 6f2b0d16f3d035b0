-- # Where the work ran
--
-- How much CPU time did each process get on P and on E cores, on how many CPUs, and how much is
-- missing?
--
-- Adds up the runs of each process by the kind of core. A CPU counts as used when it has at least 1
-- % of the process's CPU time. Where it is told how many threads were to run and how long each, the
-- expected CPU time is their product, and what is missing is the work that did not get a CPU.
--
-- needs:   cswitch, cpu
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Kinds of cores are known only where Kernel-Processor-Power was recorded; else they are
--          NULL.
-- key:     process
-- measure: cpu_s
-- status:  stable
CREATE OR REPLACE MACRO core_placement(
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
    l.p_cpu_ns / nullif(CAST(l.cpu_ns AS DOUBLE), 0) AS p_share, -- Share on P cores.
    l.cores_touched,                      -- CPUs on which it ran at all.
    l.first_ts_ns,                        -- Start of its first run.
    l.last_ts_ns,                         -- End of its last run.
    l.trace_id,                           -- Trace.
    l.process_key                         -- Key of the process.
FROM placement(trace := trace, process := process, from_s := from_s, to_s := to_s) l
JOIN selected_traces(trace) t ON t.trace_id = l.trace_id
JOIN process p ON p.trace_id = l.trace_id AND p.process_key = l.process_key
ORDER BY 1, l.trace_id, 4 DESC, 2, 3, l.process_key;
