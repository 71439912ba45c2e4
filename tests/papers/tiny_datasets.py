"""A handful of tiny clips as each data set publishes its own: file names, annotation format and split rule."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.clips import tone, write_clip

FRAMES, FPS = 24, 25  # one window of I3D, two frames for regions
SIZE = 96, 80
RATE = 16_000
Captions = Mapping[str, Sequence[str]]  # of each video
SENTENCES = (
    "a man plays a song on a guitar",
    "a woman plays a song for a man",
    "a man plays with a dog on a hill",
    "a woman sings a song for a dog",
    "a dog runs on a hill with a man",
)


def make_dataset(name: str, split: str, folder: Path) -> tuple[Path, Path]:
    """Two training videos, one of validation and two of testing; the folders of videos and annotations."""
    ids = IDS[name, split]
    captions = {id_: [SENTENCES[(number + each) % 5] for each in range(2)] for number, id_ in enumerate(ids)}
    videos, annotations = folder / "videos", folder / "annotations"
    videos.mkdir(parents=True)
    annotations.mkdir()
    for number, stem in enumerate(WRITERS[name](captions, annotations)):
        sound = tone(FRAMES / FPS + 0.1, rate=RATE, frequency=220.0 * (number + 1))
        width, height = SIZE
        write_clip(
            videos / f"{stem}{SUFFIX.get(name, '.mp4')}",
            frames=FRAMES + number,  # no two clips are alike
            width=width,
            height=height,
            fps=FPS,
            sound=None if name == "msvd" else sound,  # MSVD is muted
            sound_rate=RATE,
        )
    return videos, annotations


def _msrvtt(captions: Captions, folder: Path) -> list[str]:
    videos = [{"video_id": id_, "split": "train", "category": number % 20} for number, id_ in enumerate(captions)]
    pairs = [(id_, sentence) for id_, sentences in captions.items() for sentence in sentences]
    sentences = [{"sen_id": number, "video_id": id_, "caption": text} for number, (id_, text) in enumerate(pairs)]
    (folder / "videodatainfo_2017.json").write_text(json.dumps({"videos": videos, "sentences": sentences}))
    return list(captions)


def _msvd(captions: Captions, folder: Path) -> list[str]:
    """The corpus names clips by youtube id, start and end; another file says which number is which."""
    stems = {clip: f"clip{clip}_{3 * number}_{3 * number + 1}" for number, clip in enumerate(captions)}
    (folder / "youtube_mapping.txt").write_text("".join(f"{stem} {clip}\n" for clip, stem in stems.items()))
    with (folder / "video_corpus.csv").open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["VideoID", "Start", "End", "WorkerID", "Source", "AnnotationTime", "Language", "Description"])
        for clip, sentences in captions.items():
            for sentence in sentences:
                table.writerow([*stems[clip].split("_"), 1, "clean", 30, "English", sentence])
    return list(stems.values())


def _vatex(captions: Captions, folder: Path) -> list[str]:
    files = ("vatex_training_v1.0", "vatex_validation_v1.0", "vatex_public_test_english_v1.1")
    ids = list(captions)
    for file, part in zip(files, (ids[:2], ids[2:3], ids[3:]), strict=True):
        videos = [{"videoID": id_, "enCap": captions[id_]} for id_ in part]
        (folder / f"{file}.json").write_text(json.dumps(videos))
    return ids


def _mvad(captions: Captions, folder: Path) -> list[str]:
    ids = list(captions)
    for split, part in (("train", ids[:2]), ("val", ids[2:3]), ("test", ids[3:])):
        lines = [f"{id_}.avi\t{sentence}\n" for id_ in part for sentence in captions[id_]]
        (folder / f"corpus_M-VAD_{split}.txt").write_text("".join(lines))
    return ids


IDS = {
    ("msrvtt", "standard"): ("video0", "video1", "video6513", "video7010", "video7011"),
    ("msrvtt", "dualafr"): ("video0", "video1", "video6513", "video5513", "video5514"),
    ("msvd", "standard"): ("vid1", "vid2", "vid1201", "vid1301", "vid1302"),
    ("vatex", "standard"): tuple(f"tinyVideo-{number}_00000{number}_00001{number}" for number in range(5)),
    ("mvad", "standard"): tuple(f"TINY_MOVIE_DVS{number}" for number in range(5)),
}
SUFFIX = {"mvad": ".avi"}
WRITERS: dict[str, Callable[[Captions, Path], list[str]]] = {
    "msrvtt": _msrvtt,
    "msvd": _msvd,
    "vatex": _vatex,
    "mvad": _mvad,
}
