//! `[maintenance.budget]`: what maintenance may use up.

use serde::Serialize;

use super::block::Block;

/// 1 TiB: about six hours of one rewriter at 50 MB/s.
const BYTES_PER_DAY_DEFAULT: u64 = 1 << 40;
/// A sum that a mistake may cost.
const USD_PER_DAY_DEFAULT: f64 = 10.0;
/// As many messages as one planner sends within its time.
const GROUPS_PER_JOB_DEFAULT: u64 = 1_000;
/// Leaves most of a Lambda account's default of 1000 concurrent executions to others.
const CONCURRENT_GROUPS_DEFAULT: u64 = 16;
/// Spark's default of `partial-progress.max-commits`.
const COMMITS_PER_JOB_DEFAULT: u64 = 10;
/// One every quarter of an hour.
const COMMITS_PER_DAY_DEFAULT: u64 = 96;

/// `[maintenance.budget]`: limits of the account; below `[maintenance.tables."…".budget]` and in table properties, of each
/// matching table, within the account's.
#[derive(Clone, Debug, Serialize)]
pub struct Budget {
    /// `bytes_per_run`: bytes read in one run; `bytes_per_day` unless set.
    pub bytes_per_run: u64,
    /// `bytes_per_day`: bytes read in a day of UTC; 1 TiB unless set.
    pub bytes_per_day: u64,
    /// `gb_seconds_per_run`: memory times time of the rewriters; no limit unless set.
    pub gb_seconds_per_run: Option<f64>,
    /// `gb_seconds_per_day`; no limit unless set.
    pub gb_seconds_per_day: Option<f64>,
    /// `usd_per_run`: estimated price; `usd_per_day` unless set.
    pub usd_per_run: f64,
    /// `usd_per_day`: 10 unless set.
    pub usd_per_day: f64,
    /// `groups_per_job`: file groups of one plan; 1000 unless set.
    pub groups_per_job: u64,
    /// `concurrent_groups`: file groups under way at once; 16 unless set.
    pub concurrent_groups: u64,
    /// `commits_per_job`: 10 unless set.
    pub commits_per_job: u64,
    /// `commits_per_day`: 96 unless set.
    pub commits_per_day: u64,
}

pub(super) fn read(mut block: Block<'_>) -> Budget {
    let usd = f64::MIN_POSITIVE..=f64::MAX;
    let bytes_per_day = block.number("bytes_per_day", BYTES_PER_DAY_DEFAULT, 1..=u64::MAX);
    let usd_per_day = block.decimal("usd_per_day", USD_PER_DAY_DEFAULT, usd.clone());
    let gb_seconds_per_day = block.optional_decimal("gb_seconds_per_day", usd.clone());
    let budget = Budget {
        bytes_per_run: block.number("bytes_per_run", bytes_per_day, 1..=u64::MAX),
        bytes_per_day,
        gb_seconds_per_run: block.optional_decimal("gb_seconds_per_run", usd.clone()).or(gb_seconds_per_day),
        gb_seconds_per_day,
        usd_per_run: block.decimal("usd_per_run", usd_per_day, usd),
        usd_per_day,
        groups_per_job: block.number("groups_per_job", GROUPS_PER_JOB_DEFAULT, 1..=u64::MAX),
        concurrent_groups: block.number("concurrent_groups", CONCURRENT_GROUPS_DEFAULT, 1..=1_000),
        commits_per_job: block.number("commits_per_job", COMMITS_PER_JOB_DEFAULT, 1..=u64::MAX),
        commits_per_day: block.number("commits_per_day", COMMITS_PER_DAY_DEFAULT, 1..=u64::MAX),
    };
    let is_more = |run: Option<f64>, day: Option<f64>| matches!((run, day), (Some(run), Some(day)) if run > day);
    let pairs = [
        ("bytes_per_run", "bytes_per_day", budget.bytes_per_run > budget.bytes_per_day),
        ("usd_per_run", "usd_per_day", budget.usd_per_run > budget.usd_per_day),
        ("gb_seconds_per_run", "gb_seconds_per_day", is_more(budget.gb_seconds_per_run, budget.gb_seconds_per_day)),
    ];
    for (run, day, is_more) in pairs {
        if let Some(node) = block.find(run).filter(|_| is_more) {
            let help = "lower it, or raise the day's";
            block.report.error(node, format!("one run may use more than the {day} of all runs"), help);
        }
    }
    block.finish();
    budget
}
