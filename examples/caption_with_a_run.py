"""Load a trained run and let it caption videos whose features are in the stores that it was trained on.

    python examples/caption_with_a_run.py runs/soft_attention [VIDEO...]

For clips that are in no store, `framescribe caption CLIP --run RUN` decodes and extracts first.
"""

# ruff: noqa: T201 - a script talks to whoever runs it

from __future__ import annotations

import sys
from pathlib import Path

from pipeline.captioner import Search, caption_videos, open_run


def main(folder: str, *videos: str) -> None:
    run = open_run(Path(folder), device="cpu")
    print(f"{folder}: {run.params.model}, {len(run.vocabulary)} words")
    chosen = list(videos) or list(next(iter(run.source.stores.values())))[:3]
    search = Search(beam=5, max_words=20)
    found = caption_videos(run.model, run.source, chosen, vocabulary=run.vocabulary, search=search)
    for video, sentence in found.items():
        print(f"{video}: {sentence.caption}   (log probability {sentence.log_prob:.2f})")
        if "time" in sentence.attention:
            attended = sentence.attention["time"].argmax(axis=1)  # (words,) the row with most weight for each word
            print("   " + " ".join(f"{word}@{row}" for word, row in zip(sentence.words, attended, strict=True)))


if __name__ == "__main__":
    main(*sys.argv[1:])
