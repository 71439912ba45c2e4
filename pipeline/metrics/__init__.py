"""The door to scoring: `score(hypotheses, references)` by coco-caption's conventions.

`CaptionScorer` is for those who score several sets of hypotheses against the same tokenised references.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pipeline.errors import InputError

if TYPE_CHECKING:
    from pipeline.java import JavaRuntime
    from pipeline.metrics.meteor import Meteor

NAMES = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D")
Tokenizer = Literal["ptb", "none"]
SHOWN = 3  # ids that an error names


@dataclass(frozen=True)
class Scores:
    """Fractions; CIDEr-D on coco-caption's own scale (0.6, not 60)."""

    corpus: dict[str, float]
    per_video: dict[str, dict[str, float]]
    provenance: dict[str, Any] = field(default_factory=dict)


def score(
    hypotheses: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    *,
    meteor: bool = True,
    tokenizer: Tokenizer = "ptb",
) -> Scores:
    """All metrics of one sentence a video; `tokenizer="none"` takes words that are tokenised already."""
    check_ids(hypotheses, references)
    java = _java_for(meteor=meteor, tokenizer=tokenizer)
    if tokenizer == "ptb" and java:
        together = {video: [hypotheses[video], *texts] for video, texts in references.items()}
        tokenized = tokenize_groups(together, java=java)
        hypotheses = {video: tokenized[video][0] for video in hypotheses}
        references = {video: tokenized[video][1:] for video in references}
    with open_meteor(java if meteor else None) as process:
        scores = CaptionScorer(references, meteor=process).score(hypotheses)
    return Scores(
        scores.corpus, scores.per_video, provenance(references, tokenizer=tokenizer, meteor=meteor, java=java)
    )


class CaptionScorer:
    """Everything about the references is computed once."""

    def __init__(self, references: Mapping[str, Sequence[str]], *, meteor: Meteor | None) -> None:
        from pipeline.metrics.bleu import BleuScorer
        from pipeline.metrics.cider import CiderScorer
        from pipeline.metrics.ngrams import NgramIndex
        from pipeline.metrics.rouge import RougeScorer

        index = NgramIndex(references)
        self._references, self._meteor = references, meteor
        self._bleu, self._rouge, self._cider = BleuScorer(index), RougeScorer(references), CiderScorer(index)

    def score(self, hypotheses: Mapping[str, str]) -> Scores:
        """Tokenised hypotheses for any of the videos."""
        bleu, bleu_each = self._bleu.score(hypotheses)
        columns: dict[str, tuple[float, Mapping[str, float]]] = {
            f"BLEU-{n + 1}": (bleu[n], {video: values[n] for video, values in bleu_each.items()}) for n in range(4)
        }
        if self._meteor:
            columns["METEOR"] = self._meteor.score(hypotheses, self._references)
        columns |= {"ROUGE-L": self._rouge.score(hypotheses), "CIDEr-D": self._cider.score(hypotheses)}
        corpus = {name: whole for name, (whole, _) in columns.items()}
        each = {video: {name: scores[video] for name, (_, scores) in columns.items()} for video in hypotheses}
        return Scores(corpus, each)


def check_ids(hypotheses: Mapping[str, Any], references: Mapping[str, Sequence[Any]]) -> None:
    """Every video needs one sentence and at least one reference."""
    problems = [
        _say("without a sentence", references.keys() - hypotheses.keys()),
        _say("without references", hypotheses.keys() - references.keys()),
        _say("with an empty list of references", {video for video, texts in references.items() if not texts}),
    ]
    if any(problems):
        raise InputError("sentences and references are not of the same videos: " + "; ".join(filter(None, problems)))
    if not hypotheses:
        raise InputError("there is no sentence to score")


def _say(what: str, videos: set[str]) -> str:
    if not videos:
        return ""
    shown = ", ".join(sorted(videos)[:SHOWN])
    return f"{len(videos)} {what} ({shown}{', ...' if len(videos) > SHOWN else ''})"


def tokenize_groups(groups: Mapping[str, Sequence[str]], *, java: JavaRuntime) -> dict[str, list[str]]:
    """All captions of all groups by one Java process."""
    from pipeline.metrics.tokenizer import tokenize

    lines = iter(tokenize([text for texts in groups.values() for text in texts], java=java))
    return {group: [next(lines) for _ in texts] for group, texts in groups.items()}


def open_meteor(java: JavaRuntime | None) -> AbstractContextManager[Meteor | None]:
    """METEOR's process, or nothing when there is no runtime to use."""
    from pipeline.metrics.meteor import meteor_process

    return meteor_process(java=java) if java else nullcontext()


def _java_for(*, meteor: bool, tokenizer: Tokenizer) -> JavaRuntime | None:
    from pipeline.java import find_java

    return find_java() if meteor or tokenizer == "ptb" else None


def provenance(
    references: Mapping[str, Sequence[str]], *, tokenizer: Tokenizer, meteor: bool, java: JavaRuntime | None
) -> dict[str, Any]:
    """What a score depends on beside the sentences."""
    from pipeline.hashing import file_sha256
    from pipeline.metrics.jars import METEOR, TOKENIZER, jar_path

    jars = [TOKENIZER] * (tokenizer == "ptb") + [METEOR] * meteor
    return {
        "tokenizer": tokenizer,
        "jars": {name.rpartition("/")[2]: file_sha256(jar_path(name)) for name in jars},
        "java": {"version": java.version, "source": java.source} if java else None,
        "videos": len(references),
        "references": sum(len(texts) for texts in references.values()),
    }
