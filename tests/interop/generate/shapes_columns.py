"""Tables about columns: types, nesting, schema evolution, default values, files without field ids."""
from world import collect

SHAPES = []
shape = collect(SHAPES)
ADDED = ["summary total-files-size"]  # Java counts no bytes for the files that its add_files procedure adds
V3_TYPES = [("id", "long"), ("at", "timestamp_ns"), ("zoned", "timestamptz_ns"), ("v", "string")]
ALL_TYPES = [("id", "long"), ("flag", "boolean"), ("i", "int"), ("l", "long"), ("f", "float"), ("d", "double"), ("small", "decimal(7, 2)"),
             ("middle", "decimal(16, 4)"), ("large", "decimal(38, 10)"), ("day", "date"), ("clock", "time"), ("at", "timestamp"),
             ("zoned", "timestamptz"), ("s", "string"), ("u", "uuid"), ("fix", "fixed[5]"), ("bin", "binary")]


def all_types(i):
    """Row `i`: ordinary values, then the edges of every type, then NULLs."""
    edge = [
        {"flag": True, "i": -2**31, "l": -2**63, "f": "-3.4028235E38", "d": "-1.7976931348623157E308", "small": "-99999.99", "middle": "-999999999999.9999",
         "large": "-9999999999999999999999999999.9999999999", "day": "0001-01-01", "clock": "00:00:00", "at": "0001-01-01T00:00:00",
         "zoned": "0001-01-01T00:00:00+00:00", "s": "", "u": "00000000-0000-0000-0000-000000000000", "fix": "0000000000", "bin": ""},
        {"flag": False, "i": 2**31 - 1, "l": 2**63 - 1, "f": "1.4E-45", "d": "4.9E-324", "small": "99999.99", "middle": "999999999999.9999",
         "large": "9999999999999999999999999999.9999999999", "day": "9999-12-31", "clock": "23:59:59.999999", "at": "9999-12-31T23:59:59.999999",
         "zoned": "9999-12-31T23:59:59.999999+00:00", "s": "\U0010ffff\u00e9\ufffd", "u": "ffffffff-ffff-ffff-ffff-ffffffffffff", "fix": "ffffffffff", "bin": "ff00ff"},
        {"f": "NaN", "d": "-0.0", "small": "0", "middle": "0.0001", "large": "-0.0000000001"},
    ]
    usual = {"flag": i % 2 == 0, "i": i - 50, "l": i * 10**12, "f": str(i / 8), "d": str(-i / 3), "small": f"{i - 30}.25", "middle": f"{i}.{i:04}",
             "large": f"{i}00000000000.5", "day": f"2026-{i % 12 + 1:02}-{i % 28 + 1:02}", "clock": f"{i % 24:02}:30:00.{i:06}",
             "at": f"2026-01-01T{i % 24:02}:00:00.{i:06}", "zoned": f"1969-12-31T23:{i % 60:02}:00.{i:06}+00:00", "s": "ä" * (i % 20),
             "u": f"{i:08x}-0000-4000-8000-{i * 7919:012x}", "fix": f"{i:010x}", "bin": "ab" * (i % 30)}
    return {"id": i} | (edge[i % 20] if i % 20 < 3 else {} if i % 20 == 3 else usual)


@shape("every type of v2, with edges and NULLs", "A6 C2", files=(3, 3, 1, 0), data=1, reader="java")
def types(w, name):
    w.create_by_java(name, ALL_TYPES)
    for at in range(3):
        w.commit(name, rows=[all_types(i) for i in range(at * 40, at * 40 + 40)])
    w.commit(name, positions=[5, 21])
    keys = [all_types(i) for i in (30, 31, 50)]
    w.equality(name, ["l", "day", "at", "s"], keys)


@shape("timestamps of nanoseconds, partitioned by their hour", "A6 C6", files=(6, 0, 1, 6), data=2, reader="java")
def types_nano(w, name):
    w.create_by_java(name, V3_TYPES, version=3, by=[("at", "hour")])
    row = lambda i: {"id": i, "at": f"1969-12-31T{22 + i % 2}:59:59.{i * 999983 % 10**9:09}", "zoned": f"2026-03-01T10:00:00.{i:09}+00:00" if i % 7 else None, "v": f"v{i}"}
    for at in range(3):
        w.commit(name, rows=[row(i) for i in range(at * 40, at * 40 + 40)])
    w.commit(name, positions=[0, 7])
    w.equality(name, ["v", "id"], [row(i) for i in (22, 58)])


@shape("default values: initial defaults for old files, changed write defaults, a required column, deletes by a default", "A5", files=(3, 0, 2, 0), data=1)
def defaults(w, name):
    w.create(name, "id bigint, info struct<a: int>", version=3)
    w.insert(name, 0, 60, "id", "if(id % 10 = 0, null, named_struct('a', cast(id as int)))")
    added = [("n", "int", "7", True), ("f", "double", "-0.5", False), ("p", "decimal(9, 2)", '"12.30"', False), ("s", "string", '"none"', False),
             ("day", "date", '"2026-02-28"', False), ("at", "timestamp", '"2026-02-28T12:00:00.000001"', False),
             ("zoned", "timestamptz", '"2026-02-28T12:00:00.000001+00:00"', False), ("flag", "boolean", "true", False), ("bin", "binary", '"00FF10"', False)]
    for column, kind, value, required in added:
        w.tool("addColumn", name, None, column, kind, value, required)
    w.tool("addColumn", name, "info", "b", "string", '"nested"', False)
    w.tool("changeWriteDefault", name, "s", '"later"')
    full = {"n": 1, "f": "0.5", "p": "1.00", "s": "given", "day": "2026-01-01", "at": "2026-01-01T00:00:00", "zoned": "2026-01-01T00:00:00+00:00", "flag": False, "bin": ""}
    w.commit(name, rows=[{"id": i, "info": {"a": i, "b": None}} | full for i in range(60, 100)])
    w.commit(name, rows=[{"id": i, "info": None, "n": 7, "s": "later" if i % 2 else None} for i in range(100, 130)])
    w.equality(name, ["id", "s"], [{"id": i, "s": "none"} for i in (3, 61, 101)] + [{"id": 104, "s": None}])
    w.equality(name, ["id", "n"], [{"id": 5, "n": 7}, {"id": 62, "n": 7}])


@shape("structs, lists and maps that evolved at every depth", "A5 A6", files=(4, 4, 0, 0), data=1)
def nested_evolved(w, name):
    w.create(name, "id bigint, who struct<name: string, age: int, old: string>, events array<struct<kind: string, n: int>>, "
             "counts map<string, struct<n: int, gone: string>>, deep map<int, array<map<string, float>>>", **{"write.delete.granularity": "file"})
    low = ["id", "if(id % 9 = 0, null, named_struct('name', concat('n', id), 'age', cast(id as int), 'old', 'x'))",
           "if(id % 8 = 0, null, transform(sequence(1, cast(id % 4 as int) + 1), e -> named_struct('kind', concat('k', e), 'n', e)))",
           "if(id % 6 = 0, map(), map('a', named_struct('n', cast(id as int), 'gone', 'g'), concat('b', id), null))",
           "map(cast(id as int), array(map('x', cast(id as float) / 2), null, map()))"]
    for at in range(2):
        w.insert(name, at * 50, at * 50 + 50, *low)
    changes = ["rename column who.name to nick", "drop column who.old", "add column who.old bigint", "alter column who.age type bigint",
               "add column events.element.at timestamp after kind", "rename column events.element.n to m", "alter column events.element.m type bigint",
               "drop column counts.value.gone", "add column counts.value.at date", "alter column deep.value.element.value type double",
               "alter column events first"]
    for change in changes:
        w.sql(f"alter table db.{name} {change}")
    high = ["transform(sequence(1, cast(id % 3 as int) + 1), e -> named_struct('kind', 'new', 'at', timestamp '2026-01-01 00:00:01', 'm', 5000000000L + e))", "id",
            "named_struct('nick', concat('n', id), 'age', id + 5000000000, 'old', if(id % 2 = 0, null, id))",
            "map(concat('c', id), named_struct('n', cast(id as int), 'at', date '2026-05-05'))", "map(0, array(map('y', double(id) / 3)))"]
    for at in range(2, 4):
        w.insert(name, at * 50, at * 50 + 50, *high)
    w.sql(f"delete from db.{name} where id % 10 = 7")


@shape("columns renamed, swapped, reordered, dropped and added again under the old name", "A5", files=(4, 4, 0, 0), data=1)
def columns_moved(w, name):
    w.create(name, "id bigint not null, a string, b string, c int, d double", **{"write.delete.granularity": "file"})
    for at in range(2):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('a', id)", "concat('b', id)", "cast(id as int)", "double(id) / 2")
    for change in ("rename column a to t", "rename column b to a", "rename column t to b", "drop column c", "add column c int", "alter column d first",
                   "drop column d", "add column d string after id", "alter column id drop not null"):
        w.sql(f"alter table db.{name} {change}")
    for at in range(2, 4):
        w.insert(name, at * 50, at * 50 + 50, "if(id % 20 = 0, null, id)", "concat('d', id)", "concat('was b ', id)", "concat('was a ', id)", "cast(-id as int)")
    w.sql(f"delete from db.{name} where coalesce(id, 0) % 10 = 7")


@shape("files without field ids, by name mapping; columns renamed since", "A5", files=(4, 1, 0, 0), data=1, known=ADDED)
def migrated(w, name):
    w.create(name, "id bigint, v string, info struct<a: int, b: string>", **{"write.delete.granularity": "partition"})
    for at in range(3):
        path = w.parquet(name, f"select id, concat('v', id) v, named_struct('a', cast(id as int), 'b', 'x') info from range({at * 40}, {at * 40 + 40})")
    w.sql(f"call zoo.system.add_files(table => 'db.{name}', source_table => '`parquet`.`{path}`')")
    for change in ("rename column v to w", "rename column info.a to z", "add column x bigint", "drop column info.b"):
        w.sql(f"alter table db.{name} {change}")
    w.insert(name, 120, 160, "id", "concat('w', id)", "named_struct('z', -1)", "id")
    w.sql(f"delete from db.{name} where id % 20 = 7")


@shape("files of a folder layout: the partition column is not in them, and comes from the manifest", "A5", files=(9, 3, 0, 0), data=3, known=ADDED)
def migrated_folders(w, name):
    w.create(name, "id bigint, v string, day date", by="day", **{"write.delete.granularity": "partition"})
    for at in range(2):
        path = w.parquet(name, f"select id, concat('v', id) v, date_add(date '2026-01-01', cast(id % 3 as int)) day from range({at * 45}, {at * 45 + 45})", by=["day"])
    w.sql(f"call zoo.system.add_files(table => 'db.{name}', source_table => '`parquet`.`{path}`')")
    w.insert(name, 90, 135, "id", "concat('v', id)", "date_add(date '2026-01-01', cast(id % 3 as int))")
    w.sql(f"delete from db.{name} where id % 11 = 2")


@shape("timestamps as INT96, in files that Iceberg did not write", "A6", files=(3, 0, 1, 0), data=1, known=ADDED)
def migrated_int96(w, name):
    w.create(name, "id bigint, at timestamp, list array<timestamp>")
    w.spark.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    for at in range(2):
        value = "timestamp '1969-12-31 23:59:59.999999' + make_interval(0, 0, 0, cast(id * 400 as int), cast(id as int), 0, id / 7)"
        path = w.parquet(name, f"select id, if(id % 10 = 0, null, {value}) at, array({value}, null) list from range({at * 40}, {at * 40 + 40})")
    w.spark.conf.set("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    w.sql(f"call zoo.system.add_files(table => 'db.{name}', source_table => '`parquet`.`{path}`')")
    w.insert(name, 80, 120, "id", "timestamp '2026-01-01 00:00:00'", "array()")
    w.equality(name, ["id", "at"], [{"id": 100, "at": "2026-01-01T00:00:00+00:00"}, {"id": 10, "at": None}, {"id": 0, "at": "1969-12-31T23:59:59.999999+00:00"}])


@shape("strings and bytes beyond the length of bounds, in four codecs and four modes of metrics", "C2", files=(6, 0, 0, 0), data=1)
def metrics(w, name):
    modes = {"none": "none", "counts": "counts", "whole": "full", "short": "truncate(3)"}
    w.create(name, "id bigint, none string, counts string, whole string, short string, usual string, bin binary, edge string",
             **{f"write.metadata.metrics.column.{column}": mode for column, mode in modes.items()})
    long = "repeat(concat(char(97 + id % 5), 'é€😀'), 10)"
    for at, codec in enumerate(("zstd", "snappy", "gzip", "uncompressed", "zstd", "snappy")):
        w.set(name, **{"write.parquet.compression-codec": codec})
        w.insert(name, at * 30, at * 30 + 30, "id", *[long] * 5, "unhex(repeat('ff', 20))", "repeat(decode(unhex('f48fbfbf'), 'utf-8'), 20)")


@shape("many row groups and pages in a file, dictionaries that overflow, bloom filters", "C1", files=(3, 0, 1, 0), data=1)
def row_groups(w, name):
    w.create(name, "id bigint, word string, noise string", **{
        "write.parquet.row-group-size-bytes": "8192", "write.parquet.row-group-check-min-record-count": "50", "write.parquet.row-group-check-max-record-count": "100",
        "write.parquet.page-size-bytes": "1024", "write.parquet.page-row-limit": "40", "write.parquet.dict-size-bytes": "512",
        "write.parquet.bloom-filter-enabled.column.word": "true"})
    for at in range(3):
        w.insert(name, at * 700, at * 700 + 700, "id", "concat('w', id % 9)", "sha2(cast(id as string), 256)")
    w.equality(name, ["id"], [{"id": i} for i in range(0, 2100, 97)])
