"""What the shapes are written with: Spark SQL, and the Java tool for the rest."""
import json
import os
from dataclasses import dataclass, field
from typing import Callable

MERGE_ON_READ = {f"write.{verb}.mode": "merge-on-read" for verb in ("delete", "update", "merge")}
OPTIONS = ("rewrite-all=true", "min-input-files=2")


@dataclass
class Shape:
    """One table: how it is written, what it then consists of, and what a compaction has to reach."""
    name: str
    note: str
    rule: str
    write: Callable
    files: dict
    reach: dict
    reader: str
    outcomes: list = field(default_factory=lambda: ["committed"])
    known: list = field(default_factory=list)
    unreadable: str = ""
    fault: str = ""


def collect(shapes):
    """A decorator that adds a function, named like its table, to `shapes`.

    `files` counts what the table consists of: data files, position deletes, equality deletes, deletion vectors. `data` is
    the number of data files that a rewrite of everything may leave, from the partitions that hold rows; None where it is
    not stated. `merged` is the same (data files, delete files) for a merge of small files, where it differs. `unreadable`
    says why Iceberg Java cannot read the untouched table, whose rows were then `remember`ed before; `known` are faults of it;
    `fault` says what Firn cannot do with the table yet, and its `outcomes` then hold nothing else."""
    def shape(note, rule, files, data, merged=None, reader="spark", **more):
        def add(write):
            kinds = dict(zip(("data", "position_deletes", "equality_deletes", "dvs"), files))
            reach = {OPTIONS[0]: (data, 0), OPTIONS[1]: merged or (data, 0)}
            shapes.append(Shape(write.__name__, note, rule, write, kinds, reach, reader, **more))
            return write
        return add
    return shape


class World:
    """A Spark session with one Iceberg catalog, in which every table is small and forgets old metadata files."""

    def __init__(self, reader, root):
        self.spark, self.reader, self.root = reader.spark, reader, root
        self.remembered = {}
        self.sql("create namespace if not exists db")

    def sql(self, statement):
        self.spark.sql(statement)

    @staticmethod
    def properties(version, more):
        return {"format-version": str(version), "write.metadata.delete-after-commit.enabled": "true",
                "write.metadata.previous-versions-max": "1", **MERGE_ON_READ, **more}

    def create(self, name, columns, version=2, by="", **more):
        """A table by Spark; `more` are table properties."""
        listed = ", ".join(f"'{k}'='{v}'" for k, v in self.properties(version, more).items())
        partitioned = f"partitioned by ({by})" if by else ""
        self.sql(f"create table db.{name} ({columns}) using iceberg {partitioned} tblproperties ({listed})")

    def set(self, name, **more):
        self.sql(f"alter table db.{name} set tblproperties ({', '.join(f'{k!r}={v!r}' for k, v in more.items())})")

    def insert(self, name, low, high, *columns):
        """Rows of one commit and, per partition, one file: expressions over `id` from `low` to below `high`."""
        self.sql(f"insert into db.{name} select {', '.join(columns)} from range({low}, {high}, 1, 1)")

    def tool(self, verb, name, *arguments):
        getattr(self.spark._jvm.firn.IceTool, verb)(self.spark._jsparkSession, name, *arguments)

    def create_by_java(self, name, fields, version=2, by=(), **more):
        """A table by the Java API: `fields` as (name, type), `by` as (column, transform)."""
        ids = {n: i for i, (n, _) in enumerate(fields, 1)}
        schema = {"type": "struct", "schema-id": 0, "fields": [{"id": ids[n], "name": n, "required": False, "type": t} for n, t in fields]}
        spec = {"spec-id": 0, "fields": [{"name": f"{n}_part", "transform": t, "source-id": ids[n], "field-id": i} for i, (n, t) in enumerate(by, 1000)]}
        self.tool("create", name, json.dumps(schema), json.dumps(spec), self.properties(version, more))

    def commit(self, name, **change):
        """One row delta, see `IceTool.commit`."""
        self.tool("commit", name, json.dumps(change))

    def equality(self, name, columns, keys, rows=(), **more):
        """A commit of equality deletes by `columns` and, in the same commit, of `rows`; a key is a dict with what partitions need too."""
        change = {"equality": [{"columns": columns, "keys": keys, **more}]}
        self.commit(name, **(change | ({"rows": list(rows)} if rows else {})))

    def remember(self, name, query):
        """Expected rows of a table that Iceberg Java will not be able to read once it is complete."""
        self.remembered[name] = self.reader.arrow(self.spark.sql(query))

    def parquet(self, folder, query, by=()):
        """Parquet files that know nothing of Iceberg: no field ids, at a place of their own."""
        path = os.path.join(self.root, "foreign", folder)
        frame = self.spark.sql(query).coalesce(1).write.mode("append")
        (frame.partitionBy(*by) if by else frame).parquet(f"file:{path}")
        return f"file:{path}"
