//! Planner: one table's live files become a plan, and nothing changes.
//!
//! Trigger: `firn plan`, `firn compact`, `firn health`. Reads: the metadata and manifests of the branch head. Writes: nothing.
//! Idempotent: the same head and options give the same plan id. A plan leaves here only when the linter, which shares no code
//! with the planner, has nothing to say about it.

mod error;

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use model::{CompactionOptions, Inventory, Plan, SnapshotId, TableHealth, parse_options};
use planning::{health, plan};
use ports::LoadedTable;
use table_io::{DeleteIndex, Filter, LiveFiles, inventory, scan};

pub use error::{Error, Result};

/// A plan with what it was made from.
#[derive(Clone, Debug)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// The files it saw.
    pub inventory: Inventory,
}

/// Plans a compaction of `branch` with the options of `pairs` (rewrite rules B).
///
/// # Errors
/// Any [`Error`].
pub async fn plan_table(table: &LoadedTable, branch: &str, pairs: &[(String, String)]) -> Result<Planned> {
    let properties = table.metadata.properties().iter().map(|(key, value)| (key.clone(), value.clone())).collect();
    let options = parse_options(&properties, pairs).map_err(Error::Options)?;
    plan_with(table, branch, &options).await
}

/// Plans with options that are resolved already: those of an earlier plan.
///
/// # Errors
/// Any [`Error`].
pub async fn plan_with(table: &LoadedTable, branch: &str, options: &CompactionOptions) -> Result<Planned> {
    let head = table.metadata.snapshot_for_ref(branch).map(|it| it.snapshot_id());
    let (live, index, inventory) = look(table, branch, head, options).await?;
    let spec_ids: Vec<i32> = table.metadata.partition_specs_iter().map(|spec| spec.spec_id()).collect();
    let mut plan = plan(&inventory, &spec_ids, options)?;
    count_delete_files(&mut plan, &live, &index);
    lint(plan, inventory)
}

/// Takes up a plan that was saved earlier, after checking it against the snapshot it was made of as `table` knows it now.
///
/// # Errors
/// [`Error::Outdated`] when the table has lost what the plan rests on, [`Error::Tampered`] for a plan that is not what its
/// id says, [`Error::Lint`] for one that its own base snapshot contradicts.
pub async fn take_up(table: &LoadedTable, plan: Plan) -> Result<Planned> {
    if planning::plan_id(&plan) != plan.plan_id {
        return Err(Error::Tampered(plan.plan_id));
    }
    if let Some(reason) = outdated(table, &plan) {
        return Err(Error::Outdated(reason));
    }
    let base = plan.base_snapshot_id.map(|id| id.0);
    let (_, _, inventory) = look(table, &plan.branch, base, &plan.options).await?;
    lint(plan, inventory)
}

/// The live files of one snapshot of `branch`.
async fn look(
    table: &LoadedTable,
    branch: &str,
    snapshot_id: Option<i64>,
    options: &CompactionOptions,
) -> Result<(LiveFiles, DeleteIndex, Inventory)> {
    let schema = table.metadata.current_schema();
    let filter = options.filter.as_deref().map(|sql| Filter::parse(sql, schema)).transpose()?;
    let live = scan(table, snapshot_id, filter.as_ref()).await?;
    let index = DeleteIndex::new(&live.deletes)?;
    let mut inventory = inventory(table, branch, &live, &index)?;
    inventory.snapshot_id = snapshot_id.map(SnapshotId);
    let snapshot = snapshot_id.and_then(|id| table.metadata.snapshot_by_id(id));
    inventory.sequence_number = snapshot.map_or(0, |it| it.sequence_number());
    Ok((live, index, inventory))
}

fn lint(plan: Plan, inventory: Inventory) -> Result<Planned> {
    let findings = verification::lint_plan(&plan, Some(&inventory));
    if findings.is_empty() { Ok(Planned { plan, inventory }) } else { Err(Error::Lint(findings)) }
}

/// Why `table` is not what the saved `plan` rests on any more.
fn outdated(table: &LoadedTable, plan: &Plan) -> Option<String> {
    let metadata = &table.metadata;
    let uuid = metadata.uuid().to_string();
    let (schema_id, spec_id) = (metadata.current_schema_id(), metadata.default_partition_spec_id());
    if plan.table_uuid != uuid {
        return Some(format!(
            "the table was replaced: its uuid was {} when planned and is {uuid} now",
            plan.table_uuid
        ));
    }
    if let Some(base) = plan.base_snapshot_id {
        if metadata.snapshot_for_ref(&plan.branch).is_none() {
            return Some(format!("branch {} does not exist any more", plan.branch));
        }
        if metadata.snapshot_by_id(base.0).is_none() {
            return Some(format!("the planned snapshot {base} does not exist any more (expired)"));
        }
    }
    if plan.schema_id != schema_id {
        return Some(format!("the current schema was {} when planned and is {schema_id} now", plan.schema_id));
    }
    if plan.options.output_spec_id.is_none() && plan.output_spec_id != spec_id {
        return Some(format!(
            "the default partition spec was {} when planned and is {spec_id} now",
            plan.output_spec_id
        ));
    }
    None
}

/// The distinct delete files of each group. Inventories only know how many apply to one file.
fn count_delete_files(plan: &mut Plan, live: &LiveFiles, index: &DeleteIndex) {
    let by_path: HashMap<&str, _> = live.data.iter().map(|file| (file.path.as_ref(), file)).collect();
    for group in &mut plan.groups {
        let mut distinct = HashSet::new();
        for file in group.data_files.iter().filter_map(|path| by_path.get(path.as_ref())) {
            distinct.extend(index.for_data_file(file).all().map(Arc::as_ptr));
        }
        group.delete_files = u32::try_from(distinct.len()).unwrap_or(u32::MAX);
    }
}

/// The health of `branch`. `opt_in_property` is the table property that lets Firn work on its own.
///
/// # Errors
/// Any [`Error`].
pub async fn table_health(
    table: &LoadedTable,
    branch: &str,
    pairs: &[(String, String)],
    opt_in_property: &str,
) -> Result<TableHealth> {
    let Planned { plan, inventory } = plan_table(table, branch, pairs).await?;
    Ok(health(&inventory, &table.metadata_location, &plan.options, &plan, opt_in_property))
}
