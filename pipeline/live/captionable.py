"""Which runs of the project can caption a clip, and which of its videos there are to choose from."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pipeline.captioning import require_extractable
from pipeline.core import FramescribeError, UsageError
from pipeline.index import INDEX_FILE, VideoIndex, read_index
from pipeline.params import Params
from pipeline.runs import read_record

RUNS, INDEX = Path("runs"), Path("data/index")
OFFERED = 20  # videos that a search shows


def captionable_runs(params: Params) -> dict[str, list[str]]:
    """Run -> its extractors."""
    found = {}
    for path in sorted(RUNS.glob("*/run.json")):
        try:
            record = read_record(path.parent)
            require_extractable(record, path.parent, extractors=params.extract)
        except FramescribeError:
            continue
        extractors = _extractors(record)
        if set(extractors) <= set(params.extract):
            found[path.parent.name] = extractors
    return found


def _extractors(record: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(facts["store"] for facts in record["features"].values()))


def chosen_runs(names: Sequence[str], params: Params) -> dict[str, list[str]]:
    able = captionable_runs(params)
    unknown = [name for name in names if name not in able]
    if unknown or not names:
        told = f"no run '{unknown[0]}' can caption a clip" if unknown else "no run was chosen"
        raise UsageError(told, hint=f"choose of: {', '.join(able) or 'none yet; dvc repro trains one'}")
    return {name: able[name] for name in dict.fromkeys(names)}


def project_videos() -> dict[str, str]:
    """Id -> path of the videos of the index."""
    written = INDEX / INDEX_FILE
    return _videos(written.stat().st_mtime_ns, str(INDEX.absolute())) if written.is_file() else {}


@lru_cache(maxsize=1)
def _videos(changed: int, folder: str) -> dict[str, str]:
    del changed  # only names the version
    index: VideoIndex = read_index(Path(folder))
    return {id_: str(row.path) for id_, row in index.rows.items()}


def offered(words: str, videos: Collection[str]) -> list[str]:
    """The first videos whose ids have the words in them, those that begin with them first."""
    wanted = words.casefold().strip()
    found = [id_ for id_ in videos if wanted in id_.casefold()]
    return sorted(found, key=lambda id_: (not id_.casefold().startswith(wanted), id_))[:OFFERED]
