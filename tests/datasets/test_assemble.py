"""The assemble stage: captions, splits and vocabulary of the videos that the index really has."""

import json

import numpy as np
import pytest

from pipeline.core.console import Console
from pipeline.core.errors import FramescribeError, InputError, TooManyFailedError
from pipeline.core.sealed_file import read_sealed_json
from pipeline.corpus.corpus import read_corpus
from pipeline.corpus.vocabulary import read_vocabulary
from pipeline.datasets import assemble
from pipeline.index.video_index import QuarantineRow, VideoRow, write_index
from pipeline.params.assemble import Assemble
from pipeline.params.dataset import Dataset
from pipeline.store import VideoFeatures, open_store, write_store
from pipeline.store.features import rows_of

CAPTIONS = {
    "red": ("train", ["A red ball rolls.", "the red ball moves"]),
    "blue": ("train", ["a blue ball rolls", "A ball."]),
    "green": ("validate", ["a green ball rolls"]),
    "black": ("test", ["a black cat rolls", "..."]),
}


def write_annotations(folder, captions=CAPTIONS, categories=None):
    sentences = [{"video_id": id_, "caption": text} for id_, (_, texts) in captions.items() for text in texts]
    videos = [{"video_id": id_, "split": split, "slice": f"{id_}ish"} for id_, (split, _) in captions.items()]
    for video in videos if categories else []:
        video["category"] = categories[video["video_id"]]
    path = folder / "annotations.json"
    path.write_text(json.dumps({"videos": videos, "sentences": sentences}))
    return path


def row(id_):
    return VideoRow(
        id=id_, path=f"{id_}.mp4", sha256="0", frames=2, width=8, height=8, fps=2.0, duration=1.0,
        audio="absent", backend="pyav", warnings=(),
    )  # fmt: skip


def write_videos(folder, ids, quarantined=()):
    refused = [QuarantineRow(id=id_, path=f"{id_}.mp4", reason="empty", message="no frames") for id_ in quarantined]
    write_index(folder, [row(id_) for id_ in ids], times={id_: np.array([0, 0.5]) for id_ in ids}, quarantined=refused)


def run(
    folder,
    *,
    videos=tuple(CAPTIONS),
    quarantined=(),
    max_failed=0,
    unmatched="error",
    captions=CAPTIONS,
    categories=None,
    **params,
):
    write_videos(folder / "index", videos, quarantined)
    path = write_annotations(folder, captions, categories)
    return assemble.assemble_captions(
        dataset=Dataset(name="demo", videos="videos", annotations=str(path), unmatched=unmatched),
        index=folder / "index",
        out=folder / "captions",
        categories=folder / "category",
        params=Assemble(**params),
        max_failed=max_failed,
        console=Console(),
    )


def test_writes_captions_vocabulary_and_statistics(tmp_path):
    statistics = run(tmp_path)
    corpus = read_corpus(tmp_path / "captions")
    assert corpus.splits == {"train": ["red", "blue"], "val": ["green"], "test": ["black"]}
    assert corpus.captions["red"] == ["A red ball rolls.", "the red ball moves"]
    assert corpus.slices["green"] == "greenish"
    assert read_sealed_json(tmp_path / "captions/statistics.json", hint="") == statistics


def test_the_vocabulary_knows_training_words_only(tmp_path):
    statistics = run(tmp_path)
    vocabulary = read_vocabulary(tmp_path / "captions/vocabulary.json")
    assert vocabulary.words[4:] == ("ball", "a", "red", "rolls", "blue", "moves", "the")
    assert statistics["vocabulary"] == 11
    assert statistics["splits"]["test"]["known_words"] == 0.5  # a, rolls; not black, cat
    assert statistics["splits"]["test"]["unknown_distinct_words"] == 2


def test_min_count_drops_rare_training_words(tmp_path):
    run(tmp_path, min_count=2)
    assert read_vocabulary(tmp_path / "captions/vocabulary.json").words[4:] == ("ball", "a", "red", "rolls")


def test_statistics_count_captions_and_lengths(tmp_path):
    train = run(tmp_path, max_words=3)["splits"]["train"]
    assert (train["videos"], train["captions"], train["words"], train["longest"]) == (2, 4, 14, 4)
    assert train["mean_length"] == 3.5
    assert train["longer_than_max_words"] == 3


def test_captions_without_a_word_are_left_out(tmp_path):
    run(tmp_path)
    assert read_corpus(tmp_path / "captions").captions["black"] == ["a black cat rolls"]
    with pytest.raises(InputError, match=r"no word .*\(1\): black"):
        run(tmp_path, captions=CAPTIONS | {"black": ("test", ["?!"])})


def test_equal_inputs_give_equal_bytes(tmp_path):
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        run(tmp_path / name)
        written.append({path.name: path.read_bytes() for path in (tmp_path / name / "captions").iterdir()})
    assert written[0] == written[1]
    assert sorted(written[0]) == ["captions.json", "statistics.json", "vocabulary.json"]


def test_a_quarantined_video_is_left_out_as_far_as_max_failed_allows(tmp_path, capsys):
    usable = ["red", "green", "black"]
    with pytest.raises(
        TooManyFailedError, match=r"could not be decoded \(1\): blue; decode.max_failed allows 0"
    ) as caught:
        run(tmp_path, videos=usable, quarantined=["blue"])
    assert caught.value.exit_code == 5
    statistics = run(tmp_path, videos=usable, quarantined=["blue"], max_failed=1)
    assert read_corpus(tmp_path / "captions").splits["train"] == ["red"]
    assert statistics["could_not_be_decoded"] == 1
    assert "could not be decoded (1): blue" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("videos", "message"),
    [
        (["red", "blue", "green"], r"captions without a video \(1\): black"),
        (["red", "blue", "green", "black", "pink"], r"videos without captions \(1\): pink"),
        (["red", "green", "pink", "grey"], r"video \(2\): blue, black; videos without captions \(2\): grey, pink"),
    ],
)
def test_what_does_not_match_is_an_error_that_names_it(tmp_path, videos, message):
    with pytest.raises(InputError, match=message) as caught:
        run(tmp_path, videos=videos)
    assert caught.value.exit_code == 3
    assert "--unmatched ignore" in str(caught.value)
    assert not (tmp_path / "captions").exists()


def test_unmatched_ignore_leaves_them_out_and_says_so(tmp_path, capsys):
    statistics = run(tmp_path, videos=["red", "green", "pink", "grey"], unmatched="ignore")
    corpus = read_corpus(tmp_path / "captions")
    assert sorted(corpus.captions) == sorted(corpus.slices) == ["green", "red"]
    assert (statistics["captions_without_video"], statistics["videos_without_captions"]) == (2, 2)
    assert "captions without video: 2" in capsys.readouterr().out


@pytest.mark.parametrize(("videos", "split"), [(["green"], "train"), (["red"], "val"), (["pink"], "train")])
def test_nothing_to_train_or_validate_with_is_an_error_even_then(tmp_path, videos, split):
    with pytest.raises(InputError, match=f"no {split} video has a file"):
        run(tmp_path, videos=videos, unmatched="ignore")


def test_a_missing_index_names_the_stage_that_makes_it(tmp_path):
    dataset = Dataset(name="demo", videos="videos", annotations=str(write_annotations(tmp_path)))
    with pytest.raises(FramescribeError, match="framescribe decode"):
        assemble.assemble_captions(
            dataset=dataset, index=tmp_path / "no", out=tmp_path / "out", params=Assemble(), console=Console()
        )


def test_msvd_ids_become_the_names_of_the_files(tmp_path):
    (tmp_path / "youtube_mapping.txt").write_text("abc_1_2 vid1\ndef_3_4 vid1201\n")
    (tmp_path / "captions_train.txt").write_text("vid1\ta man\nvid1201\ta dog\n")
    write_videos(tmp_path / "index", ["abc_1_2", "vid1201"])
    dataset = Dataset(name="msvd", videos="videos", annotations=str(tmp_path))
    assemble.assemble_captions(
        dataset=dataset, index=tmp_path / "index", out=tmp_path / "out", params=Assemble(), console=Console(quiet=True)
    )
    corpus = read_corpus(tmp_path / "out")
    assert corpus.splits == {"train": ["abc_1_2"], "val": ["vid1201"], "test": []}
    assert corpus.captions == {"abc_1_2": ["a man"], "vid1201": ["a dog"]}


def test_the_classes_of_the_videos_become_a_store_of_one_hot_rows(tmp_path):
    run(tmp_path, categories={"red": 9, "blue": 10, "green": 2, "black": 10})

    store = open_store(tmp_path / "category")
    assert {id_: store[id_]["label"].tolist() for id_ in store} == {
        "red": [[0, 1, 0]],
        "blue": [[0, 0, 1]],
        "green": [[1, 0, 0]],
        "black": [[0, 0, 1]],
    }
    assert store.fingerprint["classes"] == ["2", "9", "10"]
    assert read_corpus(tmp_path / "captions").categories["red"] == "9"


def test_without_classes_the_store_is_empty_but_there(tmp_path):
    run(tmp_path)

    assert len(open_store(tmp_path / "category")) == 0


def test_features_without_videos_are_enough(tmp_path):
    made = VideoFeatures(tensors={"pool": np.ones((2, 3), np.float32)}, rows=rows_of(2))
    write_store(tmp_path / "store", dict.fromkeys(CAPTIONS, made), fingerprint={})
    statistics = assemble.assemble_captions(
        dataset=Dataset(name="demo", videos="none", annotations=str(write_annotations(tmp_path))),
        index=tmp_path / "no index",
        store=tmp_path / "store",
        out=tmp_path / "captions",
        params=Assemble(),
        console=Console(),
    )
    assert statistics["splits"]["train"]["videos"] == 2
    assert read_corpus(tmp_path / "captions").splits["test"] == ["black"]
