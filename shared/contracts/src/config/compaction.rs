//! `[maintenance.compaction]`: the options of `rewrite_data_files` in snake_case, and what decides between them.

use std::collections::BTreeMap;

use model::{CompactionOptions, JobOrder, OPTION_NAMES, parse_options};
use serde::Serialize;
use serde_json::{Map, Value as Json};

use super::{
    block::Block,
    node::{Node, Value},
    problem::Report,
    scheduler::YEAR_S,
    strategy::{StrategyError, StrategySetting},
};

/// Iceberg's near-line size for data that is still written: a rewrite is short and seldom conflicts.
const NEAR_LINE_TARGET_FILE_SIZE_BYTES_DEFAULT: u64 = 128 << 20;
/// A day: most late data has come by then.
const STABILISATION_S_DEFAULT: u64 = 86_400;
/// Enough to tell a gain from chance, few enough to waste little.
const SORT_TRIAL_PARTITIONS_DEFAULT: u64 = 4;
/// Belongs to one run.
const WHERE: &str = "where";
/// The only option whose value is a word.
const JOB_ORDER: &str = "rewrite-job-order";
const NEAR_LINE_TARGET: &str = "near_line_target_file_size_bytes";

/// `[maintenance.compaction]`.
#[derive(Clone, Debug)]
pub struct Compaction {
    /// `strategy`; `binpack` unless set.
    pub strategy: StrategySetting,
    /// The options of `rewrite_data_files`, each by its name in snake_case: `min-input-files` is `min_input_files`,
    /// `partial-progress.enabled` is `partial_progress_enabled`. Defaults are Spark's.
    pub options: CompactionOptions,
    /// The options that are set, by the names of the procedure.
    pub set: Vec<(String, String)>,
    /// `near_line_target_file_size_bytes`: the target for partitions that are still written; 128 MiB unless set, and at most
    /// the other target.
    pub near_line_target_file_size_bytes: u64,
    /// `stabilisation_s`: a partition not written for this long is stable and gets the full target; 86400 unless set.
    pub stabilisation_s: u64,
    /// `sort_trial_partitions`: where a strategy that is not `!` has to show a gain first; 4 unless set.
    pub sort_trial_partitions: u64,
}

impl Serialize for Compaction {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut settings = Map::new();
        settings.insert("strategy".to_owned(), self.strategy.to_string().into());
        if let Ok(Json::Object(options)) = serde_json::to_value(&self.options) {
            let is_setting = |name: &str| name != "strategy" && name != WHERE;
            let options = options.into_iter().filter(|(name, _)| is_setting(name));
            settings.extend(options.map(|(name, value)| (snake_case(&name), value)));
        }
        let near_line = self.near_line_target_file_size_bytes;
        settings.insert("near_line_target_file_size_bytes".to_owned(), near_line.into());
        settings.insert("stabilisation_s".to_owned(), self.stabilisation_s.into());
        settings.insert("sort_trial_partitions".to_owned(), self.sort_trial_partitions.into());
        settings.serialize(serializer)
    }
}

/// The key of the option `name`.
pub(super) fn snake_case(name: &str) -> String {
    name.replace(['-', '.'], "_")
}

pub(super) fn read(mut block: Block<'_>) -> Compaction {
    let strategy = block.parsed("strategy", |text| {
        let help = "write binpack, sort or zorder(a,b), and ! behind it for always";
        text.parse().map_err(|error: StrategyError| (error.to_string(), help.to_owned()))
    });
    let (options, set) = options(&mut block);
    let target = options.target_file_size_bytes;
    let near_line_default = NEAR_LINE_TARGET_FILE_SIZE_BYTES_DEFAULT.min(target);
    let compaction = Compaction {
        strategy: strategy.unwrap_or_default(),
        options,
        set,
        near_line_target_file_size_bytes: block.number(NEAR_LINE_TARGET, near_line_default, 1..=u64::MAX),
        stabilisation_s: block.number("stabilisation_s", STABILISATION_S_DEFAULT, 0..=YEAR_S),
        sort_trial_partitions: block.number("sort_trial_partitions", SORT_TRIAL_PARTITIONS_DEFAULT, 1..=1_000),
    };
    if compaction.near_line_target_file_size_bytes > target
        && let Some(node) = block.find(NEAR_LINE_TARGET)
    {
        let near_line = compaction.near_line_target_file_size_bytes;
        let problem = format!("{near_line} is above target_file_size_bytes ({target})");
        block.report.error(node, problem, "lower it: partitions that are still written get the smaller target");
    }
    block.finish();
    compaction
}

/// The options, and those among them that are set.
fn options(block: &mut Block<'_>) -> (CompactionOptions, Vec<(String, String)>) {
    let mut set = Vec::new();
    let mut nodes = BTreeMap::new();
    for name in OPTION_NAMES {
        let Some(node) = block.find(&snake_case(name)) else { continue };
        if *name == WHERE {
            block.report.error(node, "belongs to one run", "remove it, and pass --where to plan and compact");
            continue;
        }
        nodes.insert(*name, node);
        if *name == JOB_ORDER {
            set.extend(job_order(block).map(|text| ((*name).to_owned(), text)));
            continue;
        }
        set.extend(option_text(node, block.report).map(|text| ((*name).to_owned(), text)));
    }
    match parse_options(&BTreeMap::new(), &set) {
        Ok(options) => (options, set),
        Err(errors) => {
            for error in errors {
                // Sizes that are not set derive from the target: it is what has to change.
                let node = nodes.get(error.name.as_str()).or_else(|| nodes.get("target-file-size-bytes"));
                let help = "correct it, or leave it out for the default of Spark's rewrite_data_files";
                if let Some(node) = node {
                    block.report.error(node, error.reason, help);
                }
            }
            (CompactionOptions::default(), set)
        }
    }
}

fn job_order(block: &mut Block<'_>) -> Option<String> {
    block.parsed(&snake_case(JOB_ORDER), |text| match serde_json::from_value::<JobOrder>(text.into()) {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => {
            Err(("is no order".to_owned(), "write bytes-asc, bytes-desc, files-asc, files-desc or none".to_owned()))
        }
    })
}

/// A value, which is no word, as the procedure takes it.
fn option_text(node: &Node, report: &mut Report) -> Option<String> {
    match &node.value {
        Value::Flag(flag) => Some(flag.to_string()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Decimal(number) => Some(number.to_string()),
        Value::Text(text) => {
            let problem = format!("{:?} is text, and must be a number or true or false", text.written);
            report.error(node, problem, "write it without quotes");
            None
        }
        _ => {
            report.error(node, format!("is {}, and must be one value", node.kind()), "write one number or word");
            None
        }
    }
}
