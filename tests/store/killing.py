"""`framescribe extract`, killed again and again: run as a program of its own, which forks the runs it kills.

Forking after the imports makes a run cheap, so that most of the kills meet work and not `import torch`.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import psutil

import pipeline.extraction.extract_video  # noqa: F401 - torch, once, before all the runs
from pipeline.cli import main
from pipeline.store import open_store
from pipeline.store_tools.verify_store import verify
from tests.store.making import TOY, add_toy_family, content

PARAMS = {"dataset": {"name": "demo", "videos": "videos", "annotations": "none"}, "extract": {"toy": TOY}, "train": {}}
STORE = Path("features/toy")
VICTIMS = ("all", "all", "main", "child")
PATIENCE = 180  # seconds after which a run says where it hangs, and ends


def start() -> int:
    """A run of the real command in a process group of its own."""
    process = os.fork()
    if process == 0:
        os.setpgid(0, 0)
        faulthandler.dump_traceback_later(PATIENCE, exit=True)
        os._exit(main(["extract", "toy", "--quiet", "--profile", "one.yaml"]))
    return process


def finish(process: int) -> int:
    """The exit code; negative for a signal."""
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status)


def undisturbed() -> tuple[dict[str, str], float]:
    """The bytes of a whole run, and how long one takes: of two, because the first may wait for a cold disk."""
    seconds = []
    for number in range(2):
        os.environ["FRAMESCRIBE_CACHE"] = f"cache-reference-{number}"
        started = time.monotonic()
        if finish(start()) != 0:
            raise SystemExit("the undisturbed run failed")
        seconds.append(time.monotonic() - started)
        reference = content(STORE)
        shutil.rmtree(STORE)
    return reference, min(seconds)


def kill(process: int, victim: str, numbers: random.Random) -> bool:
    """Whether there was something to kill."""
    try:
        children = psutil.Process(process).children(recursive=True)
        if psutil.Process(process).status() == psutil.STATUS_ZOMBIE:
            return False
        if victim == "child" and children:
            numbers.choice(children).kill()
        else:
            os.kill(process, signal.SIGKILL)
            for child in children if victim == "all" else []:
                child.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def require_readable_or_absent() -> None:
    """Whatever is there under the store's name is a whole store."""
    if STORE.exists():
        open_store(STORE)
        problems = verify(STORE)
        if problems:
            raise SystemExit(f"half a store: {problems}")


def entries() -> dict[str, int]:
    """What the cache has, by inode: an entry that is written again has another one."""
    found = Path(os.environ["FRAMESCRIBE_CACHE"]).glob("features/??/*")
    return {path.name: path.stat().st_ino for path in found}


def wait(process: int, seconds: float) -> None:
    """Until the time is up or the run has ended."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if os.waitid(os.P_PID, process, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return
        time.sleep(0.005)


def campaign(number: int, *, most: int, seconds: float, numbers: random.Random) -> int:
    """Runs with an empty cache at first, each killed at a random moment, until one ends by itself; the kills."""
    os.environ["FRAMESCRIBE_CACHE"] = f"cache-{number}"
    kills = 0
    while True:
        before = entries()
        process = start()
        wait(process, numbers.uniform(0, seconds))
        killed = kills < most and kill(process, numbers.choice(VICTIMS), numbers)
        kills += killed
        code = finish(process)
        if code != 0 and not killed:
            raise SystemExit(f"a run that nobody killed ended with {code}")
        require_readable_or_absent()
        if not before.items() <= entries().items():
            raise SystemExit("a finished video was computed again")
        if code == 0:
            return kills


def run(folder: Path, *, kills: int, seed: int) -> dict[str, object]:
    os.chdir(folder)
    add_toy_family()
    (folder / "params.yaml").write_text(json.dumps(PARAMS))
    (folder / "one.yaml").write_text("workers: 1\ndevice: cpu\n")
    numbers = random.Random(seed)
    reference, seconds = undisturbed()
    done, campaigns = 0, 0
    while done < kills:
        campaigns += 1
        done += campaign(campaigns, most=kills - done, seconds=seconds, numbers=numbers)
        if content(STORE) != reference:
            raise SystemExit(f"campaign {campaigns}: other bytes than undisturbed")
    left = [path.name for path in STORE.parent.iterdir()]
    unfinished = list(Path(os.environ["FRAMESCRIBE_CACHE"]).glob("features/unfinished/*"))
    return {"kills": done, "campaigns": campaigns, "left": left, "unfinished": len(unfinished)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(run(Path(sys.argv[1]), kills=int(sys.argv[2]), seed=int(sys.argv[3]))) + "\n")
