-- The tables of an etwas lake as they are stored.

-- One row per recording: where it came from, what machine it shows, and how complete it is. A recording is one file, or the few files of one session. Equal contents are one row.
CREATE TABLE trace (
    trace_id BIGINT NOT NULL,
    "name" VARCHAR NOT NULL,
    "path" VARCHAR NOT NULL,
    "also_at" VARCHAR,
    "parts" INTEGER NOT NULL,
    "bytes" BIGINT NOT NULL,
    "content_hash" VARCHAR,
    "status" VARCHAR NOT NULL,
    "error" VARCHAR,
    "start_time" TIMESTAMP,
    "duration_ns" BIGINT,
    "os_build" INTEGER,
    "os_name" VARCHAR,
    "os_build_lab" VARCHAR,
    "computer_name" VARCHAR,
    "cpu_count" INTEGER,
    "cpu_mhz" INTEGER,
    "cpu_model" VARCHAR,
    "memory_mb" BIGINT,
    "pointer_bits" INTEGER,
    "clock" VARCHAR,
    "clock_hz" BIGINT,
    "utc_bias_minutes" INTEGER,
    "session_name" VARCHAR,
    "log_mode" BIGINT,
    "compressed" BOOLEAN NOT NULL,
    "buffer_count" BIGINT NOT NULL,
    "buffers_damaged" BIGINT NOT NULL,
    "event_count" BIGINT NOT NULL,
    "events_lost" BIGINT NOT NULL,
    "buffers_lost" BIGINT NOT NULL,
    "sched_end_ns" BIGINT,
    "tags" MAP(VARCHAR, VARCHAR) NOT NULL,
    "etwas_version" VARCHAR NOT NULL,
    "start_unix_ns" BIGINT NOT NULL
);

-- One row per trace and counter that is not zero: what the recorder lost, what is damaged, and what could not be understood.
CREATE TABLE health (
    trace_id BIGINT NOT NULL,
    "counter" VARCHAR NOT NULL,
    "severity" VARCHAR NOT NULL,
    "source" VARCHAR NOT NULL,
    "count" BIGINT NOT NULL,
    "first_ts_ns" BIGINT,
    "meaning" VARCHAR NOT NULL,
    "remedy" VARCHAR NOT NULL
);

-- One row per event class and fate. The counts add up to the records in the file: stored + known + unknown + malformed.
CREATE TABLE event_census (
    trace_id BIGINT NOT NULL,
    "hook" VARCHAR,
    "provider_guid" VARCHAR,
    "provider" VARCHAR,
    "event_id" INTEGER,
    "opcode" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "name" VARCHAR,
    "events" BIGINT NOT NULL,
    "bytes" BIGINT NOT NULL,
    "first_ts_ns" BIGINT NOT NULL,
    "last_ts_ns" BIGINT NOT NULL,
    "fate" VARCHAR NOT NULL,
    "table_name" VARCHAR
);

-- One row per logical CPU of the recorded machine.
CREATE TABLE cpu (
    trace_id BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "group_number" INTEGER,
    "number_in_group" INTEGER,
    "efficiency_class" INTEGER,
    "nominal_mhz" INTEGER,
    "relative_performance" INTEGER,
    "core_type" VARCHAR,
    "scheduling_class" INTEGER
);

-- One row per process lifetime. A reused id is a new row; a rundown makes none of its own.
CREATE TABLE process (
    trace_id BIGINT NOT NULL,
    "process_key" BIGINT NOT NULL,
    "pid" BIGINT NOT NULL,
    "parent_pid" BIGINT,
    "parent_process_key" BIGINT,
    "name" VARCHAR,
    "command_line" VARCHAR,
    "session_id" BIGINT,
    "user_sid" VARCHAR,
    "start_ts_ns" BIGINT,
    "end_ts_ns" BIGINT,
    "terminate_ts_ns" BIGINT,
    "exit_code" BIGINT,
    "package" VARCHAR,
    "app_id" VARCHAR,
    "is_wow64" BOOLEAN
);

-- One row per thread lifetime. The idle thread (tid 0) has one row per CPU.
CREATE TABLE thread (
    trace_id BIGINT NOT NULL,
    "thread_key" BIGINT NOT NULL,
    "tid" BIGINT NOT NULL,
    "pid" BIGINT,
    "process_key" BIGINT,
    "name" VARCHAR,
    "start_ts_ns" BIGINT,
    "end_ts_ns" BIGINT,
    "start_address" UBIGINT,
    "base_priority" INTEGER,
    "affinity" UBIGINT,
    "service" VARCHAR,
    "idle_cpu" INTEGER
);

-- One row per thread that was seen by the scheduler: its state when the recording of switches stopped. Waits and ready intervals that never end are found here.
CREATE TABLE thread_end_state (
    trace_id BIGINT NOT NULL,
    "thread_key" BIGINT NOT NULL,
    "process_key" BIGINT,
    "state" VARCHAR NOT NULL,
    "since_ts_ns" BIGINT,
    "wait_reason" INTEGER,
    "stack_id" BIGINT,
    "readying_thread_key" BIGINT,
    "last_out_ts_ns" BIGINT,
    "prev_priority" INTEGER,
    "rank" INTEGER,
    "prev_state" INTEGER,
    "cpu" INTEGER,
    "not_resident" BOOLEAN
);

-- One row per module mapped into a process, or into the kernel.
CREATE TABLE image (
    trace_id BIGINT NOT NULL,
    "image_key" BIGINT NOT NULL,
    "process_key" BIGINT,
    "base" UBIGINT NOT NULL,
    "size" BIGINT NOT NULL,
    "load_ts_ns" BIGINT,
    "unload_ts_ns" BIGINT,
    "path" VARCHAR NOT NULL,
    "dos_path" VARCHAR,
    "name" VARCHAR NOT NULL,
    "timestamp" BIGINT,
    "checksum" BIGINT,
    "pdb_name" VARCHAR,
    "pdb_guid" VARCHAR,
    "pdb_age" BIGINT,
    "file_version" VARCHAR,
    "company" VARCHAR,
    "product" VARCHAR,
    "description" VARCHAR,
    "original_name" VARCHAR
);

-- One row per context switch, which begins a run of the new thread (WPA's *CPU Usage (Precise)*). Columns `old_*` describe the thread that leaves, as recorded. Columns about the new thread join what the pass over the trace knows of it: how it last left, who made it ready, and how the run that begins here ends.
CREATE TABLE cswitch (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "new_thread_key" BIGINT NOT NULL,
    "new_process_key" BIGINT,
    "new_tid" BIGINT NOT NULL,
    "new_pid" BIGINT,
    "new_priority" INTEGER,
    "new_qos" INTEGER,
    "planned_tid" BIGINT,
    "new_confirmed" BOOLEAN,
    "old_thread_key" BIGINT NOT NULL,
    "old_process_key" BIGINT,
    "old_tid" BIGINT NOT NULL,
    "old_pid" BIGINT,
    "old_priority" INTEGER,
    "old_state" INTEGER,
    "old_wait_reason" INTEGER,
    "old_wait_mode" INTEGER,
    "old_rank" INTEGER,
    "old_qos" INTEGER,
    "old_ideal_cpu" INTEGER,
    "old_remaining_quantum" BIGINT,
    "previous_c_state" INTEGER,
    "new_priority_decrement" INTEGER,
    "new_wait_ticks" BIGINT,
    "run_ns" BIGINT,
    "new_rank" INTEGER,
    "new_rank_before" INTEGER,
    "prev_priority" INTEGER,
    "out_priority" INTEGER,
    "new_ideal_cpu" INTEGER,
    "since_last_ns" BIGINT,
    "prev_state" INTEGER,
    "prev_wait_reason" INTEGER,
    "prev_wait_mode" INTEGER,
    "ready_ns" BIGINT,
    "ready_events" INTEGER NOT NULL,
    "last_ready_ts_ns" BIGINT,
    "readying_thread_key" BIGINT,
    "readying_process_key" BIGINT,
    "readying_tid" BIGINT,
    "readying_pid" BIGINT,
    "readying_cpu" INTEGER,
    "ready_in_dpc" BOOLEAN,
    "interrupted_thread_key" BIGINT,
    "ready_flags" INTEGER,
    "ready_adjust_increment" INTEGER,
    "new_stack_id" BIGINT,
    "ready_stack_id" BIGINT
);

-- One row per ReadyThread event: who made whom ready, also where no switch follows.
CREATE TABLE ready (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "thread_key" BIGINT NOT NULL,
    "process_key" BIGINT,
    "tid" BIGINT NOT NULL,
    "readying_thread_key" BIGINT,
    "readying_process_key" BIGINT,
    "readying_tid" BIGINT,
    "in_dpc" BOOLEAN NOT NULL,
    "interrupted_thread_key" BIGINT,
    "kernel_stack_not_resident" BOOLEAN NOT NULL,
    "process_not_resident" BOOLEAN NOT NULL,
    "direct_switch_attempt" BOOLEAN NOT NULL,
    "adjust_reason" INTEGER NOT NULL,
    "adjust_increment" INTEGER NOT NULL,
    "stack_id" BIGINT
);

-- One row per sample of the profile interrupt.
CREATE TABLE sample (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "thread_key" BIGINT NOT NULL,
    "process_key" BIGINT,
    "tid" BIGINT NOT NULL,
    "pid" BIGINT,
    "address" UBIGINT NOT NULL,
    "priority" INTEGER,
    "rank" INTEGER,
    "in_dpc" BOOLEAN,
    "in_isr" BOOLEAN,
    "weight_ns" BIGINT,
    "stack_id" BIGINT
);

-- One row per distinct call stack of the trace.
CREATE TABLE stack (
    trace_id BIGINT NOT NULL,
    "stack_id" BIGINT NOT NULL,
    "frame_count" INTEGER NOT NULL,
    "frame_ids" BIGINT[] NOT NULL
);

-- One row per distinct address in a process (or in the kernel) that occurs in a stack.
CREATE TABLE frame (
    trace_id BIGINT NOT NULL,
    "frame_id" BIGINT NOT NULL,
    "address" UBIGINT NOT NULL,
    "is_kernel" BOOLEAN NOT NULL,
    "image_key" BIGINT,
    "module" VARCHAR,
    "rva" BIGINT,
    "function" VARCHAR,
    "function_offset" BIGINT,
    "module_id" VARCHAR
);

-- One row per power setting value that the trace states. Repeated rundowns of an unchanged value are one row; a change is a row with its time.
CREATE TABLE power_setting (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "source" VARCHAR NOT NULL,
    "scheme_guid" VARCHAR,
    "scheme" VARCHAR,
    "subgroup_guid" VARCHAR,
    "setting_guid" VARCHAR NOT NULL,
    "alias" VARCHAR,
    "name" VARCHAR,
    "efficiency_class" INTEGER,
    "value" DOUBLE,
    "value_text" VARCHAR,
    "unit" VARCHAR,
    "kind" VARCHAR NOT NULL,
    "override" BOOLEAN,
    "raw" VARCHAR NOT NULL
);

-- One row per sleep, wake, AC/DC, scheme or overlay change.
CREATE TABLE power_event (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "kind" VARCHAR NOT NULL,
    "from_state" VARCHAR,
    "to_state" VARCHAR,
    "detail" VARCHAR
);

-- One row per statement about a CPU's frequency.
CREATE TABLE cpu_frequency (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "mhz" DOUBLE NOT NULL,
    "kind" VARCHAR NOT NULL
);

-- One row per parking or unparking of a CPU.
CREATE TABLE cpu_parking (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "parked" BOOLEAN NOT NULL,
    "soft" BOOLEAN
);

-- One row per entry into or exit from a processor idle state.
CREATE TABLE c_state (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "state" INTEGER NOT NULL,
    "entered" BOOLEAN NOT NULL
);

-- One row per user-interface delay that Win32k reported. A hang that never pumps again leaves no event.
CREATE TABLE ui_delay (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "duration_ns" BIGINT,
    "thread_key" BIGINT,
    "process_key" BIGINT,
    "tid" BIGINT NOT NULL,
    "pid" BIGINT NOT NULL,
    "window_class" VARCHAR,
    "image_path" VARCHAR,
    "message_id" BIGINT,
    "kind" VARCHAR NOT NULL
);

-- One row per change of the focused process, or per gain or loss of focus.
CREATE TABLE focus (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "process_key" BIGINT,
    "pid" BIGINT NOT NULL,
    "kind" VARCHAR NOT NULL
);

-- One row per freeze or thaw of a process.
CREATE TABLE process_freeze (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "process_key" BIGINT,
    "pid" BIGINT NOT NULL,
    "state" VARCHAR NOT NULL,
    "by_process_key" BIGINT
);

-- One row per change of a thread's priority that was set (boosts at switch-in are in `cswitch`).
CREATE TABLE priority_change (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "thread_key" BIGINT NOT NULL,
    "process_key" BIGINT,
    "tid" BIGINT NOT NULL,
    "kind" VARCHAR NOT NULL,
    "old_value" INTEGER NOT NULL,
    "new_value" INTEGER NOT NULL,
    "source" VARCHAR NOT NULL
);

-- One row per deferred procedure call or interrupt service routine.
CREATE TABLE dpc_isr (
    trace_id BIGINT NOT NULL,
    "start_ts_ns" BIGINT NOT NULL,
    "duration_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "kind" VARCHAR NOT NULL,
    "routine" UBIGINT NOT NULL,
    "module" VARCHAR
);

-- One row per input that UIforETW logged.
CREATE TABLE input_event (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "kind" VARCHAR NOT NULL,
    "code" BIGINT,
    "name" VARCHAR,
    "pid" BIGINT NOT NULL
);

-- One row per mark.
CREATE TABLE mark (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "text" VARCHAR NOT NULL,
    "source" VARCHAR NOT NULL
);

-- One row per stretch in which nothing was recorded on any CPU, with the evidence. A gap is neither CPU idle time nor waiting time: questions subtract it.
CREATE TABLE gap (
    trace_id BIGINT NOT NULL,
    "from_ts_ns" BIGINT NOT NULL,
    "to_ts_ns" BIGINT NOT NULL,
    "evidence" VARCHAR NOT NULL
);

-- One row per manifest or TraceLogging event that has no table of its own.
CREATE TABLE generic_event (
    trace_id BIGINT NOT NULL,
    "ts_ns" BIGINT NOT NULL,
    "cpu" INTEGER NOT NULL,
    "provider" VARCHAR NOT NULL,
    "event" VARCHAR,
    "event_id" INTEGER NOT NULL,
    "pid" BIGINT,
    "tid" BIGINT,
    "process_key" BIGINT,
    "thread_key" BIGINT,
    "fields" VARCHAR,
    "payload" BLOB,
    "stack_id" BIGINT,
    "provider_guid" VARCHAR NOT NULL,
    "opcode" INTEGER NOT NULL,
    "version" INTEGER NOT NULL,
    "level" INTEGER NOT NULL,
    "activity_id" VARCHAR,
    "related_activity_id" VARCHAR
);

-- One row per distinct place in a module for which a name was found. The one table that belongs to the lake and not to a recording (`trace_id` is 0): symbols can be added at any time.
CREATE TABLE symbol (
    trace_id BIGINT NOT NULL,
    "module_id" VARCHAR NOT NULL,
    "module" VARCHAR NOT NULL,
    "rva" BIGINT NOT NULL,
    "function" VARCHAR NOT NULL,
    "function_offset" BIGINT NOT NULL,
    "source_file" VARCHAR,
    "source_line" BIGINT,
    "source" VARCHAR NOT NULL
);
