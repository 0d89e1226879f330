"""`punto deal`: plays one round from cards given in deal order and settles bets on it.

The order is the table's: player, banker, player, banker, then the thirds. It must never deal by rules of its own:
`client_sdk.game` does, as a table does. Read next: `client_sdk.game.tableau`.
"""

import argparse
import json
from collections.abc import Iterable, Mapping

from client_sdk.commands.arguments import BadArgument, Subparsers, add_json, add_variant, positive_integer
from client_sdk.game.cards import Card, hand_total, parse_cards
from client_sdk.game.settlement import AMOUNT_MAX, BetResult, settle
from client_sdk.game.tableau import Hands, deal_hands, is_natural
from client_sdk.game.variants import Spot, variant_named


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto deal` takes."""
    parser = subparsers.add_parser("deal", help="deal one round from given cards and settle bets on it")
    add_variant(parser)
    parser.add_argument(
        "--cards", required=True, metavar="CARDS", help="cards in deal order, rank or rank and suit: '2 T 9h Td'"
    )
    parser.add_argument(
        "--bet",
        action="append",
        default=[],
        metavar="SPOT=AMOUNT",
        dest="bets",
        help="a bet in minor units on player, banker or tie; may be given once for each spot",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the round. Raises BadArgument and GameError for what was asked wrongly."""
    variant = variant_named(args.variant)
    bets = _read_bets(args.bets)
    hands = deal_hands(parse_cards(args.cards))
    results = settle(variant, bets, hands.outcome)
    print(json.dumps(_as_json(hands, results)) if args.json else _as_text(hands, results))
    return 0


def _read_bets(words: Iterable[str]) -> dict[Spot, int]:
    bets: dict[Spot, int] = {}
    for word in words:
        name, equals, amount = word.partition("=")
        if not equals:
            raise BadArgument(f"a bet is written SPOT=AMOUNT, not {word!r}")
        if name not in list(Spot):
            raise BadArgument(f"unknown spot {name!r}: there are {', '.join(Spot)}")
        spot = Spot(name)
        if spot in bets:
            raise BadArgument(f"there is more than one bet on {spot}")
        bets[spot] = positive_integer(amount, f"the amount on {spot}", AMOUNT_MAX)
    return bets


def _as_json(hands: Hands, results: Mapping[Spot, BetResult]) -> dict[str, object]:
    return {
        "player": _hand_as_json(hands.player),
        "banker": _hand_as_json(hands.banker),
        "outcome": hands.outcome,
        "cards_used": hands.cards_used,
        "bets": {
            spot: {
                "stake": bet.stake,
                "payout": bet.payout,
                "commission": bet.commission,
                "result": bet.result,
            }
            for spot, bet in results.items()
        },
    }


def _hand_as_json(hand: tuple[Card, ...]) -> dict[str, object]:
    return {"cards": hand, "total": hand_total(hand), "natural": is_natural(hand)}


def _as_text(hands: Hands, results: Mapping[Spot, BetResult]) -> str:
    lines = [
        _hand_as_text("player", hands.player),
        _hand_as_text("banker", hands.banker),
        f"outcome  {hands.outcome}, {hands.cards_used} cards",
    ]
    for spot, bet in results.items():
        commission = f" after {bet.commission} commission" if bet.commission else ""
        lines.append(f"bet      {spot} {bet.stake}: {bet.result}, {bet.payout} back{commission}")
    return "\n".join(lines)


def _hand_as_text(name: str, hand: tuple[Card, ...]) -> str:
    return f"{name:<9}{' '.join(hand):<9}total {hand_total(hand)}{' natural' if is_natural(hand) else ''}"
