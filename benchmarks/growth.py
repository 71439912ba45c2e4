"""What a stage costs beside its real work, with 1,000, 10,000 and 100,000 videos, and how that grows.

Videos and features are made: every file is one small clip with a tail of its own, and what decoding and a network would
find out is put into the cache. So `decode` and `extract` have nothing to decode and nothing to compute; what is left
is bookkeeping, which is what grows. Each line is a process of its own, as a stage is.

100,000 videos take long, and some 13 GB: with `--folder` the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from pipeline.core import Console, atomic, cache_root
from pipeline.decoding import decode
from pipeline.extraction.task import make_task
from pipeline.index import VideoRow, read_index, write_index
from pipeline.params import Decode, load_params
from pipeline.store import Rows, TensorFile, VideoFeatures, open_store
from tests.clips import write_clip

ROWS, SIZE = 12, 1280  # MobileNet's vector of twelve frames: 61 kB a video, 1 kB of it what the rows are
FRAMES = 250  # of a video, as the index has it: ten seconds
CAPTIONS = 20  # of a video, as MSR-VTT has
EXTRACTOR: dict[str, Any] = {
    "family": "frames",
    "network": "mobilenet_v2",
    "weights": "random",
    "sampling": {"count": ROWS},
    "outputs": ["pool"],
}
EXTRACT = "framescribe extract x"
OPEN = "from pipeline.store import open_store; s = open_store('features/x'); s[next(iter(s))]['pool'].sum()"
STORE = Path("features/x")
FIELDS = ("processor", "read", "written", "peak")


@dataclass(frozen=True)
class Cost:
    wall: float
    processor: float
    read: int  # bytes of the files that were opened, each time: more than was read of those that are mapped
    written: int
    peak: int  # bytes of memory


# Runs a command line of ours, or a line of Python, and says at the end what it opened and wrote.
MEASURED = """
import json, os, sys
read = 0
def hear(event, arguments):
    global read
    if event == "open" and "r" in str(arguments[1]):
        try: read += os.stat(arguments[0]).st_size
        except OSError: pass
sys.addaudithook(hear)
what = sys.argv[1]
if what.startswith("framescribe "):
    from pipeline.cli import main
    code = main(what.split()[1:])
else:
    code = exec(what) or 0
peak = next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM"))
written = next(int(line.split()[1]) for line in open("/proc/self/io") if line.startswith("wchar"))
print(json.dumps([code, read, written, peak]), file=sys.stderr)
"""


def measured(what: str) -> Cost:
    """With local workers none: their interpreters would count as growth that is none."""
    arguments = f"{what} --quiet --profile one.yaml" if what.startswith("framescribe ") else what
    began = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", MEASURED, arguments], stderr=subprocess.PIPE, text=True)
    assert process.stderr
    told = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - began
    code, *sizes = json.loads(told.splitlines()[-1]) if status == 0 else [status]
    if code:
        raise SystemExit(f"{what} ended with {code}\n{told}")
    return Cost(wall, usage.ru_utime + usage.ru_stime, *sizes)


def make_videos(count: int) -> None:
    """Files that are all different; the facts of the first are those of each."""
    videos = Path("videos")
    videos.mkdir()
    write_clip(videos / "video0.mp4", frames=FRAMES, width=32, height=32)
    clip, quiet = (videos / "video0.mp4").read_bytes(), Console(quiet=True)
    decode.decode_videos(videos=videos, out=Path("first"), params=Decode(), console=quiet)
    (known,) = cache_root().glob("decode/??/*")
    facts, first = known.read_bytes(), hashlib.sha256(clip).hexdigest()
    for number in range(1, count):
        data = clip + (16).to_bytes(4) + b"free" + number.to_bytes(8)
        (videos / f"video{number}.mp4").write_bytes(data)
        sha256 = hashlib.sha256(data).hexdigest()
        entry = cache_root() / "decode" / sha256[:2] / known.name.replace(first, sha256)
        entry.parent.mkdir(exist_ok=True)
        entry.write_bytes(facts)


def make_features(rows: Iterable[VideoRow], times: Callable[[str], np.ndarray], *, size: int) -> None:
    """Entries of the cache, as if they had been computed."""
    from pipeline.cache import entry_path, put_features
    from pipeline.extraction.planned_rows import frame_rows, row_table

    task = make_task("x", load_params().extract["x"], weights_sha256="random", device="cpu")
    numbers = np.random.default_rng(0)
    for row in (row for row in rows if not entry_path(task.key_of(row)).exists()):
        table: Rows = row_table(frame_rows(task, row=row, times=times(row.id)))
        tensors = {"pool": numbers.random((len(table), size), np.float32)}
        put_features(task.key_of(row), VideoFeatures(tensors=tensors, rows=table), record=task.record_of(row))


def make_annotations(count: int) -> None:
    """In MSR-VTT's format, with splits of the proportions of its own."""
    splits = ["train"] * 13 + ["validate"] + ["test"] * 6
    videos = [{"video_id": f"video{n}", "split": splits[n % 20], "category": n % 20} for n in range(count)]
    words = ["a", "man", "dog", "is", "runs", "red", "car", "plays", "with", "the"]
    sentences = [
        {"video_id": f"video{n}", "caption": " ".join(words[(n + each * k) % 10] for k in range(1, 9))}
        for n in range(count)
        for each in range(CAPTIONS)
    ]
    Path("annotations.json").write_text(json.dumps({"videos": videos, "sentences": sentences}))


def make_project(count: int, *, with_files: bool) -> None:
    """`count` videos, and one more that waits outside."""
    dataset = {"name": "msrvtt", "videos": "videos", "annotations": "annotations.json", "split": "file"}
    params = {"dataset": dataset | {"unmatched": "ignore"}, "extract": {"x": EXTRACTOR}, "train": {}}
    Path("params.yaml").write_text(json.dumps(params))
    Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
    make_annotations(count)
    if with_files:
        make_videos(count + 1)
        Path(f"videos/video{count}.mp4").rename("one_more.mp4")


def made_index(count: int) -> None:
    """The index of files that are not there: what only `decode` would notice."""
    facts: dict[str, Any] = {"frames": FRAMES, "width": 32, "height": 32, "fps": 25.0, "duration": FRAMES / 25}
    rows = [
        VideoRow(
            id=f"video{n}",
            path=f"videos/video{n}.mp4",
            sha256=hashlib.sha256(str(n).encode()).hexdigest(),
            audio="absent",
            backend="decord",
            warnings=(),
            **facts,
        )
        for n in range(count)
    ]
    write_index(Path("data/index"), rows, times=dict.fromkeys((row.id for row in rows), np.arange(FRAMES) / 25))


@dataclass(frozen=True)
class Step:
    name: str
    what: str
    prepare: Callable[[], object] = lambda: None


def steps(count: int, *, with_files: bool, size: int) -> list[Step]:
    """In the order in which a project grows. What is prepared may be prepared twice."""
    files = [
        Step("decode: all known, no index", "framescribe decode"),
        Step("decode: nothing changed", "framescribe decode"),
    ]
    more = [Step("decode: one more", "framescribe decode", lambda: _add_one_more(count))]
    return [
        *(files if with_files else []),
        Step(
            "extract: first store, nothing to compute",
            EXTRACT,
            lambda: _put_all(count, with_files=with_files, size=size),
        ),
        Step("extract: nothing changed", EXTRACT),
        Step("extract: after DVC removed the store", EXTRACT, _remove_store),
        Step("store: open, read one video", OPEN),
        Step("assemble", "framescribe assemble"),
        Step("report, without runs", "framescribe report"),
        *(more if with_files else []),
        Step("extract: one more", EXTRACT, lambda: _put_one(count, with_files=with_files, size=size)),
    ]


def _remove_store() -> None:
    shutil.rmtree(STORE, ignore_errors=True)


def _add_one_more(count: int) -> None:
    if Path("one_more.mp4").exists():
        Path("one_more.mp4").rename(f"videos/video{count}.mp4")


def _put_all(count: int, *, with_files: bool, size: int) -> None:
    if not with_files:
        made_index(count)
    _remove_store()
    shutil.rmtree(cache_root() / "shards", ignore_errors=True)
    index = read_index(Path("data/index"))
    make_features(index.rows.values(), index.times, size=size)


def _put_one(count: int, *, with_files: bool, size: int) -> None:
    if not with_files:
        made_index(count + 1)
    _remove_store()
    index = read_index(Path("data/index"))
    make_features([index.rows[f"video{count}"]], index.times, size=size)


def _tell_of_shards(before: set[int]) -> None:
    store = open_store(STORE)
    files = {path.name: path.stat() for path in STORE.iterdir()}
    whole = sum(each.st_size for each in files.values())
    new = sum(each.st_size for each in files.values() if each.st_ino not in before)
    keys = len(TensorFile(next(STORE.glob("shard-*"))).keys())
    print(
        f"{len(store)} videos, {store.manifest['shard_count']} shards (one has {keys} tensors), {whole / 1e6:.1f} MB: "
        f"one more video wrote {new / 1e6:.2f} MB of the store, {new / whole:.2%}; "
        f"store.json is {files['store.json'].st_size / 1e6:.2f} MB of that"
    )


def run(count: int, folder: Path, *, with_files: bool, size: int) -> dict[str, Cost]:
    """In a project of its own; what was measured there before is not measured again."""
    os.environ["FRAMESCRIBE_CACHE"] = str(folder / "cache")
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])
    costs, synced = folder / "costs.json", atomic._sync
    atomic._sync = lambda _: None  # making ten thousand files is not what is measured
    try:
        if not costs.exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            os.chdir(folder)
            make_project(count, with_files=with_files)
            costs.write_text("{}")
        os.chdir(folder)
        found = {name: Cost(**facts) for name, facts in json.loads(costs.read_text()).items()}
        print(f"\n{count:,} videos", flush=True)
        print("| step | wall, s | processor, s | opened, MB | written, MB | peak, MB |\n|---|---|---|---|---|---|")
        for step in steps(count, with_files=with_files, size=size):
            if step.name not in found:
                found[step.name] = _cost_of(step)
                costs.write_text(json.dumps({name: asdict(cost) for name, cost in found.items()}))
            cost = found[step.name]
            sizes = " | ".join(f"{size / 1e6:.1f}" for size in (cost.read, cost.written, cost.peak))
            print(f"| {step.name} | {cost.wall:.2f} | {cost.processor:.2f} | {sizes} |", flush=True)
        return found
    finally:
        atomic._sync = synced
        os.chdir("/")


def _cost_of(step: Step) -> Cost:
    step.prepare()
    before = {path.stat().st_ino for path in cache_root().glob("shards/??/*.safetensors")}
    cost = measured(step.what)
    if step.name == "extract: one more":
        _tell_of_shards(before)
    return cost


def exponent(one: float, other: float, *, ratio: float) -> str:
    """Of growth between two sizes: 1 is linear, 0 is none."""
    return f"{math.log(other / one) / math.log(ratio):.2f}" if min(one, other) > 0 else "-"


def show_exponents(tables: dict[int, dict[str, Cost]]) -> None:
    for small, large in pairwise(tables):
        print(f"\n| exponents {small:,} to {large:,} | processor | opened | written | peak |\n|---|---|---|---|---|")
        for name, cost in tables[small].items():
            later = tables[large][name]
            each = [exponent(getattr(cost, what), getattr(later, what), ratio=large / small) for what in FIELDS]
            print(f"| {name} | {' | '.join(each)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--size", type=int, default=SIZE, help="numbers of a row; little of a step depends on it")
    parser.add_argument("--no-files", action="store_true", help="make the index, too, and leave decode out")
    parser.add_argument("--folder", type=Path, help="keep the projects here, and go on with them")
    chosen = parser.parse_args()
    with nullcontext(chosen.folder) if chosen.folder else tempfile.TemporaryDirectory() as folder:
        projects = {count: Path(folder).absolute() / str(count) for count in chosen.videos}
        tables = {
            count: run(count, project, with_files=not chosen.no_files, size=chosen.size)
            for count, project in projects.items()
        }
    show_exponents(tables)


if __name__ == "__main__":
    main()
