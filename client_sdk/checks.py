"""What anybody can check of a round from its cards: who was dealt to, the totals, the outcome, and the own payouts.

Pure, with the very rules the house deals by. The order of the cards in the shoe is not checked here;
`client_sdk.game.fairness` does that once the secret is out.
"""

from collections.abc import Mapping, Sequence

from client_sdk.exceptions import RoundDisputed
from client_sdk.game.beads import write_bead
from client_sdk.game.cards import Card, hand_total, parse_card
from client_sdk.game.errors import GameError
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.settlement import BetResult, Result, settle
from client_sdk.game.tableau import Hands, Side, decide, is_natural, next_side
from client_sdk.game.variants import Spot, Variant
from client_sdk.protocol.messages import BetLine, DealtCard, Results, RoundDecided, TableRules
from client_sdk.view import stakes_of


def check_round(
    rules: TableRules,
    dealt: Sequence[DealtCard],
    decided: RoundDecided,
    results: Results | None = None,
    bets: Mapping[Spot, int] | None = None,
) -> list[str]:
    """Return what is wrong with a round, empty where all is right.

    `dealt` are its cards in deal order, `results` the own ones, `bets` the own bets as the last receipt told them.
    """
    try:
        mismatches = _check_deal(dealt, decided)
    except GameError as error:
        return [str(error)]
    return mismatches + _check_results(rules, decided, results, bets)


def check_void_round(results: Results, bets: Mapping[Spot, int] | None = None) -> list[str]:
    """Return what is wrong with the results of a voided round: every stake comes back, and nothing else moves."""
    mismatches = [] if results.outcome is None else [f"a void round has the outcome {results.outcome.value}"]
    mismatches += _check_stakes(stakes_of(results.bets), bets)
    returned = {spot: BetResult(line.stake, line.stake, 0, Result.PUSH, 0) for spot, line in results.bets.items()}
    return mismatches + _differences(results.bets, returned)


def require_round(
    rules: TableRules,
    dealt: Sequence[DealtCard],
    decided: RoundDecided,
    results: Results | None = None,
    bets: Mapping[Spot, int] | None = None,
) -> None:
    """Raise RoundDisputed where `check_round` finds something wrong."""
    mismatches = check_round(rules, dealt, decided, results, bets)
    if mismatches:
        raise RoundDisputed(decided.table, decided.round, mismatches)


def variant_of(rules: TableRules) -> Variant:
    """Return the house that a table's rules describe."""
    return Variant(
        name=rules.variant,
        title=rules.variant,
        decks=rules.decks,
        shuffles_every_round=rules.shuffles_every_round,
        commission_bp=rules.commission_bp,
        tie_pays=rules.tie_pays,
        spots=tuple(spot for spot in Spot if spot in rules.maximums),
        forbidden_pairs=tuple(frozenset(pair) for pair in rules.forbidden_pairs),
        stated_rtp=rules.stated_rtp,
    )


def _check_deal(dealt: Sequence[DealtCard], decided: RoundDecided) -> list[str]:
    """Deal the cards again, one by one. Raises UnknownCard for what is no card."""
    player: list[Card] = []
    banker: list[Card] = []
    for number, card in enumerate(dealt, start=1):
        side = next_side(player, banker)
        if card.side is not side:
            due = "nobody" if side is None else side.value
            return [f"card {number} went to {card.side.value}, the tableau gives it to {due}"]
        (player if card.side is Side.PLAYER else banker).append(parse_card(card.card))
    if next_side(player, banker) is not None:
        return [f"the round was decided after {len(dealt)} cards, the tableau goes on"]
    return [
        f"{what} is {told}, the cards make {made}"
        for what, told, made in (
            ("the player's hand", decided.player, player),
            ("the banker's hand", decided.banker, banker),
            ("the player's total", decided.player_total, hand_total(player)),
            ("the banker's total", decided.banker_total, hand_total(banker)),
            ("the player's natural", decided.player_natural, is_natural(player)),
            ("the banker's natural", decided.banker_natural, is_natural(banker)),
            ("the outcome", decided.outcome.value, decide(player, banker).value),
            ("the bead", decided.roads.bead, write_bead(RoadRound.of(Hands(tuple(player), tuple(banker))))),
        )
        if told != made
    ]


def _check_results(
    rules: TableRules, decided: RoundDecided, results: Results | None, bets: Mapping[Spot, int] | None
) -> list[str]:
    if results is None:
        return [f"no results came for the bets {_plain(bets)}"] if bets else []
    stakes = stakes_of(results.bets)
    mismatches = []
    if results.round != decided.round:
        mismatches.append(f"the results are of round {results.round}, the cards of round {decided.round}")
    if results.outcome is not decided.outcome:
        told = "no outcome" if results.outcome is None else results.outcome.value
        mismatches.append(f"the results go by {told}, the round by {decided.outcome.value}")
    return mismatches + _check_stakes(stakes, bets) + _check_payouts(rules, decided, results, stakes)


def _check_stakes(stakes: Mapping[Spot, int], bets: Mapping[Spot, int] | None) -> list[str]:
    if bets is None or stakes == dict(bets):
        return []
    return [f"{_plain(stakes)} was settled, {_plain(bets)} was bet"]


def _check_payouts(rules: TableRules, decided: RoundDecided, results: Results, stakes: Mapping[Spot, int]) -> list[str]:
    try:
        right = settle(variant_of(rules), stakes, decided.outcome, rules.win_max)
    except GameError as error:
        return [str(error)]
    return _differences(results.bets, right)


def _differences(told: Mapping[Spot, BetLine], right: Mapping[Spot, BetResult]) -> list[str]:
    return [
        f"{spot.value} came back as {_line(told[spot])}, the rules give {_line(right[spot])}"
        for spot in right
        if _line(told[spot]) != _line(right[spot])
    ]


def _line(line: BetLine | BetResult) -> str:
    return f"{line.result.value} {line.payout} of {line.stake}, commission {line.commission}, capped {line.capped}"


def _plain(bets: Mapping[Spot, int] | None) -> dict[str, int]:
    return {spot.value: amount for spot, amount in (bets or {}).items()}
