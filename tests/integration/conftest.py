"""Real parts for integration tests: a node in its own process, an embedded Valkey for store tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.node_process import NodeProcess, running_node


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """One open node with short times for the whole run; a test that kills or changes it starts its own."""
    with running_node(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.fixture(scope="session")
def node_url(node: NodeProcess) -> str:
    """Where that node listens."""
    return node.url


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    """A directory for a node of the test's own."""
    return tmp_path / "data"
