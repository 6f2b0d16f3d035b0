-- # How sure a difference of two means is
--
-- Half the width of the 95 % confidence interval of the difference (Welch: the two sets need not
-- spread alike). NULL where a set has fewer than two values: one value tells nothing of a spread.
CREATE OR REPLACE MACRO welch_margin(
    -- Values in the first set.
    first_count,
    -- Their sample variance.
    first_variance,
    -- Values in the second set.
    second_count,
    -- Their sample variance.
    second_variance
) AS (
    CASE
        WHEN first_count < 2 OR second_count < 2 THEN NULL
        WHEN first_variance + second_variance = 0 THEN 0.0
        ELSE t_975(
            pow(first_variance / nullif(first_count, 0)
                + second_variance / nullif(second_count, 0), 2)
            / nullif(
                pow(first_variance / nullif(first_count, 0), 2) / nullif(first_count - 1, 0)
                + pow(second_variance / nullif(second_count, 0), 2) / nullif(second_count - 1, 0),
                0
            )
        ) * sqrt(first_variance / nullif(first_count, 0)
            + second_variance / nullif(second_count, 0))
    END
);
