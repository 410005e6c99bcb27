#!/usr/bin/env python3
# Checks the images of a Parquet table with the columns 'id' and 'url', and writes it with their results:
#
#   RAY_ADDRESS=HOST:6379 python3 table-ray.py INPUT OUTPUT
#
# INPUT and OUTPUT may be in any storage that Ray reads and writes. All URLs of a host are in one group, so limits per host hold.
import io
import json
import subprocess
import sys
import zlib
from urllib.parse import urlsplit

import pyarrow
import pyarrow.json
import ray

PREWARM = "prewarm run - --format jsonl --report jsonl=- --quiet --progress none --fail-on failures=never"
TEXTS, NUMBERS = ["id", "outcome", "kind", "message", "format"], ["status", "width", "height", "bytes"]
RESULTS = pyarrow.schema([(name, pyarrow.string()) for name in TEXTS] + [(name, pyarrow.int64()) for name in NUMBERS])
OPTIONS = pyarrow.json.ParseOptions(explicit_schema=RESULTS, unexpected_field_behavior="ignore")


def add_group(table):
    hosts = (urlsplit(url).netloc.lower() for url in table["url"].to_pylist())
    ids = table["id"].cast(pyarrow.string())
    return table.drop(["id"]).append_column("id", ids).append_column("group", [[zlib.crc32(host.encode()) % 64 for host in hosts]])


def check(table):
    lines = "".join(f"{json.dumps(row)}\n" for row in table.select(["id", "url"]).to_pylist())
    rows = subprocess.run(PREWARM.split(), input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout
    results = pyarrow.json.read_json(io.BytesIO(rows), parse_options=OPTIONS)
    return table.drop(["group"]).join(results, "id")


table = ray.data.read_parquet(sys.argv[1]).map_batches(add_group, batch_format="pyarrow")
table.groupby("group").map_groups(check, batch_format="pyarrow").write_parquet(sys.argv[2])
