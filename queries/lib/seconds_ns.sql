-- # Seconds as nanoseconds
--
-- Turns a parameter in seconds since the trace start into an instant; NULL stays NULL.
CREATE OR REPLACE MACRO seconds_ns(
    -- Seconds.
    seconds_value
) AS CAST(round(CAST(seconds_value AS DOUBLE) * 1000000000.0) AS BIGINT);
