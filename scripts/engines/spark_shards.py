#!/usr/bin/env python3
"""Runs the shards of a plan on a Spark cluster, merges their reports and exits as one run would.

  prewarm shards plan JOB.yaml --shards 256 --workers 16 --output PLAN
  spark-submit --master spark://HOST:7077 spark_shards.py PLAN [--report FORMAT=FILE]… [-- OPTION OF 'prewarm shards run'…]

A shard needs one slot of an executor (spark.task.cpus).
"""
import sys

from pyspark import SparkConf, SparkContext, TaskContext

import shards


def connect(common):
    # Half of the attempts may fail on one executor: a broken node is always the one that is free for a retry.
    half, exclude = str(shards.ATTEMPTS // 2), "spark.excludeOnFailure.task.maxTaskAttemptsPer"
    conf = SparkConf().setAppName("prewarm").set("spark.task.maxFailures", str(shards.ATTEMPTS))
    conf.set("spark.excludeOnFailure.taskAndStage.enabled", "true").set(exclude + "Executor", half).set(exclude + "Node", half)
    context = SparkContext(conf=conf)
    if context.getConf().get("spark.speculation", "false") == "true":
        sys.exit(shards.fail(3, "cannot run with spark.speculation=true: images would be requested twice; set it to false"))
    context.setLogLevel("OFF")
    context.addPyFile(shards.__file__)
    files = context.broadcast(common)

    def run(task):
        return shards.run_shard(files.value, task, TaskContext.get().attemptNumber())

    # One job per shard, so that a shard that fails for good doesn't abort the others.
    return lambda task: context.parallelize([task], 1).map(run).collect()[0]


if __name__ == "__main__":
    shards.launch(__doc__.splitlines()[0], connect)
