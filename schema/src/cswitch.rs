//! `cswitch`: context switches, the heart of the lake.

use crate::table::table;

table! {
    /// One row per context switch, which begins a run of the new thread (WPA's *CPU Usage (Precise)*).
    /// Columns `old_*` describe the thread that leaves, as recorded. Columns about the new thread join what the pass over the trace knows of it:
    /// how it last left, who made it ready, and how the run that begins here ends.
    cswitch {
        /// The switch, nanoseconds since the start.
        ts_ns: I64,
        /// CPU.
        cpu: I32,
        /// Thread that begins to run: the one that really ran, where the planned one was replaced.
        new_thread_key: I64,
        /// Its process. NULL: no event tells.
        new_process_key: Opt<I64>,
        /// Its thread id; 0 is the idle thread.
        new_tid: I64,
        /// Its process id. NULL: unknown.
        new_pid: Opt<I64>,
        /// Its priority at switch-in, boosts included. NULL where the planned thread was replaced.
        new_priority: Opt<I32>,
        /// Its quality-of-service level: 0 high, 1 medium, 2 low, 3 dynamic. NULL before event version 4.
        new_qos: Opt<I32>,
        /// The recorded (planned) thread id where another thread really ran, else NULL.
        planned_tid: Opt<I64>,
        /// True: the next switch on this CPU names the new thread as the one that leaves. False: another one really ran, and the row names it. NULL: the end of this CPU's record, or a broken chain.
        new_confirmed: Opt<Bool>,
        /// Thread that leaves. NULL: never.
        old_thread_key: I64,
        /// Its process. NULL: no event tells.
        old_process_key: Opt<I64>,
        /// Its thread id.
        old_tid: I64,
        /// Its process id. NULL: unknown.
        old_pid: Opt<I64>,
        /// Its priority. NULL: not in a compact batch.
        old_priority: Opt<I32>,
        /// State in which it leaves (`thread_state_name`). NULL: not in a compact batch.
        old_state: Opt<I32>,
        /// What it waits for, or why it lost the CPU (`wait_reason_name`). NULL: not in a compact batch.
        old_wait_reason: Opt<I32>,
        /// Wait mode: 0 kernel, 1 user. NULL: not in a compact batch.
        old_wait_mode: Opt<I32>,
        /// Its rank: 0 is normal, and a higher rank is scheduled later, whatever the priority. NULL for the idle thread and where event version and build do not carry it.
        old_rank: Opt<I32>,
        /// Its quality-of-service level. NULL before event version 4.
        old_qos: Opt<I32>,
        /// Its ideal CPU (low 8 bits). NULL: not in a compact batch.
        old_ideal_cpu: Opt<I32>,
        /// What was left of its quantum, in cycles. NULL for the idle thread and in version 1.
        old_remaining_quantum: Opt<I64>,
        /// C-state that the idle thread leaves. NULL: the old thread is not idle, or version 1.
        previous_c_state: Opt<I32>,
        /// Priority decrement (boost) of the new thread. NULL in version 1 or where the planned thread was replaced.
        new_priority_decrement: Opt<I32>,
        /// How long the new thread had waited in clock ticks (`TimerResolution`), as recorded. NULL in version 1 or where the planned thread was replaced.
        new_wait_ticks: Opt<I64>,
        /// How long the run that begins here lasts. NULL: the CPU's last run, or a broken chain.
        run_ns: Opt<I64>,
        /// Rank of the new thread at the switch that ends this run. NULL: unknown, see `old_rank`.
        new_rank: Opt<I32>,
        /// Rank of the new thread at the switch that ended its previous run. NULL: unknown, see `old_rank`.
        new_rank_before: Opt<I32>,
        /// Priority of the new thread when it was last switched out: what it had while it waited. NULL: first run.
        prev_priority: Opt<I32>,
        /// Priority of the new thread at the switch that ends this run. NULL: open run.
        out_priority: Opt<I32>,
        /// Ideal CPU of the new thread, from the switch that ends this run. NULL: open run.
        new_ideal_cpu: Opt<I32>,
        /// Time since the new thread's last switch-out; 0 for a switch to itself. NULL: first run, or idle.
        since_last_ns: Opt<I64>,
        /// State in which the new thread last left. NULL: first run, or idle.
        prev_state: Opt<I32>,
        /// Wait reason with which it last left. NULL: first run, or idle.
        prev_wait_reason: Opt<I32>,
        /// Wait mode with which it last left. NULL: first run, or idle.
        prev_wait_mode: Opt<I32>,
        /// How long the new thread was ready before it ran. NULL: unknown, or idle.
        ready_ns: Opt<I64>,
        /// ReadyThread events for it since its last switch-out (or, where only earlier ones exist, since its last switch-in), the counted one included. 0: none.
        ready_events: I32,
        /// The last of them. NULL: none.
        last_ready_ts_ns: Opt<I64>,
        /// Thread that made it ready. NULL: nobody (it was preempted), a DPC, or unknown.
        readying_thread_key: Opt<I64>,
        /// Process that made it ready. NULL: as above.
        readying_process_key: Opt<I64>,
        /// Thread id of the readier. NULL: as above.
        readying_tid: Opt<I64>,
        /// Process id of the readier. NULL: as above.
        readying_pid: Opt<I64>,
        /// CPU on which it was made ready. NULL: no ready event.
        readying_cpu: Opt<I32>,
        /// Whether it was made ready in a DPC, so that no thread is the cause. NULL: no ready event.
        ready_in_dpc: Opt<Bool>,
        /// Thread that the DPC interrupted. NULL: not in a DPC, or unknown.
        interrupted_thread_key: Opt<I64>,
        /// Flags of the ready event: 1 in DPC, 2 kernel stack not resident, 4 process not resident, 8 direct switch attempted. NULL: no ready event.
        ready_flags: Opt<I32>,
        /// Priority increment of the ready event. NULL: no ready event.
        ready_adjust_increment: Opt<I32>,
        /// Stack of the new thread: where it had waited. NULL: none recorded.
        new_stack_id: Opt<I64>,
        /// Stack of the ready event: of the readier, or of the interrupted thread and the DPC above it. NULL: none recorded.
        ready_stack_id: Opt<I64>,
    }
    derived {
        /// When the new thread was last switched out. NULL: first run, or idle.
        last_out_ts_ns: "BIGINT" = "ts_ns - since_last_ns",
        /// Since when the new thread was ready. NULL: unknown, or idle.
        ready_ts_ns: "BIGINT" = "ts_ns - ready_ns",
        /// How long it had waited before it was ready. NULL: unknown, or idle.
        wait_ns: "BIGINT" = "since_last_ns - ready_ns",
    }
}
