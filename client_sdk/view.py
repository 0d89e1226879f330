"""What one event makes of a table's public state: view + event -> view.

Pure, and it believes every event: numbers, duplicates and what is handed out once are the mirror's matter. A round's
cards stay visible until betting opens again. Read next: `mirror`.
"""

from msgspec.structs import replace

from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import (
    AnyNumbered,
    BetLine,
    BettingClosed,
    BettingExtended,
    BettingOpened,
    CardDealt,
    CardsBurned,
    CrowdView,
    DealtCard,
    OwnSeat,
    Receipt,
    Results,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    SeatView,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    ShoeView,
    TableClosed,
    TableIdled,
    TablePaused,
    TableResumed,
    TableView,
)
from client_sdk.protocol.road_views import roads_after


def view_after(view: TableView, event: AnyNumbered) -> TableView:
    """Return the state after a numbered event."""
    match event:
        case ShoeStarted():
            fresh, you = _fresh_shoe(event, view.round + 1), _without_cut(view.you)
            return replace(view, seq=event.seq, shoe=fresh, you=you, roads=event.roads or view.roads)
        case BettingOpened():
            return _opened(view, event)
        case BettingExtended():
            return replace(view, seq=event.seq, closes_at_ms=event.closes_at_ms)
        case BettingClosed():
            crowd = replace(view.crowd, totals=event.totals)
            closed = replace(view, seq=event.seq, phase="dealing", round=event.round, crowd=crowd)
            cut = _with_cuts(view.shoe, event)
            return replace(closed, closes_at_ms=event.closed_at_ms, shoe=cut)  # an early close has moved the instant
        case ShoeShuffled():
            shuffled = None if view.shoe is None else replace(view.shoe, merkle_root=event.merkle_root)
            return replace(view, seq=event.seq, shoe=shuffled)
        case CardsBurned():
            return replace(view, seq=event.seq, shoe=_with_remaining(view.shoe, event.remaining))
        case CardDealt():
            card = DealtCard(side=event.side, card=event.card, show_at_ms=event.show_at_ms)
            shoe = _with_remaining(view.shoe, event.remaining)
            return replace(view, seq=event.seq, dealt=[*view.dealt, card], shoe=shoe)
        case RoundDecided():
            roads = roads_after(view.roads, event.roads)
            return replace(view, seq=event.seq, phase="settling", round=event.round, outcome=event.outcome, roads=roads)
        case RoundVoided():
            return replace(view, seq=event.seq, phase="settling", round=event.round, is_void=True)
        case RoundSettled():
            return replace(view, seq=event.seq, phase="settling", round=event.round)
        case ShoeEnded():
            return replace(view, seq=event.seq, shoe=None)
        case TableIdled() | TableResumed():
            return replace(view, seq=event.seq, phase="idle", round=event.round)
        case TablePaused():
            return replace(view, seq=event.seq, phase="paused", round=event.round)
        case TableClosed():
            return replace(view, seq=event.seq, phase="closed", round=event.round)
        case RulesChanged():
            return replace(view, seq=event.seq, rules=event.rules)


def seat_after_receipt(seat: OwnSeat, receipt: Receipt) -> OwnSeat:
    """Return the own seat after an accepted act."""
    return replace(seat, stack=receipt.stack, bets=_laid(receipt.bets), ready=receipt.ready)


def seat_after_results(seat: OwnSeat, results: Results, stack: int, bets: dict[Spot, int]) -> OwnSeat:
    """Return the own seat after its bets were settled; `stack` and `bets` are what it holds now."""
    return replace(
        seat,
        stack=stack,
        bets=bets,
        ready=seat.ready if bets else False,
        last_bets=stakes_of(results.bets),
        last_round=results.round,
        last_outcome=results.outcome,
        last_results=results.bets,
    )


def stakes_of(lines: dict[Spot, BetLine]) -> dict[Spot, int]:
    """Return the bets that these lines settled."""
    return {spot: line.stake for spot, line in lines.items()}


def _opened(view: TableView, event: BettingOpened) -> TableView:
    """Clear the layout for a new round; who sits there stays."""
    return replace(
        view,
        seq=event.seq,
        phase="betting",
        round=event.round,
        opened_at_ms=event.opened_at_ms,
        closes_at_ms=event.closes_at_ms,
        shoe=None if view.shoe is None else replace(view.shoe, is_last_round=event.is_last_round),
        dealt=[],
        outcome=None,
        is_void=False,
        crowd=_crowd_without_bets(view.crowd),
        you=None if view.you is None else replace(view.you, bets={}, ready=False),
    )


def _crowd_without_bets(crowd: CrowdView) -> CrowdView:
    seats = None if crowd.seats is None else [_seat_without_bets(seat) for seat in crowd.seats]
    return replace(crowd, ready=0, totals={}, bettors={}, seats=seats)


def _seat_without_bets(seat: SeatView) -> SeatView:
    return replace(seat, bets={}, ready=False) if seat.bets or seat.ready else seat


def _fresh_shoe(event: ShoeStarted, first_round: int) -> ShoeView:
    return ShoeView(
        number=event.shoe,
        cards=event.cards,
        commitment=event.commitment,
        remaining=event.cards,
        is_last_round=False,
        first_round=first_round,
    )


def _with_cuts(shoe: ShoeView | None, event: BettingClosed) -> ShoeView | None:
    if shoe is None or event.cuts is None:
        return shoe
    return replace(shoe, cuts=event.cuts, cuts_digest=event.cuts_digest)


def _without_cut(seat: OwnSeat | None) -> OwnSeat | None:
    """A cut belongs to the shoe that it was put into."""
    return None if seat is None else replace(seat, cut=None)


def _with_remaining(shoe: ShoeView | None, remaining: int) -> ShoeView | None:
    return None if shoe is None else replace(shoe, remaining=remaining)


def _laid(bets: dict[Spot, int]) -> dict[Spot, int]:
    """Leave out the spots on which nothing lies, however the sums were told."""
    return {spot: amount for spot, amount in bets.items() if amount}
