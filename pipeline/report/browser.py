"""The data beside the page: a list of all videos, and for each a file and a picture, read when it is shown.

Pages opened from disk may not fetch, but may run scripts beside them: every file is one call with one JSON value.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.core import Progress, fresh_folder
from pipeline.index import VideoIndex
from pipeline.report.clip_entries import choose, detail, list_entry
from pipeline.report.films import Film, read_film, unread_film
from pipeline.report.overlays import wanted_frames
from pipeline.report.players import player_address
from pipeline.report.results import HEADLINE, Captions, ReportedRun


def folder_beside(page: Path) -> Path:
    return page.with_name(f"{page.stem}-videos")


def write_videos(
    folder: Path,
    *,
    runs: Sequence[ReportedRun],
    metrics: Sequence[str],
    captions: Captions,
    index: VideoIndex,
    films: int,
    progress: Progress,
    last_check: Callable[[], None] = lambda: None,
) -> int:
    """Publish all that the browser shows; `films` videos have pictures. Returns how many videos there are.

    `last_check` may raise, when all is written and nothing is published.
    """
    answered = {video for run in runs for video in run.answers.predictions}
    order = choose(answered, slices=captions.slices, count=len(answered))
    entries = []
    with fresh_folder(folder, known_by="list.js") as temporary:
        for number, video in enumerate(order):
            film = film_of(video, runs=runs, index=index, wanted=number < films)
            name = f"{number:05d}"
            picture = f"{quote(folder.name)}/{name}.jpg" if film.jpeg else ""
            if film.jpeg:
                (temporary / f"{name}.jpg").write_bytes(film.jpeg)
            played = player_address(video, index=index, beside=folder.parent)
            _write(temporary, name, detail(video, runs=runs, film=film, picture=picture, played=played))
            entry = list_entry(video, runs=runs, metrics=metrics, captions=captions)
            entries.append(entry | {"data": name})
            progress.advance()
        _write(temporary, "list", contents(entries, runs=runs, metrics=metrics))
        last_check()
    return len(order)


def film_of(video: str, *, runs: Sequence[ReportedRun], index: VideoIndex, wanted: bool) -> Film:
    if not wanted:
        return unread_film(video, index=index, problem="no pictures: report.examples says how many videos have some")
    row = index.rows.get(video)
    looks = [run.looks[video] for run in runs if video in run.looks]
    needed = {number for each in looks for number in wanted_frames(each, frames=row.frames if row else 0)}
    return read_film(video, index=index, wanted=sorted(needed))


def contents(
    videos: Sequence[dict[str, Any]], *, runs: Sequence[ReportedRun], metrics: Sequence[str]
) -> dict[str, Any]:
    about = [{"name": run.name, "untrained": ", ".join(run.untrained)} for run in runs]
    return {"runs": about, "metrics": [*metrics], "headline": HEADLINE, "videos": videos}


def _write(folder: Path, name: str, value: dict[str, Any]) -> None:
    call = f"framescribe.receive({json.dumps(name)}, {json.dumps(value, separators=(',', ':'))});\n"
    (folder / f"{name}.js").write_text(call)


def script_json(value: Any) -> str:
    """JSON in which nothing can end its script element."""
    return json.dumps(value).replace("<", "\\u003c")


def whole_entry(
    video: str,
    *,
    runs: Sequence[ReportedRun],
    captions: Captions,
    index: VideoIndex,
    film: Callable[..., Film] = film_of,
) -> dict[str, Any]:
    """A video with its detail and its picture inside."""
    shown = film(video, runs=runs, index=index, wanted=True)
    entry = list_entry(video, runs=runs, metrics=[], captions=captions)
    return entry | {"detail": detail(video, runs=runs, film=shown, picture=picture_inside(shown))}


def picture_inside(film: Film) -> str:
    """The picture as an address that holds it whole."""
    return f"data:image/jpeg;base64,{base64.b64encode(film.jpeg).decode()}" if film.jpeg else ""
