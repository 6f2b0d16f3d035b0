-- # Does an interval meet a window?
--
-- Whether the half-open interval has an instant in the window; an end that is NULL is open.
-- An interval without length counts as its instant.
CREATE OR REPLACE MACRO in_window(
    -- Start of the interval.
    interval_from,
    -- End of the interval.
    interval_to,
    -- Start of the window in seconds, or NULL.
    window_from_s,
    -- End of the window in seconds, or NULL.
    window_to_s
) AS (
    (window_to_s IS NULL OR interval_from < seconds_ns(window_to_s))
    AND (
        window_from_s IS NULL
        OR interval_to > seconds_ns(window_from_s)
        OR (interval_to = interval_from AND interval_from = seconds_ns(window_from_s))
    )
);
