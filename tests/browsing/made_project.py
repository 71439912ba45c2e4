"""Files of a project as the stages write them, small and made at once: no video, no training."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pipeline.core.sealed_file import write_sealed_json
from pipeline.corpus import Corpus, write_corpus
from pipeline.evaluation.record import as_record
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.store import Failure, Rows, Store, VideoFeatures, write_store

SCRIPT = "<script>document.title='taken'</script>"
SUBJECTS = ("dog", "cat", "man", "woman", "child", "horse")
VERBS = ("runs", "jumps", "sings", "cooks", "swims")


def features_of(vectors: np.ndarray, *, seconds: float = 0.5) -> VideoFeatures:
    """Rows of `seconds` each, one after the other."""
    count = len(vectors)
    edges = np.arange(count + 1) * seconds
    frames = np.arange(count)
    rows = Rows(first_frame=frames, last_frame=frames, start=edges[:-1], end=edges[1:], valid=np.ones(count, int))
    return VideoFeatures(tensors={"pool": vectors.astype(np.float32)}, rows=rows)


def write_toy_store(folder: Path, *, videos: int = 30, rows: int = 6, failed: str = "broken") -> None:
    """Video n points into a direction of its own, a little further from video 0 the larger n is."""
    angles = np.arange(videos)[:, None] * 0.04 + np.arange(rows) * 0.001  # (videos, rows)
    made = {
        f"video{n:03d}": features_of(np.stack([np.cos(row), np.sin(row), np.zeros(rows)], 1) * (1 + n))
        for n, row in enumerate(angles)
    }
    failures = {failed: Failure("crash", f"the decoder died {SCRIPT}")}
    write_store(folder, made, fingerprint={"weights": "random"}, failures=failures)


def manifest_of(videos: int) -> Store:
    """A store of so many videos that only its manifest is there."""
    facts = {f"video{n:05d}": {"rows": 8} for n in range(videos)}
    failures = {f"failed{n:03d}": {"reason": "crash", "message": "x" * 200} for n in range(videos // 100)}
    return Store(Path("features/made"), {"videos": facts, "failures": failures, "outputs": {}, "shard_count": 16})


def write_captions(root: Path, *, videos: int = 30, runs: tuple[str, ...] = ("a", "b")) -> None:
    """References and what each run said, scored as `evaluate` does without Java."""
    ids = [f"video{n:03d}" for n in range(videos)]
    references = {
        video: [f"a {SUBJECTS[n % 6]} {VERBS[n % 5]} in the park", f"the {SUBJECTS[n % 6]} that {VERBS[n % 5]}"]
        for n, video in enumerate(ids)
    }
    references[ids[0]].append(f"so {SCRIPT}")
    slices = {video: ("short", "long")[n % 2] for n, video in enumerate(ids)}
    write_corpus(root / "data/captions", Corpus({"train": ids[:5], "val": [], "test": ids[5:]}, references, slices))
    scorer = CaptionScorer(references)
    for place, run in enumerate(runs):
        said = {
            video: f"a {SUBJECTS[(n + place * (n % 3)) % 6]} {VERBS[n % 5]} in the park" for n, video in enumerate(ids)
        }
        entries = {video: {"caption": text, "log_prob": -1.0, "words": text.split()} for video, text in said.items()}
        write_sealed_json(root / f"predictions/{run}.json", {"run": run, "split": "test", "predictions": entries})
        write_sealed_json(root / f"predictions/{run}.origin.json", {"made_by": "caption"})
        write_sealed_json(root / f"evaluation/{run}.json", as_record(scorer.score(said), slices=slices))


def write_project(root: Path) -> None:
    (root / "params.yaml").write_text("dataset: {name: demo, videos: videos, annotations: a.json}\n")
    write_toy_store(root / "features/toy", failed=SCRIPT)
    write_captions(root)
    log = root / "logs/20260101-000000-1/worker-1.jsonl"
    log.parent.mkdir(parents=True)
    log.write_text('{"worker": "w", "time": 1700000000.0, "event": "done", "items": "clip1"}\n' + f"plain {SCRIPT}\n")
