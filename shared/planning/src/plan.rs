//! The bin-pack planner (rewrite rules B).

use std::{collections::BTreeMap, sync::Arc};

use model::{
    CompactionOptions, DataFile, DeleteKind, Group, Inventory, JobOrder, PLANNER_VERSION, Plan, PlanId, Skipped,
    Strategy, total,
};

use crate::{
    ids::{group_id, plan_id},
    sizes::expected_output_files,
};

/// The plan cannot be made as asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// `output-spec-id` names no spec of the table.
    #[error("output-spec-id {asked}: the table has the partition specs {known:?}")]
    UnknownSpec {
        /// What was asked for.
        asked: i32,
        /// The ids that exist.
        known: Vec<i32>,
    },
}

/// Plans a compaction of `inventory`, whose table has the partition specs `spec_ids`.
///
/// Every live data file is either in exactly one group or in `skipped` with the reason. Files are taken in the order of their data
/// sequence numbers and paths, so that the plan does not depend on how manifests list them. Planning again after the plan was
/// carried out finds no work (invariant C-8): a group that cannot shrink anything is refused, and files that Firn wrote for the
/// same target are no reason for a rewrite.
///
/// # Errors
/// [`PlanError::UnknownSpec`].
pub fn plan(inventory: &Inventory, spec_ids: &[i32], options: &CompactionOptions) -> Result<Plan, PlanError> {
    let output_spec_id = options.output_spec_id.unwrap_or(inventory.default_spec_id);
    if !spec_ids.contains(&output_spec_id) {
        return Err(PlanError::UnknownSpec { asked: output_spec_id, known: spec_ids.to_vec() });
    }
    let planner = Planner { inventory, options, output_spec_id };
    let mut skipped = Vec::new();
    let groups = planner.groups(&mut skipped);
    let reasons = planner.reasons(&groups, &skipped);
    let mut plan = Plan {
        plan_id: PlanId(String::new()),
        table: inventory.table.clone(),
        table_uuid: inventory.table_uuid.clone(),
        base_snapshot_id: inventory.snapshot_id,
        base_sequence_number: inventory.sequence_number,
        branch: inventory.branch.clone(),
        strategy: match options.strategy {
            Strategy::Binpack => "binpack".to_owned(),
        },
        output_spec_id,
        schema_id: inventory.schema_id,
        planner_version: PLANNER_VERSION,
        options: options.clone(),
        groups,
        skipped,
        reasons,
        dangling_delete_files: planner.removable_dangling(),
    };
    plan.plan_id = plan_id(&plan);
    Ok(plan)
}

struct Planner<'a> {
    inventory: &'a Inventory,
    options: &'a CompactionOptions,
    output_spec_id: i32,
}

type Files<'a> = Vec<&'a DataFile>;

impl<'a> Planner<'a> {
    fn groups(&self, skipped: &mut Vec<Skipped>) -> Vec<Group> {
        let mut accepted = Vec::new();
        for files in self.candidates(skipped).into_values() {
            let (settled, open): (Files<'a>, Files<'a>) = files.into_iter().partition(|file| self.is_settled(file));
            let mut groups = self.worthy_groups(open, skipped);
            self.absorb(&mut groups, settled, skipped);
            accepted.extend(groups);
        }
        self.order(&mut accepted);
        self.limit(accepted, skipped).into_iter().map(|(files, reason)| self.group(&files, reason)).collect()
    }

    /// Packs that are worth it. What they leave over is packed again, since the next plan would do just that (C-8).
    fn worthy_groups(&self, mut files: Files<'a>, skipped: &mut Vec<Skipped>) -> Vec<(Files<'a>, String)> {
        let mut groups = Vec::new();
        loop {
            let mut refused = Vec::new();
            let before = groups.len();
            for packed in self.pack(files) {
                match self.worth(&packed) {
                    Ok(reason) => groups.push((packed, reason)),
                    Err(reason) => refused.push((packed, reason)),
                }
            }
            if groups.len() == before {
                refused.iter().for_each(|(packed, reason)| skip(skipped, packed, reason));
                return groups;
            }
            files = refused.into_iter().flat_map(|(packed, _)| packed).collect();
        }
    }

    /// Small files of earlier rewrites join a group that is worth it without them, when they cost it no further output file.
    fn absorb(&self, groups: &mut [(Files<'a>, String)], settled: Files<'a>, skipped: &mut Vec<Skipped>) {
        for file in settled {
            let fits = |files: &Files<'a>| {
                let mut joined = files.clone();
                joined.push(file);
                file.size_bytes < self.options.min_file_size_bytes
                    && size(&joined) <= self.options.max_file_group_size_bytes
                    && count(&joined) <= self.options.max_file_group_input_files
                    && self.expected(&joined) <= self.expected(files)
            };
            match groups.iter_mut().find(|(files, _)| fits(files)) {
                Some((files, _)) => files.push(file),
                None => skip(skipped, &[file], "Firn wrote it for this target size, and no deletes apply"),
            }
        }
        for (files, _) in groups {
            files.sort_by(|a, b| age(a).cmp(&age(b)));
        }
    }

    /// Candidate files by partition (rules B.1, B.2).
    fn candidates(&self, skipped: &mut Vec<Skipped>) -> BTreeMap<String, Files<'a>> {
        let mut partitions: BTreeMap<String, Files<'a>> = BTreeMap::new();
        let mut files: Files<'a> = self.inventory.data_files.iter().collect();
        files.sort_by(|a, b| age(a).cmp(&age(b)));
        for file in files {
            match self.reason_to_leave(file) {
                Some(reason) => skip(skipped, &[file], &reason),
                None => partitions.entry(file.partition.key()).or_default().push(file),
            }
        }
        partitions
    }

    fn reason_to_leave(&self, file: &DataFile) -> Option<String> {
        let CompactionOptions { min_file_size_bytes: min, max_file_size_bytes: max, .. } = *self.options;
        if let Some(reason) = &file.unsupported {
            return Some(reason.clone());
        }
        if !file.matches_filter {
            return Some("the where filter excludes it".to_owned());
        }
        let wrong_size = file.size_bytes < min || file.size_bytes > max;
        if self.options.rewrite_all || wrong_size || self.over_delete_threshold(file) || self.needs_other_spec(file) {
            return None;
        }
        Some(format!(
            "its size of {} bytes is within {min} and {max}, and its deletes are below the thresholds",
            file.size_bytes
        ))
    }

    fn needs_other_spec(&self, file: &DataFile) -> bool {
        self.options.output_spec_id.is_some() && file.partition.spec_id != self.output_spec_id
    }

    fn over_delete_threshold(&self, file: &DataFile) -> bool {
        u64::from(file.deletes.files) >= self.options.delete_file_threshold
            || deleted_ratio(file) >= self.options.delete_ratio_threshold
    }

    /// Order-preserving next-fit (rule B.3).
    fn pack(&self, files: Files<'a>) -> Vec<Files<'a>> {
        let mut packs: Vec<Files<'a>> = Vec::new();
        let mut bytes = 0_u64;
        for file in files {
            let grown = bytes.saturating_add(file.size_bytes);
            match packs.last_mut() {
                Some(pack)
                    if grown <= self.options.max_file_group_size_bytes
                        && count(pack) < self.options.max_file_group_input_files =>
                {
                    pack.push(file);
                    bytes = grown;
                }
                _ => {
                    packs.push(vec![file]);
                    bytes = file.size_bytes;
                }
            }
        }
        packs
    }

    /// Why the group is worth rewriting, or why it is not (rule B.4, invariant C-8).
    fn worth(&self, files: &[&DataFile]) -> Result<String, String> {
        let gain = self.gain(files)?;
        let CompactionOptions { target_file_size_bytes: target, max_file_size_bytes: max, min_input_files, .. } =
            *self.options;
        let (n, bytes) = (count(files), size(files));
        if self.options.rewrite_all {
            return Ok(format!("rewrite-all: {gain}"));
        }
        if files.iter().any(|file| self.over_delete_threshold(file)) {
            return Ok(format!("deletes reach a threshold: {gain}"));
        }
        if files.iter().any(|file| self.needs_other_spec(file)) {
            return Ok(format!("output-spec-id {} was asked for: {gain}", self.output_spec_id));
        }
        if (n > 1 && (n >= min_input_files || bytes > target)) || bytes > max {
            return Ok(gain);
        }
        Err(format!(
            "its group has {n} candidate files of {bytes} bytes: fewer than min-input-files ({min_input_files}), and no target size in sum"
        ))
    }

    /// What a rewrite would improve. A group without a gain is refused, whatever was asked for.
    fn gain(&self, files: &[&DataFile]) -> Result<String, String> {
        let n = count(files);
        if files.iter().any(|file| file.records == 0) {
            return Ok("files without rows go away".to_owned());
        }
        if files.iter().any(|file| file.deletes.files > 0) {
            return Ok(format!("{n} files with deletes to apply"));
        }
        if files.iter().any(|file| file.partition.spec_id != self.output_spec_id) {
            return Ok(format!("{n} files move to partition spec {}", self.output_spec_id));
        }
        let expected = self.expected(files);
        if expected < n {
            return Ok(format!("{n} files become {expected}"));
        }
        // As many files again are a gain when they are of a better size; one file is not.
        if files.iter().any(|file| file.size_bytes > self.options.max_file_size_bytes) && expected > 1 {
            return Ok(format!("{n} files with oversized ones become {expected}"));
        }
        Err(format!("rewriting its group of {n} would make {expected} files again, with no deletes to apply"))
    }

    /// Whether Firn wrote the file for the same target (its name has `-firn<target>-`) and nothing has happened to it since: it
    /// is no reason for a rewrite, whatever its size.
    fn is_settled(&self, file: &DataFile) -> bool {
        let name = file.path.rsplit('/').next().unwrap_or("");
        name.contains(&format!("-firn{}-", self.options.target_file_size_bytes))
            && file.deletes.files == 0
            && file.records > 0
            && !self.needs_other_spec(file)
    }

    /// Output files by the sizes that this table's rewrites showed (rules B.5, B.6).
    fn expected(&self, files: &[&DataFile]) -> u64 {
        expected_output_files(self.expected_bytes(files), self.options)
    }

    fn expected_bytes(&self, files: &[&DataFile]) -> u64 {
        let percent = u128::from(self.inventory.observed_output_ratio.unwrap_or(100));
        u64::try_from(u128::from(size(files)) * percent / 100).unwrap_or(u64::MAX)
    }

    fn order(&self, groups: &mut [(Files<'a>, String)]) {
        match self.options.rewrite_job_order {
            JobOrder::None => {}
            JobOrder::BytesAsc => groups.sort_by_key(|(files, _)| size(files)),
            JobOrder::BytesDesc => groups.sort_by_key(|(files, _)| std::cmp::Reverse(size(files))),
            JobOrder::FilesAsc => groups.sort_by_key(|(files, _)| files.len()),
            JobOrder::FilesDesc => groups.sort_by_key(|(files, _)| std::cmp::Reverse(files.len())),
        }
    }

    /// `max-files-to-rewrite`: the first group over the limit is cut if the rest of it still pays; later ones wait.
    fn limit(&self, groups: Vec<(Files<'a>, String)>, skipped: &mut Vec<Skipped>) -> Vec<(Files<'a>, String)> {
        let Some(mut left) = self.options.max_files_to_rewrite else { return groups };
        let mut kept = Vec::new();
        for (mut files, mut reason) in groups {
            let rest = files.split_off(files.len().min(usize::try_from(left).unwrap_or(usize::MAX)));
            skip(skipped, &rest, "max-files-to-rewrite is reached");
            if !rest.is_empty() && !files.is_empty() {
                match self.worth(&files) {
                    Ok(again) => reason = again,
                    Err(why) => {
                        skip(skipped, &files, &why);
                        continue;
                    }
                }
            }
            left -= count(&files);
            if !files.is_empty() {
                kept.push((files, reason));
            }
        }
        kept
    }

    fn group(&self, files: &[&DataFile], reason: String) -> Group {
        let data_files: Vec<Arc<str>> = files.iter().map(|file| Arc::clone(&file.path)).collect();
        let base = self.inventory.snapshot_id.map_or_else(String::new, |id| id.to_string());
        let partition = files.first().map(|file| Arc::clone(&file.partition));
        Group {
            group_id: group_id(&self.inventory.table_uuid, &base, &data_files),
            partition: partition.as_ref().map(|it| it.values.clone()).unwrap_or_default(),
            spec_id: partition.as_ref().map_or(self.output_spec_id, |it| it.spec_id),
            delete_files: files.iter().map(|file| file.deletes.files).max().unwrap_or(0),
            input_bytes: size(files),
            input_records: total(files.iter().map(|file| file.records)),
            expected_output_bytes: self.expected_bytes(files),
            expected_output_files: self.expected(files),
            data_files,
            reason,
        }
    }

    fn removable_dangling(&self) -> u64 {
        if self.options.remove_dangling_deletes {
            total(self.inventory.dangling_delete_files.values().copied())
        } else {
            0
        }
    }

    fn reasons(&self, groups: &[Group], skipped: &[Skipped]) -> Vec<String> {
        let mut reasons = Vec::new();
        if self.inventory.snapshot_id.is_none() {
            reasons.push(format!("branch {} has no snapshot: the table is empty", self.inventory.branch));
        } else if groups.is_empty() {
            reasons.push(format!("no group pays: {} data files are left alone, each with its reason", skipped.len()));
        }
        let unsupported = self.inventory.data_files.iter().filter(|file| file.unsupported.is_some()).count();
        if unsupported > 0 {
            reasons.push(format!("{unsupported} data files cannot be rewritten; they stay as they are"));
        }
        for (kind, number) in &self.inventory.dangling_delete_files {
            let what = match kind {
                DeleteKind::Position => "position delete files",
                DeleteKind::Equality => "equality delete files",
                DeleteKind::DeletionVector => "deletion vectors",
            };
            if *number > 0 {
                let fate = if self.options.remove_dangling_deletes { "the commit removes them" } else { "they stay" };
                reasons.push(format!("{number} {what} apply to no live data file: {fate}"));
            }
        }
        reasons
    }
}

/// Share of the rows that file-scoped deletes take, at most 1; 1 for a file without rows.
fn deleted_ratio(file: &DataFile) -> f64 {
    if file.records == 0 {
        return 1.0;
    }
    #[allow(clippy::cast_precision_loss, reason = "a ratio against a threshold of a few digits")]
    let ratio = file.deletes.file_scoped_records as f64 / file.records as f64;
    ratio.min(1.0)
}

fn count(files: &[&DataFile]) -> u64 {
    u64::try_from(files.len()).unwrap_or(u64::MAX)
}

fn size(files: &[&DataFile]) -> u64 {
    total(files.iter().map(|file| file.size_bytes))
}

/// What files are ordered by: older rows first, then the path.
fn age(file: &DataFile) -> (i64, &str) {
    (file.data_sequence_number, &file.path)
}

fn skip(skipped: &mut Vec<Skipped>, files: &[&DataFile], reason: &str) {
    skipped.extend(files.iter().map(|file| Skipped { path: Arc::clone(&file.path), reason: reason.to_owned() }));
}
