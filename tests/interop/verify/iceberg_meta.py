"""Reads Iceberg metadata straight from its JSON and Avro files, and checks what it claims against the Parquet files.

Shares no code with an Iceberg engine, apart from PyIceberg's partition transforms."""
import contextlib
import datetime
import decimal
import gzip
import json
import math
import os
import sqlite3
import struct
import uuid

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

EPOCH = datetime.datetime(1970, 1, 1)
CONTENT = {0: "data", 1: "position_deletes", 2: "equality_deletes"}


def local(location):
    """The file that a location names: /p, file:/p and file:///p are the same."""
    if location.startswith("file:"):
        return "/" + location[5:].lstrip("/")
    assert location.startswith("/"), location
    return location


def location(db, name):
    """The metadata location of table db.`name` in a SQLite catalog, which is only read."""
    with contextlib.closing(sqlite3.connect(f"file:{db}?mode=ro", uri=True)) as c:
        row = c.execute("select metadata_location from iceberg_tables where table_namespace='db' and table_name=?", (name,)).fetchone()
    return row and row[0]


def avro(path):
    with open(local(path), "rb") as f:
        reader = fastavro.reader(f)
        return reader.writer_schema, list(reader)


class Table:
    """One table at one metadata file. Manifests are read once."""

    def __init__(self, location):
        self.location = location
        raw = open(local(location), "rb").read()
        self.json = json.loads(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw)
        self.snapshots = {s["snapshot-id"]: s for s in self.json.get("snapshots", [])}
        self.specs = {s["spec-id"]: s["fields"] for s in self.json["partition-specs"]}
        self.schemas = {s["schema-id"]: s for s in self.json["schemas"]}
        self.schema = self.schemas[self.json["current-schema-id"]]
        self.fields = {}  # id -> (type name, field): the newest schema wins, dropped columns stay known
        for s in sorted(self.schemas.values(), key=lambda s: (s is self.schema, s["schema-id"])):
            self._walk(s)
        self._manifests = {}

    def _walk(self, t):
        if isinstance(t, str):
            return
        if t["type"] == "struct":
            for f in t["fields"]:
                self.fields[f["id"]] = f
                self._walk(f["type"])
        elif t["type"] == "list":
            self.fields[t["element-id"]] = {"id": t["element-id"], "type": t["element"]}
            self._walk(t["element"])
        elif t["type"] == "map":
            for part in ("key", "value"):
                self.fields[t[part + "-id"]] = {"id": t[part + "-id"], "type": t[part]}
                self._walk(t[part])

    @property
    def head(self):
        current = self.json.get("current-snapshot-id")
        return None if current in (None, -1) else self.snapshots[current]

    def manifests(self, snapshot):
        return avro(snapshot["manifest-list"])[1] if snapshot else []

    def entries(self, manifest):
        """All entries of a manifest with sequence numbers and first row ids inherited."""
        path = manifest["manifest_path"]
        if path not in self._manifests:
            schema, rows = avro(path)
            data_file = next(f["type"] for f in schema["fields"] if f["name"] == "data_file")
            part = next(f["type"] for f in data_file["fields"] if f["name"] == "partition")
            ids = [f["field-id"] for f in part["fields"]]
            next_row = manifest.get("first_row_id")
            out = []
            for e in rows:
                f = dict(e["data_file"], status=e["status"], snapshot_id=e["snapshot_id"] or manifest["added_snapshot_id"], spec_id=manifest["partition_spec_id"])
                seq = manifest.get("sequence_number") or 0
                f["data_seq"] = e.get("sequence_number") if e.get("sequence_number") is not None else (seq if e["status"] == 1 else 0)
                f["file_seq"] = e.get("file_sequence_number") if e.get("file_sequence_number") is not None else (seq if e["status"] == 1 else 0)
                f["content"] = f.get("content") or 0
                f["partition"] = dict(zip(ids, f["partition"].values()))
                for m in ("value_counts", "null_value_counts", "nan_value_counts", "lower_bounds", "upper_bounds"):
                    f[m] = {kv["key"]: kv["value"] for kv in f.get(m) or []}
                if f["content"] == 0 and e["status"] != 2 and f.get("first_row_id") is None and next_row is not None:
                    f["first_row_id"], next_row = next_row, next_row + f["record_count"]
                out.append(f)
            self._manifests[path] = out
        return self._manifests[path]

    def live(self, snapshot):
        return [f for m in self.manifests(snapshot) for f in self.entries(m) if f["status"] != 2]


def kind(f):
    return "dvs" if f["content"] == 1 and f["file_format"].upper() == "PUFFIN" else CONTENT[f["content"]]


def counts(files):
    n = dict(data=0, position_deletes=0, equality_deletes=0, dvs=0)
    for f in files:
        n[kind(f)] += 1
    return n


# ---- values ----

def internal(value):
    """A Python value as the integer (days, microseconds), bytes or number that Iceberg compares."""
    if isinstance(value, datetime.datetime):
        d = value.replace(tzinfo=None) - EPOCH
        return (d.days * 86400 + d.seconds) * 1000000 + d.microseconds
    if isinstance(value, datetime.date):
        return (value - EPOCH.date()).days
    if isinstance(value, datetime.time):
        return ((value.hour * 60 + value.minute) * 60 + value.second) * 1000000 + value.microsecond
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, str):
        return value.encode()
    return value


def order(v):
    """Sort key: IEEE total order for floats, bytes and numbers as they are."""
    if isinstance(v, float):
        bits = struct.unpack(">q", struct.pack(">d", v))[0]
        return bits if bits >= 0 else -(bits & 0x7FFFFFFFFFFFFFFF) - 1
    return v


def decode(type_name, raw):
    """A bound's value in `internal` form; the length decides where a type was widened."""
    if type_name == "boolean":
        return raw != b"\x00"
    if type_name in ("int", "long", "date", "time", "timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"):
        assert len(raw) in (4, 8), f"bound of {len(raw)} bytes for {type_name}"
        return int.from_bytes(raw, "little", signed=True)
    if type_name in ("float", "double"):
        return struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
    if type_name.startswith("decimal"):
        return int.from_bytes(raw, "big", signed=True)
    return raw


def leaves(table, ids):
    """field id -> (values in `internal` form, repeated?) of a pyarrow table; `ids(path, field)` names a field."""
    out = {}

    def visit(field, array, path, repeated):
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
        if isinstance(array.type, pa.BaseExtensionType):
            array = array.storage
        t = array.type
        if pa.types.is_struct(t):
            for i, child in enumerate(array.flatten()):
                visit(t.field(i), child, path + (t.field(i).name,), repeated)
        elif pa.types.is_map(t):
            visit(t.key_field, array.keys, path + ("key",), True)
            visit(t.item_field, array.items, path + ("value",), True)
        elif pa.types.is_list(t) or pa.types.is_large_list(t):
            visit(t.value_field, array.flatten(), path + ("element",), True)
        else:
            fid = ids(path, field)
            if fid is None:
                return
            scale = t.scale if pa.types.is_decimal(t) else None
            nanos = pa.types.is_timestamp(t) and t.unit == "ns"
            if pa.types.is_date(t):
                array = array.cast(pa.int32())
            elif pa.types.is_timestamp(t) or pa.types.is_time(t):
                unit = {"s": 1000000, "ms": 1000, "us": 1, "ns": 1}[t.unit]
                array = array.cast(pa.int32() if t.bit_width == 32 else pa.int64())
                array = pa.array([None if v is None else v * unit for v in array.to_pylist()], pa.int64())
            values = array.to_pylist()
            if scale is not None:
                values = [None if v is None else int(v.scaleb(scale, decimal.Context(prec=60))) for v in values]
            values = [internal(v) for v in values]
            out[fid] = (values, repeated, nanos)

    for i, field in enumerate(table.schema):
        visit(field, table.column(i), (field.name,), False)
    return out


def field_ids(table, arrow_schema):
    """How a file's columns get ids: its own, else the table's name mapping."""
    own = any(f.metadata and b"PARQUET:field_id" in f.metadata for f in arrow_schema)
    if own:
        return lambda path, field: int(field.metadata[b"PARQUET:field_id"]) if field.metadata and b"PARQUET:field_id" in field.metadata else None
    mapping = {}

    def walk(fields, prefix):
        for f in fields:
            for n in f["names"]:
                mapping[prefix + (n,)] = f.get("field-id")
                walk(f.get("fields", []), prefix + (n,))
    walk(json.loads(table.json["properties"].get("schema.name-mapping.default", "[]")), ())
    return lambda path, field: mapping.get(path)


def wrapped(value, type_name):
    """`value` as Java's integers have it: truncating the smallest ones wraps around."""
    bits = {"int": 32, "long": 64}.get(type_name)
    return value if bits is None or value is None else (value + 2 ** (bits - 1)) % 2 ** bits - 2 ** (bits - 1)


def transform(name, type_name):
    f = parse_transform(name).transform(NestedField(field_id=1, name="x", type=type_name, required=False).field_type)

    def apply(v):
        if type_name == "string" and isinstance(v, bytes):
            v = v.decode()
        elif type_name.startswith("decimal") and v is not None:
            v = decimal.Decimal(v).scaleb(-int(type_name.split(",")[1].strip(" )")), decimal.Context(prec=60))
        r = wrapped(f(v), type_name)
        return int(r.scaleb(int(type_name.split(",")[1].strip(" )")))) if isinstance(r, decimal.Decimal) else internal(r)
    return apply


# ---- checks ----

def check_data_file(table, f):
    """Problems of one live Parquet data file: size, rows, counts, bounds, partition value, split offsets, order."""
    path = local(f["file_path"])
    parquet = pq.ParquetFile(path, arrow_extensions_enabled=False)
    problems = []
    if os.path.getsize(path) != f["file_size_in_bytes"]:
        problems.append(f"file_size_in_bytes {f['file_size_in_bytes']} but {os.path.getsize(path)} on disk")
    if parquet.metadata.num_rows != f["record_count"]:
        problems.append(f"record_count {f['record_count']} but {parquet.metadata.num_rows} in the footer")
    starts = set()
    for i in range(parquet.metadata.num_row_groups):
        c = parquet.metadata.row_group(i).column(0)
        starts.add(c.dictionary_page_offset if c.has_dictionary_page and c.dictionary_page_offset else c.data_page_offset)
    if f.get("split_offsets") and not set(f["split_offsets"]) <= starts:
        problems.append(f"split_offsets {f['split_offsets'][:4]} are not row groups")
    data = parquet.read()
    columns = leaves(data, field_ids(table, parquet.schema_arrow))
    top = {c["id"] for s in table.schemas.values() for c in s["fields"]}
    for fid, (values, repeated, nanos) in columns.items():
        if fid not in table.fields or not isinstance(table.fields[fid]["type"], str):
            continue
        name, type_name = table.fields[fid].get("name", fid), table.fields[fid]["type"]
        unit = 1000 if nanos and not type_name.endswith("_ns") else 1
        seen = [v // unit if unit > 1 else v for v in values if v is not None]
        nans = sum(1 for v in seen if isinstance(v, float) and math.isnan(v))
        seen = [v for v in seen if not (isinstance(v, float) and math.isnan(v))]
        nulls = sum(v is None for v in values)
        if fid in top and not repeated:
            claims = [("value_counts", len(values)), ("null_value_counts", nulls), ("nan_value_counts", nans)]
        else:  # Java leaves rows with a null parent out of nested float counts
            claims = [] if repeated else [("nan_value_counts", nans)]
            if not repeated and fid in f["value_counts"] and f["value_counts"][fid] - f["null_value_counts"][fid] != len(values) - nulls:
                problems.append(f"value_counts[{name}] - null_value_counts[{name}] is not {len(values) - nulls}")
        problems += [f"{what}[{name}] is {f[what][fid]}, the file has {want}" for what, want in claims if fid in f[what] and f[what][fid] != want]
        for what, pick in (("lower_bounds", min), ("upper_bounds", max)):
            if fid not in f[what]:
                continue
            bound = decode(type_name, f[what][fid])
            if isinstance(bound, float) and math.isnan(bound):
                problems.append(f"{what}[{name}] is NaN")
            elif type_name == "string" and not valid_utf8(bound):
                problems.append(f"{what}[{name}] is cut inside a character")
            elif seen:
                actual = pick(seen, key=order)
                if (order(actual) < order(bound)) if pick is min else (order(actual) > order(bound)):
                    problems.append(f"{what}[{name}] {bound!r} does not cover {actual!r}")
    for pf in table.specs[f["spec_id"]]:
        source = table.fields.get(pf["source-id"])
        if pf["transform"] == "void" or source is None or pf["field-id"] not in f["partition"]:
            continue
        values, _, nanos = columns.get(pf["source-id"], (None, False, False))
        if values is None:
            if pf["transform"] == "identity":
                continue  # the manifest's constant stands for the column
            values = [None]
        apply = transform(pf["transform"], source["type"])
        want = internal(f["partition"][pf["field-id"]])
        if source["type"].startswith("decimal") and isinstance(want, decimal.Decimal):
            want = int(want.scaleb(int(source["type"].split(",")[1].strip(" )"))))
        if source["type"] in ("float", "double"):
            bad = [v for v in values if not (v == want or (v is not None and want is not None and math.isnan(v) and math.isnan(want)))]
        else:
            bad = [v for v in set(values) if apply(v // 1000 if nanos and v is not None and not source["type"].endswith("_ns") else v) != want]
        if bad and f["record_count"]:
            problems.append(f"partition {pf['name']}={want!r} but the file holds {bad[0]!r}")
    if f.get("sort_order_id"):
        problems += check_order(table, f, columns)
    return problems


def valid_utf8(raw):
    try:
        raw.decode()
        return True
    except UnicodeDecodeError:
        return False


def check_order(table, f, columns):
    fields = next((o["fields"] for o in table.json["sort-orders"] if o["order-id"] == f["sort_order_id"]), None)
    if fields is None:
        return [f"sort_order_id {f['sort_order_id']} is unknown"]
    keys = []
    for s in fields:
        if s["source-id"] not in columns:
            return []
        apply = transform(s["transform"], table.fields[s["source-id"]]["type"])
        keys.append([apply(v) for v in columns[s["source-id"]][0]])

    def compare(a, b):
        for s, column in zip(fields, keys):
            x, y = column[a], column[b]
            if x is None or y is None:
                if x is not y:
                    return -1 if (x is None) == (s["null-order"] == "nulls-first") else 1
            elif order(x) != order(y):
                return (-1 if order(x) < order(y) else 1) * (1 if s["direction"] == "asc" else -1)
        return 0
    if any(compare(i, i + 1) > 0 for i in range(f["record_count"] - 1)):
        return [f"sort_order_id {f['sort_order_id']} is claimed but the rows do not follow it"]
    return []


def check_delete_file(f):
    path = local(f["file_path"])
    if f["file_format"].upper() == "PARQUET":
        rows = pq.ParquetFile(path).metadata.num_rows
        if rows != f["record_count"]:
            return [f"record_count {f['record_count']} but {rows} in the footer"]
    return []


def check_snapshot(table, snapshot):
    """Problems of the manifest list, manifests and summary of one snapshot."""
    problems, live, seen = [], [], set()
    for m in table.manifests(snapshot):
        name = os.path.basename(m["manifest_path"])
        if os.path.getsize(local(m["manifest_path"])) != m["manifest_length"]:
            problems.append(f"{name}: manifest_length is wrong")
        entries = table.entries(m)
        contents = {min(e["content"], 1) for e in entries}
        if contents - {m.get("content", 0)}:
            problems.append(f"{name}: entries of another content than the manifest's")
        for status, key in ((1, "added"), (0, "existing"), (2, "deleted")):
            claimed = m.get(f"{key}_files_count", m.get(f"{key}_data_files_count"))
            if claimed is not None and claimed != sum(e["status"] == status for e in entries):
                problems.append(f"{name}: {key}_files_count is wrong")
            claimed = m.get(f"{key}_rows_count")
            if claimed is not None and claimed != sum(e["record_count"] for e in entries if e["status"] == status):
                problems.append(f"{name}: {key}_rows_count is wrong")
        here = [e for e in entries if e["status"] != 2]
        live += here
        if here and m.get("min_sequence_number") is not None and m["min_sequence_number"] > min(e["data_seq"] for e in here):
            problems.append(f"{name}: min_sequence_number is above an entry's")
        problems += [f"{name}: {p}" for p in check_summaries(table, m, entries)]
    top = snapshot.get("sequence-number", 0)
    for f in live:
        ident = (f["file_path"], f.get("content_offset"))
        if ident in seen:
            problems.append(f"listed twice: {os.path.basename(f['file_path'])}")
        seen.add(ident)
        if not 0 <= f["data_seq"] <= f["file_seq"] <= top <= table.json.get("last-sequence-number", 0):
            problems.append(f"sequence numbers {f['data_seq']} <= {f['file_seq']} <= {top} do not hold: {os.path.basename(f['file_path'])}")
        if not os.path.exists(local(f["file_path"])):
            problems.append(f"missing file {f['file_path']}")
    n = counts(live)
    for key, want in (("total-data-files", n["data"]), ("total-delete-files", len(live) - n["data"]), ("total-records", sum(f["record_count"] for f in live if not f["content"])),
                      ("total-position-deletes", sum(f["record_count"] for f in live if f["content"] == 1)), ("total-equality-deletes", sum(f["record_count"] for f in live if f["content"] == 2)),
                      ("total-files-size", sum(f.get("content_size_in_bytes") or f["file_size_in_bytes"] for f in live))):
        if key in snapshot["summary"] and int(snapshot["summary"][key]) != want:
            problems.append(f"summary {key} is {snapshot['summary'][key]}, the manifests say {want}")
    return problems, live


def check_summaries(table, manifest, entries):
    spec = table.specs[manifest["partition_spec_id"]]
    problems = []
    if manifest.get("partitions") is None or not entries:
        return problems
    if len(manifest["partitions"]) != len(spec):
        return [f"{len(manifest['partitions'])} partition summaries for {len(spec)} fields"]
    for pf, s in zip(spec, manifest["partitions"]):
        values = [internal(e["partition"].get(pf["field-id"])) for e in entries]
        if s["contains_null"] != any(v is None for v in values):
            problems.append(f"summary of {pf['name']}: contains_null is wrong")
        values = [v for v in values if v is not None and not (isinstance(v, float) and math.isnan(v))]
        source = table.fields.get(pf["source-id"])
        if not values or source is None or isinstance(values[0], decimal.Decimal):
            continue
        t = pf["transform"]
        type_name = source["type"] if t == "identity" or t.startswith("truncate") else "int"
        for key, pick in (("lower_bound", min), ("upper_bound", max)):
            if s.get(key) is not None and order(decode(type_name, s[key])) != order(pick(values, key=order)):
                problems.append(f"summary of {pf['name']}: {key} is not exact")
    return problems


def check_table(table):
    """All problems of the current state, and of the files that retained snapshots need. Returns (problems, live files)."""
    problems, live = [], []
    if table.head:
        problems, live = check_snapshot(table, table.head)
    for f in live:
        if not os.path.exists(local(f["file_path"])):
            continue
        name = os.path.basename(f["file_path"])
        if f["content"]:
            problems += [f"{name}: {p}" for p in check_delete_file(f)]
        elif f["file_format"].upper() == "PARQUET":
            problems += [f"{name}: {p}" for p in check_data_file(table, f)]
    data = {f["file_path"] for f in live if not f["content"]}
    vectors = [f["referenced_data_file"] for f in live if kind(f) == "dvs"]
    problems += [f"{vectors.count(v)} deletion vectors for {os.path.basename(v)}" for v in sorted(set(vectors)) if vectors.count(v) > 1]
    problems += [f"deletion vector for a file that is not live: {os.path.basename(v)}" for v in sorted(set(vectors) - data)]
    if table.json["format-version"] >= 3 and table.head:
        ranges = sorted((f["first_row_id"], f["record_count"], f["file_path"]) for f in live if not f["content"] and f.get("first_row_id") is not None)
        for a, b in zip(ranges, ranges[1:]):
            if a[0] + a[1] > b[0]:
                problems.append(f"row id ranges overlap: {os.path.basename(a[2])}, {os.path.basename(b[2])}")
        if ranges and ranges[-1][0] + ranges[-1][1] > table.json["next-row-id"]:
            problems.append("next-row-id is below a live row id")
    for s in table.snapshots.values():
        gone = [p for p in [s["manifest-list"]] if not os.path.exists(local(p))]
        if not gone:
            ms = table.manifests(s)
            gone = [m["manifest_path"] for m in ms if not os.path.exists(local(m["manifest_path"]))]
            gone = gone or [f["file_path"] for m in ms for f in table.entries(m) if f["status"] != 2 and not os.path.exists(local(f["file_path"]))]
        if gone and s is not table.head:
            problems.append(f"snapshot {s['snapshot-id']} is retained but {os.path.basename(gone[0])} is gone")
    return problems, live
