"""What one command costs: a process of its own that says what it opened, wrote and held."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    wall: float
    processor: float
    read: int  # bytes of the files that were opened, each time: more than was read of those that are mapped
    written: int
    peak: int  # bytes of memory


# Runs a command line of ours, or a line of Python, and says at the end what it opened and wrote.
MEASURED = """
import json, os, sys
read = 0
def hear(event, arguments):
    global read
    if event == "open" and "r" in str(arguments[1]):
        try: read += os.stat(arguments[0]).st_size
        except OSError: pass
sys.addaudithook(hear)
what = sys.argv[1]
if what.startswith("framescribe "):
    from pipeline.cli import main
    code = main(what.split()[1:])
else:
    code = exec(what) or 0
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
written = next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("wchar"))
print(json.dumps([code, read, written, peak]), file=sys.stderr)
"""


def measured(what: str) -> Cost:
    """With local workers none: their interpreters would count as growth that is none."""
    arguments = f"{what} --quiet --profile one.yaml" if what.startswith("framescribe ") else what
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", MEASURED, arguments], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    code, *sizes = json.loads(told.splitlines()[-1]) if status == 0 else [status]
    if code:
        raise SystemExit(f"{what} ended with {code}\n{told}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, *sizes)
