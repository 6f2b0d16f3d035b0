-- # Drivers that spin
--
-- Which drivers kept a CPU busy by waiting in a loop?
--
-- Takes the samples whose stack is inside a stall of the kernel or the HAL, and groups them by the
-- module that asked for it: the innermost frame outside the two. Drivers should stall for no more
-- than 50 microseconds at a time.
--
-- needs:   sample, stack
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- caveats: Needs the names of kernel functions; sampled time is samples times the nominal interval.
-- key:     module
-- measure: stall_ms
-- finding: stall_ms >= 100
-- status:  stable
CREATE OR REPLACE MACRO spinning_drivers(
    -- Shortest time worth reporting, in milliseconds.
    min_ms DOUBLE := 10.0,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Start of the window in seconds since the trace start; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window in seconds since the trace start; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
WITH stall AS (
    SELECT f.trace_id, f.stack_id, max(f.depth) AS depth
    FROM stack_frames(trace := trace) f
    WHERE regexp_matches(f.function, '^(KeStallExecutionProcessor|HalpStall|Halp.*Stall|KiStall)')
    GROUP BY f.trace_id, f.stack_id
),
caller AS (
    SELECT
        f.trace_id, f.stack_id, arg_min(f.module, f.depth) AS module,
        arg_min(f.frame, f.depth) AS frame
    FROM stack_frames(trace := trace) f
    JOIN stall s ON s.trace_id = f.trace_id AND s.stack_id = f.stack_id AND f.depth > s.depth
    WHERE coalesce(lower(f.module), '') NOT IN
        ('ntoskrnl.exe', 'ntkrnlmp.exe', 'ntkrnlpa.exe', 'ntkrpamp.exe', 'hal.dll')
    GROUP BY f.trace_id, f.stack_id
),
by_frame AS (
    SELECT
        m.trace_id, c.module, c.frame, count(*) AS samples, list(DISTINCT m.cpu) AS cpus,
        CAST(coalesce(sum(m.weight_ns), 0) AS BIGINT) AS stall_ns, min(m.ts_ns) AS first_ts_ns,
        max(m.ts_ns) AS last_ts_ns
    FROM sample m
    JOIN stall s ON s.trace_id = m.trace_id AND s.stack_id = m.stack_id
    LEFT JOIN caller c ON c.trace_id = m.trace_id AND c.stack_id = m.stack_id
    WHERE in_window(m.ts_ns, m.ts_ns, from_s, to_s)
    GROUP BY m.trace_id, c.module, c.frame
),
counted AS (
    SELECT
        b.trace_id, b.module, CAST(sum(b.samples) AS BIGINT) AS samples,
        len(list_distinct(flatten(list(b.cpus)))) AS cpus,
        CAST(sum(b.stall_ns) AS BIGINT) AS stall_ns,
        arg_max(b.frame, {'samples': b.samples, 'frame': b.frame}) AS frame,
        min(b.first_ts_ns) AS first_ts_ns, max(b.last_ts_ns) AS last_ts_ns
    FROM by_frame b
    GROUP BY b.trace_id, b.module
)
SELECT
    t.trace,                              -- Name of the trace.
    c.module,                             -- Driver; NULL: the stack does not tell.
    c.frame,                              -- Its most frequent function that stalls.
    c.samples,                            -- Samples.
    c.stall_ns / 1000000.0 AS stall_ms,   -- Their time.
    c.cpus,                               -- CPUs on which it stalled.
    c.first_ts_ns,                        -- First sample.
    c.last_ts_ns,                         -- Last sample.
    t.trace_id                            -- Trace.
FROM counted c
JOIN selected_traces(trace) t ON t.trace_id = c.trace_id
WHERE c.stall_ns >= min_ms * 1000000.0
ORDER BY 5 DESC, 4 DESC, 1, t.trace_id, 2;
