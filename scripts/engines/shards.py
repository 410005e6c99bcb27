"""Runs the shards of a plan by 'prewarm shards plan' on an engine; ray_shards.py and spark_shards.py are the commands.

The plan, the job and the entries travel to a worker with its task, and its rows and report return as bytes. So the
machines share no folder; they need prewarm only. A finished shard isn't run again: repeat the command to resume.
"""
import argparse
import json
import os
import queue
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

ATTEMPTS = 6


class ShardError(Exception):
    """One attempt failed; the engine retries it."""


def run_shard(common, task, attempt=0):
    """Runs a shard on a worker. Returns its files, or the reason to stop everything; raises ShardError to be retried."""
    shard, node = task["shard"], socket.gethostname()
    prewarm = shutil.which(task["prewarm"])
    if not prewarm:
        return {"stop": f"cannot find '{task['prewarm']}' on {node}; install it there, or give its path with --prewarm"}
    try:
        # Each attempt gets the same folder, so that a retry on this node continues where the last one was killed.
        home = Path(tempfile.gettempdir(), f"prewarm-shards-{os.getuid()}")
        home.mkdir(mode=0o700, exist_ok=True)
        if home.stat().st_uid != os.getuid():
            raise PermissionError(f"{home} belongs to another user; remove it")
        folder = home / task["plan"] / str(shard)
        for name, data in {**common, **task["files"]}.items():
            write(folder / name, data)
        # This thread waits, so prewarm sees its death: Linux sends the signal when the thread that forked ends.
        command = [prewarm, "shards", "run", str(folder), str(shard), "--exit-with-parent", "--quiet", *task["options"]]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        message = run.stderr.decode(errors="replace").strip()
        if run.returncode == 3:
            return {"stop": f"shard {shard} on {node}: {message}"}
        if run.returncode:
            signalled = -run.returncode if run.returncode < 0 else 0
            end = f"was killed by {signal.Signals(signalled).name}" if signalled else f"exited with {run.returncode}"
            raise ShardError(f"prewarm {end} on {node}; {message.splitlines()[-1] if message else 'without a message'}")
        files = {name: (folder / name).read_bytes() for name in (f"done/{shard}.jsonl", f"done/{shard}.json")}
        shutil.rmtree(folder, ignore_errors=True)
        return {"files": files, "retried": attempt > 0}
    except OSError as error:
        raise ShardError(f"cannot run prewarm on {node}: {error}") from None


def write(path, data):
    """Writes a file that is either whole or absent, whenever this process is killed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(temporary, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def launch(description, connect):
    """Runs the command line; 'connect' gets the files of all shards and returns a call that runs a task on a worker."""
    own, options = sys.argv[1:], []
    if "--" in own:
        own, options = own[:own.index("--")], own[own.index("--") + 1:]
    parser = argparse.ArgumentParser(description=description, epilog="Options after -- are those of 'prewarm shards run'.")
    parser.add_argument("plan", type=Path, help="run this folder of 'prewarm shards plan'")
    parser.add_argument("--prewarm", default="prewarm", help="run this command, here and on workers (default: %(default)s)")
    parser.add_argument("--report", action="append", default=[], metavar="FORMAT=FILE", help="add a merged report")
    arguments = parser.parse_args(own)
    try:
        status = run_plan(arguments, options, connect)
    except KeyboardInterrupt:
        status = fail("interrupted; run the same command again to resume", 130)
    sys.exit(status)


def fail(message, status):
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)
    return status


def run_plan(arguments, options, connect):
    folder = arguments.plan
    try:
        plan = json.loads((folder / "plan.json").read_bytes())
        common = {path.name: path.read_bytes() for name in ("plan.json", "job.yaml", "baseline.*") for path in folder.glob(name)}
    except (OSError, ValueError) as error:
        return fail(f"cannot read plan '{folder}': {error}; make one with 'prewarm shards plan'", 3)
    if not shutil.which(arguments.prewarm):
        return fail(f"cannot find '{arguments.prewarm}'; install prewarm, or give its path with --prewarm", 3)
    sizes = [shard["entries"] for shard in plan["shards"]]
    missing = [shard for shard in range(1, len(sizes) + 1) if not (folder / f"done/{shard}.json").exists()]
    identity = re.sub(r"\W", "", f"{plan['job']['digest']}{plan['fingerprint']}")
    if missing:
        call, waiting, results = connect(common), queue.SimpleQueue(), queue.SimpleQueue()
        for shard in missing:
            waiting.put(shard)

        def work():
            while not waiting.empty():
                shard = waiting.get()
                try:
                    entries = f"entries/{shard}.tsv.gz"
                    results.put((shard, call({"shard": shard, "plan": identity, "prewarm": arguments.prewarm, "options": options,
                                              "files": {entries: (folder / entries).read_bytes()}})))
                except Exception as error:  # of any engine; the other shards continue
                    results.put((shard, {"failed": error}))

        # No more than the plan's workers at a time, since prewarm divided the job's rates by them.
        for _ in range(min(plan["workers"], len(missing))):
            threading.Thread(target=work, daemon=True).start()
    done, retried, failed, printed = set(range(1, len(sizes) + 1)) - set(missing), 0, 0, time.monotonic()
    for _ in missing:
        shard, result = results.get()
        if "stop" in result:
            return fail(result["stop"], 3)
        if "failed" in result:
            reason = re.findall("ShardError: (.+)", str(result["failed"]))[-1:] or str(result["failed"]).splitlines()[:1]
            failed += 1
            fail(f"shard {shard} failed in {ATTEMPTS} attempts: {''.join(reason)}; run the same command to try again", 1)
            continue
        for name, data in result["files"].items():  # the rows first: the JSON report marks the shard as done
            write(folder / name, data)
        done.add(shard)
        retried += result["retried"]
        if time.monotonic() - printed > 5 or len(done) + failed == len(sizes):
            printed = time.monotonic()
            entries = sum(sizes[shard - 1] for shard in done)
            print(f"{len(done)} of {len(sizes)} shards done, {entries:,} of {plan['entries']:,} entries, {retried} retried",
                  file=sys.stderr)
    reports = [word for report in arguments.report for word in ("--report", report)]
    return subprocess.run([arguments.prewarm, "shards", "merge", str(folder), *reports]).returncode
