-- # Ramp-up
--
-- How long did it take until all threads of a process ran at once?
--
-- Counts, at every moment, how many CPUs run threads of the process, and takes the first moment
-- with as many as asked for, counted from the first run (or the start of the process, if that is
-- later). Without `threads`, as many as ever ran at once.
--
-- needs:   cswitch
-- source:  https://github.com/Siemens-Healthineers/ETWAnalyzer "Hybrid CPUs and power profiles", Alois Kraus, 2024
-- caveats: Threads that the process starts late make it long, too.
-- key:     process
-- measure: mean ramp_up_s
-- status:  stable
CREATE OR REPLACE MACRO ramp_up(
    -- Threads that should run at once; NULL for as many as ever did.
    threads BIGINT := NULL,
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
    r.threads_wanted,                     -- Threads that should run at once.
    r.threads_max,                        -- Most threads that ran at once.
    greatest(r.first_ts_ns, p.start_ts_ns) AS from_ts_ns, -- First run, or start of the process.
    r.reached_ts_ns,                      -- When they first ran at once; NULL: never.
    (r.reached_ts_ns - greatest(r.first_ts_ns, p.start_ts_ns)) / 1e9 AS ramp_up_s, -- In between.
    r.trace_id,                           -- Trace.
    r.process_key                         -- Key of the process.
FROM ramp_ups(
    threads := threads, trace := trace, process := process, from_s := from_s, to_s := to_s
) r
JOIN selected_traces(trace) t ON t.trace_id = r.trace_id
JOIN process p ON p.trace_id = r.trace_id AND p.process_key = r.process_key
ORDER BY 8 DESC NULLS FIRST, 1, r.trace_id, 2, 3, r.process_key;
