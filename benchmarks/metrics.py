"""Seconds for BLEU, ROUGE-L and CIDEr-D of 2,990 videos with 19 references each, against pycocoevalcap.

    python benchmarks/metrics.py [MSR-VTT annotations, .json or .zip]

Without a file, the annotations of `../shared` are taken if they are there, and made sentences if not.
"""

from __future__ import annotations

import json
import random
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pycocoevalcap.bleu.bleu import Bleu
from pycocoevalcap.cider.cider import Cider
from pycocoevalcap.rouge.rouge import Rouge

from pipeline.metrics.bleu import BleuScorer
from pipeline.metrics.cider import CiderScorer
from pipeline.metrics.ngrams import NgramIndex
from pipeline.metrics.rouge import RougeScorer

SHARED = Path(__file__).parents[2] / "shared/data/msrvtt/test_videodatainfo.json.zip"
VIDEOS, CAPTIONS = 2990, 20
Corpus = tuple[dict[str, str], dict[str, list[str]]]


def read_msrvtt(path: Path) -> dict[str, list[str]]:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            content = archive.read(archive.namelist()[0])
    else:
        content = path.read_bytes()
    captions: dict[str, list[str]] = {}
    for sentence in json.loads(content)["sentences"]:
        captions.setdefault(sentence["video_id"], []).append(sentence["caption"].lower())
    return captions


def made_sentences() -> dict[str, list[str]]:
    """Nine words a sentence with the long tail of a real vocabulary."""
    chance = random.Random(0)
    words = [f"w{number}" for number in range(10_000)]
    weights = [1 / (number + 3) for number in range(10_000)]
    return {
        str(video): [" ".join(chance.choices(words, weights, k=chance.randint(4, 14))) for _ in range(CAPTIONS)]
        for video in range(VIDEOS)
    }


def corpus() -> Corpus:
    """Every video's first caption is scored against its others."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else SHARED
    real = len(sys.argv) > 1 or path.is_file()
    captions = read_msrvtt(path) if real else made_sentences()
    print(f"{path.name if real else 'made sentences'}: {len(captions)} videos")
    return {video: texts[0] for video, texts in captions.items()}, {v: texts[1:] for v, texts in captions.items()}


def reference(hypotheses: dict[str, str], references: dict[str, list[str]]) -> list[float]:
    said = {video: [text] for video, text in hypotheses.items()}
    bleu, _ = Bleu(4).compute_score(references, said, verbose=0)
    return [*bleu, Rouge().compute_score(references, said)[0], Cider().compute_score(references, said)[0]]


def ours(hypotheses: dict[str, str], references: dict[str, list[str]]) -> list[float]:
    index = NgramIndex(references)
    bleu, _ = BleuScorer(index).score(hypotheses)
    return [*bleu, RougeScorer(references).score(hypotheses)[0], CiderScorer(index).score(hypotheses)[0]]


def timed(work: Callable[[], Any], *, repeats: int) -> tuple[Any, float]:
    """Processor seconds, the best of some repeats: what others do on the machine counts least in it."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = work()
        seconds.append(time.process_time() - start)
    return result, min(seconds)


def main() -> None:
    hypotheses, references = corpus()
    expected, slow = timed(lambda: reference(hypotheses, references), repeats=1)
    found, fast = timed(lambda: ours(hypotheses, references), repeats=3)
    cider = CiderScorer(references)
    _, again = timed(lambda: cider.score(hypotheses), repeats=3)
    print(f"pycocoevalcap {slow:7.2f} s\nframescribe   {fast:7.2f} s   ratio {slow / fast:.1f}")
    print(f"CIDEr-D alone once its references are known: {again:.3f} s")
    print(f"largest difference {max(abs(a - b) for a, b in zip(expected, found, strict=True)):.1e}")


if __name__ == "__main__":
    main()
