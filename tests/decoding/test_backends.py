"""`decode.backend`: who reads, how often a video is decoded for it, and what a row says of a decoder nobody pinned."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pipeline.cli import main
from pipeline.core import Console, DecodeError, MissingToolError
from pipeline.decoding import Limits, backends, decode_cache, decord, examine, pyav, read_frames, torchcodec
from pipeline.decoding.decode import decode_videos
from pipeline.decoding.guard import close_idle
from pipeline.decoding.opening import OpenedFile, opened
from pipeline.index import VideoIndex, VideoRow, read_index
from pipeline.params import Decode
from tests.clips import judged_frames

ROOT = Path(__file__).parents[2]
Clip = Callable[[str], Path]
# A stand-in for the package, with PyAV inside: the real one takes FFmpeg from the system, which may have none
INIT = "import os\nffmpeg_major_version = int(os.environ['FFMPEG']) or None\n__version__ = '0.17.0'\n"
CORE = "import os\ndef get_ffmpeg_library_versions():\n    return {'ffmpeg_version': os.environ['FFMPEG'] + '.1'}\n"
DECODERS = """
import os
import av, numpy as np

class Pixels(np.ndarray):
    def numpy(self):
        return np.asarray(self)

class VideoDecoder:
    def __init__(self, name, *, dimension_order, num_ffmpeg_threads):
        assert (dimension_order, num_ffmpeg_threads) == ("NHWC", 1)
        with av.open(name) as container:
            self.frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
        self.expected = 0
    def __len__(self):
        return len(self.frames)
    def __getitem__(self, numbers):
        assert (numbers.start, numbers.step) == (self.expected, None), "in order only"
        self.expected = numbers.stop
        if numbers.start <= int(os.environ.get("BREAKS", -1)) < numbers.stop:
            raise RuntimeError("no such frame")
        wrong = [os.environ.get("WRONG") == str(number) for number in range(numbers.start, numbers.stop)]
        return (np.stack(self.frames[numbers]) ^ np.array(wrong)[:, None, None, None]).view(Pixels)
"""


@pytest.fixture
def torchcodec_like(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Children from now on find a package of that name, with or without an FFmpeg."""
    package = tmp_path / "packages/torchcodec"
    package.mkdir(parents=True)
    for name, text in {"__init__": INIT, "_core": CORE, "decoders": DECODERS}.items():
        (package / f"{name}.py").write_text(text)

    def present(ffmpeg: int = 6, **environment: str) -> None:
        for name, value in {"PYTHONPATH": str(package.parent), "FFMPEG": str(ffmpeg), **environment}.items():
            monkeypatch.setenv(name, value)
        forget()

    def forget() -> None:
        close_idle()
        for remembered in (backends.versions, backends.torchcodec_build, decode_cache._fingerprint):
            remembered.cache_clear()

    yield present
    forget()


def index_by(video: Path, out: Path, **params: Any) -> VideoIndex:
    decode_videos(videos=video, out=out, params=Decode(**params), console=Console(quiet=True))
    return read_index(out)


def all_of(row: VideoRow) -> np.ndarray:
    return np.stack(list(read_frames(row, range(row.frames))))


@pytest.mark.parametrize(
    ("backend", "decoded"),
    [("pyav", {"pyav": 30}), ("decord", {"pyav": 30, "decord": 30}), ("torchcodec", {"pyav": 30, "torchcodec": 30})],
)
def test_frames_decoded_for_a_row(
    backend: str, decoded: dict[str, int], clip: Clip, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One pass where PyAV reads, two where it judges; RGB is made once a pass, or once a video if nobody compares."""
    counts: Counter[str] = Counter()
    original, make_rgb = pyav.decoded, pyav.RgbConverter.rgb

    def counted_pyav(*given: Any, **more: Any) -> list[Any]:
        frames = original(*given, **more)
        counts["pyav"] += len(frames)
        return frames

    def counted(file: OpenedFile, *, wanted: list[int], threads: int) -> Iterator[Any]:
        reader = decord.read(file, wanted=wanted, threads=threads)
        for frame in reader:
            counts[backend] += 1
            yield frame

    def counted_rgb(converter: pyav.RgbConverter, frame: Any) -> np.ndarray:
        counts["rgb"] += 1
        return make_rgb(converter, frame)

    monkeypatch.setattr(pyav, "decoded", counted_pyav)
    monkeypatch.setattr(pyav.RgbConverter, "rgb", counted_rgb)
    monkeypatch.setattr(examine, "JUDGED", {"decord": counted, "torchcodec": counted})
    with opened(str(clip("good.mp4"))) as file:
        *_, last = examine.examine(file, backend=backend, limits=Limits(), beat=lambda: None)
    assert last["backend"] == backend
    assert counts.pop("rgb") == (1 if backend == "pyav" else 30)
    assert counts == decoded


def test_pyav_finds_the_same_facts_alone(clip: Clip, tmp_path: Path) -> None:
    for name in ("vfr.mp4", "rotated_90.mp4", "flipped.mp4"):
        judged = index_by(clip(name), tmp_path / "judged")
        alone = index_by(clip(name), tmp_path / "alone", backend="pyav")
        ((row_id, row),) = judged.rows.items()
        assert alone.rows == {row_id: replace(row, backend="pyav", why="decode.backend is pyav")}
        assert np.array_equal(alone.times(row_id), judged.times(row_id))
        assert np.array_equal(all_of(alone.rows[row_id]), all_of(row))


def test_params_without_a_backend_give_the_index_of_before(clip: Clip, tmp_path: Path) -> None:
    index_by(clip("good.mp4"), tmp_path / "old")
    index_by(clip("good.mp4"), tmp_path / "new", backend="decord")
    old, new = ({path.name: path.read_bytes() for path in (tmp_path / each).iterdir()} for each in ("old", "new"))
    assert old == new
    assert list(json.loads(old["index.jsonl"])) == [
        "id", "path", "sha256", "frames", "width", "height", "fps", "duration", "audio", "backend", "warnings", "why",
        "lost", "start", "audio_start", "audio_end", "audio_peak",
    ]  # fmt: skip


def test_torchcodec_reads_what_pyav_judged_equal(
    clip: Clip, tmp_path: Path, torchcodec_like: Callable[..., None]
) -> None:
    torchcodec_like()
    (row,) = index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    assert (row.backend, row.why) == ("torchcodec", "equals PyAV on every frame")
    assert row.decoder == "torchcodec 0.17.0 with FFmpeg 6.1"
    assert np.array_equal(all_of(row), np.stack(judged_frames(clip("good.mp4"))))
    (damaged,) = index_by(clip("flipped.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    assert (damaged.backend, damaged.why, damaged.decoder) == ("pyav", "the file is damaged", "pyav")


def test_one_wrong_pixel_leaves_the_video_to_pyav(
    clip: Clip, tmp_path: Path, torchcodec_like: Callable[..., None]
) -> None:
    torchcodec_like(WRONG="17")
    (row,) = index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    assert (row.backend, row.why) == ("pyav", "torchcodec shows other pixels in frame 17")


def test_a_call_that_fails_costs_no_frame(clip: Clip, tmp_path: Path, torchcodec_like: Callable[..., None]) -> None:
    """Several frames come of one call: PyAV reads those before the one that fails, and all after it."""
    torchcodec_like()
    (row,) = index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    torchcodec_like(BREAKS="17")
    assert np.array_equal(all_of(row), np.stack(judged_frames(clip("good.mp4"))))


@settings(max_examples=50, deadline=None)
@given(
    count=st.integers(1, 12),
    wanted=st.sets(st.integers(0, 14), min_size=1).map(sorted),
    call_bytes=st.sampled_from([0, 23, 24, 24 * 3, 24 * 100]),
)
def test_torchcodec_decodes_a_few_frames_a_call(count: int, wanted: list[int], call_bytes: int) -> None:
    frames = np.arange(count * 24, dtype=np.uint8).reshape(count, 2, 4, 3)
    calls: list[int] = []

    class Decoder:
        def __init__(self, *_: Any, **__: Any) -> None: ...

        def __len__(self) -> int:
            return count

        def __getitem__(self, numbers: slice) -> Any:
            assert numbers.start == sum(calls)
            calls.append(numbers.stop - numbers.start)
            return SimpleNamespace(numpy=lambda: frames[numbers])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torchcodec.importlib, "import_module", lambda _: SimpleNamespace(VideoDecoder=Decoder))
        patch.setattr(torchcodec, "CALL_BYTES", call_bytes)
        found = list(torchcodec._read(OpenedFile("it", 0), wanted=wanted, threads=1))
    end = min(count, max(wanted) + 1)
    assert [None if frame is None else frame.tobytes() for frame in found] == [
        frames[number].tobytes() if number in wanted else None for number in range(end)
    ]
    assert sum(calls) == end
    assert max(calls) <= max(1, call_bytes // 24)


def test_another_ffmpeg_is_judged_anew_and_read_by_pyav_until_then(
    clip: Clip, tmp_path: Path, torchcodec_like: Callable[..., None]
) -> None:
    torchcodec_like(ffmpeg=6)
    (row,) = index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    torchcodec_like(ffmpeg=7, WRONG="3")  # which has not been judged
    assert np.array_equal(all_of(row), np.stack(judged_frames(clip("good.mp4"))))
    (row,) = index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec").rows.values()
    assert row.why == "torchcodec shows other pixels in frame 3"


def test_a_system_without_ffmpeg_is_told_what_it_lacks(
    clip: Clip,
    tmp_path: Path,
    torchcodec_like: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    torchcodec_like(ffmpeg=0)
    with pytest.raises(MissingToolError, match=r"lacks the shared libraries of FFmpeg 4 to 9[\s\S]*apt-get"):
        index_by(clip("good.mp4"), tmp_path / "out", backend="torchcodec")
    (tmp_path / "packages/torchcodec/__init__.py").write_text("raise ImportError('no such thing here')")
    monkeypatch.chdir(tmp_path)
    Path("params.yaml").write_text((ROOT / "params.yaml").read_text().replace("backend: decord", "backend: torchcodec"))
    torchcodec_like(ffmpeg=0)
    assert main(["decode", str(clip("good.mp4"))]) == MissingToolError.exit_code
    shown = capsys.readouterr().err
    assert "torchcodec, which cannot be imported: no such thing here" in shown
    assert "pip install 'framescribe[torchcodec]'" in shown


@pytest.mark.slow  # importing torch
def test_the_real_torchcodec_equals_pyav(clip: Clip, tmp_path: Path) -> None:
    try:
        backends.require_backend("torchcodec")
    except MissingToolError as error:
        pytest.skip(error.message)
    finally:
        close_idle()
    for name in ("good.mp4", "b_frames.mkv"):
        (row,) = index_by(clip(name), tmp_path / "out", backend="torchcodec").rows.values()
        assert row.backend == "torchcodec"
        assert np.array_equal(all_of(row), np.stack(judged_frames(clip(name))))
    with opened(str(clip("page.mp4"))) as file, pytest.raises(DecodeError, match="torchcodec"):
        list(torchcodec.read(file, wanted=[0], threads=1))
