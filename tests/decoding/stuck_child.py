"""The decoding child, native trouble included: a file called hangs stays silent until it is let go, one aborts.

One that crawls stays silent as well, and is then read like any other.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pipeline.decoding.child import OPERATIONS, Session, main


def frames(session: Session, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    path = request["path"]
    while ("hangs" in path or "crawls" in path) and not Path(f"{path}.go").exists():
        time.sleep(0.02)
    if "hangs" in path or "aborts" in path:
        os.abort()
    yield from OPERATIONS["frames"](session, request)


if __name__ == "__main__":
    main(OPERATIONS | {"frames": frames})
