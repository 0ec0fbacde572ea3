"""Generates the bench tables: 10 M rows, 10 columns, zstd; deterministic.

base        400 files of 25,000 rows
position    base + one position delete file per data file, 10 % of its rows
equality    base + 20 equality delete files of 50,000 keys on `id` (10 % of all rows)
dv          base as format version 3 + one deletion vector per data file, 10 % of its rows
files-x10   4,000 files of 2,500 rows
files-x100  40,000 files of 250 rows"""
import os
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import iceberg_metadata as im

ROWS = 10_000_000
VARIANTS = ("base", "position", "equality", "dv", "files-x10", "files-x100")
FILES = {"files-x10": 4_000, "files-x100": 40_000}

COLUMNS = [
    ("id", "long", pa.int64(), True), ("ts", "timestamptz", pa.timestamp("us", tz="UTC"), False),
    ("user_id", "long", pa.int64(), False), ("country", "string", pa.string(), False), ("event", "string", pa.string(), False),
    ("url", "string", pa.string(), False), ("amount", "decimal(12, 2)", pa.decimal128(12, 2), False),
    ("score", "double", pa.float64(), False), ("flags", "int", pa.int32(), False), ("payload", "string", pa.string(), False),
]
ICEBERG_SCHEMA = {"type": "struct", "schema-id": 0, "fields": [
    {"id": i + 1, "name": name, "required": required, "type": type_} for i, (name, type_, _, required) in enumerate(COLUMNS)]}


def arrow_field(name, type_, field_id, required):
    return pa.field(name, type_, nullable=not required, metadata={b"PARQUET:field_id": str(field_id).encode()})


ARROW_SCHEMA = pa.schema([arrow_field(name, type_, i + 1, required) for i, (name, _, type_, required) in enumerate(COLUMNS)])
COUNTRIES = np.array([f"{a}{b}" for a in "ABCDEFGH" for b in "KLMNOP"])
EVENTS = np.array(["view", "click", "purchase", "refund", "login", "logout", "signup", "error"])
URLS = np.array([f"/products/category-{i % 40}/item-{i:05d}?ref=home" for i in range(20_000)])
HEX = np.array([f"{i:04x}" for i in range(65_536)])


def decimals(unscaled, valid):
    """decimal(12, 2) from non-negative unscaled values."""
    words = np.stack([unscaled.astype(np.int64), np.zeros(len(unscaled), np.int64)], 1)
    buffers = [pa.py_buffer(np.packbits(valid, bitorder="little").tobytes()), pa.py_buffer(words.tobytes())]
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(unscaled), buffers)


def rows(first, count):
    """Rows `first`..`first + count`: sequential ids and times, skewed dictionaries, random numbers and text."""
    g = np.random.default_rng(first + 1)
    ids = np.arange(first, first + count, dtype=np.int64)
    times = 1_704_067_200_000_000 + ids * 250_000 + g.integers(0, 200_000, count)
    hexes = [HEX[g.integers(0, 65_536, count)] for _ in range(4)]
    payload = np.char.add(np.char.add(np.char.add(hexes[0], hexes[1]), np.char.add(hexes[2], hexes[3])), "-x")
    return pa.table([
        pa.array(ids), pa.array(times).cast(pa.timestamp("us", tz="UTC")), pa.array(g.integers(0, 2_000_000, count)),
        pa.array(COUNTRIES[np.minimum(g.exponential(8, count).astype(int), len(COUNTRIES) - 1)]),
        pa.array(EVENTS[g.choice(8, count, p=[.5, .25, .05, .01, .07, .06, .02, .04])]),
        pa.array(URLS[np.minimum((g.pareto(1.1, count) * 50).astype(int), 19_999)], mask=g.random(count) < 0.03),
        decimals(g.integers(100, 500_000, count), g.random(count) >= 0.05), pa.array(g.normal(0, 1, count)),
        pa.array(g.integers(0, 1024, count).astype("int32")), pa.array(payload)], schema=ARROW_SCHEMA)


def pairs(values):
    return [{"key": key, "value": value} for key, value in values.items()]


def data_file(path, metadata, first, count):
    """The manifest's `data_file` of a file that `rows(first, count)` went into."""
    group = metadata.row_group(0)
    chunks = [group.column(i) for i in range(group.num_columns)]
    as_long = lambda value: int(value).to_bytes(8, "little", signed=True)
    return {"content": im.DATA, "file_path": path, "file_format": "PARQUET", "record_count": count,
            "file_size_in_bytes": os.path.getsize(path),
            "column_sizes": pairs({i + 1: it.total_compressed_size for i, it in enumerate(chunks)}),
            "value_counts": pairs({i + 1: count for i in range(len(chunks))}),
            "null_value_counts": pairs({i + 1: it.statistics.null_count for i, it in enumerate(chunks)}),
            "lower_bounds": pairs({1: as_long(first)}), "upper_bounds": pairs({1: as_long(first + count - 1)}),
            "split_offsets": [4], "sort_order_id": 0}


def write_data(location, files, total):
    os.makedirs(f"{location}/data")
    each, written = total // files, []
    # One generator call makes many small files: the rows of a table do not depend on how it is cut.
    chunk = max(each, 25_000)
    for first in range(0, total, chunk):
        table = rows(first, chunk)
        for offset in range(0, chunk, each):
            path = f"{location}/data/{first + offset:08d}.parquet"
            with pq.ParquetWriter(path, ARROW_SCHEMA, compression="zstd", compression_level=3, version="2.6",
                                  store_decimal_as_integer=True) as out:
                out.write_table(table.slice(offset, each), row_group_size=each)
            written.append(data_file(path, pq.read_metadata(path), first + offset, each))
    return written


def delete_positions(index, count):
    """A tenth of `count` positions, sorted, different in each file."""
    return np.sort(np.random.default_rng(9_000_000 + index).choice(count, count // 10, replace=False))


def position_deletes(location, data):
    schema = pa.schema([arrow_field("file_path", pa.string(), 2147483546, True), arrow_field("pos", pa.int64(), 2147483545, True)])
    for index, it in enumerate(data):
        positions = delete_positions(index, it["record_count"])
        path = f"{location}/data/{index:05d}-deletes.parquet"
        table = pa.table([pa.array([it["file_path"]] * len(positions)), pa.array(positions)], schema=schema)
        pq.write_table(table, path, compression="zstd")
        bound = it["file_path"].encode()
        yield {"content": im.POSITION_DELETES, "file_path": path, "file_format": "PARQUET", "record_count": len(positions),
               "file_size_in_bytes": os.path.getsize(path), "lower_bounds": pairs({2147483546: bound}),
               "upper_bounds": pairs({2147483546: bound})}


def equality_deletes(location, total):
    schema = pa.schema([ARROW_SCHEMA.field("id")])
    keys = np.random.default_rng(77).permutation(total)[: total // 10].reshape(20, -1)
    for index, part in enumerate(keys):
        path = f"{location}/data/{index:05d}-equality.parquet"
        pq.write_table(pa.table([pa.array(np.sort(part))], schema=schema), path, compression="zstd")
        yield {"content": im.EQUALITY_DELETES, "file_path": path, "file_format": "PARQUET", "record_count": len(part),
               "file_size_in_bytes": os.path.getsize(path), "equality_ids": [1], "sort_order_id": 0}


def deletion_vectors(location, data):
    for start in range(0, len(data), 40):
        part = data[start:start + 40]
        positions = [delete_positions(start + i, it["record_count"]).tolist() for i, it in enumerate(part)]
        path = f"{location}/data/{start:05d}-deletes.puffin"
        places = im.write_puffin(path, list(zip([it["file_path"] for it in part], positions)))
        for it, deleted, (offset, length) in zip(part, positions, places):
            yield {"content": im.POSITION_DELETES, "file_path": path, "file_format": "PUFFIN", "record_count": len(deleted),
                   "file_size_in_bytes": os.path.getsize(path), "referenced_data_file": it["file_path"],
                   "content_offset": offset, "content_size_in_bytes": length}


def total_rows(variant, scale):
    files = FILES.get(variant, 400)
    return max(1, int(files * scale)) * (ROWS // files)


def live_rows(variant, total):
    return total if variant in ("base", "files-x10", "files-x100") else total - total // 10


def build(root, variant, scale=1.0):
    """Builds one table under `root`/`variant` unless it is there; `scale` shrinks rows and files alike."""
    location, catalog = f"{root}/{variant}", f"{root}/{variant}.db"
    if os.path.exists(catalog):
        return
    shutil.rmtree(location, ignore_errors=True)
    total = total_rows(variant, scale)
    files = total // (ROWS // FILES.get(variant, 400))
    writer = im.TableWriter(location, ICEBERG_SCHEMA, 3 if variant == "dv" else 2,
                            {"write.parquet.compression-codec": "zstd", "write.target-file-size-bytes": "536870912"})
    data = write_data(location, files, total)
    writer.commit(im.CONTENT_DATA, data, per_manifest=100)
    deletes = {"position": lambda: position_deletes(location, data), "equality": lambda: equality_deletes(location, total),
               "dv": lambda: deletion_vectors(location, data)}.get(variant)
    if deletes:
        writer.commit(im.CONTENT_DELETES, list(deletes()), per_manifest=100)
    writer.register(f"{catalog}.new", "bench")
    os.rename(f"{catalog}.new", catalog)
