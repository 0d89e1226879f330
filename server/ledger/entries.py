"""The entries of a table's ledger: from the bytes that the scripts append to typed values.

One kind of value for each `enter` in `server/store/lua`; the bytes are what is sealed, so a kind keeps its fields and
their order for good. Bytes that are no entry raise `BadEntry`: somebody has changed them.
"""

from typing import Any, Final, NamedTuple, TypeAlias

import msgpack
import msgspec

from client_sdk.game.seals import Seal
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import BetLine

SPOTS: Final = (Spot.PLAYER, Spot.BANKER, Spot.TIE)
"""The order in which entries tell amounts by spot."""


class BadEntry(ValueError):
    """These bytes are no entry of a ledger."""


class BuyIn(NamedTuple):
    """Chips came from the wallet, as transfer `n` of the pair; `stack` is what the patron has after it."""

    at_ms: int
    patron: str
    n: int
    amount: int
    stack: int


class CashOut(NamedTuple):
    """The whole stack went home, as transfer `n` of the pair."""

    at_ms: int
    patron: str
    n: int
    amount: int
    stack: int


class Act(NamedTuple):
    """An accepted act. `laid` is what it laid on each spot (negative: took back); `spot` and `chip` are what it named
    ('' and 0 nothing)."""

    at_ms: int
    patron: str
    request_id: str
    round: int
    verb: str
    spot: str
    chip: int
    laid: dict[Spot, int]
    stack: int

    @property
    def moved(self) -> int:
        """What went from the stack to the spots."""
        return sum(self.laid.values())


class Record(NamedTuple):
    """A patron's round as it is kept: no outcome where it was voided."""

    round: int
    outcome: Outcome | None
    bets: dict[Spot, int]
    results: dict[Spot, BetLine]


class SettledLine(NamedTuple):
    """One patron's share of a settlement."""

    patron: str
    stake: int
    payout: int
    stack: int
    packed_record: bytes

    @property
    def record(self) -> Record:
        """The round with its bets and results. Raises `BadEntry`."""
        return unpack_record(self.packed_record)


class Settlement(NamedTuple):
    """A chunk of patrons was settled; `house` is what the house has won from them (negative: lost)."""

    at_ms: int
    round: int
    house: int
    lines: tuple[SettledLine, ...]


class SealMark(NamedTuple):
    """Where `round` ended the ledger was sealed; moves no money."""

    at_ms: int
    round: int
    seal: Seal


Entry: TypeAlias = BuyIn | CashOut | Act | Settlement | SealMark


def unpack_entry(packed: bytes) -> Entry:
    """Read an entry. Raises `BadEntry`."""
    try:
        return _entry_of(msgpack.unpackb(packed, raw=True))
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadEntry(f"no entry: {error}") from None


def is_movement(packed: bytes) -> bool:
    """Say whether an entry moves money, from its first bytes alone. Raises `BadEntry`."""
    unpacker = msgpack.Unpacker(raw=True)
    unpacker.feed(packed)
    try:
        unpacker.read_array_header()
        return bool(unpacker.unpack() != b"seal")
    except (ValueError, msgpack.UnpackException, msgpack.OutOfData) as error:
        raise BadEntry(f"no entry: {error}") from None


def unpack_record(packed: bytes) -> Record:
    """Read the record of a patron's round. Raises `BadEntry`."""
    try:
        return msgspec.convert(msgpack.unpackb(packed), _RecordShape).record()
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadEntry(f"no record of a round: {error}") from None


class _RecordShape(msgspec.Struct, frozen=True, kw_only=True):
    """A record as `server/settling.py` packs it."""

    round: int
    outcome: Outcome | None
    bets: dict[Spot, int]
    results: dict[Spot, BetLine]

    def record(self) -> Record:
        return Record(self.round, self.outcome, self.bets, self.results)


def _entry_of(value: Any) -> Entry:
    match value:
        case [b"act", int(at_ms), bytes(patron), bytes(request_id), int(number), bytes(verb), bytes(spot), int(chip),
              int(player), int(banker), int(tie), int(stack)]:  # fmt: skip
            laid = {spot: amount for spot, amount in zip(SPOTS, (player, banker, tie), strict=True) if amount}
            return Act(
                at_ms, patron.decode(), request_id.decode(), number, verb.decode(), spot.decode(), chip, laid, stack
            )
        case [b"buy_in", int(at_ms), bytes(patron), int(n), int(amount), int(stack)]:
            return BuyIn(at_ms, patron.decode(), n, amount, stack)
        case [b"cash_out", int(at_ms), bytes(patron), int(n), int(amount), int(stack)]:
            return CashOut(at_ms, patron.decode(), n, amount, stack)
        case [b"settle", int(at_ms), int(number), int(house), list(lines)]:
            return Settlement(at_ms, number, house, tuple(map(_line_of, lines)))
        case [b"seal", int(at_ms), int(number), bytes(digest), int(sealed_to)]:
            return SealMark(at_ms, number, Seal(digest.decode(), sealed_to))
    raise BadEntry("of no known kind")


def _line_of(value: Any) -> SettledLine:
    match value:
        case [bytes(patron), int(stake), int(payout), int(stack), bytes(record)]:
            return SettledLine(patron.decode(), stake, payout, stack, record)
    raise BadEntry("a settlement of no known form")
