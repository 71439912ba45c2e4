"""Look into a feature store: what it was made from, and what each row of a video is.

    python examples/look_into_a_store.py features/mobilenet_v2 [VIDEO]

Needs no torch: a store is safetensors files and one JSON file, read through mmap.
"""

# ruff: noqa: T201 - a script talks to whoever runs it

from __future__ import annotations

import sys

from pipeline.store import open_store


def main(folder: str, video: str | None = None) -> None:
    store = open_store(folder)
    print(f"{folder}: {len(store)} videos, {len(store.manifest['failures'])} failed")
    made = store.fingerprint.get("extractor", {})  # a store that was imported knows less about itself
    print(f"  made by {made.get('family')} {made.get('network')}, untrained: {store.untrained}")

    chosen = video or next(iter(store))
    features = store[chosen]
    for name in features:
        array = features[name]  # a numpy array, (rows, ...)
        print(f"{chosen} {name}: shape {array.shape}, {array.dtype}, mean {array.mean():.4f}")
    rows = features.rows
    for row in range(min(5, len(rows.start))):
        frames = f"frames {rows.first_frame[row]} to {rows.last_frame[row]}"
        print(f"  row {row}: {frames}, {rows.start[row]:.2f} to {rows.end[row]:.2f} s, valid {bool(rows.valid[row])}")


if __name__ == "__main__":
    main(*sys.argv[1:])
