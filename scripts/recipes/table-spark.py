#!/usr/bin/env python3
# Checks the images of a Parquet table with the columns 'id' and 'url', and writes it with their results:
#
#   spark-submit --master spark://HOST:7077 table-spark.py INPUT OUTPUT
#
# INPUT and OUTPUT may be in any storage that Spark reads and writes. All URLs of a host are in one partition, so limits per host hold.
import subprocess
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, lower, regexp_extract, struct, to_json

PREWARM = "prewarm run - --format jsonl --report jsonl=- --quiet --progress none --fail-on failures=never"
RESULTS = "id string, outcome string, kind string, message string, format string, status long, width long, height long, bytes long"


def check(rows):
    lines = "".join(f"{row[0]}\n" for row in rows)
    if lines:
        run = subprocess.run(PREWARM.split(), input=lines.encode(), stdout=subprocess.PIPE, check=True)
        yield from run.stdout.decode().splitlines()


spark = SparkSession.builder.appName("prewarm").getOrCreate()
table = spark.read.parquet(sys.argv[1]).withColumn("id", col("id").cast("string"))
host = lower(regexp_extract("url", "^[a-zA-Z]+://([^/?#]+)", 1))
rows = table.repartition(64, host).select(to_json(struct("id", "url"))).rdd.mapPartitions(check)
table.join(spark.read.schema(RESULTS).json(rows), "id", "left").write.parquet(sys.argv[2])
