"""One constant changed in a resize, a pooling, a normalisation or a mel filter: the record of every family that it
reaches says so, and names the family and what to do."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

import numpy as np
import pytest

from extractors import i3d_flow, resnext3d, soundnet, vggish
from extractors.parts import c3d_network, decibels, i3d_network, residual3d, resizing
from extractors.parts.detection import maps
from pipeline.extraction import forward_pass
from tests.extractors.recording import complaint, differs, digest, read_records
from tests.extractors.test_recorded_outputs import recorded_machine

Change = tuple[Any, str, str, str]  # owner, its function, and one piece of source that becomes another

CHANGES: dict[str, tuple[Change, list[str]]] = {
    "antialiasing of a resize": (
        (resizing, "_torch_float", "antialias=how.antialias", "antialias=True"),
        ["c3d", "clips"],
    ),
    "filter of a resize": (
        (resizing, "_torch", "InterpolationMode(how.interpolation)", "InterpolationMode.NEAREST_EXACT"),
        ["csn", "flow", "frames", "i3d", "resnext3d"],
    ),
    "rounding of a long side": (
        (resizing, "output_size", "int(size * width / height)", "round(size * width / height)"),
        ["flow", "i3d_flow"],
    ),
    "cell of a region": ((maps, "pool_regions", "aligned=True", "aligned=False"), ["mask_rcnn", "yolo"]),
    "mean to maximum": (
        (residual3d.Residual3d, "forward", "clips.mean((2, 3, 4))", "clips.amax((2, 3, 4))"),
        ["csn", "resnext3d"],
    ),
    "maximum to mean": ((c3d_network, "caffe_pool", "F.max_pool3d", "F.avg_pool3d"), ["c3d", "c3d_video"]),
    "pairs of steps of the logits": (
        (i3d_network, "neighbours", "stride=1)", "stride=1).amax(2, keepdim=True)"),
        ["i3d"],
    ),
    "padding of a stem": ((resnext3d.ResNeXt3d, "stem", "padding=1", "padding=0"), ["resnext3d"]),
    "mean over time": ((soundnet.SoundNetExtractor, "forward", "waves.mean(2)", "waves.amax(2)"), ["soundnet"]),
    "scale of the flow": ((i3d_flow, "scaled", "/ LARGEST", "/ (LARGEST + 0.05)"), ["i3d_flow"]),
    "lower edge of Slaney's mel": ((decibels, "mel_edges", "linspace(0, knee", "linspace(0.3, knee"), ["openl3"]),
    "weight of the lowest bin": ((vggish, "mel_matrix", "triangles[0] = 0", "triangles[9] = 0"), ["vggish"]),
    "order of frames": ((forward_pass._Pass, "_completed", "in row]", "in row[::-1]]"), ["resnext3d"]),
}


def changed(owner: Any, name: str, before: str, after: str) -> Any:
    """The function with one piece of its source replaced, in the names of its own module."""
    function = inspect.unwrap(getattr(owner, name))
    source = textwrap.dedent(inspect.getsource(function))
    assert source.count(before) == 1, f"{name} has {source.count(before)} times '{before}'"
    made: dict[str, Any] = {}
    exec(compile(source.replace(before, after), "<changed>", "exec"), function.__globals__, made)  # noqa: S102 - our own source
    return inspect.unwrap(made[name])


@recorded_machine
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_of_one_constant_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, families = CHANGES[name]
    monkeypatch.setattr(decibels, "mel_matrix", inspect.unwrap(decibels.mel_matrix))  # not what is remembered of it
    monkeypatch.setattr(change[0], change[1], changed(*change))
    monkeypatch.setitem(resizing.METHODS, "torch", resizing._torch)
    monkeypatch.setitem(resizing.METHODS, "torch_float", resizing._torch_float)

    for family in families:
        message = complaint(family, read_records()[family])

        assert f"the numbers of the family {family} changed" in message
        assert f"raise VERSION in extractors/{family}.py" in message
        assert f"--record {family}" in message


@recorded_machine
def test_a_lower_edge_in_hertz_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vggish, "mel_matrix", inspect.unwrap(vggish.mel_matrix))
    monkeypatch.setattr(vggish, "LOWEST", 126.0)

    assert "(raw: prepare)" in complaint("vggish", read_records()["vggish"])


def test_a_raised_version_asks_for_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vggish, "VERSION", vggish.VERSION + 1)

    assert "another VERSION or CODE" in complaint("vggish", read_records()["vggish"])
    assert "no record" in complaint("vggish", None)


def test_another_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soundnet, "RANGE", 255.0)
    record = read_records()["soundnet"]

    message = complaint("soundnet", record | {"libraries": record["libraries"] | {"torch": "1.0.0"}})

    assert "If it is the libraries that changed it, only record: torch 1.0.0 -> " in message


@pytest.mark.parametrize(("scale", "seen"), [(1 + 1e-5, False), (1 + 1e-3, True)])
def test_rounding_passes_and_a_thousandth_does_not(scale: float, seen: bool) -> None:
    array = np.random.RandomState(1).standard_normal((3, 50, 7)).astype(np.float32)

    assert differs("pool", digest(array), digest((array * scale).astype(np.float32))) is seen


def test_one_place_among_many_and_what_is_no_number_are_noticed() -> None:
    array = np.random.RandomState(1).standard_normal(10_000).astype(np.float32)
    moved, lost = array.copy(), array.copy()
    moved[5000] += 1
    lost[5000] = np.nan

    assert differs("pool", digest(array), digest(moved))
    assert differs("pool", digest(array), digest(lost))
    assert differs("pool", digest(array), digest(array.astype(np.float64)))
    assert differs("pool", digest(array), digest(array[None]))
