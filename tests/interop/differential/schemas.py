"""Random Iceberg schemas, their evolution, partition specs, and rows full of edge cases. Everything follows from one `Random`."""
import copy
import datetime
import decimal
import uuid

import pyarrow as pa
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

from iceberg_meta import internal, wrapped

PRIMITIVES = ["boolean", "int", "long", "float", "double", "decimal(9, 2)", "decimal(18, 4)", "decimal(38, 10)", "date", "time",
              "timestamp", "timestamptz", "string", "uuid", "fixed[5]", "binary"]
WIDER = {"int": "long", "float": "double", "decimal(9, 2)": "decimal(20, 2)", "decimal(18, 4)": "decimal(30, 4)"}
TRANSFORMS = {
    "boolean": ["identity"], "int": ["identity", "bucket[3]", "truncate[10]"], "long": ["identity", "bucket[4]", "truncate[7]"],
    "decimal(9, 2)": ["identity", "bucket[2]"], "date": ["identity", "year", "month", "day", "bucket[3]"],
    "timestamp": ["year", "month", "day", "hour"], "timestamptz": ["day", "month", "bucket[2]"],
    "string": ["identity", "bucket[4]", "truncate[1]"], "uuid": ["bucket[3]"], "binary": ["bucket[2]", "truncate[1]", "identity"], "time": ["bucket[2]"],
}
UTC = datetime.timezone.utc


def is_primitive(t):
    return isinstance(t, str)


def decimal_of(t):
    precision, scale = t[8:-1].split(",")
    return int(precision), int(scale)


class Ids:
    """Field ids, never given twice."""

    def __init__(self):
        self.last = 0

    def next(self):
        self.last += 1
        return self.last


def random_type(rng, ids, depth=0):
    if depth < 2 and rng.random() < 0.2:
        shape = rng.choice(["struct", "list", "map"])
        if shape == "struct":
            return {"type": "struct", "fields": [random_field(rng, ids, f"s{i}", depth + 1) for i in range(rng.randint(1, 3))]}
        if shape == "list":
            element_id = ids.next()
            return {"type": "list", "element-id": element_id, "element": random_type(rng, ids, depth + 1), "element-required": False}
        key_id, value_id = ids.next(), ids.next()
        return {"type": "map", "key-id": key_id, "key": rng.choice(["int", "string", "date"]), "value-id": value_id,
                "value": random_type(rng, ids, depth + 1), "value-required": False}
    return rng.choice(PRIMITIVES)


def random_field(rng, ids, name, depth=0):
    field_id = ids.next()
    return {"id": field_id, "name": name, "required": depth == 0 and rng.random() < 0.15, "type": random_type(rng, ids, depth)}


def random_schema(rng, ids):
    key = {"id": ids.next(), "name": "k", "required": rng.random() < 0.5, "type": rng.choice(["int", "long", "string"])}
    names = rng.sample(["a", "b", "pos", "file_path", "_file", "Grün", "with space", "c"], rng.randint(1, 5))
    return [key] + [random_field(rng, ids, n) for n in names]


# ---- evolution ----

def evolve(rng, ids, fields, sources, version, counter):
    """One random change of a schema; columns that `sources` names are not dropped."""
    fields = copy.deepcopy(fields)
    change = rng.choice(["add", "add_nested", "drop", "rename", "widen", "widen", "reorder", "relax"])
    if change == "add":
        field = dict(random_field(rng, ids, f"n{counter}"), required=False)
        if version >= 3 and is_primitive(field["type"]) and field["type"] in DEFAULTS and rng.random() < 0.7:
            field["initial-default"] = field["write-default"] = DEFAULTS[field["type"]]
        fields.insert(rng.randint(0, len(fields)), field)
    elif change == "drop":
        free = [f for f in fields if f["id"] not in sources]
        if len(fields) > 1 and free:
            fields.remove(rng.choice(free))
    elif change == "rename":
        rng.choice(fields)["name"] = f"r{counter}"
    elif change == "reorder":
        rng.shuffle(fields)
    elif change == "relax":
        rng.choice(fields)["required"] = False
    else:
        below = [s for f in fields for s in structs(f["type"])]
        owners = [fields] + below if change == "widen" else below
        target = rng.choice(owners) if owners else None
        if target is not None and change == "add_nested":
            target.append(dict(random_field(rng, ids, f"m{counter}", 1)))
        for f in target or [] if change == "widen" else []:
            if is_primitive(f["type"]) and f["type"] in WIDER:
                f["type"] = WIDER[f["type"]]
                break
    return fields


def structs(t):
    """The field lists of every struct within a type."""
    if is_primitive(t):
        return []
    if t["type"] == "struct":
        return [t["fields"]] + [s for f in t["fields"] for s in structs(f["type"])]
    return [s for part in ("element", "value") if part in t for s in structs(t[part])]


DEFAULTS = {"int": 34, "long": 9007199254740993, "string": "dflt", "boolean": True, "double": 2.5, "date": "2024-02-29", "decimal(9, 2)": "12.34",
            "timestamp": "2024-01-01T00:00:00.000001", "uuid": "f79c3e09-677c-4bbd-a479-3f349cb785e7", "binary": "00ff"}


# ---- partition specs ----

def random_spec(rng, fields, ids):
    """Partition fields over primitive columns; sometimes none, sometimes all void."""
    chosen, names = [], set()
    if rng.random() < 0.25:
        return []
    for f in rng.sample(fields, min(len(fields), rng.randint(1, 2))):
        if is_primitive(f["type"]) and f["type"] in TRANSFORMS:
            transform = "void" if rng.random() < 0.15 else rng.choice(TRANSFORMS[f["type"]])
            field_id = 1000 + ids.next()
            chosen.append({"source-id": f["id"], "field-id": field_id, "name": f"p{field_id}", "transform": transform})
            names.add(f["name"])
    return chosen


def partition_value(transform, type_name, value):
    """The value of a partition field, in the form that Avro stores."""
    if transform == "void" or value is None:
        return None
    if transform == "identity":
        return value if isinstance(value, (bool, decimal.Decimal, str)) else internal(value)
    source = NestedField(field_id=1, name="x", type=type_name, required=False).field_type
    known = value if isinstance(value, (decimal.Decimal, str, uuid.UUID)) else internal(value)
    return wrapped(parse_transform(transform).transform(source)(known), result_type(transform, type_name))


def result_type(transform, type_name):
    if transform.startswith("bucket") or transform in ("year", "month", "hour", "void"):
        return "int"
    return "date" if transform == "day" else type_name


# ---- values ----

def value_of(rng, t, required=False):
    if not required and rng.random() < 0.15:
        return None
    if is_primitive(t):
        return primitive_of(rng, t)
    if t["type"] == "struct":
        return {f["name"]: value_of(rng, f["type"], f["required"]) for f in t["fields"]}
    if t["type"] == "list":
        return [value_of(rng, t["element"]) for _ in range(rng.randint(0, 3))]
    keys = {value_of(rng, t["key"], True) for _ in range(rng.randint(0, 3))}
    return [(k, value_of(rng, t["value"])) for k in sorted(keys)]


def primitive_of(rng, t):
    if t.startswith("decimal"):
        precision, scale = decimal_of(t)
        unscaled = rng.choice([0, 1, -1, 10 ** precision - 1, 1 - 10 ** precision, rng.randint(-3000, 3000)])
        return decimal.Decimal(unscaled).scaleb(-scale, decimal.Context(prec=60))
    few = rng.randint(0, 12)
    edge = rng.random() < 0.2
    day = datetime.date(2024, 1, 1) + datetime.timedelta(days=few * 9)
    # The smallest ints are left out by nine: truncated ones wrap around, and to another value once the column is widened.
    moment = datetime.datetime(2024, 1, 1, tzinfo=UTC) + datetime.timedelta(hours=few * 13, microseconds=few)
    return {
        "boolean": lambda: few % 2 == 0,
        "int": lambda: rng.choice([9 - 2 ** 31, 2 ** 31 - 1]) if edge else few,
        "long": lambda: rng.choice([-2 ** 63, 2 ** 63 - 1]) if edge else few,
        "float": lambda: rng.choice([float("nan"), -0.0, 0.0, float("inf"), float("-inf")]) if edge else few / 2,
        "double": lambda: rng.choice([float("nan"), -0.0, 0.0, float("inf"), float("-inf"), 5e-324]) if edge else few / 4,
        "date": lambda: datetime.date(1969, 12, few + 1) if edge else day,
        "time": lambda: datetime.time(few, few, few, few),
        "timestamp": lambda: (moment - datetime.timedelta(days=20000) if edge else moment).replace(tzinfo=None),
        "timestamptz": lambda: moment - datetime.timedelta(days=20000) if edge else moment,
        "string": lambda: rng.choice(["", "é" * 20, "\U0010ffff" * 9, "z" * 40, "\x00"]) if edge else f"v{few}",
        "uuid": lambda: uuid.UUID(int=few << 120 | few),
        "fixed[5]": lambda: bytes([few, 255, 0, few, 1]),
        "binary": lambda: rng.choice([b"", b"\xff" * 20]) if edge else bytes([few, few]),
    }[t]()


def row_of(rng, fields):
    return {f["name"]: value_of(rng, f["type"], f["required"]) for f in fields}


# ---- Arrow ----

def arrow_type(t, with_ids):
    if not is_primitive(t):
        if t["type"] == "struct":
            return pa.struct([arrow_field(f, with_ids) for f in t["fields"]])
        part = lambda name, nullable: arrow_field({"id": t[f"{name}-id"], "name": name, "required": not nullable, "type": t[name]}, with_ids)
        return pa.list_(part("element", True)) if t["type"] == "list" else pa.map_(part("key", False), part("value", True))
    if t.startswith("decimal"):
        return pa.decimal128(*decimal_of(t))
    return {"boolean": pa.bool_(), "int": pa.int32(), "long": pa.int64(), "float": pa.float32(), "double": pa.float64(), "date": pa.date32(),
            "time": pa.time64("us"), "timestamp": pa.timestamp("us"), "timestamptz": pa.timestamp("us", tz="UTC"), "string": pa.string(),
            "uuid": pa.binary(16), "fixed[5]": pa.binary(5), "binary": pa.binary()}[t]


def arrow_field(f, with_ids=True):
    metadata = {"PARQUET:field_id": str(f["id"])} if with_ids else None
    return pa.field(f["name"], arrow_type(f["type"], with_ids), not f["required"], metadata)


def plain(value):
    """`value` as pyarrow takes it."""
    if isinstance(value, uuid.UUID):
        return value.bytes
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, list):
        return [tuple(map(plain, v)) if isinstance(v, tuple) else plain(v) for v in value]
    return value


def arrow_table(fields, rows, with_ids=True):
    schema = pa.schema([arrow_field(f, with_ids) for f in fields])
    return pa.Table.from_arrays([pa.array([plain(r[f.name]) for r in rows], f.type) for f in schema], schema=schema)
