"""The public API against the commands: the same numbers, the same sentences, and a process that is left as it was.

What is shown of it is run: the blocks of docs/python.md and the cells of the notebook.
"""

from __future__ import annotations

import json
import os
import pickle
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import framescribe
from pipeline.cli import main
from pipeline.core.errors import FramescribeError
from tests.clips import judged_frames, tone
from tests.doc_blocks import blocks
from tests.imports import ROOT

CLIP = "data/demo/videos/video1.mp4"
NOTEBOOK = ROOT / "examples/first-steps.ipynb"
RUN = "import sys, json; own = {'__name__': '__main__'}\nfor cell in json.load(sys.stdin): exec(cell, own)"


def same(found: framescribe.VideoFeatures, wanted: framescribe.VideoFeatures) -> bool:
    ours, theirs = found.parts(), wanted.parts()
    return list(ours) == list(theirs) and all(
        ours[name].dtype == theirs[name].dtype and np.array_equal(ours[name], theirs[name]) for name in theirs
    )


@pytest.mark.parametrize("name", ["mobilenet_v2", "soundnet"])
def test_features_of_a_file_are_those_of_the_command(
    project: Path, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path))  # nothing is known from before

    found = framescribe.extract(name, CLIP)

    assert same(found, framescribe.open_store(f"features/{name}")["video1"])
    found["pool"][0, 0] = 7.0  # one's own copy


def test_features_of_its_frames_are_those_of_the_file(project: Path) -> None:
    frames = np.stack(judged_frames(Path(CLIP)))

    found = framescribe.extract("mobilenet_v2", frames, rate=25.0)
    timeless = framescribe.extract("mobilenet_v2", frames)

    stored = framescribe.open_store("features/mobilenet_v2")["video1"]
    assert np.array_equal(found["pool"], stored["pool"])
    assert np.array_equal(found.rows.last_frame, stored.rows.last_frame)
    assert np.allclose(found.rows.end, stored.rows.end)
    assert np.array_equal(timeless["pool"], stored["pool"])
    assert np.isnan(timeless.rows.start).all()


def test_sound_in_memory_has_rows_of_seconds(project: Path) -> None:
    sound = tone(1.2, rate=22050)[0].astype(np.float32)

    found = framescribe.extract("soundnet", sound, rate=22050)

    assert found["pool"].shape == (len(found.rows), 256)
    assert found.rows.start.tolist() == [0.0, 0.5]
    assert found.rows.valid.all()
    assert (found.rows.first_frame == -1).all()


def test_a_card_needs_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(FramescribeError, match="weights 'i3d_rgb' are missing"):
        framescribe.extract("i3d_rgb", np.zeros((16, 8, 8, 3), np.uint8))
    with pytest.raises(FramescribeError, match=r"no extractor 'nosuch' in params.yaml or the catalogue; .*i3d_rgb"):
        framescribe.extract("nosuch", np.zeros((16, 8, 8, 3), np.uint8))


@pytest.mark.parametrize(
    ("name", "array", "rate", "told"),
    [
        (
            "mobilenet_v2",
            np.zeros((4, 8, 8, 3), np.float32),
            None,
            r"float32 \(4, 8, 8, 3\); this network takes frames",
        ),
        ("mobilenet_v2", np.zeros((0, 8, 8, 3), np.uint8), None, "T above 0"),
        ("mobilenet_v2", np.zeros((4, 8, 8, 3), np.uint8), -1.0, "rate is -1.0"),
        ("soundnet", np.zeros((2, 100), np.float32), 22050, "takes mono sound"),
        ("soundnet", np.zeros(100, np.float32), 16000, "22050 samples a second"),
        ("soundnet", np.zeros(100, np.float32), None, "rate is not given"),
    ],
)
def test_an_array_of_another_kind_is_refused(
    project: Path, name: str, array: np.ndarray, rate: float | None, told: str
) -> None:
    with pytest.raises(FramescribeError, match=told):
        framescribe.extract(name, array, rate=rate)


def test_what_is_no_video_is_refused_by_its_type(project: Path) -> None:
    frames = torch.zeros(4, 8, 8, 3, dtype=torch.uint8)
    run = framescribe.open_run("runs/soft_attention")

    with pytest.raises(FramescribeError, match="the video is a Tensor; give the path of a file, or a numpy array"):
        framescribe.extract("mobilenet_v2", frames)  # type: ignore[arg-type]
    with pytest.raises(FramescribeError, match="the video is a ndarray; give the path of a file"):
        run.caption(frames.numpy())  # type: ignore[arg-type]
    with pytest.raises(FramescribeError, match="no video was given"):
        run.caption_all([])


def test_a_tokenizer_that_nobody_knows_is_refused() -> None:
    with pytest.raises(FramescribeError, match="tokenizer is 'words'; allowed: ptb, python, unicode, none"):
        framescribe.score({"a": "a cat"}, {"a": ["a cat"]}, tokenizer="words")  # type: ignore[arg-type]


def test_a_file_that_cannot_be_used_is_told(project: Path, tmp_path: Path) -> None:
    (tmp_path / "page.mp4").write_text("<html>not a video</html>")

    with pytest.raises(FramescribeError, match="page: "):
        framescribe.extract("mobilenet_v2", tmp_path / "page.mp4")
    with pytest.raises(FramescribeError, match=r"there is no 'nosuch\.mp4'"):
        framescribe.extract("mobilenet_v2", "nosuch.mp4")
    with pytest.raises(FramescribeError, match="has 3 videos; extract takes one"):
        framescribe.extract("mobilenet_v2", "data/demo/videos")
    with pytest.raises(FramescribeError, match="rate=25 is for arrays"):
        framescribe.extract("mobilenet_v2", CLIP, rate=25)


def test_sentences_are_those_of_the_command(project: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "said.json"
    assert main(["caption", "data/demo/videos", "--run", "soft_attention", "--out", str(out), "--quiet"]) == 0
    theirs = json.loads(out.read_text())["predictions"]
    (tmp_path / "page.mp4").write_text("<html>not a video</html>")

    run = framescribe.open_run("runs/soft_attention")
    said, several = run.caption(CLIP), run.caption_all(["data/demo/videos", tmp_path / "page.mp4"])

    assert list(several.captions) == list(theirs)
    for id_, each in several.captions.items():
        assert {"caption": each.caption, "log_prob": each.log_prob, "words": each.words} == theirs[id_]
    assert list(several.refused) == ["page"]
    assert (str(said), said.log_prob) == (theirs["video1"]["caption"], theirs["video1"]["log_prob"])
    assert 0 < said.probability < 1
    assert said.attention["time"].shape == (len(said.words), len(said.attention["times"]))
    assert np.allclose(said.attention["time"].sum(1), 1)
    with pytest.raises(FramescribeError, match="none of these is a usable video"):
        run.caption(tmp_path / "page.mp4")
    with pytest.raises(FramescribeError, match="has 3 videos"):
        run.caption("data/demo/videos")


OPTIONS = [
    pytest.param("", {}, marks=pytest.mark.slow),  # METEOR's tables
    ("--no-meteor", {"meteor": False}),
    ("--tokenizer none --no-meteor --resamples 50", {"tokenizer": "none", "meteor": False, "resamples": 50}),
]


@pytest.mark.parametrize(("asked", "options"), OPTIONS)
def test_scores_are_those_of_the_command(
    asked: str,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    predictions = {f"v{n}": f"a man is number {n % 7}" for n in range(40)}
    references = {f"v{n}": [f"the man is number {n % 5}", "A man, sitting."] for n in range(40)}
    Path("p.json").write_text(json.dumps(predictions))
    Path("r.json").write_text(json.dumps(references))

    assert main(["evaluate", "--predictions", "p.json", "--references", "r.json", "--json", *asked.split()]) == 0
    told = json.loads(capsys.readouterr().out)
    found = framescribe.score(predictions, references, **options)

    assert found.scores == told["scores"]
    assert {name: list(ends) for name, ends in found.intervals.items()} == told["intervals"]
    assert found.intervals
    assert found.spice == told.get("spice", {})
    assert found.per_video == json.loads(Path("metrics.json").read_text())["per_video"]
    assert found.provenance | {"files": None} == told["provenance"] | {"files": None}


def test_captions_of_other_videos_are_refused() -> None:
    with pytest.raises(FramescribeError, match="1 without a sentence"):
        framescribe.score({"a": "x"}, {"a": "x", "b": "y"})
    with pytest.raises(FramescribeError, match="no references for b"):
        framescribe.score({"b": "x"}, {"b": [3]})  # type: ignore[list-item]
    with pytest.raises(FramescribeError, match="no predictions"):
        framescribe.score({"b": 3}, {"b": "x"})  # type: ignore[dict-item]
    assert framescribe.score(
        {"a": "x y"}, {"a": ("x y",), "b": "z"}, common=True, tokenizer="none", meteor=False, spice=False
    ).scores["BLEU-1"] == pytest.approx(1)


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_of_a_store_are_padded_and_masked(project: Path, workers: int) -> None:
    dataset = framescribe.StoreDataset({"seen": "features/mobilenet_v2", "heard": "features/soundnet"})
    sent = pickle.loads(pickle.dumps(dataset))  # noqa: S301 - as to a worker that is spawned
    loader = DataLoader(sent, 3, num_workers=workers, collate_fn=framescribe.pad_and_mask)

    (batch,) = loader

    store = framescribe.open_store("features/mobilenet_v2")
    assert sorted(dataset.videos) == ["video0", "video1", "video2"]
    assert batch["seen.pool"].shape == (3, 5, 1280)
    assert batch["heard.rows.mask"].shape == batch["heard.pool"].shape[:2]
    for place, index in enumerate(batch["index"].tolist()):
        video = store[dataset.videos[index]]
        real = batch["seen.rows.mask"][place]
        assert np.array_equal(batch["seen.pool"][place][real].numpy(), video["pool"])
        assert real.sum() == len(video.rows)
        assert not batch["seen.pool"][place][~real].any()


def test_a_data_set_is_checked_before_it_is_read(project: Path) -> None:
    assert len(framescribe.StoreDataset("features/mobilenet_v2", videos=["video2"], tensors=["pool"])) == 1
    with pytest.raises(FramescribeError, match="no video 'nosuch'"):
        framescribe.StoreDataset("features/mobilenet_v2", videos=["nosuch"])
    with pytest.raises(FramescribeError, match="a tensor 'grid'; there are: pool"):
        framescribe.StoreDataset("features/mobilenet_v2", tensors=["grid"])
    with pytest.raises(IndexError):
        framescribe.StoreDataset("features/mobilenet_v2")[3]


def test_the_process_is_left_as_it_was(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also when it fails half way."""

    def state() -> tuple[object, ...]:
        signals = {each: signal.getsignal(each) for each in signal.valid_signals()}
        tf32 = torch.backends.cudnn.allow_tf32
        return torch.get_num_threads(), tf32, torch.get_rng_state().tolist(), dict(os.environ), Path.cwd(), signals

    threads, tf32 = torch.get_num_threads(), torch.backends.cudnn.allow_tf32
    try:
        torch.set_num_threads(3)
        torch.backends.cudnn.allow_tf32 = True
        before = state()
        framescribe.extract("mobilenet_v2", np.zeros((9, 8, 8, 3), np.uint8))
        run = framescribe.open_run("runs/soft_attention")
        run.caption(CLIP)
        with pytest.raises(FramescribeError):
            run.caption("nosuch.mp4")
        assert state() == before
    finally:
        torch.set_num_threads(threads)
        torch.backends.cudnn.allow_tf32 = tf32
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore:lance is not fork-safe")  # where another test imported it before
@pytest.mark.filterwarnings("error::UserWarning")
def test_the_blocks_of_the_page_run(project: Path, capfd: pytest.CaptureFixture[str]) -> None:
    found = blocks(ROOT / "docs/python.md", "python")
    own: dict[str, Any] = {}

    for block in found:
        exec(block, own)  # noqa: S102 - our own page

    assert len(found) == 7
    said = capfd.readouterr()
    assert "3 videos; untrained: True" in said.out
    assert "there is no run at" in said.out
    assert said.err == ""


@pytest.mark.parametrize("page", ["decoding.md", "feature-store.md"])
def test_the_block_of_another_page_runs(project: Path, page: str) -> None:
    (block,) = blocks(ROOT / "docs" / page, "python")

    exec(block, {})  # noqa: S102 - our own page


def test_the_notebook_runs(project: Path) -> None:
    """From its own folder, where Jupyter runs it, in a process of its own."""
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    (project / "examples").mkdir()
    shutil.copy(NOTEBOOK, project / "examples")

    command, code = [sys.executable, "-W", "error::UserWarning", "-c", RUN], ["".join(cell["source"]) for cell in cells]
    done = subprocess.run(
        command, cwd=project / "examples", input=json.dumps(code), capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert "(probability 0." in done.stdout
    assert "CIDEr-D" in done.stdout


def test_the_notebook_carries_no_output() -> None:
    for cell in json.loads(NOTEBOOK.read_text())["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
