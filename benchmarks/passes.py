"""Frames that `dvc repro` of the demo decodes: each stage by itself, as it once was, and as the graph has it now.

    python benchmarks/passes.py [--clips 24]

The stages `decode` and `extract` run as in dvc.yaml, on clips of the demo set, with the entries of params.yaml, whose
weights are random here: which frames are decoded does not depend on them. Children count every frame that a decoder
gives (benchmarks/children/counting.py). The sound is decoded without the picture and is in no number.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from pipeline import demo
from pipeline.core import Console, InProcess, cores
from pipeline.decoding import decode, guard
from pipeline.extraction import extract_features
from pipeline.index import read_index
from pipeline.params import Decode, Extract, load_params

QUIET = Console(quiet=True)
CHILD = Path(__file__).parent / "children/counting.py"
WAYS = {  # decode.backend, and whether stages share a pass
    "each stage by itself": ("decord", False),
    "as the graph has it": ("decord", True),
    "with `decode.backend: pyav`": ("pyav", True),
}


def entries() -> dict[str, Extract]:
    asked = load_params().extract
    return {name: each.model_copy(update={"weights": "random", "engine": "eager"}) for name, each in asked.items()}


def index_frames(videos: Path, out: Path, *, backend: str) -> int:
    before = counted()
    params = Decode.model_validate({"backend": backend})
    decode.decode_videos(videos=videos, out=out, params=params, workers=cores(), console=QUIET)
    return counted() - before


def extract_frames(index: Path, out: Path, name: str, *, shared: bool) -> int:
    before, every = counted(), entries()
    others = {other: each for other, each in every.items() if shared and other != name}
    extract_features(
        {name: every[name]},
        index=index,
        outs={name: out / name},
        executor=InProcess(),
        device="cpu",
        console=QUIET,
        others=others,
    )
    return counted() - before


def counted() -> int:
    return Path(os.environ["FRAMES_DECODED"]).stat().st_size


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clips", type=int, default=demo.SMALLEST_SET)
    clips = parser.parse_args().clips
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        os.environ["FRAMES_DECODED"] = str(folder / "frames")
        (folder / "frames").touch()
        guard.PROGRAM = (sys.executable, str(CHILD))
        demo.make_demo_set(folder / "demo", settings=demo.DemoSettings(0, clips), workers=cores(), console=QUIET)
        names = list(entries())
        print(f"| {clips} clips | index | " + " | ".join(names) + " | all | to their frames |")
        print("|---|" + "---|" * (len(names) + 3))
        for way, (backend, shared) in WAYS.items():
            here = folder / way.replace("`", "")
            os.environ["FRAMESCRIBE_CACHE"] = str(here / "cache")
            numbers = [index_frames(folder / "demo/videos", here / "index", backend=backend)]
            numbers += [extract_frames(here / "index", here, name, shared=shared) for name in names]
            frames = sum(row.frames for row in read_index(here / "index").rows.values())
            told = " | ".join(map(str, [*numbers, sum(numbers)]))
            print(f"| {way} | {told} | {sum(numbers) / frames:.2f} |", flush=True)


if __name__ == "__main__":
    main()
