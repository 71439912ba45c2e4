"""From params to a trainer, and from a trainer to the run's folder: `model.safetensors` and `run.json`."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from models.base import Captioner
from pipeline.captioner import (
    FeatureSource,
    build_captioner,
    inputs_of,
    load_model,
    open_features,
    require_stages,
    steady_arithmetic,
)
from pipeline.core import (
    UNGUARDED,
    InputError,
    StageInputs,
    cache_folder,
    file_sha256,
    fresh_folder,
    named,
    read_sealed_tensors,
    record_sha256,
    write_bytes,
    write_sealed_json,
)
from pipeline.corpus import Vocabulary, read_corpus, read_vocabulary
from pipeline.params import Train
from pipeline.runs import read_record
from pipeline.training.history import History, curves_csv
from pipeline.training.initialisation import initialise, use_word_vectors
from pipeline.training.progress import AGAIN
from pipeline.training.regularisation import require_slots
from pipeline.training.trainer import Trainer

# Whose sources decide what training does, as in dvc.yaml: half a run by other code must not be resumed.
CODE = (
    "models",
    "pipeline/captioner",
    "pipeline/training",
    "pipeline/metrics",
    "pipeline/runs",
    "pipeline/store",
    "pipeline/corpus",
    "pipeline/params/train.py",
)


def prepare(params: Train, *, captions: Path, max_words: int, device: str, others: Sequence[str] = ()) -> Trainer:
    """A trainer whose progress folder is named by all that decides its result, so that only its own run resumes it."""
    steady_arithmetic()
    torch.manual_seed(params.seed)
    corpus, vocabulary = read_corpus(captions), read_vocabulary(captions / "vocabulary.json")
    source = open_features(params.features, inputs_of(params.model, params.tensors))
    require_features(source, [id_ for ids in corpus.splits.values() for id_ in ids])
    model = build_captioner(params.model, vocabulary=len(vocabulary), sizes=source.sizes, options=params.options).to(
        device
    )
    require_stages(model, [stage.stage for stage in params.stages])
    require_slots(params.stages, source.inputs)
    initialise(model, params.initial)
    if params.word_vectors:
        use_word_vectors(model, vocabulary, Path(params.word_vectors))
    if params.start_from:
        _start_from(params.start_from, model, vocabulary)
    decides = {
        "params": params.model_dump(),
        "max_words": max_words,
        "captions": {name: file_sha256(captions / name) for name in ("captions.json", "vocabulary.json")},
        "features": {slot: store.manifest["shards"] for slot, store in source.stores.items()},
        "code": {f"{path.parent.name}/{path.name}": file_sha256(path) for path in _code()},
        "word_vectors": file_sha256(Path(params.word_vectors)) if params.word_vectors else None,
        "start_from": file_sha256(_weights_of(params.start_from)) if params.start_from else None,
        "torch": version("torch"),
        "device": device,
    }
    folder = cache_folder("training") / record_sha256(decides)
    return Trainer(model, corpus, vocabulary, source, params, max_words, folder, device, others)


def _start_from(run: str, model: Captioner, vocabulary: Vocabulary) -> None:
    """Words are known by their numbers: weights of another vocabulary may fit, and mean something else."""
    path = _weights_of(run)
    facts = read_record(path.parent)
    if tuple(facts["vocabulary"]) != vocabulary.words:
        raise InputError(f"start_from: '{run}' has another vocabulary", hint=f"framescribe train {run}")
    try:
        load_model(path, model, hint=f"dvc repro --force train@{run}")
    except RuntimeError as error:  # keys or shapes
        made = f"{facts['params']['model']} with options {facts['params']['options']} and inputs {facts['sizes']}"
        hint = "give the run the same model, options and features"
        raise InputError(f"start_from: the weights of '{run}' do not fit: they are {made}", hint=hint) from error


def _weights_of(run: str) -> Path:
    path = Path("runs") / run / "model.safetensors"
    if not path.is_file():
        raise InputError(f"start_from: there is no trained run '{run}' ({path})", hint=f"framescribe train {run}")
    return path


def _code() -> list[Path]:
    paths = [Path(__file__).parents[2] / name for name in CODE]
    return [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*.py")))]


def require_features(source: FeatureSource, video_ids: list[str]) -> None:
    for slot, store in source.stores.items():
        missing = [video_id for video_id in video_ids if video_id not in store]
        if missing:
            raise InputError(
                f"{store.folder} ({slot}) lacks {len(missing)} of {len(video_ids)} videos: {named(missing)}",
                hint=f"see `failures` in {store.folder}/store.json, then dvc repro extract@{store.folder.name}",
            )


def publish_run(out: Path, name: str, trainer: Trainer, history: History, *, inputs: StageInputs = UNGUARDED) -> None:
    facts = {
        "run": name,
        "params": trainer.settings.model_dump(),
        "max_words": trainer.max_words,
        "sizes": trainer.source.sizes,
        "vocabulary": list(trainer.vocabulary.words),
        "parameters": sum(parameter.numel() for parameter in trainer.model.parameters()),
        "epochs": len(history.epochs),
        "best_epoch": history.best.epoch,
        "val_cider": history.best.val_cider,
        "features": {name: describe_input(trainer.source, name) for name in trainer.source.inputs},
        "curves_sha256": hashlib.sha256(curves_csv(history).encode()).hexdigest(),  # CSV has no place for its own
        "versions": {"torch": version("torch"), "framescribe": version("framescribe")},
        "processor": torch.backends.cpu.get_cpu_capability(),  # another instruction set rounds otherwise
    }
    with fresh_folder(out, known_by="run.json") as temporary:
        write_bytes(temporary / "model.safetensors", read_sealed_tensors(trainer.best_path(history), hint=AGAIN))
        write_sealed_json(temporary / "run.json", facts)
        inputs.require_unchanged()
    shutil.rmtree(trainer.folder)  # it served to resume, and there is nothing left to resume


def describe_input(source: FeatureSource, name: str) -> dict[str, Any]:
    wanted = source.inputs[name]
    store = source.stores[wanted.slot]
    return {
        "slot": wanted.slot,
        "store": store.folder.name,
        "tensor": wanted.tensor,
        "fingerprint": store.manifest["fingerprint"],
        "fingerprint_sha256": store.manifest["fingerprint_sha256"],
        "untrained": store.untrained,
    }
