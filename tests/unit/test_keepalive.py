"""Signs of life: who is pinged when, and who is ended."""

import pytest

from server.keepalive import LINES_A_TURN, PING, Keepalive

INTERVAL_S, TIMEOUT_S = 10.0, 20.0


class Peer:
    def __init__(self) -> None:
        self.has_spoken = True
        self.pings = 0
        self.is_ended = False

    def probe(self, frame: bytes) -> None:
        assert frame == PING
        self.pings += 1

    def end_silent(self) -> None:
        self.is_ended = True


@pytest.fixture
def keepalive() -> Keepalive:
    return Keepalive(INTERVAL_S, TIMEOUT_S)


@pytest.fixture
def peer(keepalive: Keepalive) -> Peer:
    peer = Peer()
    keepalive.enter(peer, 0.0)
    return peer


def test_the_ping_is_a_whole_frame() -> None:
    assert PING == b"\x89\x05punto"


def test_who_speaks_is_pinged_once_an_interval(keepalive: Keepalive, peer: Peer) -> None:
    for second in range(1, 61):
        keepalive.look(float(second))
        peer.has_spoken = True
    assert (peer.pings, peer.is_ended) == (6, False)


def test_who_is_silent_is_ended_after_the_timeout_and_pinged_no_more(keepalive: Keepalive, peer: Peer) -> None:
    ended_at_s = 0
    for second in range(1, 61):
        keepalive.look(float(second))
        if peer.is_ended and not ended_at_s:
            ended_at_s = second
    assert (peer.pings, ended_at_s) == (1, 30)


def test_a_late_word_counts(keepalive: Keepalive, peer: Peer) -> None:
    for second in (10.0, 20.0):
        keepalive.look(second)
    peer.has_spoken = True
    keepalive.look(29.9)
    assert (peer.pings, peer.is_ended) == (2, False)
    for second in (40.0, 49.8):
        keepalive.look(second)
    assert (peer.pings, peer.is_ended) == (2, False)
    keepalive.look(49.9)
    assert peer.is_ended


@pytest.mark.parametrize("until", [1, 15])
def test_who_has_left_is_left_alone(keepalive: Keepalive, peer: Peer, until: int) -> None:
    for second in range(until):
        keepalive.look(float(second))
    before = peer.pings
    keepalive.leave(peer)
    for second in range(until, 60):
        keepalive.look(float(second))
    assert (peer.pings, peer.is_ended) == (before, False)


def test_a_crowd_is_pinged_some_at_a_time_in_the_order_in_which_it_came(keepalive: Keepalive) -> None:
    crowd = [Peer() for _ in range(2 * LINES_A_TURN + 1)]
    for peer in crowd:
        keepalive.enter(peer, 0.0)
    assert [keepalive.look(INTERVAL_S) for _ in range(3)] == [True, True, False]
    assert [peer.pings for peer in crowd] == [1] * len(crowd)
    assert not keepalive.look(INTERVAL_S)
    assert keepalive.look(2 * INTERVAL_S)
    assert not any(peer.is_ended for peer in crowd)
