"""Several runs as one, and the choice among their sentences: through the commands, on a small project."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch

import pipeline.captioning.reranker
from models.parts.embedding import VideoTextEmbedding
from pipeline.captioner.trained_run import open_run
from pipeline.captioning.caption_model import open_caption_model
from pipeline.captioning.fusion import fuse
from pipeline.captioning.reranker import Reranker, RerankerSettings, train_reranker
from pipeline.cli import main
from pipeline.core.errors import InputError
from pipeline.core.sealed_file import write_sealed_json
from pipeline.corpus.corpus import read_corpus
from tests.training.test_trainer import COLOURS, SETTINGS, SHAPES, make_project, train

PARAMS = """
dataset: {name: demo, videos: videos, annotations: annotations.json}
extract: {}
train:
  good: {model: soft_attention, features: {appearance: toy}}
  other: {model: mean_pool, features: {appearance: toy}}
caption: {beam: 2, max_words: 8}
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fusion")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("FRAMESCRIBE_CACHE", str(folder / "cache"))
        make_project(folder)
        (folder / "params.yaml").write_text(PARAMS)
        train(SETTINGS.model_copy(update={"epochs": 8}), "runs/good")
        other = {"model": "mean_pool", "epochs": 4, "options": {"hidden_size": 16, "word_size": 8}}
        train(SETTINGS.model_copy(update=other), "runs/other")
    return folder


@pytest.fixture(autouse=True)
def here(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(project / "cache"))


def read(path: str) -> dict:
    return json.loads(Path(path).read_text())


def test_several_runs_caption_as_one() -> None:
    assert main(["caption", "good", "other", "--quiet"]) == 0

    written = read("predictions/good+other.json")
    assert written["run"] == "good+other"
    assert list(written["predictions"]) == read_corpus(Path("data/captions")).splits["test"]


def test_a_run_that_is_a_file_is_a_video() -> None:
    Path("clip.mp4").write_bytes(b"")
    assert main(["caption", "clip.mp4", "--quiet"]) == 2


def test_runs_that_read_the_same_stores_share_one_reading() -> None:
    speaker = open_caption_model([Path("runs/good"), Path("runs/good"), Path("runs/other")], device="cpu")
    features = speaker.source.batch(["v0", "v1"])

    assert list(features) == ["0 appearance", "1 appearance", "2 appearance"]
    assert features["0 appearance"].values is features["2 appearance"].values


def test_vocabularies_must_agree() -> None:
    facts = read("runs/other/run.json")
    words = facts["vocabulary"]
    write_sealed_json(Path("runs/odd/run.json"), facts | {"vocabulary": [*words[:4], words[5], words[4], *words[6:]]})
    Path("runs/odd/model.safetensors").write_bytes(Path("runs/other/model.safetensors").read_bytes())

    with pytest.raises(InputError, match="different vocabularies"):
        open_caption_model([Path("runs/good"), Path("runs/odd")], device="cpu")


def test_the_judge_knows_which_sentence_fits() -> None:
    """Trained on 24 videos whose features name colour and shape; asked about those that it has never seen."""
    run = open_run(Path("runs/good"), device="cpu")
    corpus = read_corpus(Path("data/captions"))
    settings = RerankerSettings(epochs=15, patience=15, batch_size=16, learning_rate=3e-3, word_size=32, size=64)
    reranker, rank = train_reranker(corpus, run.vocabulary, run.source, settings=settings, max_words=10)

    assert rank > 0.7
    sentences = [f"a {colour} {shape} moves" for colour in COLOURS for shape in SHAPES]
    best = {video: sentences[reranker.similarities(video, sentences).argmax()] for video in corpus.splits["test"]}
    assert sum(best[video] == corpus.captions[video][0] for video in best) >= 5  # of 6; chance is 1


def test_the_judges_rate_falls_to_a_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    run, used = open_run(Path("runs/good"), device="cpu"), []
    epoch = pipeline.captioning.reranker._epoch

    def noted(
        reranker: Reranker, pairs: object, optimizer: torch.optim.Optimizer, *rest: object, **more: object
    ) -> float:
        used.append(optimizer.param_groups[0]["lr"])
        return epoch(reranker, pairs, optimizer, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(pipeline.captioning.reranker, "_epoch", noted)
    settings = RerankerSettings(epochs=3, learning_rate=1.0, drop_every=2, word_size=4, size=8)
    train_reranker(read_corpus(Path("data/captions")), run.vocabulary, run.source, settings=settings, max_words=10)

    assert used == pytest.approx([1.0, 1.0, 0.1])


def test_fusion_takes_the_better_sentence_and_says_whose() -> None:
    corpus = read_corpus(Path("data/captions"))
    right = {video: {"caption": corpus.captions[video][0]} for video in corpus.splits["test"]}
    wrong = {video: {"caption": "a moves the is"} for video in right}
    for run, said in {"good": right, "other": wrong}.items():
        write_sealed_json(Path(f"predictions/{run}.json"), {"run": run, "split": "test", "predictions": said})

    assert main(["fuse", "other", "good", "--quiet", "--epochs", "6"]) == 0

    chosen = read("predictions/other-or-good.json")["predictions"]
    assert [entry["run"] for entry in chosen.values()].count("good") >= 5
    assert all(entry["similarities"].keys() == {"other", "good"} for entry in chosen.values())


@pytest.mark.parametrize(("said", "chosen"), [(("", "a ball"), "b"), (("", ""), "a"), (("a cube", "a ball"), "a")])
def test_a_run_that_said_nothing_is_taken_only_where_all_did(said: tuple[str, str], chosen: str) -> None:
    """No training caption is empty, so that the reranker cannot know what to think of one."""
    reranker = Mock(spec=Reranker, similarities=Mock(return_value=torch.tensor([0.9, 0.1])))
    by_run = {run: {"v": {"caption": caption}} for run, caption in zip("ab", said, strict=True)}

    assert fuse(by_run, reranker)["v"]["run"] == chosen


def write_sentences(*runs: str) -> None:
    captions = read_corpus(Path("data/captions")).captions
    for run in runs:
        said = {video: {"caption": captions[video][0]} for video in ("v30", "v31")}
        write_sealed_json(Path(f"predictions/{run}.json"), {"run": run, "split": "test", "predictions": said})


def test_runs_of_different_vocabularies_can_be_fused() -> None:
    """Sentences are compared, not numbers of words."""
    facts = read("runs/other/run.json")
    words = facts["vocabulary"]
    write_sealed_json(Path("runs/turned/run.json"), facts | {"vocabulary": [*words[:4], *words[:3:-1]]})
    Path("runs/turned/model.safetensors").write_bytes(Path("runs/other/model.safetensors").read_bytes())
    write_sentences("good", "turned")

    assert main(["fuse", "turned", "good", "--quiet", "--epochs", "1"]) == 0


def test_an_ensembles_sentences_are_candidates_too() -> None:
    write_sentences("good+other", "other")

    assert main(["fuse", "good+other", "other", "--quiet", "--epochs", "1"]) == 0
    assert set(read("predictions/good+other-or-other.json")["predictions"]) == {"v30", "v31"}


def test_the_judge_reads_a_few_sentences_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of a large validation split at once need tens of gigabytes."""
    run, corpus = open_run(Path("runs/good"), device="cpu"), read_corpus(Path("data/captions"))
    torch.manual_seed(0)
    reranker = Reranker(
        VideoTextEmbedding(vocabulary=len(run.vocabulary), sizes=run.source.sizes), run.source, run.vocabulary
    )
    at_once, sizes, read_texts = reranker.mean_reciprocal_rank(corpus.references("val")), [], reranker.model.text

    def counted(words: torch.Tensor) -> torch.Tensor:
        sizes.append(len(words))
        return read_texts(words)

    monkeypatch.setattr("pipeline.captioning.reranker.SENTENCES", 5)
    monkeypatch.setattr(reranker.model, "text", counted)

    assert reranker.mean_reciprocal_rank(corpus.references("val")) == pytest.approx(at_once)
    assert sizes == [5, 5, 2]


def test_an_embedding_without_epochs_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "good", "other", "--epochs", "0"]) == 2
    assert "--epochs is 0, allowed: 1 or more" in capsys.readouterr().err


def test_predictions_of_other_videos_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for run, videos in {"good": ["v30", "v31"], "other": ["v30"]}.items():
        said = {video: {"caption": "a red ball moves"} for video in videos}
        write_sealed_json(Path(f"predictions/{run}.json"), {"run": run, "split": "test", "predictions": said})

    assert main(["fuse", "good", "other"]) != 0
    assert "are of different videos" in capsys.readouterr().err


def test_fusion_of_one_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuse", "good", "good"]) == 2
    assert "two runs or more" in capsys.readouterr().err
