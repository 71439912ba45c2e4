"""METEOR 1.5: one Java process that is asked over stdio and killed when it stops answering."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from pipeline.java import JavaError, JavaProcess, JavaRuntime
from pipeline.metrics.jars import METEOR, jar_path

TIMEOUT = 120.0  # seconds until the next answer; the first one waits for the paraphrase table to load
STATISTICS = 23  # numbers in the answer to a SCORE line


@contextmanager
def meteor_process(*, java: JavaRuntime, timeout: float = TIMEOUT) -> Iterator[Meteor]:
    """`with meteor_process(java=find_java()) as meteor: corpus, per_video = meteor.score(...)`."""
    # One thread scores; the default collector's helpers only take time from it.
    options = ["-Xmx2G", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8", "-jar", str(jar_path(METEOR))]
    command = [str(java.path), *options, "-", "-", "-stdio", "-l", "en", "-norm"]
    with JavaProcess(command, name="METEOR", timeout=timeout) as process:
        yield Meteor(process)


@dataclass(frozen=True)
class Meteor:
    process: JavaProcess

    def score(
        self, hypotheses: Mapping[str, str], references: Mapping[str, Sequence[str]]
    ) -> tuple[float, dict[str, float]]:
        """The corpus score, which comes from summed statistics and is not the mean, and every video's own."""
        statistics = self.statistics([(caption, references[video]) for video, caption in hypotheses.items()])
        corpus, segments = self.evaluate(statistics)
        return corpus, dict(zip(hypotheses, segments, strict=True))

    def statistics(self, pairs: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
        """One line of counts a (hypothesis, references) pair; lines of several processes may be put together."""
        self.process.ask(["SCORE ||| " + " ||| ".join(map(_words, (*refs, caption))) for caption, refs in pairs])
        return [self._numbers(count=STATISTICS) for _ in pairs]

    def evaluate(self, statistics: Sequence[str]) -> tuple[float, list[float]]:
        """(corpus, segments) from the lines that `statistics` gave."""
        if not statistics:
            return 0.0, []
        self.process.ask([" ||| ".join(["EVAL", *statistics])])
        segments = [float(self._numbers(count=1)) for _ in statistics]
        return float(self._numbers(count=1)), segments

    def _numbers(self, *, count: int) -> str:
        answer = self.process.answer().strip()
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
