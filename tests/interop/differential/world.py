"""A table that grows by random commits, written without any engine: the state that a writer keeps, and its commits.

Supported: format v2 and v3 (and the upgrade), data files under several schemas and specs, with and without field ids and with
partition columns left out; position deletes, equality deletes (scoped and global), deletion vectors; copy-on-write."""
import copy
import json
import os
import random
import sqlite3
import uuid

import files
from files import write_avro, write_parquet
from iceberg_meta import Table, kind, local
from schemas import Ids, arrow_table, evolve, is_primitive, partition_value, random_schema, random_spec, row_of

CODECS = ["null", "deflate"]
START_MS = 1_700_000_000_000


class World:
    """One table in its own folder with its own SQLite catalog."""

    def __init__(self, folder, seed):
        self.rng = random.Random(seed)
        self.ids, self.spec_ids, self.counter = Ids(), Ids(), 0
        self.catalog, self.name = f"{folder}/catalog.db", "t"
        self.location = self.rng.choice(["", "file:", "file://"]) + f"{folder}/warehouse/db/t"
        os.makedirs(local(self.location) + "/metadata")
        fields = random_schema(self.rng, self.ids)
        spec = random_spec(self.rng, fields, self.spec_ids)
        version = self.rng.choice([2, 2, 3])
        self.json = {
            "format-version": version, "table-uuid": self.uuid(), "location": self.location, "last-sequence-number": 0, "last-updated-ms": START_MS,
            "last-column-id": self.ids.last, "current-schema-id": 0, "schemas": [schema_json(0, fields)], "default-spec-id": 0,
            "partition-specs": [{"spec-id": 0, "fields": spec}], "last-partition-id": 1000 + self.spec_ids.last, "default-sort-order-id": 0,
            "sort-orders": [{"order-id": 0, "fields": []}], "properties": {}, "current-snapshot-id": -1, "refs": {}, "snapshots": [], "snapshot-log": [],
            "metadata-log": []}
        if version >= 3:
            self.json["next-row-id"] = 0
        self.without_ids = self.rng.random() < 0.15
        self.mapping = name_mapping(fields)
        self.manifests = []  # manifest list entries of the head
        self.metadata = None
        self.publish()

    # ---- small things ----

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def file(self, folder, suffix):
        self.counter += 1
        return f"{self.location}/{folder}/{self.counter:05}-{self.uuid()}{suffix}"

    @property
    def version(self):
        return self.json["format-version"]

    @property
    def fields(self):
        return next(s["fields"] for s in self.json["schemas"] if s["schema-id"] == self.json["current-schema-id"])

    def spec(self, spec_id):
        return next(s["fields"] for s in self.json["partition-specs"] if s["spec-id"] == spec_id)

    def type_of(self, field_id):
        """The newest type of a field, current or dropped."""
        found = [f["type"] for s in self.json["schemas"] for f in s["fields"] if f["id"] == field_id]
        return found[-1]

    def live(self):
        table = Table(self.metadata)
        return table.live(table.head)

    # ---- metadata ----

    def publish(self):
        """Writes the metadata file and moves the catalog's pointer."""
        if self.without_ids:
            self.json["properties"]["schema.name-mapping.default"] = json.dumps(self.mapping)
        self.json["last-column-id"], self.json["last-partition-id"] = self.ids.last, 1000 + self.spec_ids.last
        self.json["last-updated-ms"] += 1000
        new = self.file("metadata", ".metadata.json")
        with open(local(new), "w") as f:
            json.dump(self.json, f)
        with sqlite3.connect(self.catalog) as c:
            c.execute("create table if not exists iceberg_tables (catalog_name text, table_namespace text, table_name text, metadata_location text, "
                      "previous_metadata_location text, iceberg_type text, primary key (catalog_name, table_namespace, table_name))")
            c.execute("insert or replace into iceberg_tables values ('c', 'db', ?, ?, ?, 'TABLE')", (self.name, new, self.metadata))
        c.close()
        if self.metadata:
            self.json["metadata-log"].append({"metadata-file": self.metadata, "timestamp-ms": self.json["last-updated-ms"] - 1000})
        self.metadata = new

    def evolve_schema(self):
        sources = {f["source-id"] for s in self.json["partition-specs"] for f in s["fields"]}
        self.counter += 1
        fields = evolve(self.rng, self.ids, self.fields, sources, self.version, self.counter)
        schema_id = len(self.json["schemas"])
        self.json["schemas"].append(schema_json(schema_id, fields))
        self.json["current-schema-id"] = schema_id
        extend_mapping(self.mapping, fields)
        self.publish()

    def evolve_spec(self):
        spec_id = len(self.json["partition-specs"])
        spec = random_spec(self.rng, self.fields, self.spec_ids)
        if spec == [] and any(s["fields"] == [] for s in self.json["partition-specs"]):
            self.json["default-spec-id"] = next(s["spec-id"] for s in self.json["partition-specs"] if s["fields"] == [])
        else:
            self.json["partition-specs"].append({"spec-id": spec_id, "fields": spec})
            self.json["default-spec-id"] = spec_id
        self.publish()

    def upgrade(self):
        if self.version == 2:
            self.json["format-version"], self.json["next-row-id"] = 3, 0
            self.publish()

    # ---- commits ----

    def commit(self, operation, added=(), removed=()):
        """One snapshot: new manifests for `added` entries, rewritten ones without `removed` (file path, offset) pairs."""
        snapshot_id, seq = self.rng.getrandbits(62), self.json["last-sequence-number"] + 1
        removed = set(removed)
        kept = [self.without(m, removed, snapshot_id, seq) for m in self.manifests]
        for content in (0, 1):
            for spec_id in sorted({e["spec_id"] for e in added}):
                entries = [e for e in added if e["spec_id"] == spec_id and min(e["content"], 1) == content]
                if entries:
                    kept.append(self.manifest(content, spec_id, [(1, e) for e in entries], snapshot_id, seq))
        self.manifests = [m for m in kept if m]
        snapshot = {"snapshot-id": snapshot_id, "sequence-number": seq, "timestamp-ms": self.json["last-updated-ms"] + 1000, "schema-id": self.json["current-schema-id"]}
        if self.json["snapshots"]:
            snapshot["parent-snapshot-id"] = self.json["current-snapshot-id"]
        if self.version >= 3:
            self.assign_row_ids(snapshot)
        snapshot["manifest-list"] = self.file("metadata", ".avro").replace("/metadata/", "/metadata/snap-")
        write_avro(snapshot["manifest-list"], files.manifest_list_schema(self.version), self.manifests,
                   {"format-version": str(self.version), "snapshot-id": str(snapshot_id), "sequence-number": str(seq)}, self.rng.choice(CODECS))
        self.json["last-sequence-number"] = seq
        self.json["current-snapshot-id"] = snapshot_id
        self.json["refs"] = {"main": {"snapshot-id": snapshot_id, "type": "branch"}}
        snapshot["summary"] = {"operation": operation}
        self.json["snapshots"].append(snapshot)
        self.json["snapshot-log"].append({"snapshot-id": snapshot_id, "timestamp-ms": snapshot["timestamp-ms"]})
        snapshot["summary"].update(self.totals(snapshot))
        self.publish()

    def totals(self, snapshot):
        table = Table.__new__(Table)
        table.__dict__.update(self.reader().__dict__)
        live = [f for m in table.manifests(snapshot) for f in table.entries(m) if f["status"] != 2]
        count = lambda content: sum(f["record_count"] for f in live if f["content"] == content)
        data = [f for f in live if not f["content"]]
        sizes = sum(f.get("content_size_in_bytes") or f["file_size_in_bytes"] for f in live)
        return {k: str(v) for k, v in {"total-data-files": len(data), "total-delete-files": len(live) - len(data), "total-records": count(0),
                                       "total-position-deletes": count(1), "total-equality-deletes": count(2), "total-files-size": sizes}.items()}

    def reader(self):
        return Table(self.metadata)

    def assign_row_ids(self, snapshot):
        """Row lineage (spec, "First Row ID Assignment"): data manifests without a first row id get one."""
        first = self.json["next-row-id"]
        for m in self.manifests:
            if m["content"] == 0 and m.get("first_row_id") is None:
                m["first_row_id"] = self.json["next-row-id"]
                self.json["next-row-id"] += m["added_rows_count"] + m["existing_rows_count"]
        snapshot.update({"first-row-id": first, "added-rows": self.json["next-row-id"] - first})

    def without(self, manifest, removed, snapshot_id, seq):
        """The manifest itself, or a rewritten one whose `removed` entries are marked deleted."""
        entries = [e for e in self.reader().entries(manifest) if e["status"] != 2]
        hit = lambda e: (e["file_path"], e.get("content_offset")) in removed
        if not any(map(hit, entries)):
            return manifest if entries else None
        pairs = [(2 if hit(e) else 0, e) for e in entries]
        rewritten = self.manifest(manifest["content"], manifest["partition_spec_id"], pairs, snapshot_id, seq)
        rewritten["first_row_id"] = manifest.get("first_row_id")
        return rewritten

    def manifest(self, content, spec_id, pairs, snapshot_id, seq):
        """Writes a manifest of (status, entry) pairs and returns its manifest list entry."""
        spec = self.spec(spec_id)
        path = self.file("metadata", "-m0.avro")
        records = [self.entry_record(status, e, spec, snapshot_id, seq) for status, e in pairs]
        metadata = {"schema": json.dumps(schema_json(self.json["current-schema-id"], self.fields)), "schema-id": str(self.json["current-schema-id"]),
                    "partition-spec": json.dumps(spec), "partition-spec-id": str(spec_id), "format-version": str(self.version),
                    "content": "deletes" if content else "data"}
        schema = files.entry_schema(files.partition_schema(self, spec), self.version)
        length = write_avro(path, schema, records, metadata, self.rng.choice(CODECS))
        count = lambda status: sum(s == status for s, _ in pairs)
        rows = lambda status: sum(e["record_count"] for s, e in pairs if s == status)
        live = [e.get("data_seq") or seq for s, e in pairs if s != 2]
        return {"manifest_path": path, "manifest_length": length, "partition_spec_id": spec_id, "content": content, "sequence_number": seq,
                "min_sequence_number": min(live, default=seq), "added_snapshot_id": snapshot_id, "added_files_count": count(1),
                "existing_files_count": count(0), "deleted_files_count": count(2), "added_rows_count": rows(1), "existing_rows_count": rows(0),
                "deleted_rows_count": rows(2), "partitions": None, "first_row_id": None}

    def entry_record(self, status, e, spec, snapshot_id, seq):
        explicit = status != 1
        data = {k: e.get(k) for k in ("content", "file_path", "file_format", "record_count", "file_size_in_bytes", "equality_ids", "split_offsets",
                                      "sort_order_id", "first_row_id", "referenced_data_file", "content_offset", "content_size_in_bytes")}
        data["partition"] = {f["name"]: e["partition"].get(f["field-id"]) for f in spec}
        for m in ("value_counts", "null_value_counts", "lower_bounds", "upper_bounds"):
            data[m] = [{"key": k, "value": v} for k, v in e[m].items()] if e.get(m) else None
        return {"status": status, "snapshot_id": e["snapshot_id"] if status == 0 else snapshot_id, "sequence_number": e["data_seq"] if explicit else None,
                "file_sequence_number": e["file_seq"] if explicit else None, "data_file": data}

    # ---- what a writer does ----

    def append(self, rows=None):
        self.commit("append", self.data_entries(rows))

    def data_entries(self, rows=None):
        rows = [row_of(self.rng, self.fields) for _ in range(self.rng.randint(1, 40))] if rows is None else rows
        spec_id = self.json["default-spec-id"]
        spec, groups = self.spec(spec_id), {}
        for row in rows:
            partition = {f["field-id"]: self.partition_of(f, row) for f in spec}
            groups.setdefault(repr(partition), (partition, []))[1].append(row)
        return [self.data_file(spec_id, partition, members) for partition, members in groups.values()]

    def partition_of(self, f, row):
        column = next((c for c in self.fields if c["id"] == f["source-id"]), None)
        return partition_value(f["transform"], column["type"], row[column["name"]]) if column else None

    def data_file(self, spec_id, partition, rows):
        fields = self.fields
        identity = {f["source-id"] for f in self.spec(spec_id) if f["transform"] == "identity"}
        if identity and self.rng.random() < 0.2:  # as files migrated from Hive: the manifest alone knows the partition's columns
            fields = [f for f in fields if f["id"] not in identity] or fields
        with_ids = not (self.without_ids and self.rng.random() < 0.5)
        path = self.file("data", ".parquet")
        size = write_parquet(self.rng, path, arrow_table(fields, rows, with_ids))
        entry = {"content": 0, "file_path": path, "file_format": "PARQUET", "spec_id": spec_id, "partition": partition, "record_count": len(rows),
                 "file_size_in_bytes": size}
        if self.rng.random() < 0.5:
            entry.update(counts_and_bounds(fields, rows))
        return entry

    def overwrite(self):
        """Copy-on-write: some data files leave, others come. Their deletion vectors leave with them."""
        live = self.live()
        data = [e for e in live if not e["content"]]
        if not data:
            return
        gone = self.rng.sample(data, self.rng.randint(1, max(1, len(data) // 3)))
        paths = {e["file_path"] for e in gone}
        removed = [(e["file_path"], e.get("content_offset")) for e in live
                   if e["file_path"] in paths or (kind(e) == "dvs" and e["referenced_data_file"] in paths)]
        self.commit("overwrite", self.data_entries() if self.rng.random() < 0.6 else [], removed)


def schema_json(schema_id, fields):
    return {"type": "struct", "schema-id": schema_id, "fields": copy.deepcopy(fields)}


# ---- names of columns in files without field ids ----

def mapped(field_id, names, t):
    entry = {"field-id": field_id, "names": names}
    if not is_primitive(t):
        entry["fields"] = name_mapping(t["fields"]) if t["type"] == "struct" else [
            mapped(t[f"{part}-id"], [part], t[part]) for part in ("element", "key", "value") if part in t]
    return entry


def name_mapping(fields):
    return [mapped(f["id"], [f["name"]], f["type"]) for f in fields]


def extend_mapping(mapping, fields):
    """New columns get an entry, renamed ones a further name; names are never given twice."""
    known = {m["field-id"]: m for m in mapping}
    for f in fields:
        if f["id"] not in known:
            mapping.append(mapped(f["id"], [f["name"]], f["type"]))
            continue
        m = known[f["id"]]
        m["names"] += [f["name"]] if f["name"] not in m["names"] else []
        if not is_primitive(f["type"]) and f["type"]["type"] == "struct":
            extend_mapping(m["fields"], f["type"]["fields"])


def counts_and_bounds(fields, rows):
    """Counts of every primitive column, and bounds where both ends are plain integers."""
    out = {"value_counts": {}, "null_value_counts": {}, "lower_bounds": {}, "upper_bounds": {}}
    for f in fields:
        if not is_primitive(f["type"]):
            continue
        values = [r[f["name"]] for r in rows]
        known = [v for v in values if v is not None]
        out["value_counts"][f["id"]], out["null_value_counts"][f["id"]] = len(values), len(values) - len(known)
        if f["type"] in ("int", "long") and known:
            width = 4 if f["type"] == "int" else 8
            out["lower_bounds"][f["id"]] = min(known).to_bytes(width, "little", signed=True)
            out["upper_bounds"][f["id"]] = max(known).to_bytes(width, "little", signed=True)
    return out
