-- # Event census
--
-- Which events are in the traces, how many of each, and what became of them?
--
-- One row per event class and fate, the most frequent first. `stored` events fill the table that is
-- named; `known` ones are understood but no table keeps them; `unknown` ones have no decoder, and
-- `malformed` ones do not hold what their layout says. The four fates add up to the records.
--
-- needs:   event_census
-- source:  https://learn.microsoft.com/windows/win32/etw/event-tracing-mof-classes "Event Tracing MOF Classes", Microsoft
-- key:     provider, name, hook, event_id, opcode, version, fate
-- measure: events
-- status:  stable
CREATE OR REPLACE MACRO event_census(
    -- Glob on the trace's name; NULL for all.
    trace VARCHAR := NULL
) AS TABLE
SELECT
    t.name AS trace,                      -- Name of the trace.
    c.provider,                           -- Provider; NULL: its name is not known.
    c.name,                               -- Name of the event; NULL: not known.
    c.hook,                               -- Hook id, four hex digits; NULL: the record has none.
    c.event_id,                           -- Event id; NULL: neither manifest nor TraceLogging.
    c.opcode,                             -- Opcode.
    c.version,                            -- Version of the layout.
    c.events,                             -- Number of records.
    c.bytes,                              -- Their bytes.
    c.fate,                               -- 'stored', 'known', 'unknown' or 'malformed'.
    c.table_name,                         -- Table that keeps them; NULL: none.
    c.first_ts_ns,                        -- The first of them.
    c.last_ts_ns,                         -- The last of them.
    c.provider_guid,                      -- Provider or event class; NULL: the record has a hook.
    c.trace_id                            -- Trace.
FROM event_census c
JOIN trace t ON t.trace_id = c.trace_id
WHERE glob_matches(t.name, trace)
ORDER BY 8 DESC, 1, c.trace_id, 4, 14, 5, 6, 7, 10;
