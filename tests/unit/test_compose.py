"""The container files, read as data: nothing floats, nothing secret, nothing that the programs do not know.

They are not built here (that takes Docker); what they name is checked against the code, and their commands are run as
plain processes by tests/integration/test_compose_commands.py.
"""

import re
import subprocess
import sys
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from server.embedded.config import SETTINGS
from server.options.sources import gather

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
NODES = {name: service for name, service in SERVICES.items() if name.startswith("node")}
DOCKERFILE = (ROOT / "Dockerfile").read_text()
DEPLOYED = sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file())

PINNED = re.compile(r"[\w./-]+:v?\d+\.\d+\.\d+(-[\w.]+)?")
SECRET = re.compile(
    r"pass(word|wd)?\b|secret|api_?key|requirepass|BEGIN [A-Z ]*PRIVATE KEY|\b[0-9a-f]{32,}\b", re.IGNORECASE
)


def instructions(name: str) -> list[str]:
    """What follows an instruction of the Dockerfile, line by line."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return [line.split(maxsplit=1)[1] for line in joined.splitlines() if line.split(maxsplit=1)[:1] == [name]]


def flags(command: list[str]) -> dict[str, str]:
    """Pairs of flag and value, of a command that has nothing else behind its first word, or flags alone."""
    words = command[1:]
    return {
        word: words[place + 1] if place + 1 < len(words) and not words[place + 1].startswith("--") else ""
        for place, word in enumerate(words)
        if word.startswith("--")
    }


def help_of(*words: str) -> str:
    """What a command of ours says of its flags."""
    module = "client_sdk.cli" if words[0] == "bots" else "server.cli"
    run = f"import sys; from {module} import main; sys.exit(main(sys.argv[1:]))"
    answer = subprocess.run(
        [sys.executable, "-c", run, *words, "--help"], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return answer.stdout


def mounts(service: dict[str, Any]) -> dict[str, Path]:
    """Place in the container -> file of this repository."""
    pairs = [volume.split(":") for volume in service.get("volumes", []) if volume.startswith("./")]
    return {inside: ROOT / outside for outside, inside, *_ in pairs}


# --- every service ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_is_pinned_watched_and_knows_what_it_waits_for(name: str) -> None:
    service = SERVICES[name]
    assert PINNED.fullmatch(service["image"])
    if service.get("profiles") != ["bots"]:  # bots end by themselves
        check = service["healthcheck"]
        assert check["test"][0] == "CMD"
        assert {"interval", "timeout", "retries"} <= check.keys()
        assert service["restart"] == "unless-stopped"
    for other, condition in service.get("depends_on", {}).items():
        assert other in SERVICES
        assert condition == {"condition": "service_healthy"}
    assert service["networks"] == ["house"]
    for inside, outside in mounts(service).items():
        assert outside.is_file(), outside
        assert inside.startswith("/")


def test_it_is_the_house_that_the_runbook_speaks_of() -> None:
    assert set(SERVICES) == {"valkey", "node1", "node2", "node3", "proxy", "auditor", "prometheus", "grafana", "bots"}
    first = {name: value for name, value in SERVICES["node1"].items() if name != "depends_on"}
    for name, node in NODES.items():  # the first one makes the key that the others find
        waits_for = {"valkey"} if name == "node1" else {"valkey", "node1"}
        assert (node["depends_on"].keys(), {**node, "depends_on": None}) == (waits_for, {**first, "depends_on": None})
    named = {name for volume in COMPOSE["volumes"] for name in [volume]}
    used = {v.split(":")[0] for s in SERVICES.values() for v in s.get("volumes", []) if not v.startswith("./")}
    assert used == named


def test_nothing_secret_is_inside() -> None:
    for path in (ROOT / "docker-compose.yml", ROOT / "Dockerfile", *DEPLOYED):
        assert not SECRET.search(path.read_text()), path
    words = [word for service in SERVICES.values() for word in map(str, _words(service))]
    urls = [word for word in words if "://" in word and " " not in word]
    assert len(urls) >= 2
    assert [url for url in urls if urlsplit(url).password or urlsplit(url).username] == []


def _words(value: Any) -> list[Any]:
    match value:
        case dict():
            return [word for each in value.values() for word in _words(each)]
        case list():
            return [word for each in value for word in _words(each)]
        case _:
            return [value]


def test_it_is_reachable_from_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len(ports) == 3
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_everything_in_deploy_is_mounted() -> None:
    mounted = {path for service in SERVICES.values() for path in mounts(service).values()}
    assert mounted == set(DEPLOYED)


# --- the image --------------------------------------------------------------------------------------------------------


def test_base_images_are_pinned() -> None:
    images = [line.split()[0] for line in instructions("FROM")]
    assert len(images) == 2
    assert all(PINNED.fullmatch(image) for image in images)
    assert all("slim" in image for image in images)


def test_the_image_is_not_run_by_root_and_has_no_tools_to_build_with() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]
    (user,) = re.findall(r"^USER (\S+)$", last_stage, re.MULTILINE)
    assert int(user) > 0
    assert f"--uid {user}" in last_stage
    assert "pip uninstall --yes pip" in last_stage
    assert "pip uninstall --yes setuptools pip" in DOCKERFILE
    assert not re.search(r"apt-get|pip install|gcc|build-essential", last_stage)
    assert re.findall(r"^COPY (\S+)", last_stage, re.MULTILINE) == ["--from=build"]


def test_the_image_copies_only_what_is_there() -> None:
    sources = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert "constraints.txt" in sources
    assert [source for source in sources if not (ROOT / source).exists()] == []
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert let_in == set(sources)


# --- the store --------------------------------------------------------------------------------------------------------


def test_the_store_loses_no_more_than_the_bundled_one() -> None:
    given = {flag.removeprefix("--"): value for flag, value in flags(SERVICES["valkey"]["command"]).items()}
    assert given.keys() >= {"appendonly", "appendfsync", "save", "maxmemory-policy"}
    assert given.items() <= dict(SETTINGS).items()
    assert any(volume.endswith(":/data") for volume in SERVICES["valkey"]["volumes"])


# --- the nodes and what stands before them ----------------------------------------------------------------------------


def test_every_flag_is_one_of_our_commands() -> None:
    (default,) = instructions("CMD")
    commands = [yaml.safe_load(default), *(SERVICES[name]["command"] for name in ("node1", "auditor", "bots"))]
    for command in commands:
        known = help_of(command[0])
        assert flags(command)
        assert [flag for flag in flags(command) if not re.search(rf"{flag}\b", known)] == []


def test_the_nodes_settings_can_be_and_fit_the_rest() -> None:
    for node in NODES.values():
        (config,) = mounts(node).values()
        given = gather({"config": str(config)}, node["environment"])
        settings = given.settings()
        assert urlsplit(settings.store).hostname in SERVICES
        assert settings.admin is not None
        assert f"http://127.0.0.1:{settings.admin[1]}/healthz" in " ".join(node["healthcheck"]["test"])
        (network,) = given.values["trusted_proxies"]
        (subnet,) = (part["subnet"] for part in COMPOSE["networks"]["house"]["ipam"]["config"])
        assert str(network) == subnet
        assert not any(ip_address("172.17.0.1") in ip_network(name) for name in [subnet])  # Docker's own, in the way
        assert settings.store.startswith("redis://")
        assert f"keys:{settings.data}" in node["volumes"]  # the same key for all of them
        assert node["stop_grace_period"] == "30s"


def test_the_proxy_knows_every_node_and_asks_whether_it_is_ready() -> None:
    text = (ROOT / "deploy" / "haproxy.cfg").read_text()
    servers = dict(re.findall(r"^\s+server (\w+) (\S+)$", text, re.MULTILINE))
    assert servers == {name: f"{name}:8765" for name in NODES}
    assert "option httpchk GET /readyz" in text
    assert re.search(r"timeout tunnel +1h", text)
    assert "option forwardfor" in text  # the limits of the nodes are each patron's own


def test_prometheus_scrapes_every_node_and_the_auditor() -> None:
    config = yaml.safe_load((ROOT / "deploy" / "prometheus.yml").read_text())
    targets = {job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]}
    assert targets == {"punto": [f"{name}:9464" for name in NODES], "punto-auditor": ["auditor:9464"]}
    inside = mounts(SERVICES["prometheus"])
    assert set(config["rule_files"]) <= set(inside)
    assert f"--config.file={next(iter(inside))}" in SERVICES["prometheus"]["command"]


def test_grafana_finds_prometheus_and_the_dashboard() -> None:
    (source,) = yaml.safe_load((ROOT / "deploy" / "grafana" / "datasources.yml").read_text())["datasources"]
    assert urlsplit(source["url"]).hostname in SERVICES
    (provider,) = yaml.safe_load((ROOT / "deploy" / "grafana" / "dashboards.yml").read_text())["providers"]
    assert any(inside.startswith(provider["options"]["path"]) for inside in mounts(SERVICES["grafana"]))
