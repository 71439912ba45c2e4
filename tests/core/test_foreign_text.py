"""Text that others wrote: it cannot move the cursor, forge a line or end a command in a traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli import main
from pipeline.core.console import Console, _rich_bar
from pipeline.core.errors import FramescribeError
from pipeline.core.ids import named
from pipeline.core.shown_text import printable, printable_lines
from pipeline.corpus.corpus import Corpus, write_corpus
from pipeline.index.video_index import read_index
from pipeline.papers import recipes
from pipeline.store import Failure, write_store
from tests.clips import write_clip
from tests.store.making import add_toy_family, features
from tests.training.test_trainer import make_project
from workflows.profiles.schema import load_profile

NAME = "a\x1b[31m\nb"
SHOWN = r"a\x1b[31m\nb"
DEEP = 100_000
PARAMS = """\
dataset: {name: demo, videos: videos, annotations: annotations.json}
decode: {max_failed: 9}
extract:
  toy: {family: toy, network: toy, weights: random, sampling: {count: 3}, outputs: [colour, corner]}
train:
  run: {model: mean_pool, features: {appearance: toy}}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_toy_family()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "params.yaml").write_text(PARAMS)
    (tmp_path / "videos").mkdir()
    return tmp_path


def broken_video() -> list[str]:
    Path(f"videos/{NAME}.mp4").write_text("no video")
    return ["decode", "--max-failed", "0"]


def same_id_twice() -> list[str]:
    for folder in ("one", "two"):
        Path("videos", folder).mkdir()
        Path(f"videos/{folder}/{NAME}.mp4").write_text("no video")
    return ["decode"]


def video_that_is_gone() -> list[str]:
    write_clip(Path(f"videos/{NAME}.mp4"), frames=6, width=48, height=32)
    assert main(["decode", "--quiet"]) == 0
    shutil.rmtree("videos")
    return ["extract", "toy", "--workers", "1"]


def annotations_of_another() -> list[str]:
    write_clip(Path("videos/c.mp4"), frames=6, width=48, height=32)
    assert main(["decode", "--quiet"]) == 0
    splits = {NAME: "train", "c": "validate", "d": "test"}
    videos = [{"video_id": id_, "split": split, "id": number} for number, (id_, split) in enumerate(splits.items())]
    sentences = [{"video_id": id_, "caption": "a ball", "sen_id": number} for number, id_ in enumerate(splits)]
    Path("annotations.json").write_text(json.dumps({"videos": videos, "sentences": sentences}))
    return ["assemble"]


def store_without_a_video() -> list[str]:
    make_project(Path())
    ids = [NAME, *(f"v{number}" for number in range(6))]
    corpus = Corpus({"train": ids[:4], "val": ids[4:6], "test": ids[6:]}, {id_: ["a red ball moves"] for id_ in ids})
    write_corpus(Path("data/captions"), corpus)
    return ["train", "run"]


def predictions_of_another() -> list[str]:
    Path("p.json").write_text(json.dumps({NAME: "a ball", "c": "a cube"}))
    Path("r.json").write_text(json.dumps({"c": ["a cube"]}))
    return ["evaluate", "--predictions", "p.json", "--references", "r.json"]


def store_with_a_failure() -> list[str]:
    write_store(Path("features/toy"), {"c": features(1)}, fingerprint={}, failures={NAME: Failure("crash", NAME)})
    return ["store", "ls", "toy"]


def arrays_of_two_shapes() -> list[str]:
    Path("theirs").mkdir()
    np.save(f"theirs/{NAME}.npy", np.ones((2, 3)))
    np.save("theirs/c.npy", np.ones((2, 4)))
    return ["store", "import", "theirs", "new"]


def arrays_that_are_no_numbers() -> list[str]:
    Path("theirs").mkdir()
    np.save(f"theirs/{NAME}.npy", np.full((2, 3), np.nan))
    return ["store", "import", "theirs", "new"]


def key_of_params() -> list[str]:
    Path("params.yaml").write_text(PARAMS + '"a\\x1b[31m\\nb": 1\n')
    return ["decode"]


@pytest.mark.parametrize(
    "prepare",
    [
        broken_video,
        same_id_twice,
        video_that_is_gone,
        annotations_of_another,
        store_without_a_video,
        predictions_of_another,
        store_with_a_failure,
        arrays_of_two_shapes,
        arrays_that_are_no_numbers,
        key_of_params,
    ],
)
def test_a_name_is_shown_in_escapes(prepare: Callable[[], list[str]], capfd: pytest.CaptureFixture[str]) -> None:
    command = prepare()
    capfd.readouterr()
    main(command)
    shown = "".join(capfd.readouterr())

    assert SHOWN in shown.replace("\n", "") or SHOWN in shown  # a table may break a long cell
    assert "\x1b" not in shown
    assert "\nb" not in shown


@pytest.mark.parametrize("text", ["\x9b31m", "\u202egnp.exe", "\r", "\x07", "\ud800", "caf\udce9", "\x7f", "\u2028"])
def test_what_a_terminal_would_obey_is_escaped(text: str) -> None:
    shown = printable(f"a{text}b")

    assert shown.isprintable()
    assert shown.startswith("a\\") or text in ("\u202egnp.exe", "caf\udce9")
    assert printable(shown) == shown
    shown.encode()


def test_only_bytes_of_file_names_are_written_as_bytes() -> None:
    assert printable("caf\udce9") == r"caf\xe9"
    assert printable("\ud800") == r"\ud800"
    assert printable_lines("two\nlines\x1b") == "two\nlines\\x1b"
    assert named([NAME, "c"]) == f"{SHOWN}, c"


def test_the_console_escapes_whatever_it_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say(f"said {NAME}")
    console.table((NAME, "b"), [(NAME, 1)], title=NAME)
    with console.progress(NAME, 1) as progress:
        progress.advance(note=NAME)
    shown = "".join(capsys.readouterr())

    assert "\x1b" not in shown
    assert shown.count(SHOWN) == 4  # column, cell, label and note; elsewhere a line break is ours


def test_brackets_in_a_name_are_no_markup_of_the_bar(capsys: pytest.CaptureFixture[str]) -> None:
    bar = contextmanager(_rich_bar)
    with bar("[/b] decode", 2) as progress:
        progress.advance(note=f"[/i]{NAME}")

    assert "[/b] decode" in capsys.readouterr().err


def nested_params() -> None:
    Path("params.yaml").write_text("a: " + "[" * DEEP + "]" * DEEP)
    main_raising(["decode"])


def nested_block() -> None:
    Path("params.yaml").write_text("\n".join(" " * depth + "a:" for depth in range(3000)))
    main_raising(["decode"])


def nested_edit() -> None:
    Path("params.yaml").write_text("{a: " * DEEP + "1" + "}" * DEEP)
    main_raising(["extractors", "add", "resnet152"])


def nested_profile() -> None:
    Path("mine.yaml").write_text("[" * DEEP + "]" * DEEP)
    load_profile("mine.yaml")


def nested_recipe() -> None:
    recipes.read_recipe.__wrapped__("deep")


def nested_annotations() -> None:
    write_clip(Path("videos/c.mp4"), frames=6, width=48, height=32)
    assert main(["decode", "--quiet"]) == 0
    Path("annotations.json").write_text('{"videos": ' * DEEP + "1" + "}" * DEEP)
    main_raising(["assemble"])


def nested_predictions() -> None:
    Path("p.json").write_text('{"a":' * DEEP + "1" + "}" * DEEP)
    Path("r.json").write_text(json.dumps({"c": ["a cube"]}))
    main_raising(["evaluate", "--predictions", "p.json", "--references", "r.json"])


def nested_references() -> None:
    Path("p.json").write_text(json.dumps({"c": "a cube"}))
    Path("r.jsonl").write_text("[" * DEEP + "]" * DEEP + "\n")
    main_raising(["evaluate", "--predictions", "p.json", "--references", "r.jsonl"])


def nested_index() -> None:
    write_clip(Path("videos/c.mp4"), frames=6, width=48, height=32)
    assert main(["decode", "--quiet"]) == 0
    Path("data/index/index.jsonl").write_text("[" * DEEP + "]" * DEEP + "\n")
    read_index(Path("data/index"))


def nested_store() -> None:
    Path("features/toy").mkdir(parents=True)
    Path("features/toy/store.json").write_text("[" * DEEP + "]" * DEEP)
    main_raising(["store", "ls", "toy"])


def nested_vocabulary() -> None:
    make_project(Path())
    Path("data/captions/vocabulary.json").write_text("[" * DEEP + "]" * DEEP)
    main_raising(["train", "run"])


def nested_corpus() -> None:
    make_project(Path())
    Path("data/captions/captions.json").write_text("[" * DEEP + "]" * DEEP)
    main_raising(["train", "run"])


class _ToldError(FramescribeError):
    """A command told the user, and did not end in a traceback."""


def main_raising(command: list[str]) -> None:
    code = main(command)
    assert code in (2, 3, 6)
    raise _ToldError("told")


@pytest.mark.parametrize(
    "read",
    [
        nested_params,
        nested_block,
        nested_edit,
        nested_profile,
        nested_recipe,
        nested_annotations,
        nested_predictions,
        nested_references,
        nested_index,
        nested_store,
        nested_vocabulary,
        nested_corpus,
    ],
)
def test_brackets_without_end_are_told(
    read: Callable[[], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("deep.yaml").write_text("extract: " + "{a: " * DEEP + "1" + "}" * DEEP)
    monkeypatch.setattr(recipes, "RECIPES", Path())

    with pytest.raises(FramescribeError):
        read()
    assert "Traceback" not in capsys.readouterr().err
