"""A server on loopback that misbehaves as it is told."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Behaviour:
    """What the server does; `asked` collects the Range of every request."""

    data: bytes
    ranges: bool = True
    tag: str = '"one"'
    cut_after: list[int] = field(default_factory=list)  # bytes of the body, answer after answer; then whole ones
    stall: bool = False  # send half and then nothing, for the first answer
    redirect_to: str = ""
    status: int = 200
    tell_length: bool = True
    asked: list[str | None] = field(default_factory=list)


@contextmanager
def serving(behaviour: Behaviour) -> Iterator[str]:
    """The address of a file."""
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            behaviour.asked.append(wanted)
            if behaviour.redirect_to and not self.path.startswith("/moved"):
                self.send_response(302)
                self.send_header("Location", behaviour.redirect_to)
                self.end_headers()
                return
            if behaviour.status != 200:
                self.send_error(behaviour.status)
                return
            self._body(wanted)

        def _body(self, wanted: str | None) -> None:
            total, start = len(behaviour.data), 0
            if wanted and behaviour.ranges and self.headers.get("If-Range") in {None, behaviour.tag}:
                start = int(wanted.removeprefix("bytes=").rstrip("-"))
                if start >= total:
                    self.send_error(416)
                    return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
            if behaviour.tell_length:
                self.send_header("Content-Length", str(total - start))
            if behaviour.tag:
                self.send_header("ETag", behaviour.tag)
            self.end_headers()
            self._send(behaviour.data[start:])

        def _send(self, body: bytes) -> None:
            if behaviour.stall:
                behaviour.stall = False
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                done.wait(30)
            elif behaviour.cut_after:
                self.wfile.write(body[: behaviour.cut_after.pop(0)])
            else:
                self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/files/toy.pth"
    finally:
        done.set()
        server.shutdown()
        server.server_close()
