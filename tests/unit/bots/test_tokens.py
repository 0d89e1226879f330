"""Guest tokens in a file: kept, private, whole."""

import json
import stat
from pathlib import Path

import pytest

from client_sdk.bots.tokens import FILE_BYTES_MAX, TokenFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens.json"


def test_a_second_run_finds_them(path: Path) -> None:
    first = TokenFile(path)
    assert first.get("a") is None
    first.keep("a", "secret")
    first.keep("b", "other")
    first.forget("b")
    second = TokenFile(path)
    assert (second.get("a"), second.get("b")) == ("secret", None)


def test_only_the_owner_may_read_them(path: Path) -> None:
    TokenFile(path).keep("a", "secret")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    TokenFile(path).keep("a", "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_file_is_replaced_whole(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.keep("a", "secret")
    before = path.stat().st_ino
    tokens.keep("b", "other")
    assert path.stat().st_ino != before
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_written_where_nothing_changed(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.keep("a", "secret")
    before = path.stat().st_mtime_ns
    tokens.keep("a", "secret")
    tokens.forget("unknown")
    assert path.stat().st_mtime_ns == before


@pytest.mark.parametrize("content", ["", "[]", "{", '"text"', "\x00"])
def test_a_file_that_holds_something_else_counts_as_empty(path: Path, content: str) -> None:
    path.write_text(content)
    tokens = TokenFile(path)
    assert tokens.get("a") is None
    tokens.keep("a", "secret")
    assert json.loads(path.read_text()) == {"a": "secret"}


def test_what_is_no_token_is_passed_over(path: Path) -> None:
    path.write_text('{"a": 1, "b": "secret"}')
    tokens = TokenFile(path)
    assert (tokens.get("a"), tokens.get("b")) == (None, "secret")


def test_a_huge_file_is_not_read(path: Path) -> None:
    path.write_bytes(b" " * (FILE_BYTES_MAX + 1))
    assert TokenFile(path).get("a") is None


def test_without_a_file_they_live_as_long_as_the_process(tmp_path: Path) -> None:
    tokens = TokenFile(None)
    tokens.keep("a", "secret")
    assert tokens.get("a") == "secret"
    assert list(tmp_path.iterdir()) == []


def test_its_text_holds_no_token(path: Path) -> None:
    tokens = TokenFile(path)
    tokens.keep("a", "secret")
    assert "secret" not in repr(tokens)
