"""How values lie in the store, and back: the packed state, rules, layouts and records that scripts pass on unread.

Pure; decodes only what our own code wrote. The wire's views are built here from the store's answers, so hub and lobby
need not know how anything is kept.
"""

from functools import lru_cache
from typing import Any, Final, NamedTuple

import msgpack
import msgspec

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import CrowdView, FinishedRound, OwnSeat, SeatView, ShoeView, TableRules, TableView
from server.table.roads import roads_view_of
from server.table.state import TableState

UNSEALED: Final = "0."
"""In front of a secret that an older house kept readable."""
SPOTS: Final = (Spot.PLAYER, Spot.BANKER, Spot.TIE)
"""The order in which scripts give sums."""
UNPACKED_MAX: Final = 256
"""So many states, and rules, are kept unpacked: every seat that comes to a table between two steps reads the same."""


def pack(value: object) -> bytes:
    """Pack a struct or plain value."""
    packed: bytes = msgpack.packb(msgspec.to_builtins(value))
    return packed


@lru_cache(UNPACKED_MAX)
def unpack_state(packed: bytes, closes_at_ms: int) -> TableState:
    """Read a state. The store's own `closes_at_ms` wins: an early close may have been decided, but not told yet."""
    fields = msgpack.unpackb(packed)
    if fields.get("shoe_secret"):  # of schema 2, where a secret lay open: its shoe is broken off (server/shoes.py)
        fields["shoe_sealed"] = UNSEALED + fields["shoe_secret"]
    state = msgspec.convert(fields, TableState)
    return msgspec.structs.replace(state, closes_at_ms=closes_at_ms or None)


@lru_cache(UNPACKED_MAX)
def unpack_rules(packed: bytes) -> TableRules:
    """Read a table's rules."""
    return msgspec.convert(msgpack.unpackb(packed), TableRules)


def unpack_round(packed: bytes) -> FinishedRound:
    """Read the record of a finished round."""
    return msgspec.convert(msgpack.unpackb(packed), FinishedRound)


def pack_limits(rules: TableRules) -> bytes:
    """Pack what the scripts know of the rules: limits as data, no card and no payout."""
    return pack(
        {
            "minimum": rules.minimum,
            "maximums": rules.maximums,
            "table_maximums": rules.table_maximums,
            "chips": rules.chips,
            "forbidden_pairs": rules.forbidden_pairs,
            "seats_max": rules.seats_max,
        }
    )


def sums_of_layout(layout: list[list[tuple[str, int]]]) -> dict[Spot, int]:
    """Add up a packed layout (acts of [spot, amount]) per spot."""
    sums: dict[Spot, int] = {}
    for act in layout:
        for spot, amount in act:
            sums[Spot(spot)] = sums.get(Spot(spot), 0) + amount
    return sums


def nonzero(amounts: list[int]) -> dict[Spot, int]:
    """Name three numbers by their spots, leaving zeros out."""
    return {spot: amount for spot, amount in zip(SPOTS, amounts, strict=True) if amount}


class TableRow(NamedTuple):
    """A table as one script call read it: the public view, the own seat's connection, and the count of crowd
    changes."""

    view: TableView
    connection: str | None
    touched: int


def table_row(table: str, answer: list[Any]) -> TableRow:
    """Build the wire's view from `view.lua`'s answer."""
    _, at_ms, incarnation, seq, packed_state, packed_rules, closes_at_ms, _, packed_crowd, packed_own = answer
    state, rules = unpack_state(packed_state, closes_at_ms), unpack_rules(packed_rules)
    crowd = msgpack.unpackb(packed_crowd)
    own = msgpack.unpackb(packed_own) if packed_own else None
    view = TableView(
        table=table,
        incarnation=incarnation.decode(),
        seq=seq,
        at_ms=at_ms,
        rules=rules,
        phase=state.phase.value,
        round=state.round,
        opened_at_ms=state.opened_at_ms,
        closes_at_ms=state.closes_at_ms,
        shoe=_shoe_view(state),
        dealt=list(state.dealt),
        outcome=state.outcome,
        roads=roads_view_of(state.beads, state.roads_rounds_max),
        is_void=state.is_void,
        crowd=_crowd_view(crowd),
        you=_own_seat(own) if own else None,
    )
    return TableRow(view, own["connection"] if own else None, crowd["touched"])


def _shoe_view(state: TableState) -> ShoeView | None:
    if not state.has_shoe:
        return None
    return ShoeView(
        number=state.shoe,
        cards=state.shoe_cards,
        commitment=state.shoe_commitment,
        remaining=state.shoe_cards - state.position,
        is_last_round=state.is_last_round,
        first_round=state.shoe_first_round,
        cuts=state.shoe_cuts,
        cuts_digest=state.shoe_cuts_digest,
        merkle_root=state.shoe_root,
    )


def _crowd_view(crowd: dict[str, Any]) -> CrowdView:
    seats = crowd["seats"]
    return CrowdView(
        seated=crowd["seated"],
        connected=crowd["connected"],
        ready=crowd["ready"],
        totals=nonzero(crowd["totals"]),
        bettors=nonzero(crowd["bettors"]),
        seats=None
        if seats is False
        else sorted(
            (
                SeatView(
                    patron=patron, name=name, bot=bot, connected=connected, ready=ready, bets=sums_of_layout(layout)
                )
                for patron, name, bot, connected, ready, layout in seats
            ),
            key=lambda seat: seat.patron,
        ),
    )


def _own_seat(own: dict[str, Any]) -> OwnSeat:
    last = own["last"] or {}
    return msgspec.convert(
        {
            "stack": own["stack"],
            "ready": own["ready"],
            "leaving": own["leaving"],
            "bets": sums_of_layout(own["bets"]),
            "last_bets": last.get("bets", {}),
            "last_round": last.get("round"),
            "last_outcome": last.get("outcome"),
            "last_results": last.get("results"),
            "cut": own["cut"] or None,
        },
        OwnSeat,
    )
