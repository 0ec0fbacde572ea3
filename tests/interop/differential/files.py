"""Writes the files of an Iceberg table by hand: Parquet with random settings, Puffin deletion vectors, Avro manifests."""
import json
import os
import struct
import zlib

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
from pyroaring import BitMap64

from iceberg_meta import local
from schemas import decimal_of, result_type

FILE_PATH, POSITION = 2147483546, 2147483545
CODECS = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]


def write_parquet(rng, location, table):
    """Writes `table` with any settings that a writer may choose, and returns the size in bytes."""
    path = local(location)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    dictionary = rng.random() < 0.6
    pq.write_table(
        table, path, compression=rng.choice(CODECS), data_page_version=rng.choice(["1.0", "2.0"]), use_dictionary=dictionary,
        dictionary_pagesize_limit=rng.choice([64, 1 << 20]), data_page_size=rng.choice([128, 1 << 20]), row_group_size=rng.choice([7, 1 << 20]),
        write_page_index=rng.random() < 0.3, write_statistics=rng.random() < 0.8, store_decimal_as_integer=rng.random() < 0.5,
        use_deprecated_int96_timestamps=rng.random() < 0.15, store_schema=rng.random() < 0.7, version=rng.choice(["1.0", "2.6"]))
    return os.path.getsize(path)


def position_table(pairs):
    """The rows of a position delete file, sorted as the spec asks."""
    ids = [("file_path", pa.string(), FILE_PATH), ("pos", pa.int64(), POSITION)]
    schema = pa.schema([pa.field(n, t, False, {"PARQUET:field_id": str(i)}) for n, t, i in ids])
    rows = sorted(pairs)
    return pa.Table.from_arrays([pa.array([r[0] for r in rows], pa.string()), pa.array([r[1] for r in rows], pa.int64())], schema=schema)


def write_puffin(location, vectors):
    """One Puffin file with a `deletion-vector-v1` blob per (data file, positions); returns (offset, size) of each, and the file's size."""
    body, blobs, places = b"PFA1", [], []
    for data_file, positions in vectors:
        content = b"\xd1\xd3\x39\x64" + BitMap64(positions).serialize()
        blob = struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
        places.append((len(body), len(blob)))
        blobs.append({"type": "deletion-vector-v1", "fields": [POSITION], "snapshot-id": -1, "sequence-number": -1, "offset": len(body), "length": len(blob),
                      "properties": {"referenced-data-file": data_file, "cardinality": str(len(positions))}})
        body += blob
    footer = json.dumps({"blobs": blobs, "properties": {}}).encode()
    body += b"PFA1" + footer + struct.pack("<i", len(footer)) + b"\0\0\0\0" + b"PFA1"
    with open(local(location), "wb") as f:
        f.write(body)
    return places, len(body)


# ---- Avro ----

def optional(t):
    return ["null", t]


def avro_field(name, field_id, t):
    return {"name": name, "type": t, "field-id": field_id, **({"default": None} if isinstance(t, list) else {})}


def avro_map(key_id, value_id, value):
    fields = [avro_field("key", key_id, "int"), avro_field("value", value_id, value)]
    return optional({"type": "array", "logicalType": "map", "items": {"type": "record", "name": f"k{key_id}_v{value_id}", "fields": fields}})


def avro_list(element_id, t):
    return optional({"type": "array", "items": t, "element-id": element_id})


def avro_primitive(t):
    if t.startswith("decimal"):
        precision, scale = decimal_of(t)
        size = (int(10 ** precision).bit_length() + 8) // 8
        return {"type": "fixed", "size": size, "name": f"decimal_{precision}_{scale}", "logicalType": "decimal", "precision": precision, "scale": scale}
    return {"date": {"type": "int", "logicalType": "date"}, "binary": "bytes"}.get(t, t)


def partition_schema(table, spec):
    fields = []
    for f in spec:
        t = result_type(f["transform"], table.type_of(f["source-id"]))
        fields.append(avro_field(f["name"], f["field-id"], optional(avro_primitive(t))))
    return {"type": "record", "name": "r102", "fields": fields}


def entry_schema(partition, version):
    data = [avro_field("content", 134, "int"), avro_field("file_path", 100, "string"), avro_field("file_format", 101, "string"),
            avro_field("partition", 102, partition), avro_field("record_count", 103, "long"), avro_field("file_size_in_bytes", 104, "long"),
            avro_field("value_counts", 109, avro_map(119, 120, "long")), avro_field("null_value_counts", 110, avro_map(121, 122, "long")),
            avro_field("lower_bounds", 125, avro_map(126, 127, "bytes")), avro_field("upper_bounds", 128, avro_map(129, 130, "bytes")),
            avro_field("split_offsets", 132, avro_list(133, "long")), avro_field("equality_ids", 135, avro_list(136, "int")),
            avro_field("sort_order_id", 140, optional("int")), avro_field("referenced_data_file", 143, optional("string"))]
    if version >= 3:
        data += [avro_field("first_row_id", 142, optional("long")), avro_field("content_offset", 144, optional("long")),
                 avro_field("content_size_in_bytes", 145, optional("long"))]
    fields = [avro_field("status", 0, "int"), avro_field("snapshot_id", 1, optional("long")), avro_field("sequence_number", 3, optional("long")),
              avro_field("file_sequence_number", 4, optional("long")),
              avro_field("data_file", 2, {"type": "record", "name": "r2", "fields": data})]
    return {"type": "record", "name": "manifest_entry", "fields": fields}


def manifest_list_schema(version):
    fields = [avro_field(n, i, t) for n, i, t in (
        ("manifest_path", 500, "string"), ("manifest_length", 501, "long"), ("partition_spec_id", 502, "int"), ("content", 517, "int"),
        ("sequence_number", 515, "long"), ("min_sequence_number", 516, "long"), ("added_snapshot_id", 503, "long"), ("added_files_count", 504, "int"),
        ("existing_files_count", 505, "int"), ("deleted_files_count", 506, "int"), ("added_rows_count", 512, "long"),
        ("existing_rows_count", 513, "long"), ("deleted_rows_count", 514, "long"))]
    summary = [avro_field("contains_null", 509, "boolean"), avro_field("contains_nan", 518, optional("boolean")),
               avro_field("lower_bound", 510, optional("bytes")), avro_field("upper_bound", 511, optional("bytes"))]
    fields.append(avro_field("partitions", 507, avro_list(508, {"type": "record", "name": "r508", "fields": summary})))
    return {"type": "record", "name": "manifest_file", "fields": fields + ([avro_field("first_row_id", 520, optional("long"))] if version >= 3 else [])}


def write_avro(location, schema, records, metadata, codec):
    with open(local(location), "wb") as f:
        fastavro.writer(f, fastavro.parse_schema(schema), records, codec=codec, metadata=metadata)
    return os.path.getsize(local(location))
