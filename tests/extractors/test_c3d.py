"""C3D: Caffe's pooling, the mean clip, the published names, windows for fc7 and whole videos for the pools."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings, strategies as st

from extractors import c3d, c3d_video
from extractors.base import ExtractorError, UnknownOutputError
from extractors.parts import c3d_network
from pipeline.core.errors import UsageError
from pipeline.extraction import sampling
from pipeline.extraction.build_extractor import extractor_of
from pipeline.extraction.forward_pass import forward
from pipeline.params.extract import Extract, Sampling
from tests.extractors.published import (
    C3D_SIZES,
    c3d_shapes,
    names_of_caffe,
    names_of_davidea,
    names_of_mmaction2,
    numbered,
    strictly_loaded,
)

SHAPES = {
    "pool1": (16, 56, 56, 64),
    "pool2": (8, 28, 28, 128),
    "pool3": (4, 14, 14, 256),
    "pool4": (2, 7, 7, 512),
    "pool5": (1, 4, 4, 512),
    "fc6": (4096,),
    "fc7": (4096,),
}
MEAN = torch.arange(3 * 16 * 128 * 171, dtype=torch.float32).view(3, 16, 128, 171) % 251
# The same network with few channels
NARROW = (
    (("conv1a", 3, 4),),
    (("conv2a", 4, 4),),
    (("conv3a", 4, 5), ("conv3b", 5, 5)),
    (("conv4a", 5, 6), ("conv4b", 6, 6)),
    (("conv5a", 6, 6), ("conv5b", 6, 6)),
)


@pytest.fixture(scope="module")
def narrow() -> c3d_network.C3d:
    torch.manual_seed(0)
    network = c3d_network.C3d(NARROW)
    network.mean.copy_(MEAN)
    return network


@pytest.fixture
def video(narrow: c3d_network.C3d) -> c3d_video.C3dVideo:
    clips = c3d_network.C3dExtractor(narrow, outputs=c3d_video.OUTPUTS, window=16, device="cpu", direct=True)
    return c3d_video.C3dVideo(clips)


def clip_of(frames: int) -> torch.Tensor:
    return torch.rand(1, frames, 3, 112, 112, generator=torch.Generator().manual_seed(frames)) * 255


def test_every_layer_has_the_published_shape() -> None:
    assert c3d.build("c3d", outputs=list(SHAPES), weights=None).outputs == SHAPES


# ---------------------------------------------------------------- pooling


def test_pooling_windows_are_caffes() -> None:
    """Seven rows give {0,1} {2,3} {4,5} {6}. Padding by one, as ports do, gives {0} {1,2} {3,4} {5,6}."""
    rows = torch.arange(7.0).view(1, 1, 1, 7, 1).expand(1, 1, 2, 7, 7)

    assert c3d_network.caffe_pool(rows, depth=2)[0, 0, 0, :, 0].tolist() == [1.0, 3.0, 5.0, 6.0]
    padded = F.max_pool3d(rows, 2, stride=2, padding=(0, 1, 1))
    assert padded[0, 0, 0, :, 0].tolist() == [0.0, 2.0, 4.0, 6.0]


def test_the_cells_of_pool5_look_where_caffes_do() -> None:
    """With convolutions that change nothing a cell is the brightest pixel of its window: 32 rows, 16 in the last."""
    network = c3d_network.C3d(tuple(tuple((name, 3, 3) for name, _, _ in level) for level in c3d_network.LEVELS))
    for name, layer in network.layers.items():
        if name.startswith("conv"):
            torch.nn.init.dirac_(layer.weight)
            torch.nn.init.zeros_(layer.bias)
    rising = torch.arange(112.0).view(1, 1, 1, 112, 1).expand(1, 3, 16, 112, 112)

    pool5 = dict(network(rising))["pool5"]  # (1, 3, 1, 4, 4)

    assert pool5[0, 0, 0, :, 2].tolist() == [31.0, 63.0, 95.0, 111.0]


def test_fc7_is_after_its_relu_and_takes_16_frames(narrow: c3d_network.C3d) -> None:
    extractor = c3d_network.C3dExtractor(narrow, outputs=["fc6", "fc7", "pool5"], window=16, device="cpu", direct=False)

    rows = extractor(clip_of(16))

    assert float(rows["fc7"].min()) == 0.0
    assert 0.2 < float((rows["fc7"] == 0).float().mean()) < 0.8
    flat = rows["pool5"][0].permute(3, 0, 1, 2).flatten()  # as Caffe flattens: channel, time, row, column
    torch.testing.assert_close(rows["fc6"][0], F.relu(narrow.layers["fc6"](flat)), rtol=1e-4, atol=1e-4)
    with pytest.raises(ExtractorError, match="fc6 and fc7 take windows of 16 frames, not 8"):
        c3d.build("c3d", outputs=["fc7"], weights=None, window=8)


@torch.inference_mode()
def test_the_classifier_reads_fc7_where_the_weights_have_one() -> None:
    torch.manual_seed(0)
    network = c3d_network.C3d(NARROW, classes=7)
    extractor = c3d_network.C3dExtractor(network, outputs=["fc7", "logits"], window=16, device="cpu", direct=False)

    rows = extractor(clip_of(16))

    torch.testing.assert_close(rows["logits"], network.layers["fc8"](rows["fc7"]))
    assert c3d.build("c3d_sports1m", outputs=["logits"], weights=None).outputs == {"logits": (487,)}
    with pytest.raises(UnknownOutputError, match=r"c3d has no output \['logits'\]"):
        c3d.build("c3d", outputs=["logits"], weights=None)


# ---------------------------------------------------------------- pixels


def test_pictures_are_bgr_and_cut_at_row_8_column_29() -> None:
    frame = np.random.default_rng(0).integers(0, 256, size=(128, 171, 3), dtype=np.uint8)  # already of that size

    cut = c3d_network.picture(frame, direct=False)

    np.testing.assert_array_equal(cut.numpy(), frame[8:120, 29:141, ::-1].transpose(2, 0, 1).astype(np.float32))


def test_a_direct_picture_shows_the_whole_frame() -> None:
    frame = np.zeros((240, 320, 3), np.uint8)
    frame[:, 160:, 0] = 255  # the right half is red

    whole = c3d_network.picture(frame, direct=True)

    assert whole.shape == (3, 112, 112)
    assert whole[2, 50, [0, 54, 57, 111]].tolist() == [0.0, 0.0, 255.0, 255.0]
    assert float(whole[:2].max()) == 0.0


def test_pictures_are_resized_as_opencv_does() -> None:
    cv2 = pytest.importorskip("cv2")
    frame = np.random.default_rng(0).integers(0, 256, size=(240, 320, 3), dtype=np.uint8)
    theirs = cv2.resize(frame[..., ::-1], (171, 128))[8:120, 29:141].transpose(2, 0, 1)

    assert np.abs(c3d_network.picture(frame, direct=False).numpy() - theirs).max() <= 1


@pytest.mark.parametrize("frames", [1, 16, 17, 40])
def test_the_mean_is_cut_like_the_picture_and_begins_again_after_16_frames(
    frames: int, narrow: c3d_network.C3d
) -> None:
    mean = narrow.mean_clip(frames)

    assert mean.shape == (3, frames, 112, 112)
    last = (frames - 1) % 16
    assert torch.equal(mean[:, -1], MEAN[:, last, 8:120, 29:141])


def test_a_clip_that_is_the_mean_is_nothing_to_the_network(narrow: c3d_network.C3d) -> None:
    blank = dict(narrow(torch.zeros(1, 3, 16, 112, 112) + MEAN[:, :, 8:120, 29:141]))
    without = c3d_network.C3d(NARROW)
    without.load_state_dict(narrow.state_dict() | {"mean": torch.zeros_like(MEAN)})

    torch.testing.assert_close(blank["pool1"], dict(without(torch.zeros(1, 3, 16, 112, 112)))["pool1"])


# ---------------------------------------------------------------- published files


@pytest.mark.parametrize("naming", [names_of_davidea, names_of_mmaction2, names_of_caffe])
def test_a_published_state_loads_strictly_and_lands_where_it_belongs(naming) -> None:
    with torch.device("meta"):
        network = c3d_network.C3d()
    layers = c3d.map_published(numbered(c3d_shapes(naming)))
    mean = c3d.map_published({"data": MEAN.numpy()})

    loaded = strictly_loaded(network, {f"layers.{name}": value for name, value in layers.items()} | mean)

    order = list(C3D_SIZES)
    assert loaded["layers.conv1a.weight"] == 0.0
    for layer in order[:-1]:
        assert loaded[f"layers.{layer}.bias"] == 2 * order.index(layer) + 1


def test_lasagnes_list_of_arrays_has_its_matrices_turned() -> None:
    arrays = [np.float32(number) for number in range(2 * len(C3D_SIZES))]
    sizes = [each for size in C3D_SIZES.values() for each in (size if len(size) == 5 else size[::-1], size[:1])]
    tree = [np.full(size, value) for value, size in zip(arrays, sizes, strict=True)]

    state = c3d.map_published(tree)

    assert {name: tuple(value.shape) for name, value in state.items() if name.endswith("weight")} == {
        f"{layer}.weight": size for layer, size in C3D_SIZES.items() if layer != "fc8"
    }
    assert float(state["fc7.bias"][0]) == 19.0


@pytest.mark.parametrize("shape", [(3, 16, 128, 171), (1, 3, 16, 128, 171)])
def test_the_mean_may_be_a_plain_array(shape: tuple[int, ...]) -> None:
    state = c3d.map_published(MEAN.double().numpy().reshape(shape))

    assert list(state) == ["mean"]
    assert torch.equal(state["mean"], MEAN)


def test_the_mean_of_another_network_is_refused() -> None:
    with pytest.raises(RuntimeError, match="shape"):
        c3d.map_published({"data": np.zeros((3, 16, 128, 128), np.float32)})


def test_weights_without_their_mean_do_not_load() -> None:
    with torch.device("meta"):
        network = c3d_network.C3d()
    state = {name: value for name, value in network.state_dict().items() if name != "mean"}

    with pytest.raises(RuntimeError, match=r'Missing key.*"mean"'):
        network.load_state_dict(state, assign=True)


# ---------------------------------------------------------------- windows and whole videos


def test_fc7_of_a_short_video_repeats_its_last_frame(narrow: c3d_network.C3d) -> None:
    """Five frames at two a second: one window, filled up."""
    rule = Sampling(fps=2.0, window=16, stride=8, tail="pad")
    rows = sampling.sample(rule, frames=5, times=np.arange(5) / 2)
    extractor = c3d_network.C3dExtractor(narrow, outputs=["fc7"], window=16, device="cpu", direct=True)
    pictures = np.random.default_rng(0).integers(0, 256, size=(5, 30, 40, 3), dtype=np.uint8)

    found = forward(extractor, iter(pictures), rows=rows)["fc7"]

    prepared = torch.stack([extractor.prepare(pictures[min(number, 4)]) for number in range(16)])
    assert found.shape == (1, 4096)
    np.testing.assert_array_equal(found, extractor(prepared[None])["fc7"].numpy())


@pytest.mark.parametrize(
    ("frames", "steps"),
    [(1, (1, 1, 1, 1)), (16, (8, 4, 2, 1)), (17, (9, 5, 3, 2)), (30, (15, 8, 4, 2)), (40, (20, 10, 5, 3))],
)
def test_rows_end_to_end_are_the_map_of_the_video(
    frames: int, steps: tuple[int, ...], narrow: c3d_network.C3d, video: c3d_video.C3dVideo
) -> None:
    clip = clip_of(frames)
    with torch.inference_mode():
        whole = {name: maps[0].permute(1, 2, 3, 0) for name, maps in narrow_pools(narrow, clip)}  # (T, h, w, C)

    rows = video(clip)

    for name, count in zip(c3d_video.OUTPUTS, steps, strict=True):
        assert len(rows[name]) == -(-frames // 16)
        assert rows[name].shape[1:] == video.outputs[name]
        end_to_end = rows[name].flatten(0, 1)
        assert len(whole[name]) == count
        torch.testing.assert_close(end_to_end[:count], whole[name])
        assert not end_to_end[count:].any()


def narrow_pools(network: c3d_network.C3d, clip: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    for name, maps in network(clip.transpose(1, 2)):
        yield name, maps
        if name == "pool5":
            return


def test_a_long_video_in_pieces_gives_the_same_numbers(
    narrow: c3d_network.C3d, video: c3d_video.C3dVideo, monkeypatch: pytest.MonkeyPatch
) -> None:
    clip = clip_of(70)
    whole = video(clip)

    monkeypatch.setattr(c3d_video, "PIECE", 16)
    pieces = video(clip)
    monkeypatch.setattr(c3d_video, "REACH", 16)
    too_near = video(clip)

    for name in c3d_video.OUTPUTS:
        torch.testing.assert_close(pieces[name], whole[name], rtol=1e-4, atol=1e-3)
    assert float((too_near["pool5"] - whole["pool5"]).abs().max()) > 0.01


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 200), st.sampled_from([2, 4, 8, 16]))
def test_grouping_steps_into_rows_loses_and_moves_none(length: int, step: int) -> None:
    count = -(-length // step)
    steps = torch.arange(1.0, count + 1).view(-1, 1, 1, 1)

    rows = c3d_video.as_rows(steps, lead=0, length=length, step=step)

    assert rows.shape == (-(-length // 16), 16 // step, 1, 1, 1)
    assert rows.flatten()[:count].tolist() == steps.flatten().tolist()


@pytest.mark.parametrize("frames", [1, 2, 15, 16, 17, 100])
def test_a_whole_video_through_the_extract_stages_own_path(frames: int, video: c3d_video.C3dVideo) -> None:
    rule = Sampling(fps=5.0, window=16, stride=16, tail="pad")
    rows = sampling.sample(rule, frames=frames, times=np.arange(frames) / 10)
    pictures = np.random.default_rng(0).integers(0, 256, size=(frames, 30, 40, 3), dtype=np.uint8)

    found = forward(video, iter(pictures[rows.needed]), rows=rows)

    assert {name: array.shape[0] for name, array in found.items()} == dict.fromkeys(c3d_video.OUTPUTS, len(rows))
    real = -(-rows.valid[-1] // 2)  # steps of pool2 in the last row
    assert found["pool2"][-1, real - 1].any()
    assert not found["pool2"][-1, real:].any()


@pytest.mark.parametrize("rule", [{"stride": 8, "tail": "pad"}, {"stride": 16}])
def test_a_whole_video_needs_rows_side_by_side(rule: dict) -> None:
    params = Extract(
        family="c3d_video", network="c3d", weights="random", sampling=Sampling(window=16, **rule), outputs=["pool5"]
    )
    with pytest.raises(UsageError, match="whole video: its sampling must give stride 16, tail pad"):
        extractor_of(params, device="cpu")


def test_what_a_whole_video_does_not_have_is_refused() -> None:
    with pytest.raises(UnknownOutputError, match=r"c3d has no output \['fc7'\]; it has: pool2, pool3, pool4, pool5"):
        c3d_video.build("c3d", outputs=["fc7"], weights=None)
    with pytest.raises(ExtractorError, match="a row of c3d_video is 16 frames"):
        c3d_video.build("c3d", outputs=["pool5"], weights=None, window=8)
