-- # Overlap of two intervals
--
-- Nanoseconds that two half-open intervals have in common; 0 where they do not meet, NULL where an
-- end of one is unknown or there is no second one.
CREATE OR REPLACE MACRO overlap_ns(
    -- Start of the first.
    first_from,
    -- End of the first.
    first_to,
    -- Start of the second.
    second_from,
    -- End of the second.
    second_to
) AS (
    -- `least` and `greatest` pass over NULL, as if an unknown end were no end.
    CASE
        WHEN first_from IS NOT NULL AND first_to IS NOT NULL
            AND second_from IS NOT NULL AND second_to IS NOT NULL
        THEN greatest(
            CAST(0 AS BIGINT), least(first_to, second_to) - greatest(first_from, second_from)
        )
    END
);
