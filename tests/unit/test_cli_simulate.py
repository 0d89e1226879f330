"""`punto simulate`: counts that add up, a seed that repeats and is never told, chance without one."""

import json
from typing import Any

import pytest

from client_sdk.game.variants import VARIANTS
from tests.support.cli_run import Done, punto


def simulate(*words: str) -> Done:
    return punto("simulate", *words)


def simulated(variant: str, rounds: int, *words: str) -> Any:
    done = simulate("--variant", variant, "--rounds", str(rounds), "--json", *words)
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", VARIANTS)
def test_counts_add_up(name: str) -> None:
    told = simulated(name, 500)
    assert (told["variant"], told["rounds"], told["test_mode"]) == (name, 500, False)
    assert sum(told["outcomes"].values()) == sum(told["cards"].values()) == 500
    assert list(told["outcomes"]) == ["player", "banker", "tie"]
    assert list(told["cards"]) == ["4", "5", "6"]
    naturals = told["naturals"]
    assert max(naturals["player"], naturals["banker"]) <= naturals["either"]
    assert naturals["either"] <= min(naturals["player"] + naturals["banker"], told["cards"]["4"])
    assert told["shoes"] == 500 if VARIANTS[name].shuffles_every_round else 6 <= told["shoes"] <= 7


def test_bl_006_shares_of_a_long_run() -> None:
    """BL-006: banker before player before tie, each within four sigma of its exact share."""
    told = simulated("royal", 100_000, "--seed", "long run")
    assert told["test_mode"] is True
    for outcome, share in {"banker": 0.4586, "player": 0.4462, "tie": 0.0952}.items():
        assert abs(told["outcomes"][outcome] / 100_000 - share) < 0.0064
    assert 1_220 <= told["shoes"] <= 1_240


def test_bl_037_a_seed_repeats_a_run_is_marked_and_is_never_told() -> None:
    """BL-037: a seed works in a marked test mode only and is never printed; without one no two runs are alike."""
    seeded = ["--variant", "red-lounge", "--rounds", "2000", "--seed", "open-sesame"]
    first, again = simulate(*seeded), simulate(*seeded)
    assert first.stdout == again.stdout
    assert "test mode" in first.stdout
    assert "sesame" not in first.stdout + simulate(*seeded, "--json").stdout
    assert simulate(*seeded[:-1], "another").stdout != first.stdout
    assert simulated("red-lounge", 2000) != simulated("red-lounge", 2000)


def test_a_text_for_people() -> None:
    lines = simulate("--variant", "royal", "--rounds", "1", "--seed", "x").stdout.splitlines()
    assert lines[0] == "Royal Baccarat: 1 rounds from 1 shoes (test mode: seeded)"
    assert len(lines) == 12


@pytest.mark.parametrize("rounds", ["0", "-5", "", "1.5", "1e3", "many", "1000000001", "9" * 5000])
def test_asked_wrongly_is_one_line(rounds: str) -> None:
    done = simulate("--variant", "royal", "--rounds", rounds)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("punto: the number of rounds must be an integer from 1 to 1000000000")
    assert done.stderr.count("\n") == 1
