"""Tables about where rows and files are: partition transforms and their evolution, locations, refs, metadata files."""
from world import collect

SHAPES = []
shape = collect(SHAPES)
CITY = "element_at(array('oslo', 'rome', 'lima'), cast(id % 3 as int) + 1)"


# ---- format version 1 ----

@shape("v1: twenty small files in twenty manifests", "B4", files=(20, 0, 0, 0), data=1)
def v1_small(w, name):
    w.create(name, "id bigint, city string, amount decimal(9,2), at timestamp", version=1)
    for at in range(20):
        w.insert(name, at * 15, at * 15 + 15, "id", CITY, "cast(id as decimal(9,2)) / 4", "timestamp '2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, cast(id as int))")


@shape("v1: a partition field was dropped, which leaves a void transform named like its column", "B2", files=(24, 0, 0, 0), data=8)
def v1_void(w, name):
    w.create(name, "id bigint, city string, v string", version=1, by="city, bucket(2, id)")
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "id", CITY, "concat('v', id)")
    w.sql(f"alter table db.{name} drop partition field city")
    for at in range(3, 6):
        w.insert(name, at * 60, at * 60 + 60, "id", CITY, "concat('v', id)")


# ---- transforms ----

@shape("truncated strings of several bytes a character, and truncated decimals, with NULLs", "C6", files=(18, 9, 0, 0), data=9)
def truncated(w, name):
    w.create(name, "id bigint, s string, p decimal(20,2)", by="truncate(2, s), truncate(50, p)", **{"write.delete.granularity": "partition"})
    for at in range(2):
        w.insert(name, at * 90, at * 90 + 90, "id", "element_at(array('éa', 'éab€', null, '😀x', '😀xyz'), cast(id % 5 as int) + 1)",
                 "element_at(array(cast(-0.01 as decimal(20,2)), cast(0.49 as decimal(20,2)), null), cast(floor(id / 5) % 3 as int) + 1)")
    w.sql(f"delete from db.{name} where id % 7 = 1")


@shape("truncated and bucketed binary, bucketed string, decimal and timestamp", "C6", files=(24, 0, 0, 0), data=12)
def bucketed(w, name):
    w.create(name, "id bigint, bin binary, s string, p decimal(18,4), at timestamp", by="truncate(1, bin), bucket(2, s), bucket(2, p), bucket(2, at)")
    for at in range(2):
        w.insert(name, at * 60, at * 60 + 60, "id", "unhex(element_at(array('ff00', 'ff01', '', '00'), cast(id % 4 as int) + 1))", "concat('s', id % 3)",
                 "cast(id % 5 as decimal(18,4)) / 8", "timestamp '2026-01-01 00:00:00' + make_interval(0, 0, 0, cast(id % 2 as int))")


@shape("years, then months, days and hours: four partition specs, before and after 1970", "B2", files=(17, 0, 0, 0), data=32, outcomes=["committed", "nothing_to_do"])
def calendar(w, name):
    w.create(name, "id bigint, at timestamp", by="years(at)")
    value = "timestamp '1969-12-30 21:30:00' + make_interval(0, 0, 0, cast(id % 4 as int), cast(3 * (floor(id / 4) % 2) as int))"
    w.insert(name, 0, 40, "id", value)
    for at, (old, new) in enumerate((("years", "months"), ("months", "days"), ("days", "hours")), 1):
        w.sql(f"alter table db.{name} replace partition field {old}(at) with {new}(at)")
        w.insert(name, at * 40, at * 40 + 40, "id", value)


@shape("partition values that paths have to escape, empty strings, NULLs; identity of date, boolean and decimal", "C6", files=(36, 6, 0, 0), data=18)
def escaped(w, name):
    w.create(name, "id bigint, s string, day date, flag boolean, p decimal(9,2)", by="s, day, flag, p", **{"write.delete.granularity": "partition"})
    for at in range(2):
        w.insert(name, at * 90, at * 90 + 90, "id", "element_at(array('a/b=c', 'é %41+', '', null, 'null', '__HIVE_DEFAULT_PARTITION__'), cast(id % 6 as int) + 1)",
                 "if(id % 3 = 0, null, date '1969-12-31')", "id % 2 = 0", "element_at(array(cast(-1.5 as decimal(9,2)), null, cast(0 as decimal(9,2))), cast(floor(id / 6) % 3 as int) + 1)")
    w.sql(f"delete from db.{name} where id % 9 < 3")


# ---- where files are ----

@shape("data files at write.data.path", "C1", files=(6, 6, 0, 0), data=2)
def data_path(w, name):
    w.create(name, "id bigint, v string", by="bucket(2, id)", **{"write.data.path": f"file:{w.root}/elsewhere/{name}", "write.delete.granularity": "file"})
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "id", "concat('v', id)")
    w.sql(f"delete from db.{name} where id % 8 = 3")


@shape("object storage layout with hashes in paths and without partition folders", "C1", files=(9, 0, 0, 9), data=3)
def object_storage(w, name):
    w.create(name, "id bigint, city string", version=3, by="city", **{"write.object-storage.enabled": "true", "write.object-storage.partitioned-paths": "false"})
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "id", CITY)
    w.sql(f"delete from db.{name} where id % 8 = 3")


@shape("gzipped metadata, and statistics in a Puffin file", "D7", files=(4, 0, 0, 0), data=1)
def gzip_metadata(w, name):
    w.create(name, "id bigint, v string", **{"write.metadata.compression-codec": "gzip"})
    for at in range(4):
        w.insert(name, at * 40, at * 40 + 40, "id", "concat('v', id % 30)")
    w.sql(f"call zoo.system.compute_table_stats('db.{name}')")


@shape("many manifests that the next commit merges", "D5 D6", files=(12, 11, 0, 0), data=4)
def manifests(w, name):
    w.create(name, "id bigint, v string", by="bucket(4, id)", **{"commit.manifest.min-count-to-merge": "2", "write.delete.granularity": "partition"})
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "id", "concat('v', id)")
        w.sql(f"delete from db.{name} where id % 9 = {at} and id >= {at * 60}")


@shape("a sort order that Spark followed, changed since", "C3", files=(6, 0, 0, 0), data=1)
def sorted_files(w, name):
    w.create(name, "id bigint, a string, b int")
    w.sql(f"alter table db.{name} write ordered by a desc nulls last, b")
    columns = ["id", "if(id % 7 = 0, null, concat('a', id % 5))", "cast(id * 7919 % 100 as int)"]
    for at in range(3):
        w.insert(name, at * 50, at * 50 + 50, *columns)
    w.sql(f"alter table db.{name} write ordered by b")
    for at in range(3, 6):
        w.insert(name, at * 50, at * 50 + 50, *columns)


# ---- refs ----

@shape("a branch that went its own way with deletion vectors, a tag before a schema change, on v3", "D1 X-1", files=(4, 0, 0, 4), data=1)
def refs(w, name):
    w.create(name, "id bigint, v string, n int", version=3)
    for at in range(2):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('v', id)", "cast(id as int)")
    w.sql(f"alter table db.{name} create tag before")
    w.sql(f"alter table db.{name} create branch audit")
    w.sql(f"insert into db.{name}.branch_audit select id, 'audit', 0 from range(1000, 1040, 1, 1)")
    w.sql(f"delete from db.{name}.branch_audit where id % 5 = 1")
    w.sql(f"alter table db.{name} alter column n type bigint")
    for at in range(2, 4):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('v', id)", "id + 5000000000")
    w.sql(f"delete from db.{name} where id % 10 = 6")
