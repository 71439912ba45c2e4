"""A scheduler that dies in the middle: the run waits for it, or ends with a next command; nothing is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.core.errors import ClusterError
from tests.cluster.disturbing import Disturbed, cached, undisturbed
from tests.cluster.site import Site
from tests.store.making import extracted, index_of


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site().start()
    yield site
    site.stop()


def test_a_scheduler_that_comes_back(site: Site, clips: Path, tmp_path: Path) -> None:
    index = index_of(clips, tmp_path / "index")
    before: dict[str, int] = {}

    def restart(number: int) -> None:
        if number == 3:
            before.update(cached())
            site.stop()
            site.start()

    summary = extracted(index, tmp_path / "store", executor=Disturbed(site.executor(reconnect=120.0), restart))
    assert before.items() <= cached().items()
    assert summary["videos"] == 12
    undisturbed(index, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("report", [None, Path("page.html")])
def test_a_scheduler_that_does_not_come_back(report: Path | None, site: Site, clips: Path, tmp_path: Path) -> None:
    """Also when a page was asked for, which only that scheduler could have written."""
    settings = {"reconnect": 2.0, "performance_report": report}
    index = index_of(clips, tmp_path / "index")

    def kill(number: int) -> None:
        if number == 3:
            site.kill_scheduler()

    with pytest.raises(ClusterError, match="did not answer within 2 s") as caught:
        extracted(index, tmp_path / "store", executor=Disturbed(site.executor(**settings), kill))
    assert "the same command goes on" in caught.value.hint
    kept = cached()
    assert len(kept) >= 4
    site.stop()
    site.start()
    summary = extracted(index, tmp_path / "store", executor=site.executor())
    assert summary["computed"] == 12 - len(kept)
    assert kept.items() <= cached().items()
    undisturbed(index, tmp_path)
