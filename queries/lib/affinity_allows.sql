-- # May a thread run on a CPU?
--
-- Whether the affinity mask has the CPU's bit. An unknown mask allows all. A mask belongs to one
-- processor group: CPUs of other groups than the one the thread uses are not allowed.
CREATE OR REPLACE MACRO affinity_allows(
    -- Affinity mask, or NULL.
    affinity_mask,
    -- CPU index.
    cpu_index,
    -- Number of the CPU within its group, or NULL.
    number_in_group,
    -- Group of the CPU, or NULL.
    cpu_group,
    -- Group that the thread uses, or NULL.
    thread_group
) AS (
    coalesce(affinity_mask, 0) = 0
    OR (
        coalesce(cpu_group = thread_group, true)
        AND ((CAST(affinity_mask AS UBIGINT)
            >> CAST(least(63, coalesce(number_in_group, cpu_index)) AS UBIGINT)) & 1) = 1
    )
);
