"""Writes the fixture set `own`: tables of many shapes, by Spark and Iceberg's Java API, with the rows that Iceberg Java reads.

generate.py HOME [--tables a,b] [--out own.tar.gz]

HOME is where `setup.sh --spark` put its jars. The set is made in /tmp/firn-zoo/own, because Iceberg metadata holds absolute
paths, and packed once the verifier has found nothing wrong with the untouched tables. The shapes are in `shapes_*.py`."""
import argparse
import contextlib
import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(os.path.dirname(HERE), "verify"))

from engines import Spark, spark_session  # noqa: E402
from iceberg_meta import Table, counts, local, location  # noqa: E402
from world import World  # noqa: E402
import shapes_columns  # noqa: E402
import shapes_deletes  # noqa: E402
import shapes_layout  # noqa: E402

ROOT = "/tmp/firn-zoo/own"
SHAPES = shapes_deletes.SHAPES + shapes_columns.SHAPES + shapes_layout.SHAPES


def make(world, shapes):
    for shape in shapes:
        start = time.time()
        shape.write(world, shape.name)
        print(f"{shape.name:24} {time.time() - start:.1f} s", flush=True)


class Recorder(Spark):
    """Rows as Iceberg Java reads them, on the generator's own session."""

    def __init__(self, spark):
        self.spark, self.dir = spark, f"{ROOT}/.out"
        os.makedirs(self.dir)

    def record(self, shape, table, remembered):
        """Writes the expected rows of a table; returns what `zoo.json` says of them."""
        entry = {"name": shape.name, "reader": shape.reader}
        lineage = shape.reader == "spark" and table.json["format-version"] >= 3
        rows = remembered or self.read(entry)
        out = {"rows": rows.num_rows, "expect": self.save(rows, shape.name), "lineage": None, "refs": {}}
        if lineage:
            out["lineage"] = self.save(self.read(entry, lineage=True), f"{shape.name}.lineage")
        for ref, r in table.json.get("refs", {}).items():
            if ref != "main":
                saved = self.save(self.read(entry, ref=ref), f"{shape.name}@{ref}")
                out["refs"][ref] = {"snapshot_id": r["snapshot-id"], "expect": saved}
        return out

    def save(self, rows, name):
        import pyarrow.parquet as pq
        pq.write_table(rows, f"{ROOT}/expect/{name}.parquet", compression="zstd")
        return f"expect/{name}.parquet"


def entry(shape, world):
    """What `zoo.json` says of one table."""
    table = Table(location(f"{ROOT}/catalog.db", shape.name))
    live = table.live(table.head)
    found = {
        "name": shape.name, "note": shape.note, "rule": shape.rule, "reader": shape.reader, "non_parquet": False,
        "metadata": table.location, "snapshot_id": table.head["snapshot-id"], "table_uuid": table.json["table-uuid"],
        "sequence_number": table.head.get("sequence-number", 0), "format_version": table.json["format-version"],
        "files": counts(live), "statistics": len(table.json.get("statistics", [])),
        "min_expect": {option: {"max_data_files": data, "max_delete_files": deletes} for option, (data, deletes) in shape.reach.items()},
        "outcomes": shape.outcomes, "later": None, "engines": {},
    }
    found |= {key: getattr(shape, key) for key in ("known", "unreadable", "fault") if getattr(shape, key)}
    if found["files"] != shape.files:
        sys.exit(f"{shape.name}: {found['files']} is not what the shape is meant to be, {shape.files}")
    return found | world.reader.record(shape, table, world.remembered.get(shape.name))


def clean():
    """Leaves what a reader needs: no checksums of Hadoop, no write-ahead log beside the catalog."""
    shutil.rmtree(f"{ROOT}/.out")
    with contextlib.closing(sqlite3.connect(f"{ROOT}/catalog.db")) as c:  # which Spark's Java process still holds open
        c.execute(f"vacuum into '{ROOT}/catalog.packed'")
    os.replace(f"{ROOT}/catalog.packed", f"{ROOT}/catalog.db")
    for folder, _, files in os.walk(ROOT):
        for name in files:
            if name.endswith(".crc") or name.endswith(("-wal", "-shm")) or name == "_SUCCESS":
                os.remove(os.path.join(folder, name))


def verify():
    """Has every table checked before it becomes an expectation, and records which engines read it right."""
    command = [sys.executable, os.path.join(HERE, "..", "verify", "verify.py"), ROOT, "--engines", "pyiceberg,duckdb", "--record"]
    subprocess.run(command, check=True)


def pack(out):
    """The same tree gives the same bytes: sorted names, no owner, no times."""
    def plain(info):
        info.uid = info.gid = info.mtime = 0
        info.uname = info.gname = ""
        info.mode = 0o755 if info.isdir() else 0o644
        return info
    paths = sorted(os.path.join(folder, name) for folder, _, files in os.walk(ROOT) for name in files)
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as zipped:
        with tarfile.open(fileobj=zipped, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in paths:
                tar.add(path, os.path.relpath(path, "/tmp"), filter=plain)
    print(f"{out}: {os.path.getsize(out)} bytes, {len(paths)} files")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("home")
    p.add_argument("--tables")
    p.add_argument("--out", default=os.path.join(HERE, "..", "fixtures", "own.tar.gz"))
    a = p.parse_args()
    shutil.rmtree(ROOT, ignore_errors=True)
    os.makedirs(f"{ROOT}/expect")
    shapes = [s for s in SHAPES if not a.tables or s.name in a.tables.split(",")]
    spark = spark_session(a.home, f"{ROOT}/catalog.db", f"file:{ROOT}/warehouse")
    world = World(Recorder(spark), ROOT)
    make(world, shapes)
    zoo = {"root": ROOT, "catalog": "catalog.db", "catalog_name": "zoo", "namespace": "db", "tables": [entry(s, world) for s in shapes]}
    spark.stop()
    clean()
    with open(f"{ROOT}/zoo.json", "w") as f:
        f.write(json.dumps(zoo, indent=1, ensure_ascii=False) + "\n")
    verify()
    pack(a.out)


if __name__ == "__main__":
    main()
