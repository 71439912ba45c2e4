"""The set on disk: bytes, files, annotations, and what happens to folders that are there already."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import av
import pytest

from pipeline.cli import main
from pipeline.core.console import Console
from pipeline.demo import making
from pipeline.demo.making import CAPTIONS_A_CLIP, MANIFEST, DemoSettings, is_made, make_demo_set
from pipeline.demo.scene import FPS, HEIGHT, SLICES, WIDTH
from tests.demo.conftest import SMALL

TINY = DemoSettings(seed=0, clips=10)
QUIET = Console(quiet=True)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def tiny_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made by the command line in another process, with two workers."""
    out = tmp_path_factory.mktemp("cli") / "set"
    command = [sys.executable, "-m", "pipeline", "demo-data", "--out", str(out), "--clips", "10", "--workers", "2"]
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == {
        "out": str(out),
        "made": True,
        "seed": 0,
        "clips": 10,
        "splits": {"train": 7, "validate": 1, "test": 2},
    }
    return out


def test_the_same_seed_gives_the_same_bytes_whatever_the_processes(tiny_set: Path, tmp_path: Path) -> None:
    make_demo_set(tmp_path / "again", settings=TINY, workers=1, console=QUIET)

    assert contents(tmp_path / "again") == contents(tiny_set)


def test_another_seed_gives_other_bytes(tiny_set: Path, tmp_path: Path) -> None:
    make_demo_set(tmp_path / "other", settings=DemoSettings(seed=1, clips=10), workers=1, console=QUIET)

    before, after = contents(tiny_set), contents(tmp_path / "other")
    assert before.keys() == after.keys()
    assert not [name for name in before if before[name] == after[name]]


def test_clips_decode_to_the_stated_frames_and_sound(small_set: Path) -> None:
    for line in (small_set / "scenes.jsonl").read_text().splitlines():
        truth = json.loads(line)
        with av.open(str(small_set / "videos" / f"{truth['video_id']}.mp4")) as clip:
            (video,) = clip.streams.video
            assert (video.codec_context.name, video.width, video.height) == ("h264", WIDTH, HEIGHT)
            assert video.average_rate == FPS == truth["fps"]
            assert [stream.codec_context.name for stream in clip.streams.audio] == ["aac"] * (truth["audio"] != "none")
            frames = [round(frame.time * FPS) for frame in clip.decode(video)]
        assert frames == list(range(truth["frames"]))
        assert [len(boxes) for boxes in truth["boxes"]] == [truth["frames"]] * len(truth["events"])


def test_the_sound_track_is_as_long_as_the_picture(small_set: Path) -> None:
    truths = [json.loads(line) for line in (small_set / "scenes.jsonl").read_text().splitlines()]
    for truth in (truth for truth in truths if truth["audio"] != "none"):
        with av.open(str(small_set / "videos" / f"{truth['video_id']}.mp4")) as clip:
            seconds = sum(frame.samples / frame.sample_rate for frame in clip.decode(audio=0))
        assert seconds == pytest.approx(truth["frames"] / FPS, abs=0.1)  # whole AAC frames of 46 ms


def test_annotations_have_msrvtt_s_form(small_set: Path) -> None:
    annotations = json.loads((small_set / "annotations.json").read_text())

    assert annotations["info"].keys() >= {"contributor", "data_created", "version", "description", "year", "held_out"}
    for number, video in enumerate(annotations["videos"]):
        assert video.keys() == {"category", "url", "video_id", "start time", "end time", "split", "id", "slice"}
        assert (video["id"], video["video_id"]) == (number, f"video{number}")
        assert video["split"] in ("train", "validate", "test")
        assert video["slice"] in SLICES
        assert video["end time"] > video["start time"] == 0
        assert (small_set / "videos" / f"{video['video_id']}.mp4").is_file()
    assert [sentence["sen_id"] for sentence in annotations["sentences"]] == list(range(SMALL.clips * CAPTIONS_A_CLIP))
    said = [(sentence["video_id"], sentence["caption"]) for sentence in annotations["sentences"]]
    assert len(set(said)) == len(said)
    assert {video_id for video_id, _ in said} == {video["video_id"] for video in annotations["videos"]}


def test_a_set_that_is_there_is_left_alone(small_set: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stamps = {path: path.stat().st_mtime_ns for path in small_set.rglob("*")}
    arguments = ["demo-data", "--out", str(small_set), "--seed", str(SMALL.seed), "--clips", str(SMALL.clips)]

    assert main(arguments) == 0
    assert "already holds exactly this set" in capsys.readouterr().out
    assert {path: path.stat().st_mtime_ns for path in small_set.rglob("*")} == stamps


@pytest.mark.parametrize("damage", ["changed", "missing", "extra"])
def test_a_damaged_set_is_made_again(tiny_set: Path, tmp_path: Path, damage: str) -> None:
    before = contents(tiny_set)
    clip = tiny_set / "videos" / "video3.mp4"
    if damage == "missing":
        clip.unlink()
    else:
        (clip if damage == "changed" else clip.with_name("extra.mp4")).write_bytes(b"not a clip")

    assert make_demo_set(tiny_set, settings=TINY, workers=1, console=QUIET)
    assert contents(tiny_set) == before


def test_another_recipe_is_not_taken_for_this_one(small_set: Path) -> None:
    assert is_made(small_set, settings=SMALL)
    assert not is_made(small_set, settings=DemoSettings(SMALL.seed + 1, SMALL.clips))
    assert not is_made(small_set, settings=DemoSettings(SMALL.seed, SMALL.clips + 1))


def test_a_folder_with_other_files_is_refused_and_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "thesis.txt").write_text("precious")

    assert main(["demo-data", "--out", str(tmp_path), "--clips", "10"]) == 3
    assert "holds something else" in capsys.readouterr().err
    assert (tmp_path / "thesis.txt").read_text() == "precious"


def test_a_run_that_breaks_off_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(making, "write_clip", full_disk)
    with pytest.raises(OSError, match="no space"):
        make_demo_set(tmp_path / "set", settings=TINY, workers=1, console=QUIET)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [["--clips", "3"], ["--workers", "0"]])
def test_impossible_numbers_are_refused(tmp_path: Path, arguments: list[str]) -> None:
    assert main(["demo-data", "--out", str(tmp_path / "set"), *arguments]) == 2
    assert not (tmp_path / "set").exists()


def test_the_manifest_names_every_file(small_set: Path) -> None:
    manifest = json.loads((small_set / MANIFEST).read_text())

    assert manifest["files"].keys() == contents(small_set).keys() - {MANIFEST}
