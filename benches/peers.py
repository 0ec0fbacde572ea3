"""One peer's compaction of the bench table, in a process of its own: peers.py NAME CATALOG_DB CATALOG_URI.

iceberg-compaction commits a snapshot; PyIceberg overwrites the table; DuckDB only writes the rows to one Parquet file, since it
cannot replace files, and is therefore measured without planning and commit."""
import os
import sqlite3
import sys


def metadata_location(database):
    with sqlite3.connect(database) as db:
        return db.execute("select metadata_location from iceberg_tables").fetchone()[0]


def iceberg_compaction(_, uri):
    from iceberg_compaction import Compaction, CompactionConfig, RestCatalog
    catalog = RestCatalog("bench", uri=uri, warehouse="bench")
    result = Compaction(catalog, "db.bench", CompactionConfig(strategy="full", target_file_size_bytes=512 * 1024 * 1024)).run()
    assert result is not None, "it saw no work"


def pyiceberg(database, _):
    from pyiceberg.catalog.sql import SqlCatalog
    table = SqlCatalog("bench", uri=f"sqlite:///{database}").load_table("db.bench")
    table.overwrite(table.scan().to_arrow())


def duckdb(database, _):
    import duckdb
    import duckdb_extensions
    for extension in ("avro", "iceberg"):
        duckdb_extensions.import_extension(extension)
    location = metadata_location(database)
    out = f"{os.path.dirname(os.path.dirname(location))}/data/duckdb.parquet"
    with duckdb.connect(config={"allow_unsigned_extensions": "true"}) as connection:
        connection.execute("load avro; load iceberg; set timezone='UTC'; set preserve_insertion_order=false")
        connection.execute(f"copy (select * from iceberg_scan('{location}')) to '{out}' (format parquet, compression zstd)")


if __name__ == "__main__":
    {"iceberg-compaction": iceberg_compaction, "pyiceberg": pyiceberg, "duckdb": duckdb}[sys.argv[1]](*sys.argv[2:])
