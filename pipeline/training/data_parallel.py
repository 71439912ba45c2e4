"""The parts of a batch shared out among processes of this machine, a core or a device for each.

This process is the first of them. Gradients are added in the order of the parts: any number of processes gives the
same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from itertools import accumulate, pairwise
from typing import TypeVar

from torch import nn

from pipeline.params import Schedule, Train
from pipeline.training.batch_parts import BatchPart
from pipeline.training.replica import Judge, PartResult, Replica
from pipeline.training.replica_process import PartOrder, ReplicaPlan, ReplicaProcess, shares_memory
from pipeline.training.self_critical import DrawnCaptions, Judgement
from pipeline.training.shared_tensors import SharedTensors, bind, copy_state, share_like

Item = TypeVar("Item")


class DataParallel(AbstractContextManager["DataParallel"]):
    """`others` are the devices of further processes; without any all parts are computed here, one after another."""

    def __init__(self, replica: Replica, settings: Train, *, vocabulary: int, others: Sequence[str] = ()) -> None:
        self._replica, self._settings, self._vocabulary = replica, settings, vocabulary
        self._devices = others[: settings.parts - 1]
        self._processes: list[ReplicaProcess] = []
        self._open = ExitStack()

    def __enter__(self) -> DataParallel:
        if self._devices:
            self._weights = share_like(self._model.state_dict())
            copy_state(self._model.state_dict(), self._weights)
            if self._shares_memory:
                bind(self._model, self._weights)
            self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.clear()
        self._open.close()

    def gradients(
        self, parts: Sequence[BatchPart], stage: Schedule, *, own_words: float, judge: Judge | None
    ) -> list[PartResult]:
        """Of a step; the sum of the parts' gradients is in the parameters."""
        if self._processes and not self._shares_memory:
            copy_state(self._model.state_dict(), self._weights)
        own, *shares = in_shares(parts, 1 + len(self._processes))
        asked = [process for process, share in zip(self._processes, shares, strict=True) if share]
        for process, share in zip(asked, shares, strict=False):
            process.send(PartOrder(share, stage, own_words, judge is not None))
        results = list(self._replica.gradients(own, stage, own_words=own_words, judge=judge and _judging(judge, asked)))
        for process in asked:
            for computed, gradient in zip(process.receive(), process.gradients, strict=False):
                results.append(computed.result)
                _add(self._model, gradient, computed.names)
        return results

    @property
    def _model(self) -> nn.Module:
        return self._replica.model

    @property
    def _shares_memory(self) -> bool:
        return shares_memory(self._replica.device)

    def _start(self) -> None:
        trained = {name: each for name, each in self._model.named_parameters() if each.requires_grad}
        shares = in_shares(range(self._settings.parts), 1 + len(self._devices))
        for device, share in zip(self._devices, shares[1:], strict=True):
            plan = ReplicaPlan(
                settings=self._settings,
                vocabulary=self._vocabulary,
                max_words=self._replica.max_words,
                device=device,
                weights=self._weights,
                gradients=[share_like(trained) for _ in share],
            )
            self._processes.append(self._open.enter_context(ReplicaProcess(plan)))


def in_shares(items: Sequence[Item], count: int) -> list[Sequence[Item]]:
    """Neighbours, the first shares being the larger ones; a share may be empty."""
    least, more = divmod(len(items), count)
    ends = accumulate((least + (number < more) for number in range(count)), initial=0)
    return [items[start:end] for start, end in pairwise(ends)]


def _judging(judge: Judge, processes: Sequence[ReplicaProcess]) -> Judge:
    """What all processes have drawn is judged here, at once."""

    def judge_all(own: Sequence[DrawnCaptions]) -> Sequence[Judgement]:
        drawn = [own, *(process.receive() for process in processes)]
        judgements = iter(judge([each for share in drawn for each in share]))
        mine, *theirs = ([next(judgements) for _ in share] for share in drawn)
        for process, share in zip(processes, theirs, strict=True):
            process.send(share)
        return mine

    return judge_all


def _add(model: nn.Module, gradient: SharedTensors, names: Sequence[str]) -> None:
    parameters = dict(model.named_parameters())
    for name in names:
        parameter, added = parameters[name], gradient[name].to(parameters[name].device)
        parameter.grad = added.clone() if parameter.grad is None else parameter.grad.add_(added)
