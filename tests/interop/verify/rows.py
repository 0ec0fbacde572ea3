"""Rows as comparable values, and tables as multisets of rows."""
import collections
import datetime
import decimal
import math
import uuid

import pyarrow as pa


def norm(v):
    if v is None or isinstance(v, (bool, int)):
        return repr(v)
    if isinstance(v, float):
        return "nan" if math.isnan(v) else repr(v)
    if isinstance(v, datetime.datetime):
        return (v.astimezone(datetime.timezone.utc).replace(tzinfo=None) if v.tzinfo else v).isoformat(timespec="microseconds")
    if isinstance(v, datetime.time):
        return v.isoformat(timespec="microseconds")
    if isinstance(v, (bytes, bytearray, memoryview)):
        return bytes(v).hex()
    if isinstance(v, decimal.Decimal):
        return format(v.normalize(decimal.Context(prec=60)) + 0, "f")
    if isinstance(v, dict):
        return "{" + ",".join(f"{k}:{norm(x)}" for k, x in sorted(v.items())) + "}"
    if isinstance(v, (list, tuple)):
        if v and all(isinstance(x, tuple) and len(x) == 2 for x in v):  # a map
            return "{" + ",".join(sorted(f"{norm(k)}:{norm(x)}" for k, x in v)) + "}"
        return "[" + ",".join(norm(x) for x in v) + "]"
    return str(v)  # str, date, UUID


def column(array):
    """Python values of a column; nanosecond timestamps as text, since Python has none."""
    if isinstance(array, list):
        return array
    t = array.type
    if isinstance(t, pa.BaseExtensionType):
        storage = pa.chunked_array([c.storage for c in array.chunks], t.storage_type)
        return [v and uuid.UUID(bytes=v) for v in storage.to_pylist()] if "uuid" in str(t) else column(storage)
    if pa.types.is_timestamp(t) and t.unit == "ns":
        epoch = datetime.datetime(1970, 1, 1)
        nanos = array.cast(pa.int64()).to_pylist()
        return [None if v is None else (epoch + datetime.timedelta(microseconds=v // 1000)).isoformat(timespec="microseconds") + f"{v % 1000:03}" for v in nanos]
    return array.to_pylist()


def rows(table, names):
    return collections.Counter(zip(*[map(norm, column(table[n])) for n in names])) if names else collections.Counter()


def compare(got, want):
    """OK, or how two Arrow tables differ as multisets of rows."""
    if sorted(got.column_names) != sorted(want.column_names):
        return f"DIFF columns {sorted(set(got.column_names) ^ set(want.column_names)) or 'repeat'}"
    names = sorted(want.column_names)
    a, b = rows(got, names), rows(want, names)
    if a == b:
        return "OK"
    extra, missing = a - b, b - a
    bad = [n for n in names if rows(got, [n]) != rows(want, [n])]
    return f"DIFF {sum(extra.values())} extra, {sum(missing.values())} missing of {want.num_rows}; columns {bad}; extra {next(iter(extra), None)}; missing {next(iter(missing), None)}"[:600]
