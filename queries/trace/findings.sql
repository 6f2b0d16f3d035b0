-- # Findings
--
-- What stands out in these traces, worst first?
--
-- Asks the detectors, each with a threshold at which a person would care, and gives one row for
-- each trace and question that found something: how much, and the worst case. The question itself,
-- called with the trace's name, has the rest. No row is not a clean bill: `answerable` says what
-- could be asked at all.
--
-- needs:   trace
-- source:  https://randomascii.wordpress.com/ "What is higher than thread priorities", Bruce Dawson, 2020
-- source:  https://randomascii.wordpress.com/2017/07/09/ "24-core CPU and I can't move my mouse", Bruce Dawson, 2017
-- caveats: Asks every detector: on many large traces at once it takes a while.
-- key:     question
-- measure: max seconds
-- finding: true
-- status:  stable
CREATE OR REPLACE MACRO findings(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
WITH found AS (
    SELECT
        s.trace_id, 'starvation' AS question, s.ready_ms / 1000.0 AS seconds,
        s.ready_ts_ns AS ts_ns, s.process AS subject, s.pid, s.tid,
        'ready at priority ' || coalesce(CAST(s.priority AS VARCHAR), '?')
            || CASE WHEN s.rank > 0 THEN ', rank ' || s.rank ELSE '' END
            || CASE WHEN s.open THEN ', to the end of the record' ELSE '' END
            || coalesce(', behind ' || s.blame_process, '') AS detail
    FROM starvation(min_ready_ms := 1000.0, trace := trace) s
    UNION ALL
    SELECT
        s.trace_id, 'rank_starvation', s.ready_ms / 1000.0, s.ready_ts_ns, s.process, s.pid, s.tid,
        'rank ' || s.rank || ' waited while lower ranks ran' || coalesce(
            ', most of all ' || s.blame_process, '')
    FROM rank_starvation(min_ready_ms := 100.0, trace := trace) s
    UNION ALL
    SELECT
        v.trace_id, 'priority_violations', v.violation_ms / 1000.0, v.from_ts_ns, v.process, v.pid,
        v.tid, 'priority ' || v.priority || ' waited while CPU ' || v.cpu || ' ran '
            || v.lower_priority || ', and nothing explains it'
    FROM priority_violations(trace := trace) v
    WHERE v.explained_by IS NULL
    UNION ALL
    SELECT
        i.trace_id, 'idle_while_ready', i.idle_ms / 1000.0, i.ready_ts_ns, i.process, i.pid, i.tid,
        'ready beside up to ' || i.idle_cpus_max || ' idle CPUs'
    FROM idle_while_ready(min_idle_ms := 100.0, trace := trace) i
    UNION ALL
    SELECT
        u.trace_id, 'ui_delays', u.duration_ms / 1000.0, u.ts_ns, u.process, u.pid, u.tid,
        'did not answer' || coalesce(', window class ' || u.window_class, '')
    FROM ui_delays(min_ms := 500.0, trace := trace) u
    UNION ALL
    SELECT
        c.trace_id, 'convoys', c.window_s, c.from_ts_ns, c.frame, NULL, NULL,
        c.switches || ' switches, ' || CAST(round(c.wait_ms / 1000.0, 1) AS VARCHAR)
            || ' s of waiting, one holder at a time'
    FROM convoys(trace := trace) c
    WHERE c.serial_s_lost >= 1.0
    UNION ALL
    SELECT
        e.trace_id, 'serialized_exits', (e.to_ts_ns - e.from_ts_ns) / 1e9, e.from_ts_ns, NULL, NULL,
        NULL, e.exits || ' processes ended while '
            || CAST(round(e.cpus_busy, 1) AS VARCHAR) || ' of ' || e.cpu_count || ' CPUs ran them'
    FROM serialized_exits(trace := trace) e
    WHERE e.to_ts_ns - e.from_ts_ns >= 100000000
    UNION ALL
    SELECT
        d.trace_id, 'spinning_drivers', d.stall_ms / 1000.0, d.first_ts_ns, d.module, NULL, NULL,
        'waited in a loop on ' || d.cpus || ' CPUs'
    FROM spinning_drivers(min_ms := 100.0, trace := trace) d
    UNION ALL
    SELECT
        x.trace_id, 'process_exit_codes', NULL, x.end_ts_ns, x.process, x.pid, NULL,
        'ended with ' || x.exit_code_hex || coalesce(' ' || x.meaning, '')
    FROM process_exit_codes(trace := trace) x
    WHERE x.crashed
    UNION ALL
    SELECT
        g.trace_id, 'gaps', g.gap_ms / 1000.0, g.from_ts_ns, NULL, NULL, NULL,
        'nothing recorded: ' || g.evidence
    FROM gaps(trace := trace) g
    UNION ALL
    SELECT
        h.trace_id, 'health', NULL, h.first_ts_ns, h.counter, NULL, NULL,
        h.count || ': ' || h.meaning
    FROM health h
    WHERE h.severity IN ('data_loss', 'error')
        AND h.trace_id IN (SELECT s.trace_id FROM selected_traces(trace) s)
),
ranked AS (
    SELECT
        f.*, count(*) OVER (PARTITION BY f.trace_id, f.question) AS findings,
        row_number() OVER (
            PARTITION BY f.trace_id, f.question
            ORDER BY f.seconds DESC NULLS LAST, f.ts_ns NULLS LAST, f.subject, f.pid, f.tid,
                f.detail
        ) AS number
    FROM found f
)
SELECT
    t.trace,                              -- Name of the trace.
    r.question,                           -- The question that found it.
    r.findings,                           -- How many it found.
    r.seconds,                            -- How long the worst one lasted; NULL: no duration.
    r.subject,                            -- What the worst one is about: a process, function,
    -- driver.
    r.pid,                                -- Its process id.
    r.tid,                                -- Its thread id.
    r.detail,                             -- The worst one in words.
    r.ts_ns,                              -- When it began.
    r.trace_id                            -- Trace.
FROM ranked r
JOIN selected_traces(trace) t ON t.trace_id = r.trace_id
WHERE r.number = 1
ORDER BY 4 DESC NULLS LAST, 1, r.trace_id, 2;
