"""Readers of Iceberg tables that share no code with Firn: PyIceberg, DuckDB and, through Spark, Iceberg Java."""
import glob
import multiprocessing
import os
import shutil
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, TimeoutError
from concurrent.futures.process import BrokenProcessPool

import pyarrow as pa
import pyarrow.parquet as pq

from iceberg_meta import local
from rows import compare

TIMEOUT_S = 120


def failure(e):
    """One line that tells what went wrong; py4j hides it in the second one."""
    lines = [l.strip(": \t") for l in str(e).splitlines() if l.strip() and "An error occurred while calling" not in l]
    cause = [l for l in lines if l.startswith("Caused by:")]
    return f"{type(e).__name__}: {' / '.join(lines[:1] + cause[-1:])}"[:400]


# ---- in a process of its own, which may crash ----

def pyiceberg():
    from pyiceberg.table import StaticTable
    return lambda location: StaticTable.from_metadata(location).scan().to_arrow()


def duckdb():
    import duckdb as d
    import duckdb_extensions
    for e in ("avro", "iceberg"):
        duckdb_extensions.import_extension(e)

    def read(location):
        with d.connect(config={"allow_unsigned_extensions": "true"}) as con:  # an internal error spoils a connection
            con.execute("load avro; load iceberg; set timezone='UTC'")
            return con.execute(f"select * from iceberg_scan('{local(location)}')").to_arrow_table()
    return read


READERS = {"pyiceberg": pyiceberg, "duckdb": duckdb}
LOADED = {}


def read_other(name, location, path):
    if name not in LOADED:
        LOADED[name] = READERS[name]()
    try:
        return compare(LOADED[name](location), pq.read_table(path))
    except Exception as x:
        return "unsupported: " + failure(x)


class Engine:
    """One engine; `check` compares a table, at a metadata location, with the rows of a Parquet file."""

    def __init__(self, name):
        self.name, self.pool = name, None

    def check(self, location, path):
        self.pool = self.pool or ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))
        try:
            return self.pool.submit(read_other, self.name, location, path).result(timeout=TIMEOUT_S)
        except (BrokenProcessPool, TimeoutError) as x:
            self.close()
            return f"crashed: {type(x).__name__}"

    def close(self):
        if self.pool:
            for p in (self.pool._processes or {}).values():
                p.kill()
            self.pool.shutdown()
        self.pool = None


# ---- Iceberg Java ----

def spark_session(home, db, warehouse):
    """A local Spark with one JDBC catalog named `zoo` over the SQLite file `db`; `home` holds the jars."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession
    jars = sorted(glob.glob(f"{home}/jars/*.jar"))
    conf = {
        "spark.jars": ",".join(jars),
        "spark.driver.extraClassPath": ":".join(jars),
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.zoo": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.zoo.type": "jdbc",
        "spark.sql.catalog.zoo.uri": f"jdbc:sqlite:{db}?journal_mode=WAL&busy_timeout=10000",
        "spark.sql.catalog.zoo.clients": "1",
        "spark.sql.catalog.zoo.warehouse": warehouse,
        "spark.sql.catalog.zoo.cache-enabled": "false",
        "spark.sql.defaultCatalog": "zoo",
        "spark.sql.warehouse.dir": f"{tempfile.gettempdir()}/firn-spark-unused",
    }
    builder = SparkSession.builder.appName("firn-interop").master("local[2]")
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


class Spark:
    """Iceberg Java: Spark or, for types that Spark does not know, Iceberg's generic reader. Works on a copy of the catalog,
    so nothing can change."""

    def __init__(self, home, db):
        self.dir = tempfile.mkdtemp(prefix="verify")
        shutil.copy(db, f"{self.dir}/catalog.db")
        self.spark = spark_session(home, f"{self.dir}/catalog.db", f"file://{self.dir}/warehouse")
        self.spark.conf.set("spark.sql.parquet.compression.codec", "uncompressed")

    def arrow(self, df):
        out = f"{self.dir}/out"
        df.write.mode("overwrite").parquet(f"file://{out}")
        return pa.concat_tables([pq.read_table(f) for f in sorted(glob.glob(f"{out}/*.parquet"))])

    def read(self, entry, lineage=False, ref=None):
        if entry["reader"] == "java":
            path = f"{self.dir}/generic.parquet"
            self.spark._jvm.firn.IceTool.read(self.spark._jsparkSession, entry["name"], path)
            return pq.read_table(path)
        columns = "*, _row_id, _last_updated_sequence_number" if lineage else "*"
        return self.arrow(self.spark.sql(f"select {columns} from db.{entry['name']}" + (f" version as of '{ref}'" if ref else "")))

    def close(self):
        self.spark.stop()
        shutil.rmtree(self.dir, ignore_errors=True)
