//! `[maintenance.scoring]`: the prices and rates by which benefit and cost of a rewrite are weighed.

use serde::Serialize;

use super::{block::Block, scheduler::YEAR_S};

/// `[maintenance.scoring]`. Prices are USD. The defaults are list prices of AWS in us-east-1 and round figures of common
/// hardware; a measured value, where there is one, goes before its default.
#[derive(Clone, Debug, Serialize)]
pub struct Scoring {
    /// `engine_second_usd`: a second of the query engine; 0.0001, about eight cores of EC2 on demand, unless set.
    pub engine_second_usd: f64,
    /// `gb_second_usd`: a GB-second of a rewriter; 0.0000133334, AWS Lambda on Arm, unless set.
    pub gb_second_usd: f64,
    /// `put_request_usd`: a write to S3; 0.000005 unless set.
    pub put_request_usd: f64,
    /// `get_request_usd`: a read from S3; 0.0000004 unless set.
    pub get_request_usd: f64,
    /// `commit_usd`: what a commit costs its catalog and the readers' caches; 0.0001 unless set.
    pub commit_usd: f64,
    /// `file_open_ms`: to open one data or delete file; 40, Iceberg's `read.split.open-file-cost` of 4 MiB at 100 MB/s, unless set.
    pub file_open_ms: f64,
    /// `delete_row_us`: to apply one deleted row; 0.1 unless set.
    pub delete_row_us: f64,
    /// `scan_bytes_per_s`: what an engine reads; 100000000 unless set.
    pub scan_bytes_per_s: f64,
    /// `rewrite_bytes_per_s`: what a rewriter reads and writes; 50000000 unless set.
    pub rewrite_bytes_per_s: f64,
    /// `rewriter_memory_bytes`: what a rewriter holds; 2 GiB unless set.
    pub rewriter_memory_bytes: u64,
    /// `scans_per_day` of a live partition that no report speaks of; 1 unless set. The table property `firn.heat` sets it too.
    pub scans_per_day: f64,
    /// `horizon_s`: savings count for at most this long; 30 days unless set.
    pub horizon_s: u64,
    /// `min_score`: benefit over cost that is worth a rewrite; 1 unless set.
    pub min_score: f64,
    /// `delete_ratio_limit`: from this share of deleted rows on a partition is rewritten whatever its score; 0.5 unless set.
    pub delete_ratio_limit: f64,
    /// `ageing_per_day`: what a waiting partition's score grows by each day, as a share of it; 0.1 unless set.
    pub ageing_per_day: f64,
    /// `metrics_half_life_s`: how fast old reports lose weight; 7 days unless set.
    pub metrics_half_life_s: u64,
    /// `suspend_after`: rewrites in a row without gain that suspend a strategy for a partition; 3 unless set.
    pub suspend_after: u64,
    /// `refragmented_within_s`: debt back this soon is the writer's to avoid, and Firn slows down; 6 hours unless set.
    pub refragmented_within_s: u64,
    /// `conflict_rate_high`: from this share of conflicting commits on, groups shrink and the cooldown doubles; 0.2 unless set.
    pub conflict_rate_high: f64,
    /// `conflict_rate_low`: below this share they recover; 0.05 unless set.
    pub conflict_rate_low: f64,
}

pub(super) fn read(mut block: Block<'_>) -> Scoring {
    const PRICE: std::ops::RangeInclusive<f64> = 0.0..=1e6;
    const RATE: std::ops::RangeInclusive<f64> = 1.0..=1e15;
    const SHARE: std::ops::RangeInclusive<f64> = 0.0..=1.0;
    let scoring = Scoring {
        engine_second_usd: block.decimal("engine_second_usd", 0.0001, PRICE),
        gb_second_usd: block.decimal("gb_second_usd", 0.000_013_333_4, PRICE),
        put_request_usd: block.decimal("put_request_usd", 0.000_005, PRICE),
        get_request_usd: block.decimal("get_request_usd", 0.000_000_4, PRICE),
        commit_usd: block.decimal("commit_usd", 0.000_1, PRICE),
        file_open_ms: block.decimal("file_open_ms", 40.0, 0.0..=1e6),
        delete_row_us: block.decimal("delete_row_us", 0.1, 0.0..=1e6),
        scan_bytes_per_s: block.decimal("scan_bytes_per_s", 100e6, RATE),
        rewrite_bytes_per_s: block.decimal("rewrite_bytes_per_s", 50e6, RATE),
        rewriter_memory_bytes: block.number("rewriter_memory_bytes", 2 << 30, 1 << 20..=1 << 50),
        scans_per_day: block.decimal("scans_per_day", 1.0, 0.0..=1e9),
        horizon_s: block.number("horizon_s", 30 * 86_400, 60..=YEAR_S),
        min_score: block.decimal("min_score", 1.0, 0.0..=1e6),
        delete_ratio_limit: block.decimal("delete_ratio_limit", 0.5, SHARE),
        ageing_per_day: block.decimal("ageing_per_day", 0.1, 0.0..=100.0),
        metrics_half_life_s: block.number("metrics_half_life_s", 7 * 86_400, 60..=YEAR_S),
        suspend_after: block.number("suspend_after", 3, 1..=1_000),
        refragmented_within_s: block.number("refragmented_within_s", 6 * 3_600, 60..=YEAR_S),
        conflict_rate_high: block.decimal("conflict_rate_high", 0.2, SHARE),
        conflict_rate_low: block.decimal("conflict_rate_low", 0.05, SHARE),
    };
    if scoring.conflict_rate_low >= scoring.conflict_rate_high
        && let Some(node) = block.find("conflict_rate_low").or_else(|| block.find("conflict_rate_high"))
    {
        let (low, high) = (scoring.conflict_rate_low, scoring.conflict_rate_high);
        let problem = format!("conflict_rate_low ({low}) must be below conflict_rate_high ({high})");
        block.report.error(node, problem, "leave room between the two, or Firn would swing to and fro");
    }
    block.finish();
    scoring
}
