-- # Threads starved of CPU
--
-- Which threads were ready to run but had to wait for a CPU, for how long, and behind whom?
--
-- A thread is ready from the moment it is made ready (or loses its CPU) until it is switched in.
-- Intervals that were still open when the recording of switches stopped are listed with `open`,
-- counted to the end of that record. Time in gaps of the recording does not count. The process to
-- blame is the one that got the most CPU time on all CPUs during the interval. With a window, every
-- interval that meets it is listed whole.
--
-- needs:   cswitch
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- source:  https://learn.microsoft.com/windows-hardware/test/wpt/cpu-analysis "CPU Analysis", Microsoft
-- caveats: Without ReadyThread events only preempted threads have a known ready time.
-- key:     process
-- measure: ready_ms
-- finding: ready_ms >= 1000
-- status:  stable
CREATE OR REPLACE MACRO starvation(
    -- Shortest ready time worth reporting, in milliseconds, gaps not counted.
    min_ready_ms DOUBLE := 10.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the starved process; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
SELECT
    s.trace,                              -- Name of the trace.
    s.process,                            -- Image name of the starved thread's process.
    s.pid,                                -- Its process id.
    s.tid,                                -- Its thread id.
    s.ready_ts_ns,                        -- Since when it was ready.
    s.ts_ns,                              -- When it ran at last; NULL: never.
    s.ready_ms,                           -- How long it was ready, without gaps.
    s.gap_ms,                             -- How much of the interval was not recorded.
    s.open,                               -- Whether it was still ready at the end of the record.
    s.cpu,                                -- CPU on which it then ran; NULL: none.
    s.priority,                           -- Its priority at switch-in, else before.
    s.rank,                               -- Its rank: the higher of the next two.
    s.new_rank_before,                    -- Rank when it last left a CPU.
    s.new_rank,                           -- Rank when the run after the interval ended.
    s.readying_process,                   -- Process that made it ready; NULL: nobody, a DPC,
    -- unknown.
    s.readying_tid,                       -- Thread that made it ready.
    s.blame_process,                      -- Process with the most CPU time in the interval.
    s.blame_ms,                           -- That CPU time, over all CPUs.
    s.trace_id,                           -- Trace.
    s.blame_process_key                   -- Key of the process to blame.
FROM starved_intervals(
    min_ready_ms := min_ready_ms, trace := trace, process := process, from_s := from_s,
    to_s := to_s
) s
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.thread_key;
