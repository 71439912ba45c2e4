"""All there is to do, in order: every fold's runs are trained and decode what the fold holds out, then seeds as one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from experiments.folds.decoding import FoldSentences
from experiments.folds.fold_plan import Fold, clips_of, kept_plan, write_fold
from experiments.folds.recipe import Recipe
from experiments.folds.training import FoldRun
from pipeline.core import Console
from pipeline.corpus import Corpus, read_corpus
from pipeline.datasets import load_annotations
from pipeline.params import Caption, Params

CAPTIONS = Path("data/captions")


@dataclass(frozen=True)
class CrossValidation:
    """A project whose clips are dealt into folds; everything lies below `results`, and is done once."""

    corpus: Corpus
    sources: Mapping[str, str]  # clip -> source film
    folds: Sequence[Fold]
    results: Path
    _written: set[Path] = field(default_factory=set, repr=False, compare=False)  # folders of captions

    @classmethod
    def of(cls, params: Params, *, results: Path, folds: int, seed: int) -> CrossValidation:
        corpus = read_corpus(CAPTIONS)
        sources = clips_of(corpus, load_annotations(params.dataset).files)
        return cls(corpus, sources, kept_plan(results / "plan.json", sources, folds=folds, seed=seed), results)

    @property
    def clips(self) -> list[str]:
        """All of them, in the order of the data set."""
        return list(self.sources)

    def runs(self, recipe: Recipe, seed: int) -> list[FoldRun]:
        """One for each fold."""
        return [
            FoldRun(recipe, number, seed, self._captions(number, recipe.assemble.min_count), self.results)
            for number in range(len(self.folds))
        ]

    def sentences(self, recipe: Recipe, seeds: Sequence[int], decoding: str, caption: Caption) -> list[FoldSentences]:
        """One for each fold; of several seeds as one."""
        by_seed = [self.runs(recipe, seed) for seed in seeds]
        return [
            FoldSentences(runs, decoding, caption, fold.held_out)
            for *runs, fold in zip(*by_seed, self.folds, strict=True)
        ]

    def run(
        self,
        recipes: Sequence[Recipe],
        seeds: Sequence[int],
        decodings: Mapping[str, Caption],
        *,
        together: bool,
        console: Console,
    ) -> None:
        todo = list(self._todo(recipes, seeds, decodings, together=together))
        epochs = sum(_epochs(each) for each in todo)
        with console.progress("folds", epochs) as progress:
            for each in todo:
                if isinstance(each, FoldRun):
                    each.train(progress)
                else:
                    each.decode()
                    progress.advance(note=each.name)

    def _todo(
        self, recipes: Sequence[Recipe], seeds: Sequence[int], decodings: Mapping[str, Caption], *, together: bool
    ) -> Iterator[FoldRun | FoldSentences]:
        for recipe in recipes:
            for seed in seeds:
                yield from (run for run in self.runs(recipe, seed) if not run.is_done())
                yield from self._undecoded(recipe, [seed], decodings)
            if together and len(seeds) > 1:
                yield from self._undecoded(recipe, seeds, decodings)

    def _undecoded(
        self, recipe: Recipe, seeds: Sequence[int], decodings: Mapping[str, Caption]
    ) -> Iterator[FoldSentences]:
        for name, caption in decodings.items():
            yield from (each for each in self.sentences(recipe, seeds, name, caption) if not each.is_done())

    def _captions(self, fold: int, min_count: int) -> Path:
        """Written anew by every start, to the same bytes unless the captions are others now: then `is_done` refuses."""
        folder = self.results / "captions" / f"fold{fold}-{min_count}"
        if folder not in self._written:
            write_fold(folder, self.corpus, self.folds[fold], min_count=min_count)
            self._written.add(folder)
        return folder


def _epochs(work: FoldRun | FoldSentences) -> int:
    """A decoding counts as one epoch, which takes about as long."""
    return sum(stage.epochs for stage in work.recipe.train.stages) if isinstance(work, FoldRun) else 1
