"""How much may come in: sockets and requests, counted for an address, a patron and the whole node.

Decides and counts; who is refused is told by `gateway.py` and `connection.py`. Half-open sockets that are too many make
room from the oldest on: an honest handshake takes milliseconds, so the oldest is not one. This machine's own address is
not counted: its limits are the patron's and the node's.
"""

import logging
from collections import Counter
from collections.abc import Sequence
from typing import Final, Protocol

from client_sdk.protocol.errors import ErrorCode
from server.addresses import counted_address, networks
from server.buckets import Buckets
from server.settings import DoorLimits

log = logging.getLogger(__name__)

HALF_OPEN_PER_ADDRESS_MAX: Final = 64
OPENS_BURST_S: Final = 1
"""A handshake costs a node a millisecond: so many at once may be late, but not everything behind them."""
_NODE: Final = ""


class HalfOpen(Protocol):
    """A socket whose handshake is not done."""

    def abort(self) -> None:
        """Cut it."""
        ...


class Doors:
    """The counts of one node. `refused` has, by the name of the code, how often somebody was refused or cut."""

    def __init__(self, limits: DoorLimits) -> None:
        self.limits = limits
        self.refused: Counter[str] = Counter()
        self.opened: Counter[str] = Counter()
        self._proxies = networks(limits.trusted_proxies)
        self._half_open: dict[HalfOpen, str] = {}
        self._half_open_of: Counter[str] = Counter()
        self._open_of: Counter[str] = Counter()
        self._patrons: Counter[str] = Counter()
        self._open = 0
        self._sockets = Buckets(limits.node_opens_per_s, burst_s=OPENS_BURST_S)
        self._opens = Buckets(limits.address_opens_per_s)
        self._guests = Buckets(limits.address_guests_per_s)
        self._of_patrons = Buckets(limits.patron_requests_per_s)
        self._of_addresses = Buckets(limits.address_requests_per_s)
        self._of_node = Buckets(limits.node_requests_per_s)

    def __repr__(self) -> str:
        return f"<Doors open={self._open} half-open={len(self._half_open)}>"

    @property
    def open(self) -> int:
        """Sockets behind their handshake."""
        return self._open

    @property
    def half_open(self) -> int:
        """Sockets before it."""
        return len(self._half_open)

    # --- sockets ------------------------------------------------------------------------------------------------------

    def has_room(self) -> bool:
        """Take room for one more socket, if there is any now; asked before anything is made for it."""
        return self._sockets.take(_NODE)

    def knock(self, socket: HalfOpen, peer: str | None) -> bool:
        """A socket was accepted. False: one address has too many that say nothing."""
        address = counted_address(peer, (), ())
        if address and self._half_open_of[address] >= HALF_OPEN_PER_ADDRESS_MAX:
            self.refused["HALF_OPEN"] += 1
            return False
        if len(self._half_open) >= self.limits.handshakes_max:
            oldest = next(iter(self._half_open))
            self.settle(oldest)
            self.refused["HALF_OPEN"] += 1
            oldest.abort()
        self._half_open[socket] = address
        self._half_open_of[address] += 1
        return True

    def settle(self, socket: HalfOpen) -> None:
        """A socket is half-open no longer: it is through, or gone."""
        address = self._half_open.pop(socket, None)
        if address is not None:
            _less(self._half_open_of, address)

    def address_of(self, peer: str | None, forwarded: Sequence[str]) -> str:
        """Name the address that a socket is counted by."""
        return counted_address(peer, forwarded, self._proxies)

    def refusal(self, address: str) -> ErrorCode | None:
        """Say why no further connection may open from there; None where one may."""
        is_full = self._open >= self.limits.connections_max
        is_full = is_full or bool(address and self._open_of[address] >= self.limits.connections_per_address)
        if is_full or (address and not self._opens.take(address)):
            return ErrorCode.TOO_MANY_CONNECTIONS
        return None

    def enter(self, address: str) -> None:
        """A connection is open."""
        self._open += 1
        self._open_of[address] += 1
        self.opened["connections"] += 1

    def leave(self, address: str) -> None:
        """A connection is gone, and nothing is under way on it."""
        self._open -= 1
        _less(self._open_of, address)

    # --- those on them ------------------------------------------------------------------------------------------------

    def admit_guest(self, address: str) -> bool:
        """Whether one more guest may be made from there: each costs the store a wallet."""
        return not address or self._guests.take(address)

    def admit_patron(self, patron: str) -> bool:
        """Count a connection for its patron; false where the patron has as many as may be."""
        if self._patrons[patron] >= self.limits.connections_per_patron:
            return False
        self._patrons[patron] += 1
        return True

    def dismiss_patron(self, patron: str) -> None:
        """Count a connection for its patron no more."""
        _less(self._patrons, patron)

    def may_ask(self, patron: str, address: str) -> bool:
        """Whether one more request of this patron is taken now."""
        if not self._of_patrons.take(patron):
            return False
        return (not address or self._of_addresses.take(address)) and self._of_node.take(_NODE)

    def count(self, code: ErrorCode | str) -> None:
        """Note that somebody was refused or cut."""
        self.refused[code if isinstance(code, str) else code.name] += 1


def _less(counts: Counter[str], key: str) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]
