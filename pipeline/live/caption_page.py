"""Caption: drop a clip in, or choose one of the project's, and read what the runs say of it.

Every clip is a job with an address of its own: reload it, or open it in another tab, and it goes on.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route

from pipeline.browsing import read_library
from pipeline.core import FramescribeError, UsageError, printable
from pipeline.live.bodies import read_json, save_body
from pipeline.live.captionable import captionable_runs, chosen_runs, offered, project_videos
from pipeline.live.clip_job import ClipJob
from pipeline.live.page_kind import Page, drawn, project_of
from pipeline.live.played_file import kind_of, played

MOST_BYTES = 500 * 10**6  # of one clip
MOST_UPLOADS = 4  # at once
UPLOAD_SECONDS = 900.0
SPARE_BYTES = 10**9  # that an upload must leave on the disk
LONGEST_TITLE = 120
_uploads = asyncio.Semaphore(MOST_UPLOADS)


def show(request: Request) -> Response:
    try:
        runs, problem = captionable_runs(project_of(request).params()), ""
    except FramescribeError as error:
        runs, problem = {}, str(error)
    jobs = [(job.id, job.title, job.state) for job in project_of(request).jobs.listed()]
    return drawn(request, "caption.html", runs=runs, problem=problem, jobs=jobs, most=MOST_BYTES)


def find_videos(request: Request) -> Response:
    return JSONResponse({"videos": offered(request.query_params.get("words", ""), project_videos())})


async def upload(request: Request) -> Response:
    """The bytes of a file as the body, the name for people to know it by in the address."""
    project = project_of(request)
    runs = await asyncio.to_thread(lambda: chosen_runs(request.query_params.getlist("run"), project.params()))
    project.jobs.require_room()
    if _uploads.locked():
        raise HTTPException(429, f"{MOST_UPLOADS} uploads are under way; try again when one is done")
    async with _uploads:
        folder = project.jobs.new_folder()
        try:
            await _receive(request, folder / "clip")
            title = printable(request.query_params.get("name", ""))[:LONGEST_TITLE] or "clip"
            job = project.jobs.add(folder, title=title, video=folder / "clip", runs=runs)
        except BaseException as error:
            shutil.rmtree(folder, ignore_errors=True)
            if isinstance(error, ClientDisconnect):
                return Response(status_code=400)  # nobody is there to read it
            raise
    return _begun(job)


async def _receive(request: Request, path: Path) -> None:
    if shutil.disk_usage(path.parent).free < MOST_BYTES + SPARE_BYTES:
        raise HTTPException(507, "the disk is nearly full: framescribe cache gc --max-size 10GB makes room")
    await save_body(request, path, most=MOST_BYTES, seconds=UPLOAD_SECONDS)


async def choose(request: Request) -> Response:
    """One of the project's own videos, by its id."""
    asked = await read_json(request)
    return await asyncio.to_thread(_chosen, request, str(asked.get("video")), asked.get("runs"))


def _chosen(request: Request, video: str, runs: object) -> Response:
    names = [str(each) for each in runs] if isinstance(runs, list) else []
    chosen, path = chosen_runs(names, project_of(request).params()), project_videos().get(video)
    if path is None:
        raise UsageError(f"the index has no video '{printable(video[:LONGEST_TITLE])}'", hint="framescribe decode")
    jobs = project_of(request).jobs
    jobs.require_room()
    return _begun(
        jobs.add(jobs.new_folder(), title=printable(video), video=Path(path).absolute(), runs=chosen, known_as=video)
    )


def _begun(job: ClipJob) -> Response:
    return JSONResponse({"id": job.id, "address": f"/caption/jobs/{job.id}"}, status_code=201)


def _job(request: Request) -> ClipJob:
    job = project_of(request).jobs.find(request.path_params["job"])
    if job is None:
        raise HTTPException(404, "this clip is not here any more: only the latest are kept, and none when it stops")
    return job


def show_job(request: Request) -> Response:
    job = _job(request)
    references = read_library().corpus.captions.get(job.known_as, ()) if job.known_as else ()
    return drawn(request, "job.html", job=job.id, title=job.title, references=references)


def tell_job(request: Request) -> Response:
    return JSONResponse(project_of(request).jobs.facts(_job(request)))


def send_result(request: Request) -> Response:
    return _file(_job(request), "result.json", "application/json")


def send_predictions(request: Request) -> Response:
    """As `framescribe caption --out` writes them."""
    job = _job(request)
    if request.path_params["run"] not in job.runs:
        raise HTTPException(404, "the clip was not captioned by that run")
    return _file(job, f"{request.path_params['run']}.json", "application/json")


def _file(job: ClipJob, name: str, kind: str) -> Response:
    if job.state != "done":
        raise HTTPException(404, "there is no sentence of this clip")
    return FileResponse(job.folder / name, media_type=kind)


def send_video(request: Request) -> Response:
    return played(_job(request).video)


def tell_kind(request: Request) -> Response:
    """Whether a browser may try to play it."""
    return JSONResponse({"kind": kind_of(_job(request).video)})


def cancel(request: Request) -> Response:
    project_of(request).jobs.cancel(_job(request))
    return tell_job(request)


JOB = "/caption/jobs/{job}"
CAPTION = Page(
    "/caption",
    "Caption",
    [
        Route("/caption", show),
        Route("/caption/videos", find_videos),
        Route("/caption/uploads", upload, methods=["PUT"]),
        Route("/caption/jobs", choose, methods=["POST"]),
        Route(JOB, show_job),
        Route(f"{JOB}/state", tell_job),
        Route(f"{JOB}/result", send_result),
        Route(f"{JOB}/predictions/{{run}}", send_predictions),
        Route(f"{JOB}/video", send_video),
        Route(f"{JOB}/kind", tell_kind),
        Route(f"{JOB}/cancel", cancel, methods=["POST"]),
    ],
)
