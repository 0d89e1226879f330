"""Who may import whom: the contracts of pyproject.toml, and what they cannot see.

Every law is also broken on purpose in a small tree, so that none of them can pass because it looks at nothing.
"""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]

# fmt: off
PURE_STANDARD_LIBRARY = frozenset({
    "__future__", "abc", "bisect", "collections", "copy", "dataclasses", "enum", "fractions", "functools", "hashlib",
    "heapq", "hmac", "itertools", "math", "operator", "re", "string", "struct", "textwrap", "types", "typing",
})
# fmt: on
"""What the rules may use: nothing here knows the time, throws dice or leaves the process."""

PURE = {
    "client_sdk/game": PURE_STANDARD_LIBRARY | {"client_sdk.game"},
    "server/table": PURE_STANDARD_LIBRARY | {"client_sdk.game", "client_sdk.protocol", "msgspec", "server.table"},
}
IMPURE_BUILTINS = frozenset(
    {"open", "print", "input", "exec", "eval", "compile", "__import__", "breakpoint", "id", "hash"}
)

# A small tree that keeps every law, and for each contract a file that breaks it.
LAWFUL = {
    "client_sdk/__init__.py": "",
    "client_sdk/game/__init__.py": "",
    "client_sdk/game/rules.py": "import math\n",
    "client_sdk/protocol/__init__.py": "from client_sdk.game import rules\n",
    "client_sdk/client.py": "import client_sdk.protocol\n",
    "client_sdk/mirror.py": "import client_sdk.protocol\n",
    "client_sdk/clock.py": "import time\n",
    "client_sdk/bots/__init__.py": "import client_sdk.client\n",
    "client_sdk/cli.py": "import client_sdk.bots\n",
    "server/__init__.py": "",
    "server/table/__init__.py": "import client_sdk.game.rules\n",
    "server/store/__init__.py": "import redis.asyncio\n",
    "server/dealer.py": "import server.store\nimport asyncio\n",
}
BREACHES = [
    ("sdk-knows-no-server", "client_sdk/mirror.py", "def late():\n    import server.table\n"),
    ("sdk-layers", "client_sdk/game/rules.py", "import client_sdk.protocol\n"),
    ("sdk-layers", "client_sdk/protocol/__init__.py", "import client_sdk.client\n"),
    ("sdk-layers", "client_sdk/client.py", "import client_sdk.bots\n"),
    ("sdk-layers", "client_sdk/bots/__init__.py", "import client_sdk.cli\n"),
    ("sdk-layers", "client_sdk/without_a_layer.py", ""),
    ("rules-are-pure", "client_sdk/game/rules.py", "from random import shuffle\n"),
    ("rules-are-pure", "client_sdk/game/rules.py", "from os.path import join\n"),
    ("rules-are-pure", "server/table/__init__.py", "def now():\n    import time\n"),
    ("rules-are-pure", "server/table/__init__.py", "import server.dealer\n"),
    ("store-owns-the-driver", "server/dealer.py", "from redis.asyncio import Redis\n"),
    ("store-owns-the-driver", "client_sdk/clock.py", "import redis\n"),
]


def lint(tree: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Run import-linter over a tree with our contracts, all of them or those named."""
    only = [word for contract in contracts for word in ("--contract", contract)]
    run = (
        "import sys; sys.path.insert(0, '.'); from importlinter.cli import lint_imports_command; lint_imports_command()"
    )
    return subprocess.run(
        [sys.executable, "-c", run, "--no-cache", *only, str(ROOT / "pyproject.toml")],
        cwd=tree,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )


def imported(source: str) -> Iterator[str]:
    """Every module that some line imports, at its full name, wherever the line stands."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def impurities(source: str, allowed: frozenset[str]) -> list[str]:
    """What a pure module should not contain."""
    foreign = [
        name for name in imported(source) if not any(name == allow or name.startswith(f"{allow}.") for allow in allowed)
    ]
    called = [
        node.func.id
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in IMPURE_BUILTINS
    ]
    return foreign + called


def modules(folder: str) -> list[Path]:
    return sorted((ROOT / folder).rglob("*.py"))


def test_the_tree_keeps_every_contract() -> None:
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr
    assert f"Contracts: {len(CONTRACTS)} kept, 0 broken." in result.stdout


@pytest.fixture(scope="module")
def small_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("tree")
    for name, source in LAWFUL.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(source)
    return tree


def test_the_small_tree_keeps_every_contract(small_tree: Path) -> None:
    result = lint(small_tree)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(("contract", "file", "breach"), BREACHES)
def test_a_breach_is_seen(small_tree: Path, contract: str, file: str, breach: str) -> None:
    (small_tree / file).write_text(LAWFUL.get(file, "") + breach)
    try:
        result = lint(small_tree, contract)
    finally:
        if file in LAWFUL:
            (small_tree / file).write_text(LAWFUL[file])
        else:
            (small_tree / file).unlink()
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Contracts: 0 kept, 1 broken." in result.stdout


def test_every_contract_is_broken_by_some_breach() -> None:
    assert {contract["id"] for contract in CONTRACTS} == {contract for contract, _, _ in BREACHES}


@pytest.mark.parametrize("folder", PURE)
def test_pure_folders_hold_only_what_is_known_to_be_pure(folder: str) -> None:
    files = modules(folder)
    assert len(files) > 2
    found = {str(file.relative_to(ROOT)): impurities(file.read_text(), PURE[folder]) for file in files}
    assert {file: what for file, what in found.items() if what} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import time",
        "from os import path",
        "import collectionsx",
        "def f():\n    from random import random",
        "open('x')",
    ],
)
def test_an_impurity_is_seen(source: str) -> None:
    assert impurities(source, PURE_STANDARD_LIBRARY)


def test_the_driver_is_imported_by_the_store_and_only_there() -> None:
    importers = {
        str(file.relative_to(ROOT))
        for folder in ("client_sdk", "server")
        for file in modules(folder)
        if any(name.split(".")[0] in {"redis", "valkey"} for name in imported(file.read_text()))
    }
    assert importers
    assert all(importer.startswith("server/store/") for importer in importers)
