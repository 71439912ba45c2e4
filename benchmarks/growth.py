"""What a stage costs beside its real work, with 1,000, 10,000 and 100,000 videos, and how that grows.

Videos and features are made: every file is one small clip with a tail of its own, and what decoding and a network would
find out is put into the cache. So `decode` and `extract` have nothing to decode and nothing to compute; what is left
is bookkeeping, which is what grows. Each line is a process of its own, as a stage is.

100,000 videos take long, and some 13 GB: with `--folder` the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from growth_cost import Cost, measured
from growth_project import SIZE, made_index, make_features, make_project

from pipeline.core import atomic, cache_root
from pipeline.decoding.held_video import RACY
from pipeline.index import read_index
from pipeline.store import TensorFile, open_store

EXTRACT = "framescribe extract x"
OPEN = "from pipeline.store import open_store; s = open_store('features/x'); s[next(iter(s))]['pool'].sum()"
STORE = Path("features/x")
FIELDS = ("processor", "read", "written", "peak")


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
            time.sleep(2 * RACY)  # whose files would be hashed twice: what is younger may change unseen
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
