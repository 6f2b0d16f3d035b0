-- # Logarithm of a factorial
--
-- Natural logarithm of n!, for n of 0 or more.
CREATE OR REPLACE MACRO ln_factorial(
    -- Number.
    n_value
) AS lgamma(CAST(n_value AS DOUBLE) + 1.0);
