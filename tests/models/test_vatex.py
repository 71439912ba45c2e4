"""VATEX 2019: both memories, the global vector of what the run has, and the sizes of the authors' code."""

from __future__ import annotations

from typing import Any

import torch

from models.base import Features, Modality
from models.vatex_spatial import VatexSpatial
from models.vatex_temporal import VatexTemporal
from pipeline.corpus.vocabulary import BOS

SMALL: dict[str, Any] = {"word_size": 6, "hidden_size": 8, "video_size": 7, "attention_size": 5}


def rows(count: int, *shape: int, seed: int = 0) -> Modality:
    values = torch.randn(1, count, *shape, generator=torch.Generator().manual_seed(seed))
    return Modality(values, torch.ones(1, count, dtype=torch.bool))


def spatial(features: Features, **options: Any) -> VatexSpatial:
    torch.manual_seed(0)
    sizes = {name: part.values.shape[-1] for name, part in features.items()}
    return VatexSpatial(vocabulary=9, sizes=sizes, **{**SMALL, **options}).eval()


def test_the_global_vector_is_the_mean_of_each_input_side_by_side() -> None:
    features = {"appearance": rows(4, 3), "motion": rows(5, 2, seed=1), "sound": rows(9, 2, seed=2)}
    model = VatexTemporal(vocabulary=9, sizes={"appearance": 3, "motion": 2, "sound": 2}, **SMALL).eval()

    mean = torch.cat([features[name].values.mean(1) for name in ("appearance", "motion", "sound")], 1)
    torch.testing.assert_close(model.encode(features)["video"], model.summary(mean))


def test_a_video_without_sound_has_zeros_there() -> None:
    silent = Modality(torch.full((1, 3, 2), 1e3), torch.zeros(1, 3, dtype=torch.bool))
    none = Modality(torch.zeros(1, 0, 2), torch.zeros(1, 0, dtype=torch.bool))
    model = VatexTemporal(vocabulary=9, sizes={"appearance": 3, "sound": 2}, **SMALL).eval()

    said = [model.encode({"appearance": rows(4, 3), "sound": sound})["video"] for sound in (silent, none)]
    torch.testing.assert_close(*said)


def test_objects_of_all_segments_are_one_memory() -> None:
    features = {"appearance": rows(2, 3), "objects": rows(2, 4, 5, seed=1)}
    features["objects"].values[0, 1, 1:] = 0.0  # the second segment has one object
    model = spatial(features)
    state = model.encode(features)

    assert state["memory"].shape == (1, 8, 7)
    assert state["mask"].tolist() == [[True, True, True, True, True, False, False, False]]
    weights = model.step(state, torch.tensor([BOS])).attention["region"]
    assert weights[0, 5:].count_nonzero() == 0


def test_cells_of_a_map_are_objects() -> None:
    features = {"appearance": rows(2, 3), "objects": rows(2, 4, 5, seed=1)}
    values, mask = features["objects"]
    model = spatial(features)
    maps = model.encode({**features, "objects": Modality(values.unflatten(2, (2, 2)), mask)})

    torch.testing.assert_close(maps["memory"], model.encode(features)["memory"])


def test_order_of_objects_does_not_matter_but_what_they_are_does() -> None:
    features = {"appearance": rows(2, 3), "objects": rows(2, 4, 5, seed=1)}
    model = spatial(features)

    def said(objects: torch.Tensor) -> torch.Tensor:
        given = {**features, "objects": Modality(objects, features["objects"].mask)}
        return model.logits(model.step(model.encode(given), torch.tensor([BOS])).output)

    plain = said(features["objects"].values)
    torch.testing.assert_close(said(features["objects"].values.flip(1, 2)), plain)
    assert not torch.allclose(said(features["objects"].values * 2), plain, atol=1e-4)


def test_vanilla_sees_the_global_vector_only() -> None:
    features = {"appearance": rows(3, 3), "objects": rows(3, 4, 5, seed=1)}
    model = spatial(features, attend=False)
    other = {**features, "objects": rows(3, 4, 5, seed=7)}

    steps = [model.step(model.encode(given), torch.tensor([BOS])) for given in (features, other)]

    assert torch.equal(steps[0].output, steps[1].output)
    assert steps[0].attention == {}
    assert model.upper.weight_ih.shape[1] == 8  # the lower LSTM's output alone


def test_the_papers_sizes() -> None:
    sizes = {"appearance": 2048, "motion": 2048, "sound": 128}
    with torch.device("meta"):
        temporal = VatexTemporal(vocabulary=10_000, sizes=sizes)
        objects = VatexSpatial(vocabulary=10_000, sizes=sizes | {"objects": 4096})

    for model in (temporal, objects):
        assert model.summary[0].weight.shape == (512, 4224)
        assert model.fuse[0].weight.shape == (512, 4096)
        assert model.lower.weight_ih.shape == (4 * 512, 1536)
        assert model.upper.weight_ih.shape == (4 * 512, 1024)
    video = 512 * (4224 + 1) + 512 * (4096 + 1)
    attention = 512 * 512 + 512 * (512 + 1) + 512
    lstms = 4 * 512 * (1536 + 512 + 2) + 4 * 512 * (1024 + 512 + 2)
    words = 10_000 * 512 + (512 + 1) * 10_000
    assert sum(each.numel() for each in temporal.parameters()) == video + attention + lstms + words


def test_forget_gates_begin_open() -> None:
    model = VatexTemporal(vocabulary=9, sizes={"appearance": 3}, **SMALL)

    for cell in (model.lower, model.upper):
        assert (cell.bias_ih + cell.bias_hh)[8:16].tolist() == [1.0] * 8
