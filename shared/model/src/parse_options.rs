//! Options by the names of Spark's `rewrite_data_files` procedure, checked all at once.

use std::{collections::BTreeMap, str::FromStr};

use crate::{CompactionOptions, JobOrder, Strategy, TARGET_FILE_SIZE_BYTES_DEFAULT, near_names};

/// The table property that gives the default of `target-file-size-bytes`.
pub const TARGET_FILE_SIZE_PROPERTY: &str = "write.target-file-size-bytes";
const TARGET: &str = "target-file-size-bytes";
/// 100 GiB, Spark's default of `max-file-group-size-bytes`.
const MAX_FILE_GROUP_SIZE_BYTES_DEFAULT: u64 = 100 * 1024 * 1024 * 1024;

/// Every option that Firn knows.
pub const OPTION_NAMES: &[&str] = &[
    "delete-file-threshold",
    "delete-ratio-threshold",
    "max-concurrent-file-group-rewrites",
    "max-file-group-input-files",
    "max-file-group-size-bytes",
    "max-file-size-bytes",
    "max-files-to-rewrite",
    "min-file-size-bytes",
    "min-input-files",
    "output-spec-id",
    "partial-progress.enabled",
    "partial-progress.max-commits",
    "partial-progress.max-failed-commits",
    "remove-dangling-deletes",
    "rewrite-all",
    "rewrite-job-order",
    "target-file-size-bytes",
    "use-starting-sequence-number",
    "where",
];

/// Options of the same procedure that only a shuffle has.
const SORT_ONLY: &[&str] =
    &["compression-factor", "shuffle-partitions-per-file", "var-length-contribution", "max-output-size"];

/// One option that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct OptionError {
    /// The option or table property.
    pub name: String,
    /// What is wrong and what would be right.
    pub reason: String,
}

/// Options given by `pairs` (later ones win), defaults from the table's `properties` and from Spark.
///
/// # Errors
/// Every option that is unknown, unreadable or contradicts another.
pub fn parse_options(
    properties: &BTreeMap<String, String>,
    pairs: &[(String, String)],
) -> Result<CompactionOptions, Vec<OptionError>> {
    let mut given = Given { values: BTreeMap::new(), errors: Vec::new() };
    for (name, value) in pairs {
        if OPTION_NAMES.contains(&name.as_str()) {
            given.values.insert(name, value);
        } else {
            given.error(name, unknown(name));
        }
    }
    // A property that an option overrides is not looked at.
    let property = properties.get(TARGET_FILE_SIZE_PROPERTY).filter(|_| !given.values.contains_key(TARGET));
    let property = property.map(String::as_str);
    let target_default = match property.map(u64::from_str) {
        None => TARGET_FILE_SIZE_BYTES_DEFAULT,
        Some(Ok(bytes)) if bytes > 0 => bytes,
        Some(_) => {
            given.error(
                TARGET_FILE_SIZE_PROPERTY,
                format!("table property {:?} is no positive number of bytes", property.unwrap_or("")),
            );
            TARGET_FILE_SIZE_BYTES_DEFAULT
        }
    };
    let options = given.options(target_default);
    given.check(&options);
    if given.errors.is_empty() { Ok(options) } else { Err(given.errors) }
}

impl Default for CompactionOptions {
    /// What a run does when nothing is set.
    fn default() -> Self {
        Given { values: BTreeMap::new(), errors: Vec::new() }.options(TARGET_FILE_SIZE_BYTES_DEFAULT)
    }
}

struct Given<'a> {
    values: BTreeMap<&'a str, &'a str>,
    errors: Vec<OptionError>,
}

impl Given<'_> {
    fn error(&mut self, name: &str, reason: impl Into<String>) {
        self.errors.push(OptionError { name: name.to_owned(), reason: reason.into() });
    }

    fn value<T: FromStr>(&mut self, name: &str, what: &str, default: T) -> T {
        let Some(text) = self.values.get(name).copied() else { return default };
        match text.trim().parse() {
            Ok(value) => value,
            Err(_) => {
                self.error(name, format!("{text:?} is not {what}"));
                default
            }
        }
    }

    fn optional<T: FromStr>(&mut self, name: &str, what: &str) -> Option<T> {
        let text = self.values.get(name).copied()?;
        let value = text.trim().parse().ok();
        if value.is_none() {
            self.error(name, format!("{text:?} is not {what}"));
        }
        value
    }

    fn options(&mut self, target_default: u64) -> CompactionOptions {
        const BYTES: &str = "a number of bytes";
        const COUNT: &str = "a whole number";
        const FLAG: &str = "true or false";
        let target = self.value(TARGET, BYTES, target_default);
        let max_commits = self.value("partial-progress.max-commits", COUNT, 10);
        CompactionOptions {
            target_file_size_bytes: target,
            min_file_size_bytes: self.value("min-file-size-bytes", BYTES, percent(target, 75)),
            max_file_size_bytes: self.value("max-file-size-bytes", BYTES, percent(target, 180)),
            min_input_files: self.value("min-input-files", COUNT, 5),
            delete_file_threshold: self.value("delete-file-threshold", COUNT, u64::from(i32::MAX.unsigned_abs())),
            delete_ratio_threshold: self.value("delete-ratio-threshold", "a number", 0.3),
            rewrite_all: self.value("rewrite-all", FLAG, false),
            max_file_group_size_bytes: self.value(
                "max-file-group-size-bytes",
                BYTES,
                MAX_FILE_GROUP_SIZE_BYTES_DEFAULT,
            ),
            max_file_group_input_files: self.value("max-file-group-input-files", COUNT, i64::MAX.unsigned_abs()),
            max_files_to_rewrite: self.optional("max-files-to-rewrite", COUNT),
            rewrite_job_order: self.job_order(),
            output_spec_id: self.optional("output-spec-id", "the id of a partition spec"),
            remove_dangling_deletes: self.value("remove-dangling-deletes", FLAG, true),
            partial_progress_enabled: self.value("partial-progress.enabled", FLAG, false),
            partial_progress_max_commits: max_commits,
            partial_progress_max_failed_commits: self.value("partial-progress.max-failed-commits", COUNT, max_commits),
            use_starting_sequence_number: self.value("use-starting-sequence-number", FLAG, true),
            max_concurrent_file_group_rewrites: self.value("max-concurrent-file-group-rewrites", COUNT, 1),
            strategy: Strategy::Binpack,
            filter: self.values.get("where").map(|text| (*text).to_owned()),
        }
    }

    fn job_order(&mut self) -> JobOrder {
        match self.values.get("rewrite-job-order").copied() {
            None | Some("none") => JobOrder::None,
            Some("bytes-asc") => JobOrder::BytesAsc,
            Some("bytes-desc") => JobOrder::BytesDesc,
            Some("files-asc") => JobOrder::FilesAsc,
            Some("files-desc") => JobOrder::FilesDesc,
            Some(other) => {
                let reason = format!("{other:?} is none of none, bytes-asc, bytes-desc, files-asc, files-desc");
                self.error("rewrite-job-order", reason);
                JobOrder::None
            }
        }
    }

    fn check(&mut self, options: &CompactionOptions) {
        let CompactionOptions {
            target_file_size_bytes: target,
            min_file_size_bytes: min,
            max_file_size_bytes: max,
            ..
        } = *options;
        if target == 0 {
            self.error("target-file-size-bytes", "must be above 0");
        } else {
            if min >= target {
                self.error("min-file-size-bytes", format!("{min} must be below target-file-size-bytes ({target})"));
            }
            if max <= target {
                self.error("max-file-size-bytes", format!("{max} must be above target-file-size-bytes ({target})"));
            }
        }
        let ratio = options.delete_ratio_threshold;
        if !(ratio > 0.0 && ratio <= 1.0) {
            self.error("delete-ratio-threshold", format!("{ratio} must be above 0 and at most 1"));
        }
        let positive: [(&str, u64); 5] = [
            ("min-input-files", options.min_input_files),
            ("max-file-group-size-bytes", options.max_file_group_size_bytes),
            ("max-file-group-input-files", options.max_file_group_input_files),
            ("partial-progress.max-commits", options.partial_progress_max_commits.into()),
            ("max-concurrent-file-group-rewrites", options.max_concurrent_file_group_rewrites.into()),
        ];
        for (name, _) in positive.iter().filter(|(_, value)| *value == 0) {
            self.error(name, "must be above 0");
        }
        if options.max_files_to_rewrite == Some(0) {
            self.error("max-files-to-rewrite", "must be above 0");
        }
    }
}

fn percent(target: u64, percent: u64) -> u64 {
    u64::try_from(u128::from(target) * u128::from(percent) / 100).unwrap_or(u64::MAX)
}

fn unknown(name: &str) -> String {
    if SORT_ONLY.contains(&name) {
        return "belongs to the sort strategies; binpack has no shuffle to tune".to_owned();
    }
    let near = near_names(name, OPTION_NAMES);
    if near.is_empty() {
        format!("unknown option; known are {}", OPTION_NAMES.join(", "))
    } else {
        format!("unknown option; near are {}", near.join(", "))
    }
}
