-- # Traces of the lake
--
-- Which recordings does the lake hold, what machines do they show, and how complete are they?
--
-- One row per recording. A recording is one file, or the few files of one session; equal contents
-- are one recording. `status` says whether the file could be read, `events_lost` and `buffers_lost`
-- what the recorder itself lost: such a trace is ok, but waits across a loss may be wrong.
--
-- needs:   trace
-- source:  https://learn.microsoft.com/windows/win32/api/evntrace/ns-evntrace-trace_logfile_header "TRACE_LOGFILE_HEADER", Microsoft
-- key:     trace
-- status:  stable
CREATE OR REPLACE MACRO traces(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
SELECT
    t.name AS trace,                      -- Name of the trace.
    t.status,                             -- 'ok', 'damaged' or 'failed'.
    t.duration_ns / 1e9 AS duration_s,    -- Seconds to the last event; NULL in a failed trace.
    t.event_count AS events,              -- Records in the file.
    t.events_lost,                        -- Events that the recorder lost.
    t.buffers_lost,                       -- Buffers that the recorder lost.
    t.buffers_damaged,                    -- Buffers that could not be read.
    t.cpu_count,                          -- Logical CPUs.
    t.os_name,                            -- Windows, as the trace names it.
    t.os_build,                           -- Build number.
    t.computer_name,                      -- The machine.
    t.start_time,                         -- Start of the recording, UTC.
    t.bytes,                              -- Size of the files.
    t.error,                              -- What is wrong; NULL: nothing.
    t.path,                               -- Where the file was when it was ingested.
    t.trace_id                            -- Trace.
FROM trace t
WHERE glob_matches(t.name, trace)
ORDER BY 1, t.trace_id;
