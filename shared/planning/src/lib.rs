//! Decides what is worth rewriting: inventory and options in, plan and health out, with a reason for every file left alone.
//!
//! Pure: the same inventory and options give the same plan, byte for byte. The formulas are those of Iceberg's Java planner
//! (`BinPackRewriteFilePlanner`, `SizeBasedFileRewritePlanner`) but where ARCHITECTURE.md says otherwise.

mod health;
mod ids;
mod plan;
mod sizes;

pub use health::health;
pub use ids::plan_id;
pub use plan::{PlanError, plan};
pub use sizes::expected_output_files;

#[cfg(test)]
mod tests;
