"""The container files, read as data: nothing floats, nothing secret, nothing that the programs do not know.

They are not built here (that takes Docker); what they name is checked against the code.
"""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml

from server.embedded.config import SETTINGS

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text()

PINNED = re.compile(r"[\w./-]+:\d+\.\d+\.\d+(-[\w.]+)?")
SECRET = re.compile(r"pass(word|wd)?\b|secret|token|api_?key|requirepass", re.IGNORECASE)
server_cli_exists = pytest.mark.skipif(importlib.util.find_spec("server.cli") is None, reason="server.cli is not there")


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


@pytest.fixture(scope="module")
def serve_help() -> str:
    run = "import sys; from server.cli import main; sys.exit(main(['serve', '--help']))"
    answer = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.mark.parametrize("name", SERVICES)
def test_every_service_has_a_pinned_image_and_a_health_check(name: str) -> None:
    service = SERVICES[name]
    assert PINNED.fullmatch(service["image"])
    check = service["healthcheck"]
    assert check["test"][0] == "CMD"
    assert {"interval", "timeout", "retries"} <= check.keys()


def test_base_images_are_pinned() -> None:
    images = [line.split()[0] for line in instructions("FROM")]
    assert len(images) == 2
    assert all(PINNED.fullmatch(image) for image in images)


def test_the_image_is_not_run_by_root_and_copies_only_what_is_there() -> None:
    last_stage = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (\S+)$", last_stage, re.MULTILINE) == ["punto"]
    sources = [word for line in instructions("COPY") if "--from" not in line for word in line.split()[:-1]]
    assert "constraints.txt" in sources
    assert [source for source in sources if not (ROOT / source).exists()] == []
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert let_in == set(sources)


def test_nothing_secret_is_inside() -> None:
    assert not SECRET.search((ROOT / "docker-compose.yml").read_text())
    assert not SECRET.search(DOCKERFILE)
    urls = [word for service in SERVICES.values() for word in service["command"] if "://" in word]
    assert urls
    assert [url for url in urls if urlsplit(url).password or urlsplit(url).username] == []


def test_open_play_is_reachable_from_this_machine_only() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_store_loses_no_more_than_the_bundled_one() -> None:
    given = {flag.removeprefix("--"): value for flag, value in flags(SERVICES["valkey"]["command"]).items()}
    assert given.keys() >= {"appendonly", "appendfsync", "save", "maxmemory-policy"}
    assert given.items() <= dict(SETTINGS).items()
    assert any(volume.endswith(":/data") for volume in SERVICES["valkey"]["volumes"])


def test_the_node_waits_for_a_healthy_store_and_names_it() -> None:
    node = SERVICES["node"]
    assert node["depends_on"] == {"valkey": {"condition": "service_healthy"}}
    assert urlsplit(flags(node["command"])["--store"]).hostname in SERVICES


@server_cli_exists
def test_every_flag_is_one_of_the_servers(serve_help: str) -> None:
    (default,) = instructions("CMD")
    command = yaml.safe_load(default)
    for used in (flags(command), flags(SERVICES["node"]["command"])):
        assert used
        assert [flag for flag in used if not re.search(rf"{flag}\b", serve_help)] == []


@pytest.mark.skipif(importlib.util.find_spec("server.gateway") is None, reason="server.gateway is not there")
def test_the_health_check_asks_for_a_page_that_exists() -> None:
    (path,) = re.findall(r"http://127\.0\.0\.1:8765(/\w+)", " ".join(SERVICES["node"]["healthcheck"]["test"]))
    spec = importlib.util.find_spec("server.gateway")
    assert spec is not None
    assert spec.origin is not None
    assert f'"{path}"' in Path(spec.origin).read_text()
