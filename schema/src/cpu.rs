//! `cpu`: the logical processors.

use crate::table::table;

table! {
    /// One row per logical CPU of the recorded machine.
    cpu {
        /// CPU index, as in every `cpu` column.
        cpu: I32,
        /// Processor group. NULL: not recorded.
        group_number: Opt<I32>,
        /// Number within the group. NULL: not recorded.
        number_in_group: Opt<I32>,
        /// Efficiency class (0 = most efficient). NULL: Kernel-Processor-Power was not recorded.
        efficiency_class: Opt<I32>,
        /// Nominal frequency in MHz. NULL: not recorded.
        nominal_mhz: Opt<I32>,
        /// Relative performance as the kernel's power engine states it. NULL: not recorded.
        relative_performance: Opt<I32>,
        /// 'P' for the highest efficiency class, 'E' for every lower one; NULL unless at least two classes occur in the trace.
        core_type: Opt<Text>,
        /// Scheduling class. NULL: not recorded.
        scheduling_class: Opt<I32>,
    }
}
