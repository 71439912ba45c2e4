"""The model card of a run: what it was trained on, how it scored, what it can not do, and whose weights it uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.core import FEWEST_VIDEOS, ORDER, file_sha256, markdown_rows, printable, read_sealed_json
from pipeline.corpus import SPECIALS, read_corpus, read_vocabulary
from pipeline.params import Params
from pipeline.predictions import read_origin
from pipeline.run_tools.carried_weights import why_not_packed

CAPTIONS = Path("data/captions")
Needed = Mapping[str, Mapping[str, str]]


def model_card(record: Mapping[str, Any], params: Params, *, needed: Needed, packed: Sequence[str]) -> str:
    """Markdown. It has no date, so that the same run has the same card."""
    settings = {name: value for name, value in params.caption.deciding.items() if name != "split"}
    return "\n".join(
        [
            f"# {printable(record['run'])}: sentences for videos",
            "",
            f"A run of Framescribe {record['versions']['framescribe']}: the model `{record['params']['model']}`,"
            f" {record['parameters']} parameters. Sentences are written with `{_told(settings)}`.",
            "",
            *_trained_on(record, params),
            *_scores(record["run"]),
            *_features(record, params),
            *_weights(needed, packed),
            "## Limits",
            f"It knows {len(record['vocabulary']) - len(SPECIALS)} words and can say nothing else. Of clips unlike"
            " those it was trained on, its sentences are guesses. Videos and captions are under the terms of their"
            " data set.",
            "",
        ]
    )


def _trained_on(record: Mapping[str, Any], params: Params) -> list[str]:
    settings, dataset = record["params"], params.dataset
    share = "" if dataset.subset is None else ", a subset with splits of its own"
    begun = f" It began with the weights of the run `{settings['start_from']}`." if settings["start_from"] else ""
    return [
        "## Trained on",
        f"The data set `{dataset.name}`, its split `{dataset.split}`{share}; {record['epochs']} epochs, of which epoch"
        f" {record['best_epoch']} is kept: validation CIDEr-D {record['val_cider']:.3f} on plain words, by greedy"
        f" decoding. Seed {settings['seed']}.{begun}",
        "",
        *_counts(record),
    ]


def _counts(record: Mapping[str, Any]) -> list[str]:
    """Of the captions that are here, where they have the vocabulary that the run learnt."""
    known = CAPTIONS / "captions.json"
    if not known.is_file() or read_vocabulary(CAPTIONS / "vocabulary.json").words != tuple(record["vocabulary"]):
        return ["How many videos and captions is not known: other captions have been assembled since.", ""]
    corpus = read_corpus(CAPTIONS)
    counts = [(name, len(ids), len(corpus.sentences(name))) for name, ids in corpus.splits.items()]
    return _table(("split", "videos", "captions"), counts)


def _scores(run: str) -> list[str]:
    numbers = _numbers_of(run)
    if not numbers:
        return ["## Scores", f"Not evaluated since it was trained (`dvc repro evaluate@{run}`).", ""]
    scored, intervals = numbers["scores"], numbers["intervals"] if numbers["videos"] >= FEWEST_VIDEOS else {}
    baseline = numbers["most_frequent_caption"]
    rows = [
        (name, f"{scored[name]:.4f}", _interval(intervals.get(name)), _number(baseline.get(name)))
        for name in ORDER
        if name in scored
    ]
    few = "" if intervals else " No intervals: too few videos, or none were asked for."
    return [
        "## Scores",
        f"Of {numbers['videos']} videos of the split `{numbers['split']}`, by the tokenizer `{numbers['tokenizer']}`;"
        " 95 % intervals over resampled videos; beside them the most frequent training caption for every video."
        f"{few}",
        "",
        *_table(("metric", "score", "95 % interval", "most frequent caption"), rows),
    ]


def _numbers_of(run: str) -> dict[str, Any]:
    """Of the sentences of this very run: nothing where it was trained or captioned anew since."""
    predictions, evaluation = Path("predictions") / f"{run}.json", Path("evaluation") / f"{run}.json"
    metrics = Path("metrics") / run / "scores.json"
    members = read_origin(predictions).get("members", {})
    if members != {run: file_sha256(Path("runs") / run / "run.json")}:
        return {}
    if not (evaluation.is_file() and metrics.is_file()):
        return {}
    again = f"dvc repro --force evaluate@{run}"
    provenance = read_sealed_json(evaluation, hint=again)["provenance"]
    if provenance["predictions_sha256"] != file_sha256(predictions):
        return {}
    tokenizer = provenance["settings"]["tokenizer"]
    return read_sealed_json(metrics, hint=again) | {"split": provenance["split"], "tokenizer": tokenizer}


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _interval(ends: Sequence[float] | None) -> str:
    return "-" if ends is None else f"{ends[0]:.4f} to {ends[1]:.4f}"


def _features(record: Mapping[str, Any], params: Params) -> list[str]:
    rows = []
    for name, facts in record["features"].items():
        entry = params.extract[facts["store"]]
        sampling = _told(entry.sampling.model_dump(exclude_none=True))
        trained = "**untrained**: random weights" if facts["untrained"] else f"`{entry.weights}`"
        rows.append((name, f"`{facts['store']}`", f"`{entry.network}`", sampling, trained))
    return ["## Features", "", *_table(("input", "extractor", "network", "sampling", "weights"), rows)]


def _weights(needed: Needed, packed: Sequence[str]) -> list[str]:
    own = "The model's own weights are in this file, under the terms that its maker gives."
    if not needed:
        return ["## Weights and licences", f"{own} Its extractors read no others.", ""]
    rows = [
        (f"`{name}`", facts["description"], facts["licence"], facts["conditions"] or "-", _where(name, facts, packed))
        for name, facts in needed.items()
    ]
    columns = ("weights", "what", "licence", "conditions", "where")
    sums = [f"- `{name}`: sha256 `{facts['sha256']}`" for name, facts in needed.items()]
    return ["## Weights and licences", f"{own} Those of its extractors:", "", *_table(columns, rows), *sums, ""]


def _where(name: str, facts: Mapping[str, str], packed: Sequence[str]) -> str:
    if name in packed:
        return "in this file"
    return f"not in this file{', and not to be put there' if why_not_packed(facts) else ''}: {facts['get']}"


def _told(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    return markdown_rows([columns, *([printable(str(cell)) for cell in row] for row in rows)])
