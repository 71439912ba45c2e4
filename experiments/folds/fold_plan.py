"""Which clips each fold holds out, and which of the others choose the epoch. Clips of one source film stay together."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pipeline.core import InputError, UsageError, read_sealed_json, write_sealed_json
from pipeline.corpus import Corpus, Vocabulary, write_corpus, write_vocabulary

CHOOSING = 10  # one clip in so many of those that are learnt from chooses the epoch instead


@dataclass(frozen=True)
class Fold:
    """What is learnt from, what chooses the epoch, and what no model of the fold sees."""

    train: list[str]
    val: list[str]
    held_out: list[str]


def plan_folds(sources: Mapping[str, str], *, folds: int, seed: int) -> list[Fold]:
    """From clip -> source film. Folds are of equal size as far as films allow."""
    if not 2 <= folds <= len(set(sources.values())) // 2:
        raise UsageError(f"--folds is {folds}, allowed: 2 to half of the {len(set(sources.values()))} source films")
    parts = deal(sources, into=folds, seed=seed)
    found = []
    for held_out in parts:
        others = {clip: film for clip, film in sources.items() if clip not in set(held_out)}
        val, *train = deal(others, into=min(CHOOSING, len(set(others.values()))), seed=seed)
        if not train:
            raise UsageError("one film has so many clips that a fold has none to learn from", hint="use fewer --folds")
        found.append(Fold([clip for part in train for clip in part], val, held_out))
    return found


def deal(sources: Mapping[str, str], *, into: int, seed: int) -> list[list[str]]:
    """Whole films, the largest first and equal ones in a drawn order, each to the part that has the fewest clips."""
    films: dict[str, list[str]] = {}
    for clip in sorted(sources):
        films.setdefault(sources[clip], []).append(clip)
    drawn = list(films.values())
    random.Random(seed).shuffle(drawn)
    parts: list[list[str]] = [[] for _ in range(into)]
    for clips in sorted(drawn, key=len, reverse=True):
        min(parts, key=len).extend(clips)
    return parts


def source_of(stem: str) -> str:
    """MSVD's clips are called <film>_<start>_<end>; any other name is a film of its own."""
    match = re.fullmatch(r"(.+)_\d+_\d+", stem)
    return match[1] if match else stem


def kept_plan(path: Path, sources: Mapping[str, str], *, folds: int, seed: int) -> list[Fold]:
    """The plan that is written down; what was trained by one plan is never mixed with another's."""
    wanted = plan_folds(sources, folds=folds, seed=seed)
    content = {"seed": seed, "folds": [asdict(fold) for fold in wanted]}
    if not path.is_file():
        write_sealed_json(path, content)
    if read_sealed_json(path, hint="") != content:
        raise InputError(f"{path} is of other clips, another number of folds or another seed", hint="use another --out")
    return wanted


def write_fold(folder: Path, corpus: Corpus, fold: Fold, *, min_count: int) -> None:
    """A corpus without any caption of the clips that are held out, and the vocabulary of those that are learnt from."""
    seen = {clip: corpus.captions[clip] for clip in (*fold.train, *fold.val)}
    part = Corpus({"train": fold.train, "val": fold.val, "test": []}, seen)
    write_corpus(folder, part)
    write_vocabulary(folder / "vocabulary.json", Vocabulary.build(part.sentences("train"), min_count=min_count))


def clips_of(corpus: Corpus, files: Mapping[str, str]) -> dict[str, str]:
    """Clip -> source film, of training and validation alone: test clips have no part in anything."""
    return {clip: source_of(files.get(clip, clip)) for split in ("train", "val") for clip in corpus.splits[split]}
