"""What is kept of a finished round: enough to deal it again, and what was laid and paid.

Pure. It tells no more than the round's events did. Read next: `client_sdk/game/replay.py`.
"""

from collections.abc import Mapping

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import FinishedRound
from server.table.state import TableState


def finished_round(
    state: TableState, settled_at_ms: int, totals: Mapping[Spot, int], settled: int, paid: int
) -> FinishedRound:
    """Make the record of a round that is decided or void, and of which every bet is settled."""
    assert state.opened_at_ms is not None, "a round begins with its betting"
    assert state.closed_at_ms is not None, "betting ends before anything is settled"
    return FinishedRound(
        id=str(state.round),
        round=state.round,
        shoe=state.shoe,
        commitment=state.shoe_commitment,
        first_card=state.position - len(state.dealt),
        opened_at_ms=state.opened_at_ms,
        closed_at_ms=state.closed_at_ms,
        settled_at_ms=settled_at_ms,
        player=list(state.player),
        banker=list(state.banker),
        outcome=None if state.is_void else state.outcome,
        void_reason=state.void_reason if state.is_void else None,
        totals=dict(totals),
        settled=settled,
        paid=paid,
    )
