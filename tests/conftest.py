"""Tests run two at a time on two cores: more threads in each would only stand in each other's way."""

import os

from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("framescribe", deadline=None)  # no test asserts a time
settings.load_profile("framescribe")
