"""Learning curves for programs that show them while a run trains: TensorBoard and DVCLive. No byte of the run knows.

A run that goes on shows its earlier epochs again: what an interrupted one left is replaced.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.core import MissingToolError

if TYPE_CHECKING:
    from pipeline.training.history import Epoch

FOLDER = Path("logs/live")  # RUN/VIEWER below it
CURVES = ("train_loss", "val_cider", "reward")
Show = Callable[[int, dict[str, float]], None]  # an epoch, and the values of its curves


@contextmanager
def live_curves(run: str, viewers: Sequence[str], *, folder: Path = FOLDER) -> Iterator[Callable[[Epoch], None]]:
    """What is to be told of every epoch as soon as it has ended."""
    with ExitStack() as stack:
        opened = [stack.enter_context(VIEWERS[name](_fresh(folder / run / name))) for name in viewers]

        def tell(line: Epoch) -> None:
            values = {name: value for name, value in asdict(line).items() if name in CURVES and value is not None}
            for show in opened:
                show(line.epoch, values)

        yield tell


def _fresh(folder: Path) -> Path:
    if folder.exists():
        shutil.rmtree(folder)
    return folder


@contextmanager
def _tensorboard(folder: Path) -> Iterator[Show]:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise _missing("TensorBoard", "tensorboard") from error
    with SummaryWriter(str(folder)) as writer:

        def show(epoch: int, values: dict[str, float]) -> None:
            for name, value in values.items():
                writer.add_scalar(name, value, epoch)
            writer.flush()

        yield show


@contextmanager
def _dvclive(folder: Path) -> Iterator[Show]:
    try:
        from dvclive import Live
    except ImportError as error:
        raise _missing("DVCLive", "dvclive") from error
    with Live(str(folder), save_dvc_exp=False, dvcyaml=None, report=None, monitor_system=False) as live:

        def show(epoch: int, values: dict[str, float]) -> None:
            live.step = epoch
            for name, value in values.items():
                live.log_metric(name, value)
            live.make_summary()

        yield show


def _missing(viewer: str, package: str) -> MissingToolError:
    return MissingToolError(
        f"{viewer} needs the package {package}, which is not installed", hint="pip install 'framescribe[live]'"
    )


VIEWERS: dict[str, Callable[[Path], AbstractContextManager[Show]]] = {"dvclive": _dvclive, "tensorboard": _tensorboard}
