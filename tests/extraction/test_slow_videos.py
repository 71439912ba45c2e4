"""A warning where few frames a second make a sampling rule mean another span of time."""

import pytest

from pipeline.extraction.slow_videos import slow_video_warning
from pipeline.params import Sampling
from tests.datasets.test_assemble import row

SLIDES = [row("slides"), row("talk")]  # two frames a second


@pytest.mark.parametrize(
    ("sampling", "effect"),
    [
        ({"every": 5}, "one frame in 2.5 s is taken"),
        ({"window": 16, "stride": 16}, "a window of 16 frames is 8 s of it"),
        ({"every": 2, "window": 16, "stride": 16}, "a window of 16 frames is 16 s of it"),
        ({"fps": 8}, "8 frames a second are asked for: its frames repeat"),
    ],
)
def test_the_warning_says_what_is_taken(sampling, effect):
    told = slow_video_warning("net", Sampling(**sampling), SLIDES)

    assert told == f"net: 2 of 2 videos have fewer than 5 frames a second ('slides' has 2): {effect}"


@pytest.mark.parametrize("sampling", [{"count": 16}, {"hop": 1.0}, {"fps": 1}, {"every": 1}])
def test_rules_that_go_by_time_or_by_number_need_none(sampling):
    assert slow_video_warning("net", Sampling(**sampling), SLIDES) == ""
