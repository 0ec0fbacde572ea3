//! `firn verify`: whether two snapshots hold the same rows.

use std::collections::BTreeSet;

use ports::LoadedTable;
use rewrite_engine::{Control, Digest, digest};
use rewriter::Source;
use serde_json::{Value, json};

use crate::{
    failure::{Failure, UNFINISHED},
    render,
    session::Session,
};

/// Whether two snapshots hold the same rows.
pub(crate) struct Comparison {
    /// Rows of the second.
    pub(crate) rows: u64,
    /// Digest of the second's rows, in whatever order.
    pub(crate) digest: String,
    /// Partitions whose rows differ; empty when all are equal.
    pub(crate) differences: Vec<Value>,
}

/// Compares snapshots `from` and `to` of `table`. Row lineage is part of the rows when both snapshots have it.
pub(crate) async fn verify(session: &Session, table: &str, from: i64, to: i64) -> Result<u8, Failure> {
    let table = session.table(table).await?;
    let Comparison { rows, digest, differences } = compare(&table, from, to).await?;
    let equal = differences.is_empty();
    if session.json {
        render::json(&json!({"equal": equal, "rows": rows, "digest": digest, "differences": differences}))?;
    } else {
        differences.iter().try_for_each(|it| render::line(format_args!("  {it}")))?;
        let verdict = if equal { "the same rows" } else { "different rows" };
        render::line(format_args!(
            "Snapshots {from} and {to} hold {verdict} ({rows} in the second, digest {digest})."
        ))?;
    }
    Ok(if equal { 0 } else { UNFINISHED })
}

pub(crate) async fn compare(table: &LoadedTable, from: i64, to: i64) -> Result<Comparison, Failure> {
    let with_lineage = has_lineage(table, from)? && has_lineage(table, to)?;
    let before = digest_of(table, from, with_lineage).await?;
    let after = digest_of(table, to, with_lineage).await?;
    let differences = differences(&before, &after);
    let rows: u64 = after.partitions.values().map(|it| it.rows).sum();
    let sum = after.partitions.values().fold(0_u128, |sum, it| sum.wrapping_add(it.sum));
    Ok(Comparison { rows, digest: format!("{sum:032x}"), differences })
}

fn has_lineage(table: &LoadedTable, snapshot_id: i64) -> Result<bool, Failure> {
    let snapshot = table.metadata.snapshot_by_id(snapshot_id);
    let snapshot = snapshot.ok_or_else(|| {
        Failure::usage(format!("table {} has no snapshot {snapshot_id} (expired, or never existed)", table.name))
    })?;
    Ok(snapshot.first_row_id().is_some())
}

async fn digest_of(table: &LoadedTable, snapshot_id: i64, with_lineage: bool) -> Result<Digest, Failure> {
    let source = Source::open(table, snapshot_id).await?;
    let work = move || digest(source.table(), &source.inputs(), with_lineage, &Control::default());
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => Ok(result?),
        Err(error) => Err(Failure::bug(&error)),
    }
}

fn differences(before: &Digest, after: &Digest) -> Vec<Value> {
    let keys: BTreeSet<&String> = before.partitions.keys().chain(after.partitions.keys()).collect();
    let of = |digest: &Digest, key: &String| digest.partitions.get(key).map_or((0, 0), |it| (it.rows, it.sum));
    let describe = |key: &String| {
        let side = |digest: &Digest| {
            let (rows, sum) = of(digest, key);
            json!({"rows": rows, "digest": format!("{sum:032x}")})
        };
        let partition = before.partitions.get(key).or_else(|| after.partitions.get(key)).map(|it| &it.partition.values);
        json!({"partition": partition, "from": side(before), "to": side(after)})
    };
    keys.into_iter().filter(|key| of(before, key) != of(after, key)).map(describe).collect()
}
