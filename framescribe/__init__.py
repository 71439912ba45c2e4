"""Framescribe from Python: stores, features of a video, captions by a trained run, scores. docs/python.md shows each.

This is the public API; the packages beside it may change with any version. It works in the current folder as the
commands do: `params.yaml`, `weights/` and the cache are those found there. It prints nothing and never exits; what goes
wrong is a `FramescribeError`.
"""

from typing import Any

__all__ = [
    "CaptionScores",
    "FramescribeError",
    "Rows",
    "Run",
    "Store",
    "StoreDataset",
    "VideoCaption",
    "VideoCaptions",
    "VideoFeatures",
    "extract",
    "open_run",
    "open_store",
    "pad_and_mask",
    "score",
]


def __getattr__(name: str) -> Any:
    """Imported when first asked for (PEP 562), the door too: `pipeline` sets variables that keep libraries silent."""
    from pipeline.core.door import open_door

    return open_door(__name__, __file__)[0](name)


def __dir__() -> list[str]:
    return __all__
