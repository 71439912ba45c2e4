"""Who may ask: holders of the cookie, from our own pages, under our own name. All others learn nothing.

The link's token opens once. A cookie alone is not enough: pages of other ports of this machine count as the same site,
so what changes something must name our origin, and a name that somebody's DNS points here (rebinding) is refused.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from hmac import compare_digest

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ENTER = "/enter"
READS = ("GET", "HEAD")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
# The browser asks for the next page itself: a redirect from a link in a mail would come without the strict cookie.
WELCOME = """<!DOCTYPE html><html lang="en"><title>Framescribe</title><link rel="icon" href="data:,">
<meta http-equiv="refresh" content="0;url=/"><p><a href="/">Framescribe</a></p></html>"""
USED = "This link has been used, or is not one of this server. Start `framescribe serve` again for a new one.\n"
CLOSED = "Open the link that `framescribe serve` printed.\n"


@dataclass
class Keys:
    """The token of the link, until it is used, and the cookie that it is exchanged for."""

    origins: Sequence[str]  # scheme://host:port of every name that we answer to
    cookie: str  # its name, with the port: browsers keep one jar for all ports of a host
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))

    def exchange(self, token: str) -> bool:
        fits = bool(self.token) and compare_digest(token.encode(), self.token.encode())
        if fits:
            self.token = ""
        return fits

    def knows(self, session: str) -> bool:
        return compare_digest(session.encode(), self.session.encode())


class Gate:
    """Stands before everything; refuses before a byte of a body is read."""

    def __init__(self, app: ASGIApp, *, keys: Keys) -> None:
        self.app = app
        self.keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        answer: ASGIApp = refused or self.app
        await answer(scope, receive, _with_headers(send, closing=refused is not None))

    def _refused(self, scope: Scope) -> Response | None:
        request = Request(scope)
        if {"content-length", "transfer-encoding"} <= set(request.headers):  # where it ends, two readers may differ
            return PlainTextResponse("A request has one length.\n", status_code=400)
        problem = foreign(request.headers, scheme=scope["scheme"], method=scope["method"], origins=self.keys.origins)
        if problem:
            return PlainTextResponse(f"{problem}\n", status_code=403)
        if scope["path"] == ENTER:
            return self._entered(request)
        known = self.keys.knows(request.cookies.get(self.keys.cookie, ""))
        return None if known else PlainTextResponse(CLOSED, status_code=401)

    def _entered(self, request: Request) -> Response:
        if request.method != "GET" or not self.keys.exchange(request.query_params.get("token", "")):
            return PlainTextResponse(USED, status_code=401)
        answer = HTMLResponse(WELCOME)
        secure = request.url.scheme == "https"
        answer.set_cookie(
            self.keys.cookie, self.keys.session, httponly=True, samesite="strict", secure=secure, path="/"
        )
        return answer


def foreign(headers: Headers, *, scheme: str, method: str, origins: Collection[str]) -> str:
    """Why a request is not from our own pages or an address bar; nothing where it is."""
    if len(headers.getlist("host")) != 1 or f"{scheme}://{headers['host']}" not in origins:
        return "This server does not answer to that name."
    named = headers.getlist("origin")
    if not set(named) <= set(origins):
        return "Requests from other pages are refused."
    if method not in READS and not named:
        return "A request that changes something must say which page it is from."
    fetched = headers.get("sec-fetch-site", "none") in ("cross-site", "same-site")
    if fetched and not (method in READS and headers.get("sec-fetch-mode") == "navigate"):
        return "Requests from other pages are refused."
    return ""


def _with_headers(send: Send, *, closing: bool) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)  # a vote page has a policy of its own
            if closing:  # whatever else it wanted to send, nobody reads it
                headers["Connection"] = "close"
        await send(message)

    return sending
