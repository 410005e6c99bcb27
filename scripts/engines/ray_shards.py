#!/usr/bin/env python3
"""Runs the shards of a plan on a Ray cluster, merges their reports and exits as one run would.

  prewarm shards plan JOB.yaml --shards 256 --workers 16 --output PLAN
  RAY_ADDRESS=HOST:6379 python3 ray_shards.py PLAN [--report FORMAT=FILE]… [-- OPTION OF 'prewarm shards run'…]

Without RAY_ADDRESS, Ray uses this machine's cluster, or starts one on it. A shard needs one CPU of a node.
"""
import ray

import shards


def connect(common):
    ray.init(logging_level="ERROR", log_to_driver=False)
    ray.cloudpickle.register_pickle_by_value(shards)  # workers don't have this file
    files = ray.put(common)
    # SPREAD starts a retry on another node, if one has a free CPU.
    @ray.remote(num_cpus=1, max_retries=shards.ATTEMPTS - 1, retry_exceptions=[shards.ShardError], scheduling_strategy="SPREAD")
    def run(common, task):
        return shards.run_shard(common, task)

    return lambda task: ray.get(run.remote(files, task))


if __name__ == "__main__":
    shards.launch(__doc__.splitlines()[0], connect)
