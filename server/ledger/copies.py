"""What a patron's own ledger holds: the wallet's movements, and copies of what the tables' ledgers say of the patron.

A line is [kind, at_ms, amount, balance, table, ...]: `amount` is what the movement added to the wallet or to the stack,
`balance` is what that held after it. The wallet's own lines are appended by its scripts (`enter` in `_wallet.lua`),
those of tables are made here for the projector. A round played is [at_ms, table, number, record].
"""

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

import msgpack
from msgspec.structs import replace

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import PlayedRound, StatementLine
from server.ledger.entries import SPOTS, Act, BadEntry, BuyIn, CashOut, Entry, Settlement, unpack_record

OWN_KINDS: Final = frozenset(
    {"put_in", "credited", "debited", "buy_in_given", "buy_in_closed", "buy_in_refused", "cash_out_taken"}
)
"""Kinds of lines that are the wallet's own; the others come from tables."""


class Copy(NamedTuple):
    """A table's entry on its way to a patron: `line` for the statement, `played` for the history (b'' nothing)."""

    number: int
    line: bytes
    played: bytes


def copies_of(table: str, number: int, entry: Entry) -> Iterator[tuple[str, Copy]]:
    """Make what an entry says of each patron in it."""
    match entry:
        case Act():
            laid = [entry.laid.get(spot, 0) for spot in SPOTS]
            act: tuple[str | int, ...] = (entry.round, entry.verb, entry.spot, entry.chip, entry.request_id, *laid)
            yield entry.patron, _copy("acted", entry.at_ms, -entry.moved, entry.stack, table, number, *act)
        case BuyIn():
            yield entry.patron, _copy("bought_in", entry.at_ms, entry.amount, entry.stack, table, number, entry.n)
        case CashOut():
            yield entry.patron, _copy("cashed_out", entry.at_ms, -entry.amount, entry.stack, table, number, entry.n)
        case Settlement():
            for line in entry.lines:
                paid = _copy("settled", entry.at_ms, line.payout, line.stack, table, number, entry.round, line.stake)
                played = msgpack.packb([entry.at_ms, table, number, line.packed_record])
                yield line.patron, paid._replace(played=played)


def statement_line(number: int, packed: bytes) -> StatementLine:
    """Read line `number` of a patron's ledger. Raises `BadEntry`."""
    kind, at_ms, amount, balance, table, *more = _unpacked(packed)
    line = StatementLine(id=str(number), kind=kind, at_ms=at_ms, amount=amount, balance=balance, table=table or None)
    if kind in OWN_KINDS:
        transfer, request_id = more
        return replace(line, transfer=transfer or None, request_id=request_id or None)
    entry, *more = more
    match kind, more:
        case "acted", [number_of_round, verb, spot, chip, request_id, *laid]:
            return replace(
                line,
                number=entry,
                round=number_of_round,
                verb=verb,
                spot=Spot(spot) if spot else None,
                chip=chip or None,
                laid={each: moved for each, moved in zip(SPOTS, laid, strict=True) if moved},
                request_id=request_id,
            )
        case (("bought_in" | "cashed_out"), [transfer]):
            return replace(line, number=entry, transfer=transfer)
        case "settled", [number_of_round, stake]:
            return replace(line, number=entry, round=number_of_round, stake=stake)
    raise BadEntry(f"no line of a patron's ledger: {kind}")


def played_round(number: int, packed: bytes) -> PlayedRound:
    """Read round `number` of those that a patron has played. Raises `BadEntry`."""
    at_ms, table, entry, packed_record = _unpacked(packed)
    record = unpack_record(packed_record)
    return PlayedRound(id=str(number), at_ms=at_ms, table=table, number=entry, **record._asdict())


def _copy(*line: str | int) -> Copy:
    number = line[5]
    assert isinstance(number, int), "a table's line has the entry's number in the sixth place"
    return Copy(number, msgpack.packb(line), b"")


def _unpacked(packed: bytes) -> list[Any]:
    """Both codecs of the store's values: Lua knows only one kind of string, Python packs bytes as such."""
    found = msgpack.unpackb(packed)
    if not isinstance(found, list) or len(found) < 4:
        raise BadEntry("no line of a patron's ledger")
    return found
