//! `[maintenance.scheduler]`: when tables are looked at, and how two planners stay out of each other's way.

use chrono_tz::Tz;
use serde::Serialize;

use super::{
    block::Block,
    schedule::{Schedule, schedule, time_zone, zone_name},
};

/// Two o'clock at night: most warehouses rest then.
const SCHEDULE_DEFAULT: &str = "0 2 * * *";
/// Only commit events start work.
const OFF: &str = "off";
/// A quarter of an hour, so that many tables do not meet at their catalog at once.
const JITTER_S_DEFAULT: u64 = 900;
/// An hour: commits of one planner are seen by the statistics of the next.
const COOLDOWN_S_DEFAULT: u64 = 3_600;
/// A day, one cycle of most reports.
const EFFECT_AFTER_S_DEFAULT: u64 = 86_400;
/// A year in seconds: longer waits are mistakes.
pub(super) const YEAR_S: u64 = 366 * 86_400;

/// `[maintenance.scheduler]`.
#[derive(Clone, Debug, Serialize)]
pub struct Scheduler {
    /// `schedule`: when tables are looked at besides on commit events; `0 2 * * *` unless set, none when it is `off`.
    pub schedule: Option<Schedule>,
    /// `time_zone` of the schedule; `UTC` unless set.
    #[serde(serialize_with = "zone_name")]
    pub time_zone: Tz,
    /// `jitter_s`: a run starts up to this much later, at random; 900 unless set, and no longer than the pause between two runs.
    pub jitter_s: u64,
    /// `lease`: where one planner tells the others that it is at work; `none` unless set. It saves work, never correctness.
    pub lease: Lease,
    /// `cooldown_s`: the pause after a job of a table; doubled while its commits conflict; 3600 unless set.
    pub cooldown_s: u64,
    /// `effect_after_s`: when a job's worth is measured a second time, one query cycle later; 86400 unless set.
    pub effect_after_s: u64,
}

/// Where one planner tells the others that it is at work on a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Lease {
    /// A conditional write to DynamoDB.
    Dynamodb,
    /// A row of an Iceberg table `maintenance_log`.
    Catalog,
    /// Nowhere: planners may do the same work twice, and one of them loses the commit.
    None,
}

pub(super) fn read(mut block: Block<'_>) -> Scheduler {
    let is_off = block.text("schedule").is_some_and(|(_, text)| text.meant == OFF);
    let from_config = if is_off { None } else { schedule(&mut block, "schedule") };
    let schedule = from_config.or_else(|| SCHEDULE_DEFAULT.parse().ok()).filter(|_| !is_off);
    let pause_s = schedule.as_ref().and_then(Schedule::shortest_pause_s).unwrap_or(u64::MAX);
    let leases = [("dynamodb", Lease::Dynamodb), ("catalog", Lease::Catalog), ("none", Lease::None)];
    let scheduler = Scheduler {
        schedule,
        time_zone: time_zone(&mut block),
        jitter_s: block.number("jitter_s", JITTER_S_DEFAULT.min(pause_s), 0..=YEAR_S),
        lease: block.choice("lease", Lease::None, &leases),
        cooldown_s: block.number("cooldown_s", COOLDOWN_S_DEFAULT, 0..=YEAR_S),
        effect_after_s: block.number("effect_after_s", EFFECT_AFTER_S_DEFAULT, 60..=YEAR_S),
    };
    if scheduler.jitter_s > pause_s
        && let Some(node) = block.find("jitter_s")
    {
        let problem = format!("{} is longer than the pause between two runs ({pause_s} s)", scheduler.jitter_s);
        block.report.error(node, problem, "shorten the jitter, or run less often");
    }
    block.finish();
    scheduler
}
