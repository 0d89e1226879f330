"""The steps of a table: state + what the step needs -> new state + numbered events.

Pure: the time, the shoe and the sums are arguments, and nothing is awaited. A step refuses by `StepRefused` and then
changes nothing. `due` announces the next step and its instant; `server/dealer.py` keeps it and commits what comes back.
The rules of cards are `client_sdk.game`'s; a step never sees who bet what.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec.structs import replace

from client_sdk.game.beads import write_bead
from client_sdk.game.cards import hand_total
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.seals import Seal
from client_sdk.game.tableau import Hands, Side, next_side
from client_sdk.game.variants import Spot
from client_sdk.protocol.messages import (
    BettingClosed,
    BettingExtended,
    BettingOpened,
    CardDealt,
    CardProof,
    CardsBurned,
    DealtCard,
    EndedShoe,
    Event,
    RoundDecided,
    RoundSettled,
    RoundVoided,
    RulesChanged,
    ShoeEnded,
    ShoeShuffled,
    ShoeStarted,
    TableClosed,
    TableIdled,
    TablePaused,
    TableResumed,
    TableRules,
)
from client_sdk.protocol.road_views import roads_delta
from server.table.ended_shoe import ended_shoe, write_dealt
from server.table.open_shoe import OpenShoe
from server.table.phases import Phase, Step, StepRefused, phase_after
from server.table.roads import begins_roads_anew, roads_of, roads_rounds_max, roads_view_of
from server.table.state import TableState

LEAD_MS_MAX = 150
"""How long before its `show_at_ms` a card is sent, so that seats with different latency turn it together."""


class Change(NamedTuple):
    """What a step comes to. `ended` is the shoe that ended in it."""

    state: TableState
    events: tuple[Event, ...]
    ended: EndedShoe | None = None

    def then(self, later: "Change") -> "Change":
        """Join two steps into one commit."""
        return Change(later.state, self.events + later.events, later.ended or self.ended)


class FreshShoe(NamedTuple):
    """A shoe that is about to be opened; its cards have no order yet, but where they were prepared. `sealed` is the
    sealed secret, "" for prepared cards."""

    number: int
    cards: int
    sealed: str
    commitment: str


class FrozenCuts(NamedTuple):
    """The cuts of a shoe once no more are taken."""

    total: int
    digest: str


class Due(NamedTuple):
    """The next step, and the instant from which on it may be taken."""

    step: Step
    at_ms: int


def due(state: TableState, rules: TableRules, shoe: OpenShoe | None) -> Due | None:
    """Announce the next step. None: nothing happens until a patron sits down (idle) or the operator wants it (paused,
    closed)."""
    match state.phase:
        case Phase.IDLE | Phase.PAUSED | Phase.CLOSED:
            return None
        case Phase.BETTING:
            return Due(Step.CLOSE_BETTING, state.closes_at_ms or 0)
        case Phase.DEALING if _is_to_be_shuffled(state):
            return Due(Step.SHUFFLE_SHOE, 0)
        case Phase.DEALING:
            assert shoe is not None, "cards are dealt from an open shoe"
            return Due(_next_card_step(state, shoe), _next_show_at_ms(state, rules) - _lead_ms(rules))
        case Phase.SETTLING if not state.is_settled:
            return Due(Step.FINISH_ROUND, 0)
        case Phase.SETTLING:
            return Due(Step.OPEN_BETTING, state.next_at_ms or 0)


def change_rules(state: TableState, table: str, before: TableRules, rules: TableRules) -> Change:
    """Take new rules between two rounds. What an open shoe was made by can't change before that shoe has ended."""
    phase = _boundary(state, Step.CHANGE_RULES)
    if state.has_shoe and _shoe_rules(before) != _shoe_rules(rules):
        raise StepRefused(Step.CHANGE_RULES, state.phase, "the open shoe was made by other rules")
    seq = state.seq + 1
    return Change(replace(state, phase=phase, seq=seq), (RulesChanged(table=table, seq=seq, rules=rules),))


def break_shoe(state: TableState, table: str, rules: TableRules, reason: str, secret: bytes) -> Change:
    """End the open shoe between two rounds before it is dealt out, and reveal it."""
    phase = _boundary(state, Step.BREAK_SHOE)
    if not state.has_shoe:
        raise StepRefused(Step.BREAK_SHOE, state.phase, "no shoe is open")
    return _end_shoe(replace(state, phase=phase, shoe_ends_by=reason), table, rules, secret)


def start_shoe(state: TableState, table: str, rules: TableRules, shoe: FreshShoe) -> Change:
    """Open a fresh shoe between two rounds; its number is one more than that of the shoe before."""
    phase = _boundary(state, Step.START_SHOE)
    if state.has_shoe or shoe.number != state.shoe + 1:
        raise StepRefused(Step.START_SHOE, state.phase, "a shoe is open, or its number is not the next")
    seq, rounds_max = state.seq + 1, roads_rounds_max(rules.cut_card)
    is_anew = begins_roads_anew(state, rules.cut_card, shoe.commitment)
    beads = "" if is_anew else state.beads
    started = ShoeStarted(
        table=table,
        seq=seq,
        shoe=shoe.number,
        decks=rules.decks,
        cards=shoe.cards,
        cut_card=rules.cut_card,
        commitment=shoe.commitment,
        roads=roads_view_of(beads, rounds_max) if is_anew else None,
    )
    return Change(
        replace(
            state,
            phase=phase,
            seq=seq,
            shoe=shoe.number,
            shoe_sealed=shoe.sealed,
            shoe_commitment=shoe.commitment,
            shoe_cards=shoe.cards,
            shoe_cuts=None,
            shoe_cuts_digest=None,
            shoe_root=None,
            shoe_burned=None,
            shoe_dealt="",
            shoe_first_round=state.round + 1,
            position=0,
            is_last_round=False,
            shoe_ends_by="dealt",
            beads=beads,
            roads_rounds_max=rounds_max,
        ),
        (started,),
    )


def open_betting(state: TableState, table: str, rules: TableRules, now_ms: int) -> Change:
    """Begin the next round. The round after the one that reached the cut card is announced as the shoe's last."""
    phase = _boundary(state, Step.OPEN_BETTING)
    if not state.has_shoe:
        raise StepRefused(Step.OPEN_BETTING, state.phase, "no shoe is open")
    seq, number = state.seq + 1, state.round + 1
    is_last_round = rules.cut_card is None or state.position >= state.shoe_cards - rules.cut_card
    opened = BettingOpened(
        table=table,
        seq=seq,
        round=number,
        shoe=state.shoe,
        opened_at_ms=now_ms,
        closes_at_ms=now_ms + rules.betting_ms,
        is_last_round=is_last_round,
    )
    return Change(
        replace(
            state,
            phase=phase,
            seq=seq,
            round=number,
            is_last_round=is_last_round,
            opened_at_ms=opened.opened_at_ms,
            closes_at_ms=opened.closes_at_ms,
            closed_at_ms=None,
            dealt=(),
            outcome=None,
            is_void=False,
            is_settled=False,
            next_at_ms=None,
        ),
        (opened,),
    )


def extend_betting(state: TableState, table: str, closes_at_ms: int) -> Change:
    """Give the betting time back that an outage of the store took."""
    phase = phase_after(state.phase, Step.EXTEND_BETTING)
    if closes_at_ms <= (state.closes_at_ms or 0):
        raise StepRefused(Step.EXTEND_BETTING, state.phase, "a deadline is never shortened")
    seq = state.seq + 1
    extended = BettingExtended(table=table, seq=seq, round=state.round, closes_at_ms=closes_at_ms)
    return Change(replace(state, phase=phase, seq=seq, closes_at_ms=closes_at_ms), (extended,))


def close_betting(
    state: TableState,
    table: str,
    closed_at_ms: int,
    early: bool,
    totals: Mapping[Spot, int],
    bettors: int,
    cuts: FrozenCuts | None,
) -> Change:
    """No more bets. The store decided the instant and froze the sums, and in the first round of a shoe its cuts; they
    are only told here."""
    phase = phase_after(state.phase, Step.CLOSE_BETTING)
    if (cuts is not None) is not state.takes_cuts:
        raise StepRefused(Step.CLOSE_BETTING, state.phase, "the cuts of a shoe are frozen once, by its first close")
    seq = state.seq + 1
    closed = BettingClosed(
        table=table,
        seq=seq,
        round=state.round,
        closed_at_ms=closed_at_ms,
        early=early,
        totals=dict(totals),
        bettors=bettors,
        cuts=None if cuts is None else cuts.total,
        cuts_digest=None if cuts is None else cuts.digest,
    )
    return Change(
        replace(
            state,
            phase=phase,
            seq=seq,
            closes_at_ms=closed_at_ms,  # an early close has moved it; the store keeps this one too, for late acts
            closed_at_ms=closed_at_ms,
            shown_at_ms=closed_at_ms,
            shoe_cuts=state.shoe_cuts if cuts is None else cuts.total,
            shoe_cuts_digest=state.shoe_cuts_digest if cuts is None else cuts.digest,
        ),
        (closed,),
    )


def shuffle_shoe(state: TableState, table: str, shoe: OpenShoe) -> Change:
    """Publish what binds every card to its place, now that secret and cuts are fixed."""
    phase = phase_after(state.phase, Step.SHUFFLE_SHOE)
    if not _is_to_be_shuffled(state):
        raise StepRefused(Step.SHUFFLE_SHOE, state.phase, "this shoe was shuffled already")
    seq = state.seq + 1
    shuffled = ShoeShuffled(table=table, seq=seq, shoe=state.shoe, round=state.round, merkle_root=shoe.root)
    return Change(replace(state, phase=phase, seq=seq, shoe_root=shoe.root), (shuffled,))


def burn_cards(state: TableState, table: str, rules: TableRules, open_shoe: OpenShoe, now_ms: int) -> Change:
    """Show the first card of a fresh shoe and burn it with as many more as its value tells."""
    phase = phase_after(state.phase, Step.BURN_CARDS)
    if _is_to_be_shuffled(state) or _next_card_step(state, open_shoe) is not Step.BURN_CARDS:
        raise StepRefused(Step.BURN_CARDS, state.phase, "not shuffled yet, burned already, or burns nothing")
    shoe = open_shoe.dealt_from
    seq, show_at_ms = state.seq + 1, _show_at_ms(state, rules, now_ms)
    burned = CardsBurned(
        table=table,
        seq=seq,
        round=state.round,
        shoe=state.shoe,
        card=shoe.cards[0],
        count=shoe.burned,
        remaining=len(shoe.cards) - shoe.burned,
        show_at_ms=show_at_ms,
        proof=open_shoe.proof(0),
    )
    burned_state = replace(state, phase=phase, seq=seq, position=shoe.burned, shown_at_ms=show_at_ms)
    return Change(replace(burned_state, shoe_burned=(burned.card, burned.count)), (burned,))


def deal_card(state: TableState, table: str, rules: TableRules, open_shoe: OpenShoe, now_ms: int) -> Change:
    """Deal the next card of the shoe to the side that the tableau names."""
    phase = phase_after(state.phase, Step.DEAL_CARD)
    side = next_side(state.player, state.banker)
    if _is_to_be_shuffled(state) or side is None or _next_card_step(state, open_shoe) is not Step.DEAL_CARD:
        raise StepRefused(Step.DEAL_CARD, state.phase, "the hands are complete, or the shoe is not ready yet")
    shoe = open_shoe.dealt_from
    card, seq, show_at_ms = shoe.cards[state.position], state.seq + 1, _show_at_ms(state, rules, now_ms)
    hand = (*(state.player if side is Side.PLAYER else state.banker), card)
    dealt = CardDealt(
        table=table,
        seq=seq,
        round=state.round,
        side=side,
        card=card,
        total=hand_total(hand),
        remaining=len(shoe.cards) - state.position - 1,
        show_at_ms=show_at_ms,
    )
    return Change(
        replace(
            state,
            phase=phase,
            seq=seq,
            position=state.position + 1,
            dealt=(*state.dealt, DealtCard(side=side, card=card, show_at_ms=show_at_ms)),
            shown_at_ms=show_at_ms,
        ),
        (dealt,),
    )


def declare_outcome(state: TableState, table: str, rules: TableRules, open_shoe: OpenShoe, now_ms: int) -> Change:
    """Compare the complete hands, and prove their cards where the shoe goes on after them."""
    phase = phase_after(state.phase, Step.DECLARE_OUTCOME)
    if next_side(state.player, state.banker) is not None:
        raise StepRefused(Step.DECLARE_OUTCOME, state.phase, "the hands are not complete")
    seq, show_at_ms = state.seq + 1, _show_at_ms(state, rules, now_ms)
    hands = Hands(state.player, state.banker)
    played = RoadRound.of(hands)
    beads = state.beads + write_bead(played)
    decided = RoundDecided(
        table=table,
        seq=seq,
        round=state.round,
        outcome=played.outcome,
        player=list(hands.player),
        banker=list(hands.banker),
        player_total=hand_total(hands.player),
        banker_total=hand_total(hands.banker),
        player_natural=played.player_natural,
        banker_natural=played.banker_natural,
        show_at_ms=show_at_ms,
        roads=roads_delta(roads_of(beads)),
        proofs=_proofs(state, open_shoe),
    )
    decided_state = replace(state, phase=phase, seq=seq, outcome=played.outcome, shown_at_ms=show_at_ms, beads=beads)
    dealt = write_dealt(state.shoe_dealt, state.dealt, is_void=False)
    return Change(replace(decided_state, shoe_dealt=dealt), (decided,))


def void_round(state: TableState, table: str, now_ms: int, reason: str) -> Change:
    """Let a round that is not decided not count. Settling then gives every stake back, and the shoe ends with it: who
    knows its order must not choose by when a round is voided what the next one gets."""
    phase = phase_after(state.phase, Step.VOID_ROUND)
    seq = state.seq + 1
    voided = RoundVoided(table=table, seq=seq, round=state.round, reason=reason)
    closed_at_ms = now_ms if state.closed_at_ms is None else state.closed_at_ms  # an instant that was told stays
    voided_state = replace(state, phase=phase, seq=seq, is_void=True, shown_at_ms=now_ms, closed_at_ms=closed_at_ms)
    dealt = write_dealt(state.shoe_dealt, state.dealt, is_void=True)
    ending = {"is_last_round": True, "shoe_ends_by": reason.partition(":")[0]}
    return Change(replace(voided_state, void_reason=reason, shoe_dealt=dealt, **ending), (voided,))


def finish_round(
    state: TableState,
    table: str,
    rules: TableRules,
    now_ms: int,
    paid: int,
    settled: int,
    seal: Seal,
    secret: bytes,
) -> Change:
    """Every bet is settled (the store counted `paid` in payouts to `settled` patrons) and the ledger is sealed. A shoe
    that is out is opened by its `secret`."""
    phase = phase_after(state.phase, Step.FINISH_ROUND)
    if state.is_settled:
        raise StepRefused(Step.FINISH_ROUND, state.phase, "the round was finished already")
    seq, next_at_ms = state.seq + 1, max(state.shown_at_ms + rules.result_ms, now_ms)
    finished = RoundSettled(
        table=table,
        seq=seq,
        round=state.round,
        paid=paid,
        settled=settled,
        next_at_ms=next_at_ms,
        seal=seal.digest,
        sealed_to=seal.sealed_to,
    )
    finished_state = replace(state, phase=phase, seq=seq, is_settled=True, next_at_ms=next_at_ms, seal=seal)
    change = Change(finished_state, (finished,))
    return change.then(_end_shoe(change.state, table, rules, secret)) if state.is_last_round else change


def fall_idle(state: TableState, table: str, seal: Seal) -> Change:
    """Nobody is seated: stay as we are until somebody comes, with the ledger sealed over what the last ones took home.
    The shoe, its position and the round number remain."""
    phase = _boundary(state, Step.FALL_IDLE)
    seq = state.seq + 1
    idled = TableIdled(table=table, seq=seq, round=state.round, seal=seal.digest, sealed_to=seal.sealed_to)
    return Change(replace(state, phase=phase, seq=seq, seal=seal), (idled,))


def pause(state: TableState, table: str, reason: str) -> Change:
    """Open no round until the operator wants it. Seats, the shoe and the round number stay."""
    phase, seq = _boundary(state, Step.PAUSE), state.seq + 1
    paused = TablePaused(table=table, seq=seq, round=state.round, reason=reason)
    return Change(replace(state, phase=phase, seq=seq), (paused,))


def resume(state: TableState, table: str) -> Change:
    """Play on, as an idle table that may be woken at once."""
    phase, seq = _boundary(state, Step.RESUME), state.seq + 1
    return Change(replace(state, phase=phase, seq=seq), (TableResumed(table=table, seq=seq, round=state.round),))


def close(state: TableState, table: str, reason: str) -> Change:
    """Close an empty table. Its shoe has ended before: no secret stays unopened at a table where nothing is dealt."""
    phase, seq = _boundary(state, Step.CLOSE), state.seq + 1
    if state.has_shoe:
        raise StepRefused(Step.CLOSE, state.phase, "a shoe is open")
    closed = TableClosed(table=table, seq=seq, round=state.round, reason=reason)
    return Change(replace(state, phase=phase, seq=seq), (closed,))


def _end_shoe(state: TableState, table: str, rules: TableRules, secret: bytes) -> Change:
    assert state.has_shoe, "only an open shoe can end"
    seq = state.seq + 1
    ended = ShoeEnded(
        table=table,
        seq=seq,
        shoe=state.shoe,
        rounds=state.round - state.shoe_first_round + 1,
        secret=secret.hex(),
        reason=state.shoe_ends_by,
    )
    return Change(
        replace(state, seq=seq, shoe_sealed=None, position=0), (ended,), ended_shoe(state, rules, secret.hex())
    )


def _boundary(state: TableState, step: Step) -> Phase:
    """Look up a step that belongs between two rounds: the last one must be settled."""
    phase = phase_after(state.phase, step)
    if not state.is_settled:
        raise StepRefused(step, state.phase, "the round is not settled")
    return phase


def _shoe_rules(rules: TableRules) -> tuple[object, ...]:
    """Pick the rules that a shoe is made by."""
    return rules.variant, rules.decks, rules.cut_card, rules.stacked


def _is_to_be_shuffled(state: TableState) -> bool:
    return bool(state.shoe_sealed) and state.shoe_root is None


def _proofs(state: TableState, open_shoe: OpenShoe) -> list[CardProof]:
    """Prove the round's cards; not where its secret is revealed right after it, nor where the cards were prepared."""
    if open_shoe.tree is None or open_shoe.dealt_from.cut_card is None:
        return []
    return [open_shoe.proof(position) for position in range(state.position - len(state.dealt), state.position)]


def _next_card_step(state: TableState, shoe: OpenShoe) -> Step:
    if state.position < shoe.dealt_from.burned:
        return Step.BURN_CARDS
    if next_side(state.player, state.banker) is None:
        return Step.DECLARE_OUTCOME
    return Step.DEAL_CARD


def _lead_ms(rules: TableRules) -> int:
    return min(LEAD_MS_MAX, rules.card_ms)


def _next_show_at_ms(state: TableState, rules: TableRules) -> int:
    return state.shown_at_ms + rules.card_ms


def _show_at_ms(state: TableState, rules: TableRules, now_ms: int) -> int:
    """Keep the table's pace, and after a delay (a takeover, a slow store) never show in the past."""
    return max(_next_show_at_ms(state, rules), now_ms + _lead_ms(rules))
