"""Randomised differential test: a random table, compacted by Firn, must read the same by a reader that shares no code with it.

differential.py --firn BINARY [--start 0] [--seeds 50] [--seconds S] [--keep]

Each seed makes one table by random commits, then compacts it with random options, sometimes with a plan made before other
writers' commits. Rows (and row lineage) before and after are read by `oracle.py`; the metadata's claims are checked against the
files; `firn verify` and a second plan must agree. Stops after S seconds. A failure prints its seed: `--start SEED --seeds 1`."""
import argparse
import collections
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "verify"))

import oracle  # noqa: E402
from deletes import deletion_vectors, equality_deletes, position_deletes  # noqa: E402
from iceberg_meta import Table, check_table, location  # noqa: E402
from rows import compare, rows  # noqa: E402
from world import World  # noqa: E402

LINEAGE = [ROW_ID, _] = ["_row_id", "_last_updated_sequence_number"]
OPTIONS = [
    ["rewrite-all=true"], ["min-input-files=2"], [], ["delete-file-threshold=1"], ["rewrite-all=true", "target-file-size-bytes=2048"],
    ["min-input-files=2", "remove-dangling-deletes=false"], ["rewrite-all=true", "max-file-group-size-bytes=4096"],
    ["rewrite-all=true", "partial-progress.enabled=true", "partial-progress.max-commits=3"],
    ["min-input-files=2", "delete-ratio-threshold=0.1", "delete-file-threshold=2"]]


class Firn:
    def __init__(self, binary, catalog, state):
        self.command = [binary, "--json", "--catalog", f"sqlite://{catalog}"]
        self.environment = dict(os.environ, XDG_STATE_HOME=state, RUST_BACKTRACE="0")

    def run(self, *arguments):
        """(exit code, record, everything that was said)."""
        done = subprocess.run(self.command + list(arguments), capture_output=True, text=True, env=self.environment, timeout=120)
        said = f"firn {' '.join(arguments)}: exit code {done.returncode}\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
        try:
            return done.returncode, json.loads(done.stdout), said
        except ValueError:
            raise AssertionError(said) from None


def grow(world, steps):
    """Random commits; every kind of change has its turn."""
    rng = world.rng
    for _ in range(steps):
        change = rng.random()
        if change < 0.35:
            world.append()
        elif change < 0.55:
            (deletion_vectors if world.version >= 3 else position_deletes)(world)
        elif change < 0.75:
            equality_deletes(world, upsert=rng.random() < 0.4)
        elif change < 0.80:
            world.overwrite()
        elif change < 0.90:
            world.evolve_schema()
        elif change < 0.96:
            world.evolve_spec()
        else:
            world.upgrade()


def rows_of(metadata, snapshot_id=None):
    table = Table(metadata)
    has_lineage = table.json["format-version"] >= 3
    return oracle.read(table, snapshot_id=snapshot_id, lineage=has_lineage)


def same(got, want, what):
    """Asserts the same rows. Rows from before v3 have no row id yet; they get one with the next commit (spec, "Row Lineage for
    Upgraded Tables"), so what such rows had is compared without it."""
    verdict = compare(got, want)
    if verdict != "OK" and ROW_ID in want.column_names and None in want[ROW_ID]:
        plain = [n for n in want.column_names if n not in LINEAGE]
        names = plain + LINEAGE
        lost = collections.Counter({r: n for r, n in rows(want, names).items() if r[-2] != "None"}) - rows(got, names)
        verdict = "OK" if not lost and rows(got, plain) == rows(want, plain) else verdict
    assert verdict == "OK", f"{what}: {verdict}"


def check(folder, seed, binary):
    """Runs one seed; raises when something is wrong. Returns the outcome."""
    rng = random.Random(seed * 7919 + 1)
    world = World(folder, seed)
    world.append()
    grow(world, rng.randint(2, 12))
    firn = Firn(binary, world.catalog, f"{folder}/state")
    options = [part for option in rng.choice(OPTIONS) for part in ("-o", option)]
    base = world.json["current-snapshot-id"]
    arguments = options
    if rng.random() < 0.3:
        plan = f"{folder}/plan.json"
        code, _, said = firn.run("plan", "db.t", *options, "--out", plan)
        assert code == 0, said
        grow(world, rng.randint(1, 3))
        arguments = ["--plan", plan]
    known, _ = check_table(Table(world.metadata))
    assert not known, f"the writer of this test is wrong: {known[:3]}"
    before = rows_of(world.metadata)
    code, record, said = firn.run("compact", "db.t", *arguments)
    staged = arguments != options
    assert record["outcome"] in ["committed", "nothing_to_do"] + (["conflicted"] if staged else []), said
    partial = staged and record["groups"]["skipped"]  # with partial progress, some groups may conflict
    assert code == (4 if record["outcome"] == "conflicted" or partial else 0), said
    after = location(world.catalog, "t")
    if record["outcome"] != "committed":
        assert after == world.metadata, f"the table changed without a commit: {said}"
        return record["outcome"]
    check_commit(firn, world, after, before, record, said, () if staged else options, base)
    return record["outcome"]


def check_commit(firn, world, after, before, record, said, options, base):
    same(rows_of(after), before, f"rows after: {said}")
    table = Table(after)
    problems, live = check_table(table)
    assert not problems, f"{problems[:5]}\n{said}"
    head = world.json["current-snapshot-id"]
    same(rows_of(after, head), rows_of(world.metadata, head), f"the replaced snapshot: {said}")
    planned = table.snapshots[base].get("sequence-number")
    old = {e["file_path"] for e in table.live(table.snapshots[head])}
    late = [e["file_path"] for e in live if not e["content"] and e["file_path"] not in old and e["data_seq"] > planned]
    assert not late, f"data sequence number above the planned snapshot's: {late[0]}\n{said}"
    code, verdict, told = firn.run("verify", "db.t", "--from", str(head), "--to", str(record["snapshot_ids"][-1]))
    assert code == 0 and verdict["equal"], told
    if options != ():
        code, plan, told = firn.run("plan", "db.t", *options)
        assert code == 0 and plan["groups"] == [], f"planned again after the commit: {told}\n{said}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--firn", required=True)
    p.add_argument("--start", type=int, default=0)
    p.add_argument("--seeds", type=int, default=50)
    p.add_argument("--seconds", type=float, default=float("inf"))
    p.add_argument("--keep", action="store_true", help="keep the folders of failed seeds")
    a = p.parse_args()
    start, outcomes, failed = time.time(), {}, []
    for seed in range(a.start, a.start + a.seeds):
        if time.time() - start > a.seconds:
            break
        folder = tempfile.mkdtemp(prefix=f"firn-seed-{seed}-")
        try:
            outcome = check(folder, seed, a.firn)
            outcomes[outcome] = outcomes.get(outcome, 0) + 1
        except Exception as x:
            failed.append(seed)
            text = str(x) if isinstance(x, AssertionError) else traceback.format_exc()
            print(f"FAIL seed {seed}{' in ' + folder if a.keep else ''}: {text}", flush=True)
        if not (a.keep and seed in failed):
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{sum(outcomes.values())} seeds passed {outcomes}, {len(failed)} failed {failed} ({time.time() - start:.0f} s)")
    sys.exit(1 if failed or not outcomes.get("committed") else 0)


if __name__ == "__main__":
    main()
