"""`punto simulate`: deals many rounds from real shoes and counts what came.

Every shoe is shuffled by `bac-shoe-v1`, burned, and ended by its cut card, as at a table. Chance comes from the
operating system; with `--seed` the secrets follow from the seed instead, which makes a run repeatable and is a test
mode: no table is ever dealt like that. It must never print a seed or a secret. Read next: `client_sdk.game.shoe`.
"""

import argparse
import hashlib
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import Final

from client_sdk.commands.arguments import Subparsers, add_json, add_variant, positive_integer
from client_sdk.game.fairness import SECRET_BYTES
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.shoe import CUT_CARD_DEFAULT, play_out, shuffled_shoe
from client_sdk.game.tableau import Hands, Outcome
from client_sdk.game.variants import Variant, variant_named

ROUNDS_MAX: Final = 1_000_000_000

_SEED_PURPOSE: Final = b"punto simulate\x00"


@dataclass(slots=True)
class Tally:
    """What came: counts of rounds. A pair is two first cards of one rank; a natural may be on both sides at once."""

    rounds: int = 0
    shoes: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    cards: Counter[int] = field(default_factory=Counter)
    naturals: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)

    def add(self, hands: Hands) -> None:
        """Count one round."""
        played = RoadRound.of(hands)
        self.rounds += 1
        self.outcomes[played.outcome] += 1
        self.cards[hands.cards_used] += 1
        self.naturals["player"] += played.player_natural
        self.naturals["banker"] += played.banker_natural
        self.naturals["either"] += played.player_natural or played.banker_natural
        self.pairs["player"] += played.player_pair
        self.pairs["banker"] += played.banker_pair


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto simulate` takes."""
    parser = subparsers.add_parser("simulate", help="deal many rounds from shuffled shoes and count what came")
    add_variant(parser)
    parser.add_argument("--rounds", required=True, metavar="N", help="how many rounds to deal")
    parser.add_argument("--seed", metavar="TEXT", help="test mode: the same shoes for the same text, for no real table")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the counts. Raises BadArgument and GameError for what was asked wrongly."""
    variant = variant_named(args.variant)
    rounds = positive_integer(args.rounds, "the number of rounds", ROUNDS_MAX)
    secret_of_shoe = _system_secret if args.seed is None else _seeded_secret(args.seed)
    tally = simulate(variant, rounds, secret_of_shoe)
    print(_as_json(variant, tally, args.seed) if args.json else "\n".join(_as_text(variant, tally, args.seed)))
    return 0


def simulate(variant: Variant, rounds: int, secret_of_shoe: Callable[[int], bytes]) -> Tally:
    """Deal `rounds` rounds from shoes 1, 2, ... whose secrets are asked for one by one; the last shoe may end early."""
    tally = Tally()
    for hands in islice(_rounds(variant, secret_of_shoe, tally), rounds):
        tally.add(hands)
    return tally


def _rounds(variant: Variant, secret_of_shoe: Callable[[int], bytes], tally: Tally) -> Iterator[Hands]:
    cut_card = None if variant.shuffles_every_round else CUT_CARD_DEFAULT
    for number in count(1):
        tally.shoes += 1
        yield from play_out(shuffled_shoe(secret_of_shoe(number), variant.decks, number, cut_card))


def _system_secret(number: int) -> bytes:
    return os.urandom(SECRET_BYTES)


def _seeded_secret(seed: str) -> Callable[[int], bytes]:
    """Return the test mode's secrets: SHA-256("punto simulate" || 0x00 || u64 shoe number || seed in UTF-8)."""
    text = seed.encode("utf-8", "surrogateescape")

    def secret_of_shoe(number: int) -> bytes:
        return hashlib.sha256(_SEED_PURPOSE + number.to_bytes(8, "big") + text).digest()

    return secret_of_shoe


def _as_json(variant: Variant, tally: Tally, seed: str | None) -> str:
    return json.dumps(
        {
            "variant": variant.name,
            "test_mode": seed is not None,
            "rounds": tally.rounds,
            "shoes": tally.shoes,
            "outcomes": {outcome.value: tally.outcomes[outcome] for outcome in Outcome},
            "cards": {str(cards): tally.cards[cards] for cards in (4, 5, 6)},
            "naturals": {which: tally.naturals[which] for which in ("player", "banker", "either")},
            "pairs": {which: tally.pairs[which] for which in ("player", "banker")},
        }
    )


def _as_text(variant: Variant, tally: Tally, seed: str | None) -> Iterator[str]:
    mode = " (test mode: seeded)" if seed is not None else ""
    yield f"{variant.title}: {tally.rounds} rounds from {tally.shoes} shoes{mode}"
    rows = (
        *((outcome.value, tally.outcomes[outcome]) for outcome in Outcome),
        *((f"{cards} cards", tally.cards[cards]) for cards in (4, 5, 6)),
        *((f"natural, {which}", tally.naturals[which]) for which in ("player", "banker", "either")),
        *((f"pair, {which}", tally.pairs[which]) for which in ("player", "banker")),
    )
    for name, rounds in rows:
        yield f"{name:<16}{rounds:>12}{rounds / tally.rounds:>10.6f}"
