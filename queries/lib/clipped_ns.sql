-- # Length of an interval in a window, without gaps
--
-- Nanoseconds of the interval that lie in the window and in no gap; 0 where they do not meet. The
-- ends of the interval must be known.
CREATE OR REPLACE MACRO clipped_ns(
    -- Gaps of the trace, as `selected_traces` gives them.
    gaps,
    -- Start of the interval.
    interval_from,
    -- End of the interval.
    interval_to,
    -- Start of the window in seconds, or NULL.
    window_from_s,
    -- End of the window in seconds, or NULL.
    window_to_s
) AS (
    greatest(
        CAST(0 AS BIGINT),
        least(interval_to, seconds_ns(window_to_s))
            - greatest(interval_from, seconds_ns(window_from_s))
    )
    - gap_within_ns(
        gaps,
        greatest(interval_from, seconds_ns(window_from_s)),
        least(interval_to, seconds_ns(window_to_s))
    )
);
