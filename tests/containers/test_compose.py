"""The compose file: valid, nothing published but to this host, and its own commands make a cluster with TLS."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from ruamel.yaml import YAML

from tests.cluster.sockets import listeners
from tests.containers.dockerfile import ROOT
from tests.containers.processes import free_port, running
from workflows.cluster.certificates import make_certificates
from workflows.cluster.start import opened
from workflows.profiles.schema import Existing, load_profile

COMPOSE = ROOT / "docker/compose.yaml"


def services() -> dict[str, Any]:
    return YAML(typ="safe").load(COMPOSE)["services"]


def validate(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_it_keeps_to_the_compose_specification(tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema")
    wrong = tmp_path / "compose.yaml"
    wrong.write_text(COMPOSE.read_text().replace("cap_drop:", "drop_cap:"))

    done = validate(COMPOSE)

    assert done.returncode == 0, done.stdout
    assert validate(wrong).returncode == 1


def test_only_this_host_sees_what_is_published() -> None:
    published = [port for service in services().values() for port in service.get("ports", [])]

    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)


@pytest.mark.parametrize("name", ["scheduler", "worker", "worker-gpu", "runner"])
def test_a_service_has_the_least_rights(name: str) -> None:
    service = services()[name]

    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not service.get("privileged")


def test_every_service_gets_the_secrets_of_its_own_role_and_no_other() -> None:
    roles = {"scheduler": "scheduler", "worker": "worker", "worker-gpu": "worker", "runner": "client"}
    declared = YAML(typ="safe").load(COMPOSE)["secrets"]

    for name, role in roles.items():
        assert services()[name]["secrets"] == ["ca.pem", f"{role}.pem", f"{role}-key.pem"]
    assert {secret for service in services().values() for secret in service["secrets"]} == set(declared)
    assert all(set(secret) == {"file"} for secret in declared.values()), "a file, never the secret itself"


def test_the_image_is_the_version_of_the_project() -> None:
    version = re.search(r'^version = "(.+)"$', (ROOT / "pyproject.toml").read_text(), re.M)[1]  # type: ignore[index]

    files = [*(ROOT / "docker").iterdir(), ROOT / "Dockerfile"]
    named = {tag for path in files for tag in re.findall(r"framescribe:(\d[\d.]*\d)", path.read_text())}
    assert named == {version}


def test_every_gpu_gets_a_worker_of_its_own(tmp_path: Path) -> None:
    for name, body in {"nvidia-smi": "echo 0; echo 1", "dask": 'echo "$CUDA_VISIBLE_DEVICES $*"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)
    command = [word.replace("$$", "$") for word in services()["worker-gpu"]["command"]]
    done = subprocess.run(
        command, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True, text=True, check=True
    )
    usual = shlex.split(services()["worker"]["command"])[1:]

    assert sorted(shlex.split(line) for line in done.stdout.splitlines()) == [["0", *usual], ["1", *usual]]


@pytest.mark.slow
def test_its_commands_make_a_cluster_that_speaks_nothing_but_tls(tmp_path: Path) -> None:
    from distributed import Client

    make_certificates(tmp_path / "certs")
    port = free_port()
    profile = profile_of(tmp_path, certificates=tmp_path / "certs", port=port)
    with ExitStack() as stack:
        for name in ("scheduler", "worker"):
            command = _command(name, certificates=tmp_path / "certs", port=port)
            environment = {**os.environ, **services()[name]["environment"], "HOME": str(tmp_path)}
            last = stack.enter_context(running(command, env=environment, log=tmp_path / f"{name}.log"))
        with opened(profile, seconds=120) as client:
            client.wait_for_workers(1, timeout=120)
            workers = client.scheduler_info()["workers"]

            assert client.submit(os.path.basename, "/a/video").result(timeout=60) == "video"
            assert all(address.startswith("tls://") for address in workers)
            encrypted = {*workers, *(facts["nanny"] for facts in workers.values())}
            family = [psutil.Process(last.pid), *psutil.Process(last.pid).children(recursive=True)]
            ports = {port: address for address, port in listeners(each.pid for each in family)}
            pages = {port: ports[port] for port in ports.keys() - {int(each.rpartition(":")[2]) for each in encrypted}}
            assert list(pages.values()) == ["127.0.0.1"], "the worker's page, which is not encrypted"
        with pytest.raises(OSError, match=r"tcp://127.0.0.1"):
            Client(f"tcp://127.0.0.1:{port}", timeout=3, set_as_default=False)


def profile_of(folder: Path, *, certificates: Path, port: int) -> Existing:
    """The runner's own, as the program reads it."""
    text = YAML(typ="safe").load(COMPOSE)["configs"]["profile"]["content"].replace("${DEVICE:-cpu}", "cpu")
    text = text.replace("/run/secrets", str(certificates)).replace("tls://scheduler:8786", f"tls://127.0.0.1:{port}")
    (folder / "profile.yaml").write_text(text)
    profile = load_profile(str(folder / "profile.yaml"))
    assert isinstance(profile, Existing)
    return profile


def _command(name: str, *, certificates: Path, port: int) -> list[str]:
    """A service's command, with this machine's places in the stead of the container's."""
    text = services()[name]["command"].replace("/run/secrets", str(certificates)).replace("8786", str(port))
    text = text.replace("tls://scheduler:", "tls://127.0.0.1:").replace("--local-directory /tmp", "")
    words = shlex.split(text.replace("--dashboard-address :8787", "--host 127.0.0.1 --dashboard-address 127.0.0.1:0"))
    return [str(Path(sys.executable).with_name(words[0])), *words[1:]]
