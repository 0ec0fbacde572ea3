//! The settings that tables may have of their own, read from their layers.

use serde::Serialize;

use super::{
    block::{Block, Origins},
    budget::{self, Budget},
    compaction::{self, Compaction},
    node::Table,
    problem::Report,
    scheduler::{self, Scheduler},
    scoring::{self, Scoring},
    windows::{self, Windows},
};

/// The blocks that tables may have of their own.
pub(super) const BLOCKS: &[&str] = &["scheduler", "compaction", "budget", "scoring", "windows"];

/// When, what, how much, and whether it is worth it.
#[derive(Clone, Debug, Serialize)]
pub struct Policy {
    /// `[maintenance.scheduler]`.
    pub scheduler: Scheduler,
    /// `[maintenance.compaction]`.
    pub compaction: Compaction,
    /// `[maintenance.budget]`.
    pub budget: Budget,
    /// `[maintenance.scoring]`.
    pub scoring: Scoring,
    /// `[maintenance.windows]`.
    pub windows: Windows,
}

/// The policy of `layers`, which come with the one that wins first, and where each setting comes from.
pub(super) fn read(layers: &[&Table], report: &mut Report) -> (Policy, Origins) {
    let mut origins = Origins::new();
    let policy = Policy {
        scheduler: scheduler::read(Block::layered("scheduler", layers, report, &mut origins)),
        compaction: compaction::read(Block::layered("compaction", layers, report, &mut origins)),
        budget: budget::read(Block::layered("budget", layers, report, &mut origins)),
        scoring: scoring::read(Block::layered("scoring", layers, report, &mut origins)),
        windows: windows::read(Block::layered("windows", layers, report, &mut origins)),
    };
    (policy, origins)
}
