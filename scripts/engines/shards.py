"""Runs the shards of a plan by 'prewarm shards plan' on an engine. The commands are ray_shards.py and spark_shards.py.

The plan, the job and the entries travel to a worker with its task, and its rows and report return as bytes. So machines
share no folder; they need only prewarm. Finished shards aren't run again: repeat the command to resume.
"""
import argparse
import hashlib
import json
import os
import queue
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ATTEMPTS = 6


class ShardError(Exception):
    """An attempt failed; the engine retries it."""


def run_shard(common, task, attempt=0):
    """Runs a shard on a worker. Returns its files, or the reason to stop everything; raises ShardError to be retried."""
    shard, node = str(task["shard"]), socket.gethostname()
    prewarm = shutil.which(task["prewarm"])
    if not prewarm:
        return {"stop": f"cannot find '{task['prewarm']}' on {node}; install it there, or give its path with --prewarm"}
    try:
        # All attempts of a shard use one folder, so that a retry on this node continues where the last one was killed.
        home = Path(tempfile.gettempdir(), f"prewarm-shards-{os.getuid()}")
        home.mkdir(mode=0o700, exist_ok=True)
        if home.stat().st_uid != os.getuid():
            raise PermissionError(f"{home} belongs to another user; remove it")
        folder = home / task["plan"] / shard
        for name, data in {**common, **task["files"]}.items():
            write(folder / name, data)
        # This thread waits, since Linux reports the end of a parent when the thread that forked ends.
        command = [prewarm, "shards", "run", str(folder), shard, "--exit-with-parent", "--quiet", *task["options"]]
        parent = {**os.environ, "PREWARM_PARENT": str(os.getpid())}  # which may end before prewarm can watch it
        run = subprocess.run(command, env=parent, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        status, message = run.returncode, run.stderr.decode(errors="replace").strip()
        if status == 3:
            return {"stop": f"shard {shard} on {node}: {message}"}
        if status:
            end = f"exited with {status}" if status > 0 else f"was killed by signal {-status}"
            raise ShardError(": ".join([f"prewarm {end} on {node}", *message.splitlines()[-1:]]))
        files = {name: (folder / name).read_bytes() for name in (f"done/{shard}.jsonl", f"done/{shard}.json")}
        shutil.rmtree(folder, ignore_errors=True)
        return {"files": files, "retried": attempt > 0}
    except OSError as error:
        raise ShardError(f"cannot run prewarm on {node}: {error}") from None


def write(path, data):
    """Writes a whole file, or none if this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def launch(description, connect):
    """Runs the command line. 'connect' gets the files that all shards need, and returns a call that runs a task on a worker."""
    sys.stdout = sys.stderr  # engines print messages there; standard output is for merged reports
    parser = argparse.ArgumentParser(description=description, epilog="Options after -- are those of 'prewarm shards run'.")
    parser.add_argument("plan", type=Path, help="run this folder of 'prewarm shards plan'")
    parser.add_argument("--prewarm", default="prewarm", help="run this command, here and on workers (default: %(default)s)")
    parser.add_argument("--report", action="append", default=[], metavar="FORMAT=FILE", help="write a merged report; repeatable")
    parser.error = lambda message: sys.exit(fail(3, message))  # 2 means too many failures
    end = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    arguments = parser.parse_args(sys.argv[1:end])
    try:
        status = run_plan(arguments, sys.argv[end + 1:], connect)
    except KeyboardInterrupt:
        status = fail(130, "interrupted; run the same command again to resume")
    os._exit(status)  # without waiting for threads whose tasks still run; the engine ends these with their launcher


def fail(status, message):
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    return status


def run_plan(arguments, options, connect):
    folder = arguments.plan
    try:
        plan = json.loads((folder / "plan.json").read_bytes())
        common = {path.name: path.read_bytes() for name in ("plan.json", "job.yaml", "baseline.*") for path in folder.glob(name)}
    except (OSError, ValueError) as error:
        return fail(3, f"cannot read plan '{folder}': {getattr(error, 'strerror', error)}; make one with 'prewarm shards plan'")
    if not shutil.which(arguments.prewarm):
        return fail(3, f"cannot find '{arguments.prewarm}'; install prewarm, or give its path with --prewarm")
    sizes = {shard: size["entries"] for shard, size in enumerate(plan["shards"], 1)}
    done = {shard for shard in sizes if (folder / f"done/{shard}.json").exists()}
    missing, results = [shard for shard in sizes if shard not in done], queue.SimpleQueue()
    call, waiting = connect(common) if missing else None, iter(missing)

    def work():
        for shard in waiting:
            try:
                files = {f"entries/{shard}.tsv.gz": (folder / f"entries/{shard}.tsv.gz").read_bytes()}
                task = {"plan": hashlib.sha256(common["plan.json"]).hexdigest(), "shard": shard, "files": files,
                        "prewarm": arguments.prewarm, "options": options}
                results.put((shard, call(task)))
            except Exception as error:  # of any engine; the other shards continue
                results.put((shard, {"failed": str(error)}))

    # No more than the plan's workers at a time, since prewarm divides the job's rates by them.
    for _ in range(plan["workers"]):
        threading.Thread(target=work, daemon=True).start()
    retried, printed = 0, time.monotonic()
    for left in range(len(missing) - 1, -1, -1):
        shard, result = results.get()
        if "stop" in result:
            return fail(3, result["stop"])
        if "failed" in result:
            reason = re.findall("ShardError: (.+)", result["failed"])[-1:] or result["failed"].splitlines()[:1]
            fail(1, f"shard {shard} failed in {ATTEMPTS} attempts: {''.join(reason)}; run the same command to try again")
        else:
            for name, data in result["files"].items():  # the rows first: the JSON report marks the shard as done
                write(folder / name, data)
            done.add(shard)
            retried += result["retried"]
        if not left or time.monotonic() - printed > 5:
            printed, entries = time.monotonic(), f"{sum(sizes[shard] for shard in done):,} of {sum(sizes.values()):,} entries"
            print(f"{len(done):,} of {len(sizes):,} shards done, {entries}, {retried:,} retried", file=sys.stderr)
    reports = [word for report in arguments.report for word in ("--report", report)]
    return subprocess.run([arguments.prewarm, "shards", "merge", str(folder), *reports]).returncode
