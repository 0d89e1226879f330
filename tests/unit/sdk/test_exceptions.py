"""Errors: one class a code, data in, a sentence out, and never a token in it."""

import copy
import pickle
from typing import Any

import pytest

from client_sdk import exceptions
from client_sdk.exceptions import (
    ActRefused,
    BettingClosed,
    ClientClosed,
    ClientFailed,
    ClockUnknown,
    Disconnected,
    IdentityRefused,
    MessageRefused,
    NotNow,
    ProtocolMismatch,
    PuntoError,
    Refused,
    RoundDisputed,
    ServerFailed,
    TableRefused,
    TimedOut,
    TooMuchWaiting,
    Unreachable,
    refusal_class,
    refusal_of,
)
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import Error
from client_sdk.session import Identity


def error(code: int, **changes: Any) -> Error:
    return Error(request_id="r", code=code, name="NAME", message="the sentence", **changes)


@pytest.mark.parametrize("code", ErrorCode)
def test_every_code_has_a_class_named_like_it(code: ErrorCode) -> None:
    kind = refusal_class(code)
    assert code == kind.CODE
    assert kind.__name__ == "".join(word.capitalize() for word in code.name.split("_"))
    assert type(refusal_of(error(code))) is kind


@pytest.mark.parametrize(
    ("code", "family"),
    [
        (1999, MessageRefused),
        (2099, TableRefused),
        (2199, ActRefused),
        (2200, Refused),
        (3999, IdentityRefused),
        (4999, NotNow),
        (5999, ServerFailed),
        (17, Refused),
        (9000, Refused),
    ],
)
def test_an_unknown_code_gives_the_class_of_its_range(code: int, family: type[Refused]) -> None:
    assert refusal_class(code) is family


@pytest.mark.parametrize("code", ErrorCode)
def test_every_refusal_belongs_to_the_family_of_its_range(code: ErrorCode) -> None:
    family = next(kind for codes, kind in exceptions._RANGES if code in codes)
    assert issubclass(refusal_class(code), family)


def test_a_refusal_keeps_what_the_server_told() -> None:
    refusal = refusal_of(error(2102, field="chip", arrived_at_ms=1_250, closed_at_ms=1_000))
    assert isinstance(refusal, BettingClosed)
    assert (refusal.code, refusal.name, refusal.message, refusal.field) == (2102, "NAME", "the sentence", "chip")
    assert (refusal.arrived_at_ms, refusal.closed_at_ms, refusal.late_ms) == (1_250, 1_000, 250)
    assert str(refusal) == "the sentence (chip), 250 ms late [2102 NAME]"


def test_lateness_is_told_only_where_it_is_one() -> None:
    assert refusal_of(error(2101)).late_ms is None
    assert "late" not in str(refusal_of(error(2101)))
    assert "late" not in str(refusal_of(error(2101, arrived_at_ms=5, closed_at_ms=10)))


@pytest.mark.parametrize("code", [4001, 4002, 4003, 4777])
def test_not_now_may_be_sent_again_whatever_the_flag_says(code: int) -> None:
    assert refusal_of(error(code, retry=False)).retry


def test_other_refusals_may_not() -> None:
    assert not refusal_of(error(2102)).retry
    assert refusal_of(error(2102, retry=True)).retry


EVERY_KIND = [
    refusal_of(error(2102, arrived_at_ms=2, closed_at_ms=1)),
    TimedOut("place", 500),
    Disconnected("dropped"),
    Disconnected("the node is leaving", 4000),
    Unreachable("ws://house:1", 500, "refused"),
    ClientClosed(),
    ProtocolMismatch("protocol 1", "protocol 2"),
    TooMuchWaiting(7),
    ClockUnknown(),
    RoundDisputed("royal-1", 4, ["the outcome is tie", "a payout"]),
    ClientFailed(),
]


@pytest.mark.parametrize("original", EVERY_KIND, ids=lambda kind: type(kind).__name__)
def test_errors_cross_processes_whole(original: PuntoError) -> None:
    for twin in (pickle.loads(pickle.dumps(original)), copy.copy(original)):
        assert type(twin) is type(original)
        assert vars(twin) == vars(original)
        assert str(twin) == str(original)
        assert str(twin)


def test_a_timeout_is_a_timeout_error() -> None:
    with pytest.raises(TimeoutError):
        raise TimedOut("join", 100)


def test_the_docstring_draws_the_whole_tree() -> None:
    drawn = exceptions.__doc__ or ""
    kinds = [kind for kind in vars(exceptions).values() if isinstance(kind, type) and issubclass(kind, PuntoError)]
    assert [kind.__name__ for kind in kinds if kind.__name__ not in drawn] == []


def test_an_identity_hides_its_token() -> None:
    assert "s3cret" not in repr(Identity(name="alice", token="s3cret"))
