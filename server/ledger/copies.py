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


def is_own(packed: bytes) -> bool:
    """Say whether a line of a patron's ledger is the wallet's own. Raises `BadEntry`."""
    match _unpacked(packed):
        case [str(kind), *_]:
            return kind in OWN_KINDS
    raise BadEntry("no line of a patron's ledger")


def statement_line(number: int, packed: bytes) -> StatementLine:
    """Read line `number` of a patron's ledger. Raises `BadEntry`."""
    match _unpacked(packed):
        case [str(kind), int(at_ms), int(amount), int(balance), str(table), *more]:
            line = StatementLine(
                id=str(number), kind=kind, at_ms=at_ms, amount=amount, balance=balance, table=table or None
            )
            try:
                return _own_line(line, more) if kind in OWN_KINDS else _line_of_table(line, more)
            except ValueError as error:
                raise BadEntry(f"no line of a patron's ledger: {error}") from None
    raise BadEntry("no line of a patron's ledger")


def _own_line(line: StatementLine, more: list[Any]) -> StatementLine:
    match more:
        case [int(transfer), str(request_id)]:
            return replace(line, transfer=transfer or None, request_id=request_id or None)
    raise BadEntry(f"no line of a wallet: {line.kind}")


def _line_of_table(line: StatementLine, more: list[Any]) -> StatementLine:
    match line.kind, more:
        case "acted", [int(entry), int(round_number), str(verb), str(spot), int(chip), str(request_id), *laid]:
            return replace(
                line,
                number=entry,
                round=round_number,
                verb=verb,
                spot=Spot(spot) if spot else None,
                chip=chip or None,
                laid={each: moved for each, moved in zip(SPOTS, laid, strict=True) if moved},
                request_id=request_id,
            )
        case (("bought_in" | "cashed_out"), [int(entry), int(transfer)]):
            return replace(line, number=entry, transfer=transfer)
        case "settled", [int(entry), int(round_number), int(stake)]:
            return replace(line, number=entry, round=round_number, stake=stake)
    raise BadEntry(f"no line of a table: {line.kind}")


def played_round(number: int, packed: bytes) -> PlayedRound:
    """Read round `number` of those that a patron has played. Raises `BadEntry`."""
    match _unpacked(packed):
        case [int(at_ms), str(table), int(entry), bytes(packed_record)]:
            record = unpack_record(packed_record)
            return PlayedRound(id=str(number), at_ms=at_ms, table=table, number=entry, **record._asdict())
    raise BadEntry("no round of a patron")


def _copy(*line: str | int) -> Copy:
    number = line[5]
    assert isinstance(number, int), "a table's line has the entry's number in the sixth place"
    return Copy(number, msgpack.packb(line), b"")


def _unpacked(packed: bytes) -> Any:
    """Read what a script or the projector has packed: a Lua string is a text here, a record's bytes are bytes."""
    try:
        return msgpack.unpackb(packed)
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise BadEntry(f"no line: {error}") from None
