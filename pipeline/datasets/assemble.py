"""The stage `assemble`: captions, splits and vocabulary, for the videos that the index really has."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from pipeline.core import (
    Changes,
    Console,
    InputError,
    TooManyFailedError,
    named,
    no_changes,
    unchanged,
    write_sealed_json,
)
from pipeline.corpus import Corpus, Vocabulary, Words, tokenize, told_subset, write_corpus, write_vocabulary
from pipeline.datasets.annotations import Annotations
from pipeline.datasets.kept_words import require_words, told_cut
from pipeline.datasets.loading import load_annotations
from pipeline.datasets.matching import Match, match_videos, require_match
from pipeline.datasets.subset import fill_empty_splits, moved
from pipeline.index import read_index
from pipeline.params import Assemble, Dataset, Subset
from pipeline.store import MANIFEST, VideoFeatures, open_store, rows_of, write_store

CATEGORIES = Path("features/category")


def assemble_captions(
    *,
    dataset: Dataset,
    index: Path,
    store: Path | None = None,
    out: Path,
    categories: Path | None = None,
    params: Assemble,
    max_failed: int = 0,
    console: Console,
    in_use: Changes = no_changes,
) -> dict[str, Any]:
    """Write captions, vocabulary and statistics into `out`, and the store of classes; return the statistics."""

    with unchanged([Path(dataset.annotations), store / MANIFEST if store else index], values=in_use) as inputs:
        corpus, statistics, vocabulary = _assembled(
            dataset, index=index, store=store, params=params, max_failed=max_failed, console=console
        )
        inputs.require_unchanged()
        write_corpus(out, corpus)
        write_vocabulary(out / "vocabulary.json", vocabulary)
        write_sealed_json(out / "statistics.json", statistics)
        if categories is not None:
            _write_categories(categories, corpus.categories)
    _show(statistics, console)
    return statistics


def _assembled(
    dataset: Dataset, *, index: Path, store: Path | None, params: Assemble, max_failed: int, console: Console
) -> tuple[Corpus, dict[str, Any], Vocabulary]:
    annotations = load_annotations(dataset)
    good, bad = _in_store(store) if store else _in_index(index)
    match = match_videos(annotations, [*good, *bad])
    where = f"{dataset.annotations} and {store or index}"
    require_match(match, annotations, dataset=dataset, where=where)
    unusable = [id_ for ids in annotations.splits.values() for id_ in ids if match.files.get(id_) in bad]
    _allow_unusable(unusable, max_failed=max_failed, console=console)
    corpus = _corpus(annotations, match, unusable=set(unusable), subset=dataset.subset, words=params.words)
    if cut := told_cut(corpus.captions, words=corpus.words):
        console.say(cut)
    vocabulary = Vocabulary.build(corpus.sentences("train"), min_count=params.min_count, words=corpus.words)
    statistics = _statistics(corpus, vocabulary, max_words=params.max_words) | {
        "captions_without_video": len(match.without_video),
        "videos_without_captions": len(match.without_captions),
        "could_not_be_decoded": len(unusable),
    }
    if dataset.subset:
        statistics["subset"] = {**dataset.subset.model_dump(), "moved": len(corpus.moved)}
    return corpus, statistics, vocabulary


def _write_categories(folder: Path, categories: dict[str, str]) -> None:
    """One row per video, one-hot: the class that the data set gives the whole video. Empty where it gives none."""
    import numpy as np

    names = sorted(set(categories.values()), key=lambda name: (len(name), name))  # 9 before 10
    one_hot = dict(zip(names, np.eye(len(names), dtype=np.float32), strict=True))
    videos = {
        id_: VideoFeatures(tensors={"label": one_hot[name][None]}, rows=rows_of(1)) for id_, name in categories.items()
    }
    write_store(folder, videos, fingerprint={"extractor": "category", "classes": names})


def _in_index(folder: Path) -> tuple[set[str], set[str]]:
    """Videos that could be decoded, and those that could not."""

    index = read_index(folder)
    return set(index.rows), set(index.quarantined)


def _in_store(folder: Path) -> tuple[set[str], set[str]]:
    """The same of features whose videos are not here."""

    store = open_store(folder)
    return set(store), set(store.manifest["failures"])


def _allow_unusable(ids: list[str], *, max_failed: int, console: Console) -> None:
    """A video that could not be decoded is known to be missing; how many may be is the user's decision."""

    if len(ids) > max_failed:
        raise TooManyFailedError(
            f"annotated videos that could not be decoded ({len(ids)}): {named(ids)};"
            f" decode.max_failed allows {max_failed}",
            hint="repair the files, or raise decode.max_failed in params.yaml",
        )
    if ids:
        console.say(f"left out, could not be decoded ({len(ids)}): {named(ids)}")


def _corpus(
    annotations: Annotations, match: Match, *, unusable: set[str], subset: Subset | None, words: Words
) -> Corpus:
    """Only usable videos, under the ids of the index, with the sentences that have a word in them."""

    usable = {id_: file for id_, file in match.files.items() if id_ not in unusable}
    own = {split: [id_ for id_ in ids if id_ in usable] for split, ids in annotations.splits.items()}
    splits = fill_empty_splits(own, subset) if subset else own
    if not (splits["train"] and splits["val"]):
        raise InputError("no train or no val video could be decoded", hint="look at quarantine.jsonl in the index")
    chosen = [id_ for ids in splits.values() for id_ in ids]
    captions = {usable[id_]: [text for text in annotations.captions[id_] if tokenize(text, words)] for id_ in chosen}
    require_words(captions, words=words)
    return Corpus(
        splits={split: [usable[id_] for id_ in ids] for split, ids in splits.items()},
        captions=captions,
        slices={usable[id_]: annotations.slices[id_] for id_ in chosen if id_ in annotations.slices},
        categories={usable[id_]: annotations.categories[id_] for id_ in chosen if id_ in annotations.categories},
        moved={usable[id_]: split for id_, split in moved(own, splits).items()},
        words=words,
    )


def _statistics(corpus: Corpus, vocabulary: Vocabulary, *, max_words: int) -> dict[str, Any]:
    return {
        "vocabulary": len(vocabulary),
        "splits": {
            split: {"videos": len(corpus.splits[split]), **_of_captions(corpus, split, vocabulary, max_words)}
            for split in corpus.splits
        },
    }


def _of_captions(corpus: Corpus, split: str, vocabulary: Vocabulary, max_words: int) -> dict[str, float | int]:
    words, lengths = Counter[str](), Counter[int]()  # each with how often there is one
    for caption in corpus.sentences(split):
        sentence = corpus.cut(caption)
        words.update(sentence)
        lengths[len(sentence)] += 1
    running, count = words.total(), lengths.total()
    unknown = {word: times for word, times in words.items() if word not in vocabulary}
    return {
        "captions": count,
        "words": running,
        "known_words": round((running - sum(unknown.values())) / running, 6) if running else 0.0,
        "unknown_distinct_words": len(unknown),
        "mean_length": round(running / count, 3) if count else 0.0,
        "longest": max(lengths, default=0),
        "longer_than_max_words": sum(times for length, times in lengths.items() if length > max_words),
    }


def _show(statistics: dict[str, Any], console: Console) -> None:
    columns = ["videos", "captions", "known_words", "mean_length", "longest"]
    rows = [[split, *(found[column] for column in columns)] for split, found in statistics["splits"].items()]
    console.table(["split", *(column.replace("_", " ") for column in columns)], rows)
    console.say(f"vocabulary: {statistics['vocabulary']} words")
    if "subset" in statistics:
        videos = sum(found["videos"] for found in statistics["splits"].values())
        console.say(told_subset(**statistics["subset"], videos=videos))
    for problem in ("captions_without_video", "videos_without_captions"):
        if statistics[problem]:
            console.say(f"left out, {problem.replace('_', ' ')}: {statistics[problem]}")
