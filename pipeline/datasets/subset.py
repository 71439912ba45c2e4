"""A data set that is only partly here: splits without a video are filled from the others, by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pipeline.core import InputError
from pipeline.datasets.annotations import SPLITS
from pipeline.params import Subset


def fill_empty_splits(splits: Mapping[str, Sequence[str]], subset: Subset) -> dict[str, list[str]]:
    """Each takes its share of all videos, one by one, from the split that has most beyond its own share.

    A split that has a video gets none. Who goes is decided by the seed and the id alone: another video more or less
    moves few of the others.
    """
    order = [id_ for split in SPLITS for id_ in splits[split]]
    require_enough(len(order))
    shares = {"train": 1 - 2 * subset.share, "val": subset.share, "test": subset.share}
    wanted = {split: len(order) * share for split, share in shares.items()}
    filled = {split: sorted(splits[split], key=lambda id_: _rank(id_, subset.seed)) for split in SPLITS}
    for split in SPLITS:
        while not splits[split] and len(filled[split]) < max(1, round(wanted[split])):
            donors = [other for other in SPLITS if other != split and len(filled[other]) > 1]
            if not donors:
                break
            donor = max(donors, key=lambda other: len(filled[other]) - wanted[other])
            filled[split].append(filled[donor].pop())
    place = {id_: number for number, id_ in enumerate(order)}
    return {split: sorted(ids, key=place.__getitem__) for split, ids in filled.items()}


def require_enough(videos: int, *, left_over: str = "") -> None:
    if videos < len(SPLITS):
        raise InputError(
            f"{videos} videos have captions and a file; three are the fewest: one each to train, validate and test"
            + (f"; {left_over}" if left_over else ""),
            hint="compare the names of the files with the ids in the annotations",
        )


def moved(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Video id → the split that the data set itself puts it in, of those that are in another one now."""
    own = {id_: split for split, ids in before.items() for id_ in ids}
    return {id_: own[id_] for split, ids in after.items() for id_ in ids if own[id_] != split}


def _rank(id_: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}/{id_}".encode(errors="surrogateescape")).digest()
