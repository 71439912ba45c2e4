"""What the doctor tries in a child process: imports that may abort, decoders that may hang.

`run_probe` starts `python -m pipeline.doctor.probes NAME [FILE]`, which prints one JSON object; whatever goes wrong
stays in that process.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any

from pipeline.doctor.check import guarded
from pipeline.doctor.project import check_planned

TIMEOUT = 120.0  # seconds a probe may take: a first import of torch from a cold disk is slow
CLIP_FRAMES, CLIP_WIDTH, CLIP_HEIGHT = 12, 128, 96


@dataclass(frozen=True, kw_only=True)
class ProbeResult:
    """What a probe reported, or why it could not."""

    facts: dict[str, Any]
    problem: str = ""


def run_probe(probe: str, *arguments: str, timeout: float = TIMEOUT) -> ProbeResult:
    """Run a probe in a child process and read what it reports."""
    command = [sys.executable, "-m", "pipeline.doctor.probes", probe, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout)
    except subprocess.TimeoutExpired:
        return ProbeResult(facts={}, problem=f"no answer within {timeout:g} s; it was killed")
    if done.returncode < 0:
        return ProbeResult(facts={}, problem=f"died of {signal.Signals(-done.returncode).name}")
    if done.returncode > 0:
        return ProbeResult(facts={}, problem=(done.stderr.strip().splitlines() or ["failed without a word"])[-1])
    try:
        return ProbeResult(facts=json.loads(done.stdout))
    except ValueError:
        return ProbeResult(facts={}, problem=f"it printed no answer but {done.stdout[:80]!r}")


def torch() -> dict[str, Any]:
    import torch
    import torchvision

    cuda = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    return {
        "torch": torch.__version__,
        "torchvision": torchvision.__version__,
        "threads": torch.get_num_threads(),
        "cuda": cuda,
    }


def plan() -> dict[str, Any]:
    """Torch, and with it everything that params.yaml will ask of it."""
    found = torch()
    return {"torch": found, "planned": [asdict(check) for check in guarded("features and runs", check_planned)]}


def dvc() -> dict[str, Any]:
    import dvc.api  # noqa: F401 - the import is the test

    return {"dvc": version("dvc")}


def write_clip(path: str) -> dict[str, Any]:
    """A clip that grows brighter from frame to frame, so that the order of frames can be read back."""
    import av
    import numpy as np

    with av.open(path, "w") as container:
        stream: Any = container.add_stream("libx264", rate=12)
        stream.width, stream.height, stream.pix_fmt = CLIP_WIDTH, CLIP_HEIGHT, "yuv420p"
        for number in range(CLIP_FRAMES):
            picture = np.full((CLIP_HEIGHT, CLIP_WIDTH, 3), 20 + 18 * number, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return {}


def pyav(path: str) -> dict[str, Any]:
    import av

    with av.open(path) as container:
        brightness = [float(frame.to_ndarray(format="rgb24").mean()) for frame in container.decode(video=0)]
    return {"version": version("av"), "ffmpeg": av.ffmpeg_version_info, **_verdict(brightness)}


def decord(path: str) -> dict[str, Any]:
    import decord

    reader = decord.VideoReader(path, num_threads=1)
    brightness = [float(reader.next().asnumpy().mean()) for _ in range(len(reader))]
    return {"version": version("decord"), **_verdict(brightness)}


def _verdict(brightness: list[float]) -> dict[str, Any]:
    return {"frames": len(brightness), "in_order": brightness == sorted(brightness)}


PROBES: dict[str, Callable[..., dict[str, Any]]] = {
    "torch": torch,
    "plan": plan,
    "dvc": dvc,
    "write_clip": write_clip,
    "pyav": pyav,
    "decord": decord,
}

if __name__ == "__main__":
    json.dump(PROBES[sys.argv[1]](*sys.argv[2:]), sys.stdout)
