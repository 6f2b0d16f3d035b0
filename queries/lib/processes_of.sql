-- # Names of the processes of given traces
--
-- The processes of traces that the caller has chosen already. Joined in the place of `process`, so
-- that only the files of these traces are read, also where the join keeps rows without a process.
CREATE OR REPLACE MACRO processes_of(
    -- Name of the caller's table, which has a `trace_id`.
    traces
) AS TABLE
SELECT
    p.trace_id,                           -- Trace.
    p.process_key,                        -- Process.
    p.name,                               -- Its image name.
    p.pid                                 -- Its process id.
FROM process p
WHERE p.trace_id IN (SELECT t.trace_id FROM query_table(traces) t);
