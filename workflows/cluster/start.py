"""A profile made real: a scheduler and workers, and a client that is connected to them.

Of every kind but `scheduler` the scheduler lives in this process, so that it cannot be lost without the run.
A worker has one thread, and one task at a time.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.core import ClusterError, InputError, MissingToolError, cores
from workflows.cluster.certificates import ROLES
from workflows.cluster.respawn import RespawningCluster
from workflows.profiles import Cluster, Existing, Node, Queue, Reachable, Ssh

LOOPBACK = "127.0.0.1"
CONNECT = 30.0  # seconds to reach a scheduler at first
Tell = Callable[[str], None]


def _unsaid(_: str) -> None:
    """For whoever asks the workers themselves what came of them."""


@contextmanager
def opened(profile: Cluster, *, seconds: float = CONNECT, tell: Tell = _unsaid) -> Iterator[Any]:
    """A `distributed.Client` of the cluster that the profile describes, started for this block if need be."""
    import dask
    from distributed import Client

    if isinstance(profile, Existing):
        with _connected(profile, seconds=seconds) as client:
            yield client
        return
    with (
        dask.config.set({"distributed.scheduler.worker-saturation": 1.0, **_tls_settings(profile)}),
        _started(profile, tell) as cluster,
        Client(cluster, security=cluster.security, set_as_default=False) as client,
    ):
        yield client


@contextmanager
def _connected(profile: Existing, *, seconds: float) -> Iterator[Any]:
    from distributed import Client

    try:
        client = Client(profile.address, security=security_of(profile), timeout=seconds, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise ClusterError(
            f"the scheduler {profile.address} did not answer within {seconds:.0f} s: {error}",
            hint="see that it runs; then the same command goes on with what is missing",
        ) from error
    with client:
        yield client


def security_of(profile: Cluster) -> Any:
    """TLS by the profile's certificates; by throw-away ones where everything stays on this machine."""
    from distributed import Security

    if profile.certificates is None:
        return Security.temporary() if isinstance(profile, Node) else Security()
    return Security(require_encryption=True, **_tls_files(profile.certificates))


def _tls_files(folder: Path) -> dict[str, str]:
    folder = folder.absolute()
    files = {"tls_ca_file": folder / "ca.pem"}
    for role in ROLES:
        if (folder / f"{role}.pem").is_file():  # a machine holds the roles that it plays
            files |= {f"tls_{role}_cert": folder / f"{role}.pem", f"tls_{role}_key": folder / f"{role}-key.pem"}
    missing = [str(path) for path in files.values() if not path.is_file()]
    if missing:
        raise InputError(f"there is no {missing[0]}", hint="framescribe cluster certs")
    return {name: str(path) for name, path in files.items()}


def _tls_settings(profile: Cluster) -> dict[str, Any]:
    """The same as dask's configuration, which workers started by ssh inherit."""
    if profile.certificates is None:
        return {}
    files = _tls_files(profile.certificates)
    parts = [(role, part) for role in ROLES for part in ("cert", "key")]
    roles = {f"distributed.comm.tls.{role}.{part}": files.get(f"tls_{role}_{part}") for role, part in parts}
    return {"distributed.comm.tls.ca-file": files["tls_ca_file"], "distributed.comm.require-encryption": True, **roles}


@contextmanager
def _started(profile: Cluster, tell: Tell) -> Iterator[Any]:
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is told by whoever asked for the work
    start = {Node: partial(_node, tell=tell), Ssh: partial(_ssh, tell=tell), Queue: _queue}[type(profile)]
    cluster = start(profile)  # type: ignore[operator]  # the table says which goes with which
    with cluster:
        if isinstance(profile, Node | Queue) and profile.at_least is not None:
            cluster.adapt(minimum=_first_workers(profile), maximum=worker_count(profile), wait_count=10)
        yield cluster


def worker_count(profile: Cluster) -> int:
    """The most workers that the profile asks for; 0 when it does not say."""
    if isinstance(profile, Node) and isinstance(profile.workers, str):
        return cores() if profile.workers == "cores" else gpus()
    if isinstance(profile, Ssh):
        return len(profile.hosts) * profile.workers_per_host
    return int(profile.workers) if isinstance(profile, Node | Queue) else 0


def _first_workers(profile: Node | Queue) -> int:
    count = worker_count(profile)
    return count if profile.at_least is None else min(profile.at_least, count)  # `cores` may be few


def gpus() -> int:
    import torch

    if not torch.cuda.is_available():
        raise MissingToolError("this machine has no GPU that torch can use", hint="a profile with workers: cores")
    return torch.cuda.device_count()


def _scheduler_options(profile: Cluster) -> dict[str, Any]:
    """A lost worker is told at once (`allowed_failures`): which video to blame is decided here, not by dask."""
    address = profile.dashboard or f"{LOOPBACK}:0"
    shown = {"dashboard": profile.dashboard is not None, "dashboard_address": address}
    return {"allowed_failures": 0, "worker_ttl": profile.silence, **shown}


def _worker_options(profile: Node | Reachable) -> dict[str, Any]:
    return {"nthreads": 1, "memory_limit": int(profile.memory or 0), "dashboard_address": f"{LOOPBACK}:0"}


def _node(profile: Node, *, tell: Tell) -> Any:
    import dask
    from distributed import Nanny, Scheduler

    security = security_of(profile)
    own = {"host": LOOPBACK, "protocol": "tls://", "security": security}
    if profile.device == "cuda" and find_spec("dask_cuda") is not None:
        return _cuda_node(profile, security)
    preload = [*dask.config.get("distributed.worker.preload"), "workflows.cluster.interrupts"]
    quiet = {"silence_logs": logging.CRITICAL, "preload": preload}
    worker = {**own, **_worker_options(profile), **quiet}
    count = _first_workers(profile)
    options = [{**worker, "env": _visible(number)} if profile.device == "cuda" else worker for number in range(count)]
    workers = {number: {"cls": Nanny, "options": options[number]} for number in range(count)}
    return RespawningCluster(
        tell=tell,
        workers=workers,
        worker={"cls": Nanny, "options": worker},
        scheduler={"cls": Scheduler, "options": {**own, **_scheduler_options(profile)}},
        security=security,
        silence_logs=logging.CRITICAL,
    )


def _cuda_node(profile: Node, security: Any) -> Any:
    """dask-cuda also binds each worker to the cores that are nearest to its GPU."""
    from dask_cuda import LocalCUDACluster  # type: ignore[import-not-found]

    return LocalCUDACluster(
        n_workers=worker_count(profile),
        threads_per_worker=1,
        memory_limit=profile.memory or 0,
        host=LOOPBACK,
        protocol="tls://",
        security=security,
        dashboard_address=profile.dashboard,
        scheduler_kwargs={"allowed_failures": 0, "worker_ttl": profile.silence},
    )


def _visible(number: int) -> dict[str, str]:
    """The environment of the worker of one GPU of this machine; numbers count among those that this process sees."""
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    devices = seen.split(",") if seen else [str(each) for each in range(gpus())]
    if number >= len(devices):
        raise MissingToolError(
            f"the profile asks for more workers than there are GPUs ({','.join(devices)})", hint="workers: gpus"
        )
    return {"CUDA_VISIBLE_DEVICES": devices[number]}


def _reach(profile: Reachable) -> dict[str, Any]:
    """How workers reach the scheduler."""
    place = {"interface": profile.interface} if profile.interface else {"host": profile.host} if profile.host else {}
    return {**place, "protocol": "tcp://" if profile.certificates is None else "tls://"}


def _stays_here(profile: Reachable) -> bool:
    """Without certificates or --insecure only loopback is left, and workers too are to listen nowhere else."""
    return profile.certificates is None and not profile.insecure


def _ssh(profile: Ssh, *, tell: Tell) -> Any:
    from distributed import Scheduler
    from distributed.deploy.ssh import Worker

    security = security_of(profile)
    known = {"known_hosts": str(profile.known_hosts)} if profile.known_hosts else {}
    key = {"client_keys": [str(profile.key)]} if profile.key else {}
    user = {"username": profile.user} if profile.user else {}
    connect = {"port": profile.port, **user, **key, **known}
    nanny = _worker_options(profile) | ({"host": LOOPBACK} if _stays_here(profile) else {})
    workers = {}
    for host in profile.hosts:
        for number in range(profile.workers_per_host):
            environment = {"env": {"CUDA_VISIBLE_DEVICES": str(number)}} if profile.device == "cuda" else {}
            options = {"address": host, "connect_options": connect, "remote_python": profile.python or sys.executable}
            workers[f"{host}-{number}"] = {"cls": Worker, "options": {**options, "kwargs": {**nanny, **environment}}}
    scheduler = {**_reach(profile), "security": security, **_scheduler_options(profile)}
    return RespawningCluster(
        tell=tell,
        workers=workers,
        scheduler={"cls": Scheduler, "options": scheduler},
        security=security,
        silence_logs=logging.CRITICAL,
    )


def _queue(profile: Queue) -> Any:
    import dask_jobqueue

    cluster = {"slurm": "SLURMCluster", "pbs": "PBSCluster", "sge": "SGECluster"}[profile.system]
    reach = _reach(profile)
    bound = ["--host", LOOPBACK] if _stays_here(profile) else []
    return getattr(dask_jobqueue, cluster)(
        n_workers=_first_workers(profile),
        cores=1,
        processes=1,
        memory=f"{profile.memory} B",
        walltime=_clock(profile.walltime),
        queue=profile.queue,
        python=profile.python or sys.executable,
        local_directory=None,
        job_extra_directives=profile.directives,
        job_script_prologue=profile.prologue,
        worker_extra_args=["--dashboard-address", f"{LOOPBACK}:0", *bound],
        protocol=reach.pop("protocol"),
        interface=profile.interface,
        security=None if profile.certificates is None else security_of(profile),
        scheduler_options={**reach, **_scheduler_options(profile)},
        **_job_size(profile),
    )


def _job_size(profile: Queue) -> dict[str, Any]:
    """The three systems call the same things by different names."""
    if profile.system == "slurm":
        return {"job_cpu": profile.cpus, "account": profile.account}
    if profile.system == "pbs":
        return {"resource_spec": f"select=1:ncpus={profile.cpus}:mem={profile.memory}b", "account": profile.account}
    return {"resource_spec": f"h_vmem={profile.memory}", "project": profile.account}


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60:02d}:{minutes % 60:02d}:{rest:02d}"
