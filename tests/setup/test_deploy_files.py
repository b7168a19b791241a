"""The files of docs/deploy fit together, nginx accepts its file, and parts of uploads pass it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from recdash.client import pushing
from recdash.settings import PREFIX, Settings

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin")
TEMPORARY = "/tmp/"  # noqa: S108 - only replaced
SETTINGS = {PREFIX + name.upper() for name in Settings.model_fields}


@pytest.fixture
def deploy(root: Path) -> Path:
    return root / "docs" / "deploy"


@pytest.fixture
def compose(deploy: Path) -> Any:
    return yaml.safe_load((deploy / "compose.yaml").read_text("utf-8"))


@pytest.fixture
def kubernetes(deploy: Path) -> dict[str, Any]:
    """By kind and name: what the file has Kubernetes create."""
    documents = yaml.safe_load_all((deploy / "kubernetes.yaml").read_text("utf-8"))
    return {f"{each['kind']} {each['metadata']['name']}": each for each in documents}


@pytest.fixture
def nginx(deploy: Path) -> str:
    return (deploy / "nginx.conf").read_text("utf-8")


# ── compose ──────────────────────────────────────────────────────────────────────────────────


def test_two_processes_share_a_secret_a_database_and_a_folder(compose: Any) -> None:
    web = {name: service for name, service in compose["services"].items() if name.startswith("web")}
    assert list(web) == ["web1", "web2"]
    first, second = web.values()
    assert first == second
    given = first["environment"]
    assert given["RECDASH_SECRET"] == "${RECDASH_SECRET:?}"  # noqa: S105 - from the environment
    assert given["RECDASH_DATABASE_URL"].endswith("@database/recdash")
    assert first["volumes"] == ["files:/data"]
    assert given["RECDASH_ARTIFACTS"].startswith("/data/")
    assert first["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert {name for name in given if name.startswith(PREFIX)} <= SETTINGS
    (subnet,) = compose["networks"]["front"]["ipam"]["config"]
    assert given["FORWARDED_ALLOW_IPS"] == subnet["subnet"]


def test_every_volume_and_network_that_a_service_names_exists(compose: Any, deploy: Path) -> None:
    for service in compose["services"].values():
        for source in (volume.split(":")[0] for volume in service.get("volumes", [])):
            assert source in compose["volumes"] or (source.startswith("./") and (deploy / source).is_file())
        assert set(service["networks"]) <= set(compose["networks"])


def test_images_have_a_version_and_containers_no_more_rights_than_they_need(compose: Any) -> None:
    for name, service in compose["services"].items():
        assert re.search(r":(\d+(\.\d+)+|\$\{RECDASH_VERSION:\?\})$", service["image"]), name
        assert service["security_opt"] == ["no-new-privileges:true"]
        if name != "database":  # its image begins as root, and gives its folder to its own user
            assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])
    assert "pg_isready" in compose["services"]["database"]["healthcheck"]["test"]


def test_only_nginx_can_be_reached_from_outside(compose: Any) -> None:
    assert [name for name, service in compose["services"].items() if "ports" in service] == ["nginx"]
    assert compose["services"]["database"]["networks"] == ["back"]
    assert compose["networks"]["back"]["internal"] is True


# ── Kubernetes ───────────────────────────────────────────────────────────────────────────────


def test_pods_of_kubernetes_share_the_same_and_have_no_more_rights(kubernetes: dict[str, Any]) -> None:
    deployment = kubernetes["Deployment recdash"]["spec"]
    assert deployment["replicas"] == 2
    pod = deployment["template"]["spec"]
    (container,) = pod["containers"]
    given = {variable["name"]: variable for variable in container["env"]}
    for name, key in (("RECDASH_SECRET", "secret"), ("RECDASH_DATABASE_URL", "database-url")):
        assert given[name]["valueFrom"] == {"secretKeyRef": {"name": "recdash", "key": key}}
    assert {name for name in given if name.startswith(PREFIX)} <= SETTINGS
    assert pod["securityContext"]["runAsNonRoot"] is True
    rights = container["securityContext"]
    assert (rights["readOnlyRootFilesystem"], rights["allowPrivilegeEscalation"]) == (True, False)
    assert rights["capabilities"] == {"drop": ["ALL"]}
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]}
    claim = pod["volumes"][0]["persistentVolumeClaim"]["claimName"]
    assert kubernetes[f"PersistentVolumeClaim {claim}"]["spec"]["accessModes"] == ["ReadWriteMany"]
    assert not any(name.startswith("Secret") for name in kubernetes)


def test_each_ingress_of_kubernetes_sticks_to_a_service_of_its_own(kubernetes: dict[str, Any]) -> None:
    services = {}
    for name in ("Ingress recdash", "Ingress recdash-api"):
        (rule,) = kubernetes[name]["spec"]["rules"]
        (path,) = rule["http"]["paths"]
        services[path["path"]] = path["backend"]["service"]["name"]
    assert services == {"/": "recdash", "/api/": "recdash-api"}
    labels = kubernetes["Deployment recdash"]["spec"]["template"]["metadata"]["labels"]
    assert all(kubernetes[f"Service {name}"]["spec"]["selector"] == labels for name in services.values())


# ── nginx ────────────────────────────────────────────────────────────────────────────────────


def test_nginx_knows_the_services_of_the_compose_file(nginx: str, compose: Any) -> None:
    named = set(re.findall(r"^ +server (\w+):8501 ", nginx, re.MULTILINE))
    assert named == {name for name in compose["services"] if name.startswith("web")}
    assert compose["services"]["nginx"]["ports"][0].endswith(
        f":{re.findall(r'^ +listen (.+);', nginx, re.MULTILINE)[0]}"
    )


@pytest.mark.skipif(NGINX is None, reason="nginx is not installed")
def test_nginx_accepts_its_file(nginx: str, tmp_path: Path) -> None:
    # It resolves names when it reads the file; the folder of temporary files is the test's own.
    here = re.sub(r"server web\d:8501", "server 127.0.0.1:8501", nginx).replace(TEMPORARY, f"{tmp_path}/")
    (tmp_path / "nginx.conf").write_text(here)
    command = [str(NGINX), "-t", "-c", str(tmp_path / "nginx.conf"), "-e", str(tmp_path / "errors")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.parametrize("name", ["deployment.md", "deploy/nginx.conf", "deploy/kubernetes.yaml"])
def test_a_part_of_a_file_fits_into_what_a_proxy_takes(root: Path, name: str) -> None:
    text = (root / "docs" / name).read_text("utf-8")
    sizes = re.findall(r"(?:client_max_body_size|proxy-body-size:) (\d+)m\b", text)
    zone = (root / "recdash" / "ui" / "components" / "file_zone.js").read_text("utf-8")
    (mebibytes,) = re.findall(r"^const PART_BYTES = (\d+) \* 2 \*\* 20;", zone, re.MULTILINE)
    assert sizes
    assert max(pushing.PART_BYTES, int(mebibytes) * 2**20) <= min(map(int, sizes)) * 2**20
