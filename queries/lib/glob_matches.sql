-- # Does a text match a glob?
--
-- Case-insensitive; `*` is any text and `?` any character, everything else stands for itself.
-- A NULL pattern matches all, also a text that is NULL; a NULL text matches nothing else.
CREATE OR REPLACE MACRO glob_matches(
    -- Text to test.
    value_text,
    -- Glob, or NULL for all.
    pattern
) AS (
    pattern IS NULL
    OR coalesce(
        lower(CAST(value_text AS VARCHAR))
        GLOB replace(replace(lower(CAST(pattern AS VARCHAR)), '\', '\\'), '[', '\['),
        false
    )
);
