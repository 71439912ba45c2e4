"""`--subset`: a data set that is only partly here, in each data set's own format; and a plain folder of videos."""

import json
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pipeline.cli import main
from pipeline.core.console import Console
from pipeline.core.sealed_file import read_sealed_json
from pipeline.corpus import read_corpus
from pipeline.datasets.annotations import SPLITS
from pipeline.datasets.assemble import assemble_captions
from pipeline.datasets.subset import fill_empty_splits
from pipeline.params import Assemble, Dataset, Subset
from pipeline.params.file import load_params
from tests.datasets.test_assemble import CAPTIONS, write_annotations, write_videos
from tests.papers.tiny_datasets import SENTENCES, WRITERS

IDS = {  # of the training range, and for MSVD, VATEX and M-VAD some of testing, but none of validation
    "msrvtt": [f"video{number}" for number in range(1000, 1024)],
    "msvd": ["vid1", "vid2", "vid3", "vid4", "vid1301", "vid1302"],
    "vatex": [f"tinyVideo-{number}_000001_000011" for number in range(6)],
    "mvad": [f"TINY_MOVIE_DVS{number}" for number in range(6)],
}
KEPT = {"msrvtt": 24, "msvd": 6, "vatex": 2, "mvad": 2}  # the first of them have a file
SPLIT = st.lists(st.integers(0, 10_000), unique=True, max_size=30)


@given(SPLIT, SPLIT, SPLIT, st.sampled_from([0.1, 0.2, 0.4]), st.integers(0, 3))
def test_every_split_is_filled_and_no_video_is_lost_or_taken_to_a_split_that_had_some(train, val, test, share, seed):
    own = {split: [f"{split}{id_}" for id_ in ids] for split, ids in zip(SPLITS, (train, val, test), strict=True)}
    total = sum(map(len, own.values()))
    if total < 3:
        return
    filled = fill_empty_splits(own, Subset(share=share, seed=seed))

    assert sorted(chain(*filled.values())) == sorted(chain(*own.values()))
    assert all(filled.values())
    for split, ids in own.items():
        if ids:
            assert set(filled[split]) <= set(ids)
            assert filled[split] == [id_ for id_ in ids if id_ in set(filled[split])]  # in the data set's own order
        elif split != "train":
            assert len(filled[split]) <= max(1, round(total * share))


def test_the_share_and_the_seed_decide_who_goes_and_one_more_video_moves_few():
    own = {"train": [f"video{number}" for number in range(100)], "val": [], "test": []}
    filled = fill_empty_splits(own, Subset())
    again = fill_empty_splits({**own, "train": [*own["train"], "another"]}, Subset())

    assert {split: len(ids) for split, ids in filled.items()} == {"train": 60, "val": 20, "test": 20}
    assert fill_empty_splits(own, Subset(seed=1)) != filled
    assert fill_empty_splits(own, Subset()) == filled
    assert len(set(filled["train"]) ^ set(again["train"])) <= 3


@pytest.fixture
def data(project, tmp_path):
    def make(name):
        folders = tmp_path / name / "videos", tmp_path / name / "annotations"
        for folder in folders:
            folder.mkdir(parents=True)
        captions = {id_: list(SENTENCES[:2]) for id_ in IDS[name]}
        if name == "msrvtt":
            captions |= {f"video{number}": ["a caption without a video"] for number in (1, 6600, 7100)}
        stems = WRITERS[name](captions, folders[1])
        for stem in stems[: KEPT[name]]:
            (folders[0] / f"{stem}.mp4").touch()
        return [name, "--videos", str(folders[0]), "--annotations", str(folders[1])]

    return make


@pytest.mark.parametrize("name", ["msrvtt", "msvd"])
def test_what_is_refused_names_subset_which_then_works(data, capsys, name):
    """24 of MSR-VTT's videos, none of them of the validation range; six clips of MSVD, none of validation."""
    asked = data(name)
    assert main(["dataset", "use", *asked, "--unmatched", "ignore"]) == 3
    assert "--subset" in capsys.readouterr().err
    assert main(["dataset", "use", *asked, "--subset", "--json"]) == 0
    counts = {split: facts["used"] for split, facts in json.loads(capsys.readouterr().out)["splits"].items()}

    assert counts == ({"train": 14, "val": 5, "test": 5} if name == "msrvtt" else {"train": 4, "val": 1, "test": 1})
    assert load_params().dataset.subset == Subset(share=0.2, seed=0)


@pytest.mark.parametrize("name", ["vatex", "mvad"])
def test_two_videos_are_too_few_for_three_splits(data, capsys, name):
    asked = data(name)
    assert main(["dataset", "use", *asked, "--subset"]) == 3
    assert "2 videos have captions and a file; three are the fewest" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["vatex", "mvad"])
def test_a_third_video_is_enough(data, capsys, name):
    asked = data(name)
    (Path(asked[2]) / f"{IDS[name][4]}.mp4").touch()
    assert main(["dataset", "use", *asked, "--subset", "0.3", "--seed", "7"]) == 0
    told = capsys.readouterr().out

    assert "1 of 3 videos are in another split than the annotations say (share 0.3, seed 7)" in told
    assert load_params().dataset.subset == Subset(share=0.3, seed=7)


@pytest.mark.parametrize("wrong", [["--subset", "0.5"], ["--subset", "0"], ["--subset", "--seed", "-1"]])
def test_a_share_that_leaves_no_training_video_is_a_usage_error(data, wrong):
    assert main(["dataset", "use", *data("msrvtt"), *wrong]) == 2


def test_without_subset_the_section_loses_the_key_again(data, project):
    asked = data("msrvtt")
    main(["dataset", "use", *asked, "--subset"])
    assert main(["dataset", "use", "folder", "--videos", asked[2]]) == 0
    assert load_params().dataset.subset is not None
    captions = {f"clip{number}": ["a", "b"] for number in range(5)}
    folder = project / "own"
    folder.mkdir()
    for id_ in captions:
        (folder / f"{id_}.mp4").touch()
    rows = [{"video_id": id_, "caption": "a dog"} for id_ in captions]
    splits = ["train", "train", "train", "val", "test"]
    videos = [{"video_id": id_, "split": split} for id_, split in zip(captions, splits, strict=True)]
    (project / "own.json").write_text(json.dumps({"videos": videos, "sentences": rows}))
    assert main(["dataset", "use", "demo", "--videos", "own", "--annotations", "own.json"]) == 0
    assert "subset" not in (project / "params.yaml").read_text()


def assembled(tmp_path, *, present, quarantined=(), subset=None, **settings):
    write_videos(tmp_path / "index", present, quarantined)
    dataset = Dataset(
        name="demo", videos="videos", annotations=str(write_annotations(tmp_path)), subset=subset, **settings
    )
    return assemble_captions(
        dataset=dataset,
        index=tmp_path / "index",
        out=tmp_path / "captions",
        params=Assemble(),
        max_failed=1,
        console=Console(),
    )


def test_assemble_records_the_subset_as_data_and_says_so(tmp_path, capsys):
    statistics = assembled(tmp_path, present=["red", "blue", "black"], subset=Subset(seed=3))
    corpus = read_corpus(tmp_path / "captions")

    (moved,) = corpus.moved
    assert corpus.splits["val"] == [moved]
    assert corpus.moved == {moved: "train"}
    assert statistics["subset"] == {"share": 0.2, "seed": 3, "moved": 1}
    assert "1 of 3 videos are in another split" in capsys.readouterr().out


def test_a_video_that_could_not_be_decoded_fills_no_split(tmp_path):
    assembled(tmp_path, present=["red", "blue", "black"], quarantined=["green"], subset=Subset())
    corpus = read_corpus(tmp_path / "captions")

    assert sorted(chain(*corpus.splits.values())) == ["black", "blue", "red"]
    assert corpus.splits["val"]


def test_without_a_subset_nothing_of_it_is_written(tmp_path):
    assembled(tmp_path, present=list(CAPTIONS))

    assert "moved" not in read_sealed_json(tmp_path / "captions/captions.json", hint="")
    assert "subset" not in read_sealed_json(tmp_path / "captions/statistics.json", hint="")
