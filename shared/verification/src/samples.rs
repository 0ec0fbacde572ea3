//! A valid plan to spoil: two groups of two partitions and one file left alone.

use std::{collections::BTreeMap, sync::Arc};

use model::{
    CompactionOptions, DataFile, DeletesOnFile, FileFormat, Group, GroupId, Inventory, JobOrder, PLANNER_VERSION,
    Partition, Plan, PlanId, Skipped, SnapshotId, Strategy, TableName,
};

use crate::preflight::{GroupResult, OutputFile};

pub(crate) fn options() -> CompactionOptions {
    CompactionOptions {
        target_file_size_bytes: 1_000,
        min_file_size_bytes: 750,
        max_file_size_bytes: 1_800,
        min_input_files: 2,
        delete_file_threshold: 100,
        delete_ratio_threshold: 0.3,
        rewrite_all: false,
        max_file_group_size_bytes: 10_000,
        max_file_group_input_files: 10,
        max_files_to_rewrite: None,
        rewrite_job_order: JobOrder::None,
        output_spec_id: None,
        remove_dangling_deletes: true,
        partial_progress_enabled: false,
        partial_progress_max_commits: 10,
        partial_progress_max_failed_commits: 10,
        use_starting_sequence_number: true,
        max_concurrent_file_group_rewrites: 1,
        strategy: Strategy::Binpack,
        filter: None,
    }
}

fn values(day: &str) -> BTreeMap<String, serde_json::Value> {
    BTreeMap::from([("day".to_owned(), serde_json::Value::from(day))])
}

pub(crate) fn file(path: &str, day: &str, size_bytes: u64) -> DataFile {
    DataFile {
        path: path.into(),
        format: FileFormat::Parquet,
        partition: Arc::new(Partition { spec_id: 0, values: values(day) }),
        size_bytes,
        records: 10,
        data_sequence_number: 3,
        deletes: DeletesOnFile::default(),
        matches_filter: true,
        unsupported: None,
    }
}

/// Files a1, a2, a3 of day 1, b1 of day 2 with deletes, c1 of day 3.
pub(crate) fn inventory() -> Inventory {
    let mut data_files: Vec<DataFile> = ["a1", "a2", "a3"].iter().map(|path| file(path, "1", 100)).collect();
    let deletes = DeletesOnFile { files: 1, file_scoped_records: 5, bytes: 50 };
    data_files.push(DataFile { deletes, ..file("b1", "2", 900) });
    data_files.push(file("c1", "3", 1_000));
    Inventory {
        table: TableName { namespace: "sales".to_owned(), name: "orders".to_owned() },
        table_uuid: "uuid".to_owned(),
        branch: "main".to_owned(),
        snapshot_id: Some(SnapshotId(40)),
        sequence_number: 4,
        format_version: 2,
        schema_id: 0,
        default_spec_id: 0,
        properties: BTreeMap::new(),
        data_files,
        delete_files: BTreeMap::from([(model::DeleteKind::Position, 1)]),
        dangling_delete_files: BTreeMap::new(),
        observed_output_ratio: None,
    }
}

fn group(id: &str, day: &str, data_files: &[&str], delete_files: u32, input_bytes: u64) -> Group {
    Group {
        group_id: GroupId(id.to_owned()),
        partition: values(day),
        spec_id: 0,
        data_files: data_files.iter().map(|path| Arc::from(*path)).collect(),
        delete_files,
        input_bytes,
        input_records: data_files.len() as u64 * 10,
        expected_output_bytes: 0,
        expected_output_files: 1,
        reason: "a reason".to_owned(),
    }
}

pub(crate) fn plan() -> Plan {
    Plan {
        plan_id: PlanId("p".to_owned()),
        table: inventory().table,
        table_uuid: "uuid".to_owned(),
        base_snapshot_id: Some(SnapshotId(40)),
        base_sequence_number: 4,
        branch: "main".to_owned(),
        strategy: "binpack".to_owned(),
        output_spec_id: 0,
        schema_id: 0,
        planner_version: PLANNER_VERSION,
        options: options(),
        groups: vec![group("ga", "1", &["a1", "a2", "a3"], 0, 300), group("gb", "2", &["b1"], 1, 900)],
        skipped: vec![Skipped { path: "c1".into(), reason: "of a good size".to_owned() }],
        reasons: Vec::new(),
        dangling_delete_files: 0,
    }
}

pub(crate) fn output(path: &str, size_bytes: u64, records: u64) -> OutputFile {
    OutputFile { path: path.to_owned(), size_bytes, records, spec_id: 0 }
}

pub(crate) fn results() -> Vec<GroupResult> {
    let result = |id: &str, output, read, deleted| GroupResult {
        group_id: GroupId(id.to_owned()),
        outputs: vec![output],
        records_read: read,
        records_deleted: deleted,
        records_written: read - deleted,
    };
    vec![
        result("ga", output("ga-x-firn1000-00000.parquet", 280, 30), 30, 0),
        result("gb", output("gb-x-firn1000-00000.parquet", 450, 5), 10, 5),
    ]
}

/// The inventory after a commit of both groups.
pub(crate) fn after() -> Inventory {
    let mut after = inventory();
    after.data_files = vec![
        file("c1", "3", 1_000),
        file("ga-x-firn1000-00000.parquet", "1", 280),
        file("gb-x-firn1000-00000.parquet", "2", 450),
    ];
    after.sequence_number = 5;
    after.snapshot_id = Some(SnapshotId(50));
    after.delete_files = BTreeMap::new();
    after
}
