//! The `firn` binary on real files: killed at random moments, and out of space.
//!
//! `FIRN_KILLS=500 FIRN_KILL_SEED=7` kills more often and at other moments; a failure prints its seed.

use std::{
    collections::BTreeMap,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use simulation::{Shape, rows};

use crate::{check, firn, on_disk::OnDisk};

/// Kills of a plain run.
const KILLS: u64 = 25;
const PARTS: [&str; 4] = ["a", "b", "c", "d"];
const SHAPE: Shape = Shape { version: 2, is_partitioned: true, properties: &[] };

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Work for a job: `files` small files in every partition from id `start`, and deletes of both kinds on them.
fn add_work(table: &mut OnDisk, start: i64, files: i64) {
    for file in 0..files {
        let part = |(index, name): (i64, &&str)| {
            rows((start + 40 * file + 10 * index)..(start + 40 * file + 10 * (index + 1)), name)
        };
        let data: Vec<_> = (0..).zip(&PARTS).map(part).collect();
        assert!(table.writer.append(&data));
    }
    let newest = table.writer.data_files().pop().unwrap();
    assert!(table.writer.delete_positions(&newest, &[2, 3], false));
    assert!(table.writer.delete_keys(&[start, start + 1], "a"));
}

fn given(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

#[test]
fn a_process_killed_at_any_moment_leaves_a_readable_table_and_a_later_one_finishes() {
    let seed = given("FIRN_KILL_SEED", 1);
    let mut random = Random(seed);
    let mut table = OnDisk::new(&SHAPE);
    add_work(&mut table, 0, 7);
    let options = ["min-input-files=2", "partial-progress.enabled=true", "partial-progress.max-commits=4"];
    let started = Instant::now();
    assert_eq!(firn::run(table.compact(&options)).outcome(), "committed");
    // How long a job takes on this machine, to kill most of them while they run. Nothing depends on it but that.
    let micros = u64::try_from(started.elapsed().as_micros()).unwrap();
    table.check("before any kill");
    let (mut next, mut location) = (1_000, String::new());
    for number in 0..given("FIRN_KILLS", KILLS) {
        if table.writer.table().metadata_location != location {
            add_work(&mut table, next, 3);
            next += 1_000;
        }
        location = table.writer.table().metadata_location;
        let delay = Duration::from_micros(random.below(micros));
        let options = if random.below(2) == 0 { &options[..1] } else { &options[..] };
        kill(table.compact(options), delay);
        table.check(&format!("kill {number} of seed {seed}, after {delay:?}"));
    }
    for outcome in ["committed", "nothing_to_do"] {
        add_work_before(outcome, &mut table, next);
        let ran = firn::run(table.compact(&options));
        assert_eq!((ran.code, ran.outcome().as_str()), (0, outcome), "seed {seed}: {ran}");
        table.check(&format!("{outcome} after seed {seed}"));
    }
    let mut commits: BTreeMap<String, usize> = BTreeMap::new();
    for snapshot in table.writer.table().metadata.snapshots() {
        check::plan_id(snapshot).into_iter().for_each(|plan| *commits.entry(plan.clone()).or_default() += 1);
    }
    assert!(commits.values().all(|commits| *commits <= PARTS.len()), "seed {seed}: {commits:?} (C-5)");
}

/// A last job that commits needs something to do.
fn add_work_before(outcome: &str, table: &mut OnDisk, next: i64) {
    if outcome == "committed" {
        add_work(table, next, 2);
    }
}

fn kill(mut command: Command, delay: Duration) {
    let state = tempfile::tempdir().unwrap();
    command.env("XDG_STATE_HOME", state.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    sleep(delay);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// `command` in a process that can write no file beyond `blocks` of 512 bytes (POSIX, `ulimit -f`): to it, the disk is full.
fn limited(command: &Command, blocks: u32) -> Command {
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""));
    shell.arg(command.get_program()).args(command.get_args());
    shell
}

#[test]
fn a_full_disk_leaves_the_table_as_it_was_and_nothing_behind() {
    let mut table = OnDisk::new(&SHAPE);
    add_work(&mut table, 0, 3);
    table.check("before");
    let (files, location) = (table.files(), table.writer.table().metadata_location);
    let mut failures = Vec::new();
    // Data files, manifests, the table's metadata and the catalog itself come to their limits one after the other.
    for blocks in [1, 2, 4, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64, 128, 256] {
        let ran = firn::run(limited(&table.compact(&["min-input-files=2"]), blocks));
        let at = format!("{blocks} blocks: {ran}");
        table.check(&at);
        if ran.code == 0 {
            assert_eq!(ran.outcome(), "committed", "{at}");
            break;
        }
        assert!([4, 5].contains(&ran.code) && ran.outcome() == "failed", "{at}");
        assert_eq!(table.writer.table().metadata_location, location, "{at}");
        assert_eq!(table.files(), files, "{at}");
        failures.push(ran.stderr);
    }
    assert_ne!(table.writer.table().metadata_location, location, "no job committed: {failures:?}");
    for named in [".parquet", ".avro"] {
        assert!(
            failures.iter().any(|stderr| stderr.contains(named)),
            "nobody ran out of space at {named}: {failures:?}"
        );
    }
}
