"""`framescribe serve` whose decoders let decord at every file first, so that real files hang and abort it."""

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.cli import main
from pipeline.decoding import guard
from pipeline.live import job_child, job_process

CHILD = Path(__file__).parents[1] / "decoding/reckless_child.py"

if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        guard.PROGRAM = (sys.executable, str(CHILD))
        job_child.main()
    else:
        job_process.PROGRAM = (sys.executable, __file__, "child")
        raise SystemExit(main(["serve", *sys.argv[1:]]))
