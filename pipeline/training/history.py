"""What training has come to: the learning curve, and the sums of an epoch that is not yet whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True)
class Epoch:
    """A line of the learning curve."""

    epoch: int
    train_loss: float  # mean over the captions
    val_cider: float  # CIDEr-D of greedy decoding
    stage: int = 1
    reward: float | None = None  # mean over the sampled captions, in self-critical training


@dataclass
class History:
    epochs: list[Epoch] = field(default_factory=list)

    @property
    def best(self) -> Epoch:
        """The last where none has a score: CIDEr-D of a single validation video is always 0, and chooses nothing."""
        return self._highest if self._highest.val_cider else self.epochs[-1]

    @property
    def _highest(self) -> Epoch:
        return max(self.epochs, key=lambda line: line.val_cider)  # the first of equals

    def of(self, stage: int) -> History:
        return History([line for line in self.epochs if line.stage == stage])

    def exhausted(self, *, patience: int, limit: int) -> bool:
        if not self.epochs:
            return False
        return len(self.epochs) >= limit or self.epochs[-1].epoch - self._highest.epoch >= patience


class UpdateResult(NamedTuple):
    """Loss and reward of one optimizer step."""

    loss: float
    reward: float | None


@dataclass(frozen=True)
class PartialEpoch:
    """The sums of an unfinished epoch."""

    stage: int = 0
    steps: int = 0
    captions: int = 0
    loss: float = 0.0  # sums over the captions
    reward: float | None = None

    def plus(self, captions: int, result: UpdateResult) -> PartialEpoch:
        reward = self.reward
        if result.reward is not None:
            reward = (reward or 0.0) + captions * result.reward
        loss = self.loss + captions * result.loss
        return PartialEpoch(self.stage, self.steps + 1, self.captions + captions, loss, reward)

    def line(self, epoch: int, val_cider: float) -> Epoch:
        reward = None if self.reward is None else self.reward / self.captions
        return Epoch(epoch, self.loss / self.captions, val_cider, self.stage, reward)


def curves_csv(history: History) -> str:
    """A run without rewards has no column for them."""
    rewarded = any(line.reward is not None for line in history.epochs)
    rows = [["epoch", "train_loss", "val_cider", "stage", "reward"]]
    for line in history.epochs:
        reward = "" if line.reward is None else f"{line.reward:.6f}"
        rows.append([f"{line.epoch}", f"{line.train_loss:.6f}", f"{line.val_cider:.6f}", f"{line.stage}", reward])
    return "".join(",".join(row if rewarded else row[:-1]) + "\n" for row in rows)
