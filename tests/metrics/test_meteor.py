"""METEOR 1.5 over stdio: its numbers, and what happens when its process does not behave."""

from __future__ import annotations

import os
import signal
from contextlib import nullcontext

import pytest

from pipeline.core.errors import MissingToolError
from pipeline.evaluation.scorer import CaptionScorer
from pipeline.evaluation.toolkit import MetricSettings, Toolkit
from pipeline.metrics import jars
from pipeline.metrics.java import JavaError, JavaRuntime
from pipeline.metrics.meteor import WORTH, Meteor, meteor_process, processes_worth
from pipeline.training.rewards import Rewards

from .conftest import GOLDEN_HYPOTHESES, GOLDEN_REFERENCES, FakeJava, patience

STATISTICS = " ".join(["1.0"] * 23)


def test_identical_synonymous_and_unrelated_sentences(meteor: Meteor) -> None:
    references = {"same": ["a man plays a guitar"], "near": ["a man is cooking"], "far": ["two dogs run"]}
    hypotheses = {"same": "a man plays a guitar", "near": "a guy cooks", "far": "nothing"}

    _, each = meteor.score(hypotheses, references)

    assert each["same"] == pytest.approx(1.0)
    assert 0.1 < each["near"] < 0.9  # stems and synonyms count, though only one word is equal
    assert each["far"] == 0.0


def test_the_corpus_score_comes_from_summed_statistics_not_from_the_mean(meteor: Meteor) -> None:
    corpus, each = meteor.score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES)

    # Figures of pycocoevalcap's own wrapper around the same jar.
    assert corpus == pytest.approx(0.5207308356, abs=1e-6)
    assert list(each.values()) == pytest.approx([1.0, 0.95, 0.2369623145], abs=1e-6)


def test_counts_made_apart_can_be_put_together(meteor: Meteor) -> None:
    pairs = [(GOLDEN_HYPOTHESES[video], GOLDEN_REFERENCES[video]) for video in GOLDEN_HYPOTHESES]
    apart = [meteor.statistics([pair])[0] for pair in pairs]

    assert meteor.evaluate(apart) == meteor.evaluate(meteor.statistics(pairs))


def test_meteors_score_follows_from_its_counts(meteor: Meteor) -> None:
    """Its own aggregation, of sentences that match wholly, partly, by stem, by synonym, and not at all."""
    hypotheses = GOLDEN_HYPOTHESES | {"4": "", "5": "a guy cooks", "6": "dog", "7": "a dog", "8": "zzz yyy"}
    references = GOLDEN_REFERENCES | {"4": ["a dog"], "5": ["a man is cooking"], "6": ["the dogs"], "7": ["a dog"]}
    corpus = (hypotheses, references | {"8": ["two birds fly over the sea", "birds"]})
    scores = CaptionScorer(corpus[1], tools=Toolkit(MetricSettings(), None, meteor, None)).score(corpus[0])
    statistics = scores.statistics
    _, each = meteor.score(*corpus)

    assert statistics.corpus_scores() == pytest.approx(scores.corpus, abs=1e-9)
    for video in hypotheses:
        assert statistics.subset([video]).corpus_scores()["METEOR"] == pytest.approx(each[video], abs=1e-9)


def test_empty_sentences_separators_and_unicode_stay_in_step(meteor: Meteor) -> None:
    hypotheses = {"empty": "", "bars": "a ||| dog\nruns", "unicode": "un café naïve 日本語", "last": "a dog"}
    references = {
        "empty": ["a dog"],
        "bars": ["a dog runs", ""],
        "unicode": ["un café naïve 日本語"],
        "last": ["a dog"],
    }

    _, each = meteor.score(hypotheses, references)

    assert each == pytest.approx({"empty": 0.0, "bars": 1.0, "unicode": 1.0, "last": 1.0})


def test_killed_in_the_middle(java: JavaRuntime) -> None:
    with meteor_process(java=java) as meteor:
        meteor.processes[0].ask(["SCORE ||| a dog ||| a dog"])
        os.killpg(meteor.processes[0].pid, signal.SIGKILL)
        with pytest.raises(JavaError, match="METEOR was killed by SIGKILL before it had answered"):
            meteor.score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("sleep 600", "METEOR did not answer within 1 s"),
        (f"read line; echo '{STATISTICS}'; sleep 600", "METEOR did not answer within 1 s"),
        (f"read line; echo '{STATISTICS}'; kill -9 $$", "METEOR was killed by SIGKILL before"),
        ("echo 'Error: no such class' >&2; exit 1", "METEOR ended with code 1 before.*no such class"),
        ("yes Hello", "METEOR printed 'Hello' where 23 numbers were due"),
        (f"yes '{STATISTICS}'", "METEOR printed '1.0 1.0.*where 1 numbers were due"),
        ("yes '1,0 2,0'", "METEOR printed '1,0 2,0' where"),
    ],
    ids=["sleeps", "sleeps later", "dies later", "fails", "rubbish", "rubbish later", "decimal commas"],
)
def test_a_process_that_misbehaves_is_named_and_gone(fake_java: FakeJava, script: str, message: str) -> None:
    with (
        meteor_process(java=fake_java(script), timeout=patience(script)) as meteor,
        pytest.raises(JavaError, match=message),
    ):
        meteor.score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES)


def test_a_runtime_that_vanished(fake_java: FakeJava) -> None:
    java = fake_java("")
    java.path.unlink()

    with pytest.raises(JavaError, match="METEOR cannot be started: No such file"), meteor_process(java=java):
        pass


def test_a_missing_jar_names_the_package_that_has_it(monkeypatch: pytest.MonkeyPatch, java: JavaRuntime) -> None:
    monkeypatch.setattr(jars.importlib.util, "find_spec", lambda _: None)

    with (
        pytest.raises(MissingToolError, match=r"meteor-1.5.jar of the pycocoevalcap package is absent"),
        meteor_process(java=java),
    ):
        pass


def test_as_a_reward_it_is_the_segment_score(meteor: Meteor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.metrics.meteor.meteor_process", lambda **_: nullcontext(meteor))
    _, expected = meteor.score(GOLDEN_HYPOTHESES, GOLDEN_REFERENCES)

    with Rewards(GOLDEN_REFERENCES, {"meteor": 2.0}) as rewards:
        found = rewards([*GOLDEN_HYPOTHESES, "1"], [*GOLDEN_HYPOTHESES.values(), ""])

    assert found.tolist() == pytest.approx([*(2 * score for score in expected.values()), 0.0])


ECHO = """while IFS= read -r line; do
case $line in
  SCORE*) set -- ${line##*||| }; echo "$1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23" ;;
  EVAL*) echo "$line" | tr '|' '\\n' | grep -o '^ [0-9]*' | tr -d ' '; echo 0.5 ;;
esac
done"""


def test_several_processes_answer_in_the_order_of_the_videos(fake_java: FakeJava) -> None:
    hypotheses = {f"v{n}": str(n) for n in range(11)}
    references = {video: ["one", "two"] for video in hypotheses}

    with meteor_process(java=fake_java(ECHO), processes=3, timeout=120.0) as meteor:
        assert len({process.pid for process in meteor.processes}) == 3
        corpus, each = meteor.score(hypotheses, references)

    assert (corpus, each) == (0.5, {f"v{n}": n for n in range(11)})


def test_when_one_of_several_dies_the_others_are_not_waited_for(fake_java: FakeJava) -> None:
    script = "read line; case $line in *first*) exit 3 ;; esac; sleep 600"
    hypotheses = {"1": "first", "2": "second", "3": "third"}

    with (
        meteor_process(java=fake_java(script), processes=3, timeout=500.0) as meteor,
        pytest.raises(JavaError, match="METEOR ended with code 3"),
    ):
        meteor.score(hypotheses, {video: ["a dog"] for video in hypotheses})


def test_processes_are_added_when_there_is_enough_to_count() -> None:
    assert [processes_worth(count, cores=4) for count in (0, 3 * 20, WORTH, 3 * WORTH, 99 * WORTH)] == [1, 1, 1, 3, 4]
    assert processes_worth(99 * WORTH, cores=1) == 1


@pytest.mark.slow
def test_the_corpus_score_does_not_depend_on_the_number_of_processes(java: JavaRuntime, meteor: Meteor) -> None:
    names = ("man", "woman", "dog", "cat", "child")
    hypotheses = {str(n): f"a {names[n % 5]} is {names[n % 3]} number {n % 7}" for n in range(200)}
    references = {v: [f"the {names[int(v) % 4]} runs", f"a {names[int(v) % 5]} was walking"] for v in hypotheses}

    with meteor_process(java=java, processes=3) as several:
        found = several.score(hypotheses, references)

    assert found == meteor.score(hypotheses, references)
