"""Firn beside its peers on the same tables in one run: CPU seconds, wall seconds, peak memory, output bytes, and ratios.

  python3 benches/run.py                        everything (about ten minutes, 5 GB under --dir)
  python3 benches/run.py --variants base,dv --peers iceberg-compaction --repeat 3

Needs `cargo build --release -p cli` and installs the peers from requirements.txt into a virtual environment under --dir.
A figure is the run with the least CPU time of --repeat; every run starts from the untouched table. Rows are counted after each."""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PEERS = ("firn", "iceberg-compaction", "pyiceberg", "duckdb")
# Peers that cannot read a variant at all.
CANNOT = {("pyiceberg", "equality")}


def ensure_venv(folder):
    """Re-runs this script inside the virtual environment of the peers."""
    python = folder / "venv/bin/python"
    if pathlib.Path(sys.prefix) == python.parent.parent:
        return
    if not (folder / "venv/ready").exists():
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", HERE / "requirements.txt"], check=True)
        (folder / "venv/ready").touch()
    os.execv(python, [str(python), *sys.argv])


def measured(command):
    """Runs a command; returns (cpu seconds, wall seconds, peak bytes, its failure or None)."""
    done = subprocess.run([sys.executable, HERE / "measure.py", *command], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def files_of(location):
    return {str(it) for it in pathlib.Path(location).rglob("*") if it.is_file()}


def one_run(peer, root, variant, firn):
    """One compaction from the untouched table: (cpu, wall, peak, output bytes, rows, failure)."""
    import peers
    import pyarrow.parquet as pq
    import rest_catalog
    untouched, catalog, location = f"{root}/{variant}.db", f"{root}/{variant}.run.db", f"{root}/{variant}"
    before = files_of(location)
    shutil.copy(untouched, catalog)
    server, uri = rest_catalog.serve(catalog)
    try:
        if peer == "firn":
            command = [firn, "--catalog", f"sqlite://{catalog}", "--json", "compact", "db.bench"]
        else:
            command = [sys.executable, str(HERE / "peers.py"), peer, catalog, uri]
        cpu, wall, peak, failure = measured(command)
        assert failure or peer == "duckdb" or peers.metadata_location(catalog) != peers.metadata_location(untouched), "no commit"
        written = [it for it in files_of(location) - before if it.endswith(".parquet")]
        rows = sum(pq.read_metadata(it).num_rows for it in written)
        return cpu, wall, peak, sum(os.path.getsize(it) for it in written), rows, failure
    finally:
        server.shutdown()
        for path in files_of(location) - before:
            os.remove(path)
        os.remove(catalog)


def line(peer, variant, run, expected, base):
    cpu, wall, peak, size, rows, failure = run
    if failure:
        return f"{variant:<11} {peer:<19} failed: {failure}"
    ratio = f"{base / cpu:6.2f}" if base else "     –"
    wrong = "" if rows == expected else f"  WRONG: {rows:,} rows, expected {expected:,}"
    return f"{variant:<11} {peer:<19} {cpu:7.2f} {wall:7.2f} {peak / 1e6:8.0f} {size / 1e6:8.0f} {ratio}{wrong}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", type=pathlib.Path, default=pathlib.Path.home() / ".cache/firn/benches")
    parser.add_argument("--variants", default="base,position,equality,dv,files-x10,files-x100")
    parser.add_argument("--peers", default=",".join(PEERS))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="share of rows and files, for a quick look")
    parser.add_argument("--firn", default=str(HERE.parent / "target/release/firn"))
    arguments = parser.parse_args()
    folder = arguments.dir.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    ensure_venv(folder)
    import tables
    root = folder / f"tables-{arguments.scale:g}"
    root.mkdir(exist_ok=True)
    print(f"{'table':<11} {'engine':<19} {'CPU s':>7} {'wall s':>7} {'peak MB':>8} {'out MB':>8}  Firn's CPU / its CPU")
    for variant in arguments.variants.split(","):
        tables.build(str(root), variant, arguments.scale)
        expected, firn_cpu = tables.live_rows(variant, tables.total_rows(variant, arguments.scale)), None
        for peer in arguments.peers.split(","):
            if (peer, variant) in CANNOT:
                print(f"{variant:<11} {peer:<19} cannot read this table", flush=True)
                continue
            run = min((one_run(peer, root, variant, arguments.firn) for _ in range(arguments.repeat)), key=lambda it: it[0])
            firn_cpu = run[0] if peer == "firn" else firn_cpu
            print(line(peer, variant, run, expected, firn_cpu), flush=True)


if __name__ == "__main__":
    main()
