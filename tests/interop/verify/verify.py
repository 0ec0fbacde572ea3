"""Verifies the tables of a fixture set: rows as other readers see them, and what the metadata claims.

verify.py SET_DIR [--tables a,b] [--catalog catalog.db] [--state 1|2] [--after OPTION] [--engines pyiceberg,duckdb] [--spark HOME] [--out result.json]

The catalog is only read. State 2 (the default for a catalog file called later.db) compares staged tables with their state-2 rows.
An engine counts only where it read the untouched table right, as zoo.json records (`--record` writes that down).
`--spark HOME` reads with Iceberg Java too; HOME is where setup.sh put its jars.
`--after rewrite-all=true` or `--after min-input-files=2` also checks what a compaction with that option must reach.
Exit code 1 when a table has a problem."""
import argparse
import json
import os
import sys
import time

import pyarrow.parquet as pq

import oracle
from engines import Engine, Spark, failure
from iceberg_meta import Table, check_table, counts, location
from rows import compare

class Oracle:
    """The reader of `oracle.py`, with the face of `Spark`."""

    def __init__(self, db):
        self.db = db

    def read(self, entry, lineage=False, ref=None):
        return oracle.read(location(self.db, entry["name"]), ref, lineage=lineage)

    def close(self):
        pass


def check_rows(entry, want, set_dir, reader, changed):
    """Comparisons by name: rows or rows with lineage, and rows of other refs."""
    out = {}
    if not want["expect"] or not changed and entry.get("unreadable") and isinstance(reader, Spark):
        return out
    expected = lambda path: pq.read_table(os.path.join(set_dir, path))
    try:
        if want["lineage"]:
            out["lineage"] = compare(reader.read(entry, lineage=True), expected(want["lineage"]))
        else:
            out["rows"] = compare(reader.read(entry), expected(want["expect"]))
        for ref, r in want["refs"].items():
            out[f"rows@{ref}"] = compare(reader.read(entry, ref=ref), expected(r["expect"]))
    except oracle.Unsupported as x:
        out["rows"] = "OK" if entry["non_parquet"] else f"ERROR {x}"
    except Exception as x:
        out["rows"] = "ERROR " + failure(x)
    return out


def check_change(entry, want, table, live):
    """Problems of what changed since the set was made."""
    problems = []
    if table.json["table-uuid"] != want["table_uuid"]:
        problems.append("the table uuid changed")
    refs = table.json.get("refs", {})
    for ref, r in want["refs"].items():
        if refs.get(ref, {}).get("snapshot-id") != r["snapshot_id"]:
            problems.append(f"ref {ref} moved or is gone")
    if len(table.json.get("statistics", [])) < want["statistics"]:
        problems.append("a statistics file was dropped from the metadata")
    changed = table.location != want["metadata"]
    if changed and not {"committed"} & set(want["outcomes"]):
        problems.append(f"the table changed, though only {want['outcomes']} is allowed")
    if changed and table.head and want["snapshot_id"] in table.snapshots:
        before = {f["file_path"] for f in table.live(table.snapshots[want["snapshot_id"]])}
        for f in live:
            if f["file_path"] not in before and not f["content"] and f["data_seq"] > entry["sequence_number"]:
                problems.append(f"{os.path.basename(f['file_path'])}: data sequence number {f['data_seq']} is above that of the planned snapshot ({entry['sequence_number']})")
        if table.head["snapshot-id"] != want["snapshot_id"] and table.head["summary"]["operation"] != "replace":
            problems.append(f"operation is {table.head['summary']['operation']}, not replace")
    return problems


def check_minimum(entry, option, n):
    m = (entry["min_expect"] or {}).get(option)
    if not m:
        return []
    problems = []
    deletes = n["position_deletes"] + n["equality_deletes"] + n["dvs"]
    if m["max_data_files"] is not None and n["data"] > m["max_data_files"]:
        problems.append(f"{n['data']} data files, at most {m['max_data_files']} expected")
    if deletes > m["max_delete_files"]:
        problems.append(f"{deletes} delete files, at most {m['max_delete_files']} expected")
    return problems


def wanted(entry, state):
    return dict(entry, **(entry["later"] if state == 2 and entry["later"] else {}))


def verify(entry, location, state, set_dir, readers, engines, after):
    want = wanted(entry, state)
    result = {"ok": True, "changed": location != want["metadata"], "problems": []}
    if not location or not want["metadata"]:
        if location != want["metadata"]:
            result["problems"].append("the table is gone" if not location else "the table came back")
        result["ok"] = not result["problems"]
        return result
    table = Table(location)
    problems, live = check_table(table)
    n = counts(live)
    result.update(operation=table.head and table.head["summary"]["operation"], files=n, format_version=table.json["format-version"])
    result["problems"] = [p for p in problems if not any(known in p for known in entry.get("known", []))] + check_change(entry, want, table, live)
    if after:
        result["problems"] += check_minimum(entry, after, n)
    for reader in readers:
        found = check_rows(entry, want, set_dir, reader, result["changed"])
        result["problems"] += [f"{type(reader).__name__}: {what}: {text}" for what, text in found.items() if text != "OK"]
    for name, engine in engines.items():
        if not want["expect"]:
            continue
        got = result[name] = engine.check(location, os.path.join(set_dir, want["expect"]))
        # An engine that cannot read equality deletes cannot judge a table to which a later writer added some.
        blind = n["equality_deletes"] and not entry["files"]["equality_deletes"] and got.startswith("unsupported")
        if got != "OK" and entry.get("engines", {}).get(name) == "OK" and not blind:
            result["problems"].append(f"{name} read the untouched table right, and this one not")
    result["ok"] = not result["problems"]
    return result


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("set_dir")
    p.add_argument("--tables")
    p.add_argument("--catalog", default="catalog.db")
    p.add_argument("--state", type=int, choices=(1, 2))
    p.add_argument("--after", choices=("rewrite-all=true", "min-input-files=2"))
    p.add_argument("--engines", default="")
    p.add_argument("--spark", metavar="HOME")
    p.add_argument("--record", action="store_true")
    p.add_argument("--out")
    return p.parse_args()


def show(name, r, engines):
    shown = [f"{k}: {v}" for k, v in r.items() if isinstance(v, str) and v != "OK" and k != "operation" or k in engines]
    more = [f"… {len(r['problems']) - 3} more"] if len(r["problems"]) > 3 else []
    print(f"{'ok  ' if r['ok'] else 'FAIL'} {name:24} {'changed ' if r['changed'] else ''}{r.get('operation')} {list(r.get('files', {}).values())} "
          + " | ".join(r["problems"][:3] + more + shown), flush=True)


def main():
    a = arguments()
    start = time.time()
    db = a.catalog if os.path.isabs(a.catalog) else os.path.join(a.set_dir, a.catalog)
    state = a.state or (2 if os.path.basename(db) == "later.db" else 1)
    with open(os.path.join(a.set_dir, "zoo.json")) as f:
        zoo = json.load(f)
    entries = [e for e in zoo["tables"] if not a.tables or e["name"] in a.tables.split(",")]
    engines = {n: Engine(n) for n in a.engines.split(",") if n}
    readers = [Oracle(db)] + ([Spark(a.spark, db)] if a.spark else [])
    results = {}
    for e in entries:
        try:
            r = verify(e, location(db, e["name"]), state, a.set_dir, readers, engines, a.after)
        except Exception as x:
            r = {"ok": False, "changed": None, "problems": [failure(x)]}
        results[e["name"]] = r
        show(e["name"], r, engines)
    for engine in [*engines.values(), *readers]:
        engine.close()
    if a.record:
        for e in entries:
            e.setdefault("engines", {}).update({n: results[e["name"]].get(n, "no expectation")[:120] for n in engines})
        with open(os.path.join(a.set_dir, "zoo.json"), "w") as f:
            f.write(json.dumps(zoo, indent=1, ensure_ascii=False) + "\n")
    failed = [n for n, r in results.items() if not r["ok"]]
    print(f"{len(results) - len(failed)} passed, {len(failed)} failed ({time.time() - start:.0f} s)")
    if a.out:
        with open(a.out, "w") as f:
            json.dump(results, f, indent=1, ensure_ascii=False)
    sys.exit(1 if failed or not results else 0)


if __name__ == "__main__":
    main()
