"""Tables with row-level deletes: what a delete reaches, and in which order."""
from world import collect

SHAPES = []
shape = collect(SHAPES)
CITY = "element_at(array('oslo', 'rome', 'lima', 'cairo'), cast(id % 4 as int) + 1)"
DAY = "timestamp '2026-03-01 06:00:00' + make_interval(0, 0, 0, cast(id % 3 as int))"
BY_FILE = {"write.delete.granularity": "file"}
BY_PARTITION = {"write.delete.granularity": "partition"}


def letters(low, high):
    return [{"id": i, "v": f"v{i}"} for i in range(low, high)]


# ---- position deletes ----

@shape("position deletes, one file for each data file; updates move rows to new files", "A2", files=(16, 12, 0, 0), data=4)
def pos_by_file(w, name):
    w.create(name, "id bigint, city string, n int", by="city", **BY_FILE)
    for at in range(3):
        w.insert(name, at * 80, at * 80 + 80, "id", CITY, "cast(id as int)")
    w.sql(f"delete from db.{name} where id % 5 = 2")
    w.sql(f"update db.{name} set n = -n where id % 7 = 3 and id < 90")


@shape("position deletes, one file for each partition, over several data files", "A2", files=(12, 6, 0, 0), data=3)
def pos_by_partition(w, name):
    w.create(name, "id bigint, at timestamp, n int", by="days(at)", **BY_PARTITION)
    for at in range(4):
        w.insert(name, at * 60, at * 60 + 60, "id", DAY, "cast(id as int)")
    w.sql(f"delete from db.{name} where id % 5 = 2")
    w.sql(f"delete from db.{name} where id % 11 = 4")


@shape("columns named like the columns of position deletes and of metadata", "A7", files=(3, 1, 0, 0), data=1)
def reserved_names(w, name):
    w.create(name, "pos bigint, file_path string, row string, content int", **BY_PARTITION)
    for at in range(3):
        w.insert(name, at * 50, at * 50 + 50, "id % 7", "concat('file:/data/', id)", "cast(id as string)", "cast(id as int)")
    w.sql(f"delete from db.{name} where content % 9 = 1")


@shape("files whose rows are all deleted", "C5", files=(3, 2, 0, 0), data=1)
def emptied(w, name):
    w.create(name, "id bigint, v string", **BY_FILE)
    for at in range(3):
        w.insert(name, at * 40, at * 40 + 40, "id", "concat('v', id)")
    w.sql(f"delete from db.{name} where id < 80 and concat(v, '') <> 'nothing'")  # bounds cannot tell, so no file is dropped whole


@shape("every row of the table is deleted", "C5", files=(2, 2, 0, 0), data=0)
def all_gone(w, name):
    w.create(name, "id bigint, v string", **BY_FILE)
    for at in range(2):
        w.insert(name, at * 40, at * 40 + 40, "id", "concat('v', id)")
    w.sql(f"delete from db.{name} where concat(v, '') <> 'nothing'")


# ---- equality deletes ----

@shape("equality deletes by one column; a deleted key comes back later; an upsert in one commit", "A3", files=(5, 0, 3, 0), data=1)
def eq_one(w, name):
    w.create(name, "id bigint, v string")
    for at in range(3):
        w.insert(name, at * 100, at * 100 + 100, "id", "concat('v', id)")
    w.equality(name, ["id"], [{"id": i} for i in (3, 50, 150, 299)])
    w.commit(name, rows=[{"id": 50, "v": "back"}])
    w.equality(name, ["id"], [{"id": 7}, {"id": 8}], rows=[{"id": 7, "v": "upserted"}])
    w.equality(name, ["id"], [{"id": 8}, {"id": 1000}])


@shape("equality deletes by three columns with NULLs in the keys, and by another column", "A3 A4", files=(3, 0, 3, 0), data=1)
def eq_many(w, name):
    w.create(name, "a int, b string, c date, v bigint")
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "cast(if(id % 4 = 0, null, id % 5) as int)", "if(id % 3 = 0, null, concat('b', id % 7))",
                 "if(id % 10 = 0, null, date_add(date '2026-01-01', cast(id % 2 as int)))", "id")
    keys = [{"a": None, "b": None, "c": None}, {"a": None, "b": "b4", "c": "2026-01-01"}, {"a": 1, "b": None, "c": "2026-01-02"}, {"a": 2, "b": "b3", "c": None}]
    w.equality(name, ["a", "b", "c"], keys)
    w.equality(name, ["b"], [{"b": "b5"}])
    w.equality(name, ["c", "a"], [{"c": "2026-01-02", "a": 3}, {"c": None, "a": 0}])


@shape("equality deletes by floating point: NaN, -0.0 apart from 0.0, infinity, NULL", "A4", files=(2, 0, 4, 0), data=1)
def eq_floats(w, name):
    w.create(name, "id bigint, d double, f float")
    value = "element_at(array({0}('NaN'), {0}('-0.0'), {0}('0.0'), {0}('Infinity'), {0}('-Infinity'), null, {0}('1.5')), cast(id % 7 as int) + 1)"
    other = value.replace("id % 7", "floor(id / 7) % 7")
    for at in range(2):
        w.insert(name, at * 98, at * 98 + 98, "id", value.format("double"), other.format("float"))
    w.equality(name, ["d"], [{"d": "NaN"}, {"d": "-0.0"}])
    w.equality(name, ["f"], [{"f": "NaN"}, {"f": "0.0"}])
    w.equality(name, ["d", "f"], [{"d": None, "f": "-Infinity"}, {"d": "1.5", "f": None}])
    w.equality(name, ["d", "f"], [{"d": "Infinity", "f": "-0.0"}])


@shape("equality deletes written before their columns were widened, and after", "A4 A6", files=(3, 0, 5, 0), data=1)
def eq_promoted(w, name):
    w.create(name, "id bigint, k int, f float, p decimal(9,2)")
    for at in range(2):
        w.insert(name, at * 100, at * 100 + 100, "id", "cast(id as int)", "cast(id as float) / 4", "cast(id as decimal(9,2)) / 4")
    w.equality(name, ["k"], [{"k": 11}, {"k": 150}])
    w.equality(name, ["f"], [{"f": "5.25"}, {"f": "0.1"}])
    w.equality(name, ["p"], [{"p": "7.75"}, {"p": "-1"}])
    for column, wide in (("k", "bigint"), ("f", "double"), ("p", "decimal(18,2)")):
        w.sql(f"alter table db.{name} alter column {column} type {wide}")
    w.insert(name, 200, 300, "id", "id + 5000000000", "double(id) / 4", "cast(id as decimal(18,2)) / 4")
    w.equality(name, ["k", "p"], [{"k": 5000000210, "p": "52.50"}, {"k": 40, "p": "10"}, {"k": 41, "p": "10"}])
    w.equality(name, ["f"], [{"f": "15.25"}, {"f": "62.75"}])


@shape("equality deletes by a column that was dropped since, and another of its name added", "A4", files=(3, 0, 2, 0), data=1,
       unreadable="Iceberg 1.10 throws a NullPointerException for an equality delete by a dropped column")
def eq_dropped(w, name):
    w.create(name, "id bigint, k int, v string")
    for at in range(3):
        w.insert(name, at * 50, at * 50 + 50, "id", "cast(if(id % 10 = 9, null, id % 10) as int)", "concat('v', id)")
        if at:
            w.equality(name, ["k"], [{"k": 3}, {"k": None}] if at == 1 else [{"k": 4}])
    w.remember(name, f"select id, v, cast(null as string) as k from db.{name}")
    w.sql(f"alter table db.{name} drop column k")
    w.sql(f"alter table db.{name} add column k string")


@shape("equality deletes by a nested column", "A4", files=(2, 0, 2, 0), data=1)
def eq_nested(w, name):
    w.create(name, "id bigint, info struct<key: int, more: struct<tag: string, n: bigint>>, tags array<string>")
    info = "if(id % 13 = 5, null, named_struct('key', cast(id % 20 as int), 'more', named_struct('tag', concat('t', id % 6), 'n', id)))"
    for at in range(2):
        w.insert(name, at * 80, at * 80 + 80, "id", info, "array('a', concat('b', id))")
    w.equality(name, ["info.key"], [{"info": {"key": 7}}, {"info": {"key": 8}}])
    w.equality(name, ["info.more.tag", "id"], [{"id": 12, "info": {"more": {"tag": "t0"}}}, {"id": 13, "info": {"more": {"tag": "t0"}}}])


@shape("global equality deletes, of the spec from before the table was partitioned", "A3 D4", files=(10, 0, 2, 0), data=8, merged=(5, 2))
def eq_global(w, name):
    w.create(name, "id bigint, city string, v string")
    w.insert(name, 0, 80, "id", CITY, "concat('v', id)")
    w.sql(f"alter table db.{name} add partition field city")
    for at in range(1, 3):
        w.insert(name, at * 80, at * 80 + 80, "id", CITY, "concat('v', id)")
    w.equality(name, ["id"], [{"id": i} for i in (5, 17, 85, 86, 170, 171)], spec=0)
    w.commit(name, spec=1, rows=[{"id": 85, "city": "rome", "v": "back"}])
    w.equality(name, ["v"], [{"v": "v9"}, {"v": "v99"}, {"v": "back"}], spec=0)


@shape("equality deletes of a partition, whose keys live in other partitions too", "A3", files=(12, 0, 3, 0), data=4)
def eq_by_partition(w, name):
    w.create(name, "id bigint, city string, v string", by="city")
    for at in range(3):
        w.insert(name, at * 80, at * 80 + 80, "id % 40", CITY.replace("id % 4", "floor(id / 20) % 4"), "concat('v', id)")
    w.equality(name, ["id"], [{"id": 5, "city": "oslo"}, {"id": 6, "city": "oslo"}, {"id": 25, "city": "rome"}, {"id": 5, "city": "lima"}])


# ---- deletion vectors and mixtures ----

@shape("several deletion vectors in one Puffin file, some replaced since", "A1", files=(6, 0, 0, 6), data=1)
def dv_shared(w, name):
    w.create(name, "id bigint, v string", version=3)
    for at in range(6):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('v', id)")
    w.sql(f"delete from db.{name} where id % 5 = 0")
    w.sql(f"delete from db.{name} where id between 40 and 120 and id % 2 = 1")


@shape("position deletes, equality deletes and, after an upgrade, deletion vectors", "A1 A2 A3", files=(10, 2, 4, 8), data=2)
def mixed_upgrade(w, name):
    w.create(name, "id bigint, v string, n int", by="bucket(2, id)", **BY_PARTITION)
    for at in range(3):
        w.insert(name, at * 60, at * 60 + 60, "id", "concat('v', id)", "cast(id as int)")
    w.sql(f"delete from db.{name} where id % 10 = 1")
    w.equality(name, ["id"], [{"id": i} for i in range(2, 180, 10)])
    w.set(name, **{"format-version": "3"})
    w.insert(name, 180, 240, "id", "concat('v', id)", "cast(id as int)")
    w.sql(f"delete from db.{name} where id % 10 = 3 and id < 120")
    w.equality(name, ["id"], [{"id": i} for i in range(4, 240, 10)])
    w.sql(f"update db.{name} set n = -n where id % 10 = 5 and id between 100 and 200")


@shape("deletes under an old partition spec and under the new one", "A2 B2", files=(14, 8, 0, 0), data=15)
def spec_evolved(w, name):
    w.create(name, "id bigint, city string, at timestamp", by="city", **BY_PARTITION)
    for at in range(2):
        w.insert(name, at * 60, at * 60 + 60, "id", CITY, DAY)
    w.sql(f"delete from db.{name} where id % 6 = 1")
    w.sql(f"alter table db.{name} replace partition field city with days(at)")
    for at in range(2, 4):
        w.insert(name, at * 60, at * 60 + 60, "id", CITY, DAY)
    w.sql(f"delete from db.{name} where id % 6 = 2")
    w.sql(f"delete from db.{name} where id % 6 = 3 and id < 200")


@shape("v3 after an earlier rewrite by Spark: row ids stored in some files, inherited in others", "C4", files=(4, 0, 0, 3), data=1)
def lineage(w, name):
    w.create(name, "id bigint, v string", version=3)
    for at in range(3):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('v', id)")
    w.sql(f"update db.{name} set v = concat(v, '!') where id % 10 = 3")
    w.sql(f"call zoo.system.rewrite_data_files(table => 'db.{name}', options => map('rewrite-all', 'true'))")
    for at in range(3, 5):
        w.insert(name, at * 50, at * 50 + 50, "id", "concat('v', id)")
    w.sql(f"merge into db.{name} t using (select id from range(140, 320, 9)) s on t.id = s.id "
          "when matched then update set v = concat(v, '?') when not matched then insert (id, v) values (s.id, 'new')")
    w.sql(f"delete from db.{name} where id % 25 = 4")
