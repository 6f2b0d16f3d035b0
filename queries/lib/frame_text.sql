-- # A frame as text
--
-- `module!function`, or `module+0xRVA` where the function is not known, or the bare address.
CREATE OR REPLACE MACRO frame_text(
    -- Module, or NULL.
    frame_module,
    -- Function, or NULL.
    frame_function,
    -- Address relative to the module, or NULL.
    frame_rva,
    -- Address.
    frame_address
) AS (
    CASE
        WHEN frame_function IS NOT NULL THEN coalesce(frame_module, '?') || '!' || frame_function
        WHEN frame_module IS NOT NULL AND frame_rva IS NOT NULL
        THEN frame_module || '+0x' || lower(to_hex(CAST(frame_rva AS UBIGINT)))
        ELSE '0x' || lower(to_hex(CAST(frame_address AS UBIGINT)))
    END
);
