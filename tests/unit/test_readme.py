"""The first page says what is true: its tables, its example and its links are checked against the code."""

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from client_sdk.cli import COMMANDS
from client_sdk.game.variants import VARIANTS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def rows(first_column: str) -> dict[str, list[str]]:
    """The table under that heading: first cell (without backticks) -> other cells."""
    _, _, rest = README.partition(f"| {first_column} |")
    table, _, _ = rest.partition("\n\n")
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()[2:]]
    return {first.strip("`"): others for first, *others in cells}


def test_the_houses_are_the_variants() -> None:
    told = rows("variant")
    assert told.keys() == VARIANTS.keys()
    for name, (decks, shuffle, commission, tie_pays, _bets) in told.items():
        variant = VARIANTS[name]
        assert int(decks) == variant.decks
        assert shuffle == ("every round" if variant.shuffles_every_round else "at the cut card")
        assert commission == f"{variant.commission_bp // 100} %"
        assert tie_pays == ("no tie bet" if variant.tie_pays is None else f"{variant.tie_pays} to 1")


def test_the_options_are_those_of_serve() -> None:
    run = "import sys; from server.cli import main; sys.exit(main(['serve', '--help']))"
    answer = subprocess.run(
        [sys.executable, "-c", run], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    told = rows("option")
    listed = dict(re.findall(r"^ +(--[\w-]+)(.*(?:\n {20,}.*)*)", answer.stdout.partition("options:")[2], re.MULTILINE))
    assert {option.split()[0] for option in told} == listed.keys()
    for option, (_meaning, default) in told.items():
        found = re.search(r"\(([\w.:]+)\)\s*$", listed[option.split()[0]])
        if found:
            assert default.strip("`") == found[1], option


def test_every_command_of_punto_is_told() -> None:
    assert list(rows("`punto`")) == list(COMMANDS)


def test_the_example_uses_what_the_sdk_has() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    tree = ast.parse(example)
    sdk = importlib.import_module("client_sdk")
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names]
    used = [
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    ]
    assert imported
    assert [name for name in imported if not hasattr(sdk, name)] == []
    homes = {"client_sdk": sdk, "client": sdk.Client, "table": sdk.Table, "Spot": sdk.Spot, "messages": sdk.messages}
    known = [(home, name) for home, name in used if home in homes]
    assert known
    assert [(home, name) for home, name in known if not hasattr(homes[home], name)] == []


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md")))])
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)", text) if "://" not in link]
    assert [link for link in links if not ((ROOT / page).parent / link).exists()] == []
