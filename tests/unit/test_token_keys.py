"""What a file of keys may be, and that no sentence about a bad one shows it."""

import json
from pathlib import Path
from typing import Any

import pytest

from server.cli import main
from server.commands.token import new_key
from server.token_keys import BadKeys, KeyRing, read_keys, read_signing_key

ED, ED_PUBLIC = new_key("EdDSA", "ed")
SECRET, _ = new_key("HS256", "secret")


def written(tmp_path: Path, content: Any) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("", "JSON"),
        ("[" * 100_000, "JSON"),
        ([], "keys"),
        ({"keys": []}, "keys"),
        ({"keys": [7]}, "no object"),
        ({"keys": [{**ED_PUBLIC, "kid": None}]}, "kid"),
        ({"keys": [{**ED_PUBLIC, "kid": "k" * 65}]}, "kid"),
        ({"keys": [{**ED_PUBLIC, "alg": None}]}, "alg"),
        ({"keys": [{**ED_PUBLIC, "alg": "none"}]}, "alg"),
        ({"keys": [{**ED_PUBLIC, "alg": "ES256"}]}, "alg"),
        ({"keys": [{**ED_PUBLIC, "alg": "HS256"}]}, "kty"),
        ({"keys": [{**ED_PUBLIC, "x": "AAAA"}]}, "can't be read"),
        ({"keys": [{**ED_PUBLIC, "x": 7}]}, "can't be read"),
        ({"keys": [{**SECRET, "k": "c2hvcnQ"}]}, "32 bytes"),
        ({"keys": [ED_PUBLIC, ED_PUBLIC]}, "twice"),
        ({"keys": [ED]}, "private"),
    ],
)
def test_a_bad_file_is_named_and_not_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], content: Any, named: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(BadKeys) as caught:
        read_keys(path)
    assert named in str(caught.value)
    assert main(["serve", "--token-keys", str(path)]) == 2
    err = capfd.readouterr().err
    assert err.startswith("punto-server: --token-keys: ")
    assert err.count("\n") == 1
    for secret in (ED["d"], ED["x"], SECRET["k"]):
        assert secret not in err


def test_small_rsa_keys_are_refused(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from jwt.algorithms import RSAAlgorithm

    small = RSAAlgorithm.to_jwk(generate_private_key(65_537, 1_024).public_key(), as_dict=True)
    with pytest.raises(BadKeys, match="bits"):
        read_keys(written(tmp_path, {"keys": [{**small, "kid": "small", "alg": "RS256"}]}))


def test_open_play_and_real_keys_never_go_together(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, {"keys": [ED_PUBLIC]})
    for flags in (
        ["--open"],
        ["--demo-bots"],
        ["--stacked-shoe", "x"],
        ["--token-issuer="],
        ["--token-leeway-ms", "-1"],
    ):
        assert main(["serve", "--token-keys", str(path), *flags]) == 2
        assert flags[0].partition("=")[0] in capfd.readouterr().err


def test_what_signs_is_read_only_where_it_can_sign(tmp_path: Path) -> None:
    assert read_signing_key(written(tmp_path, {"keys": [ED]}))[0] == "ed"
    assert read_signing_key(written(tmp_path, {"keys": [SECRET]}))[0] == "secret"
    for content in ({"keys": [ED_PUBLIC]}, {"keys": [ED, SECRET]}):
        with pytest.raises(BadKeys):
            read_signing_key(written(tmp_path, content))


def test_a_file_that_goes_bad_leaves_the_keys_as_they_were(tmp_path: Path) -> None:
    now_s = 0.0
    path = written(tmp_path, {"keys": [ED_PUBLIC]})
    ring = KeyRing(path, lambda: now_s)
    path.write_text("{")
    now_s = 10.0
    assert ring.key("ed") is not None
    written(tmp_path, {"keys": [{**ED_PUBLIC, "kid": "new"}]})
    assert ring.key("new") is None, "not looked at again yet"
    now_s = 20.0
    assert ring.key("new") is not None
    assert ring.key("ed") is None
    path.unlink()
    now_s = 30.0
    assert ring.key("new") is not None
