//! Planner: one table's live files become a plan, and nothing changes.
//!
//! Trigger: `firn plan`, `firn compact`, `firn health`. Reads: the metadata and manifests of the branch head. Writes: nothing.
//! Idempotent: the same head and options give the same plan id.

use std::collections::HashSet;

use model::{CompactionOptions, Inventory, Plan, TableHealth};
use planning::{OptionError, PlanError, health, parse_options, plan};
use ports::LoadedTable;
use table_io::{DeleteIndex, Filter, LiveFiles, inventory, scan};

/// Planning failed; nothing has changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Options that cannot be used, every one of them.
    #[error("{}", join(.0))]
    Options(Vec<OptionError>),
    /// The plan cannot be made as asked.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The table's metadata cannot be read, or contradicts the Iceberg spec.
    #[error(transparent)]
    Table(#[from] table_io::Error),
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

fn join(errors: &[OptionError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

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
    let schema = table.metadata.current_schema();
    let filter = options.filter.as_deref().map(|sql| Filter::parse(sql, schema)).transpose()?;
    let head = table.metadata.snapshot_for_ref(branch).map(|it| it.snapshot_id());
    let live = scan(table, head, filter.as_ref()).await?;
    let index = DeleteIndex::new(&live.deletes)?;
    let inventory = inventory(table, branch, &live, &index)?;
    let spec_ids: Vec<i32> = table.metadata.partition_specs_iter().map(|spec| spec.spec_id()).collect();
    let mut plan = plan(&inventory, &spec_ids, options)?;
    count_delete_files(&mut plan, &live, &index);
    Ok(Planned { plan, inventory })
}

/// The distinct delete files of each group. Inventories only know how many apply to one file.
fn count_delete_files(plan: &mut Plan, live: &LiveFiles, index: &DeleteIndex) {
    let by_path: std::collections::HashMap<&str, _> = live.data.iter().map(|file| (file.path.as_ref(), file)).collect();
    for group in &mut plan.groups {
        let mut distinct = HashSet::new();
        for file in group.data_files.iter().filter_map(|path| by_path.get(path.as_ref())) {
            let deletes = index.for_data_file(file);
            let all = deletes.deletion_vector.iter().chain(&deletes.positions).chain(&deletes.equalities);
            distinct.extend(all.map(std::sync::Arc::as_ptr));
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
