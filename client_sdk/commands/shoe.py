"""`punto shoe`: prints the shoe that a secret and cuts give, so that anyone can check one by hand.

It prints what the secret of a shoe that has ended proves: the commitment, every card in deal order, the Merkle root. It
must never repeat a secret, in an error neither. Read next: `client_sdk.game.fairness`, `client_sdk.game.merkle`.
"""

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from client_sdk.commands.arguments import BadArgument, Subparsers, add_json, positive_integer
from client_sdk.game.cards import Card, card_of_index
from client_sdk.game.fairness import (
    CUT_FIELD_BYTES_MAX,
    DECKS_MAX,
    SECRET_BYTES,
    SHOE_NUMBER_MAX,
    Cut,
    commitment,
    shuffle,
)
from client_sdk.game.merkle import shoe_tree
from client_sdk.game.proofs import cuts_digest

_CARDS_PER_LINE: Final = 26

# bytes.fromhex() passes over white space, so that one value could be written in many ways.
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII | re.IGNORECASE)


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto shoe` takes."""
    parser = subparsers.add_parser("shoe", help="print the commitment, cards and Merkle root of a shoe")
    parser.add_argument("--secret", required=True, metavar="HEX", help=f"the revealed secret, {SECRET_BYTES} bytes")
    parser.add_argument("--decks", required=True, metavar="N", help="how many decks")
    parser.add_argument("--number", required=True, metavar="K", help="the shoe's number at its table")
    parser.add_argument(
        "--cut",
        action="append",
        default=[],
        metavar="ID=HEX",
        dest="cuts",
        help="a patron's cut; once for each, in the order in which they were accepted",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    """Print the shoe. Raises BadArgument and GameError for what was asked wrongly."""
    secret = _read_secret(args.secret)
    decks = positive_integer(args.decks, "the number of decks", DECKS_MAX)
    number = positive_integer(args.number, "the shoe's number", SHOE_NUMBER_MAX)
    cuts = list(_read_cuts(args.cuts))
    order = shuffle(secret, decks, number, cuts)
    cards = [card_of_index(index) for index in order]
    told = {
        "commitment": commitment(secret),
        "cuts_digest": cuts_digest(cuts),
        "merkle_root": shoe_tree(secret, decks, number, order).root.hex(),
    }
    print(json.dumps({**told, "cards": cards}) if args.json else "\n".join(_as_text(told, cards)))
    return 0


def _read_secret(text: str) -> bytes:
    if len(text) != 2 * SECRET_BYTES or _HEX.fullmatch(text) is None:
        raise BadArgument(f"the secret must be {SECRET_BYTES} bytes, {2 * SECRET_BYTES} hex digits")
    return bytes.fromhex(text)


def _read_cuts(words: Iterable[str]) -> Iterator[Cut]:
    for word in words:
        patron, equals, cut = word.rpartition("=")  # hex has no "=", an id may
        if not equals or _HEX.fullmatch(cut) is None or len(cut) > 2 * CUT_FIELD_BYTES_MAX:
            raise BadArgument(f"a cut is written ID=HEX, not {word[:100]!r}")
        yield patron.encode("utf-8", "surrogateescape"), bytes.fromhex(cut)


def _as_text(told: Mapping[str, str], cards: Sequence[Card]) -> Iterator[str]:
    for name, value in told.items():
        yield f"{name:<13}{value}"
    yield f"{'cards':<13}{len(cards)}, the first to be dealt first"
    for first in range(0, len(cards), _CARDS_PER_LINE):
        yield " ".join(cards[first : first + _CARDS_PER_LINE])
