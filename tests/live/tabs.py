"""The caption page in a tab of a real browser; a test fails when it complains or asks for anything from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browsers import patient
from tests.live.serving import Served

DONE = "html[data-ready=done]"


def entered_state(browser: Any, server: Served) -> dict[str, Any]:
    """What the browser keeps after the link was opened once."""
    context = patient(browser.new_context())
    tab = context.new_page()
    tab.goto(server.link)
    tab.wait_for_url("**/caption")
    state = context.storage_state()
    context.close()
    return dict(state)


class Tab:
    def __init__(self, browser: Any, server: Served, entered: dict[str, Any], **options: Any) -> None:
        self.context = patient(
            browser.new_context(storage_state=entered, **{"viewport": {"width": 1100, "height": 800}} | options)
        )
        self.server = server
        self.complaints: list[str] = []

    def __enter__(self) -> Any:
        tab = self.context.new_page()
        tab.on("console", lambda message: self.complaints.append(message.text))
        tab.on("pageerror", lambda error: self.complaints.append(str(error)))
        tab.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        own = (f"{self.server.address}/", "data:")
        tab.on("request", lambda asked: self.complaints.extend([] if asked.url.startswith(own) else [asked.url]))
        tab.goto(f"{self.server.address}/caption")
        return tab

    def __exit__(self, kind: object, *_: object) -> None:
        self.context.close()
        if kind is None:
            assert self.complaints == []


def give(tab: Any, clip: Path) -> None:
    tab.set_input_files("#file", str(clip))
    tab.wait_for_url("**/caption/jobs/*")
