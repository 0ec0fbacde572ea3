//! `[maintenance.windows]`: when writers are left alone, and when maintenance may run at all.

use chrono_tz::Tz;
use serde::Serialize;

use super::{
    block::Block,
    node::Node,
    problem::Report,
    schedule::{Schedule, schedule, time_zone, zone_name},
    scheduler::YEAR_S,
};

/// A quarter of an hour: what was written this recently is likely to be written again.
const QUIET_S_DEFAULT: u64 = 900;

/// `[maintenance.windows]`.
#[derive(Clone, Debug, Serialize)]
pub struct Windows {
    /// `time_zone` of all windows; `UTC` unless set.
    #[serde(serialize_with = "zone_name")]
    pub time_zone: Tz,
    /// `quiet_s`: a partition written within this time waits; 900 unless set.
    pub quiet_s: u64,
    /// `writer`: when writers have the table to themselves and nothing is committed; none unless set.
    pub writer: Vec<Window>,
    /// `maintenance`: the only times when maintenance runs; always unless set.
    pub maintenance: Vec<Window>,
}

/// A time that comes again and again: `{ cron = "0 22 * * *", duration_s = 7200 }`.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// `cron`: when it opens.
    pub cron: Schedule,
    /// `duration_s`: how long it is open; shorter than the pause between two openings.
    pub duration_s: u64,
}

pub(super) fn read(mut block: Block<'_>) -> Windows {
    let windows = Windows {
        time_zone: time_zone(&mut block),
        quiet_s: block.number("quiet_s", QUIET_S_DEFAULT, 0..=YEAR_S),
        writer: windows(&mut block, "writer"),
        maintenance: windows(&mut block, "maintenance"),
    };
    block.finish();
    windows
}

fn windows(block: &mut Block<'_>, key: &str) -> Vec<Window> {
    let list = block.list(key);
    list.iter().filter_map(|node| window(node, block.report)).collect()
}

fn window(node: &Node, report: &mut Report) -> Option<Window> {
    let mut block = Block::single("window", Some(node), report);
    if !block.exists() {
        return None;
    }
    let cron = schedule(&mut block, "cron");
    let duration_s = block.optional_number("duration_s", 60..=YEAR_S);
    for key in ["cron", "duration_s"] {
        if !block.has(key) {
            block.missing(key, "a window is written { cron = \"0 22 * * *\", duration_s = 7200 }");
        }
    }
    let duration = block.find("duration_s");
    if let (Some(duration_s), Some(cron), Some(node)) = (duration_s, &cron, duration)
        && let Some(pause_s) = cron.shortest_pause_s().filter(|pause_s| duration_s > *pause_s)
    {
        let problem = format!("{duration_s} is longer than the pause between two openings ({pause_s} s)");
        block.report.error(node, problem, "shorten it, or leave the window out: it would never close");
    }
    block.finish();
    Some(Window { cron: cron?, duration_s: duration_s? })
}
