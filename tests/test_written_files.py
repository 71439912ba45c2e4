"""Every kind of file that the project writes: damaged, it is told in words or computed again, never used.

The table KINDS is complete: a small real project is made by the commands, and a file that fits no row fails here.
"""

from __future__ import annotations

import ast
import dataclasses
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import BaseModel
from ruamel.yaml import YAML

from pipeline.cache import feature_cache, notes, shard_cache
from pipeline.cache.feature_cache import get_features
from pipeline.cache.graph_cache import remembered
from pipeline.cache.speeds import frames_per_second
from pipeline.captioner.trained_run import open_run
from pipeline.cli import main
from pipeline.core.atomic import write_json
from pipeline.core.console import Console
from pipeline.core.errors import DamageError, InputError
from pipeline.core.sealed_file import read_sealed_json, write_sealed_json
from pipeline.core.seen_commands import read_command
from pipeline.corpus.corpus import read_corpus
from pipeline.corpus.vocabulary import read_vocabulary
from pipeline.datasets.loading import load_annotations
from pipeline.decoding import decode_cache
from pipeline.decoding.hash_memory import HashMemory, read_hashes
from pipeline.demo.making import DemoSettings, is_made, make_demo_set
from pipeline.evaluation.ballot import read_key
from pipeline.evaluation.prediction_files import read_predictions
from pipeline.evaluation.record import read_evaluation
from pipeline.evaluation.references import read_references
from pipeline.evaluation.votes import count_votes
from pipeline.index.video_index import read_index
from pipeline.params import load_params
from pipeline.predictions import read_origin
from pipeline.remote import spool
from pipeline.remote.transfer import Facts
from pipeline.report.results import Sources, read_captions, read_runs
from pipeline.run_tools import open_run_file
from pipeline.store import open_store
from pipeline.training.progress import drop_damaged_progress, read_progress
from pipeline.training.setup import prepare

ROOT = Path(__file__).parent.parent
QUIET = Console(quiet=True)
DEMO = DemoSettings(seed=3, clips=12)
URL = "s3://bucket/clip.mp4"
MARK = (1, 2, 3, 4, 5)  # of a file
GRAPH = {"graph": "of this test"}
PARAMS = {
    "dataset": {"name": "demo", "videos": "videos", "annotations": "data/demo/annotations.json", "unmatched": "ignore"},
    "decode": {"max_failed": 1},
    "extract": {
        "toy": {
            "family": "frames",
            "network": "squeezenet1_1",
            "weights": "random",
            "sampling": {"count": 2},
            "outputs": ["pool"],
        }
    },
    "train": {
        name: {
            "model": model,
            "features": {"appearance": "toy"},
            "options": {"hidden_size": 8},
            "epochs": 2,
        }
        for name, model in (("a", "soft_attention"), ("b", "mean_pool"))
    },
    "caption": {"beam": 2, "max_words": 8},
    "evaluate": {"meteor": False, "tokenizer": "python", "resamples": 10},
    "report": {"examples": 1},
}
COMMANDS = """
decode
extract toy
assemble
train a b
caption a b --each
evaluate a b
mask a --videos 2
fuse a b --epochs 1
caption videos/video0.mp4 --run a --out own/said.json --html own/said.html
evaluate --predictions predictions/a.json --references data/captions --split test --out metrics.json --no-meteor --tokenizer python --resamples 10
compare a b --resamples 10 --out own/compared.json
compare given/ones.json given/others.json --vote-page own/vote.html --clips 2
compare --votes own/votes.json --key own/vote.key.json --out own/counted.json
frames videos/video0.mp4 --indices 0 --out own/frames.png --npy own/frames.npy
store export toy own/export
runs export a own/a.run
runs show own/a.run --out own/card.md
report
"""  # noqa: E501

WITHOUT_WORKERS = ("compare", "frames", "store", "assemble", "report", "runs")


@dataclass(frozen=True)
class Kind:
    """A kind of file: where it lies, and how a later stage reads it."""

    where: str
    read: Callable[[Path], Any] | None = None  # None: no command reads it again
    cache: bool = False  # then None is an answer: it is computed again
    why: str = ""  # it needs no checksum of its own


def _index(path: Path) -> Any:
    index = read_index(path.parent)
    return index.rows, index.quarantined, {id_: index.times(id_) for id_ in index.rows}


def _store(path: Path) -> Any:
    store = open_store(path.parent)
    return store.manifest, {id_: store[id_].parts() for id_ in store}


def _captions(path: Path) -> Any:
    return read_corpus(path.parent), read_captions(path.parent), read_references(path.parent)


def _run(path: Path) -> Any:
    run = open_run(path.parent, device="cpu")
    return run.params, run.vocabulary, run.model.state_dict()


def _reported(path: Path) -> Any:
    return read_runs(["a", "b"], sources=Sources())


def _feature(path: Path) -> Any:
    found = get_features(path.stem)
    return None if found is None else found.parts()


def _kept_shard(path: Path) -> Any:
    """In a copy: a damaged one is removed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FRAMESCRIBE_CACHE", "copy")
        copy = feature_cache.shard_path(path.stem).parent
        shutil.copytree(path.parent, copy)
        try:
            return shard_cache._found(path.stem)
        finally:
            shutil.rmtree("copy")


def _graph(path: Path) -> Any:
    found = remembered(GRAPH, lambda: b"made again")
    return None if found == b"made again" else found


def _progress(path: Path) -> Any:
    """In a copy: a damaged one is removed, and the run begins anew."""
    copy = path.parent.with_name("copy")
    shutil.copytree(path.parent, copy, dirs_exist_ok=True)
    try:
        return None if drop_damaged_progress(copy) else read_progress(copy)
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def _manifest(path: Path) -> Any:
    return is_made(path.parent, settings=DEMO) or None


KINDS = (
    Kind("data/demo/manifest.json", _manifest, cache=True, why="it must equal what is computed from all files"),
    Kind("data/demo/annotations.json", lambda _: load_annotations(load_params().dataset)),
    Kind("data/demo/scenes.jsonl", why="for people and experiments; the manifest has its sha256"),
    Kind("data/demo/videos/*.mp4", why="videos: the index has their sha256, which extract checks"),
    Kind("data/index/*.jsonl", _index),
    Kind("data/index/times.npy", _index),
    Kind("data/index/checksums.json", _index),
    Kind("data/captions/captions.json", _captions),
    Kind("data/captions/vocabulary.json", read_vocabulary),
    Kind("data/captions/statistics.json", lambda path: read_sealed_json(path, hint="dvc repro assemble")),
    Kind("features/*/store.json", _store),
    Kind("features/*/shard-*.safetensors", _store),
    Kind("runs/*/run.json", _run),
    Kind("runs/*/model.safetensors", _run),
    Kind("metrics/*/curves.csv", _reported),
    Kind("metrics/*/scores.json", _reported),
    Kind("metrics/*/mask.json", _reported),
    Kind("predictions/?.json", _reported),
    Kind("predictions/?.safetensors", _reported),
    Kind("predictions/a-or-b.json", read_predictions),
    Kind("predictions/*.origin.json", lambda path: read_origin(path.with_name(path.name.replace(".origin", "")))),
    Kind("evaluation/*.json", lambda path: (_reported(path), read_evaluation(path, name=path.stem))),
    Kind("metrics.json", lambda path: read_evaluation(path, name="metrics")),
    Kind("own/said.json", read_predictions),
    Kind("cache/decode/*.json", decode_cache._read, cache=True),
    Kind("cache/hashes/*.json", lambda path: read_hashes(path) or None, cache=True),
    Kind("cache/features/*.safetensors", _feature, cache=True),
    Kind("cache/notes/*.json", notes._read, cache=True),
    Kind("cache/shards/*.json", _kept_shard, cache=True),
    Kind("cache/shards/*.safetensors", _kept_shard, cache=True),
    Kind("cache/graphs/*.safetensors", _graph, cache=True),
    Kind("cache/speeds/*.json", lambda path: frames_per_second(path.stem), cache=True),
    Kind("cache/training/*/progress.json", _progress, cache=True),
    Kind("cache/training/*/progress-*.safetensors", _progress, cache=True),
    Kind("cache/training/*/best-*.safetensors", _progress, cache=True),
    Kind("cache/urls/*.json", lambda _: spool.remembered_sha256(URL), cache=True),
    Kind("logs/commands/*.json", read_command),
    Kind("report/*", why="pages and pictures for a browser"),
    Kind("tables/*.csv", why="for DVC's plots"),
    Kind("own/said.html", why="a page for a browser"),
    Kind("own/compared.json", why="for people"),
    Kind("own/vote.key.json", read_key),
    Kind("own/votes.json", lambda path: count_votes([path], key=path.with_name("vote.key.json"), console=QUIET)),
    Kind("own/vote.html", why="a page for a browser"),
    Kind("own/counted.json", why="for people"),
    Kind("own/frames.*", why="for people"),
    Kind("own/export/*", why="for other programs"),
    Kind("own/a.run", lambda path: dict(open_run_file(path).parts)),
    Kind("own/card.md", why="for people"),
)
READ = [kind for kind in KINDS if kind.read]
# Modules that write in other ways than the commands above; the kind of each is a row above, or is said here.
WRITERS = {
    "pipeline/cache/cache_claims.py": "cache/claims while a stage runs; a damaged one keeps everything",
    "pipeline/cache/feature_cache.py": "cache/features",
    "pipeline/cache/graph_cache.py": "cache/graphs",
    "pipeline/cache/notes.py": "cache/notes",
    "pipeline/cache/shard_cache.py": "cache/shards",
    "pipeline/cache/speeds.py": "cache/speeds",
    "pipeline/captioner/checkpoint.py": "runs, cache/training",
    "pipeline/captioning/any_video.py": "own/said.json",
    "pipeline/captioning/caption.py": "predictions",
    "pipeline/captioning/challenge_file.py": "own/submission.json, for the challenge's server",
    "pipeline/captioning/fusion.py": "predictions/a-or-b.json",
    "pipeline/core/atomic.py": "the functions that all others call",
    "pipeline/core/command_progress.py": "logs/commands",
    "pipeline/core/sealed_file.py": "the functions that all others call",
    "pipeline/corpus/corpus.py": "data/captions",
    "pipeline/corpus/vocabulary.py": "data/captions",
    "pipeline/datasets/assemble.py": "data/captions, features/category",
    "pipeline/decoding/contact_sheet.py": "own/frames",
    "pipeline/datasets/plain_folder.py": "a table of captions that the user fills in",
    "pipeline/decoding/decode.py": "data/index",
    "pipeline/decoding/decode_cache.py": "cache/decode",
    "pipeline/decoding/hash_memory.py": "cache/hashes",
    "pipeline/demo/making.py": "data/demo",
    "pipeline/evaluation/attention_mask.py": "metrics/*/mask.json",
    "pipeline/evaluation/ballot.py": "own/vote.key.json",
    "pipeline/evaluation/compare_runs.py": "own/compared.json",
    "pipeline/evaluation/file_scores.py": "metrics.json",
    "pipeline/evaluation/run_scores.py": "metrics/*/scores.json, evaluation",
    "pipeline/evaluation/spice.py": "files of another program, in a folder that is removed",
    "pipeline/evaluation/votes.py": "own/counted.json",
    "pipeline/extraction/extract.py": "features",
    "pipeline/extraction/extract_video.py": "cache/features",
    "pipeline/index/video_index.py": "data/index",
    "pipeline/live/job_child.py": "files of a page, in the server's own folder, which is removed",
    "pipeline/live/vote_pages.py": "votes that are counted, in the server's own folder, which is removed",
    "pipeline/papers/applying.py": "files that the user edits",
    "pipeline/papers/show.py": "params.yaml, which the user edits",
    "pipeline/params/editing.py": "params.yaml, which the user edits",
    "pipeline/predictions/attention_maps.py": "predictions",
    "pipeline/predictions/prediction_origin.py": "predictions/*.origin.json",
    "pipeline/remote/listing.py": "lists of URLs, which git keeps and the user edits",
    "pipeline/remote/spool.py": "cache/urls",
    "pipeline/remote/transfer.py": "copies of other kinds",
    "pipeline/report/browser.py": "report",
    "pipeline/report/csv_tables.py": "tables",
    "pipeline/report/report.py": "report",
    "pipeline/report/table_files.py": "report",
    "pipeline/report/vote_page.py": "own/vote.html",
    "pipeline/run_tools/run_file.py": "own/a.run",
    "pipeline/run_tools/show_card.py": "own/card.md",
    "pipeline/run_tools/unpack_run.py": "copies of other kinds, in a folder that is removed",
    "pipeline/stages/caption.py": "own/said.html",
    "pipeline/store/manifest.py": "features",
    "pipeline/store/push_pull.py": "features",
    "pipeline/store/tensor_file.py": "the function that other modules call",
    "pipeline/store/writer.py": "features",
    "pipeline/store_tools/export_store.py": "own/export",
    "pipeline/store_tools/import_foreign.py": "features",
    "pipeline/store_tools/verify_store.py": "features",
    "pipeline/training/progress.py": "cache/training",
    "pipeline/training/setup.py": "runs",
    "pipeline/training/train.py": "metrics/*/curves.csv",
    "pipeline/training/trainer.py": "cache/training",
    "pipeline/weights/converted.py": "weights, self-checking like features: tests/weights",
    "pipeline/weights/download.py": "downloads, checked against the registry: tests/weights",
    "pipeline/weights/packages.py": "requirements for pip, which checks hashes",
    "pipeline/weights/requirement.py": "name and sha256 of weights: tests/weights/test_requirement.py",
}
CALLS = {"publishing", "fresh_folder", "write_bytes", "write_text", "write_json", "write_tensors", "save_tensors"}
CALLS |= {"write_sealed_json", "write_sealed_tensors", "save_model", "save_progress", "write_store", "put_features"}
CALLS |= {"write_index", "write_corpus", "write_vocabulary", "write_attention_maps", "write_manifest", "write_clip"}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small project with a file of every kind, made by the commands."""
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        patch.setattr(spool, "_looked_up", lambda _: Facts(5, "v1"))
        make_demo_set(Path("data/demo"), settings=DEMO, workers=1, console=QUIET)
        shutil.copytree("data/demo/videos", "videos")
        Path("videos/broken.mp4").write_text("no video")
        with Path("params.yaml").open("w") as stream:
            YAML().dump(PARAMS, stream)
        for name in ("ones", "others"):  # the two small runs may agree everywhere, and nobody votes on that
            write_json(Path(f"given/{name}.json"), {f"video{n}": f"{name} {n}" for n in range(4)})
        Path("one.yaml").write_text("workers: 1\ndevice: cpu\n")
        for line in COMMANDS.strip().splitlines():
            if "--votes" in line:
                _vote()
            profile = [] if line.startswith(WITHOUT_WORKERS) else ["--profile", "one.yaml"]
            assert main([*line.split(), "--quiet", *profile]) == 0, line
        spool.remember_sha256(URL, "0" * 64)
        memory = HashMemory(URL)
        memory.remember("a", MARK, "0" * 64, hashed=MARK, seen=60.0)
        memory.save()
        remembered(GRAPH, lambda: bytes(range(256)) * 20)
        _unfinished_training()
        yield folder


def _vote() -> None:
    """As the page does it in a browser: tests/report/test_vote_page.py."""
    key = read_key(Path("own/vote.key.json"))
    votes = dict.fromkeys(key.pairs, "left")
    write_sealed_json(Path("own/votes.json"), {"ballot": key.ballot, "voter": "0" * 32, "votes": votes})


def _unfinished_training() -> None:
    params = load_params()
    prepare(params.train["a"], captions=Path("data/captions"), max_words=8, device="cpu").run()


def files_of(kind: Kind) -> list[Path]:
    return [path for path in written() if fnmatch(path.as_posix(), kind.where)]


def written() -> list[Path]:
    given = {Path("params.yaml"), Path("one.yaml"), *Path("given").iterdir(), *Path("videos").iterdir()}
    return [path for path in sorted(Path().rglob("*")) if path.is_file() and path not in given]


def test_every_file_is_of_one_kind_of_the_table(project: Path) -> None:
    kinds = {path: [kind.where for kind in KINDS if fnmatch(path.as_posix(), kind.where)] for path in written()}

    assert {path: where for path, where in kinds.items() if len(where) != 1} == {}
    assert [kind.where for kind in KINDS if not files_of(kind)] == []
    assert all(kind.read or kind.why for kind in KINDS)


def test_every_module_that_writes_is_known() -> None:
    """So that a kind which only a rare command writes is not forgotten above."""
    found = {
        path.relative_to(ROOT).as_posix()
        for path in sorted((ROOT / "pipeline").rglob("*.py"))
        if any(_called(node) in CALLS for node in ast.walk(ast.parse(path.read_text())))
    }

    assert found == WRITERS.keys()


def _called(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.where)
def test_damage_is_told_or_computed_again(project: Path, kind: Kind) -> None:
    assert outcomes(kind, flips=50, cuts=10)["told or again"] >= 45


@pytest.mark.slow
@pytest.mark.parametrize("kind", READ, ids=lambda kind: kind.where)
def test_three_thousand_flips(project: Path, kind: Kind) -> None:
    outcomes(kind, flips=3000, cuts=100, seed=1)


def outcomes(kind: Kind, *, flips: int, cuts: int, seed: int = 0) -> Counter[str]:
    """What became of each damage; one that was used, or that ended in a traceback, fails here."""
    numbers = random.Random(f"{kind.where} {seed}")
    files = files_of(kind)
    assert kind.read
    truths = {path: plain(kind.read(path)) for path in files}
    found: Counter[str] = Counter()
    for number in range(flips + cuts):
        path = numbers.choice(files)
        before = path.read_bytes()
        path.write_bytes(flipped(before, numbers) if number < flips else before[: numbers.randrange(len(before))])
        try:
            found[_outcome(kind, path, truths[path])] += 1
        finally:
            path.write_bytes(before)
    assert all(plain(kind.read(path)) == truth for path, truth in truths.items())
    return found


def flipped(data: bytes, numbers: random.Random) -> bytes:
    """One bit: anywhere, or in every second case near the beginning, where headers are."""
    place = numbers.randrange(len(data) if numbers.random() < 0.5 else min(len(data), 400))
    return data[:place] + bytes([data[place] ^ 1 << numbers.randrange(8)]) + data[place + 1 :]


def _outcome(kind: Kind, path: Path, truth: Any) -> str:
    assert kind.read
    try:
        found = kind.read(path)
    except (DamageError, InputError) as error:
        return _told(error, path)
    if found is None and kind.cache:
        return "told or again"
    assert plain(found) == truth, f"{path} was damaged, and used"
    return "harmless"


def _told(error: DamageError | InputError, path: Path) -> str:
    """With what to run; of what does not even begin like a file of ours, we cannot know what it was."""
    assert path.name in error.message or path.parent.name in error.message
    assert error.hint or isinstance(error, InputError)
    return "told or again"


def plain(value: Any) -> Any:
    """Anything that a reader gives, so that == compares it to the last bit."""
    if isinstance(value, torch.Tensor):
        value = value.numpy()
    if isinstance(value, np.ndarray):
        return str(value.dtype), value.shape, value.tobytes()
    if isinstance(value, BaseModel):
        return plain(value.model_dump())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(each) for key, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
