"""An `extract` that finds everything in the cache: no torch is imported, no network is built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import extractors
from pipeline.cli import main
from pipeline.core import Console, InProcess
from pipeline.extraction import extract_features, extractor_facts
from pipeline.extraction.build_extractor import load_extractor
from pipeline.extraction.task import make_task
from pipeline.params import Extract
from tests.store.making import content, index_of, write_clips

ROOT = Path(__file__).parents[2]
HEAVY = {"torch", "torchvision", "timm", "av", "decord"}
ENTRIES: dict[str, dict[str, Any]] = {
    "vectors": {
        "family": "frames",
        "network": "squeezenet1_1",
        "weights": "random",
        "sampling": {"count": 2},
        "outputs": ["pool"],
    },
    "sound": {
        "family": "soundnet",
        "network": "soundnet8",
        "weights": "random",
        "sampling": {"hop": 0.5},
        "outputs": ["pool"],
    },
}
COMMAND = ["extract", *ENTRIES, "--json"]
ALONE = f"""
import json, sys
from pipeline.cli import main
code = main({COMMAND})
json.dump([code, sorted(name for name in sys.modules if "." not in name)], sys.stderr)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("project")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        patch.setattr(extractors, "__path__", [str(ROOT / "extractors")])  # without families of other tests
        write_clips(folder / "videos", 2)
        index_of(folder / "videos", folder / "data/index")
        dataset = {"name": "demo", "videos": "videos", "annotations": "none"}
        (folder / "params.yaml").write_text(json.dumps({"dataset": dataset, "extract": ENTRIES, "train": {}}))
        yield folder


def run_alone() -> tuple[dict[str, Any], set[str]]:
    """The summary, and what was imported for it, with `device: auto` and all workers that the profile allows."""
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, env=environment)
    code, modules = json.loads(done.stderr.splitlines()[-1])
    assert code == 0, done.stderr
    return json.loads(done.stdout), set(modules)


def computed(summary: dict[str, Any]) -> dict[str, int]:
    return {name: each["computed"] for name, each in summary["stores"].items()}


def test_nothing_to_do_needs_no_torch(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))  # in which nobody has computed anything
    assert main([*COMMAND, "--workers", "1"]) == 0
    assert computed(json.loads(capsys.readouterr().out)) == {"vectors": 2, "sound": 2}
    before = {name: content(folder / "features" / name) for name in ENTRIES}

    summary, modules = run_alone()

    assert computed(summary) == {"vectors": 0, "sound": 0}
    assert modules & HEAVY == set()
    assert {name: content(folder / "features" / name) for name in ENTRIES} == before


class NoWorker:
    """Its processes would import torch for what they are sent, wherever they are."""

    workers = 2

    def map(self, *_: Any) -> Any:
        pytest.fail("a worker was asked")


def test_nothing_to_do_asks_no_worker(folder: Path) -> None:
    for executor in (InProcess(), NoWorker()):
        extract_features(
            {"vectors": Extract.model_validate(ENTRIES["vectors"])},
            index=folder / "data/index",
            outs={"vectors": folder / "store"},
            executor=executor,
            device="cpu",
            console=Console(quiet=True),
        )


def notes(folder: Path) -> set[Path]:
    return set((folder / "cache/notes").glob("*"))


def record(**changes: Any) -> dict[str, Any]:
    return make_task("x", Extract.model_validate(ENTRIES["vectors"] | changes), weights_sha256="", device="cpu").record


def test_a_note_says_what_the_network_says(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in notes(folder):
        path.unlink()
    built = record()
    (note,) = notes(folder)

    monkeypatch.setattr("pipeline.extraction.build_extractor.load_extractor", lambda *_, **__: pytest.fail("built"))
    assert record() == built
    monkeypatch.undo()
    note.write_bytes(note.read_bytes().replace(b"256", b"999", 1))
    assert record() == built
    assert record() == built


@pytest.mark.parametrize(
    "change",
    [
        {"outputs": ["pool", "features.3"]},
        {"options": {"published": "IMAGENET1K_V1"}},
        {"resize": "pil"},
    ],
)
def test_another_entry_has_another_note(folder: Path, change: dict[str, Any]) -> None:
    record()
    before = notes(folder)
    record(**change)

    assert len(notes(folder) - before) == 1


def test_other_code_or_packages_have_another_note(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record()
    before = notes(folder)
    (tmp_path / "newer-2.0.dist-info").mkdir()
    with monkeypatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        record()
    (tmp_path / "source.py").write_text("VERSION = 2\n")
    folders = extractor_facts.source_folders("frames")
    monkeypatch.setattr(extractor_facts, "source_folders", lambda _: [*folders, tmp_path])
    monkeypatch.setattr(extractor_facts, "BEGAN", time.time() + 1)
    record()

    assert len(notes(folder) - before) == 2


def test_sources_edited_since_the_process_began_leave_no_note(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported may be older than what the files say now."""
    monkeypatch.setattr(extractor_facts, "BEGAN", 0.0)
    built = []
    monkeypatch.setattr(
        "pipeline.extraction.build_extractor.load_extractor",
        lambda *names, **options: built.append(names) or load_extractor(*names, **options),
    )
    before = notes(folder)

    assert record() == record()
    assert len(built) == 2
    assert notes(folder) == before
