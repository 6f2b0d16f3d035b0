-- # Changes of rank
--
-- When did the rank of a thread change, and how much CPU had its process used before?
--
-- The rank of a thread is recorded when it leaves a CPU. A change is seen at the first switch-out
-- with another rank than at the switch-out before. `cpu_ms_before` is the CPU time of the whole
-- process since that thread's previous change, or since the trace start.
--
-- needs:   cswitch
-- needs_columns: cswitch.old_rank
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Background processes that use much CPU are given ranks on purpose.
-- key:     process
-- measure: max rank_after
-- status:  stable
CREATE OR REPLACE MACRO rank_changes(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.end_ns FROM selected_traces(trace) s
),
change AS MATERIALIZED (
    SELECT
        c.trace_id, c.new_thread_key AS thread_key, c.new_process_key AS process_key,
        c.new_tid AS tid, c.new_pid AS pid, c.ts_ns + c.run_ns AS ts_ns,
        c.new_rank_before, c.new_rank,
        coalesce(lag(c.ts_ns + c.run_ns) OVER (
            PARTITION BY c.trace_id, c.new_thread_key ORDER BY c.ts_ns + c.run_ns, c.ts_ns
        ), 0) AS since_ts_ns
    FROM cswitch c
    WHERE c.trace_id IN (SELECT k.trace_id FROM chosen k)
        AND c.new_rank <> c.new_rank_before
        AND c.new_tid <> 0
),
changed_trace AS MATERIALIZED (
    SELECT
        k.trace_id, any_value(k.end_ns) AS end_ns, min(c.since_ts_ns) AS from_ns,
        max(c.ts_ns) AS to_ns
    FROM chosen k
    JOIN change c ON c.trace_id = k.trace_id
    GROUP BY k.trace_id
),
change_bucket AS (
    SELECT
        c.trace_id, c.thread_key, c.process_key, c.since_ts_ns, c.ts_ns,
        unnest(range(c.since_ts_ns >> 27, ((c.ts_ns - 1) >> 27) + 1)) AS bucket
    FROM change c
),
run_bucket AS (
    SELECT
        r.trace_id, r.process_key, r.from_ts_ns, r.to_ts_ns,
        unnest(range(r.from_ts_ns >> 27, ((r.to_ts_ns - 1) >> 27) + 1)) AS bucket
    FROM runs_of('changed_trace') r
    WHERE (r.trace_id, r.process_key) IN (SELECT (c.trace_id, c.process_key) FROM change c)
),
used AS (
    SELECT
        c.trace_id, c.thread_key, c.ts_ns,
        CAST(sum(
            least(c.ts_ns, r.to_ts_ns, (c.bucket + 1) * 134217728)
            - greatest(c.since_ts_ns, r.from_ts_ns, c.bucket * 134217728)
        ) AS BIGINT) AS cpu_ns
    FROM change_bucket c
    JOIN run_bucket r
        ON r.trace_id = c.trace_id AND r.process_key = c.process_key AND r.bucket = c.bucket
    WHERE r.from_ts_ns < c.ts_ns AND r.to_ts_ns > c.since_ts_ns
    GROUP BY c.trace_id, c.thread_key, c.ts_ns
)
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name.
    coalesce(c.pid, p.pid) AS pid,        -- Process id.
    c.tid,                                -- Thread id.
    c.ts_ns,                              -- The switch-out that shows the new rank.
    c.new_rank_before AS rank_before,     -- Rank at the switch-out before.
    c.new_rank AS rank_after,             -- Rank now.
    coalesce(u.cpu_ns, 0) / 1000000.0 AS cpu_ms_before, -- CPU time of the process since the
    -- previous change.
    c.trace_id                            -- Trace.
FROM change c
JOIN chosen t ON t.trace_id = c.trace_id
LEFT JOIN used u
    ON u.trace_id = c.trace_id AND u.thread_key = c.thread_key AND u.ts_ns = c.ts_ns
LEFT JOIN processes_of('chosen') p ON p.trace_id = c.trace_id AND p.process_key = c.process_key
WHERE glob_matches(p.name, process)
    AND in_window(c.ts_ns, c.ts_ns, from_s, to_s)
ORDER BY 1, c.trace_id, 5, 4, c.thread_key;
