-- # Runs on CPUs
--
-- Every stretch in which a thread had a CPU, clipped to the window, the idle thread's included.
-- The last run of a CPU is open and counts to the end of the scheduling record; a run whose chain
-- is broken has no known end and is left out.
CREATE OR REPLACE MACRO runs_in(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Start of the window in seconds; NULL for the start of the trace.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end of the trace.
    to_s DOUBLE := NULL
) AS TABLE
WITH runs_in_trace AS MATERIALIZED (
    SELECT s.trace_id, s.end_ns, seconds_ns(from_s) AS from_ns, seconds_ns(to_s) AS to_ns
    FROM selected_traces(trace) s
)
SELECT
    r.trace_id,                           -- Trace.
    r.cpu,                                -- CPU.
    r.from_ts_ns,                         -- Start, clipped to the window.
    r.to_ts_ns,                           -- End, clipped to the window.
    r.ts_ns,                              -- The switch that began the run.
    r.thread_key,                         -- Thread.
    r.process_key,                        -- Its process.
    r.tid,                                -- Thread id; 0 is the idle thread.
    r.pid,                                -- Process id.
    r.priority,                           -- Priority at switch-in.
    r.out_priority,                       -- Priority at switch-out.
    r.rank,                               -- Highest rank known of the run.
    r.new_rank,                           -- Rank at switch-out.
    r.qos,                                -- Quality-of-service level.
    r.open,                               -- Whether the run is its CPU's last.
    r.idle                                -- Whether the CPU was idle.
FROM runs_of('runs_in_trace') r;
