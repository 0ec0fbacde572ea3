//! The effect of a compaction, alone and among other writers.

use model::DeleteKind;

use super::*;
use crate::samples::{after, file, inventory, plan};

fn committed() -> Vec<GroupId> {
    plan().groups.into_iter().map(|group| group.group_id).collect()
}

fn verdict(spoil: impl Fn(&mut Plan, &mut Inventory), replan_is_empty: bool) -> Verdict {
    let (mut plan, mut after) = (plan(), after());
    spoil(&mut plan, &mut after);
    check_effect(&plan, &inventory(), &after, &committed(), replan_is_empty).0.verdict
}

#[test]
fn a_compaction_that_did_its_work_is_as_planned() {
    let (effect, reasons) = check_effect(&plan(), &inventory(), &after(), &committed(), true);
    assert_eq!(effect.verdict, Verdict::AsPlanned);
    // Below 750: a1, a2, a3 before; the two outputs of 280 and 450 after.
    assert_eq!((effect.small_files_before, effect.small_files_after), (3, 2));
    assert_eq!((effect.delete_files_before, effect.delete_files_after), (1, 0));
    assert!(reasons.is_empty(), "{reasons:?}");
}

#[test]
fn an_input_that_is_still_live_is_broken_whoever_else_wrote() {
    assert_eq!(verdict(|_, after| after.data_files.push(file("a1", "1", 100)), true), Verdict::Broken);
    let disturbed = |_: &mut Plan, after: &mut Inventory| {
        after.data_files.push(file("a1", "1", 100));
        after.data_files.push(file("foreign", "1", 100));
    };
    assert_eq!(verdict(disturbed, true), Verdict::Broken);
}

#[test]
fn as_many_small_outputs_as_small_inputs_are_broken() {
    let shred = |_: &mut Plan, after: &mut Inventory| {
        after.data_files.push(file("ga-x-firn1000-00001.parquet", "1", 100));
    };
    assert_eq!(verdict(shred, true), Verdict::Broken);
    let fan_out = |plan: &mut Plan, after: &mut Inventory| {
        shred(plan, after);
        plan.groups[0].spec_id = 1;
    };
    assert_eq!(verdict(fan_out, true), Verdict::AsPlanned);
}

#[test]
fn work_that_is_found_again_is_broken() {
    assert_eq!(verdict(|_, _| (), false), Verdict::Broken);
    assert_eq!(verdict(|plan, _| plan.options.max_files_to_rewrite = Some(4), false), Verdict::AsPlanned);
    let (effect, _) = check_effect(&plan(), &inventory(), &after_of_the_first_group(), &committed()[..1], false);
    assert_eq!(effect.verdict, Verdict::AsPlanned);
}

fn after_of_the_first_group() -> Inventory {
    let mut after = after();
    after.data_files.pop();
    after.data_files.extend(inventory().data_files.into_iter().filter(|file| file.path.as_ref() == "b1"));
    after
}

#[test]
fn what_another_writer_brought_is_not_called_broken() {
    let appended = |_: &mut Plan, after: &mut Inventory| after.data_files.push(file("foreign", "1", 100));
    assert_eq!(verdict(appended, false), Verdict::AsPlanned);
    let removed = |_: &mut Plan, after: &mut Inventory| drop(after.data_files.remove(0));
    assert_eq!(verdict(removed, false), Verdict::AsPlanned);
    let deleted = |_: &mut Plan, after: &mut Inventory| after.delete_files = [(DeleteKind::Equality, 2)].into();
    assert_eq!(verdict(deleted, false), Verdict::AsPlanned);
    let moved_on = |_: &mut Plan, after: &mut Inventory| after.sequence_number = 6;
    assert_eq!(verdict(moved_on, false), Verdict::AsPlanned);
    let mut after = after();
    after.sequence_number = 6;
    let (_, reasons) = check_effect(&plan(), &inventory(), &after, &committed(), false);
    assert!(reasons[0].contains("another writer"), "{reasons:?}");
}

#[test]
fn partial_progress_makes_a_snapshot_per_batch() {
    let two = |plan: &mut Plan, after: &mut Inventory| {
        plan.options.partial_progress_enabled = true;
        after.sequence_number = 6;
    };
    assert_eq!(verdict(two, false), Verdict::Broken);
}

#[test]
fn deletes_that_apply_to_nothing_should_have_left() {
    let left = |after: &mut Inventory| after.dangling_delete_files = [(DeleteKind::Position, 1)].into();
    assert_eq!(verdict(|_, after| left(after), true), Verdict::Broken);
    let keep = |plan: &mut Plan, after: &mut Inventory| {
        plan.options.remove_dangling_deletes = false;
        left(after);
    };
    assert_eq!(verdict(keep, true), Verdict::AsPlanned);
}

#[test]
fn a_group_that_was_never_planned_is_broken() {
    let (effect, reasons) = check_effect(&plan(), &inventory(), &after(), &[GroupId("other".to_owned())], true);
    assert_eq!(effect.verdict, Verdict::Broken);
    assert!(reasons[0].contains("never planned"), "{reasons:?}");
}
