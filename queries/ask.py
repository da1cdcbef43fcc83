#!/usr/bin/env python3
"""Asks recordings a question in SQL: ask.py duckdb|datafusion|spark QUERY.sql FOLDER

FOLDER holds recordings of `plimsoll analyze … --record FOLDER/NAME --record-transactions all`. The answer is CSV. Needs the Python
package of the engine (duckdb, datafusion, pyspark); Spark needs Java.
"""
import csv
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
TABLES = {"transactions": "transactions-*", "intervals": "intervals", "histograms": "histograms"}
HOUR, DAY = "%Y-%m-%d %H:00", "%Y-%m-%d"


def views(ns, text, quote):
    """The views in an engine's words: `ns` of a column, `text` of whole seconds in a format, and its quotes."""
    words = {name: quote + name + quote for name in ("group", "user", "count")}
    for name, column in (("sent", "request_first_ns"), ("ended", "response_last_ns"), ("start", "start_ns")):
        at = ns(column)
        seconds = f"({at} - {at} % 1000000000) / 1000000000"
        # 1970 began with a Thursday; weeks begin on Monday.
        monday = f"({at} - ({at} + 259200000000000) % 604800000000000) / 1000000000"
        words |= {name: at, f"{name}_hour": text(seconds, HOUR), f"{name}_day": text(seconds, DAY), f"{name}_week": text(monday, DAY)}
    said = re.sub(r"--.*", "", (HERE / "views.sql").read_text())
    return [view.format(**words) for view in said.split(";")]


def files(folder, pattern):
    found = sorted(map(str, pathlib.Path(folder).glob(f"**/level-*/{pattern}.parquet")))
    if not found:
        sys.exit(f"{folder}: no recording with {pattern}.parquet; record with --record-transactions all")
    return found


def duckdb(folder, query):
    import duckdb

    engine = duckdb.connect()
    for table, pattern in TABLES.items():
        engine.from_parquet(files(folder, pattern), union_by_name=True).create_view(f"recorded_{table}")
    text = lambda seconds, form: f"strftime(make_timestamp(cast({seconds} as bigint) * 1000000), '{form}')"
    for view in views(lambda column: f"epoch_ns({column})", text, '"'):
        engine.execute(view)
    answer = engine.execute(query)
    return [column[0] for column in answer.description], answer.fetchall()


def datafusion(folder, query):
    import datafusion
    import pyarrow.dataset

    engine = datafusion.SessionContext()
    for table, pattern in TABLES.items():
        engine.register_dataset(f"recorded_{table}", pyarrow.dataset.dataset(files(folder, pattern)))
    text = lambda seconds, form: f"to_char(to_timestamp_seconds(cast({seconds} as bigint)), '{form}')"
    for view in views(lambda column: f"cast({column} as bigint)", text, '"'):
        engine.sql(view).collect()
    answer = engine.sql(query)
    columns = answer.schema().names
    rows = [row for batch in answer.collect() for row in zip(*(column.to_pylist() for column in batch.columns))]
    return columns, rows


def spark(folder, query):
    import pyspark.sql

    # Two worker processes: what is merged has crossed between them.
    builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.legacy.parquet.nanosAsLong", "true").config("spark.sql.session.timeZone", "UTC")
    engine = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    for table, pattern in TABLES.items():
        engine.read.option("mergeSchema", "true").parquet(*files(folder, pattern)).createTempView(f"recorded_{table}")
    forms = {HOUR: "yyyy-MM-dd HH:00", DAY: "yyyy-MM-dd"}
    text = lambda seconds, form: f"date_format(timestamp_seconds(cast({seconds} as bigint)), '{forms[form]}')"
    for view in views(lambda column: column, text, "`"):
        engine.sql(view.replace("create view", "create temporary view"))
    answer = engine.sql(query)
    rows = [tuple(row) for row in answer.collect()]
    engine.stop()
    return answer.columns, rows


def main():
    engines = {"duckdb": duckdb, "datafusion": datafusion, "spark": spark}
    if len(sys.argv) != 4 or sys.argv[1] not in engines:
        sys.exit(__doc__)
    engine, query, folder = sys.argv[1:]
    columns, rows = engines[engine](folder, pathlib.Path(query).read_text())
    whole = lambda value: int(value) if isinstance(value, float) and value == int(value) else value
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([whole(value) for value in row] for row in rows)


main()
