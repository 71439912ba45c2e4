"""What scores are made with: tokeniser, Java, METEOR's processes, SPICE; opened once, recorded with every score."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from pipeline.core import HERE, Executor, MissingToolError, UsageError, file_sha256
from pipeline.corpus import references_sha256, tokenize as words_of
from pipeline.evaluation import python_tokenizer
from pipeline.evaluation.spice import JAR, MODELS, spice_folder
from pipeline.evaluation.tokenizer import tokenize
from pipeline.metrics import (
    METEOR,
    TOKENIZER,
    JavaRuntime,
    Meteor,
    find_java,
    jar_path,
    meteor_process,
    processes_worth,
)

Tokenizer = Literal["ptb", "python", "unicode", "none"]


@dataclass(frozen=True, kw_only=True)
class MetricSettings:
    tokenizer: Tokenizer = "ptb"
    meteor: bool = True
    spice: bool = False  # when its jar and models are there

    def __post_init__(self) -> None:
        if self.tokenizer not in (known := get_args(Tokenizer)):
            raise UsageError(f"tokenizer is {self.tokenizer!r}; allowed: {', '.join(known)}")
        if self.tokenizer == "unicode" and self.meteor:
            raise UsageError(
                "METEOR knows English words alone, and the tokenizer is 'unicode'",
                hint="evaluate.meteor: false in params.yaml, or --no-meteor",
            )


@dataclass(frozen=True)
class Toolkit:
    settings: MetricSettings
    java: JavaRuntime | None
    meteor: Meteor | None
    spice: Path | None  # the folder of its jar
    remarks: tuple[str, ...] = ()  # what was asked for and cannot be had
    executor: Executor = HERE  # of SPICE

    def tokenize(self, captions: Sequence[str]) -> list[str]:
        if self.settings.tokenizer == "ptb" and self.java:
            return tokenize(captions, java=self.java)
        if self.settings.tokenizer == "unicode":
            return [" ".join(words_of(caption, "unicode")) for caption in captions]
        return python_tokenizer.tokenize(captions) if self.settings.tokenizer == "python" else list(captions)

    def tokenize_groups(self, groups: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
        """All captions of all groups in one go."""
        lines = iter(self.tokenize([text for texts in groups.values() for text in texts]))
        return {group: [next(lines) for _ in texts] for group, texts in groups.items()}

    def provenance(self, references: Mapping[str, Sequence[str]]) -> dict[str, Any]:
        """What a score depends on beside the sentences."""
        counts = [len(texts) for texts in references.values()]
        return {
            "tokenizer": self.settings.tokenizer,
            "jars": {path.name: file_sha256(path) for path in self._jars()},
            "java": {"version": self.java.version, "source": self.java.source} if self.java else None,
            "videos": len(references),
            "references": sum(counts),
            "references_per_video": {"fewest": min(counts, default=0), "most": max(counts, default=0)},
            "references_sha256": references_sha256(references),
        }

    def _jars(self) -> Iterator[Path]:
        if self.settings.tokenizer == "ptb":
            yield jar_path(TOKENIZER)
        if self.settings.meteor:
            yield jar_path(METEOR)
        if self.spice:
            yield from (self.spice / name for name in (JAR, *MODELS))


@contextmanager
def open_toolkit(
    settings: MetricSettings, *, comparisons: int, processes: int | None = None, executor: Executor = HERE
) -> Iterator[Toolkit]:
    """METEOR's processes, as many as the comparisons are worth, load their tables while captions are tokenised."""
    spice, remarks = _spice(settings)
    java = _java(settings, spice=spice is not None)
    with ExitStack() as stack:
        meteor = None
        if settings.meteor and java:
            many = processes or processes_worth(comparisons, cores=len(os.sched_getaffinity(0)))
            meteor = stack.enter_context(meteor_process(java=java, processes=many))
        yield Toolkit(settings, java, meteor, spice, remarks, executor)


def _spice(settings: MetricSettings) -> tuple[Path | None, tuple[str, ...]]:
    if not settings.spice or settings.tokenizer == "unicode":  # it parses English
        return None, ()
    try:
        return spice_folder(), ()
    except MissingToolError as error:
        return None, (str(error),)


def _java(settings: MetricSettings, *, spice: bool) -> JavaRuntime | None:
    if settings.meteor or spice or settings.tokenizer == "ptb":
        return find_java()
    if settings.tokenizer in ("none", "unicode"):
        return None
    try:
        return find_java()  # not needed, but welcome: it says how far the Python tokeniser is off
    except MissingToolError:
        return None
