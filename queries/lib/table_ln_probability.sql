-- # Logarithm of the probability of a table of two by two
--
-- Hypergeometric: given the margins, how likely exactly this table is.
CREATE OR REPLACE MACRO table_ln_probability(
    -- First row, first column.
    a_count,
    -- First row, second column.
    b_count,
    -- Second row, first column.
    c_count,
    -- Second row, second column.
    d_count
) AS (
    ln_factorial(a_count + b_count) + ln_factorial(c_count + d_count)
    + ln_factorial(a_count + c_count) + ln_factorial(b_count + d_count)
    - ln_factorial(a_count) - ln_factorial(b_count) - ln_factorial(c_count)
    - ln_factorial(d_count) - ln_factorial(a_count + b_count + c_count + d_count)
);
