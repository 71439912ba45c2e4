"""A replica in a process of its own: it is sent parts of a batch and writes their gradients into shared memory."""

from __future__ import annotations

import pickle
import signal
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from torch import nn

from pipeline.captioner import build_captioner, inputs_of, open_features, steady_arithmetic
from pipeline.core import WorkerDiedError, end_with_parent
from pipeline.params import Schedule, Train
from pipeline.training.batch_parts import BatchPart
from pipeline.training.replica import PartResult, Replica
from pipeline.training.self_critical import DrawnCaptions, Judgement
from pipeline.training.shared_tensors import SharedTensors, bind, copy_state


class PartOrder(NamedTuple):
    """What a process is to compute for one step."""

    parts: Sequence[BatchPart]
    stage: Schedule
    own_words: float
    judged: bool  # it asks for a judgement of what it has drawn


class PartGradient(NamedTuple):
    """A part whose gradient lies in shared memory."""

    result: PartResult
    names: list[str]  # of the parameters that it has a gradient for


@dataclass(frozen=True)
class ReplicaPlan:
    """How another process makes the replica that this one has; the weights are shared."""

    settings: Train
    vocabulary: int
    max_words: int
    device: str
    weights: SharedTensors
    gradients: list[SharedTensors]  # of one part each

    def build(self) -> Replica:
        steady_arithmetic()
        source = open_features(self.settings.features, inputs_of(self.settings.model, self.settings.tensors))
        model = build_captioner(
            self.settings.model, vocabulary=self.vocabulary, sizes=source.sizes, options=self.settings.options
        ).to(self.device)
        if shares_memory(self.device):
            bind(model, self.weights)
        return Replica(model.train(), source, self.device, self.max_words)


def shares_memory(device: str) -> bool:
    """Other devices have memory of their own; `cpu:0`, `cpu:1` stand for such, where there are none."""
    return device == "cpu"


class ReplicaProcess(AbstractContextManager["ReplicaProcess"]):
    """Started clean (`spawn`); it has nothing that is worth waiting for, so its end is a kill."""

    def __init__(self, plan: ReplicaPlan) -> None:
        self.gradients = plan.gradients
        context = get_context("spawn")
        self._connection, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there, plan), daemon=True)
        self._process.start()
        there.close()

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._process.kill()
        self._process.join()

    def send(self, message: Any) -> None:
        with _death_told():
            _send(self._connection, message)

    def receive(self) -> Any:
        """An error there is an error here."""
        with _death_told():
            message = _receive(self._connection)
        if isinstance(message, Exception):
            raise message
        return message


@contextmanager
def _death_told() -> Iterator[None]:
    try:
        yield
    except (EOFError, OSError) as error:
        raise WorkerDiedError(
            "a process that trained a part of the batch was killed, perhaps for want of memory",
            hint="run the same command: it goes on. With fewer --workers it needs less memory, to the same bits",
        ) from error


def _send(connection: Connection, message: Any) -> None:
    """Pickled here, for multiprocessing would give every tensor a file in /dev/shm."""
    connection.send_bytes(pickle.dumps(message))


def _receive(connection: Connection) -> Any:
    return pickle.loads(connection.recv_bytes())  # noqa: S301 - from a process of this run


def _work(connection: Connection, plan: ReplicaPlan) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process ends the others
    end_with_parent()
    try:
        replica = plan.build()
        while True:
            _follow(_receive(connection), replica, plan, connection)
    except (EOFError, ConnectionError):  # nobody asks any more
        return
    except Exception as error:  # noqa: BLE001 - all that goes wrong is told where the step is known
        _send(connection, _portable(error))


def _follow(order: PartOrder, replica: Replica, plan: ReplicaPlan, connection: Connection) -> None:
    def judge(drawn: Sequence[DrawnCaptions]) -> Sequence[Judgement]:
        _send(connection, drawn)
        return _receive(connection)

    if not shares_memory(plan.device):
        copy_state(plan.weights, replica.model.state_dict())
    results = replica.gradients(
        order.parts, order.stage, own_words=order.own_words, judge=judge if order.judged else None
    )
    computed = []
    for result, gradient in zip(results, plan.gradients, strict=False):
        computed.append(PartGradient(result, _move_gradient(replica.model, gradient)))
    _send(connection, computed)


def _move_gradient(model: nn.Module, gradient: SharedTensors) -> list[str]:
    """A part's own, which is not added to that of the part before it; the names of what there is."""
    found = {name: each.grad for name, each in model.named_parameters() if each.grad is not None}
    copy_state(found, {name: gradient[name] for name in found})
    model.zero_grad(set_to_none=True)
    return list(found)


def _portable(error: Exception) -> Exception:
    """What cannot travel is told in words."""
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - whatever a foreign exception does when it is copied
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
