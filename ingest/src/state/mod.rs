//! What must be remembered: who is who (identity), who ran and who readied whom (scheduler), which stack
//! belongs to which event (stacks). Facts come from the survey, everything else from the pass in time order.

pub mod facts;
pub mod identity;
mod lifetime;
pub mod power;
pub mod rows;
pub mod scheduler;
pub mod stacks;
