"""A small finished project made in code: clips, index, captions, two runs (one on untrained features)."""

from __future__ import annotations

import hashlib
from pathlib import Path

import av
import numpy as np
import pytest

from pipeline.core.hashing import file_sha256
from pipeline.core.sealed_file import write_sealed_json
from pipeline.index.video_index import QuarantineRow, VideoRow, write_index
from pipeline.predictions.attention_maps import AttentionMaps, write_attention_maps
from pipeline.report.results import Sources
from pipeline.store import Failure, Rows, VideoFeatures, write_store

SLICES = ("distracted", "order", "small", "sound", "texture")
COLORS = {"red": (210, 50, 40), "green": (40, 160, 70), "blue": (50, 90, 200)}
METRICS = ("BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", "METEOR", "ROUGE-L", "CIDEr-D")
FRAMES, RATE, WIDTH, HEIGHT = 20, 10, 128, 96
CUT = {"resize_short_side": 96, "centre_crop": 64}  # columns 32 to 96 and rows 16 to 80 of a frame


def draw_frame(color: str, position: float) -> np.ndarray:
    """A square that moves from left to right on a plain ground."""
    frame = np.full((HEIGHT, WIDTH, 3), (225, 222, 215), dtype=np.uint8)
    left = int(position * (WIDTH - 36))
    frame[34:66, left : left + 32] = COLORS[color]
    return frame


def write_clip(path: Path, color: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=RATE)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, "yuv420p"
        for number in range(FRAMES):
            frame = av.VideoFrame.from_ndarray(draw_frame(color, number / (FRAMES - 1)), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def index_row(video: str, path: Path) -> VideoRow:
    return VideoRow(
        id=video,
        path=str(path),
        sha256=file_sha256(path),
        frames=FRAMES,
        width=WIDTH,
        height=HEIGHT,
        fps=float(RATE),
        duration=FRAMES / RATE,
        audio="absent",
        backend="pyav",
        warnings=(),
    )


def attention(words: int, rows: int = 8) -> AttentionMaps:
    """All that any model records: word i looks at row i, cell i of a 2 x 4 grid, and box i % 2 of frames 3 and 12."""
    weights = np.exp(-((np.arange(rows) - np.linspace(0, rows - 1, words)[:, None]) ** 2))
    edges = np.linspace(0, FRAMES / RATE, rows + 1)
    cells = np.full((words, 8), 0.05)
    cells[np.arange(words), np.arange(words) % 8] = 0.65
    boxes = np.array([[[0, 0, 64, 48], [64, 48, 128, 96]], [[32, 24, 96, 72], [0, 0, 0, 0]]], np.float32)
    regions = np.array([[[0.8, 0.2], [1.0, 0.0]]] * words)
    return {
        "time": weights / weights.sum(1, keepdims=True),
        "times": np.stack([edges[:-1], edges[1:]], 1).astype(np.float32),
        "cells": cells.reshape(words, 2, 4),
        "cell_frames": np.arange(words, dtype=np.int32) * 2,
        "regions": regions,
        "boxes": boxes,
        "box_frames": np.array([3, 12], np.int32),
        "box_rows": np.array([[0, 1]] * words, np.int32),
        "layer": np.full((words, 2), [0.25, 0.75]),
        "view": np.full((words, 2), [0.9, 0.1]),
        "refocus": np.eye(rows)[5],
    }


def write_run(root: Path, name: str, *, videos: list[str], quality: float, untrained: bool) -> None:
    said, looks = {}, {}
    for number, video in enumerate(videos):
        words = f"a {list(COLORS)[number % 3] if number % 4 else 'purple'} square moves to the right".split()
        said[video] = {"caption": " ".join(words), "log_prob": -1.5 - number / 10, "words": words}
        if not untrained:
            looks[video] = attention(len(words))
    shared = {"columns": {"layer": ["low", "high"], "view": ["ST", "TS"]}, "cut": {"place": {"preprocessing": CUT}}}
    write_sealed_json(
        root / f"predictions/{name}.json", {"run": name, "split": "test", "looks": shared, "predictions": said}
    )
    write_attention_maps(root / f"predictions/{name}.safetensors", looks)
    scores = {metric: round(quality * (1 - 0.09 * place), 4) for place, metric in enumerate(METRICS)}
    scores["CIDEr-D"] = round(quality * 2.4, 4)
    baseline = {metric: round(value * 0.2 / quality, 4) for metric, value in scores.items()}
    slices = {label: {"CIDEr-D": round(scores["CIDEr-D"] * (0.5 + place / 5), 4)} for place, label in enumerate(SLICES)}
    write_sealed_json(
        root / f"metrics/{name}/scores.json",
        {
            "scores": scores,
            "intervals": {metric: [round(value * 0.9, 4), round(value * 1.1, 4)] for metric, value in scores.items()},
            "most_frequent_caption": baseline,
            "slices": slices,
            "videos": len(videos),
        },
    )
    per_video = {video: {"CIDEr-D": round(quality * (1 + number % 5), 4)} for number, video in enumerate(videos)}
    write_sealed_json(
        root / f"evaluation/{name}.json",
        {"per_video": per_video, "baseline": {"caption": "a square moves"}, "provenance": {"java": "25.0.2"}},
    )
    lines = [
        f"{epoch},{4 * (1.3 - quality) ** (epoch / 3):.4f},{quality * 2.2 * (1 - 0.7**epoch):.4f}"
        for epoch in range(1, 13)
    ]
    curves = "epoch,train_loss,val_cider\n" + "\n".join(lines) + "\n"
    (root / f"metrics/{name}/curves.csv").write_text(curves)
    store = "noise" if untrained else "mobilenet_v2"
    record = {
        "run": name,
        "params": {"model": name, "seed": 0, "learning_rate": 1e-3},
        "parameters": 1_234_567,
        "best_epoch": 9,
        "features": {
            "appearance": {"store": store, "untrained": untrained, "fingerprint": "0f" * 32},
            "motion": {"store": "none"},
        },
        "versions": {"torch": "2.15.0"},
        "curves_sha256": hashlib.sha256(curves.encode()).hexdigest(),
    }
    write_sealed_json(root / f"runs/{name}/run.json", record)


def build_project(root: Path, *, test_videos: int = 20) -> Sources:
    clips = {color: root / "videos" / f"{color}.mp4" for color in COLORS}
    for color, path in clips.items():
        write_clip(path, color)
    tests = [f"video{number:03d}" for number in range(test_videos)]
    colors = {video: list(COLORS)[number % 3] for number, video in enumerate(tests)}
    captions = {
        video: [
            f"a {color} square moves to the right",
            f"the {color} square slides right",
            f"{color} block going right",
            f"from left to right goes a {color} square",
            f"one {color} thing moves",
        ]
        for video, color in colors.items()
    }
    write_sealed_json(
        root / "data/captions/captions.json",
        {
            "splits": {"train": ["train000"], "val": ["val000"], "test": tests},
            "captions": captions | {"train000": ["a square moves"], "val000": ["a square"]},
            "slices": {video: SLICES[number % len(SLICES)] for number, video in enumerate(tests)},
        },
    )
    write_sealed_json(root / "data/captions/statistics.json", {"vocabulary": 17, "splits": {"train": {"captions": 1}}})
    times = np.arange(FRAMES) / RATE
    write_index(
        root / "data/index",
        [index_row(video, clips[color]) for video, color in colors.items()],
        times=dict.fromkeys(tests, times),
        quarantined=[QuarantineRow("broken01", "broken01.mp4", "no_frames", "0 frames could be decoded")],
    )
    write_run(root, "attention", videos=tests, quality=0.72, untrained=False)
    write_run(root, "mean_pool", videos=tests, quality=0.55, untrained=True)
    write_features(root / "features/mobilenet_v2", tests)
    return sources_of(root)


def write_features(folder: Path, videos: list[str]) -> None:
    """A store in which the last video failed."""
    frames = np.arange(2)
    rows = Rows(first_frame=frames, last_frame=frames, start=frames / RATE, end=(frames + 1) / RATE, valid=frames == 0)
    features = {
        video: VideoFeatures(tensors={"pool": np.zeros((2, 4), np.float32)}, rows=rows) for video in videos[:-1]
    }
    failures = {videos[-1]: Failure("crash", "the decoder died of SIGSEGV on the video")}
    write_store(folder, features, fingerprint={"weights": "0f" * 32}, failures=failures)


def sources_of(root: Path) -> Sources:
    return Sources(
        captions=root / "data/captions",
        index=root / "data/index",
        features=root / "features",
        predictions=root / "predictions",
        metrics=root / "metrics",
        evaluation=root / "evaluation",
        runs=root / "runs",
    )


@pytest.fixture
def project(tmp_path: Path) -> Sources:
    return build_project(tmp_path)
