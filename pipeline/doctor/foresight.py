"""What params.yaml will ask for when its turn comes: found now, and not after days of extraction.

Networks are built without weights, on the CPU, to learn the outputs that they have; models without memory for numbers.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import captioner, datasets, evaluation, extraction, metrics, papers, params, store as feature_store
from pipeline.core import FramescribeError, InputError, MissingToolError, UsageError, cache_folder
from pipeline.doctor.check import Check

if TYPE_CHECKING:
    from pipeline.params import Extract, Params, Train

Outputs = Mapping[str, tuple[int, ...]]  # name -> shape of a row
NO_VECTORS = ("", "none.txt")  # file names that stand for none
UNSET = ("", "none")
CATEGORIES = 20  # any number: assemble's store has one vector per video
RUNS = Path("runs")


def check_plan(values: Params) -> list[Check]:
    """Features that can exist, runs that can read them, what metrics need, and the disk."""
    outputs, found = _features(values.extract)
    runs = _runs(values, {**_imported(values), **outputs})
    return [*_splits(values), *found, *runs, *_metrics(values), *_disk(values, outputs)]


def _imported(values: Params) -> dict[str, Outputs]:
    """Stores that runs name, that no entry of extract makes, and that are there."""
    named = {store for run in values.train.values() for store in run.features.model_dump().values()}
    found: dict[str, Outputs] = {}
    for name in sorted(named - {*values.extract, *params.OWN_STORES}):
        with suppress(FramescribeError):
            outputs = feature_store.open_store(feature_store.FEATURES / name).manifest["outputs"]
            found[name] = {tensor: tuple(facts["shape"]) for tensor, facts in outputs.items()}
    return found


def _splits(values: Params) -> Iterator[Check]:
    """The rule that assemble divides the videos by."""
    name, split = values.dataset.name, values.dataset.split
    known = ", ".join(datasets.LOADERS[name])
    if split not in datasets.LOADERS[name]:
        detail = f"'{name}' has no split rule '{split}'; it has: {known}"
        fix = "edit dataset.split in params.yaml"
        yield Check(name="dataset.split", state="missing", detail=detail, blocks="assemble", fix=fix)


def _features(extract: Mapping[str, Extract]) -> tuple[dict[str, Outputs], list[Check]]:
    outputs: dict[str, Outputs] = {}
    found = []
    for name, entry in extract.items():
        try:
            outputs[name] = extraction.planned_outputs(entry)
        except FramescribeError as error:
            fix = error.hint or f"edit extract.{name} in params.yaml; framescribe extractors list"
            blocks = f"extract@{name} and the runs that read it"
            found.append(Check(name=f"features {name}", state="missing", detail=error.message, blocks=blocks, fix=fix))
    return outputs, found


def _runs(values: Params, outputs: Mapping[str, Outputs]) -> list[Check]:
    told: dict[str, Check] = {}
    for name, run in values.train.items():
        for detail, fix in _problems(name, run, values, outputs):
            others = [told[detail].blocks] if detail in told else []
            blocks = ", ".join([*others, f"train@{name}"])
            told[detail] = Check(name=f"run {name}", state="missing", detail=detail, blocks=blocks, fix=fix)
    if told:
        return list(told.values())
    return [Check(name="runs", state="ok", detail=f"{len(values.train)} find the features that their models read")]


def _problems(name: str, run: Train, values: Params, outputs: Mapping[str, Outputs]) -> Iterator[tuple[str, str]]:
    """(what is wrong, what to do) of one run."""
    edit = f"edit train.{name} in params.yaml"
    known = [*dict.fromkeys([*values.extract, *outputs]), *params.OWN_STORES]
    unknown = [store for store in run.features.model_dump().values() if store not in known]
    for store in unknown:
        yield (
            f"features names the store '{store}', which no entry of extract makes; there are: {', '.join(known)}",
            f"framescribe extractors add {store}, or {edit}",
        )
    if not unknown:
        try:
            _build(run, outputs, made=values.extract)
        except (InputError, UsageError) as error:
            yield error.message, f"{error.hint}; or {edit}" if error.hint else edit
    classes, dataset = datasets.CATEGORIES.name, values.dataset.name
    if classes in run.features.model_dump().values() and dataset not in datasets.WITH_CLASSES:
        yield (
            f"features names the store '{classes}', and '{dataset}' gives its videos no class",
            f"set features.label to none or to a store of extract; or {edit}",
        )
    vectors = Path(run.word_vectors)
    if vectors.name not in NO_VECTORS and not vectors.is_file():
        yield f"the word vectors {vectors} are missing", f"put them there (lines of a word and its numbers), or {edit}"
    start = run.start_from
    if start not in UNSET and start not in values.train and not (RUNS / start).is_dir():
        yield f"start_from is '{start}', which is neither a run of params.yaml nor in {RUNS}/", edit


def _build(run: Train, outputs: Mapping[str, Outputs], *, made: Collection[str]) -> None:
    """As training will, of tensors of these shapes. A store that cannot be made is told elsewhere."""
    import torch

    stores = run.features.model_dump()
    wanted = captioner.inputs_of(run.model, run.tensors)
    sizes = {}
    for name, each in wanted.items():
        store = stores[each.slot]
        if "none" in (store, each.tensor):
            if not each.optional:
                hint = f"set features.{each.slot}"
                raise InputError(f"{run.model} reads '{each.slot}', but the run gives it no store", hint=hint)
        elif store in params.OWN_STORES:
            sizes[name] = CATEGORIES
        elif store in outputs:
            rename = f"name another in the run's entry: tensors: {{{name}: TENSOR}}"
            hint = f"add '{each.tensor}' to extract.{store}.outputs" if store in made else rename
            sizes[name] = _width(run.model, store, each.tensor, outputs[store], hint=hint)
        else:
            return
    with torch.device("meta"):
        model = captioner.build_captioner(run.model, vocabulary=10, sizes=sizes, options=run.options)
    captioner.require_stages(model, [stage.stage for stage in run.stages])


def _width(model: str, store: str, tensor: str, outputs: Outputs, *, hint: str) -> int:
    if tensor not in outputs:
        raise InputError(f"{model} reads '{tensor}' of '{store}', which will have: {', '.join(outputs)}", hint=hint)
    return outputs[tensor][-1]


def _metrics(values: Params) -> Iterator[Check]:
    rewarded = [name for name, run in values.train.items() if any("meteor" in stage.rewards for stage in run.stages)]
    wanted = {metrics.TOKENIZER: ["evaluate"]} if values.evaluate.tokenizer == "ptb" else {}
    if values.evaluate.meteor or rewarded:
        wanted[metrics.METEOR] = ["evaluate"] * values.evaluate.meteor + [f"train@{each}" for each in rewarded]
    for jar, stages in wanted.items():
        try:
            path = metrics.jar_path(jar)
        except MissingToolError as error:
            blocks = ", ".join(stages)
            yield Check(name=f"jar {jar}", state="missing", detail=error.message, blocks=blocks, fix=error.hint)
            continue
        yield Check(name=f"jar {path.name}", state="ok", detail=f"for {', '.join(stages)}")
    if values.evaluate.spice:
        yield _spice()


def _spice() -> Check:
    try:
        return Check(name="SPICE", state="ok", detail=str(evaluation.spice_folder()))
    except MissingToolError as error:
        fix = f"{error.hint}; or evaluate.spice: false"
        return Check(name="SPICE", state="warn", detail=error.message, blocks="the metric SPICE alone", fix=fix)


def _disk(values: Params, outputs: Mapping[str, Outputs]) -> list[Check]:
    """Stores, and the feature cache beside them, of the videos at hand and of the whole data set."""
    planned = {name: (values.extract[name], shapes) for name, shapes in outputs.items()}
    sizes = papers.known_sizes(values.dataset)
    found = []
    for number, size in enumerate(sizes):
        needed = papers.bytes_of(planned, size)
        detail = f"features and their cache take about {needed / 1e9:.1f} GB for {size.videos} videos ({size.source})"
        found.append(_room(needed, detail=detail, is_planned=number == 0))
    return found


def _room(needed: int, *, detail: str, is_planned: bool) -> Check:
    """A lack for the videos at hand stops the graph; one for the rest of the data set is worth a word."""
    free = min(_free(Path.cwd()), _free(cache_folder("features")))
    if needed <= free:
        return Check(name="disk, features", state="ok", detail=f"{detail}; {free / 1e9:.1f} GB free")
    return Check(
        name="disk, features",
        state="missing" if is_planned else "warn",
        detail=f"{detail}; {free / 1e9:.1f} GB free",
        blocks="extract, when the disk is full",
        fix="free space, set FRAMESCRIBE_CACHE to a folder on another disk, or keep fewer outputs or dtype: float16",
    )


def _free(folder: Path) -> int:
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(existing).free
