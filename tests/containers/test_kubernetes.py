"""The manifests: valid against the API's schemas, least rights, and the pieces fit together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.containers.dockerfile import ROOT
from workflows.profiles import schema

MANIFESTS: list[dict[str, Any]] = list(YAML(typ="safe").load_all(ROOT / "docker/kubernetes.yaml"))


def pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for manifest in MANIFESTS:
        if "template" in manifest.get("spec", {}):
            yield manifest["metadata"]["name"], manifest["spec"]["template"]


def containers() -> list[dict[str, Any]]:
    return [each for _, pod in pods() for key in ("initContainers", "containers") for each in pod["spec"].get(key, [])]


@pytest.mark.parametrize(
    "manifest", MANIFESTS, ids=lambda manifest: f"{manifest['kind']}-{manifest['metadata']['name']}"
)
def test_it_is_valid(manifest: dict[str, Any]) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    version = kubernetes_validate.latest_version()

    kubernetes_validate.validate(manifest, version, strict=True)
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate({**manifest, "sepc": {}}, version, strict=True)


def test_no_pod_has_more_rights_than_it_needs() -> None:
    for _, pod in pods():
        assert pod["spec"]["securityContext"]["runAsNonRoot"]
        assert pod["spec"]["securityContext"]["runAsUser"] == 10001
        assert pod["spec"]["automountServiceAccountToken"] is False
    for container in containers():
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"]
        assert not rights["allowPrivilegeEscalation"]
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert container["resources"]["limits"]["memory"]


def test_every_mount_has_its_volume_and_every_secret_its_role() -> None:
    for name, pod in pods():
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        mounted = {mount["name"] for container in pod["spec"]["containers"] for mount in container["volumeMounts"]}
        role = {"scheduler": "scheduler", "worker": "worker", "runner": "client"}[pod["metadata"]["labels"]["role"]]

        assert mounted == set(volumes), name
        assert volumes["certs"]["secret"]["secretName"] == f"framescribe-{role}"


def test_selectors_find_their_pods() -> None:
    labels = [pod["metadata"]["labels"] for _, pod in pods()]

    for manifest in MANIFESTS:
        selector = manifest.get("spec", {}).get("selector", {})
        wanted = selector.get("matchLabels", selector)
        assert any(wanted.items() <= each.items() for each in labels)


def test_the_dashboard_is_not_served_to_the_cluster() -> None:
    (service,) = [manifest for manifest in MANIFESTS if manifest["kind"] == "Service"]
    scheduler = next(each for each in containers() if each["name"] == "scheduler")
    address = scheduler["args"][scheduler["args"].index("--dashboard-address") + 1]

    assert [port["port"] for port in service["spec"]["ports"]] == [8786]
    assert address.startswith("127.0.0.1:")


def test_the_page_of_a_worker_is_for_its_pod_alone() -> None:
    """It is not encrypted; `--no-dashboard` would leave its port open to all."""
    worker = next(each for each in containers() if each["name"] == "worker")

    assert worker["args"][worker["args"].index("--dashboard-address") + 1] == "127.0.0.1:0"


def test_the_profile_reaches_the_service(tmp_path: Path) -> None:
    (config,) = [manifest for manifest in MANIFESTS if manifest["kind"] == "ConfigMap"]
    (tmp_path / "profile.yaml").write_text(config["data"]["profile.yaml"])
    profile = schema.load_profile(str(tmp_path / "profile.yaml"))
    runner = next(each for each in containers() if each["name"] == "runner")
    mounts = {mount["name"]: mount["mountPath"] for mount in runner["volumeMounts"]}

    assert isinstance(profile, schema.Existing)
    assert profile.address == "tls://framescribe-scheduler:8786"
    assert str(profile.certificates) == mounts["certs"]
    assert {"name": schema.VARIABLE, "value": f"{mounts['profile']}/profile.yaml"} in runner["env"]
