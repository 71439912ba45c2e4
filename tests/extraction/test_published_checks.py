"""`framescribe extractors check`: published numbers on this machine, and what is said of what is missing or wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from pipeline.cli import main
from pipeline.core import InputError
from pipeline.extraction import build_extractor, published_checks
from pipeline.extraction.check_inputs import CheckInput, check_batch
from pipeline.extraction.reference_resampling import resampled
from pipeline.params import Extract, Sampling
from pipeline.weights import Digests, WeightsProof, entry, load_weights
from tests.clips import tone, write_clip

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT.parent / "shared/data/golden"
if not GOLDEN.is_dir():
    GOLDEN = ROOT.parents[1] / "shared/data/golden"
WEIGHTS = ROOT / "weights/i3d_rgb.safetensors"
has_weights = pytest.mark.skipif(not WEIGHTS.is_file(), reason="framescribe weights fetch i3d_rgb")
has_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the frames of the check are not part of the project")
PRINCETON = GOLDEN.parent / "weights/raft-small.pth"
has_princeton = pytest.mark.skipif(not PRINCETON.is_file(), reason="the authors' raft-small.pth is not here")
PUBLISHED = GOLDEN.parent / "published/video_features_v_GGSY1Qvo990.npz"
has_published = pytest.mark.skipif(not PUBLISHED.is_file(), reason="the published features are not part of the project")
OF_A_CLIP = {  # check -> its array in the file of published features
    "clip_vit_b32": "clip_vit_b32_5fps",
    "i3d_flow_raft_clip": "i3d_flow_raft_64",
    "i3d_rgb_imagenet_25fps": "i3d_rgb_24_24_25fps",
    "i3d_rgb_imagenet_clip": "i3d_rgb_64",
    "r2plus1d_18": "r2plus1d_18_16",
    "resnet101": "resnet101_1fps",
    "s3d": "s3d",
    "vggish_clip": "vggish",
}
OF_SOUND = {"vggish", "vggish_quantised", "openl3_mel256_music", "openl3_mel256_music_v03", "openl3_linear_env"}
COARSE = {*OF_SOUND, *OF_A_CLIP, "c3d_sports1m", "faster_rcnn_vg_36"}
TENSORS = ["layers.Conv3d_1a_7x7.conv.weight", "logits.weight"]


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    code = main(["extractors", "check", *arguments, "--json"])
    out = capsys.readouterr().out
    return code, json.loads(out) if out.strip().startswith("{") else {}


def test_every_check_says_what_it_is_made_of() -> None:
    for name, each in published_checks.read_checks().items():
        assert entry(each.params.weights).licence, name
        proof = each.input.sha256 or each.input.git_blob or each.input.unproven
        assert each.input.made or (each.input.where and proof), name
        assert {number.output for number in each.expected} <= set(each.params.outputs)


def test_numbers_a_thousandth_off_fail_where_the_published_ones_are_exact_enough() -> None:
    """The others are said to be coarse in docs/extractors.md, each with its reason."""
    for name, each in published_checks.read_checks().items():
        found = [torch.tensor(number.numbers, dtype=torch.float64) * 1.001 for number in each.expected]
        worst = max(published_checks._share(a, b) for a, b in zip(found, each.expected, strict=True))
        assert (worst > each.tolerance) == (name not in COARSE), name


@has_published
def test_the_numbers_of_the_clip_are_the_published_ones_and_no_array_is_left_out() -> None:
    with np.load(PUBLISHED) as arrays:
        assert set(OF_A_CLIP.values()) == set(arrays)
        for name, array in OF_A_CLIP.items():
            (expected,) = published_checks.read_checks()[name].expected
            np.testing.assert_allclose(expected.numbers, arrays[array].ravel()[:: expected.every], rtol=1e-6)


def weights_are_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """For what is said of inputs and outputs; tests/extraction/test_planted_checks.py is about weights."""
    monkeypatch.setattr(published_checks, "availability", lambda _: "present")
    monkeypatch.setattr(published_checks, "_weights_in", lambda *_: WeightsProof(True, ""))


def own_clip_check(folder: Path, params: dict[str, Any], *, every: int = 1, recoded_fps: int = 0) -> Any:
    """On a clip that is drawn here, in the manner of a published check; the numbers are still to come."""
    file = write_clip(folder / "drawn.mp4", frames=60, fps=20, width=128, height=96, sound=tone(3.0, rate=16_000))
    facts = {"file": file.name, "sha256": Digests.of(file.read_bytes()).sha256, "recoded_fps": recoded_fps}
    expected = [{"output": params["outputs"][0], "measure": "vector", "every": every, "numbers": []}]
    given = {"about": "", "source": "", "params": params, "input": facts, "tolerance": 0.01, "expected": expected}
    return published_checks.PublishedCheck.model_validate(given)


def outputs_of(check: Any, folder: Path) -> Any:
    return published_checks._found(check, build_extractor.extractor_of(check.params, device="cpu"), folder)


def difference(check: Any, folder: Path) -> float:
    return published_checks._difference(check, build_extractor.extractor_of(check.params, device="cpu"), folder)


def with_its_numbers(check: Any, folder: Path) -> Any:
    found = outputs_of(check, folder)[check.expected[0].output].ravel()[:: check.expected[0].every]
    expected = [check.expected[0].model_copy(update={"numbers": found.tolist()})]
    return check.model_copy(update={"expected": expected})


PICTURES = {"family": "frames", "network": "timm:test_resnet", "weights": "random", "sampling": {"every": 1}}
CLIPS = {"family": "i3d", "network": "i3d_rgb", "weights": "random", "sampling": {"window": 24, "stride": 24}}
SOUNDS = {"family": "soundnet", "network": "soundnet8", "weights": "random", "sampling": {"hop": 1.0}}
OWN = {
    "frames at 5 a second": (PICTURES | {"outputs": ["pool"]}, 5, (15, 96)),
    "windows": (CLIPS | {"outputs": ["avg_pool"], "options": {"side": 32}}, 0, (2, 1024)),
    "windows at 25 frames a second": (CLIPS | {"outputs": ["avg_pool"], "options": {"side": 32}}, 25, (3, 1024)),
    "sound": (SOUNDS | {"outputs": ["pool"], "options": {"seconds": 1.0}}, 0, (3, 256)),
}


@pytest.mark.parametrize("kind", OWN)
def test_a_check_of_a_clip_has_the_rows_of_other_projects(kind: str, tmp_path: Path) -> None:
    """Encoded again at another rate where they do so; other numbers, another clip and another rate are seen."""
    params, fps, shape = OWN[kind]
    check = own_clip_check(tmp_path, params, every=7, recoded_fps=fps)

    assert outputs_of(check, tmp_path)[params["outputs"][0]].shape == shape
    known = with_its_numbers(check, tmp_path)
    assert difference(known, tmp_path) < 1e-6

    numbers = [1.02 * each for each in known.expected[0].numbers]
    larger = known.model_copy(update={"expected": [known.expected[0].model_copy(update={"numbers": numbers})]})
    assert difference(larger, tmp_path) > known.tolerance
    if kind != "sound":
        slower = known.model_copy(update={"input": known.input.model_copy(update={"recoded_fps": 8})})
        assert difference(slower, tmp_path) == float("inf")


def test_a_frame_of_a_recoded_clip_is_the_one_that_ffmpegs_filter_takes(tmp_path: Path) -> None:
    """Of 20 frames a second at 1 a second: the last ones before half a second, one and a half, ..."""
    plain = own_clip_check(tmp_path, PICTURES | {"outputs": ["conv1"]})
    recoded = plain.model_copy(update={"input": plain.input.model_copy(update={"recoded_fps": 1})})

    every, once = (outputs_of(each, tmp_path)["conv1"] for each in (plain, recoded))
    distances = np.abs(every[None] - once[:, None]).mean((2, 3, 4))  # (3, 60)

    assert distances.argmin(1).tolist() == [9, 29, 49]


def test_another_clip_under_the_name_of_the_published_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_clip(tmp_path / "v_GGSY1Qvo990.mp4")
    known = published_checks.read_checks()["resnet101"]
    untrained = known.model_copy(update={"params": Extract(**PICTURES)})
    monkeypatch.setattr(published_checks, "read_checks", lambda: {"resnet101": untrained})
    weights_are_not_looked_at(monkeypatch)

    assert main(["extractors", "check", "resnet101", "--inputs", str(tmp_path)]) == 3
    assert "v_GGSY1Qvo990.mp4 is another file" in capsys.readouterr().err


def test_pictures_and_frames_as_they_were_decoded_go_through_the_networks_own_preparation(tmp_path: Path) -> None:
    extractor: Any = build_extractor.extractor_of(Extract(**PICTURES), device="cpu")
    frames = np.random.default_rng(0).integers(0, 256, (16, 40, 60, 3), dtype=np.uint8)
    np.save(tmp_path / "frames.npy", frames)
    Image.fromarray(frames[0]).save(tmp_path / "picture.jpg", quality=95)
    size = (tmp_path / "frames.npy").stat().st_size
    whole = CheckInput(file="frames.npy", whole=True, size=size)
    settings = {"folder": tmp_path, "sampling": Sampling(every=1)}

    clip = check_batch(whole, extractor, **settings)
    picture = check_batch(CheckInput(file="picture.jpg"), extractor, **settings)

    torch.testing.assert_close(clip[0, 3], extractor.prepare(frames[3]))
    assert clip.shape == (1, 16, 3, 160, 160)
    assert float((picture[0] - extractor.prepare(frames[0])).abs().mean()) < 0.5
    with pytest.raises(InputError, match=r"frames\.npy is another file: "):
        check_batch(whole.model_copy(update={"size": size + 1}), extractor, **settings)


def test_percent_are_of_the_classes_together_and_what_is_taken_on_trust_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = torch.tensor([0.0, 2.0, 1.0])
    expected = published_checks.ExpectedNumbers(output="logits", measure="percent", numbers=[66.52, 24.47])
    assert published_checks._share(published_checks._measured(logits, expected), expected) < 1e-4

    known = published_checks.read_checks()["c3d_sports1m"]
    monkeypatch.setattr(published_checks, "_difference", lambda *_: 0.5)

    holds, told = published_checks._output(known, None, tmp_path)

    assert not holds
    assert "the input is taken on trust: only the size of the file was published" in told


def test_missing_weights_are_said_with_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    code, told = check(capsys)

    assert code == 0
    assert {each["result"] for each in told.values()} == {"weights missing"}
    assert "framescribe weights fetch i3d_rgb_imagenet" in told["i3d_rgb_imagenet"]["weights"]


def test_an_unknown_check_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["extractors", "check", "nosuch"]) == 2
    assert "known: c3d_sports1m, clip_vit_b32" in capsys.readouterr().err


@has_weights
def test_a_missing_input_and_another_file_under_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    code, told = check(capsys, "i3d_rgb", "--inputs", str(tmp_path))
    assert (code, told["i3d_rgb"]["result"]) == (0, "input missing")

    (tmp_path / "i3d_tv_v_SoccerJuggling_g23_c01.npz").write_bytes(b"another")
    assert main(["extractors", "check", "i3d_rgb", "--inputs", str(tmp_path)]) == 3
    assert "is another file" in capsys.readouterr().err


@pytest.fixture
def own_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A check on frames that are drawn here; its numbers are those that the whole network gives."""
    monkeypatch.chdir(ROOT)
    frames = np.random.default_rng(0).integers(0, 256, (16, 224, 224, 3), dtype=np.uint8)
    np.save(tmp_path / "drawn.npy", frames)
    known = published_checks.read_checks()["i3d_rgb"]
    build_extractor.load_extractor.cache_clear()
    extractor: Any = build_extractor.extractor_of(known.params, device="cpu")
    clip = torch.from_numpy(frames).permute(3, 0, 1, 2)[None] * (2 / 255) - 1
    rows = {name: row.flatten() for name, row in extractor.run(clip).items()}
    expected = [
        each.model_copy(update={"numbers": rows[each.output][:: each.every].tolist()}) for each in known.expected
    ]
    proof = Digests.of((tmp_path / "drawn.npy").read_bytes()).sha256
    drawn = known.input.model_copy(update={"file": "drawn.npy", "array": "", "sha256": proof})
    made = {"i3d_rgb": known.model_copy(update={"input": drawn, "expected": expected})}
    monkeypatch.setattr(published_checks, "read_checks", lambda: made)
    return tmp_path


def perturb(name: str, monkeypatch: pytest.MonkeyPatch, *, weights: str = "i3d_rgb") -> None:
    """One tensor of the weights, a thousandth larger."""
    state = load_weights(weights)
    state[name] = state[name] * 1.001
    build_extractor.load_extractor.cache_clear()
    monkeypatch.setattr(build_extractor, "load_weights", lambda _: state)


@has_weights
@pytest.mark.parametrize("tensor", TENSORS)
def test_a_check_fails_when_one_tensor_is_a_thousandth_off(
    tensor: str, own_check: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["extractors", "check", "i3d_rgb", "--inputs", str(own_check)]
    assert main(arguments) == 0
    perturb(tensor, monkeypatch)

    assert main(arguments) == 6

    assert "not the published weights or numbers: i3d_rgb" in capsys.readouterr().err
    build_extractor.load_extractor.cache_clear()


@has_weights
@has_golden
def test_i3d_gives_the_numbers_of_an_independent_implementation(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    arguments = ["i3d_rgb", "--inputs", str(GOLDEN)]
    build_extractor.load_extractor.cache_clear()
    assert check(capsys, *arguments)[1]["i3d_rgb"]["result"] == "pass"

    perturb(TENSORS[0], monkeypatch)
    assert main(["extractors", "check", *arguments]) == 6
    build_extractor.load_extractor.cache_clear()


@pytest.mark.parametrize("tensor", ["features.0.0.weight", "features.17.conv.1.1.running_var"])
def test_mobilenet_gives_the_numbers_of_another_library_and_not_with_a_tensor_a_thousandth_off(
    tensor: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not (ROOT / "weights/mobilenet_v2.safetensors").is_file():
        pytest.skip("framescribe weights fetch mobilenet_v2")
    monkeypatch.chdir(ROOT)
    build_extractor.load_extractor.cache_clear()
    assert check(capsys, "mobilenet_v2")[1]["mobilenet_v2"]["result"] == "pass"

    perturb(tensor, monkeypatch, weights="mobilenet_v2")
    assert main(["extractors", "check", "mobilenet_v2"]) == 6
    build_extractor.load_extractor.cache_clear()


@has_princeton
def test_raft_gives_the_flow_of_its_authors_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of their own file, from which torchvision's was made."""
    monkeypatch.chdir(tmp_path)
    name = "raft_small_chairs_v1"
    assert main(["weights", "import", name, str(PRINCETON), "--quiet"]) == 0
    capsys.readouterr()
    assert check(capsys, name)[1][name]["result"] == "pass"

    perturb("update_block.flow_head.conv2.weight", monkeypatch, weights=name)
    assert main(["extractors", "check", name]) == 6
    build_extractor.load_extractor.cache_clear()


def test_resampling_keeps_a_tone() -> None:
    def tone(rate: int) -> np.ndarray:
        return np.sin(2 * np.pi * 1000 * np.arange(rate) / rate)

    found = resampled(tone(44_100), 44_100, 48_000)

    assert found.shape == (48_000,)
    assert np.abs(found - tone(48_000))[200:-200].max() < 1e-4
    with pytest.raises(ValueError, match="only a higher rate"):
        resampled(tone(48_000), 48_000, 16_000)
