"""Defaults, under a file, under the environment, under flags; every mistake by its name, and no secret told."""

import tomllib
from collections.abc import Mapping
from pathlib import Path

import pytest

from server.cli import main
from server.options import listing, sameness
from server.options.catalogue import OPTIONS, Same
from server.options.kinds import Address
from server.options.sources import Given, gather
from server.settings import BadSetting

GEHEIM = "geheim/@:wort"


def given(tmp_path: Path, file: str | bytes = "", *, flags: Mapping[str, object] = {}, **variables: str) -> Given:
    """Read these sources; the file lies in `punto.toml` if there is any."""
    config = tmp_path / "punto.toml"
    config.write_bytes(file.encode() if isinstance(file, str) else file)
    return gather({**({"config": str(config)} if file else {}), **flags}, variables)


def mistake(
    tmp_path: Path,
    file: str | bytes = "",
    *,
    flags: Mapping[str, object] = {},
    variables: Mapping[str, str] = {},
) -> str:
    """What is wrong with these sources, without the directory."""
    with pytest.raises(BadSetting) as bad:
        given(tmp_path, file, flags={"open": True, **flags}, **variables).settings()
    told = str(bad.value)
    assert "\n" not in told
    return told.replace(f"{tmp_path}/", "")


def test_without_anything_all_are_defaults(tmp_path: Path) -> None:
    found = given(tmp_path)
    assert found.values == {key: option.default for key, option in OPTIONS.items()}
    assert set(found.origins.values()) == {"default"}


def test_each_source_goes_over_the_one_before(tmp_path: Path) -> None:
    file = 'betting_ms = 1000\ncard_ms = 10\nresult_ms = 20\nchips = [100, 200]\nlisten = "[::1]:9000"\nopen = true\n'
    found = given(
        tmp_path,
        file,
        flags={"result_ms": "25", "open": False},
        PUNTO_CARD_MS="15",
        PUNTO_RESULT_MS="24",
        PUNTO_SEATS_MAX="7",
        HOME="/",
    )
    values, origins = found
    assert (values["betting_ms"], origins["betting_ms"]) == (1_000, f"{tmp_path}/punto.toml: betting_ms")
    assert (values["card_ms"], origins["card_ms"]) == (15, "PUNTO_CARD_MS")
    assert (values["result_ms"], origins["result_ms"]) == (25, "--result-ms")
    assert (values["seats_max"], origins["seats_max"]) == (7, "PUNTO_SEATS_MAX")
    assert (values["open"], origins["open"]) == (False, "--open")
    assert values["chips"] == (100, 200)
    assert values["listen"] == Address("::1", 9_000)
    assert gather({}, {"PUNTO_CHIPS": "5,10", "PUNTO_OPEN": "True"}).values["chips"] == (5, 10)


def test_the_environment_may_name_the_file_and_files_of_single_values(tmp_path: Path) -> None:
    config, secret = tmp_path / "a.toml", tmp_path / "url"
    config.write_text("card_ms = 11")
    secret.write_text(f"redis://:{GEHEIM}@store:6379\n")
    found = gather({}, {"PUNTO_CONFIG": str(config), "PUNTO_STORE_FILE": str(secret)})
    assert found.values["card_ms"] == 11
    assert found.values["store"] == f"redis://:{GEHEIM}@store:6379"
    assert found.origins["store"] == "PUNTO_STORE_FILE"
    assert gather({"config": "/dev/null"}, {"PUNTO_CONFIG": str(config)}).values["card_ms"] == 700


@pytest.mark.parametrize(
    ("file", "told"),
    [
        ("bettin_ms = 5", "punto.toml: bettin_ms: no such setting; did you mean betting_ms?"),
        ("colour = 5", "punto.toml: colour: no such setting"),
        ("[listen_]\nx = 1", "punto.toml: listen_: no such section; did you mean listen?"),
        ("[listen]\nx = 1", "punto.toml: listen: not HOST:PORT: {'x': 1}"),
        ("betting_ms = 99", "punto.toml: betting_ms: 99 is not between 100 and 600000 ms"),
        ("betting_ms = 1.5", "punto.toml: betting_ms: a whole number is wanted, not 1.5"),
        ("betting_ms = true", "punto.toml: betting_ms: a whole number is wanted, not True"),
        ("open = 1", "punto.toml: open: 1 is neither true nor false"),
        ("chips = 5", "punto.toml: chips: amounts with commas between them are wanted, not 5"),
        ("chips = [[5]]", "punto.toml: chips: amounts with commas between them are wanted, not [[5]]"),
        ('data = ""', "punto.toml: data: a path is wanted, not ''"),
        ('currency = "euro"', "punto.toml: currency: three capitals is wanted, not 'euro'"),
        ("minimum = 20000", "punto.toml: minimum: 20000 is above the maximum on tie, 10000"),
        ("renew_ms = 500", "punto.toml: renew_ms: 500 ms leaves no 3 renewals within --lease-ms 1200"),
        (
            "workers = 2\nlisten = 'a:0'",
            "punto.toml: workers: needs a port of its own in --listen, which all of them share",
        ),
        ("betting_ms = ", "punto.toml: not TOML: Invalid value (at end of document)"),
        (
            "betting_ms = 1000\nbetting_ms = 1000",
            "punto.toml: not TOML: Cannot overwrite a value (at end of document)",
        ),
        (b"\xff\xfe", "punto.toml: not text"),
        (b"#" * 300_000, "punto.toml: more than 262144 bytes"),
    ],
)
def test_a_mistake_in_the_file_is_named(tmp_path: Path, file: str | bytes, told: str) -> None:
    assert mistake(tmp_path, file) == told


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"PUNTO_BETTIN_MS": "5"}, "PUNTO_BETTIN_MS: no such variable; did you mean PUNTO_BETTING_MS?"),
        ({"PUNTO_STORE_FIL": "/x"}, "PUNTO_STORE_FIL: no such variable; did you mean PUNTO_STORE_FILE?"),
        ({"PUNTO_BETTING_MS": "soon"}, "PUNTO_BETTING_MS: a whole number is wanted, not 'soon'"),
        ({"PUNTO_MINIMUM": "20000"}, "PUNTO_MINIMUM: 20000 is above the maximum on tie, 10000"),
        ({"PUNTO_STORE": "a\nb"}, "PUNTO_STORE: text is wanted, not 'a\\nb'"),
        ({"PUNTO_STORE_FILE": "/nowhere/url"}, "PUNTO_STORE_FILE: /nowhere/url: No such file or directory"),
        (
            {"PUNTO_CARD_MS": "1", "PUNTO_CARD_MS_FILE": "/x"},
            "PUNTO_CARD_MS_FILE: card_ms is given twice in the environment",
        ),
        ({"PUNTO_CONFIG": "/nowhere/p.toml"}, "/nowhere/p.toml: No such file or directory"),
        ({"PUNTO_CONFIG": "/"}, "/: Is a directory"),
    ],
)
def test_a_mistake_in_the_environment_is_named(tmp_path: Path, variables: dict[str, str], told: str) -> None:
    assert mistake(tmp_path, variables=variables) == told


def test_variables_that_a_platform_sets_are_no_mistakes() -> None:
    platform = {"PUNTO_SERVICE_HOST": "10.0.0.1", "PUNTO_PORT_8765_TCP": "tcp://10.0.0.1:8765", "PUNTO_TEST_STORE": ""}
    assert set(gather({}, platform).origins.values()) == {"default"}


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"lease_ms": "600", "renew_ms": "201"}, "--renew-ms: 201 ms leaves no 3 renewals within --lease-ms 600"),
        (
            {"confirm_replicas": "1", "confirm_ms": "3000"},
            "--confirm-ms: 3000 ms is no less than --store-ms 3000: every wait for a replica would be cut short",
        ),
        ({"stacked_shoe": "x", "open": False}, "--stacked-shoe: only in open play (--open)"),
    ],
)
def test_what_does_not_fit_together_is_named(tmp_path: Path, flags: dict[str, object], told: str) -> None:
    assert mistake(tmp_path, flags=flags) == told


# --- printed ----------------------------------------------------------------------------------------------------------


def test_what_is_printed_is_a_file_that_says_the_same(tmp_path: Path) -> None:
    found = given(tmp_path, "card_ms = 10", flags={"open": True, "chips": "100,200"}, PUNTO_CURRENCY="EUR")
    text = "\n".join(listing.lines_of(found))
    assert gather({}, {}) != found
    printed = tmp_path / "printed.toml"
    printed.write_text(text)
    assert gather({"config": str(printed)}, {}).values == found.values
    origins = {line.split(" ")[0]: line.rpartition("# ")[2] for line in text.splitlines()}
    assert origins["card_ms"] == f"{tmp_path}/punto.toml: card_ms"
    assert (origins["chips"], origins["currency"], origins["result_ms"]) == ("--chips", "PUNTO_CURRENCY", "default")


@pytest.mark.parametrize(
    "url",
    [
        f"redis://:{GEHEIM}@store:6379/0",
        f"rediss://user:{GEHEIM}@store",
        f"redis+sentinel://:{GEHEIM}@a:1,b:2/punto",
        "redis://store:6379?password=geheim",
    ],
)
def test_no_password_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], url: str) -> None:
    monkeypatch.setenv("PUNTO_STORE", url)
    assert main(["settings", "--open"]) == 0
    out = capsys.readouterr().out
    assert "geheim" not in out
    assert "wort" not in out
    assert "***" in tomllib.loads(out)["store"]


def test_a_secret_is_shown_to_nobody_and_compared_by_its_hash() -> None:
    secret = OPTIONS["currency"]._replace(key="secret", is_secret=True)
    assert listing.masked(secret, GEHEIM) == "***"
    told = sameness._told(secret, GEHEIM)
    assert told.startswith("sha256:")
    assert "geheim" not in told
    assert told != sameness._told(secret, GEHEIM + "!")


def test_what_must_be_the_same_is_told_and_nothing_else(tmp_path: Path) -> None:
    shoe = tmp_path / "shoe"
    shoe.write_text("K 9 K K\n")
    found = given(tmp_path, flags={"open": True, "stacked_shoe": str(shoe)})
    told = sameness.told(found)
    assert told.of_store == {"open": "true", "currency": '"PTO"', "exponent": "2"}
    assert told.of_nodes.keys() == {key for key, option in OPTIONS.items() if option.same is Same.NODES}
    assert told.of_nodes["stacked_shoe"].startswith("sha256:")
    assert "listen" not in told.of_nodes
