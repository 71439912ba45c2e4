"""M-VAD: one text file per split; a line is a clip, a tab and a sentence, and a clip may have several lines."""

from __future__ import annotations

from pathlib import Path

from pipeline.core import InputError
from pipeline.datasets.annotations import SPLITS, Annotations, build_annotations
from pipeline.datasets.sources import read_lines, require_folder, required_file

FILES = {split: f"corpus_M-VAD_{split}.txt" for split in SPLITS}


def load_mvad(path: Path) -> Annotations:
    require_folder(path, holds=", ".join(FILES.values()))
    lines = {
        split: _read(required_file(path, [name], holds=f"M-VAD {split} captions")) for split, name in FILES.items()
    }
    videos = [(clip, split) for split, pairs in lines.items() for clip in dict.fromkeys(clip for clip, _ in pairs)]
    return build_annotations(videos, [pair for pairs in lines.values() for pair in pairs], source=str(path))


def _read(path: Path) -> list[tuple[str, str]]:
    return [_clip_and_sentence(line, path=path, number=number) for number, line in read_lines(path)]


def _clip_and_sentence(line: str, *, path: Path, number: int) -> tuple[str, str]:
    clip, tab, sentence = line.partition("\t")
    if not (tab and clip.strip()):
        raise InputError(f"{path}, line {number}: expected a clip, a tab and a sentence, found {line[:80]!r}")
    return clip.strip().removesuffix(".avi"), sentence.strip()
