"""Every command in the pages' code blocks is run, page by page, in a small project as `make demo` leaves one.

What stands for something of the reader's own is filled in; what is not run is listed with the reason.
"""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision.models import get_model

from tests.clips import write_clip
from tests.doc_blocks import PAGES, ROOT, Command, script, shell_commands
from tests.project_copy import Repository, copy_project
from tests.test_graph import PARAMS as SMALL

NOT_RUN = {
    r"make (demo|test)$": "minutes: the project here is what the first leaves of fewer clips, the second runs this",
    r"make setup": "these tests run in what it makes",
    r"weights fetch": "asks a package registry or a hub; tests/weights has one of its own",
    r"docker |^sbatch |docker compose|FRAMESCRIBE_IMAGE": "a container engine or a batch system; tests/containers",
    r"--profile (gpu-node|slurm)|FRAMESCRIBE_PROFILE=slurm": "GPUs or a batch system; tests/cluster has a made one",
    r"^dask ": "they stay until they are stopped, on a cluster's addresses; tests/cluster starts them",
    r"s3://|AWS_|FRAMESCRIBE_CACHE|--profile scheduler|^pip ": "an object store; tests/remote has one on this machine",
    r"experiments\.(mechanisms|seeds|folds) ": "hours",
    r"^framescribe serve": "it stays until it is stopped; tests/live starts it",
    r"experiments/language/msvd|vgg16|^framescribe train soft_attention &&": "MSVD; journeys/test_own_features.py",
    r"vatex_released": "a run on features of others; journeys/test_own_features.py",
    r"compare --votes": "what two people said; tests/evaluation/test_votes.py",
    r"weights import (c3d|transformers:mine)": "files of hundreds of megabytes; tests/weights",
    r"^framescribe extractors add transformers:|extractors add yolo": "weights that are fetched before",
}
FILLED_IN = {
    "EXTRACTOR": "mobilenet_v2",
    "FOLDER": "checks",
    "resnet152": "mobilenet_v2",
    "my_resnet50 FILE --network timm:resnet50": "my_own mine.pth --network torchvision:squeezenet1_1",
    "my_resnet50 best.pth --network timm:resnet50": "my_other mine.pth --network torchvision:squeezenet1_1",
    "my_resnet50": "my_other",
    "~/msrvtt/videos --annotations ~/msrvtt/annotation": "videos --annotations annotations.json --split file",
    "DIR --annotations PATH": "data/demo/videos --annotations data/demo/annotations.json",
    "vatex_temporal_rl": "mean_pool",
    "vatex_spatial_rl": "soft_attention",
    "dualafr_soft dualafr_soft_1 ... dualafr_soft_9": "soft_attention all_senses",
    "dualafr_soft": "soft_attention",
    "compare A B": "compare mean_pool soft_attention",
}
SLOTS = dict.fromkeys(("appearance", "motion", "regions", "sound", "label"), "none")
RUN = {
    "start_from": "none",
    "word_vectors": "weights/words/none.txt",
    "options": {"hidden_size": 8, "word_size": 4},
    "epochs": 1,
}
FRAMES = {"family": "frames", "network": "squeezenet1_1", "outputs": ["pool"]}
EXTRACTORS: dict[str, Any] = {
    "mobilenet_v2": FRAMES | {"weights": "mine", "sampling": {"count": 2}},
    "i3d_rgb": FRAMES | {"weights": "random", "sampling": {"count": 1}},
    "mine": FRAMES | {"weights": "mine", "sampling": {"count": 3}},
}


def run_of(model: str, **features: str) -> dict[str, Any]:
    return RUN | {"model": model, "features": SLOTS | features}


RUNS = {
    "mean_pool": run_of("mean_pool", appearance="mobilenet_v2"),
    "soft_attention": run_of("soft_attention", appearance="mobilenet_v2"),
    "all_senses": run_of("soft_attention", appearance="mobilenet_v2", motion="i3d_rgb"),
    "own": run_of("mean_pool", appearance="mine"),
}
CLIPS = ("tv_basketball.mp4", "tv_R6llTwEh07w.mp4", "decord_flipping_a_pancake.mkv", "d.mp4", "e.mp4")
ELSEWHERE = {  # pages with tests of their own, for what they need is another project
    "working-together.md": "journeys/test_own_clips_shared.py",
}
PAGES_WITH_COMMANDS = [page for page in PAGES if shell_commands(page) and page.name not in ELSEWHERE]


def reason_not_to_run(command: Command) -> str:
    return next((reason for pattern, reason in NOT_RUN.items() if re.search(pattern, command.text)), "")


def filled_in(command: Command) -> Command:
    text = command.text
    for mine, here in FILLED_IN.items():
        text = text.replace(mine, here)
    return command._replace(text=text)


def test_every_reason_is_of_a_command_that_is_there_and_most_commands_run() -> None:
    commands = [command for page in PAGES_WITH_COMMANDS for command in shell_commands(page)]
    run = [command for command in commands if not reason_not_to_run(command)]

    assert [pattern for pattern in NOT_RUN if not any(re.search(pattern, each.text) for each in commands)] == []
    assert [mine for mine in FILLED_IN if not any(mine in each.text for each in commands)] == []
    assert len(run) > 60
    assert sum(each.refused for each in run) == 1
    assert {name for each in run for name in re.findall(r"\bclips/(\S+)", each.text)} <= set(CLIPS)
    assert all((ROOT / "tests" / test).is_file() for test in ELSEWHERE.values())


def test_the_script_stops_at_what_fails_and_at_what_does_not_fail_as_it_is_shown(tmp_path: Path) -> None:
    here = Repository(tmp_path)
    fails, passes = Command("false"), Command("true")

    assert here.start("bash", "-c", script([passes, fails._replace(refused=True)])).wait() == 0
    assert here.start("bash", "-c", script([fails, passes])).wait() == 1
    assert here.start("bash", "-c", script([passes._replace(refused=True)])).wait() == 99
    assert here.start("bash", "-c", script([Command("false | true")])).wait() == 1


@pytest.fixture(scope="module")
def author(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The graph has run; clips, files and an earlier commit are there for the pages to speak of."""
    folder = tmp_path_factory.mktemp("blocks")
    author = Repository(folder)
    copy_project(folder)
    author.write_params(SMALL | {"extract": EXTRACTORS, "train": RUNS})
    torch.manual_seed(0)
    torch.save(get_model("squeezenet1_1", weights=None).state_dict(), folder / "mine.pth")
    author.run("framescribe", "weights", "import", "mine", "mine.pth", "--network", "torchvision:squeezenet1_1")
    author.run("framescribe", "demo-data", "--clips", "12", "--quiet")
    author.run("git", "checkout", "--quiet", "-b", "main")
    author.run("git", "config", "user.name", "test")
    author.run("git", "config", "user.email", "test@example.org")
    author.commit()
    author.repro()
    write_what_pages_speak_of(folder)
    author.commit()
    author.run("git", "branch", "my-branch")
    return folder


def write_what_pages_speak_of(folder: Path) -> None:
    for name in ("clip", "my_clip", "more/b", "videos/a", "videos/b"):
        (folder / name).parent.mkdir(exist_ok=True)
        write_clip(folder / f"{name}.mp4", frames=12)
    (folder / "clips").mkdir()
    rows = ["video,caption"]
    for number, name in enumerate(CLIPS):
        write_clip(folder / "clips" / name, frames=12 + number)
        rows += [f"{name},a pattern moves {number % 3} times"]
    (folder / "captions.csv").write_text("\n".join([*rows, ""]))
    videos = [{"video_id": id_, "split": split} for id_, split in (("a", "train"), ("b", "val"))]
    sentences = [{"video_id": id_, "caption": f"clip {id_} moves"} for id_ in "ab"]
    (folder / "annotations.json").write_text(json.dumps({"videos": videos, "sentences": sentences}))
    said = json.loads((folder / "predictions/mean_pool.json").read_text())["predictions"]
    (folder / "said.json").write_text(json.dumps({id_: each["caption"] for id_, each in said.items()}))
    whole = json.loads((folder / "data/demo/annotations.json").read_text())
    part = {key: [each for each in whole[key] if each["video_id"] in said] for key in ("videos", "sentences")}
    with zipfile.ZipFile(folder / "test_videodatainfo.json.zip", "w") as archive:
        archive.writestr("test_videodatainfo.json", json.dumps(part))
    (folder / "my-cluster.yaml").write_text((ROOT / "tests/one_worker.yaml").read_text())
    (folder / "released").mkdir()
    for path in (folder / "data/demo/videos").iterdir():
        np.save(folder / f"released/{path.stem}.npy", np.zeros((3, 8), np.float32))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", PAGES_WITH_COMMANDS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_commands_of_a_page_run(page: Path, author: Path, tmp_path: Path) -> None:
    commands = [filled_in(command) for command in shell_commands(page) if not reason_not_to_run(command)]
    if not commands:
        pytest.skip("all its commands need what the reasons say")
    shutil.copytree(author, tmp_path / "author", symlinks=True)
    process = Repository(tmp_path / "author").start("bash", "-c", script(commands))
    said, told = process.communicate()

    assert process.returncode == 0, f"{said[-3000:]}\n{told[-3000:]}"
