"""Events that clients of one process share by their bytes."""

from client_sdk import known
from client_sdk.known import KnownEvents
from client_sdk.protocol.messages import Results, TableIdled

IDLED = TableIdled(table="t", seq=1, round=1)


def test_only_the_very_same_bytes_are_known() -> None:
    events = KnownEvents()
    events.keep(b"frame", IDLED)
    assert events.get(bytes(bytearray(b"frame"))) is IDLED
    assert events.get(b"frame.") is None
    assert events.get("frame") is None


def test_what_is_for_one_seat_is_not_kept() -> None:
    events = KnownEvents()
    events.keep(b"results", Results(table="t", round=1, outcome=None, bets={}, stack=1))
    assert events.get(b"results") is None


def test_a_long_frame_is_not_kept() -> None:
    """The bound counts frames, and a server may send long ones."""
    events = KnownEvents()
    for frame in (b"x" * (known.FRAME_CHARS_MAX + 1), "x" * (known.FRAME_CHARS_MAX + 1)):
        events.keep(frame, IDLED)
        assert events.get(frame) is None


def test_what_is_kept_is_bounded(monkeypatch) -> None:
    monkeypatch.setattr(known, "FRAMES_MAX", 3)
    events = KnownEvents()
    for number in range(9):
        events.keep(b"%d" % number, IDLED)
    assert [events.get(b"%d" % number) is IDLED for number in range(9)] == [False] * 6 + [True] * 3
