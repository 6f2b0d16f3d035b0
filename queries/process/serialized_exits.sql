-- # Process exits that went one after the other
--
-- Did many processes end at once, and did their exits wait for each other while CPUs were idle?
--
-- Exits that overlap in time form a burst. For each burst with enough exits: how many CPUs, on
-- average, ran the processes that were exiting, and which share of all CPUs was idle. Many exits
-- with about one CPU busy are serialized. Bursts that kept more CPUs busy are not listed.
--
-- needs:   cswitch, process, thread
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: An exit begins at the Terminate event, else at the first thread end after which no
--          thread starts.
-- key:     exits
-- measure: mean exit_ms_median
-- finding: idle_share >= 0.5
-- status:  stable
CREATE OR REPLACE MACRO serialized_exits(
    -- Fewest exits of a burst worth reporting.
    min_exits BIGINT := 10,
    -- Most CPUs that the exiting processes keep busy on average; NULL lists every burst.
    max_cpus_busy DOUBLE := 2.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the processes that exit; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that a burst meets, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that a burst meets, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH ended AS MATERIALIZED (
    SELECT
        x.*,
        max(x.to_ts_ns) OVER (
            PARTITION BY x.trace_id ORDER BY x.from_ts_ns, x.to_ts_ns, x.process_key
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ts_ns
    FROM process_exits(trace := trace, process := process) x
),
numbered AS MATERIALIZED (
    SELECT
        e.*,
        count(*) FILTER (WHERE e.reached_ts_ns IS NULL OR e.from_ts_ns > e.reached_ts_ns) OVER (
            PARTITION BY e.trace_id ORDER BY e.from_ts_ns, e.to_ts_ns, e.process_key
        ) AS burst_number
    FROM ended e
),
burst AS MATERIALIZED (
    SELECT g.*
    FROM (
        SELECT
            n.trace_id, n.burst_number, min(n.from_ts_ns) AS from_ts_ns,
            max(n.to_ts_ns) AS to_ts_ns, count(*) AS exits,
            median(n.to_ts_ns - n.from_ts_ns) AS exit_ns_median
        FROM numbered n
        GROUP BY n.trace_id, n.burst_number
    ) g
    WHERE g.exits >= min_exits AND g.to_ts_ns > g.from_ts_ns
        AND in_window(g.from_ts_ns, g.to_ts_ns, from_s, to_s)
),
-- Runs are read of the traces that have a burst, and from the first to the last of it.
burst_trace AS MATERIALIZED (
    SELECT
        s.trace_id, any_value(s.trace) AS trace, any_value(s.cpu_count) AS cpu_count,
        any_value(s.gaps) AS gaps, any_value(s.end_ns) AS end_ns,
        min(b.from_ts_ns) AS from_ns, max(b.to_ts_ns) AS to_ns
    FROM selected_traces(trace) s
    JOIN burst b ON b.trace_id = s.trace_id
    GROUP BY s.trace_id
),
ran AS (
    SELECT
        b.trace_id, b.burst_number,
        CAST(sum(r.to_ts_ns - r.from_ts_ns) FILTER (WHERE r.idle) AS BIGINT) AS idle_ns,
        CAST(sum(r.exit_ns) AS BIGINT) AS exit_ns
    FROM burst b
    JOIN (
        SELECT
            q.trace_id, q.idle, g.burst_number,
            greatest(q.from_ts_ns, g.from_ts_ns) AS from_ts_ns,
            least(q.to_ts_ns, g.to_ts_ns) AS to_ts_ns,
            CASE WHEN x.process_key IS NOT NULL AND NOT q.idle
                THEN overlap_ns(q.from_ts_ns, q.to_ts_ns, x.from_ts_ns, x.to_ts_ns) END AS exit_ns
        FROM runs_of('burst_trace') q
        JOIN burst g
            ON g.trace_id = q.trace_id
            AND q.from_ts_ns < g.to_ts_ns AND q.to_ts_ns > g.from_ts_ns
        LEFT JOIN numbered x
            ON x.trace_id = q.trace_id AND x.process_key = q.process_key
            AND x.burst_number = g.burst_number
    ) r ON r.trace_id = b.trace_id AND r.burst_number = b.burst_number
    GROUP BY b.trace_id, b.burst_number
),
measured AS (
    SELECT
        t.trace, b.trace_id, b.from_ts_ns, b.to_ts_ns, b.exits, b.exit_ns_median, t.cpu_count,
        coalesce(r.exit_ns, 0)
            / nullif(CAST(b.to_ts_ns - b.from_ts_ns
                - gap_within_ns(t.gaps, b.from_ts_ns, b.to_ts_ns) AS DOUBLE), 0) AS cpus_busy,
        coalesce(r.idle_ns, 0)
            / nullif(CAST(t.cpu_count AS DOUBLE) * (b.to_ts_ns - b.from_ts_ns
                - gap_within_ns(t.gaps, b.from_ts_ns, b.to_ts_ns)), 0) AS idle_share
    FROM burst b
    JOIN burst_trace t ON t.trace_id = b.trace_id
    -- Without a recorded run nothing is known of the CPUs.
    JOIN ran r ON r.trace_id = b.trace_id AND r.burst_number = b.burst_number
)
SELECT
    m.trace,                              -- Name of the trace.
    m.from_ts_ns,                         -- The first exit of the burst begins.
    m.to_ts_ns,                           -- The last exit of the burst is done.
    m.exits,                              -- Exits in the burst.
    m.exit_ns_median / 1000000.0 AS exit_ms_median, -- Median time from an exit's beginning to its
    -- end.
    m.cpus_busy,                          -- Mean number of CPUs that ran exiting processes.
    m.cpu_count,                          -- Logical CPUs.
    m.idle_share,                         -- Idle share of all CPUs in the burst.
    m.trace_id                            -- Trace.
FROM measured m
WHERE max_cpus_busy IS NULL
    OR (m.cpus_busy <= max_cpus_busy AND m.cpus_busy <= m.cpu_count / 2.0)
ORDER BY 4 DESC, 1, m.trace_id, 2;
