"""One file over HTTP: goes on where it was cut, follows safe redirects only, and never trusts a length."""

from __future__ import annotations

import http.client
import ipaddress
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any, BinaryIO
from urllib.parse import urlsplit

from pipeline.core import Console, InputError, MissingToolError, Progress, named_when_full
from pipeline.weights.reading import LIMIT

TIMEOUT = 30.0  # seconds without a byte
ATTEMPTS = 5  # at a transfer that is cut
BLOCK = 2**20  # bytes per read, and a step of the progress bar


class _CutError(Exception):
    """The transfer ended early; what came is kept."""


def download(
    url: str,
    target: Path,
    *,
    size: int | None = None,
    console: Console,
    timeout: float = TIMEOUT,
    attempts: int = ATTEMPTS,
) -> None:
    """Fetch `url` to `target`; what an earlier attempt left of it is used."""
    require_safe(url, before=url)
    target.parent.mkdir(parents=True, exist_ok=True)
    part, reason = target.with_name(f"{target.name}.part"), ""
    for _ in range(attempts):
        try:
            with named_when_full(target):
                _transfer(url, part, size=size, console=console, timeout=timeout)
        except urllib.error.URLError as error:
            if not _is_stale(error):
                raise _unreachable(url, error) from error
            part.unlink(missing_ok=True)
        except (_CutError, TimeoutError, ConnectionError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
        else:
            part.replace(target)
            _version(part).unlink(missing_ok=True)
            return
    raise MissingToolError(f"{url}: {reason}; what came is kept, the same command goes on")


def require_safe(url: str, *, before: str) -> None:
    """https, or this machine itself if it was asked for: nobody on the way can change the file or the address."""
    if urlsplit(url).scheme != "https" and not (_is_loopback(url) and _is_loopback(before)):
        raise MissingToolError(f"{url}: only https is fetched; download it by hand")


def _is_loopback(url: str) -> bool:
    address = urlsplit(url)
    try:
        return address.scheme == "http" and ipaddress.ip_address(address.hostname or "").is_loopback
    except ValueError:  # a name may resolve to anything
        return False


class _SafeRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        require_safe(newurl, before=req.full_url)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _is_stale(error: urllib.error.URLError) -> bool:
    """The server has no bytes behind what we have: ours are of another file."""
    return isinstance(error, urllib.error.HTTPError) and error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE


def _unreachable(url: str, error: urllib.error.URLError) -> MissingToolError:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return MissingToolError(f"{url}: the server says {error.code} {error.reason}")
    return MissingToolError(f"{url}: {error.reason}")


def _transfer(url: str, part: Path, *, size: int | None, console: Console, timeout: float) -> None:
    headers = {"User-Agent": "framescribe", **_rest_of(part)}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  `require_safe` has looked at the scheme
    direct = [urllib.request.ProxyHandler({})] if _is_loopback(url) else []
    with urllib.request.build_opener(_SafeRedirects, *direct).open(request, timeout=timeout) as response:
        start = _start(response, part)
        total = _total(response, start=start, size=size, url=url)
        _remember_version(response, part)
        steps = -(-((total or 0) - start) // BLOCK)
        with part.open("ab" if start else "wb") as stream, console.progress(f"{part.stem} (MiB)", steps) as progress:
            _copy(response, stream, done=start, total=total, url=url, progress=progress)


def _rest_of(part: Path) -> dict[str, str]:
    """Ask for the rest, and only of the same version; of another the server sends everything."""
    if not _version(part).is_file() or not part.is_file() or not part.stat().st_size:
        return {}
    return {"Range": f"bytes={part.stat().st_size}-", "If-Range": _version(part).read_text()}


def _version(part: Path) -> Path:
    return part.with_name(f"{part.name}.version")


def _remember_version(response: http.client.HTTPResponse, part: Path) -> None:
    tag = response.headers.get("ETag", "")
    version = response.headers.get("Last-Modified", "") if tag.startswith("W/") or not tag else tag
    if version:
        _version(part).write_text(version)
    else:
        _version(part).unlink(missing_ok=True)


def _start(response: http.client.HTTPResponse, part: Path) -> int:
    """Where the bytes of this answer belong."""
    if response.status != http.client.PARTIAL_CONTENT:
        return 0
    here, stated = part.stat().st_size, response.headers.get("Content-Range", "")
    if not stated.startswith(f"bytes {here}-"):
        part.unlink()
        raise _CutError(f"the server sent '{stated}' when asked for what follows byte {here}")
    return here


def _total(response: http.client.HTTPResponse, *, start: int, size: int | None, url: str) -> int | None:
    length = response.headers.get("Content-Length")
    total = start + int(length) if length and length.isdigit() else None
    if total is not None and size is not None and total != size:
        raise InputError(f"{url} has {total:,} bytes; the published file has {size:,}")
    if total is not None and total > LIMIT:
        raise InputError(f"{url} has {total:,} bytes; at most {LIMIT:,} are fetched")
    return total


def _copy(
    response: http.client.HTTPResponse,
    stream: BinaryIO,
    *,
    done: int,
    total: int | None,
    url: str,
    progress: Progress,
) -> None:
    began, shown = done, 0
    while block := response.read1(BLOCK):
        stream.write(block)
        done += len(block)
        steps = -(-(done - began) // BLOCK) - shown  # a begun mebibyte counts
        if steps:
            shown += steps
            progress.advance(steps)
        if done > LIMIT:
            raise InputError(f"{url} has more than {LIMIT:,} bytes")
    if total is not None and done != total:
        raise _CutError(f"the connection ended after {done:,} of {total:,} bytes")
