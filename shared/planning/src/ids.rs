//! Ids are hashes of what they name, so that the same decision has the same id wherever it is made.

use std::sync::Arc;

use model::{GroupId, Plan, PlanId};
use sha2::{Digest, Sha256};

/// The id that `plan` should carry: a SHA-256 over everything that decides what executing it does. A saved plan whose id differs
/// from this was changed by hand.
#[must_use]
pub fn plan_id(plan: &Plan) -> PlanId {
    let base = plan.base_snapshot_id.map_or_else(String::new, |id| id.to_string());
    let options = serde_json::to_string(&plan.options).unwrap_or_default();
    let mut parts = vec![
        plan.table_uuid.clone(),
        base,
        plan.base_sequence_number.to_string(),
        plan.branch.clone(),
        options,
        plan.strategy.clone(),
        plan.planner_version.to_string(),
        plan.output_spec_id.to_string(),
        plan.schema_id.to_string(),
        plan.dangling_delete_files.to_string(),
    ];
    for group in &plan.groups {
        let files: Vec<&str> = group.data_files.iter().map(AsRef::as_ref).collect();
        parts.push(format!("{}\n{}\n{}", group.group_id, group.expected_output_files, files.join("\n")));
    }
    PlanId(hash(parts.iter().map(String::as_str)))
}

/// The id of a group: table, base snapshot and inputs.
pub(crate) fn group_id(table_uuid: &str, base: &str, files: &[Arc<str>]) -> GroupId {
    GroupId(hash([table_uuid, base].into_iter().chain(files.iter().map(AsRef::as_ref))))
}

/// The first 128 bits of SHA-256 over length-prefixed parts, in hex.
fn hash<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_be_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
