-- # Process tree
--
-- Which process started which, when did each begin and end, and with what command line?
--
-- Every process under its parent, siblings in order of their start. A parent that ended before the
-- recording is not there: its children stand at depth 0. A process that is its own ancestor, which
-- only a damaged trace shows, stands at depth 0 too. With a process pattern, the tree holds what
-- matches and everything below it; with a window, what was alive in it.
--
-- needs:   process
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: A NULL start or end lies outside the recording.
-- key:     process, parent_process
-- measure: mean duration_ms
-- status:  stable
CREATE OR REPLACE MACRO process_tree(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; what lies below a match is shown too. NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH RECURSIVE numbered AS (
    -- A number in order of start makes lists of numbers sort as a tree is read.
    SELECT
        p.trace_id, p.process_key, p.parent_process_key, glob_matches(p.name, process) AS hit,
        row_number() OVER (
            PARTITION BY p.trace_id ORDER BY p.start_ts_ns NULLS FIRST, p.pid, p.process_key
        ) AS number
    FROM process p
    WHERE p.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
),
reached AS (
    SELECT n.trace_id, n.process_key, 0 AS depth, n.hit, [n.number] AS place
    FROM numbered n
    LEFT JOIN numbered o
        ON o.trace_id = n.trace_id AND o.process_key = n.parent_process_key
    WHERE o.process_key IS NULL
    UNION ALL
    -- What hangs below a root is a tree: a ring has no root, so this ends.
    SELECT
        n.trace_id, n.process_key, r.depth + 1 AS depth, r.hit OR n.hit AS hit,
        list_append(r.place, n.number) AS place
    FROM reached r
    JOIN numbered n ON n.trace_id = r.trace_id AND n.parent_process_key = r.process_key
),
placed AS (
    SELECT r.trace_id, r.process_key, r.depth, r.hit, r.place FROM reached r
    UNION ALL
    SELECT n.trace_id, n.process_key, 0 AS depth, n.hit, [n.number] AS place
    FROM numbered n
    WHERE NOT EXISTS (
        SELECT r.process_key
        FROM reached r
        WHERE r.trace_id = n.trace_id AND r.process_key = n.process_key
    )
)
SELECT
    s.trace,                              -- Name of the trace.
    b.depth,                              -- 0 for a process whose parent is not in the trace.
    p.name AS process,                    -- Image name; NULL: no event names the process.
    p.pid,                                -- Process id.
    p.parent_pid,                         -- Process id of the parent.
    p.start_ts_ns,                        -- Start; NULL: before the recording.
    p.end_ts_ns,                          -- End; NULL: after the recording.
    (p.end_ts_ns - p.start_ts_ns) / 1e6 AS duration_ms, -- Lifetime; NULL: not all of it is
    -- recorded.
    p.command_line,                       -- Command line; NULL: not recorded.
    p.exit_code,                          -- Exit code; NULL: no end was recorded.
    q.name AS parent_process,             -- Image name of the parent; NULL: it is not in the trace.
    p.trace_id,                           -- Trace.
    p.process_key                         -- Key of the process.
FROM placed b
JOIN process p ON p.trace_id = b.trace_id AND p.process_key = b.process_key
JOIN selected_traces(trace) s ON s.trace_id = b.trace_id
LEFT JOIN process q ON q.trace_id = p.trace_id AND q.process_key = p.parent_process_key
WHERE b.hit
    AND (to_s IS NULL OR p.start_ts_ns IS NULL OR p.start_ts_ns < seconds_ns(to_s))
    AND (from_s IS NULL OR p.end_ts_ns IS NULL OR p.end_ts_ns > seconds_ns(from_s))
ORDER BY 1, p.trace_id, b.place, p.process_key;
