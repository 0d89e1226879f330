"""The payment of a round: what each patron's bets come to, and how it reaches the store in bounded chunks.

Which outcome it was is known before any bet is read, and paying the same chunk twice pays nobody twice (`settle.lua`).
"""

from typing import Final

from client_sdk.game.settlement import BetResult, Result, settle
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import BetLine, TableRules
from server.store.records import pack
from server.store.tables import Lease, SettleLine, Tables
from server.table.state import TableState

SETTLE_CHUNK: Final = 60
"""Patrons whose bets are computed, and then settled in one script call, at a stretch: each takes a few milliseconds,
which other tables on the same node or store can wait."""


async def settle_bets(tables: Tables, table: str, lease: Lease, state: TableState, rules: TableRules) -> None:
    """Settle every open bet of a round that is decided or void. Raises `StoreError`."""
    laid = [each async for each in tables.open_bets(table)]
    for start in range(0, len(laid), SETTLE_CHUNK):
        lines = [settle_line(patron, bets, state, rules) for patron, bets in laid[start : start + SETTLE_CHUNK]]
        await tables.settle(table, lease, state.round, lines)


def settle_line(patron: str, bets: dict[Spot, int], state: TableState, rules: TableRules) -> SettleLine:
    """Compute one patron's settlement."""
    results = _results(bets, state, rules)
    record = {"round": state.round, "outcome": state.outcome, "bets": bets, "results": results}
    return SettleLine(patron, sum(bets.values()), sum(line.payout for line in results.values()), pack(record))


def _results(bets: dict[Spot, int], state: TableState, rules: TableRules) -> dict[Spot, BetLine]:
    if state.is_void:
        return {
            spot: BetLine(stake=stake, payout=stake, commission=0, result=Result.PUSH) for spot, stake in bets.items()
        }
    assert state.outcome is not None, "only a decided round is settled"
    settled = settle(variant_named(rules.variant), bets, state.outcome, rules.win_max)
    return {spot: _bet_line(result) for spot, result in settled.items()}


def _bet_line(result: BetResult) -> BetLine:
    return BetLine(
        stake=result.stake,
        payout=result.payout,
        commission=result.commission,
        result=result.result,
        capped=result.capped,
    )
