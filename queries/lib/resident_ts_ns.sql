-- # When a thread that was not resident could run
--
-- The last ready event, where there were several: until then the stack or process was brought in.
-- With a single event nothing tells, and it is the end of the interval.
CREATE OR REPLACE MACRO resident_ts_ns(
    -- Last ready event, or NULL.
    last_ready_ts_ns,
    -- Number of ready events, or NULL.
    ready_events,
    -- End of the ready interval.
    interval_to
) AS CASE WHEN ready_events > 1 THEN last_ready_ts_ns ELSE interval_to END;
