-- # Convoys
--
-- Behind which functions did threads queue up, one after the other, while CPUs could have worked?
--
-- For every function on the stacks of threads that made others ready (not in a DPC): the switches
-- that followed, what the woken threads had waited, and how long each waker had held them up: from
-- the later of its own switch-in and the start of the wait, to the ready event. A convoy has many
-- waits, holds that add up to about the window (`switches` x `hold_us_median` against `window_s`),
-- and hardly more than one holder at a time (`concurrency`). Functions that share at least 90 % of
-- their switches are one row: the innermost that also has at least 90 % of their samples; without
-- samples, all of them, innermost first. `serial_s_lost` is what the other CPUs could have done
-- meanwhile.
--
-- needs:   cswitch, ready, stack
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Two threads that hand work to each other all the time look alike; look at `waiters`.
-- caveats: Heavy on many traces at once; name some.
-- key:     frame
-- measure: serial_s_lost
-- finding: serial_s_lost >= 1
-- status:  stable
CREATE OR REPLACE MACRO convoys(
    -- Least waiting worth reporting, all switches of a function together, in milliseconds.
    min_wait_ms DOUBLE := 100.0,
    -- Least share of the window that the holds must fill.
    min_share DOUBLE := 0.5,
    -- Most holders at a time, on average.
    max_concurrency DOUBLE := 2.0,
    -- Fewest threads that wait at a time, on average.
    min_waiters DOUBLE := 2.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name of the processes that waited; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window in seconds; the switch-in counts. NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH chosen AS MATERIALIZED (
    SELECT s.trace_id, s.trace, s.cpu_count, s.gaps FROM selected_traces(trace) s
),
woken AS MATERIALIZED (
    SELECT
        c.trace_id, c.ready_stack_id AS stack_id, c.ts_ns - c.since_last_ns AS out_ts_ns,
        c.ts_ns - c.ready_ns AS ready_ts_ns, c.readying_thread_key,
        c.since_last_ns - c.ready_ns
            - gap_within_ns(s.gaps, c.ts_ns - c.since_last_ns, c.ts_ns - c.ready_ns) AS wait_ns
    FROM cswitch c
    JOIN chosen s ON s.trace_id = c.trace_id
    LEFT JOIN processes_of('chosen') p
        ON p.trace_id = c.trace_id AND p.process_key = c.new_process_key
    WHERE c.readying_thread_key IS NOT NULL
        AND c.ready_stack_id IS NOT NULL
        AND c.since_last_ns > c.ready_ns
        AND in_window(c.ts_ns, c.ts_ns, from_s, to_s)
        AND glob_matches(p.name, process)
),
began AS (
    SELECT c.trace_id, c.new_thread_key AS thread_key, c.ts_ns
    FROM cswitch c
    WHERE c.trace_id IN (SELECT w.trace_id FROM woken w) AND c.new_tid <> 0
),
held AS MATERIALIZED (
    SELECT
        w.trace_id, w.stack_id, w.out_ts_ns, w.ready_ts_ns, w.wait_ns,
        greatest(b.ts_ns, w.out_ts_ns) AS hold_from_ns
    FROM woken w
    ASOF LEFT JOIN began b
        ON b.trace_id = w.trace_id AND b.thread_key = w.readying_thread_key
        AND b.ts_ns <= w.ready_ts_ns
),
by_stack AS MATERIALIZED (
    SELECT
        h.trace_id, h.stack_id, count(*) AS switches, CAST(sum(h.wait_ns) AS BIGINT) AS wait_ns
    FROM held h
    GROUP BY h.trace_id, h.stack_id
),
sampled AS MATERIALIZED (
    SELECT w.trace_id, w.stack_id, w.hits
    FROM weighted_stacks(stacks := 'sample', trace := trace, from_s := from_s, to_s := to_s) w
    WHERE w.stack_id IS NOT NULL
),
in_stack AS MATERIALIZED (
    SELECT
        f.trace_id, f.stack_id, f.frame, max(f.depth) AS depth
    FROM stack_frames(trace := trace) f
    WHERE NOT is_wait_machinery(f.module, f.function)
    GROUP BY f.trace_id, f.stack_id, f.frame
),
candidate AS MATERIALIZED (
    SELECT g.*
    FROM (
        SELECT
            i.trace_id, i.frame, CAST(sum(b.switches) AS BIGINT) AS switches,
            CAST(sum(b.wait_ns) AS BIGINT) AS wait_ns,
            CAST(sum(i.depth * b.switches) AS DOUBLE) / nullif(sum(b.switches), 0) AS depth
        FROM in_stack i
        JOIN by_stack b ON b.trace_id = i.trace_id AND b.stack_id = i.stack_id
        GROUP BY i.trace_id, i.frame
    ) g
    WHERE g.wait_ns >= min_wait_ms * 1000000.0
),
inclusive AS (
    SELECT c.trace_id, c.frame, CAST(sum(s.hits) AS BIGINT) AS samples
    FROM candidate c
    JOIN in_stack i ON i.trace_id = c.trace_id AND i.frame = c.frame
    JOIN sampled s ON s.trace_id = i.trace_id AND s.stack_id = i.stack_id
    GROUP BY c.trace_id, c.frame
),
measured AS MATERIALIZED (
    SELECT c.*, coalesce(n.samples, 0) AS samples
    FROM candidate c
    LEFT JOIN inclusive n ON n.trace_id = c.trace_id AND n.frame = c.frame
),
candidate_stack AS MATERIALIZED (
    SELECT i.trace_id, i.stack_id, i.frame, b.switches
    FROM in_stack i
    JOIN candidate c ON c.trace_id = i.trace_id AND c.frame = i.frame
    JOIN by_stack b ON b.trace_id = i.trace_id AND b.stack_id = i.stack_id
),
shared AS MATERIALIZED (
    SELECT a.trace_id, a.frame, b.frame AS other, CAST(sum(a.switches) AS BIGINT) AS switches
    FROM candidate_stack a
    JOIN candidate_stack b ON b.trace_id = a.trace_id AND b.stack_id = a.stack_id
    GROUP BY a.trace_id, a.frame, b.frame
),
-- Each function with those that share at least 90 % of its and their switches, itself included.
kin AS MATERIALIZED (
    SELECT
        s.trace_id, s.frame, s.other, o.depth, o.samples,
        max(o.samples) OVER (PARTITION BY s.trace_id, s.frame) AS samples_max
    FROM shared s
    JOIN measured m ON m.trace_id = s.trace_id AND m.frame = s.frame
    JOIN measured o ON o.trace_id = s.trace_id AND o.frame = s.other
    WHERE s.switches * 10 >= greatest(m.switches, o.switches) * 9
),
best AS (
    SELECT k.trace_id, k.frame, k.samples_max
    FROM kin k
    WHERE k.samples * 10 >= k.samples_max * 9
    QUALIFY row_number() OVER (
        PARTITION BY k.trace_id, k.frame ORDER BY k.depth, k.other
    ) = 1 AND k.other = k.frame
),
kept AS MATERIALIZED (
    SELECT
        b.trace_id, b.frame, m.switches, m.wait_ns, m.samples,
        CASE WHEN b.samples_max > 0 THEN b.frame ELSE (
            string_agg(k.other, ' < ' ORDER BY k.depth, k.other)
        ) END AS shown
    FROM best b
    JOIN measured m ON m.trace_id = b.trace_id AND m.frame = b.frame
    JOIN kin k ON k.trace_id = b.trace_id AND k.frame = b.frame
    GROUP BY b.trace_id, b.frame, b.samples_max, m.switches, m.wait_ns, m.samples
),
hold AS MATERIALIZED (
    SELECT
        k.trace_id, k.frame, h.out_ts_ns, h.ready_ts_ns, h.hold_from_ns, h.wait_ns,
        max(h.ready_ts_ns) OVER (
            PARTITION BY k.trace_id, k.frame ORDER BY h.hold_from_ns, h.ready_ts_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS reached_ts_ns,
        min(h.ready_ts_ns) OVER (PARTITION BY k.trace_id, k.frame) AS first_ts_ns,
        max(h.ready_ts_ns) OVER (PARTITION BY k.trace_id, k.frame) AS last_ts_ns,
        min(h.hold_from_ns) OVER (PARTITION BY k.trace_id, k.frame) AS began_ts_ns
    FROM kept k
    JOIN in_stack i ON i.trace_id = k.trace_id AND i.frame = k.frame
    JOIN held h ON h.trace_id = i.trace_id AND h.stack_id = i.stack_id
),
summed AS (
    SELECT
        h.trace_id, h.frame,
        least(any_value(h.began_ts_ns), any_value(h.first_ts_ns)) AS from_ts_ns,
        any_value(h.last_ts_ns) AS to_ts_ns,
        quantile_disc(h.ready_ts_ns - h.hold_from_ns, 0.5) AS hold_ns_median,
        CAST(sum(h.ready_ts_ns - h.hold_from_ns) AS BIGINT) AS hold_ns,
        CAST(sum(greatest(0,
            h.ready_ts_ns - greatest(h.hold_from_ns, coalesce(h.reached_ts_ns, h.hold_from_ns))
        )) AS BIGINT) AS covered_ns,
        CAST(sum(h.ready_ts_ns - greatest(h.out_ts_ns, h.began_ts_ns)) AS BIGINT) AS queued_ns
    FROM hold h
    GROUP BY h.trace_id, h.frame
),
share AS (
    SELECT k.trace_id, k.frame, CAST(coalesce(sum(m.weight_ns), 0) AS BIGINT) AS sampled_ns
    FROM summed k
    JOIN in_stack i ON i.trace_id = k.trace_id AND i.frame = k.frame
    JOIN sample m
        ON m.trace_id = i.trace_id AND m.stack_id = i.stack_id
        AND m.ts_ns >= k.from_ts_ns AND m.ts_ns <= k.to_ts_ns
    GROUP BY k.trace_id, k.frame
),
convoy AS (
    SELECT
        t.trace, t.trace_id, t.cpu_count, k.shown, k.switches, k.wait_ns, k.samples, s.from_ts_ns,
        s.to_ts_ns, s.hold_ns_median, s.hold_ns, s.covered_ns, s.queued_ns, r.sampled_ns,
        s.to_ts_ns - s.from_ts_ns - gap_within_ns(t.gaps, s.from_ts_ns, s.to_ts_ns) AS window_ns,
        least(
            s.to_ts_ns - s.from_ts_ns - gap_within_ns(t.gaps, s.from_ts_ns, s.to_ts_ns),
            k.switches * s.hold_ns_median
        ) AS serial_ns
    FROM summed s
    JOIN kept k ON k.trace_id = s.trace_id AND k.frame = s.frame
    JOIN chosen t ON t.trace_id = s.trace_id
    LEFT JOIN share r ON r.trace_id = s.trace_id AND r.frame = s.frame
)
SELECT
    c.trace,                              -- Name of the trace.
    c.shown AS frame,                     -- The function, or all that cannot be told apart.
    c.switches,                           -- Switches to threads that it made ready after a wait.
    c.wait_ns / 1000000.0 AS wait_ms,     -- What they had waited, together, without gaps.
    c.hold_ns_median / 1000.0 AS hold_us_median, -- Median time that a waker held the thread up.
    c.window_ns / 1e9 AS window_s,        -- From the first hold to the last wake, in seconds.
    c.sampled_ns / nullif(CAST(c.window_ns AS DOUBLE), 0) AS sampled_share, -- Sampled time in it
    -- over the window; NULL: no samples.
    c.hold_ns / nullif(CAST(c.covered_ns AS DOUBLE), 0) AS concurrency, -- Mean number of holders
    -- while there is one.
    c.serial_ns * (c.cpu_count - 1) / 1e9 AS serial_s_lost, -- CPU-seconds that other CPUs could
    -- have done.
    c.queued_ns / nullif(CAST(c.window_ns AS DOUBLE), 0) AS waiters, -- Mean number of threads that
    -- waited.
    c.from_ts_ns,                         -- Start of the window.
    c.to_ts_ns,                           -- End of the window.
    c.trace_id                            -- Trace.
FROM convoy c
WHERE c.serial_ns >= min_share * c.window_ns
    AND c.hold_ns <= max_concurrency * c.covered_ns
    AND c.queued_ns >= min_waiters * c.window_ns
    AND c.window_ns > 0
ORDER BY 9 DESC, 4 DESC, 1, c.trace_id, 2;
