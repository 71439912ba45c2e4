"""Seconds to score 2,990 videos with 19 references each, METEOR included, against pycocoevalcap in the same run.

    python benchmarks/metrics.py [MSR-VTT annotations, .json or .zip] [--no-meteor]

Without a file, the annotations of `../shared` are taken if they are there, and made sentences if not. Every video's
first caption is scored against its others, after one PTB tokenisation that both sides share.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.meteor.meteor import Meteor
from pycocoevalcap.rouge.rouge import Rouge

from pipeline.evaluation import RESAMPLES, CaptionScorer, Statistics, compare, intervals, read_references, tokenize
from pipeline.metrics import (
    BleuScorer,
    CiderScorer,
    JavaRuntime,
    NgramIndex,
    RougeScorer,
    find_java,
    meteor_process,
    processes_worth,
)

SHARED = Path(__file__).parents[2] / "shared/data/msrvtt/test_videodatainfo.json.zip"
VIDEOS, CAPTIONS = 2990, 20
Hypotheses, References = dict[str, str], dict[str, list[str]]


def made_sentences() -> References:
    """Nine words per sentence with the long tail of a real vocabulary."""
    chance = random.Random(0)
    words = [f"w{number}" for number in range(10_000)]
    weights = [1 / (number + 3) for number in range(10_000)]
    return {
        str(video): [" ".join(chance.choices(words, weights, k=chance.randint(4, 14))) for _ in range(CAPTIONS)]
        for video in range(VIDEOS)
    }


def corpus(path: Path | None, *, java: JavaRuntime) -> tuple[Hypotheses, References]:
    """Tokenised; every video's first caption and its others."""
    file = path or (SHARED if SHARED.is_file() else None)
    captions = read_references(file).captions if file else made_sentences()
    flat = [text for texts in captions.values() for text in texts]
    lines, seconds = timed(lambda: tokenize(flat, java=java))
    print(f"{file.name if file else 'made sentences'}: {len(captions)} videos, {len(flat)} captions")
    print(f"PTB tokens {seconds:.1f} s")
    each = iter(lines)
    tokens = {video: [next(each) for _ in texts] for video, texts in captions.items()}
    return {video: texts[0] for video, texts in tokens.items()}, {v: texts[1:] for v, texts in tokens.items()}


def by_reference(hypotheses: Hypotheses, references: References) -> list[float]:
    sentences = {video: [text] for video, text in hypotheses.items()}
    bleu, _ = Bleu(4).compute_score(references, sentences, verbose=0)
    return [*bleu, Rouge().compute_score(references, sentences)[0], Cider().compute_score(references, sentences)[0]]


def by_us(hypotheses: Hypotheses, references: References) -> list[float]:
    index = NgramIndex(references)
    bleu, _ = BleuScorer(index).score(hypotheses)
    return [*bleu, RougeScorer(references).score(hypotheses)[0], CiderScorer(index).score(hypotheses)[0]]


def timed(work: Callable[[], Any], *, repeats: int = 1, clock: Callable[[], float] = time.perf_counter) -> Any:
    """(result, seconds): the best of some repeats, so that what others do on the machine counts least."""
    seconds = []
    for _ in range(repeats):
        start = clock()
        result = work()
        seconds.append(clock() - start)
    return result, min(seconds)


def processor() -> float:
    """Seconds of this process and of those that it started and that have ended."""
    times = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in times)


def compare_scorers(hypotheses: Hypotheses, references: References) -> None:
    expected, slow = timed(lambda: by_reference(hypotheses, references), clock=time.process_time)
    found, fast = timed(lambda: by_us(hypotheses, references), repeats=3, clock=time.process_time)
    scorer = CiderScorer(references)
    _, again = timed(lambda: scorer.score(hypotheses), repeats=3, clock=time.process_time)
    print("BLEU + ROUGE-L + CIDEr-D, processor seconds")
    print(f"  pycocoevalcap {slow:7.2f}\n  framescribe   {fast:7.2f}   {slow / fast:.1f} times faster")
    print(f"  CIDEr-D alone once its references are known: {again:.3f}")
    print(f"  largest difference {max(abs(a - b) for a, b in zip(expected, found, strict=True)):.1e}")


@contextmanager
def java_on_path(java: JavaRuntime) -> Iterator[None]:
    """Where pycocoevalcap looks for it."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{java.path.parent}{os.pathsep}{before}"
    yield
    os.environ["PATH"] = before


def compare_meteor(hypotheses: Hypotheses, references: References, *, java: JavaRuntime) -> None:
    def reference() -> float:
        with java_on_path(java):
            meteor = Meteor()
        corpus, _ = meteor.compute_score(references, {video: [text] for video, text in hypotheses.items()})
        del meteor  # ends its process, whose seconds then count
        return float(corpus)

    def ours(processes: int) -> float:
        with meteor_process(java=java, processes=processes) as meteor:
            return meteor.score(hypotheses, references)[0]

    cores = len(os.sched_getaffinity(0))
    chosen = processes_worth(sum(map(len, references.values())), cores=cores)
    rows = {"pycocoevalcap": reference}
    rows |= {f"framescribe, {n} process{'es'[: 2 * (n > 1)]}": lambda n=n: ours(n) for n in sorted({1, chosen, cores})}
    print(f"METEOR, seconds on the clock (and of processors); {chosen} of {cores} processes would be chosen")
    scores = []
    for name, work in rows.items():
        before = processor()
        score, seconds = timed(work)
        print(f"  {name:24} {seconds:7.1f} ({processor() - before:.1f})   {score!r}")
        scores.append(score)
    print(f"  largest difference {max(scores) - min(scores):.1e}")


def time_bootstrap(hypotheses: Hypotheses, references: References) -> None:
    scores = CaptionScorer(references).score(hypotheses)
    random_counts = 1.0 * (scores.statistics.bleu[:, [0] * 23] + 1)  # as wide as METEOR's
    statistics = Statistics(scores.statistics.videos, scores.statistics.bleu, random_counts, scores.statistics.means)
    _, one = timed(lambda: intervals(statistics), clock=time.process_time)
    _, two = timed(lambda: compare([statistics], [statistics]), clock=time.process_time)
    print(f"{RESAMPLES} resamples, processor seconds\n  intervals {one:.2f}\n  comparison of two runs {two:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("annotations", nargs="?", type=Path)
    parser.add_argument("--no-meteor", action="store_true", help="leave METEOR out, which takes minutes")
    args = parser.parse_args()
    java = find_java()
    hypotheses, references = corpus(args.annotations, java=java)
    compare_scorers(hypotheses, references)
    time_bootstrap(hypotheses, references)
    if not args.no_meteor:
        compare_meteor(hypotheses, references, java=java)


if __name__ == "__main__":
    main()
