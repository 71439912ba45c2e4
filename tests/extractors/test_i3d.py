"""I3D: shapes, TensorFlow's padding, the published names, and golden outputs where they are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from extractors import i3d
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts import i3d_network
from pipeline.params.extract import Extract, Sampling
from pipeline.weights import converted_path, load_weights, status
from tests.extractors.awkward import extracted
from tests.extractors.published import i3d_tree
from tests.store.making import index_of

ROOT = Path(__file__).parents[2]
LABELS = ROOT.parent / "shared/data/weights/K400_label_map.txt"
GOLDEN = ROOT.parent / "shared/data/golden/i3d_tv_v_SoccerJuggling_g23_c01.npz"
# End points of (3, 16, 224, 224), channels last
SHAPES = {
    "Conv3d_1a_7x7": (8, 112, 112, 64),
    "Conv3d_2c_3x3": (8, 56, 56, 192),
    "Mixed_3c": (8, 28, 28, 480),
    "Mixed_4f": (4, 14, 14, 832),
    "Mixed_5c": (2, 7, 7, 1024),
    "pool": (1024,),
    "avg_pool": (1024,),
    "logits": (400,),
    "grid": (7, 7, 2048),
}


def test_every_end_point_has_the_published_shape() -> None:
    extractor = i3d.build("i3d_rgb", outputs=list(SHAPES), weights=None)

    assert extractor.outputs == SHAPES


def test_a_smaller_side_is_the_same_picture_and_the_same_network() -> None:
    """For less; resize and crop keep their ratio, and the heads look at whatever places there are."""
    outputs = ["Mixed_5c", "pool", "logits", "grid"]
    extractor = i3d.build("i3d_rgb", outputs=outputs, weights=None, side=64)
    frame = np.random.default_rng(0).integers(0, 256, size=(192, 256, 3), dtype=np.uint8)
    rows = extractor(torch.stack([extractor.prepare(frame)] * 16)[None])

    assert extractor.outputs == {"Mixed_5c": (2, 2, 2, 1024), "pool": (1024,), "logits": (400,), "grid": (2, 2, 2048)}
    assert {name: tuple(each.shape[1:]) for name, each in rows.items()} == extractor.outputs
    assert extractor.preprocessing["resize_short_side"] == 73
    torch.testing.assert_close(rows["pool"], rows["Mixed_5c"].mean((1, 2, 3)))
    with pytest.raises(ExtractorError, match="side is 16, allowed: 32 or more"):
        i3d.build("i3d_rgb", outputs=["pool"], weights=None, side=16)


@torch.inference_mode()
def test_avg_pool_is_what_the_classifier_is_given() -> None:
    """The first and the last of its time steps are in one pair, the others in two."""
    torch.manual_seed(0)
    outputs = ["Mixed_5c", "pool", "avg_pool", "logits"]
    extractor = i3d.build("i3d_rgb", outputs=outputs, weights=None, window=32, side=32)
    rows = extractor(torch.randn(1, 32, 3, 32, 32))

    steps = rows["Mixed_5c"].mean((2, 3))[0]  # (4, 1024)
    weights = torch.tensor([0.5, 1, 1, 0.5])[:, None] / 3
    logits = extractor.network.logits(rows["avg_pool"][..., None, None, None])[..., 0, 0, 0]  # type: ignore[operator]

    torch.testing.assert_close(rows["avg_pool"][0], (weights * steps).sum(0))
    torch.testing.assert_close(rows["logits"], logits)
    assert not torch.allclose(rows["avg_pool"], rows["pool"], rtol=1e-3)


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "before", "after"),
    [(224, 7, 2, 2, 3), (16, 7, 2, 2, 3), (112, 3, 2, 0, 1), (56, 3, 1, 1, 1), (7, 2, 2, 0, 1), (8, 2, 2, 0, 0)],
)
def test_padding_is_tensorflows_same(size: int, kernel: int, stride: int, before: int, after: int) -> None:
    """ceil(size / stride) outputs, and the odd zero at the end: symmetric padding would shift every feature."""
    padded = i3d_network.pad_same(torch.ones(1, 1, size, 1, 1), (kernel, 1, 1), (stride, 1, 1)).flatten()

    assert padded.tolist() == [0.0] * before + [1.0] * size + [0.0] * after


def test_the_published_tree_loads_strictly_and_lands_where_it_belongs() -> None:
    tree = i3d_tree()
    network = i3d_network.I3d()
    network.load_state_dict(i3d.map_published(tree))

    theirs = tree["params"]["Mixed_4c"]["Branch_2/Conv3d_0b_3x3"]["Conv_0"]["kernel"]
    ours = network.layers["Mixed_4c"].b2b.conv.weight
    assert ours.shape == (64, 24, 3, 3, 3)
    assert float(ours[5, 7, 0, 1, 2].detach()) == float(theirs[0, 1, 2, 7, 5])
    statistics = tree["batch_stats"]["Conv3d_2c_3x3"]["BatchNorm_0"]["var"].ravel()
    np.testing.assert_array_equal(network.layers["Conv3d_2c_3x3"].norm.running_var.numpy(), statistics)


def test_time_steps_lie_side_by_side_and_a_bare_reshape_would_not_do() -> None:
    mixed_5c = torch.arange(1024 * 2 * 49, dtype=torch.float32).view(1, 1024, 2, 7, 7)
    grid = i3d_network.side_by_side(mixed_5c)

    assert torch.equal(grid[0, 3, 4, :1024], mixed_5c[0, :, 0, 3, 4])
    assert torch.equal(grid[0, 3, 4, 1024:], mixed_5c[0, :, 1, 3, 4])
    assert not torch.equal(grid, mixed_5c.reshape(1, 7, 7, 2048))


def test_frames_are_scaled_and_cropped_as_published() -> None:
    extractor = i3d.build("i3d_rgb", outputs=["pool"], weights=None)
    picture = np.full((300, 400, 3), 255, np.uint8)
    picture[:, :150] = 0

    prepared = extractor.prepare(picture)

    assert prepared.shape == (3, 224, 224)
    assert (float(prepared.min()), float(prepared.max())) == (-1.0, 1.0)


def test_an_unknown_output_lists_the_known() -> None:
    with pytest.raises(UnknownOutputError, match="i3d_rgb has no output"):
        i3d.build("i3d_rgb", outputs=["Mixed_6a"], weights=None)


@pytest.mark.skipif(not GOLDEN.is_file(), reason="the golden outputs are not part of the project")
@pytest.mark.skipif(
    not converted_path("i3d_rgb", folder=ROOT / "weights").is_file(), reason="framescribe weights fetch i3d_rgb"
)
def test_golden_outputs_of_an_independent_implementation() -> None:
    """Real Kinetics weights on real frames: the class is juggling soccer ball, and every layer agrees."""
    assert status("i3d_rgb", folder=ROOT / "weights") == "present"
    golden = np.load(GOLDEN)
    taps = ["Conv3d_2c_3x3", "Mixed_3c", "Mixed_4f", "Mixed_5c", "logits"]
    extractor = i3d.build("i3d_rgb", outputs=taps, weights=load_weights("i3d_rgb", folder=ROOT / "weights"))
    frames = torch.from_numpy(golden["input_u8"]).permute(0, 3, 1, 2) * (2 / 255) - 1

    found = {name: tensor[0].numpy() for name, tensor in extractor(frames.unsqueeze(0)).items()}

    assert relative_error(found["logits"], golden["logits"]) < 1e-4
    assert np.linalg.norm(found["logits"]) == pytest.approx(86.6043, abs=1e-3)
    assert relative_error(found["Mixed_5c"], golden["Mixed_5c"]) < 1e-4
    for name in taps[:3]:
        assert relative_error(found[name][::4, ::7, ::7, ::16], golden[f"{name}_sample"]) < 1e-4


@pytest.mark.slow
@pytest.mark.skipif(not LABELS.is_file(), reason="the real clips are not part of the project")
@pytest.mark.skipif(
    not converted_path("i3d_rgb", folder=ROOT / "weights").is_file(), reason="framescribe weights fetch i3d_rgb"
)
@pytest.mark.parametrize(
    ("file", "label"),
    [
        ("tv_v_SoccerJuggling_g23_c01.avi", "juggling soccer ball"),
        ("decord_flipping_a_pancake.mkv", "flipping pancake"),
    ],
)
def test_the_class_of_a_real_clip_by_the_whole_path(
    file: str, label: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decoded, sampled and extracted like any other; the mean of the windows' logits."""
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "cache"))
    (tmp_path / "videos").mkdir()
    (tmp_path / "videos" / file).symlink_to(LABELS.parent.parent / "videos" / file)
    index = index_of(tmp_path / "videos", tmp_path / "index")
    rule = Sampling(window=16, stride=16)
    params = Extract(family="i3d", network="i3d_rgb", weights="i3d_rgb", sampling=rule, outputs=["logits"])

    store = extracted(params, tmp_path, index=index)

    logits = store[next(iter(store))]["logits"].mean(0)
    assert LABELS.read_text().splitlines()[int(logits.argmax())] == label


def relative_error(found: np.ndarray, golden: np.ndarray) -> float:
    return float(np.abs(found - golden.reshape(found.shape)).max() / np.abs(golden).max())
