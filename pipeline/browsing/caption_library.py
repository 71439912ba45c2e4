"""All that people and runs said of the videos, and where a word occurs in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from pipeline.browsing.pages import Mark, Paged, by_number, kept, mark_of, paged
from pipeline.core import FramescribeError, printable
from pipeline.corpus import Corpus, read_corpus
from pipeline.evaluation import read_evaluation
from pipeline.predictions import read_run_predictions

CLIPS = 20  # of a page
HEADLINE = "CIDEr-D"
SAID_BY = ("anyone", "people", "runs")
BETWEEN_WORDS = re.compile(r"[^\w']+")
ENDINGS_OF_OTHERS = (".origin.json",)


@dataclass(frozen=True)
class CaptionFiles:
    """Where the stages write."""

    captions: Path = Path("data/captions")
    predictions: Path = Path("predictions")
    evaluation: Path = Path("evaluation")


HERE = CaptionFiles()


@dataclass(frozen=True)
class Said:
    run: str
    caption: str
    score: float | None  # of this video


@dataclass(frozen=True)
class SaidOfClip:
    video: str
    split: str
    slice: str
    references: Sequence[str]
    said: Sequence[Said]


@dataclass(frozen=True)
class Library:
    corpus: Corpus
    captions: Mapping[str, Mapping[str, str]]  # run -> video -> caption
    scores: Mapping[str, Mapping[str, float]]  # run -> video -> CIDEr-D
    problems: Sequence[str] = field(default=())  # files that cannot be read

    @cached_property
    def splits(self) -> dict[str, str]:
        return {video: split for split, videos in self.corpus.splits.items() for video in videos}

    @cached_property
    def videos(self) -> list[str]:
        every = {*self.corpus.captions, *(video for each in self.captions.values() for video in each)}
        return sorted(every, key=by_number)

    @cached_property
    def slices(self) -> list[str]:
        return sorted(set(self.corpus.slices.values()))

    def clip(self, video: str) -> SaidOfClip:
        said = [
            Said(run, each[video], self.scores.get(run, {}).get(video))
            for run, each in self.captions.items()
            if video in each
        ]
        references = self.corpus.captions.get(video, [])
        return SaidOfClip(video, self.splits.get(video, ""), self.corpus.slices.get(video, ""), references, said)

    @cached_property
    def _words(self) -> dict[str, dict[str, list[str]]]:
        """who -> video -> sentences, each as what is searched: every word behind a space."""
        people = {video: list(map(_searched, texts)) for video, texts in self.corpus.captions.items()}
        return {"people": people} | {
            f"run {run}": {video: [_searched(text)] for video, text in each.items()}
            for run, each in self.captions.items()
        }

    def _sentences(self, video: str, by: str) -> Iterator[str]:
        for who, each in self._words.items():
            wanted = by == "anyone" or by == who or (by == "runs" and who.startswith("run "))
            if wanted:
                yield from each.get(video, ())

    def search(
        self, query: str = "", *, by: str = "anyone", split: str = "", slice_: str = "", page: int = 1
    ) -> Paged[SaidOfClip]:
        """Videos of which one sentence has all words of the query, or words that begin so."""
        words = [f" {word}" for word in searched_words(query)]
        found = [
            video
            for video in self.videos
            if (words or not query.strip())  # signs alone are in no sentence
            and (not split or self.splits.get(video, "") == split)
            and (not slice_ or self.corpus.slices.get(video, "") == slice_)
            and (not words or any(all(word in said for word in words) for said in self._sentences(video, by)))
        ]
        shown = paged(found, page, size=CLIPS)
        return Paged([self.clip(video) for video in shown.items], shown.page, shown.pages, shown.count, shown.first)


def searched_words(query: str) -> list[str]:
    """As they stand in what is searched: small, and without the signs between them."""
    return _searched(query).split()


def _searched(text: str) -> str:
    return " " + BETWEEN_WORDS.sub(" ", text.casefold()).strip()


def prediction_names(places: CaptionFiles = HERE) -> list[str]:
    files = places.predictions.glob("*.json")
    return sorted(path.stem for path in files if not path.name.endswith(ENDINGS_OF_OTHERS))


def read_library(places: CaptionFiles = HERE) -> Library:
    """Everything that is there by now; what cannot be read is told, and costs itself alone."""
    names = prediction_names(places)
    files = [places.captions / "captions.json"]
    files += [folder / f"{name}.json" for folder in (places.predictions, places.evaluation) for name in names]
    return _read_library(places, tuple(names), tuple(map(mark_of, files)))


@lru_cache(maxsize=2)
def _read_library(places: CaptionFiles, names: tuple[str, ...], marks: tuple[Mark, ...]) -> Library:
    del marks
    problems: list[str] = []
    corpus, captions, scores = Corpus({}, {}), {}, {}
    if (places.captions / "captions.json").is_file():
        with _told(problems):
            corpus = _corpus(places.captions / "captions.json")
    for name in names:
        with _told(problems):
            captions[name] = _captions(places.predictions / f"{name}.json")
        if (places.evaluation / f"{name}.json").is_file():
            with _told(problems):
                scores[name] = _scores(places.evaluation / f"{name}.json")
    return Library(corpus, captions, scores, problems)


@contextmanager
def _told(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except (FramescribeError, OSError) as error:
        problems.append(printable(str(error)))


_corpus = kept(lambda path: read_corpus(path.parent), files=2)
_captions = kept(lambda path: read_run_predictions(path, run=path.stem)[1], files=64)


def _per_video(path: Path) -> dict[str, float]:
    statistics = read_evaluation(path, name=path.stem).statistics
    values = statistics.means.get(HEADLINE)
    return {} if values is None else dict(zip(statistics.videos, values.tolist(), strict=True))


_scores = kept(_per_video, files=64)
