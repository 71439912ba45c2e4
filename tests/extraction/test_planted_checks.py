"""Every published check, its whole way: with planted weights, input and numbers it passes, and with any one tensor a
thousandth off it fails - in the file, in what is loaded of it, in the network.
"""

from __future__ import annotations

import json
import wave
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from pipeline.cli import main
from pipeline.extraction import build_extractor, published_checks
from pipeline.extraction.network_tensors import _tensors
from pipeline.store import TensorFile, spec_of, write_tensors
from pipeline.weights import Digests, converted_path, entry, load_weights
from pipeline.weights.converted import FIRST_USE
from pipeline.weights.lookup import with_parts
from tests.clips import tone, write_clip
from tests.extraction.planted import a_thousandth_off, plant

CHECKS = published_checks.read_checks()
QUICK = {"raft_small_chairs_v1", "openl3_linear_env"}
SHORTER = {"i3d_flow_raft_clip"}  # RAFT takes seconds for a pair of frames: fewer of them, and fewer updates
every_check = pytest.mark.parametrize(
    "name", [each if each in QUICK else pytest.param(each, marks=pytest.mark.slow) for each in CHECKS]
)


def draw_clip(path: Path, window: int) -> None:
    """Of one window, or a second."""
    write_clip(path, frames=window + 1 if window else 25, width=128, height=96, sound=tone(2.0, rate=16_000))


def draw_sound(path: Path, _: int) -> None:
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, 44_100, 0, "NONE", ""))
        sound.writeframes(np.random.default_rng(0).integers(-9000, 9000, 88_200, dtype="<i2").tobytes())


def draw_picture(path: Path, _: int) -> None:
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (240, 320, 3), dtype=np.uint8)).save(path)


def draw_array(path: Path, window: int) -> None:
    rng = np.random.default_rng(0)
    if "flow" in path.name:
        np.save(path, rng.uniform(-1, 1, (1, window, 224, 224, 2)).astype(np.float32))
    elif "snip" in path.name:
        np.save(path, rng.integers(0, 256, (16, 240, 320, 3), dtype=np.uint8))
    elif path.suffix == ".npz":
        np.savez(path, input_u8=rng.integers(0, 256, (16, 224, 224, 3), dtype=np.uint8))
    else:
        np.save(path, rng.uniform(-1, 1, (1, window, 224, 224, 3)).astype(np.float32))


DRAWERS: dict[str, Callable[[Path, int], None]] = {
    ".mp4": draw_clip,
    ".wav": draw_sound,
    ".jpg": draw_picture,
    ".npy": draw_array,
    ".npz": draw_array,
}


def drawn_input(check: Any, folder: Path) -> Any:
    """In the place of the published file, of its kind."""
    if check.input.made:
        return check.input
    path = folder / check.input.file
    DRAWERS[path.suffix](path, check.params.sampling.window or 0)
    proof = {"sha256": Digests.of(path.read_bytes()).sha256, "git_blob": "", "size": 0}
    return check.input.model_copy(update=proof)


def own_numbers(check: Any, folder: Path) -> Any:
    """The check, with the numbers that the planted network gives, as many as were published where it can have them."""
    extractor = build_extractor.extractor_of(check.params, device="cpu")
    found = published_checks._found(check, extractor, folder)
    rows = {output: torch.as_tensor(each).flatten().double() for output, each in found.items()}
    numbers = [published_checks._measured(rows[each.output], each).tolist() for each in check.expected]
    expected = [each.model_copy(update={"numbers": own}) for each, own in zip(check.expected, numbers, strict=True)]
    return check.model_copy(update={"expected": expected})


def run(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, Any], str]:
    code = main(["extractors", "check", name, "--inputs", ".", "--json"])
    out, err = capsys.readouterr()
    return code, json.loads(out).get(name, {}) if out.strip().startswith("{") else {}, err


def planted(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(folder)
    build_extractor.load_extractor.cache_clear()
    known = CHECKS[name]
    plant(known.params.weights, monkeypatch)
    if name in SHORTER:
        sampling = known.params.sampling.model_copy(update={"window": 16, "stride": 16})
        facts = {"sampling": sampling, "options": known.params.options | {"updates": 2}}
        known = known.model_copy(update={"params": known.params.model_copy(update=facts)})
    known = own_numbers(known.model_copy(update={"input": drawn_input(known, folder)}), folder)
    monkeypatch.setattr(published_checks, "read_checks", lambda: {name: known})
    return known


@every_check
def test_a_check_passes_and_fails_with_any_one_tensor_a_thousandth_off(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = planted(name, tmp_path, monkeypatch)
    code, told, err = run(name, capsys)
    assert (code, told["result"]) == (0, "pass"), err
    assert "the network has them in all its" in told["weights"]
    proven = all(entry(part).sources[0].has_hash for part in with_parts(check.params.weights))
    assert ("nobody published a hash" in told["weights"]) != proven

    for seed in (0, 1, 2) if name in QUICK else (0,):
        _fails_in_the_network(check, name, seed, capsys)
        _fails_when_loaded(check, name, seed, monkeypatch, capsys)


def _fails_in_the_network(check: Any, name: str, seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    build_extractor.load_extractor.cache_clear()
    tensors = dict(_tensors(build_extractor.extractor_of(check.params, device="cpu")))
    changed = a_thousandth_off(tensors, seed=seed)
    assert run(name, capsys)[0] == 6, changed


def _fails_when_loaded(
    check: Any, name: str, seed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    build_extractor.load_extractor.cache_clear()
    state = load_weights(check.params.weights)
    changed = a_thousandth_off(state, seed=seed)
    with monkeypatch.context() as patched:
        patched.setattr(build_extractor, "load_weights", lambda _: state)
        assert run(name, capsys)[0] == 6, changed
    build_extractor.load_extractor.cache_clear()


def rewritten(path: Path, change: Callable[[dict[str, np.ndarray]], Any], **facts: str) -> None:
    """A file that is whole by its own checksums, with other numbers or another record."""
    file = TensorFile(path)
    record = {key: value for key, value in file.metadata.items() if key != "header" and not key.startswith("check/")}
    arrays = {key: file[key].copy() for key in file}
    change(arrays)
    specs = {key: spec_of(array) for key, array in arrays.items()}
    write_tensors(path, specs, arrays.__getitem__, metadata=record | facts)


def one_a_thousandth_larger(arrays: dict[str, np.ndarray]) -> None:
    arrays["feature_encoder.layer1.0.convnormrelu1.0.weight"] *= 1.001  # a norm behind it undoes that


def test_a_file_with_a_changed_tensor_fails_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = planted("raft_small_chairs_v1", tmp_path, monkeypatch)
    path = converted_path(check.params.weights)
    whole = path.read_bytes()
    rewritten(path, one_a_thousandth_larger)
    assert main(["extractors", "check", "--inputs", "."]) == 6
    assert "the tensors of raft_small_chairs_v1 have sha256" in capsys.readouterr().out

    path.write_bytes(whole[:-100] + bytes(100))
    assert main(["extractors", "check", "--inputs", "."]) == 6
    assert "raft_small_chairs_v1.safetensors" in capsys.readouterr().out

    path.write_bytes(whole[: len(whole) // 2])
    assert main(["extractors", "check", "--inputs", "."]) == 6
    assert "damaged" in capsys.readouterr().out


def test_a_trusted_file_in_the_place_of_a_published_one_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = planted("raft_small_chairs_v1", tmp_path, monkeypatch)
    rewritten(converted_path(check.params.weights), lambda _: None, origin_sha256="1" * 64, proof=FIRST_USE)

    assert main(["extractors", "check", "--inputs", "."]) == 6
    assert "raft_small_chairs_v1 is none of the published files" in capsys.readouterr().out
