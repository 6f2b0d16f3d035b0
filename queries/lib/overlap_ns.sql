-- # Overlap of two intervals
--
-- Nanoseconds that two half-open intervals have in common; 0 where they do not meet.
CREATE OR REPLACE MACRO overlap_ns(
    -- Start of the first.
    first_from,
    -- End of the first.
    first_to,
    -- Start of the second.
    second_from,
    -- End of the second.
    second_to
) AS greatest(CAST(0 AS BIGINT), least(first_to, second_to) - greatest(first_from, second_from));
