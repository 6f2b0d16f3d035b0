-- # Does a frame's text match a pattern?
--
-- Case-insensitive glob over `module!function`; a pattern without `*` and `?` matches anywhere.
-- A NULL pattern matches all.
CREATE OR REPLACE MACRO frame_matches(
    -- Text of the frame, as `frame_text` writes it.
    frame_value,
    -- Pattern, or NULL for all.
    pattern
) AS (
    pattern IS NULL
    OR coalesce(
        CASE
            WHEN contains(CAST(pattern AS VARCHAR), '*') OR contains(CAST(pattern AS VARCHAR), '?')
            THEN lower(frame_value)
                GLOB replace(replace(lower(CAST(pattern AS VARCHAR)), '\', '\\'), '[', '\[')
            ELSE contains(lower(frame_value), lower(CAST(pattern AS VARCHAR)))
        END,
        false
    )
);
