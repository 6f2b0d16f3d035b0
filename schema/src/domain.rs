//! Closed sets of values and what they mean. Tables keep the numbers; SQL macros made from these
//! lists give the names, and a number that is not in a list stays a number.

/// A number and its name, as documented for the field.
pub type Name = (i32, &'static str);

/// KTHREAD_STATE: what a thread is when it leaves the CPU (`old_state`, `prev_state`).
pub static THREAD_STATES: &[Name] = &[
    (0, "Initialized"),
    (1, "Ready"),
    (2, "Running"),
    (3, "Standby"),
    (4, "Terminated"),
    (5, "Waiting"),
    (6, "Transition"),
    (7, "DeferredReady"),
    (8, "GateWaitObsolete"),
    (9, "WaitingForProcessInSwap"),
];

/// KWAIT_REASON (`old_wait_reason`, `prev_wait_reason`).
pub static WAIT_REASONS: &[Name] = &[
    (0, "Executive"),
    (1, "FreePage"),
    (2, "PageIn"),
    (3, "PoolAllocation"),
    (4, "DelayExecution"),
    (5, "Suspended"),
    (6, "UserRequest"),
    (7, "WrExecutive"),
    (8, "WrFreePage"),
    (9, "WrPageIn"),
    (10, "WrPoolAllocation"),
    (11, "WrDelayExecution"),
    (12, "WrSuspended"),
    (13, "WrUserRequest"),
    (14, "WrEventPair"),
    (15, "WrQueue"),
    (16, "WrLpcReceive"),
    (17, "WrLpcReply"),
    (18, "WrVirtualMemory"),
    (19, "WrPageOut"),
    (20, "WrRendezvous"),
    (21, "WrKeyedEvent"),
    (22, "WrTerminated"),
    (23, "WrProcessInSwap"),
    (24, "WrCpuRateControl"),
    (25, "WrCalloutStack"),
    (26, "WrKernel"),
    (27, "WrResource"),
    (28, "WrPushLock"),
    (29, "WrMutex"),
    (30, "WrQuantumEnd"),
    (31, "WrDispatchInt"),
    (32, "WrPreempted"),
    (33, "WrYieldExecution"),
    (34, "WrFastMutex"),
    (35, "WrGuardedMutex"),
    (36, "WrRundown"),
    (37, "WrAlertByThreadId"),
    (38, "WrDeferredPreempt"),
    (39, "WrPhysicalFault"),
    (40, "WrIoRing"),
    (41, "WrMdlCache"),
    (42, "WrRcu"),
];

/// Wait reasons that say the CPU was taken away, so that the thread was ready at once.
pub static PREEMPTION_REASONS: &[i32] = &[30, 31, 32, 33, 38];

/// Quality-of-service levels (`new_qos`, `old_qos`).
pub static QOS_LEVELS: &[Name] = &[(0, "High"), (1, "Medium"), (2, "Low"), (3, "Dynamic")];

/// Wait modes (`old_wait_mode`, `prev_wait_mode`).
pub static WAIT_MODES: &[Name] = &[(0, "Kernel"), (1, "User")];

/// Why a ready event adjusts the priority (`ready.adjust_reason`).
pub static ADJUST_REASONS: &[Name] = &[(0, "None"), (1, "Unwait"), (2, "Boost")];

/// The sets that become SQL macros: macro name, list, what the number is.
pub static NAME_MACROS: &[(&str, &[Name], &str)] = &[
    ("thread_state_name", THREAD_STATES, "Name of a thread state (old_state, prev_state)."),
    (
        "wait_reason_name",
        WAIT_REASONS,
        "Name of a wait reason (old_wait_reason, prev_wait_reason).",
    ),
    ("qos_name", QOS_LEVELS, "Name of a quality-of-service level (new_qos, old_qos)."),
    ("wait_mode_name", WAIT_MODES, "Name of a wait mode (old_wait_mode, prev_wait_mode)."),
    ("adjust_reason_name", ADJUST_REASONS, "Name of a ready event's adjust reason."),
];
