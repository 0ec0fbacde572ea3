"""Reads an Iceberg table by the letter of the spec, one row at a time: slow, short, and sharing no code with an engine.

Metadata comes from `iceberg_meta`, Parquet is decoded by pyarrow, bitmaps by CRoaring; which rows a delete hits, and which
value a field has in a file, is decided here (Iceberg spec: "Scan Planning", "Column Projection", "Row-level Deletes")."""
import datetime
import decimal
import math
import struct
import uuid
import zlib

import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from iceberg_meta import Table, field_ids, kind, local
from rows import column

ROW_ID, LAST_UPDATED = 2147483540, 2147483539
FILE_PATH, POSITION = 2147483546, 2147483545
DV_MAGIC = b"\xd1\xd3\x39\x64"


class Unsupported(Exception):
    """A file of a format that this reader does not know."""


class Columns:
    """Rows by column, with as much of a pyarrow table's face as a comparison needs."""

    def __init__(self, names, rows):
        self.column_names, self.num_rows = names, len(rows)
        self.values = {name: [row[i] for row in rows] for i, name in enumerate(names)}

    def __getitem__(self, name):
        return self.values[name]


# ---- values of one Parquet file, by field id ----

class Node:
    """A field of a file's schema: its id, and children by name."""

    def __init__(self, field, path, ids):
        self.name, self.id = field.name, ids(path, field)
        t = field.type
        names = {"struct": lambda: [(f, f.name) for f in t], "list": lambda: [(t.value_field, "element")],
                 "map": lambda: [(t.key_field, "key"), (t.item_field, "value")]}
        self.kind = shape(t)
        self.children = [Node(f, path + (name,), ids) for f, name in names.get(self.kind, lambda: [])()]

    def child(self, field_id):
        return next((c for c in self.children if c.id == field_id), None)

    def path_to(self, field_id):
        """Names of the struct fields that lead to `field_id`, or None."""
        for c in self.children:
            if c.id == field_id:
                return [c.name]
            below = c.path_to(field_id) if c.kind == "struct" else None
            if below is not None:
                return [c.name] + below
        return None


class Root(Node):
    def __init__(self, schema, ids):
        self.kind, self.children = "struct", [Node(f, (f.name,), ids) for f in schema]


def shape(t):
    text = str(t)
    return next((k for k in ("struct", "list", "map") if text.startswith((k, "large_" + k))), "primitive")


class File:
    """Rows of a Parquet file as dicts by the file's own names, with the tree of its field ids."""

    def __init__(self, table, path):
        parquet = pq.ParquetFile(local(path), coerce_int96_timestamp_unit="us", arrow_extensions_enabled=False)
        data = nanoseconds_as_text(table, parquet.read())
        self.root = Root(data.schema, field_ids(table, data.schema))
        self.rows = data.to_pylist(maps_as_pydicts=None)

    def get(self, row, field_id):
        """(found, value) of a field that is not within a list or map."""
        path = self.root.path_to(field_id)
        if path is None:
            return False, None
        for name in path:
            row = None if row is None else row[name]
        return True, row


def nanoseconds_as_text(table, data):
    """Columns of nanosecond timestamps, for which Python has no value, as `rows.column` writes them."""
    ids = field_ids(table, data.schema)
    for i, field in enumerate(data.schema):
        if pa.types.is_timestamp(field.type) and str(table.fields.get(ids((field.name,), field), {}).get("type")).endswith("_ns"):
            data = data.set_column(i, field.with_type(pa.string()), pa.chunked_array([column(data.column(i))], pa.string()))
    return data


def primitive(value, type_name):
    """`value` as the field's current type has it (Iceberg spec, "Schema Evolution")."""
    if value is None:
        return None
    if type_name == "uuid" and isinstance(value, bytes):
        return uuid.UUID(bytes=value)
    if type_name in ("float", "double"):
        return float(value)
    if type_name.startswith("timestamp") and isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    if isinstance(value, datetime.datetime):  # INT96 and promoted dates carry no zone: the type of the field decides
        return value.replace(tzinfo=datetime.timezone.utc if type_name.startswith("timestamptz") else None)
    return value


def default(field):
    """A field that a file does not have: its initial default, else NULL (spec, "Default values")."""
    value, t = field.get("initial-default"), field["type"]
    if value is None or not isinstance(t, str):
        return None
    if t.startswith("decimal"):
        return decimal.Decimal(value)
    if t == "date":
        return datetime.date.fromisoformat(value)
    if t == "time":
        return datetime.time.fromisoformat(value)
    if t.startswith("timestamp"):
        return datetime.datetime.fromisoformat(value)
    if t == "uuid":
        return uuid.UUID(value)
    if t == "binary" or t.startswith("fixed"):
        return bytes.fromhex(value)
    return float(value) if t in ("float", "double") else value


def project(value, node, t, constants):
    """`value` of a file's field as the type `t` of the table's schema has it, every depth by field id."""
    if value is None or isinstance(t, str):
        return primitive(value, t) if isinstance(t, str) else None
    if t["type"] == "struct":
        return {f["name"]: field_value(value, node, f, constants) for f in t["fields"]}
    if t["type"] == "list":
        return [project(v, node.children[0], t["element"], constants) for v in value]
    key, item = node.children
    return [(project(k, key, t["key"], constants), project(v, item, t["value"], constants)) for k, v in value]


def field_value(row, node, field, constants):
    child = node.child(field["id"])
    if child is not None:
        return project(row[child.name], child, field["type"], constants)
    return constants[field["id"]] if field["id"] in constants else default(field)


def partition_constants(table, entry):
    """Values of identity-partitioned fields, which stand in for columns that a file lacks."""
    found = {}
    for pf in table.specs[entry["spec_id"]]:
        if pf["transform"] == "identity" and pf["field-id"] in entry["partition"] and pf["source-id"] in table.fields:
            found[pf["source-id"]] = primitive(entry["partition"][pf["field-id"]], table.fields[pf["source-id"]]["type"])
    return found


# ---- deletes ----

def key(value):
    """Equality of delete keys: NULL is NULL, NaN is NaN, and -0.0 is not 0.0 (the spec's order of floats)."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else (value, math.copysign(1.0, value))
    if isinstance(value, dict):
        return tuple((k, key(v)) for k, v in sorted(value.items()))
    return value


def same_scope(a, b):
    return a["spec_id"] == b["spec_id"] and [key(v) for v in a["partition"].values()] == [key(v) for v in b["partition"].values()]


def is_global(table, entry):
    return all(f["transform"] == "void" for f in table.specs[entry["spec_id"]])


def deletion_vector(entry):
    """Positions of a `deletion-vector-v1` blob (Puffin spec): length, magic, 64-bit roaring bitmap, CRC-32."""
    with open(local(entry["file_path"]), "rb") as f:
        f.seek(entry["content_offset"])
        blob = f.read(entry["content_size_in_bytes"])
    length, = struct.unpack(">I", blob[:4])
    body, (crc,) = blob[4:4 + length], struct.unpack(">I", blob[4 + length:])
    assert body[:4] == DV_MAGIC and zlib.crc32(body) == crc and len(blob) == length + 8, "corrupt deletion vector"
    positions = set(BitMap64.deserialize(body[4:]))
    assert len(positions) == entry["record_count"], "cardinality of a deletion vector"
    return positions


class Deletes:
    """The delete files of a snapshot."""

    def __init__(self, table, entries):
        self.table, self.loaded = table, {}
        self.vectors = [e for e in entries if kind(e) == "dvs"]
        self.positions = [e for e in entries if kind(e) == "position_deletes"]
        self.equalities = [e for e in entries if kind(e) == "equality_deletes"]

    def load(self, entry):
        path = entry["file_path"]
        if path not in self.loaded:
            require_parquet(entry)
            self.loaded[path] = File(self.table, path)
        return self.loaded[path]

    def dead_positions(self, data):
        """Positions of `data` that deletion vectors, else position delete files, remove."""
        vectors = [v for v in self.vectors if v["referenced_data_file"] == data["file_path"] and data["data_seq"] <= v["data_seq"]]
        assert len(vectors) <= 1, "two deletion vectors for one file"
        if vectors:
            return deletion_vector(vectors[0])
        dead = set()
        for d in self.positions:
            named = d.get("referenced_data_file")
            if data["data_seq"] <= d["data_seq"] and same_scope(d, data) and named in (None, data["file_path"]):
                file = self.load(d)
                for row in file.rows:
                    if file.get(row, FILE_PATH)[1] == data["file_path"]:
                        dead.add(file.get(row, POSITION)[1])
        return dead

    def keys(self, data):
        """(field ids, dead keys) of every equality delete file that applies to `data`."""
        for d in self.equalities:
            if data["data_seq"] < d["data_seq"] and (is_global(self.table, d) or same_scope(d, data)):
                file, ids = self.load(d), d["equality_ids"]
                yield ids, {self.key_of(file, row, ids, {}) for row in file.rows}

    def key_of(self, file, row, ids, constants):
        values = []
        for i in ids:
            found, value = file.get(row, i)
            if not found:
                value = constants[i] if i in constants else default(self.table.fields[i])
            values.append(key(primitive(value, self.table.fields[i]["type"])))
        return tuple(values)


# ---- tables ----

def require_parquet(entry):
    if entry["file_format"].upper() != "PARQUET":
        raise Unsupported(f"{entry['file_format']} file {entry['file_path']}")


def data_rows(table, deletes, entry, schema, lineage):
    require_parquet(entry)
    file, constants = File(table, entry["file_path"]), partition_constants(table, entry)
    dead, keys = deletes.dead_positions(entry), list(deletes.keys(entry))
    for position, row in enumerate(file.rows):
        if position in dead or any(deletes.key_of(file, row, ids, constants) in gone for ids, gone in keys):
            continue
        values = [field_value(row, file.root, f, constants) for f in schema["fields"]]
        yield values + (row_lineage(file, row, entry, position) if lineage else [])


def row_lineage(file, row, entry, position):
    """Row id and last-updated sequence number (spec, "Row Lineage"); both NULL for files from before v3."""
    first = entry.get("first_row_id")
    row_id, updated = file.get(row, ROW_ID)[1], file.get(row, LAST_UPDATED)[1]
    if first is not None:
        row_id = first + position if row_id is None else row_id
        updated = entry["data_seq"] if updated is None else updated
    return [row_id, updated]


def read(location, ref=None, snapshot_id=None, lineage=False):
    """Rows of a table's head, of a branch or tag, or of a snapshot."""
    table = location if isinstance(location, Table) else Table(location)
    snapshot, schema = table.head, table.schema
    if ref:
        snapshot_id, is_tag = table.json["refs"][ref]["snapshot-id"], table.json["refs"][ref]["type"] == "tag"
        schema = table.schemas[table.snapshots[snapshot_id].get("schema-id", schema["schema-id"])] if is_tag else schema
    if snapshot_id is not None:
        snapshot = table.snapshots[snapshot_id]
    entries = table.live(snapshot) if snapshot else []
    deletes = Deletes(table, entries)
    rows = [r for e in entries if not e["content"] for r in data_rows(table, deletes, e, schema, lineage)]
    names = [f["name"] for f in schema["fields"]]
    return Columns(names + (["_row_id", "_last_updated_sequence_number"] if lineage else []), rows)
