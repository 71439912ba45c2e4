"""All checks, side by side, in the order of the graph."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pipeline.core import FramescribeError
from pipeline.doctor import machine, project
from pipeline.doctor.check import SETUP, Check


def examine() -> list[Check]:
    """Every check, in the order of the graph. They run side by side, for they mostly wait for imports."""
    return _side_by_side(
        ("python", machine.check_python),
        ("packages", machine.check_packages),
        ("torch", machine.check_torch),
        ("dvc", machine.check_dvc),
        ("decoders", machine.check_decoders),
        ("java", machine.check_java),
        ("params.yaml", project.check_params),
        ("data set", project.check_dataset),
        ("weights", project.check_weights),
        ("disk", machine.check_disk),
    )


def glance() -> list[Check]:
    """The installation alone, nothing heavy imported and no project needed: a container asks itself each minute."""
    return _side_by_side(
        ("python", machine.check_python),
        ("packages", machine.check_packages),
        ("disk", machine.check_disk),
    )


def _side_by_side(*jobs: tuple[str, Callable[[], list[Check]]]) -> list[Check]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        return [check for checks in pool.map(lambda job: _guarded(*job), jobs) for check in checks]


def _guarded(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    """A package that cannot be imported, or a file that cannot be read, is a finding and not a crash."""
    try:
        return look()
    except ImportError as error:
        return [Check(name=name, state="missing", detail=str(error), blocks="the whole graph", fix=SETUP)]
    except FramescribeError as error:
        return [Check(name=name, state="missing", detail=error.message, blocks="the whole graph", fix=error.hint)]
    except OSError as error:
        return [Check(name=name, state="missing", detail=f"cannot be looked at: {error}", blocks="unknown")]
