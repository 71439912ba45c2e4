"""Captions per second of one run whose batches are cut into parts, by one and by several workers; the same bits.

    python benchmarks/train_parts.py

Soft attention at the sizes of benchmarks/train.py on a made data set: batches of 200 captions of as many videos, 28 x
4096 features each, 9,462 words. All is as in `framescribe train`: stores on disk, processes, shared gradients, the
optimizer. Wall time, the best of some steps, and processor seconds of all processes and of the first one, which adds
the gradients and waits for nobody that has less to do: where other work is on the cores, these say what a free machine
would take.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import psutil
import torch

from pipeline.captioner import CaptionBatch
from pipeline.core import cores
from pipeline.corpus import Corpus, Vocabulary, write_corpus, write_vocabulary
from pipeline.params import Slots, Train
from pipeline.store import Rows, VideoFeatures, write_store
from pipeline.training import Trainer, prepare
from pipeline.training.batch_parts import cut_in_parts
from pipeline.training.data_parallel import DataParallel
from pipeline.training.replica import Replica
from pipeline.training.schedules import make_optimizer

VOCABULARY, CAPTIONS, FRAMES, CHANNELS = 9462, 200, 28, 4096
SIZES = {"word_size": 468, "hidden_size": 512, "attention_size": 256, "output_size": 512, "order": False}
STEPS = 5
CASES = ((1, 1), (2, 1), (2, 2), (4, 1), (4, 2))  # parts, workers


def make_data_set(videos: int) -> None:
    """Sentences of 4 to 11 words, 7.5 on average."""
    numbers = np.random.default_rng(0)
    words = [f"w{number}" for number in range(VOCABULARY - 4)]
    captions = {f"v{video}": [" ".join(numbers.choice(words, 4 + video % 8))] for video in range(videos)}
    write_corpus(Path("data/captions"), Corpus({"train": list(captions), "val": ["v0"], "test": ["v0"]}, captions))
    write_vocabulary(Path("data/captions/vocabulary.json"), Vocabulary(("<pad>", "<bos>", "<eos>", "<unk>", *words)))
    frames = np.arange(FRAMES, dtype=np.int64)
    rows = Rows(first_frame=frames, last_frame=frames, start=frames / 5, end=(frames + 1) / 5, valid=frames * 0 + 1)
    features = {
        name: VideoFeatures(tensors={"pool": numbers.standard_normal((FRAMES, CHANNELS), np.float32)}, rows=rows)
        for name in captions
    }
    write_store(Path("features/made"), features, fingerprint={"weights": "random"})


def steps(trainer: Trainer, parts: int, workers: int) -> Iterator[tuple[float, float, float]]:
    """Wall seconds, processor seconds and those of the first process, of each step but the first: the others start."""
    replica = Replica(trainer.model.train(), trainer.source, "cpu", trainer.max_words)
    optimizer = make_optimizer(trainer.model, trainer.settings)
    others = ["cpu"] * (workers - 1)
    with DataParallel(replica, trainer.settings, vocabulary=VOCABULARY, others=others) as replicas:
        for number, batch in enumerate(batches(trainer)):
            start, used, own = time.perf_counter(), processor_seconds(), time.process_time()
            optimizer.zero_grad(set_to_none=True)
            cut = cut_in_parts(batch, parts, tables={}, seed=(0, 1, number))
            replicas.gradients(cut, trainer.settings, own_words=0.0, judge=None)
            torch.nn.utils.clip_grad_norm_(trainer.model.parameters(), trainer.settings.clip)
            optimizer.step()
            if number:
                yield time.perf_counter() - start, processor_seconds() - used, time.process_time() - own


def batches(trainer: Trainer) -> Sequence[CaptionBatch]:
    pairs = trainer._pairs
    return [next(iter(pairs.batches(CAPTIONS, seed=number))) for number in range(1 + STEPS)]


def processor_seconds() -> float:
    """Of this process and its children."""
    own = psutil.Process()
    times = [each.cpu_times() for each in [own, *own.children(recursive=True)]]
    return sum(each.user + each.system for each in times)


def main() -> None:
    print(f"{cores()} cores; captions/s by wall time, processor seconds a step of all and of the first process, and")
    print(f"a hash of the weights after {1 + STEPS} steps")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["FRAMESCRIBE_CACHE"] = str(Path(folder, "cache"))
        make_data_set(2 * CAPTIONS)
        for parts, workers in CASES:
            settings = Train(
                model="soft_attention",
                features=Slots(appearance="made"),
                options=SIZES,
                batch_size=CAPTIONS,
                parts=parts,
            )
            trainer = prepare(settings, captions=Path("data/captions"), max_words=20, device="cpu")
            wall, processor, first = (min(each) for each in zip(*steps(trainer, parts, workers), strict=True))
            digest = hashlib.sha256(b"".join(each.numpy().tobytes() for each in trainer.model.state_dict().values()))
            told = (
                f"{CAPTIONS / wall:7.1f} captions/s   {processor:5.2f} s   {first:5.2f} s   {digest.hexdigest()[:12]}"
            )
            print(f"parts {parts}   workers {workers}   {told}", flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
