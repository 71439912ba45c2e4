"""Votes are counted right, and files that cannot be counted are refused in words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import main
from pipeline.core.console import Console
from pipeline.core.errors import DamageError, InputError, UsageError
from pipeline.core.sealed_file import write_sealed_json
from pipeline.evaluation.ballot import Ballot, VoteKey, draw_ballot, read_key, write_key
from pipeline.evaluation.votes import count_votes, sign_test, wilson

QUIET = Console(quiet=True)
CLIPS = 40


@pytest.fixture
def ballot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ballot:
    monkeypatch.chdir(tmp_path)
    for run, verb in (("swift", "runs"), ("slow", "walks")):
        said = {f"v{n}": {"caption": f"a man {verb} {n}"} for n in range(CLIPS)} | {"alike": {"caption": "a dog"}}
        write_sealed_json(Path(f"predictions/{run}.json"), {"run": run, "split": "test", "predictions": said})
    return draw_ballot("swift", "slow", seed=0)


@pytest.fixture
def key(ballot: Ballot) -> VoteKey:
    made = ballot.key(ballot.pairs[:10])
    write_key(Path("vote.key.json"), made)
    return made


def cast(key: VoteKey, winners: str, *, voter: str = "ann", file: str | None = None, **other: Any) -> Path:
    """A file of votes: f for the first run, s for the second, t for a tie, - for none, in the order of the key."""
    votes = {}
    for winner, (token, pair) in zip(winners, key.pairs.items(), strict=False):
        side = "left" if (winner == "f") == pair.first_is_left else "right"
        if winner != "-":
            votes[token] = "tie" if winner == "t" else side
    path = Path(file or f"{voter}.json")
    write_sealed_json(path, {"ballot": key.ballot, "voter": voter, "votes": votes} | other)
    return path


def counted(*files: Path) -> dict[str, Any]:
    return count_votes(files, key=Path("vote.key.json"), console=QUIET)


def test_a_pair_has_both_sentences_on_sides_that_change(ballot: Ballot) -> None:
    for pair in ballot.pairs:
        first, second = (pair.left, pair.right) if pair.first_is_left else (pair.right, pair.left)
        assert (first, second) == (f"a man runs {pair.video[1:]}", f"a man walks {pair.video[1:]}")

    assert len(ballot.pairs) == CLIPS
    assert ballot.same == 1
    assert 10 < sum(pair.first_is_left for pair in ballot.pairs) < 30
    assert len({pair.token for pair in ballot.pairs}) == CLIPS


def test_the_lot_is_of_the_seed_and_of_the_sentences(ballot: Ballot) -> None:
    assert draw_ballot("swift", "slow", seed=0).pairs == ballot.pairs
    assert draw_ballot("swift", "slow", seed=1).pairs != ballot.pairs

    sides = {pair.video: pair.first_is_left for pair in ballot.pairs}
    said = {f"v{n}": f"a man runs {n}" for n in range(CLIPS)} | {"alike": "a cat"}
    Path("other.json").write_text(json.dumps(said))
    others = {pair.video: pair.first_is_left for pair in draw_ballot("other.json", "slow", seed=0).pairs}
    assert others.pop("alike") in (True, False)
    assert others != sides  # who has the page and the seed, and not all sentences, cannot draw the sides again


def test_one_voter(key: VoteKey) -> None:
    found = counted(cast(key, "sssssssfft"))

    assert found["clips"] == found["voters"]["ann"]
    assert {name: found["clips"][name] for name in ("first", "second", "tie")} == {"first": 2, "second": 7, "tie": 1}
    assert found["clips"]["share"] == pytest.approx(7 / 9)
    assert found["clips"]["interval"] == pytest.approx((0.4526, 0.9368), abs=1e-4)
    assert found["clips"]["p_sign"] == pytest.approx(92 / 512)


def test_several_voters_give_a_clip_to_the_majority(key: VoteKey) -> None:
    found = counted(cast(key, "ffffsssstt"), cast(key, "fffsssss-t", voter="ben"), cast(key, "fssssfff", voter="cem"))

    #          ann      f f f f s s s s t t
    #          ben      f f f s s s s s - t
    #          cem      f s s s s f f f
    assert found["votes"] == {"first": 11, "second": 13, "tie": 3}
    assert {name: found["clips"][name] for name in ("first", "second", "tie")} == {"first": 3, "second": 5, "tie": 2}


def test_intervals_and_the_sign_test_are_those_of_the_books() -> None:
    assert wilson(7, 10) == pytest.approx((0.3968, 0.8922), abs=1e-4)
    assert wilson(0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)
    assert wilson(10, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert sign_test(1, 9) == pytest.approx(0.021484375)
    assert sign_test(5, 5) == 1.0
    assert sign_test(0, 6) == pytest.approx(0.03125)


def test_nothing_is_told_of_too_few(key: VoteKey, capsys: pytest.CaptureFixture[str]) -> None:
    cast(key, "fffff")
    assert main(["compare", "--votes", "ann.json"]) == 0
    assert "5 decided clips can tell nothing" in capsys.readouterr().out

    cast(key, "tttttttttt")
    assert main(["compare", "--votes", "ann.json"]) == 0
    assert "0 decided clips can tell nothing" in capsys.readouterr().out

    cast(key, "ffffff")
    assert main(["compare", "--votes", "ann.json"]) == 0
    assert "can tell nothing" not in capsys.readouterr().out


def test_the_table_and_its_json(key: VoteKey, capsys: pytest.CaptureFixture[str]) -> None:
    cast(key, "ffffsssstt")
    cast(key, "fffsssss-t", voter="ben")
    assert main(["compare", "--votes", "ann.json", "ben.json", "--out", "found.json"]) == 0
    text = capsys.readouterr().out
    assert all(word in text for word in ("swift", "slow", "voter ann", "clips by majority", "on 1 of 41 clips"))

    assert main(["compare", "--votes", "ann.json", "ben.json", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(Path("found.json").read_text())
    assert found["runs"] == ["swift", "slow"]
    assert (found["asked"], found["differ"], found["same"]) == (10, CLIPS, 1)


def test_the_same_votes_twice_count_once_and_are_told(key: VoteKey, capsys: pytest.CaptureFixture[str]) -> None:
    cast(key, "ffff")
    cast(key, "ffff", file="again.json")

    assert main(["compare", "--votes", "ann.json", "again.json"]) == 0
    assert "again.json has the same votes of the same voter as ann.json: counted once" in capsys.readouterr().out
    found = counted(Path("ann.json"), Path("again.json"))
    assert found["votes"] == {"first": 4, "second": 0, "tie": 0}
    assert found["counted_once"] == ["again.json"]


def test_other_votes_of_the_same_voter_are_refused(key: VoteKey) -> None:
    with pytest.raises(InputError, match=r"ann\.json and later\.json are of the same voter and differ"):
        counted(cast(key, "ffff"), cast(key, "ffffs", file="later.json"))


def test_an_edited_file_is_refused(key: VoteKey) -> None:
    path = cast(key, "ffff")
    path.write_text(path.read_text().replace('"left"', '"right"', 1).replace('"tie"', '"left"', 1))
    with pytest.raises(DamageError, match=r"ann\.json is damaged: its checksum does not fit"):
        counted(path)

    write_key(Path("vote.key.json"), key)
    text = Path("vote.key.json").read_text()
    Path("vote.key.json").write_text(text.replace('"swift"', '"swifter"'))
    with pytest.raises(DamageError, match=r"vote\.key\.json is damaged"):
        read_key(Path("vote.key.json"))


def test_a_foreign_file_is_refused(key: VoteKey) -> None:
    Path("plain.json").write_text("{}")
    with pytest.raises(DamageError, match=r"plain\.json has no checksum"):
        counted(Path("plain.json"))
    with pytest.raises(InputError, match=r"swift\.json holds no votes: 'ballot'"):
        counted(Path("predictions/swift.json"))
    with pytest.raises(InputError, match=r"swift\.json is no key of a vote page"):
        read_key(Path("predictions/swift.json"))
    with pytest.raises(InputError, match="does not exist"):
        counted(Path("nowhere.json"))
    with pytest.raises(InputError, match=r"'votes\.x'"):
        counted(cast(key, "f", votes={"x": "both"}))


def test_votes_of_another_page_are_refused(key: VoteKey) -> None:
    with pytest.raises(InputError, match=f"has votes of the page other, and vote.key.json is the key of {key.ballot}"):
        counted(cast(key, "ffff", ballot="other"))
    with pytest.raises(InputError, match="votes on pairs that the page never asked: x"):
        counted(cast(key, "ffff", votes={"x": "tie"}))
    with pytest.raises(InputError, match="has no vote in it"):
        counted(cast(key, ""))


def test_runs_that_cannot_be_voted_on(ballot: Ballot) -> None:
    with pytest.raises(UsageError, match="'swift' twice"):
        draw_ballot("swift", "swift", seed=0)
    Path("short.json").write_text(json.dumps({"v1": "a man"}))
    with pytest.raises(InputError, match="different videos: alike, v0"):
        draw_ballot("swift", "short.json", seed=0)
    with pytest.raises(InputError, match="does not exist"):
        draw_ballot("swift", "missing", seed=0)
    said = {f"v{n}": f"A man  runs {n}." for n in range(CLIPS)} | {"alike": "a dog"}
    Path("same.json").write_text(json.dumps(said))
    with pytest.raises(InputError, match="say the same about all 41 videos"):
        draw_ballot("swift", "same.json", seed=0)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["swift"], "two runs are compared; name both"),
        ([], "two runs are compared; name both"),
        (["swift", "slow", "--votes", "a.json"], "--votes stands alone"),
        (["swift", "slow", "--vote-page", "p.html", "--clips", "0"], "--clips must be 1 or more, got 0"),
    ],
)
def test_usage(ballot: Ballot, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", *arguments]) == 2
    assert told in capsys.readouterr().err
