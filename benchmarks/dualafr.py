"""Time and memory of dualAFR beside its single-layer baselines, each in a process of its own.

    python benchmarks/dualafr.py

The paper's remark: dualAFR is 1.2 to 1.5 times slower than single-layer baselines and needs 2 to 4 times extra memory.
Here: the captioner alone, beam of 5, ten words, on random maps in the shapes of C3D for a clip of 20 frames (10 seconds
at 2 frames a second), the paper's sizes, untrained, one core. C3D itself, which is the same for all, is not counted.
"""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
import time
from pathlib import Path

import torch

from models.base import Features, Modality
from models.dualafr import DualAfr
from models.parts.alignment import LEVELS
from pipeline.captioner import Search, beam_search

FRAMES, VOCABULARY, REPEATS = 20, 9462, 3
SEARCH = Search(5, 10)
SIZES = {"pool2": 128, "pool3": 256, "pool4": 512, "pool5": 512, "fc7": 4096}
MODELS = {"fc7": "", **{f"fc7 + {name}": name for name in LEVELS}, "dualAFR": " ".join(LEVELS)}
MIB = 2**20 if platform.system() == "Darwin" else 2**10  # the unit of ru_maxrss


def clip(layers: str) -> Features:
    """What the model reads of one video; after its end a row is zero."""
    maps = {name: _rows(name) for name in layers.split()}
    return maps | {"fc7": Modality(torch.rand(1, 2, SIZES["fc7"]), torch.ones(1, 2, dtype=torch.bool))}


def _rows(name: str) -> Modality:
    level, rows = LEVELS[name], -(-FRAMES // 16)
    steps = torch.rand(1, rows * level.steps, level.side, level.side, SIZES[name])
    steps[:, -(-FRAMES * level.steps // 16) :] = 0.0
    return Modality(steps.unflatten(1, (rows, level.steps)), torch.ones(1, rows, dtype=torch.bool))


@torch.inference_mode()
def measure(layers: str) -> dict[str, float]:
    """Seconds of the best repeat, and the memory that weights, maps and search take above the imports."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    before = _peak()
    model, given = DualAfr(vocabulary=VOCABULARY, sizes=SIZES, layers=layers).eval(), clip(layers)
    weights = sum(each.numel() * each.element_size() for each in model.parameters()) / 2**20
    times = [_timed(model, given) for _ in range(REPEATS)]
    cpu, wall = (min(each) for each in zip(*times, strict=True))
    return {"cpu": cpu, "wall": wall, "weights": weights, "peak": _peak() - before}


def _timed(model: DualAfr, given: Features) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    beam_search(model, given, SEARCH)
    return time.process_time() - cpu, time.perf_counter() - wall


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB


def in_own_process(name: str) -> dict[str, float]:
    """Peak memory is of a whole process and never falls."""
    command = [sys.executable, str(Path(__file__)), name]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    print(f"{platform.machine()}, {torch.backends.cpu.get_cpu_capability()}, torch {torch.__version__}, one core")
    found = {name: in_own_process(name) for name in MODELS}
    ours = found["dualAFR"]
    for name, each in found.items():
        print(
            f"{name:12} processor {each['cpu']:7.3f} s   wall {each['wall']:7.3f} s"
            f"   weights {each['weights']:5.0f} MiB   peak {each['peak']:6.0f} MiB"
            f"   dualAFR: {ours['cpu'] / each['cpu']:6.1f} x time, {ours['peak'] / each['peak']:4.1f} x memory"
        )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(MODELS[sys.argv[1]])))
    else:
        main()
