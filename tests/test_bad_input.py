"""Bad input, as a user meets it: one message that names the thing and the next step, and the right exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.cli import main
from pipeline.index.video_index import VideoRow, write_index

PARAMS = """\
dataset: {{name: demo, videos: {videos}, annotations: annotations.json}}
extract:
  toy: {{family: frames, network: mobilenet_v2, weights: mobilenet_v2, sampling: {{every: 5}}}}
train:
  run: {{model: mean_pool, features: {{appearance: toy}}}}
"""


def annotations(videos: int) -> dict:
    splits = ["train", "validate", "test"]
    return {
        "videos": [{"video_id": f"v{number}", "split": splits[number % 3], "id": number} for number in range(videos)],
        "sentences": [
            {"video_id": f"v{number}", "caption": "a ball rolls", "sen_id": number} for number in range(videos)
        ],
    }


def write_rows(ids: list[str]) -> None:
    rows = [
        VideoRow(
            id=id_,
            path=f"videos/{id_}.mp4",
            sha256="0" * 64,
            frames=1,
            width=2,
            height=2,
            fps=1.0,
            duration=1.0,
            audio="absent",
            backend="pyav",
            warnings=(),
        )
        for id_ in ids
    ]
    write_index(Path("data/index"), rows, times={id_: np.zeros(1) for id_ in ids})


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "params.yaml").write_text(PARAMS.format(videos="videos"))
    (tmp_path / "annotations.json").write_text(json.dumps(annotations(6)))
    (tmp_path / "videos").mkdir()
    write_rows([f"v{number}" for number in range(6)])
    return tmp_path


def missing_folder() -> None:
    Path("params.yaml").write_text(PARAMS.format(videos="nowhere"))


def malformed_json() -> None:
    Path("annotations.json").write_text('{"videos": [\n  {"video_id": }\n]}')


def wrong_structure() -> None:
    Path("annotations.json").write_text("[1, 2]")


def video_without_captions() -> None:
    content = annotations(6)
    content["sentences"].pop()
    Path("annotations.json").write_text(json.dumps(content))


def unlisted_video() -> None:
    write_rows([f"v{number}" for number in range(7)])


def captions_without_a_video() -> None:
    write_rows([f"v{number}" for number in range(5)])


def unknown_key() -> None:
    Path("params.yaml").write_text(PARAMS.format(videos="videos") + "decode: {max_fails: 3}\n")


def nothing() -> None: ...


@pytest.mark.parametrize(
    ("prepare", "command", "code", "named"),
    [
        (missing_folder, ["decode"], 3, ["nowhere", "next:"]),
        (nothing, ["decode"], 3, ["videos", "next:"]),  # the folder is empty
        (malformed_json, ["assemble"], 3, ["annotations.json", "line 2"]),
        (wrong_structure, ["assemble"], 3, ["annotations.json"]),
        (unknown_key, ["decode"], 2, ["decode.max_fails", "did you mean 'max_failed'", "timeout", "next:"]),
        (video_without_captions, ["assemble"], 3, ["v5"]),
        (unlisted_video, ["assemble"], 3, ["v6"]),
        (captions_without_a_video, ["assemble"], 3, ["v5"]),
        (nothing, ["extract", "toy"], 4, ["mobilenet_v2", "framescribe weights fetch mobilenet_v2"]),
        (nothing, ["extract", "other"], 2, ["no extractor 'other'", "it has: toy"]),
        (nothing, ["train", "run"], 3, ["next:"]),
        (nothing, ["caption", "run"], 3, ["runs/run", "dvc repro train@run"]),
        (nothing, ["evaluate", "run"], 3, ["predictions/run.json"]),
        (nothing, ["mask", "run", "--videos", "0"], 2, ["--videos is 0", "1 or more"]),
        (nothing, ["doctor", "--profile"], 2, []),
    ],
)
def test_each_mistake_is_named(
    prepare: Callable[[], None], command: list[str], code: int, named: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    prepare()
    try:
        found = main(command)
    except SystemExit as stop:  # argparse's own way out
        found = int(stop.code or 0)

    message = capsys.readouterr().err
    assert found == code, message
    assert "Traceback" not in message
    for part in named:
        assert part in message
