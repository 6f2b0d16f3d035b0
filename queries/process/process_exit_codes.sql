-- # Exit codes
--
-- With which codes did processes end, and which of them crashed?
--
-- One row per process that ended in the trace. Codes of exceptions that nobody handled, of fast
-- failures and of images that could not be loaded count as crashes.
--
-- needs:   process
-- source:  https://learn.microsoft.com/openspecs/windows_protocols/ms-erref "NTSTATUS values", Microsoft
-- caveats: A process may choose any code; a crash that a handler swallowed has none of these.
-- key:     process, exit_code
-- measure: mean duration_ms
-- finding: crashed
-- status:  stable
CREATE OR REPLACE MACRO process_exit_codes(
    -- Whether to leave out processes that ended with 0.
    failed_only BOOLEAN := false,
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL,
    -- Glob on the image name; NULL for all.
    process VARCHAR := NULL,
    -- Start of the window that the end lies in, in seconds; NULL for the start.
    from_s DOUBLE := NULL,
    -- End of the window that the end lies in, in seconds; NULL for the end.
    to_s DOUBLE := NULL
) AS TABLE
SELECT
    t.trace,                              -- Name of the trace.
    p.name AS process,                    -- Image name.
    p.pid,                                -- Process id.
    q.name AS parent_process,             -- Image name of the parent; NULL: unknown.
    p.exit_code,                          -- Exit code, unsigned.
    '0x' || lpad(to_hex(CAST(p.exit_code AS UBIGINT)), 8, '0') AS exit_code_hex, -- The same in hex.
    CASE p.exit_code
        WHEN 0 THEN 'success'
        WHEN 259 THEN 'STILL_ACTIVE'
        WHEN 1073807364 THEN 'DBG_TERMINATE_PROCESS'
        WHEN 3221225477 THEN 'STATUS_ACCESS_VIOLATION'
        WHEN 2147483651 THEN 'STATUS_BREAKPOINT'
        WHEN 3221225478 THEN 'STATUS_IN_PAGE_ERROR'
        WHEN 3221225614 THEN 'STATUS_FLOAT_DIVIDE_BY_ZERO'
        WHEN 3221225622 THEN 'STATUS_PRIVILEGED_INSTRUCTION'
        WHEN 3221225509 THEN 'STATUS_NONCONTINUABLE_EXCEPTION'
        WHEN 3221225495 THEN 'STATUS_NO_MEMORY'
        WHEN 3221225501 THEN 'STATUS_ILLEGAL_INSTRUCTION'
        WHEN 3221225620 THEN 'STATUS_INTEGER_DIVIDE_BY_ZERO'
        WHEN 3221225725 THEN 'STATUS_STACK_OVERFLOW'
        WHEN 3221225781 THEN 'STATUS_DLL_NOT_FOUND'
        WHEN 3221225785 THEN 'STATUS_ENTRYPOINT_NOT_FOUND'
        WHEN 3221225786 THEN 'STATUS_CONTROL_C_EXIT'
        WHEN 3221225794 THEN 'STATUS_DLL_INIT_FAILED'
        WHEN 3221226356 THEN 'STATUS_HEAP_CORRUPTION'
        WHEN 3221226505 THEN 'STATUS_STACK_BUFFER_OVERRUN'
        WHEN 3221226525 THEN 'STATUS_FATAL_USER_CALLBACK_EXCEPTION'
        WHEN 3221226528 THEN 'STATUS_ASSERTION_FAILURE'
        WHEN 3762504530 THEN 'CLR exception'
        WHEN 3765269347 THEN 'C++ exception'
    END AS meaning,                       -- Name of a well-known code; NULL: none.
    coalesce(
        p.exit_code IN (
            2147483651, 3221225477, 3221225478, 3221225495, 3221225501, 3221225509, 3221225614,
            3221225620, 3221225622, 3221225725, 3221225781, 3221225785, 3221225794, 3221226356,
            3221226505, 3221226525, 3221226528, 3762504530, 3765269347
        ),
        false
    ) AS crashed,                         -- Whether the code says that the process crashed.
    p.end_ts_ns,                          -- When it ended.
    (p.end_ts_ns - p.start_ts_ns) / 1000000.0 AS duration_ms, -- How long it lived; NULL: started
    -- before the trace.
    p.command_line,                       -- Command line.
    t.trace_id                            -- Trace.
FROM process p
JOIN selected_traces(trace) t ON t.trace_id = p.trace_id
LEFT JOIN process q ON q.trace_id = p.trace_id AND q.process_key = p.parent_process_key
WHERE p.end_ts_ns IS NOT NULL
    AND glob_matches(p.name, process)
    AND (NOT failed_only OR p.exit_code IS DISTINCT FROM 0)
    AND in_window(p.end_ts_ns, p.end_ts_ns, from_s, to_s)
ORDER BY 8 DESC, 1, t.trace_id, 9, 3, p.process_key;
