-- # Fisher's exact test
--
-- Two-sided p-value of a table of two by two: how likely a division at least as uneven is by chance
-- when the margins are as they are. Adds up every table that is not likelier than the one seen.
CREATE OR REPLACE MACRO fisher_exact(
    -- Cases of the first group that show the finding.
    with_first,
    -- Cases of the first group that do not.
    without_first,
    -- Cases of the second group that show the finding.
    with_second,
    -- Cases of the second group that do not.
    without_second
) AS (
    least(1.0, list_sum(list_transform(
        range(
            greatest(0, CAST(with_first AS BIGINT) - CAST(without_second AS BIGINT)),
            least(with_first + without_first, with_first + with_second) + 1
        ),
        lambda x: CASE
            WHEN table_ln_probability(x, with_first + without_first - x,
                    with_first + with_second - x, without_second - with_first + x)
                <= table_ln_probability(with_first, without_first, with_second, without_second)
                    + 1e-7
            THEN exp(table_ln_probability(x, with_first + without_first - x,
                with_first + with_second - x, without_second - with_first + x))
            ELSE 0.0
        END
    )))
);
