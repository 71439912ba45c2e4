"""The demo set on disk: clips, MSR-VTT's annotation file, the truth about every scene, and a manifest."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from pipeline.core import Console, file_sha256, fresh_folder, record_sha256, write_json, write_sealed_json, write_text
from pipeline.demo.drawing import frames
from pipeline.demo.encoding import write_clip
from pipeline.demo.grammar import captions
from pipeline.demo.motion import boxes
from pipeline.demo.plan import HELD_OUT, Clip, plan
from pipeline.demo.scene import FPS
from pipeline.demo.sound import RATE, wave

CAPTIONS_A_CLIP = 8
MANIFEST = "manifest.json"
_ANIMATION = 8  # MSR-VTT's category; the same for all, so that it tells a model nothing
_AT_ONCE = 4  # clips handed to a process at a time


@dataclass(frozen=True)
class DemoSettings:
    """What decides the bytes of the set."""

    seed: int
    clips: int

    def record(self) -> dict[str, Any]:
        sources = {path.name: file_sha256(path) for path in sorted(Path(__file__).parent.glob("*.py"))}
        libraries = {name: version(name) for name in ("av", "numpy", "pillow")}
        return {"seed": self.seed, "clips": self.clips, "code": record_sha256({"sources": sources, **libraries})}


def make_demo_set(out: Path, *, settings: DemoSettings, workers: int, console: Console) -> bool:
    """Make the set in `out`, all of it or nothing; False when exactly this set is there already."""
    if is_made(out, settings=settings):
        return False
    clips = plan(seed=settings.seed, clips=settings.clips)
    with (
        fresh_folder(out, known_by=MANIFEST) as folder,
        console.progress("demo clips", total=len(clips)) as progress,
    ):
        (folder / "videos").mkdir()
        for video_id in _write_clips(clips, folder=folder / "videos", workers=workers):
            progress.advance(note=video_id)
        write_sealed_json(folder / "annotations.json", msrvtt_annotations(clips, seed=settings.seed))
        write_text(folder / "scenes.jsonl", "".join(json.dumps(truth(clip)) + "\n" for clip in clips))
        write_json(folder / MANIFEST, {"recipe": settings.record(), "files": _file_hashes(folder)})
    return True


def is_made(out: Path, *, settings: DemoSettings) -> bool:
    """Whether `out` holds exactly this set, down to every byte."""
    try:
        manifest = json.loads((out / MANIFEST).read_text())
    except (OSError, ValueError, RecursionError):
        return False
    return manifest == {"recipe": settings.record(), "files": _file_hashes(out)}


def msrvtt_annotations(clips: list[Clip], *, seed: int) -> dict[str, Any]:
    """MSR-VTT's own format, with a `slice` for each video and the held-out combinations in `info`."""
    info = {
        "contributor": "Framescribe",
        "data_created": "",
        "version": "1.0",
        "description": f"The Framescribe demo set, made from seed {seed}.",
        "year": "2026",
        "held_out": HELD_OUT,
    }
    pairs = [(clip, caption) for clip in clips for caption in clip_captions(clip, seed=seed)]
    sentences = [{"caption": text, "video_id": clip.video_id, "sen_id": i} for i, (clip, text) in enumerate(pairs)]
    return {"info": info, "videos": [_video(clip, number=i) for i, clip in enumerate(clips)], "sentences": sentences}


def clip_captions(clip: Clip, *, seed: int) -> list[str]:
    return captions(clip.scene, count=CAPTIONS_A_CLIP, rng=random.Random(f"{seed}/{clip.video_id}"))


def truth(clip: Clip) -> dict[str, Any]:
    """All that is known about a clip, for tests of what a model can perceive."""
    about = {"video_id": clip.video_id, "split": clip.split, "twin": clip.twin, "held_out": clip.held_out, "fps": FPS}
    return about | clip.scene.record() | {"boxes": boxes(clip.scene)}


def _video(clip: Clip, *, number: int) -> dict[str, Any]:
    return {
        "category": _ANIMATION,
        "url": "",
        "video_id": clip.video_id,
        "start time": 0.0,
        "end time": round(clip.scene.seconds, 3),
        "split": clip.split,
        "id": number,
        "slice": clip.scene.slice,
    }


def _write_clips(clips: list[Clip], *, folder: Path, workers: int) -> Iterator[str]:
    jobs = [(clip, folder) for clip in clips]
    if workers == 1:
        yield from map(_write, jobs)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        yield from pool.map(_write, jobs, chunksize=_AT_ONCE)


def _write(job: tuple[Clip, Path]) -> str:
    clip, folder = job
    scene = clip.scene
    sound = wave(scene.audio, samples=round(scene.seconds * RATE), seed=scene.grain)
    write_clip(folder / f"{clip.video_id}.mp4", pictures=frames(scene), sound=sound)
    return clip.video_id


def _file_hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path != folder / MANIFEST)
    return {path.relative_to(folder).as_posix(): file_sha256(path) for path in files}
