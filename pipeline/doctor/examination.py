"""All checks, side by side, in the order of the graph."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pipeline.doctor import graph, machine, project
from pipeline.doctor.check import SETUP, Check, guarded
from pipeline.doctor.probes import ProbeResult, run_probe

PLANNING = 600.0  # seconds for building every network and model of params.yaml without its numbers


def examine() -> list[Check]:
    """Every check, in the order of the graph. They run side by side, for they mostly wait for imports.

    Torch is imported once, in the child that plans: on a cold disk that is most of the time that the doctor takes.
    """
    with ThreadPoolExecutor(max_workers=1) as early:
        plan = early.submit(run_probe, "plan", timeout=PLANNING)
        return _side_by_side(
            ("python", machine.check_python),
            ("packages", machine.check_packages),
            ("torch", lambda: machine.check_torch(plan.result())),
            ("dvc", machine.check_dvc),
            ("decoders", machine.check_decoders),
            ("java", machine.check_java),
            ("params.yaml", project.check_params),
            ("graph", graph.check_graph),
            ("data set", project.check_dataset),
            ("weights", project.check_weights),
            ("features and runs", lambda: _planned(plan.result())),
            ("disk", machine.check_disk),
        )


def _planned(answer: ProbeResult) -> list[Check]:
    if answer.problem:
        blocks = "extract, train, caption"
        return [Check(name="features and runs", state="missing", detail=answer.problem, blocks=blocks, fix=SETUP)]
    return [Check(**facts) for facts in answer.facts["planned"]]


def glance() -> list[Check]:
    """The installation alone, nothing heavy imported and no project needed: a container asks itself each minute."""
    return _side_by_side(
        ("python", machine.check_python),
        ("packages", machine.check_packages),
        ("disk", machine.check_disk),
    )


def _side_by_side(*jobs: tuple[str, Callable[[], list[Check]]]) -> list[Check]:
    with ThreadPoolExecutor(max_workers=4) as pool:
        return [check for checks in pool.map(lambda job: guarded(*job), jobs) for check in checks]
