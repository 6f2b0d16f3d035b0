-- # Number of the bucket that an instant lies in
--
-- Whole number of buckets before it, for buckets that begin at 0.
CREATE OR REPLACE MACRO bucket_of(
    -- Instant.
    instant_ns,
    -- Length of a bucket.
    length_ns
) AS (instant_ns // nullif(length_ns, 0));
