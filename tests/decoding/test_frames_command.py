"""`framescribe frames`: what a person sees of a video, and exact pixels for a program."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pipeline.cli import main
from tests.clips import judged_frames

Clip = Callable[[str], Path]


def test_a_contact_sheet_shows_every_kth_frame(clip: Clip, tmp_path: Path) -> None:
    path, sheet = clip("good.mp4"), tmp_path / "sheet.png"
    assert main(["frames", str(path), "--every", "10", "--out", str(sheet), "--quiet"]) == 0
    with Image.open(sheet) as image:
        pixels = np.asarray(image)
    truth = judged_frames(path)
    assert pixels.shape == (80 + 18, 3 * (96 + 4), 3)
    for place, number in enumerate((0, 10, 20)):
        shown = pixels[:80, place * 100 : place * 100 + 96]
        assert np.array_equal(shown, truth[number])
        assert pixels[80:, place * 100 : place * 100 + 96].min() < 128  # the label


def test_exact_pixels_in_the_order_asked_for(clip: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, array = clip("vfr.mp4"), tmp_path / "x.npy"
    assert main(["frames", str(path), "--indices", "5,0,3,0", "--npy", str(array), "--json"]) == 0
    truth = np.stack(judged_frames(path))
    assert np.array_equal(np.load(array), truth[[5, 0, 3, 0]])
    summary = json.loads(capsys.readouterr().out)
    assert summary["indices"] == [5, 0, 3, 0]
    assert np.allclose(summary["seconds"], [1.0, 0, 0.24, 0])


def test_without_a_choice_a_dozen_frames_are_shown(clip: Clip, tmp_path: Path) -> None:
    assert main(["frames", str(clip("good.mp4")), "--out", str(tmp_path / "x.png"), "--quiet"]) == 0
    with Image.open(tmp_path / "x.png") as image:
        assert image.size == (4 * 100, 3 * 98)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 2, "nothing to write"),
        (["--every", "0", "--out", "x.png"], 2, "--every is 0"),
        (["--indices", "a", "--npy", "x.npy"], 2, "--indices is 'a', it must be numbers such as 0,5,10"),
        (["--indices", "30", "--npy", "x.npy"], 2, "asks for [30]; the video has frames 0 to 29"),
    ],
)
def test_wrong_requests(
    arguments: list[str], code: int, message: str, clip: Clip, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["frames", str(clip("good.mp4")), *arguments]) == code
    assert message in capsys.readouterr().err
    assert list(tmp_path.glob("x.*")) == []


def test_a_file_that_is_not_a_video_says_why(clip: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["frames", str(clip("page.mp4")), "--out", str(tmp_path / "x.png")]) == 3
    assert "page.mp4' is not a video" in capsys.readouterr().err
    assert main(["frames", str(tmp_path), "--out", str(tmp_path / "x.png")]) == 3
    assert "is a folder" in capsys.readouterr().err


def test_a_sheet_has_a_limit(
    clip: Clip, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.decoding import contact_sheet

    monkeypatch.setattr(contact_sheet, "MOST_ON_A_SHEET", 10)
    assert main(["frames", str(clip("good.mp4")), "--every", "1", "--out", str(tmp_path / "x.png")]) == 2
    assert "30 frames are too many for a sheet (10)\n  next: --every 3" in capsys.readouterr().err
