#!/usr/bin/env python3
"""Runs the shards of a plan on Celery workers: python3 shards-celery.py PLAN"""
# Set CELERY_BROKER_URL and CELERY_RESULT_BACKEND, such as redis://HOST, for this command and for the workers, which have this file
# and shards.py: celery --app shards-celery worker --concurrency 1
import sys
from pathlib import Path

from celery import Celery

sys.path.append(str(Path(__file__).resolve().parent.parent / "engines"))
import shards  # noqa: E402

app = Celery("shards-celery")
# Redis gives the shards of a lost machine to others after visibility_timeout: it must be longer than the longest shard.
app.conf.update(task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1,
                broker_transport_options={"visibility_timeout": 3600})


@app.task(bind=True, name="prewarm.shard", autoretry_for=[shards.ShardError], max_retries=shards.ATTEMPTS - 1, default_retry_delay=1)
def run(self, common, task):
    return shards.run_shard(common, task, self.request.retries)


if __name__ == "__main__":
    shards.launch(__doc__, lambda common: lambda task: run.delay(common, task).get())
