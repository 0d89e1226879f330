"""Signs of life: who is pinged when, and who is ended."""

import pytest

from server.keepalive import PING, look

INTERVAL_S, TIMEOUT_S = 10.0, 20.0


class Peer:
    def __init__(self) -> None:
        self.has_spoken = True
        self.pinged_at_s = 0.0
        self.pings = 0
        self.is_ended = False

    def probe(self, frame: bytes) -> None:
        assert frame == PING
        self.pings += 1

    def end_silent(self) -> None:
        self.is_ended = True


@pytest.fixture
def peer() -> Peer:
    return Peer()


def test_the_ping_is_a_whole_frame() -> None:
    assert PING == b"\x89\x05punto"


def test_who_speaks_is_pinged_once_an_interval(peer: Peer) -> None:
    for second in range(1, 61):
        look([peer], float(second), INTERVAL_S, TIMEOUT_S)
        peer.has_spoken = True
    assert (peer.pings, peer.is_ended) == (6, False)


def test_who_is_silent_is_ended_after_the_timeout_and_pinged_no_more(peer: Peer) -> None:
    ended_at_s = 0
    for second in range(1, 61):
        look([peer], float(second), INTERVAL_S, TIMEOUT_S)
        if peer.is_ended and not ended_at_s:
            ended_at_s = second
    assert (peer.pings, ended_at_s) == (1, 30)


def test_a_late_word_counts(peer: Peer) -> None:
    look([peer], 10.0, INTERVAL_S, TIMEOUT_S)
    peer.has_spoken = True
    look([peer], 29.9, INTERVAL_S, TIMEOUT_S)
    assert (peer.pings, peer.is_ended) == (2, False)
