//! The tables that the scenarios start from: small, and between them every kind of file.

use simulation::{Row, Shape, World, Writer, rows};

use crate::job::table_name;

/// Commits are tried again at once.
const RETRY: &[(&str, &str)] = &[("commit.retry.min-wait-ms", "0"), ("commit.retry.max-wait-ms", "0")];

/// A table that is not compacted yet.
#[derive(Clone)]
pub(crate) struct Given {
    pub(crate) name: &'static str,
    pub(crate) world: World,
    pub(crate) writer: Writer,
    /// Options of the job.
    pub(crate) options: &'static [(&'static str, &'static str)],
}

impl Given {
    fn new(name: &'static str, version: u8, is_partitioned: bool) -> Self {
        let world = World::new();
        let shape = Shape { version, is_partitioned, properties: RETRY };
        let writer = Writer::create(&world, &table_name(), &shape, "9c12d441-03fe-4693-9a96-a0705ddf69c1");
        Self { name, world, writer, options: &[("min-input-files", "2")] }
    }

    /// The same table in a world of its own.
    pub(crate) fn copy(&self) -> Self {
        let world = self.world.copy();
        Self { writer: self.writer.moved_to(&world), world, ..self.clone() }
    }
}

/// Ten rows of `part`, ids from `start`.
fn ten(start: i64, part: &str) -> Vec<Row> {
    rows(start..start + 10, part)
}

/// Three appends, no deletes.
pub(crate) fn v1_plain() -> Given {
    let mut given = Given::new("v1_plain", 1, false);
    for start in [0, 10, 20] {
        given.writer.append(&[ten(start, "a")]);
    }
    given
}

/// Position deletes of both kinds, and equality deletes on what came before them but not after.
pub(crate) fn v2_plain() -> Given {
    let mut given = Given::new("v2_plain", 2, false);
    given.writer.append(&[ten(0, "a")]);
    given.writer.append(&[ten(10, "a"), ten(20, "a")]);
    let files = given.writer.data_files();
    given.writer.delete_positions(&files[0], &[1, 3], true);
    given.writer.delete_positions(&files[1], &[0], false);
    given.writer.delete_keys(&[5, 25, 31], "a");
    given.writer.append(&[ten(30, "a")]);
    given
}

/// Two partitions with deletes in one of them.
pub(crate) fn v2_partitioned() -> Given {
    let mut given = Given::new("v2_partitioned", 2, true);
    given.writer.append(&[ten(0, "a"), ten(10, "b")]);
    given.writer.append(&[ten(20, "a"), ten(30, "b")]);
    let files = given.writer.data_files();
    given.writer.delete_positions(&files[0], &[2], false);
    // Of partition a only: row 11 stays.
    given.writer.delete_keys(&[1, 11], "a");
    given
}

/// Deletion vectors, one of them the second of its file, equality deletes and row lineage.
pub(crate) fn v3_vectors() -> Given {
    let mut given = Given::new("v3_vectors", 3, true);
    given.writer.append(&[ten(0, "a"), ten(10, "b")]);
    given.writer.append(&[ten(20, "a"), ten(30, "b")]);
    let files = given.writer.data_files();
    given.writer.delete_vector(&files[0], &[0, 9]);
    given.writer.delete_vector(&files[0], &[4]);
    given.writer.delete_vector(&files[3], &[5]);
    given.writer.delete_keys(&[12, 22], "b");
    given
}

/// Nothing to rewrite; an equality delete that no file is old enough for.
pub(crate) fn v2_dangling() -> Given {
    let mut given = Given::new("v2_dangling", 2, false);
    given.writer.append(&[ten(0, "a")]);
    let files = given.writer.data_files();
    given.writer.delete_keys(&[3], "a");
    given.writer.overwrite(&files[0], &ten(50, "a"));
    given
}

/// Files of an unpartitioned spec in a table that is partitioned now.
pub(crate) fn v2_other_spec() -> Given {
    let mut given = Given::new("v2_other_spec", 2, false);
    let mixed = [rows(0..5, "a"), rows(5..10, "b")].concat();
    given.writer.append(&[mixed]);
    given.writer.append(&[ten(20, "b")]);
    given.writer.delete_keys(&[3, 21], "a");
    given.writer.change_spec(true);
    given.writer.append(&[ten(30, "a")]);
    given
}

/// A commit for each of two groups.
pub(crate) fn v2_two_commits() -> Given {
    let options =
        &[("min-input-files", "2"), ("partial-progress.enabled", "true"), ("partial-progress.max-commits", "2")];
    Given { name: "v2_two_commits", options, ..v2_partitioned() }
}

/// Every shape.
pub(crate) fn all() -> Vec<Given> {
    vec![v1_plain(), v2_plain(), v2_partitioned(), v3_vectors(), v2_dangling(), v2_other_spec(), v2_two_commits()]
}
