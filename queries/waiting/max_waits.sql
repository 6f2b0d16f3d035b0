-- # Longest wait of each thread
--
-- Which threads waited longest in one piece, and who ended that wait?
--
-- A wait runs from the switch-out to the ready event. A wait that nobody ended counts to the end of
-- the scheduling record and is marked `open`. Gaps of the recording are no waiting time. With a
-- window, waits that meet it count whole.
--
-- needs:   cswitch, ready
-- source:  "Chasing a hitch" (waits by process and thread, sorted by the longest)
-- caveats: Threads of pools wait long because they have nothing to do; look for those that serve a
--          user.
-- key:     process
-- measure: max wait_ms_max
-- status:  stable
CREATE OR REPLACE MACRO max_waits(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH thread_wait AS MATERIALIZED (
    SELECT
        w.trace_id, w.trace, w.thread_key, w.process, w.pid, w.tid,
        count(*) AS waits,
        max(w.wait_ns) AS wait_ns_max,
        CAST(sum(w.wait_ns) AS BIGINT) AS wait_ns_total,
        CAST(sum(w.gap_ns) AS BIGINT) AS gap_ns,
        arg_max(
            {'open': w.open, 'at': w.from_ts_ns, 'key': w.readying_process_key},
            {'ns': w.wait_ns, 'earlier': -w.from_ts_ns}
        ) AS longest
    FROM wait_intervals(trace := trace, process := process) w
    WHERE in_window(w.from_ts_ns, w.to_ts_ns, from_s, to_s)
    GROUP BY w.trace_id, w.trace, w.thread_key, w.process, w.pid, w.tid
)
SELECT
    m.trace,                              -- Name of the trace.
    m.process,                            -- Image name.
    m.pid,                                -- Process id.
    m.tid,                                -- Thread id.
    m.waits,                              -- Waits, the open one included.
    m.wait_ns_max / 1000000.0 AS wait_ms_max, -- Longest wait, without gaps.
    m.wait_ns_total / 1000000.0 AS wait_ms_total, -- All waits together, without gaps.
    m.gap_ns / 1000000.0 AS gap_ms,       -- Gaps that were subtracted from them.
    m.longest.open AS open,               -- Whether nobody ended the longest.
    m.longest.at AS at_ts_ns,             -- The switch-out that began the longest.
    q.name AS readying_process,           -- Process that ended the longest; NULL: none, a DPC,
    -- unknown.
    m.trace_id,                           -- Trace.
    m.thread_key                          -- Key of the thread.
FROM thread_wait m
LEFT JOIN processes_of('thread_wait') q ON q.trace_id = m.trace_id AND q.process_key = m.longest.key
ORDER BY 6 DESC, 1, m.trace_id, 2, 3, 4, m.thread_key;
