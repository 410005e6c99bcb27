#!/usr/bin/env python3
"""Runs the shards of a plan on a Dask cluster: DASK_SCHEDULER_ADDRESS=tcp://HOST:8786 python3 shards-dask.py PLAN"""
# Options and exit statuses are those of ray_shards.py. Start workers with one thread: dask worker HOST:8786 --nthreads 1
# A shard that kills its worker is retried as often as distributed.scheduler.allowed-failures says (3).
import sys
from pathlib import Path

from dask.distributed import Client

sys.path.append(str(Path(__file__).resolve().parent.parent / "engines"))
import shards  # noqa: E402


def connect(common):
    client = Client()
    client.upload_file(shards.__file__)
    return lambda task: client.submit(shards.run_shard, common, task, retries=shards.ATTEMPTS - 1, pure=False).result()


if __name__ == "__main__":
    shards.launch(__doc__, connect)
