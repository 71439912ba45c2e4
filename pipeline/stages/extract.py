"""Run one extractor over every indexed video, into a sharded feature store."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.console import Console
from pipeline.errors import InputError, TooManyFailedError
from pipeline.execution import Executor

if TYPE_CHECKING:
    from pipeline.params import Extract


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="an entry of the section `extract` in params.yaml")
    parser.add_argument("--index", type=Path, default=Path("data/index"))
    parser.add_argument("--out", type=Path, help="folder of the store (default: features/NAME)")


def command(args: argparse.Namespace, console: Console) -> dict[str, Any]:
    from pipeline.params import load_params, pick

    params = pick(load_params().extract, args.name, kind="extractor")
    out = args.out or Path("features") / args.name
    machine = args.machine()
    return run(
        args.name,
        index=args.index,
        out=out,
        params=params,
        executor=machine.executor,
        device=machine.device,
        console=console,
    )


def run(
    name: str, *, index: Path, out: Path, params: Extract, executor: Executor, device: str, console: Console
) -> dict[str, Any]:
    from pipeline.extraction import ExtractVideo, fingerprint, unchanged_weights
    from pipeline.index import read_index
    from pipeline.store import write_store

    rows = list(read_index(index).rows.values())
    if not rows:
        raise InputError(f"{index} has no usable video", hint="framescribe decode, and look at quarantine.jsonl")
    with unchanged_weights(params.weights) as weights_sha256:
        record = fingerprint(params, weights_sha256=weights_sha256)
        work = ExtractVideo(params, record, index=index, device=device)
        features, failures, computed = {}, {}, 0
        with console.progress(f"extract {name}", len(rows)) as progress:
            for result in executor.map(work, rows):
                if result.features is None:
                    failures[result.video_id] = result.failure
                else:
                    features[result.video_id] = result.features
                computed += result.computed
                progress.advance(note=result.video_id)
    write_store(out, features, fingerprint=record, failures=failures)
    summary = {"store": str(out), "videos": len(features), "failed": len(failures), "computed": computed}
    console.say(f"{out}: {len(features)} videos, {computed} computed, {len(failures)} failed")
    if len(failures) > params.max_failed:
        first = next(iter(sorted(failures.items())))
        raise TooManyFailedError(
            f"{len(failures)} videos failed, {params.max_failed} allowed; first: {first[0]}: {first[1]}",
            hint=f"see `failures` in {out}/store.json, or raise extract.{name}.max_failed",
        )
    return summary
