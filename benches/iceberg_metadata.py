"""Writes Iceberg metadata (spec v2 and v3: manifests, manifest list, table metadata, SQLite catalog) from plain dictionaries.

Unpartitioned tables only. It shares no code with Firn, nor with the peers that are measured."""
import json
import os
import sqlite3
import struct
import uuid
import zlib

import fastavro

CONTENT_DATA, CONTENT_DELETES = 0, 1
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2


def field(name, type_, field_id, optional=False):
    """An Avro field with its Iceberg field id."""
    if optional:
        return {"name": name, "type": ["null", type_], "default": None, "field-id": field_id}
    return {"name": name, "type": type_, "field-id": field_id}


def int_map(name, field_id, key_id, value_id, value):
    """An optional map with int keys, in the array form of the spec (Appendix A)."""
    pair = {"type": "record", "name": f"k{key_id}_v{value_id}",
            "fields": [field("key", "int", key_id), field("value", value, value_id)]}
    return field(name, {"type": "array", "logicalType": "map", "items": pair}, field_id, True)


def optional_array(name, field_id, element_id, element):
    return field(name, {"type": "array", "items": element, "element-id": element_id}, field_id, True)


def entry_schema(version):
    """`manifest_entry` of an unpartitioned table."""
    data_file = [
        field("content", "int", 134), field("file_path", "string", 100), field("file_format", "string", 101),
        field("partition", {"type": "record", "name": "r102", "fields": []}, 102),
        field("record_count", "long", 103), field("file_size_in_bytes", "long", 104),
        int_map("column_sizes", 108, 117, 118, "long"), int_map("value_counts", 109, 119, 120, "long"),
        int_map("null_value_counts", 110, 121, 122, "long"), int_map("nan_value_counts", 137, 138, 139, "long"),
        int_map("lower_bounds", 125, 126, 127, "bytes"), int_map("upper_bounds", 128, 129, 130, "bytes"),
        field("key_metadata", "bytes", 131, True), optional_array("split_offsets", 132, 133, "long"),
        optional_array("equality_ids", 135, 136, "int"), field("sort_order_id", "int", 140, True),
        field("referenced_data_file", "string", 143, True),
    ]
    if version == 3:
        data_file += [field("first_row_id", "long", 142, True), field("content_offset", "long", 144, True),
                      field("content_size_in_bytes", "long", 145, True)]
    return {"type": "record", "name": "manifest_entry", "fields": [
        field("status", "int", 0), field("snapshot_id", "long", 1, True), field("sequence_number", "long", 3, True),
        field("file_sequence_number", "long", 4, True),
        field("data_file", {"type": "record", "name": "r2", "fields": data_file}, 2)]}


def list_schema(version):
    """`manifest_file`."""
    fields = [
        field("manifest_path", "string", 500), field("manifest_length", "long", 501), field("partition_spec_id", "int", 502),
        field("content", "int", 517), field("sequence_number", "long", 515), field("min_sequence_number", "long", 516),
        field("added_snapshot_id", "long", 503), field("added_files_count", "int", 504),
        field("existing_files_count", "int", 505), field("deleted_files_count", "int", 506),
        field("added_rows_count", "long", 512), field("existing_rows_count", "long", 513),
        field("deleted_rows_count", "long", 514),
    ]
    if version == 3:
        fields.append(field("first_row_id", "long", 520, True))
    return {"type": "record", "name": "manifest_file", "fields": fields}


def write_avro(path, schema, records, metadata):
    with open(path, "wb") as out:
        fastavro.writer(out, schema, records, codec="deflate", metadata=metadata)
    return os.path.getsize(path)


class TableWriter:
    """One unpartitioned table: call `commit` once per snapshot, then `register`."""

    def __init__(self, location, schema, version, properties):
        self.location, self.schema, self.version = location, schema, version
        self.manifests, self.snapshots, self.next_row_id, self.totals = [], [], 0, {}
        self.properties = properties
        os.makedirs(f"{location}/metadata")

    def commit(self, content, files, per_manifest):
        """One snapshot that adds `files` (dictionaries of `data_file` fields), `per_manifest` of them in each manifest."""
        sequence, snapshot_id = len(self.snapshots) + 1, 1000 + len(self.snapshots)
        first_row_id = self.next_row_id
        for start in range(0, len(files), per_manifest):
            self._manifest(content, files[start:start + per_manifest], sequence, snapshot_id)
        path = f"{self.location}/metadata/snap-{snapshot_id}.avro"
        write_avro(path, list_schema(self.version), self.manifests, {
            "snapshot-id": str(snapshot_id), "sequence-number": str(sequence), "format-version": str(self.version)})
        snapshot = {"snapshot-id": snapshot_id, "sequence-number": sequence, "timestamp-ms": 1_700_000_000_000 + sequence,
                    "manifest-list": path, "summary": self._summary(content, files), "schema-id": 0}
        if self.snapshots:
            snapshot["parent-snapshot-id"] = self.snapshots[-1]["snapshot-id"]
        if self.version == 3:
            snapshot |= {"first-row-id": first_row_id, "added-rows": self.next_row_id - first_row_id}
        self.snapshots.append(snapshot)

    def _manifest(self, content, files, sequence, snapshot_id):
        path = f"{self.location}/metadata/m{len(self.manifests):05d}.avro"
        entries = [{"status": 1, "snapshot_id": snapshot_id, "data_file": {"partition": {}, **it}} for it in files]
        rows = sum(it["record_count"] for it in files)
        length = write_avro(path, entry_schema(self.version), entries, {
            "schema": json.dumps(self.schema), "schema-id": "0", "partition-spec": "[]", "partition-spec-id": "0",
            "format-version": str(self.version), "content": "deletes" if content else "data"})
        record = {"manifest_path": path, "manifest_length": length, "partition_spec_id": 0, "content": content,
                  "sequence_number": sequence, "min_sequence_number": sequence, "added_snapshot_id": snapshot_id,
                  "added_files_count": len(files), "existing_files_count": 0, "deleted_files_count": 0,
                  "added_rows_count": rows, "existing_rows_count": 0, "deleted_rows_count": 0}
        if self.version == 3 and content == CONTENT_DATA:
            record["first_row_id"] = self.next_row_id
            self.next_row_id += rows
        self.manifests.append(record)

    def _summary(self, content, files):
        size, rows = sum(it["file_size_in_bytes"] for it in files), sum(it["record_count"] for it in files)
        kinds = {it["content"] for it in files}
        added = {"added-files-size": size, "total-files-size": size}
        if content == CONTENT_DATA:
            added |= {"added-data-files": len(files), "added-records": rows, "total-data-files": len(files), "total-records": rows}
        else:
            kind = "position" if kinds == {POSITION_DELETES} else "equality"
            added |= {"added-delete-files": len(files), f"added-{kind}-deletes": rows, "total-delete-files": len(files),
                      f"total-{kind}-deletes": rows}
        for name in ("total-files-size", "total-data-files", "total-records", "total-delete-files",
                     "total-position-deletes", "total-equality-deletes"):
            self.totals[name] = self.totals.get(name, 0) + added.pop(name, 0)
        operation = "append" if content == CONTENT_DATA else "delete"
        return {"operation": operation} | {k: str(v) for k, v in (added | self.totals).items()}

    def register(self, catalog, name):
        """Writes the table metadata and its row in the SQLite catalog (created when absent)."""
        last = self.snapshots[-1]
        metadata = {
            "format-version": self.version, "table-uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, self.location)),
            "location": self.location, "last-sequence-number": last["sequence-number"], "last-updated-ms": last["timestamp-ms"],
            "last-column-id": max(it["id"] for it in self.schema["fields"]), "current-schema-id": 0, "schemas": [self.schema],
            "default-spec-id": 0, "partition-specs": [{"spec-id": 0, "fields": []}], "last-partition-id": 999,
            "default-sort-order-id": 0, "sort-orders": [{"order-id": 0, "fields": []}], "properties": self.properties,
            "current-snapshot-id": last["snapshot-id"], "snapshots": self.snapshots,
            "refs": {"main": {"snapshot-id": last["snapshot-id"], "type": "branch"}},
            "snapshot-log": [{"snapshot-id": it["snapshot-id"], "timestamp-ms": it["timestamp-ms"]} for it in self.snapshots],
            "metadata-log": [],
        }
        if self.version == 3:
            metadata["next-row-id"] = self.next_row_id
        path = f"{self.location}/metadata/00000-{metadata['table-uuid']}.metadata.json"
        with open(path, "w") as out:
            json.dump(metadata, out)
        with sqlite3.connect(catalog) as db:
            db.execute("create table if not exists iceberg_tables (catalog_name text not null, table_namespace text not null, "
                       "table_name text not null, metadata_location text, previous_metadata_location text, "
                       "primary key (catalog_name, table_namespace, table_name))")
            db.execute("create table if not exists iceberg_namespace_properties (catalog_name text not null, namespace text not null, "
                       "property_key text not null, property_value text, primary key (catalog_name, namespace, property_key))")
            db.execute("insert or replace into iceberg_namespace_properties values ('bench', 'db', 'exists', 'true')")
            db.execute("insert or replace into iceberg_tables values ('bench', 'db', ?, ?, null)", (name, path))


def deletion_vector(positions):
    """The `deletion-vector-v1` blob of sorted positions below 65,536, at most 4,096 of them (one array container)."""
    assert len(positions) <= 4096 and positions[-1] < 65536
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(positions) - 1, 16) + struct.pack(f"<{len(positions)}H", *positions)
    body = bytes([0xD1, 0xD3, 0x39, 0x64]) + struct.pack("<QI", 1, 0) + bitmap
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def write_puffin(path, blobs):
    """A Puffin file of deletion vectors, as (data file, positions); returns (offset, length) of each blob."""
    places, described = [], []
    with open(path, "wb") as out:
        out.write(b"PFA1")
        for data_file, positions in blobs:
            blob = deletion_vector(positions)
            places.append((out.tell(), len(blob)))
            described.append({"type": "deletion-vector-v1", "fields": [], "snapshot-id": -1, "sequence-number": -1,
                              "offset": out.tell(), "length": len(blob),
                              "properties": {"referenced-data-file": data_file, "cardinality": str(len(positions))}})
            out.write(blob)
        footer = json.dumps({"blobs": described, "properties": {}}).encode()
        out.write(b"PFA1" + footer + struct.pack("<iI", len(footer), 0) + b"PFA1")
    return places
