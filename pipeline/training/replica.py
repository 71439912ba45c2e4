"""A model on one device, which computes the loss and the gradient of parts of a batch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from models.base import Captioner, State
from pipeline.captioner import FeatureSource, make_loss_context
from pipeline.params import Schedule
from pipeline.training.batch_parts import BatchPart
from pipeline.training.regularisation import regularised
from pipeline.training.self_critical import DrawnCaptions, Judgement, draw_captions, self_critical_loss

Judge = Callable[[Sequence[DrawnCaptions]], Sequence[Judgement]]


class PartResult(NamedTuple):
    loss: float  # the part's share of the batch's
    tables: dict[str, Tensor]
    reward: Tensor | None  # (N,) of the sampled captions


@dataclass(frozen=True)
class ForwardPass:
    """A part before its gradient: sentences may have been drawn, which wait for their judgement."""

    loss: Tensor
    tables: dict[str, Tensor]
    drawn: DrawnCaptions | None
    log_prob: Tensor | None  # (N,) of what was drawn

    def backward(self, judgement: Judgement | None = None) -> PartResult:
        loss, reward = self.loss, None
        if self.log_prob is not None and judgement is not None:
            loss, reward = loss + self_critical_loss(self.log_prob, judgement), judgement.reward
        loss.backward()
        return PartResult(float(loss.detach()), {name: table.cpu() for name, table in self.tables.items()}, reward)


@dataclass(frozen=True)
class Replica:
    model: Captioner
    source: FeatureSource
    device: str
    max_words: int

    def gradients(
        self, parts: Sequence[BatchPart], stage: Schedule, *, own_words: float, judge: Judge | None
    ) -> Iterator[PartResult]:
        """One part after another adds its gradient to what the parameters have.

        What is drawn is judged when all parts have drawn: its loss is a mean over the words of them all.
        """
        passes = (self._forward(part, stage, own_words=own_words) for part in parts)
        if judge is None:
            yield from (each.backward() for each in passes)
            return
        waiting = list(passes)
        judgements = judge([each.drawn for each in waiting if each.drawn is not None])
        yield from (each.backward(judgement) for each, judgement in zip(waiting, judgements, strict=True))

    def _forward(self, part: BatchPart, stage: Schedule, *, own_words: float) -> ForwardPass:
        if part.seed is not None:
            torch.manual_seed(part.seed)
        batch = part.captions
        features = self.source.batch(batch.video_ids, device=self.device)
        features = regularised(features, stage, self.source.inputs)
        tables = {name: table.to(self.device) for name, table in part.tables.items()}
        with torch.autocast(self.device.split(":")[0], torch.bfloat16, enabled=self.device.startswith("cuda")):
            context = make_loss_context(
                self.model,
                features,
                replace(batch, pairs=torch.arange(len(batch.words))),
                tables=tables,
                pairs=len(batch.words),
                words=part.words,
                own_words=own_words,
                word_dropout=stage.word_dropout,
                smoothing=stage.label_smoothing,
            )
            loss = torch.zeros((), device=self.device)
            if not stage.rewards or stage.cross_entropy:
                loss = loss + (stage.cross_entropy if stage.rewards else 1.0) * self.model.loss(context)
            drawn, log_prob = self._draw(part, context.state, stage) if stage.rewards else (None, None)
        return ForwardPass(loss, tables, drawn, log_prob)

    def _draw(self, part: BatchPart, state: State, stage: Schedule) -> tuple[DrawnCaptions, Tensor]:
        each = torch.arange(len(part.captions.video_ids)).repeat_interleave(stage.samples)
        return draw_captions(
            self.model,
            state,
            part.captions.video_ids,
            video_of=(each if stage.samples else part.captions.video_of).to(self.device),
            max_words=self.max_words,
            baseline=stage.baseline,
        )
