"""The process that works on clips, one after the other, and can be killed at any moment with all that it started."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

PROGRAM = (sys.executable, "-m", "pipeline.live.job_child")
LAST_WORDS = 600  # characters of what it wrote before it died


class JobProcess:
    """In a session of its own, so that it goes with everything that it started, and not by the terminal's Ctrl-C."""

    def __init__(self, folder: Path) -> None:
        self._errors = tempfile.TemporaryFile("w+", dir=folder, errors="replace")  # noqa: SIM115 - closed with it
        self._process = subprocess.Popen(
            PROGRAM,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            start_new_session=True,
            env=os.environ | {"PYTHONPATH": _python_path(), "TMPDIR": str(folder)},
        )

    def alive(self) -> bool:
        return self._process.poll() is None

    def work(self, job: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """What it tells of the job; the last is `ended`, unless it died before."""
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(job) + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        for line in self._process.stdout:  # type: ignore[union-attr]
            if not line.endswith("\n"):  # it was killed as it wrote
                return
            told = json.loads(line)
            yield told
            if "ended" in told:
                return

    def kill(self) -> None:
        """From any thread, whatever it is doing."""
        if self.alive():
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def close(self) -> tuple[int, str]:
        """It is gone: with which code, and its last words."""
        self.kill()
        self._errors.seek(0)
        last_words = self._errors.read()[-LAST_WORDS:].strip()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]
        return self._process.returncode, last_words


def _python_path() -> str:
    root = str(Path(__file__).parents[2])
    return os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH")) if part)
