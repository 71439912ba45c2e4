"""Tests run two at a time on two cores: more threads in each would only stand in each other's way."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
