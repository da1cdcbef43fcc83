#!/usr/bin/env python3
"""Asks recordings a question in SQL: ask.py duckdb|datafusion|spark QUERY.sql FOLDER

FOLDER holds recordings of `plimsoll analyze … --record FOLDER/NAME`. A query of the table transactions needs recordings with
`--record-transactions all`. The answer is CSV. Needs the Python package of the engine (duckdb, datafusion, pyspark); Spark needs Java.
"""
import csv
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
TABLES = ("transactions", "intervals", "histograms")
HOUR, DAY = "%Y-%m-%d %H:00", "%Y-%m-%d"


def views(tables, has_schedule, ns, text, quote):
    """The views of these tables in an engine's words: `ns` of a column, `text` of whole seconds in a format, and its quotes."""
    words = {name: quote + name + quote for name in ("group", "user", "count")}
    for name, column in (("sent", "request_first_ns"), ("ended", "response_last_ns"), ("start", "start_ns")):
        at = ns(column)
        seconds = f"({at} - {at} % 1000000000) / 1000000000"
        # 1970 began with a Thursday; weeks begin on Monday.
        monday = f"({at} - ({at} + 259200000000000) % 604800000000000) / 1000000000"
        words |= {name: at, f"{name}_hour": text(seconds, HOUR), f"{name}_day": text(seconds, DAY), f"{name}_week": text(monday, DAY)}
    # Requests such as a new logon have no intended start.
    words["began"] = f"coalesce({ns('intended_ns')}, {words['sent']})" if has_schedule else words["sent"]
    said = without_comments((HERE / "views.sql").read_text())
    wanted = [view for view in said.split(";") if re.search(r"create view (\w+)", view).group(1) in tables]
    return [view.format(**words) for view in wanted]


def without_comments(sql):
    return re.sub(r"--.*", "", sql)


def recordings(folder):
    """Each recording below the folder with its manifest."""
    found = []
    for path in sorted(pathlib.Path(folder).rglob("manifest.json")):
        # The folder `replaced` has the recording that a new one is about to replace.
        if path.parent.name == "replaced" and (path.parent.parent / "manifest.json").exists():
            continue
        try:
            manifest = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"{path}: cannot read: {error}")
        if isinstance(manifest, dict) and str(manifest.get("schema")).startswith("plimsoll.recording/"):
            if "levels" not in manifest:
                sys.exit(f"{path}: another version of Plimsoll wrote this recording; record again")
            found.append((path.parent, manifest))
            if manifest["state"] != "finished":
                print(f"{path.parent}: the recording is not finished; the answer covers its finished levels", file=sys.stderr)
            validity = manifest.get("validity") or {"verdict": "valid"}
            if validity["verdict"] != "valid":
                first = "".join(letter if letter.isprintable() else " " for letter in (validity["reasons"] or ["no reason"])[0])
                print(f"{path.parent}: {validity['verdict'].upper()}: {first}", file=sys.stderr)
    if not found:
        sys.exit(f"{folder}: no recording; record with --record")
    return found


def facts(path, level):
    """The facts of a level of a run, which are in its folder if the manifest has no room for them; empty for a capture."""
    about = level.get("about")
    if level.get("about_apart"):
        file = path / level["folder"] / "about.json"
        try:
            about = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            sys.exit(f"{file}: cannot read: {error}")
    return (about or {}).get("about") or {}


def has_schedule(found, tables):
    """Whether response times begin at the intended start, as in the report; ends the program if only those of some levels do."""
    all_facts = (facts(path, level) for path, manifest in found for level in manifest["levels"])
    kinds = {one.get("asked_per_s") is not None for one in all_facts}
    if len(kinds) == 2:
        why = "some levels have a schedule (--rate, --users) and others do not, so their response times have different starts"
        if set(tables) - {"intervals"}:
            sys.exit(f"{why}; give a folder with levels of one kind")
        print(f"{why}; do not add them up", file=sys.stderr)
    return kinds == {True}


def refuse_copies(found):
    """Ends the program if a recording is also part of a merged one, or if two recordings are of the same capture."""
    seen = {}
    for path, manifest in found:
        times = [level[end] for level in manifest["levels"] for end in ("first_ns", "last_ns") if level[end] is not None]
        measured = manifest["measured"]
        captures = {(one["name"], one["bytes"]) for one in measured.get("captures", ()) if one["bytes"] is not None}
        # The same times are those of the same capture or run, whatever its name. A file of a chain may have no packets, and the times of
        # the files before it. --from and --to give captures of several servers the same times.
        filters = measured.get("source", {}).get("filters", ())
        is_cut = any(one.startswith(("--from ", "--to ")) for one in filters)
        same = {("times", min(times), max(times))} if times and not measured.get("link") and not is_cut else set()
        # A copied folder, also of a capture from standard input or of a part.
        itself = {("recording", manifest["started_ns"], *manifest["command"])}
        keys = others = captures | same | itself
        if measured["kind"] == "run":
            # The parts of a run are no copies of each other, but of the merged recording.
            part = any((path / level["folder"] / "part.zst").exists() for level in manifest["levels"])
            run = (measured["run"]["target"], measured["run"]["seed"])
            same = set() if part else same
            keys, others = {(part, *run)} | same | itself, {(not part, *run)} | same | itself
        for other, first, last in (one for key in others for one in seen.get(key, ()) if times):
            if min(times) <= last and first <= max(times):
                sys.exit(f"{path}: {other} has the same requests, which would count twice; give a folder without one of them")
        for key in keys if times else ():
            seen.setdefault(key, []).append((path, min(times), max(times)))


def files(found, table):
    """The files of a table: those of the levels that the manifests name."""
    files = []
    for path, manifest in found:
        policy = manifest["transactions"]
        if table == "transactions" and policy["one_in"] != 1:
            sys.exit(
                f"{path}: recorded with --record-transactions {policy['which']}, so the table transactions lacks requests; "
                "record again with --record-transactions all"
            )
        for level in manifest["levels"]:
            if not re.fullmatch(r"(level|so-far)-[0-9]{4,}", level["folder"]):
                sys.exit(f"{path}/manifest.json: invalid level folder {level['folder']!r}")
            # The results so far of a watch have their tables in the unfinished level.
            so_far = level["folder"].startswith("so-far-")
            inside = path / (f"level-{level['number']:04}.partial" if so_far else level["folder"])
            if table != "transactions":
                files.append(str(inside / f"{table}.parquet"))
                continue
            # A manifest may state any number of files: the folder decides.
            parts = sorted(inside.glob("transactions-[0-9]*.parquet"))[: level["parts"]]
            if len(parts) != level["parts"]:
                sys.exit(f"{inside}: expected {level['parts']} files transactions-NNNN.parquet, found {len(parts)}")
            files += map(str, parts)
    if not files:
        sys.exit(f"no recording has a row of the table {table}")
    return files


def duckdb(tables, query, has_schedule):
    import duckdb

    engine = duckdb.connect()
    for table, files in tables.items():
        engine.from_parquet(files, union_by_name=True).create_view(f"recorded_{table}")
    text = lambda seconds, form: f"strftime(make_timestamp(cast({seconds} as bigint) * 1000000), '{form}')"
    for view in views(tables, has_schedule, lambda column: f"epoch_ns({column})", text, '"'):
        engine.execute(view)
    answer = engine.execute(query)
    return [column[0] for column in answer.description], answer.fetchall()


def datafusion(tables, query, has_schedule):
    import datafusion
    import pyarrow.dataset

    engine = datafusion.SessionContext()
    for table, files in tables.items():
        engine.register_dataset(f"recorded_{table}", pyarrow.dataset.dataset(files))
    text = lambda seconds, form: f"to_char(to_timestamp_seconds(cast({seconds} as bigint)), '{form}')"
    for view in views(tables, has_schedule, lambda column: f"cast({column} as bigint)", text, '"'):
        engine.sql(view).collect()
    answer = engine.sql(query)
    columns = answer.schema().names
    rows = [row for batch in answer.collect() for row in zip(*(column.to_pylist() for column in batch.columns))]
    return columns, rows


def spark(tables, query, has_schedule):
    import pyspark.sql

    # Two worker processes: what is merged has crossed between them.
    builder = pyspark.sql.SparkSession.builder.master("local-cluster[2,1,1024]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.legacy.parquet.nanosAsLong", "true").config("spark.sql.session.timeZone", "UTC")
    engine = builder.config("spark.sql.shuffle.partitions", "4").getOrCreate()
    for table, files in tables.items():
        engine.read.option("mergeSchema", "true").parquet(*files).createTempView(f"recorded_{table}")
    forms = {HOUR: "yyyy-MM-dd HH:00", DAY: "yyyy-MM-dd"}
    text = lambda seconds, form: f"date_format(timestamp_seconds(cast({seconds} as bigint)), '{forms[form]}')"
    for view in views(tables, has_schedule, lambda column: column, text, "`"):
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
    query, found = pathlib.Path(query).read_text(), recordings(folder)
    refuse_copies(found)
    named = [table for table in TABLES if re.search(rf"\b{table}\b", without_comments(query), re.IGNORECASE)]
    columns, rows = engines[engine]({table: files(found, table) for table in named}, query, has_schedule(found, named))
    whole = lambda value: int(value) if isinstance(value, float) and value == int(value) else value
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([whole(value) for value in row] for row in rows)


main()
