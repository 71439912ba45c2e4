"""The command line, told about the toy family: `python -m tests.cluster.knowing_toy extract toy ...`."""

from __future__ import annotations

import sys

from pipeline.cli import main
from tests.store.making import add_toy_family

if __name__ == "__main__":
    add_toy_family()
    sys.exit(main())
