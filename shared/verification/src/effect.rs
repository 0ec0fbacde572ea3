//! Whether a committed compaction did what its plan promised.
//!
//! Other writers may have committed meanwhile; what they can explain is never called broken.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use model::{DataFile, Effect, Group, GroupId, Inventory, Plan, Verdict, total};

/// Compares the table `before` and `after` the commit of `committed_groups` of `plan`. `replan_is_empty` says whether the
/// same options find no group any more. The reasons say what is off, or why something could not be judged.
#[must_use]
pub fn check_effect(
    plan: &Plan,
    before: &Inventory,
    after: &Inventory,
    committed_groups: &[GroupId],
    replan_is_empty: bool,
) -> (Effect, Vec<String>) {
    let change = Change::of(plan, before, after, committed_groups);
    let mut broken: Vec<String> = Vec::new();
    broken.extend(unknown_groups(plan, committed_groups));
    broken.extend(change.live_inputs());
    broken.extend(change.small_outputs(plan));
    let mut notes = Vec::new();
    if change.is_disturbed(plan) {
        notes.push(
            "another writer committed meanwhile: what the table holds beyond this compaction is not judged".to_owned(),
        );
    } else {
        broken.extend(dangling(plan, after));
        let whole = change.groups.len() == plan.groups.len() && plan.options.max_files_to_rewrite.is_none();
        if whole && !replan_is_empty {
            broken.push("planning again finds work: the compaction is no fixed point".to_owned());
        }
    }
    let effect = Effect {
        verdict: if broken.is_empty() { Verdict::AsPlanned } else { Verdict::Broken },
        small_files_before: small_files(plan, before.data_files.iter()),
        small_files_after: small_files(plan, after.data_files.iter()),
        delete_files_before: total(before.delete_files.values().copied()),
        delete_files_after: total(after.delete_files.values().copied()),
    };
    broken.extend(notes);
    (effect, broken)
}

/// What became of the files between two inventories.
struct Change<'a> {
    groups: Vec<&'a Group>,
    inputs: BTreeSet<&'a str>,
    before: &'a Inventory,
    after: &'a Inventory,
    /// Files of `after` that `before` has not, which the compaction wrote.
    outputs: Vec<&'a DataFile>,
    /// Whether files came or went that are not the compaction's.
    others_moved: bool,
}

impl<'a> Change<'a> {
    fn of(plan: &'a Plan, before: &'a Inventory, after: &'a Inventory, committed: &[GroupId]) -> Self {
        let groups: Vec<&Group> = plan.groups.iter().filter(|group| committed.contains(&group.group_id)).collect();
        let inputs: BTreeSet<&str> =
            groups.iter().flat_map(|group| group.data_files.iter()).map(AsRef::as_ref).collect();
        let old: BTreeSet<&str> = before.data_files.iter().map(|file| file.path.as_ref()).collect();
        let new: BTreeSet<&str> = after.data_files.iter().map(|file| file.path.as_ref()).collect();
        let arrived = after.data_files.iter().filter(|file| !old.contains(file.path.as_ref()));
        let (outputs, foreign): (Vec<_>, Vec<_>) = arrived.partition(|file| is_output(plan, file));
        let gone = old.difference(&new).any(|path| !inputs.contains(path));
        Self { groups, inputs, before, after, outputs, others_moved: gone || !foreign.is_empty() }
    }

    /// Inputs that the commit should have removed (C-2).
    fn live_inputs(&self) -> Vec<String> {
        let live = self.after.data_files.iter().filter(|file| self.inputs.contains(file.path.as_ref()));
        live.map(|file| format!("input {} is still live", file.path)).collect()
    }

    /// A complaint when the groups made no fewer small files than they took, and more than they were expected to make.
    /// Rows of another spec fan out to as many partitions as they have values for, so such groups promise nothing here.
    fn small_outputs(&self, plan: &Plan) -> Option<String> {
        if self.groups.iter().any(|group| group.spec_id != plan.output_spec_id) {
            return None;
        }
        let taken = self.before.data_files.iter().filter(|file| self.inputs.contains(file.path.as_ref()));
        let taken = small_files(plan, taken);
        let made = small_files(plan, self.outputs.iter().copied());
        let expected = self.groups.iter().fold(0_u64, |sum, group| sum.saturating_add(group.expected_output_files));
        (made > expected && made >= taken).then(|| {
            format!("the rewrite of {taken} small files made {made} small files, {expected} files were expected")
        })
    }

    /// Whether anyone else committed. A compaction makes at most one snapshot per group or batch, and adds no deletes.
    fn is_disturbed(&self, plan: &Plan) -> bool {
        let own = if plan.options.partial_progress_enabled {
            self.groups.len().min(plan.options.partial_progress_max_commits as usize).max(1)
        } else {
            1
        };
        let commits = self.after.sequence_number.saturating_sub(self.before.sequence_number);
        let deletes = |inventory: &Inventory| inventory.delete_files.values().sum::<u64>();
        self.others_moved
            || i64::try_from(own).is_ok_and(|own| commits > own)
            || deletes(self.after) > deletes(self.before)
    }
}

/// Outputs are named `<group>-<attempt>-firn<target bytes>-<number>.parquet`.
fn is_output(plan: &Plan, file: &DataFile) -> bool {
    let stamp = format!("-firn{}-", plan.options.target_file_size_bytes);
    file.path.rsplit('/').next().is_some_and(|name| name.contains(&stamp))
}

fn unknown_groups(plan: &Plan, committed: &[GroupId]) -> Vec<String> {
    let planned: BTreeSet<&GroupId> = plan.groups.iter().map(|group| &group.group_id).collect();
    committed
        .iter()
        .filter(|id| !planned.contains(id))
        .map(|id| format!("group {id} was committed and never planned"))
        .collect()
}

fn dangling(plan: &Plan, after: &Inventory) -> Option<String> {
    let left = total(after.dangling_delete_files.values().copied());
    (plan.options.remove_dangling_deletes && left > 0)
        .then(|| format!("{left} delete files apply to no live data file and should have left with the commit"))
}

/// Files below 0.75 of the target.
fn small_files<'a>(plan: &Plan, files: impl Iterator<Item = &'a DataFile>) -> u64 {
    let three_targets = u128::from(plan.options.target_file_size_bytes) * 3;
    files.filter(|file| u128::from(file.size_bytes) * 4 < three_targets).count() as u64
}
