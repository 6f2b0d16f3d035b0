//! `stack`: distinct call stacks.

use crate::table::table;

table! {
    /// One row per distinct call stack of the trace.
    stack {
        /// Id, as in every `stack_id` column.
        stack_id: I64,
        /// Number of frames.
        frame_count: I32,
        /// Frames, innermost first.
        frame_ids: Ids,
    }
}
