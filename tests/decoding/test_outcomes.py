"""Every odd and bad file has the outcome it must have, and none takes the parent with it."""

from __future__ import annotations

import json
import resource
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pipeline.core.console import Console
from pipeline.core.reasons import REASONS, DecodeError
from pipeline.decoding import decode, inspect_video
from pipeline.decoding.findings import WARNINGS
from pipeline.index.video_index import VideoRow, read_index
from pipeline.params.decode import Decode
from tests.clips import write_clip
from tests.decoding.catalogue import CASES, USABLE

Clip = Callable[[str], Path]
RowOf = Callable[[Path], VideoRow]


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def codes(row: VideoRow) -> set[str]:
    return {warning.partition(":")[0] for warning in row.warnings}


@pytest.mark.parametrize("name", USABLE)
def test_usable_clips(name: str, clip: Clip, row_of: RowOf) -> None:
    case, row = CASES[name], row_of(clip(name))
    assert case.frames in (0, row.frames)
    assert (row.width, row.height) == case.size
    assert case.backend in ("", row.backend)
    assert case.warnings <= codes(row) <= set(WARNINGS)
    if not case.warnings:
        assert row.warnings == ()
    assert row.why


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.reason])
def test_refused_files(name: str, clip: Clip) -> None:
    path = clip(name)
    with pytest.raises(DecodeError, match=path.name) as caught:
        inspect_video(str(path))
    assert caught.value.reason == CASES[name].reason
    assert caught.value.reason in REASONS


def test_a_cut_file_says_how_many_frames_are_lost(clip: Clip, row_of: RowOf) -> None:
    row = row_of(clip("cut.mp4"))
    assert 0 < row.frames < 60
    assert row.frames + row.lost == 60
    assert f"frames-lost: {row.lost} of 60 could not be decoded" in row.warnings


def test_times_and_duration_of_a_variable_rate(clip: Clip) -> None:
    facts = inspect_video(str(clip("vfr.mp4")))
    assert np.allclose(facts["times"], [0, 0.04, 0.2, 0.24, 0.9, 1.0], atol=1e-9)
    assert facts["duration"] > 1.0


def test_pixels_are_limited_before_decoding(tmp_path: Path) -> None:
    """The refusal comes from the header: a memory limit that decoding would break is not even touched."""
    path = write_clip(tmp_path / "wide.mp4", frames=2, width=512, height=512)
    limits = decode.limits_of(Decode(max_pixels=512 * 511))
    with pytest.raises(
        DecodeError, match=r"512x512 = 262144 pixels, allowed: 261632[\s\S]*decode.max_pixels"
    ) as caught:
        inspect_video(str(path), limits=limits)
    assert caught.value.reason == "too-large"


def test_the_corpus_has_the_outcomes_of_its_truth(corpus: Path, tmp_path: Path) -> None:
    truth = json.loads((corpus / "truth.json").read_text())
    before = peak_mb()
    decode.decode_videos(
        videos=corpus, out=tmp_path, params=Decode(max_failed=100), workers=2, console=Console(quiet=True)
    )
    index = read_index(tmp_path)
    by_name = {Path(row.path).name: row for row in [*index.rows.values(), *index.quarantined.values()]}
    assert by_name.keys() == truth.keys()
    for name, expected in truth.items():
        _check(by_name[name], expected)
    assert peak_mb() - before < 300  # the parent's own memory; each child has its limit


def _check(row: object, expected: dict[str, object]) -> None:
    outcome, is_usable = expected["outcome"], isinstance(row, VideoRow)
    if outcome == "reject":
        assert not is_usable, row
    if outcome in ("decode", "decode_flagged", "see expect"):
        assert is_usable, row
    if isinstance(row, VideoRow):
        assert expected.get("frames", row.frames) == row.frames, row
        assert expected.get("width", row.width) == row.width, row
        assert expected.get("height", row.height) == row.height, row
        assert row.warnings or outcome not in ("decode_flagged", "reject_or_flag"), row
