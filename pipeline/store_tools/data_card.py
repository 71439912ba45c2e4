"""The data set card of an export: what the features are, what made them, under which licence, and in which splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pipeline.core import UsageError, file_sha256, markdown_rows, printable
from pipeline.params import PARAMS_FILE, load_params
from pipeline.store import Store, differences, whose_weights
from pipeline.weights import NONE, RANDOM, WITHOUT_FILE, converted_path, entry, status

OTHER = "other"  # videos of no split
UNSPLIT = "videos"  # where no split is known


def videos_by_split(store: Store, splits: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    """The videos of a store by the splits of the data set that is assembled here, in the store's order."""
    if not splits:
        return {UNSPLIT: list(store)}
    split_of = {video_id: name for name, ids in splits.items() for video_id in ids}
    found: dict[str, list[str]] = {name: [] for name in (*splits, OTHER)}
    for video_id in store:
        found[split_of.get(video_id, OTHER)].append(video_id)
    return {name: ids for name, ids in found.items() if ids}


def data_card(store: Store, *, form: str, split_videos: Mapping[str, list[str]]) -> str:
    """Markdown behind the header that the Hugging Face hub and `datasets` read."""
    manifest = store.manifest
    sizes, outputs = manifest["sizes"], manifest["outputs"]
    columns = [("tensor", "shape of a row", "type")]
    columns += [
        (f"`{name}`", " x ".join(map(str, each["shape"])) or "a number", each["dtype"])
        for name, each in outputs.items()
    ]
    meanings = [("column", "meaning"), *((f"`rows.{name}`", meaning) for name, meaning in manifest["row"].items())]
    counts = [("split", "videos"), *((name, str(len(ids))) for name, ids in split_videos.items())]
    facts = [("field", "value"), *((name, f"`{value}`") for name, value, _ in differences(manifest["fingerprint"], {}))]
    return "\n".join(
        [
            *_header(form, split_videos),
            f"# Video features: {printable(store.folder.name)}",
            "",
            f"{sizes['videos']} videos, {sizes['rows']} rows, made by Framescribe and exported as {form}."
            f" {sizes['failures']} videos failed; `about.json` has their reasons.",
            "",
            "## Features",
            *markdown_rows(columns),
            "Every tensor has one row per row of the table:",
            "",
            *markdown_rows(meanings),
            "An `id` is percent-encoded, dots too: `urllib.parse.unquote` gives the video's name.",
            "",
            "## Splits",
            *markdown_rows(counts),
            "## Weights and licence",
            *_weights(store),
            "The videos, and what may be done with features of them, are under the terms of their data set.",
            "",
            "## Fingerprint",
            f"sha256 `{manifest['fingerprint_sha256']}` of all that decides a feature besides the video's own bytes:",
            "",
            *markdown_rows(facts),
        ]
    )


def _header(form: str, split_videos: Mapping[str, list[str]]) -> list[str]:
    files = [line for name in split_videos for line in (f"  - split: {name}", f"    path: data/{name}-*.parquet")]
    configs = ["configs:", "- config_name: default", "  data_files:", *files] if form == "parquet" else []
    return ["---", "license: other", "tags: [video, features]", *configs, "---"]


def _weights(store: Store) -> list[str]:
    sha256 = store.manifest["fingerprint"].get("weights")
    if sha256 == RANDOM:
        return ["**Untrained**: the network's weights are random.", ""]
    if sha256 == NONE:
        return ["The method has no weights.", ""]
    if own := whose_weights(store.manifest):
        return [f"Weights of the maker's own: {own}.", ""]
    name = _name_of(store.folder.name, sha256)
    if name is None:
        return [f"Weights of sha256 `{sha256}`; which these are, and their licence, is not known here.", ""]
    terms = f" {entry(name).terms}" if entry(name).terms else ""
    return [f"`{name}`: {entry(name).description}. Licence: {entry(name).licence}.{terms}", ""]


def _name_of(store: str, sha256: Any) -> str | None:
    """The weights that params.yaml names for the store, if they are those that it was made with."""
    try:
        params = load_params().extract.get(store) if PARAMS_FILE.is_file() else None
    except UsageError:
        return None
    if params is None or params.weights in WITHOUT_FILE or status(params.weights) != "present":
        return None
    return params.weights if file_sha256(converted_path(params.weights)) == sha256 else None
