"""What may come in, counted: buckets, addresses behind proxies, origins, half-open sockets."""

import pytest

from client_sdk.protocol.errors import ErrorCode
from server.addresses import counted_address, is_allowed_origin, networks
from server.buckets import BURST_S, KEYS_MAX, Buckets
from server.cli import main
from server.doors import HALF_OPEN_PER_ADDRESS_MAX, Doors
from server.settings import DoorLimits


class Clock:
    """Time that a test moves."""

    def __init__(self) -> None:
        self.s = 1_000.0

    def __call__(self) -> float:
        return self.s


def test_a_bucket_gives_a_burst_and_then_its_rate() -> None:
    clock = Clock()
    buckets = Buckets(5, clock)
    assert sum(buckets.take("a") for _ in range(200)) == 5 * BURST_S
    assert buckets.take("b"), "another key has its own"
    clock.s += 1
    assert sum(buckets.take("a") for _ in range(200)) == 5
    clock.s += 10 * BURST_S
    assert sum(buckets.take("a") for _ in range(200)) == 5 * BURST_S, "never more than a burst"


def test_buckets_of_strangers_do_not_pile_up() -> None:
    clock = Clock()
    buckets = Buckets(1, clock)
    for n in range(KEYS_MAX):
        buckets.take(f"old {n}")
    clock.s += BURST_S
    buckets.take("new")
    assert repr(buckets) == "<Buckets 1/s keys=1>"
    for n in range(3 * KEYS_MAX):  # all at once: the older half goes
        buckets.take(f"now {n}")
    assert int(repr(buckets).rpartition("=")[2][:-1]) <= KEYS_MAX


PROXIES = networks(["10.0.0.0/8", "2001:db8:1::/48", "127.0.0.1"])


@pytest.mark.parametrize(
    ("peer", "forwarded", "counted"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),  # no proxy of ours: what it says is its own invention
        ("10.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["6.6.6.6, 198.51.100.1"], "198.51.100.1"),  # what stands before it was written by anybody
        ("10.0.0.1", ["6.6.6.6", "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("10.0.0.1", ["198.51.100.1:4711"], "198.51.100.1"),
        ("10.0.0.1", ["[2001:db8:2:3:4::5]:4711"], "2001:db8:2:3::/64"),
        ("10.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("10.0.0.1", ["rubbish"], ""),
        ("10.0.0.1", [], "10.0.0.1"),
        ("2001:db8:2:3::9", [], "2001:db8:2:3::/64"),
        ("fe80::1%eth0", [], "fe80::/64"),
        ("127.0.0.1", [], ""),
        ("::1", [], ""),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        (None, [], ""),
    ],
)
def test_the_address_that_counts(peer: str | None, forwarded: list[str], counted: str) -> None:
    assert counted_address(peer, forwarded, PROXIES) == counted


@pytest.mark.parametrize(
    ("origins", "host", "allowed", "is_let_in"),
    [
        ([], "play.example", [], True),
        (["https://play.example"], "play.example", [], True),
        (["https://play.example"], "PLAY.example:443", [], True),
        (["http://127.0.0.1:8765"], "127.0.0.1:8765", [], True),
        (["http://[::1]:8765"], "[::1]:8765", [], True),
        (["https://play.example"], "play.example:8443", [], False),
        (["https://evil.example"], "play.example", [], False),
        (["https://play.example.evil.example"], "play.example", [], False),
        (["null"], "play.example", [], False),
        ([""], "", [], False),
        (["https://play.example:x"], "play.example", [], False),
        (["https://play.example", "https://evil.example"], "play.example", [], False),
        (["https://site.example"], "play.example", ["https://site.example"], True),
        (["https://SITE.example"], "play.example", ["https://site.example"], True),
        (["https://play.example"], "play.example", ["https://site.example"], False),
        (["https://site.example.evil"], "play.example", ["https://site.example"], False),
        (["null"], "play.example", ["*"], True),
        ([], "play.example", ["https://site.example"], True),
    ],
)
def test_which_pages_may_connect(origins: list[str], host: str, allowed: list[str], is_let_in: bool) -> None:
    assert is_allowed_origin(origins, host, allowed) is is_let_in


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        ("--tls-cert /nowhere/cert.pem", "--tls-key: is needed beside --tls-cert"),
        ("--tls-key /nowhere/key.pem", "--tls-cert: is needed beside --tls-key"),
        ("--tls-cert /nowhere/cert.pem --tls-key /dev/null", "--tls-cert: /nowhere/cert.pem: No such file"),
        ("--tls-cert /dev/null --tls-key /dev/null", "--tls-cert: /dev/null and /dev/null: no pair"),
        ("--allowed-origins play.example", "--allowed-origins: origins such as"),
        ("--allowed-origins https://play.example/page", "--allowed-origins: origins such as"),
        ("--trusted-proxies 10.0.0.1/8", "--trusted-proxies: addresses or networks"),
        ("--connections-max 0", "--connections-max: 0 is not between"),
        ("--outboxes-bytes-max 600000", "--outboxes-bytes-max: leaves no room"),
    ],
)
def test_a_mistake_is_one_line(capfd: pytest.CaptureFixture[str], flags: str, named: str) -> None:
    assert main(["serve", "--open", *flags.split()]) == 2
    err = capfd.readouterr().err
    assert err.startswith(f"punto-server: {named}")
    assert err.count("\n") == 1


def test_a_flood_of_sockets_is_let_in_at_a_pace() -> None:
    doors = Doors(DoorLimits(node_opens_per_s=30))
    assert 30 <= sum(doors.has_room() for _ in range(5_000)) < 60, "a second's worth, and what flowed in meanwhile"


class Sock:
    """A half-open socket."""

    def __init__(self) -> None:
        self.is_cut = False

    def abort(self) -> None:
        self.is_cut = True


def test_the_oldest_half_open_socket_makes_room() -> None:
    doors = Doors(DoorLimits(handshakes_max=3))
    socks = [Sock() for _ in range(5)]
    assert all(doors.knock(sock, "127.0.0.1") for sock in socks)
    assert [sock.is_cut for sock in socks] == [True, True, False, False, False]
    assert doors.half_open == 3
    for sock in socks:
        doors.settle(sock)
        doors.settle(sock)
    assert doors.half_open == 0
    assert doors.refused["HALF_OPEN"] == 2


def test_one_address_does_not_push_the_others_out() -> None:
    doors = Doors(DoorLimits(handshakes_max=1_000))
    let_in = sum(doors.knock(Sock(), "203.0.113.7") for _ in range(5_000))
    assert let_in == HALF_OPEN_PER_ADDRESS_MAX
    assert doors.knock(Sock(), "198.51.100.1")


def test_connections_are_counted_for_address_node_and_patron() -> None:
    limits = DoorLimits(connections_max=4, connections_per_address=2, connections_per_patron=2, address_opens_per_s=100)
    doors = Doors(limits)
    for _ in range(2):
        assert doors.refusal("203.0.113.7") is None
        doors.enter("203.0.113.7")
    assert doors.refusal("203.0.113.7") is ErrorCode.TOO_MANY_CONNECTIONS
    for _ in range(2):
        assert doors.refusal("") is None
        doors.enter("")
    assert doors.refusal("198.51.100.1") is ErrorCode.TOO_MANY_CONNECTIONS
    assert [doors.admit_patron("ann") for _ in range(3)] == [True, True, False]
    doors.leave("203.0.113.7")
    assert doors.refusal("203.0.113.7") is None
    assert not doors.admit_patron("ann")
    doors.dismiss_patron("ann")
    assert doors.admit_patron("ann")
    for address in ("203.0.113.7", "", ""):
        doors.leave(address)
    assert doors.open == 0


def test_requests_are_counted_for_patron_address_and_node() -> None:
    doors = Doors(DoorLimits(patron_requests_per_s=2, address_requests_per_s=3, node_requests_per_s=5))
    assert sum(doors.may_ask("ann", "203.0.113.7") for _ in range(100)) == 20
    assert sum(doors.may_ask("bob", "203.0.113.7") for _ in range(100)) == 10, "what the address has left"
    assert sum(doors.may_ask("eve", "") for _ in range(100)) == 20, "this machine's own address is not counted"
    assert doors.may_ask("new", "") is False, "the node has had 50"
