"""References from the files people have: the data sets' own annotations, COCO's, plain JSON and JSONL.

A file that names splits keeps them, so that a score can say of which split it is.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pipeline.core import InputError, UsageError, named, read_json, read_json_lines
from pipeline.datasets import Annotations, first_file, msrvtt, msvd, read_records, vatex
from pipeline.evaluation.prediction_files import id_and_text
from pipeline.evaluation.scoring import check_ids

ALLOWED = (
    "{id: [captions]}, JSON lines of an id with its captions, MSR-VTT's annotations (.json or .zip), VATEX's, MSVD's "
    "(.txt, or the folder of the CSV and its mapping), COCO's annotations, or data/captions"
)


@dataclass(frozen=True)
class References:
    captions: dict[str, list[str]]
    splits: dict[str, str] = field(default_factory=dict)  # id -> split, where the file says so

    def of_split(self, split: str) -> References:
        known = sorted(set(self.splits.values()))
        if split not in known:
            has = f"it has: {', '.join(known)}" if known else "the file names no splits"
            raise UsageError(f"there is no split '{split}' in the references; {has}")
        kept = {id_: texts for id_, texts in self.captions.items() if self.splits.get(id_) == split}
        return References(kept, dict.fromkeys(kept, split))

    def of_videos(self, ids: Iterable[str]) -> References:
        kept = {id_: self.captions[id_] for id_ in ids}
        return References(kept, {id_: self.splits[id_] for id_ in kept if id_ in self.splits})

    @property
    def split(self) -> str | None:
        """The split that all of them are of, if there is one."""
        named_splits = {self.splits.get(id_) for id_ in self.captions}
        return named_splits.pop() if len(named_splits) == 1 else None


def read_references(path: Path) -> References:
    if path.is_dir():
        return _read_folder(path)
    if path.suffix in (".csv", ".txt"):
        return _of_annotations(msvd.load_msvd(path))
    if path.suffix == ".zip":
        return _from_object(read_records(path, dict[str, Any], members=msrvtt.MEMBERS), path)
    value = read_json_lines(path) if path.suffix == ".jsonl" else read_json(path)
    return _gather(value, path) if isinstance(value, list) else _from_object(value, path)


def _read_folder(path: Path) -> References:
    """What the assemble stage wrote, or a data set's annotations under their usual names."""
    if (path / "captions.json").is_file():
        return _from_object(read_json(path / "captions.json"), path)
    halves = [file for names in (msrvtt.TRAIN_VAL, msrvtt.TEST) if (file := first_file(path, names))]
    if files := halves or [path / name for name in msrvtt.ALL if (path / name).is_file()][:1]:
        return _together([read_references(file) for file in files])
    if first_file(path, vatex.TRAIN):
        return _of_annotations(vatex.load_vatex(path))
    if first_file(path, (*msvd.CORPUS, msvd.WHOLE_TEXT, *(text.format("train") for text in msvd.SPLIT_TEXT))):
        return _of_annotations(msvd.load_msvd(path))
    raise InputError(f"{path} holds no references under a known name; allowed are {ALLOWED}")


def _together(parts: Sequence[References]) -> References:
    captions = {id_: texts for part in parts for id_, texts in part.captions.items()}
    return References(captions, {id_: split for part in parts for id_, split in part.splits.items()})


def _of_annotations(annotations: Annotations) -> References:
    splits = {id_: split for split, ids in annotations.splits.items() for id_ in ids}
    return References(annotations.captions, splits)


def _from_object(value: Any, path: Path) -> References:
    if not isinstance(value, dict):
        raise InputError(f"{path} holds no references; allowed are {ALLOWED}")
    if isinstance(value.get("sentences"), list):  # MSR-VTT
        return _gather(value["sentences"], path, splits=_own_splits(value.get("videos", [])))
    if isinstance(value.get("annotations"), list):  # COCO
        return _gather(value["annotations"], path)
    if isinstance(value.get("captions"), dict) and isinstance(value.get("splits"), dict):  # our own
        splits = {id_: split for split, ids in value["splits"].items() for id_ in ids}
        return _checked(value["captions"], path, splits=splits)
    return _checked(value, path)


def _gather(entries: list[Any], path: Path, *, splits: Mapping[str, str] | None = None) -> References:
    """Entries of one caption or of several; a video may have many entries."""
    captions: dict[str, list[str]] = {}
    for id_, text in id_and_text(entries, path):
        captions.setdefault(id_, []).extend(text if isinstance(text, list) else [text])
    return _checked(captions, path, splits=splits)


def _own_splits(videos: list[Any]) -> dict[str, str]:
    """MSR-VTT's files say `validate` where others say `val`."""
    named_videos = (video for video in videos if isinstance(video, dict) and {"video_id", "split"} <= video.keys())
    return {str(v["video_id"]): msrvtt.OWN_NAMES.get(v["split"], str(v["split"])) for v in named_videos}


def references_of(captions: Mapping[str, Any]) -> References:
    """From memory."""
    lists = {id_: [*texts] if isinstance(texts, tuple) else texts for id_, texts in captions.items()}
    return _checked(lists, "what was given")


def _checked(captions: Mapping[str, Any], source: object, *, splits: Mapping[str, str] | None = None) -> References:
    """A caption alone is one reference."""
    lists = {id_: [texts] if isinstance(texts, str) else texts for id_, texts in captions.items()}
    wrong = [id_ for id_, texts in lists.items() if not _is_texts(texts)]
    if wrong:
        raise InputError(f"{source} holds no references for {named(wrong)}; allowed are {ALLOWED}")
    return References(lists, {id_: split for id_, split in (splits or {}).items() if id_ in lists})


def _is_texts(captions: Any) -> bool:
    return isinstance(captions, list) and all(isinstance(caption, str) for caption in captions)


def same_videos(
    predictions: Mapping[str, Mapping[str, str]], references: References, *, split: str | None, common: bool
) -> tuple[dict[str, dict[str, str]], References, list[str]]:
    """Sets of predictions and references of the same videos, or an error that says how to get there; and remarks."""
    if split:
        references = references.of_split(split)
    told = []
    if common:
        both = [id_ for id_ in references.captions if all(id_ in one for one in predictions.values())]
        told = [_left_out("predictions without references", one, references.captions) for one in predictions.values()]
        told += [_left_out("references without a prediction", references.captions, set(both))]
        references = references.of_videos(both)
    splits = sorted(set(references.splits.values()))
    hint = f"--split {'|'.join(splits)} scores one split, " if len(splits) > 1 else ""
    sets = {
        name: {id_: one[id_] for id_ in references.captions} if common else dict(one)
        for name, one in predictions.items()
    }
    for one in sets.values():
        check_ids(one, references.captions, hint=f"{hint}--common scores the videos that all files have")
    return sets, references, [line for line in told if line]


def _left_out(what: str, ids: Iterable[str], kept: Container[str]) -> str:
    left = [id_ for id_ in ids if id_ not in kept]
    return f"{len(left)} {what} were left out: {named(left)}" if left else ""
