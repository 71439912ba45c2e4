"""Several captioners as one: the mean of their probabilities, whatever they are."""

from __future__ import annotations

import pytest
import torch

from models.base import Features, Modality
from models.g2l import G2l
from models.mean_pool import MeanPool
from models.parts.ensemble import Ensemble, _agreed, joined
from models.soft_attention import SoftAttention
from pipeline.captioner.search import Search, beam_search
from pipeline.captioner.teacher_forcing import teacher_forced
from pipeline.corpus.vocabulary import EOS

SIZES = {"appearance": 5}


def frames(seed: int) -> Features:
    values = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(seed))
    return {"appearance": Modality(values, torch.ones(3, 4, dtype=torch.bool))}


def members() -> list[MeanPool | SoftAttention]:
    torch.manual_seed(0)
    kinds = (MeanPool, SoftAttention, SoftAttention)
    return [kind(vocabulary=9, sizes=SIZES, hidden_size=8, word_size=4).eval() for kind in kinds]


def test_probabilities_are_averaged() -> None:
    each, words = members(), torch.tensor([[5, 6, EOS], [7, EOS, 0], [8, 4, EOS]])
    given = [frames(1), frames(2), frames(2)]  # the first reads another store
    ensemble = Ensemble(each).eval()

    together = teacher_forced(ensemble, ensemble.encode(joined(given)), words).logits.softmax(-1)

    apart = [
        teacher_forced(model, model.encode(mine), words).logits.softmax(-1)
        for model, mine in zip(each, given, strict=True)
    ]
    torch.testing.assert_close(together, torch.stack(apart).mean(0))


def test_an_ensemble_of_one_is_that_one() -> None:
    model = members()[1]

    alone = beam_search(model, frames(1), Search(3, 5))
    same = beam_search(Ensemble([model]).eval(), joined([frames(1)]), Search(3, 5))

    assert [sentence.words for sentence in same] == [sentence.words for sentence in alone]
    assert [sentence.log_prob for sentence in same] == pytest.approx([sentence.log_prob for sentence in alone])
    for one, other in zip(same, alone, strict=True):
        assert one.attention.keys() == other.attention.keys()


def test_a_searched_sentence_costs_what_the_mean_says() -> None:
    ensemble, given = Ensemble(members()).eval(), joined([frames(1), frames(2), frames(3)])

    for video, sentence in enumerate(beam_search(ensemble, given, Search(3, 4))):
        one = {name: Modality(part.values[[video]], part.mask[[video]]) for name, part in given.items()}
        words = torch.tensor([[*sentence.words, EOS]])
        logits = teacher_forced(ensemble, ensemble.encode(one), words).logits
        logits[:, [0, 1, 3]] = -torch.inf
        log_prob = logits.log_softmax(-1).gather(1, words[0].unsqueeze(1)).sum()
        assert sentence.log_prob == pytest.approx(log_prob.item(), abs=1e-4)


def test_only_what_all_members_recorded_is_kept() -> None:
    each = members()
    state = Ensemble(each).encode(joined([frames(1)] * 3))
    assert Ensemble(each).step(state, torch.tensor([1, 1, 1])).attention == {}  # mean pooling looks at nothing

    looking = Ensemble(each[1:])
    step = looking.step(looking.encode(joined([frames(1)] * 2)), torch.tensor([1, 1, 1]))
    apart = [model.step(model.encode(frames(1)), torch.tensor([1, 1, 1])).attention["time"] for model in each[1:]]
    torch.testing.assert_close(step.attention["time"], (apart[0] + apart[1]) / 2)


def test_key_frames_of_members_are_listed_not_mixed() -> None:
    """Two members may look into different frames: the mean of their regions would be drawn on neither."""
    torch.manual_seed(0)
    sizes = {"appearance": 5, "regions": 3}
    each = [G2l(vocabulary=9, sizes=sizes, key_frames=count).eval() for count in (1, 2)]
    regions = torch.randn(3, 4, 6, 3, generator=torch.Generator().manual_seed(3))
    given = frames(1) | {"regions": Modality(regions, torch.ones(3, 4, dtype=torch.bool))}
    ensemble, words = Ensemble(each).eval(), torch.tensor([1, 1, 1])

    looks = ensemble.step(ensemble.encode(joined([given, given])), words).attention

    apart = [model.step(model.encode(given), words).attention for model in each]
    for name in ("region", "frame"):
        assert looks[name].shape[1] == 3
        torch.testing.assert_close(looks[name], torch.cat([apart[0][name], apart[1][name]], 1))
    torch.testing.assert_close(looks["time"], (apart[0]["time"] + apart[1]["time"]) / 2)


def test_regions_of_chosen_frames_are_not_compared_with_others() -> None:
    chosen = {"region": torch.ones(1, 2, 3), "frame": torch.ones(1, 2, 4)}
    assert _agreed([chosen, {"region": torch.ones(1, 2, 3)}]) == {}
    assert _agreed([{"region": torch.ones(1, 2, 3)}, chosen]) == {}
    other_regions = {"region": torch.ones(1, 2, 5), "frame": torch.ones(1, 2, 4)}
    assert _agreed([chosen, other_regions]) == {}
