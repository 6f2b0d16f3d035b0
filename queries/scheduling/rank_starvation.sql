-- # Threads starved because of their rank
--
-- Which threads had to wait for a CPU because their rank let threads of lower rank go first?
--
-- The scheduler runs rank 0 before rank 1 before rank 2, whatever the priorities. Listed are the
-- ready intervals of `starvation` whose rank is above 0 and in which threads of a lower rank ran;
-- how much they ran, and how much of it at a lower priority, is shown.
--
-- needs:   cswitch
-- needs_columns: cswitch.old_rank
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: A rank is known only when a thread leaves a CPU; runs whose rank is unknown are not
--          counted.
-- key:     process
-- measure: ready_ms
-- finding: ready_ms >= 100
-- status:  stable
CREATE OR REPLACE MACRO rank_starvation(
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
    s.lower_rank_ms,                      -- CPU time of threads of lower rank, over all CPUs.
    s.lower_priority_ms,                  -- Of it, at a lower priority.
    s.trace_id                            -- Trace.
FROM starved_intervals(
    min_ready_ms := min_ready_ms, min_rank := 1, trace := trace, process := process,
    from_s := from_s, to_s := to_s
) s
WHERE s.lower_rank_ms > 0
ORDER BY 7 DESC, 1, s.trace_id, 5, 4, s.thread_key;
