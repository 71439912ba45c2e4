"""METEOR 1.5: Java processes that are asked over stdio and killed when they stop answering.

Sentences are counted by several processes where that is worth their tables' load; the corpus score comes from the
counts of all of them put together, so that it does not depend on their number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from pipeline.metrics.jars import METEOR, jar_path
from pipeline.metrics.java import JavaError, JavaProcess, JavaRuntime

TIMEOUT = 300.0  # seconds until the next answer; the first one waits for tables that a busy machine loads slowly
STATISTICS = 23  # numbers in the answer to a SCORE line
WORTH = 25_000  # pairs of sentences that take a process about as long as its tables take to load
MOST = 8  # processes; each holds about a gigabyte
Pair = tuple[str, Sequence[str]]  # a hypothesis and its references


@contextmanager
def meteor_process(*, java: JavaRuntime, processes: int = 1, timeout: float | None = None) -> Iterator[Meteor]:
    """`with meteor_process(java=find_java()) as meteor: corpus, per_video = meteor.score(...)`."""
    # One thread scores; the default collector's helpers only take time from it.
    options = ["-Xmx2G", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "-jar", str(jar_path(METEOR))]
    command = [str(java.path), *options, "-", "-", "-stdio", "-l", "en", "-norm"]
    with ExitStack() as stack:
        new = (JavaProcess(command, name="METEOR", timeout=timeout or TIMEOUT) for _ in range(processes))
        yield Meteor([stack.enter_context(process) for process in new])


def processes_worth(comparisons: int, *, cores: int) -> int:
    """How many processes end soonest: each must have more to count than it takes to load."""
    return max(1, min(cores, MOST, comparisons // WORTH))


@dataclass(frozen=True)
class Meteor:
    processes: Sequence[JavaProcess]

    def score(
        self, hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]
    ) -> tuple[float, dict[str, float]]:
        """The corpus score, which comes from summed statistics and is not the mean, and every video's own."""
        statistics = self.statistics([(caption, references[video]) for video, caption in hypotheses.items()])
        corpus, segments = self.evaluate(statistics)
        return corpus, dict(zip(hypotheses, segments, strict=True))

    def statistics(self, pairs: Sequence[Pair]) -> list[str]:
        """One line of counts per (hypothesis, references) pair, counted by all processes at once."""
        count = len(self.processes)
        with ThreadPoolExecutor(count) as pool:
            shares = [pool.submit(_count, process, pairs[n::count]) for n, process in enumerate(self.processes)]
            try:
                for share in as_completed(shares):
                    share.result()
            except JavaError:
                for process in self.processes:  # the others would be waited for, and for nothing
                    process.stop()
                raise
        lines = [""] * len(pairs)
        for n, share in enumerate(shares):
            lines[n::count] = share.result()
        return lines

    def evaluate(self, statistics: Sequence[str]) -> tuple[float, list[float]]:
        """(corpus, segments) from the lines that `statistics` gave."""
        if not statistics:
            return 0.0, []
        process = self.processes[0]
        process.ask([" ||| ".join(["EVAL", *statistics])])
        segments = [float(_numbers(process, count=1)) for _ in statistics]
        return float(_numbers(process, count=1)), segments


def _count(process: JavaProcess, pairs: Sequence[Pair]) -> list[str]:
    process.ask(["SCORE ||| " + " ||| ".join(map(_words, (*refs, caption))) for caption, refs in pairs])
    return [_numbers(process, count=STATISTICS) for _ in pairs]


def _numbers(process: JavaProcess, *, count: int) -> str:
    answer = process.answer().strip()
    if len(answer.split()) != count or not all(map(_is_number, answer.split())):
        raise JavaError(f"METEOR printed {answer[:200]!r} where {count} numbers were due")
    return answer


def _words(caption: str) -> str:
    """Neither the field separator nor a line break may come from a caption."""
    return " ".join(caption.replace("|||", " ").split())


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
