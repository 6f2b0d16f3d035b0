-- # Time of an interval that nobody recorded
--
-- Nanoseconds of the interval that lie in gaps; `gaps` is the list that `selected_traces` gives.
CREATE OR REPLACE MACRO gap_within_ns(
    -- Gaps of the trace, or NULL where it has none.
    gaps,
    -- Start of the interval.
    interval_from,
    -- End of the interval.
    interval_to
) AS (
    CASE
        WHEN gaps IS NULL THEN CAST(0 AS BIGINT)
        ELSE CAST(
            coalesce(
                list_sum(
                    list_transform(
                        gaps,
                        lambda g: overlap_ns(g.from_ts_ns, g.to_ts_ns, interval_from, interval_to)
                    )
                ),
                0
            ) AS BIGINT
        )
    END
);
