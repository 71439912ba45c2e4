"""Clips as jobs, asked over HTTP: the sentence of the command, reasons, cancelling, and what is refused."""

from __future__ import annotations

import json
import os
import re
import socket
import time
from functools import partial
from pathlib import Path
from urllib.parse import quote

import pytest

from pipeline.cli import main
from pipeline.core import REASONS
from pipeline.live.advice import advice
from tests import clips
from tests.live.serving import Served, begun_and_held, descendants, uploaded, waited
from tests.live.trained import RUNS

pytestmark = pytest.mark.slow

text = partial(json.dumps, sort_keys=True)


def test_the_sentence_and_the_attention_are_those_of_the_command(
    captioning: Served, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte, of a clip that nobody has seen before, with a cache of its own."""
    monkeypatch.chdir(trained)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "other"))
    clip = clips.write_clip(tmp_path / "clip.mp4", frames=25)
    address = uploaded(captioning, clip.read_bytes(), runs=RUNS)
    facts = waited(captioning, address)
    assert facts["state"] == "done", facts
    for run in RUNS:
        written = ["--out", f"{tmp_path}/{run}.json", "--html", f"{tmp_path}/{run}.html"]
        assert main(["caption", str(clip), "--run", run, *written, "--profile", "one.yaml", "--quiet"]) == 0

    shown = captioning.ask(f"{address}/result").json()["shown"]["videos"][0]
    for number, run in enumerate(RUNS):
        assert captioning.ask(f"{address}/predictions/{run}").body == (tmp_path / f"{run}.json").read_bytes()
        inside = re.search(r'id="inside">(.*?)</script>', (tmp_path / f"{run}.html").read_text(), re.DOTALL)[1]
        theirs = json.loads(inside)["videos"][0]
        said, looks = (
            [each | {"run": 0} for each in some if each["run"] == number]
            for some in (shown["said"], shown["detail"]["looks"])
        )
        assert text(said) == text(theirs["said"])
        assert text(looks) == text(theirs["detail"]["looks"])
        assert text(shown["detail"]["film"]) == text(theirs["detail"]["film"])
    assert any(look["run"] == 0 and look["time"] for look in shown["detail"]["looks"])


def test_a_consensus_is_that_of_the_command(
    captioning: Served, trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a video of the project, by its id; and the first of the other sentences is the one that was chosen."""
    monkeypatch.chdir(trained)
    monkeypatch.setenv("FRAMESCRIBE_CACHE", str(tmp_path / "other"))
    before = Path("params.yaml").read_text()
    Path("params.yaml").write_text(json.dumps(json.loads(before) | {"caption": {"search": "consensus", "samples": 12}}))
    try:
        asked = json.dumps({"video": "green", "runs": RUNS}).encode()
        address = captioning.ask("/caption/jobs", method="POST", body=asked).json()["address"]
        assert waited(captioning, address)["state"] == "done"
        for run in RUNS:
            written = ["--out", f"{tmp_path}/{run}.json", "--profile", "one.yaml", "--quiet"]
            assert main(["caption", "videos/green.mp4", "--run", run, *written]) == 0
    finally:
        Path("params.yaml").write_text(before)

    others = captioning.ask(f"{address}/result").json()["others"]
    for run in RUNS:
        told = captioning.ask(f"{address}/predictions/{run}")
        assert told.body == (tmp_path / f"{run}.json").read_bytes()
        assert others[run]["consensus"][0]["caption"] == told.json()["predictions"]["green"]["caption"]


def test_stages_tell_what_was_done_and_for_how_long(captioning: Served, tmp_path: Path) -> None:
    clip = clips.write_clip(tmp_path / "clip.mp4", frames=26).read_bytes()
    names = ["start", "decode", "extract", "search", "pictures"]

    new, known = (waited(captioning, uploaded(captioning, clip)) for _ in range(2))

    assert [stage["name"] for stage in new["stages"]] == names
    assert {stage["state"] for stage in new["stages"]} == {"done"}
    assert all(stage["seconds"] >= 0 for stage in new["stages"])
    assert [new["stages"][2][name] for name in ("of", "done", "total")] == ["toy", 3, 3]
    assert known["stages"][2]["state"] == "kept"


def test_what_else_might_have_been_said(captioning: Served, trained: Path) -> None:
    address = uploaded(captioning, (trained / "videos/red.mp4").read_bytes())
    waited(captioning, address)
    result = captioning.ask(f"{address}/result").json()
    beams, consensus = (result["others"]["first"][name] for name in ("beams", "consensus"))
    said = result["shown"]["videos"][0]["said"][0]

    assert beams[0]["caption"].split() == said["words"]
    assert beams[0]["log_prob"] == pytest.approx(said["log_prob"], abs=1e-3)
    assert [each["log_prob"] for each in beams] == sorted((each["log_prob"] for each in beams), reverse=True)
    assert [each["agreement"] for each in consensus] == sorted((each["agreement"] for each in consensus), reverse=True)
    assert sum(each["times"] for each in consensus) == 40


def test_of_a_clip_that_is_not_whole_is_told_what_is_lost(captioning: Served, tmp_path: Path) -> None:
    """As the command does: half of a file whose table of contents is at its beginning."""
    whole = clips.write_clip(tmp_path / "clip.mp4", frames=40, container_options={"movflags": "faststart"}).read_bytes()
    told = []
    for data in (whole, whole[: len(whole) * 2 // 3]):
        address = uploaded(captioning, data)
        assert waited(captioning, address)["state"] == "done"
        told.append(captioning.ask(f"{address}/result").json()["warnings"])

    assert told[0] == []
    assert any("could not be decoded" in each for each in told[1])


@pytest.mark.parametrize(
    ("data", "reason"), [(b"", "empty"), (b"<html>not a video</html>", "not-a-video"), (b"#EXTM3U\n/etc/passwd\n", "")]
)
def test_a_bad_file_has_its_reason(captioning: Served, data: bytes, reason: str) -> None:
    facts = waited(captioning, uploaded(captioning, data))

    assert facts["state"] == "failed"
    assert facts["problem"]["reason"] == (reason or "not-a-video")
    assert facts["problem"]["advice"]
    assert facts["problem"]["meaning"]
    assert "clip.mp4" in facts["problem"]["message"]
    assert "/clips/" not in facts["problem"]["message"]  # where it lies is our own business


def test_every_reason_has_a_next_step() -> None:
    assert {reason: advice(reason)["advice"] for reason in REASONS if not advice(reason)["advice"]} == {}


def test_a_bomb_is_refused(captioning: Served, tmp_path: Path) -> None:
    """A few kilobytes that say they are pictures of 400 megapixels."""
    bomb = clips.write_clip(
        tmp_path / "bomb.mov", codec="png", pix_fmt="rgb24", width=4100, height=4100, frames=1
    ).read_bytes()

    facts = waited(captioning, uploaded(captioning, bomb))

    assert facts["problem"]["reason"] == "too-large"


def test_a_video_of_the_project_is_chosen_by_its_id(captioning: Served) -> None:
    found = captioning.ask("/caption/videos?words=RE").json()["videos"]
    asked = json.dumps({"video": "red", "runs": ["first"]}).encode()
    address = captioning.ask("/caption/jobs", method="POST", body=asked).json()["address"]

    assert found == ["red", "green"]
    assert waited(captioning, address)["state"] == "done"
    ranged = captioning.ask(f"{address}/video", headers={"Range": "bytes=4-7"})
    assert (ranged.status, ranged.body, ranged.headers["content-type"]) == (206, b"ftyp", "video/mp4")


@pytest.mark.parametrize("video", ["../../etc/passwd", "/etc/passwd", "videos/red.mp4", "<b>", ""])
def test_no_path_is_taken_for_an_id(captioning: Served, video: str) -> None:
    asked = json.dumps({"video": video, "runs": ["first"]}).encode()
    answer = captioning.ask("/caption/jobs", method="POST", body=asked)

    assert answer.status == 400
    assert "no video" in answer.json()["error"]


@pytest.mark.parametrize(
    "path",
    ["/caption/jobs/x", "/caption/jobs/../state", "/caption/jobs/%2e%2e/result", "/caption/jobs/..%2f..%2f/video"],
)
def test_only_jobs_are_jobs(captioning: Served, path: str) -> None:
    assert captioning.ask(path).status == 404


@pytest.mark.parametrize("runs", ["", "run=nosuch", "run=../first", "run=first&run=%2e%2e"])
def test_only_runs_are_runs(captioning: Served, runs: str) -> None:
    answer = captioning.ask(f"/caption/uploads?name=x&{runs}", method="PUT", body=b"x")

    assert answer.status == 400
    assert "first, second" in answer.json()["hint"]


def test_a_name_is_text_and_nothing_else(captioning: Served) -> None:
    """It is shown, and is no part of any path."""
    name = '"><script>alert(1)</script>/../../x\n.mp4'
    address = uploaded(captioning, b"", name=name)
    page = captioning.ask(address, headers={"Accept": "text/html"}).body.decode()

    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert waited(captioning, address)["title"].startswith('"><script>')


def test_a_huge_upload_is_refused_by_its_word(captioning: Served) -> None:
    with _started(captioning, length=10**15) as connection:
        assert b" 413 " in connection.recv(4000)


def test_an_upload_that_stops_is_given_up(captioning: Served, trained: Path) -> None:
    """Nothing of it stays, and meanwhile others are served."""
    before = clips_in(trained)
    with _started(captioning, length=1000) as connection:
        connection.sendall(b"some")
        assert captioning.ask("/caption").status == 200
    last = time.monotonic() + 30
    while clips_in(trained) - before and time.monotonic() < last:
        time.sleep(0.05)
    assert clips_in(trained) - before == set()


def clips_in(project: Path) -> set[str]:
    """`os.walk` does not mind a folder that goes while it is looked at."""
    return {folder for folder, _, files in os.walk(project / "cache/live") if "clip" in files}


def test_silent_clients_do_not_stall_others(captioning: Served) -> None:
    """Hundreds that send half a request line and wait."""
    host, port = captioning.host.split(":")
    silent = [socket.create_connection((host, int(port))) for _ in range(400)]
    for each in silent:
        each.sendall(b"GET / HT")
    try:
        assert captioning.ask("/caption").status == 200
    finally:
        for each in silent:
            each.close()


def _started(served: Served, *, length: int) -> socket.socket:
    """An upload whose headers are sent, and nothing more."""
    host, port = served.host.split(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    lines = [
        f"PUT /caption/uploads?run=first&name={quote('x')} HTTP/1.1",
        f"Host: {served.host}",
        f"Origin: {served.address}",
        f"Cookie: {served.cookie}",
        f"Content-Length: {length}",
    ]
    connection.sendall("\r\n".join([*lines, "", ""]).encode())
    return connection


def test_one_computes_a_bounded_number_waits_and_cancelling_frees_everything(
    captioning: Served, tmp_path: Path
) -> None:
    """The last test of this file: the process that has all libraries loaded is killed in it."""
    server = captioning.process.pid
    clip = clips.write_clip(tmp_path / "clip.mp4").read_bytes()
    first, _ = begun_and_held(captioning, lambda: uploaded(captioning, clip))
    addresses = [first, *(uploaded(captioning, b"") for _ in range(20))]
    waited(captioning, addresses[0], until=("running",))
    states = [captioning.ask(f"{each}/state").json() for each in addresses]
    refused = captioning.ask("/caption/uploads?run=first", method="PUT", body=b"x")
    started = descendants(server)
    ended = [captioning.ask(f"{each}/cancel", method="POST").json()["state"] for each in reversed(addresses)]

    assert [each["state"] for each in states] == ["running"] + ["waiting"] * 20
    assert [each["ahead"] for each in states] == list(range(21))
    assert refused.status == 400
    assert "waiting already" in refused.json()["error"]
    assert started
    assert set(ended) == {"cancelled"}
    last = time.monotonic() + 30
    while descendants(server) and time.monotonic() < last:
        time.sleep(0.05)
    assert descendants(server) == set()
    assert captioning.ask(f"{addresses[0]}/video").status == 404
    assert waited(captioning, uploaded(captioning, b""))["state"] == "failed"  # the next one is worked on
