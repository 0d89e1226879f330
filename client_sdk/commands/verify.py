"""`punto verify`: checks a shoe by its revealed secret, from a file (offline) or as a table tells its last one.

It says whether everything that was told follows from the secret and the cuts. It must never say more: what was
published before the cards has to be compared by somebody who saw it then, so it is printed. Read next:
`client_sdk.game.proofs`, `client_sdk.game.shoe_file`.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Final

from client_sdk.commands.arguments import BadArgument, Subparsers, positive_integer
from client_sdk.commands.files import read_file
from client_sdk.commands.house import add_house, ask_house, is_house_asked
from client_sdk.game.cards import CARDS_PER_DECK
from client_sdk.game.fairness import SHOE_NUMBER_MAX
from client_sdk.game.proofs import ProofFailed, RevealedShoe, verify_shoe
from client_sdk.game.shoe_file import read_shoe, write_shoe

_HOLDS: Final = 0
_DIFFERS: Final = 1


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto verify` takes."""
    parser = subparsers.add_parser("verify", help="check a shoe by its revealed secret")
    parser.add_argument("file", metavar="FILE", nargs="?", help="an exported shoe, as JSON")
    add_house(parser, "at which table")
    parser.add_argument("--shoe", metavar="K", help="which shoe that has ended; without it the last one")
    parser.add_argument("--save", metavar="FILE", help="keep what the house tells in a file")


def run(args: argparse.Namespace) -> int:
    """Print what was found: 0 if everything holds, 1 with the first difference.

    Raises BadArgument and GameError for a file that holds no shoe, and for what was asked wrongly; `NotAnswered`.
    """
    told = _recall(args) if is_house_asked(args) else read_shoe(_decode(read_file(args.file)))
    if args.save is not None:
        with open(args.save, "w", encoding="ascii") as file:
            file.write(json.dumps(write_shoe(told), indent=1) + "\n")
    try:
        cards = verify_shoe(told)
    except ProofFailed as difference:
        print(f"{_name(told)} does not hold: {difference}")
        return _DIFFERS
    print("\n".join(_as_text(told, cards)))
    return _HOLDS


def _recall(args: argparse.Namespace) -> RevealedShoe:
    """Have the house tell the shoe. Raises `NotAnswered`."""
    shoe = None if args.shoe is None else positive_integer(args.shoe, "the shoe's number", SHOE_NUMBER_MAX)
    return ask_house(args, "verify", lambda house: house.recall_shoe(args.table, shoe))


def _decode(content: bytes) -> object:
    try:
        return json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        raise BadArgument(f"not JSON: {error}") from None


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Refuse a name that comes twice: one reader would show the first value and another check the last."""
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a name comes twice in one object")
    return dict(pairs)


def _name(told: RevealedShoe) -> str:
    return f"shoe {told.number} of table {told.table}"


def _as_text(told: RevealedShoe, cards: int) -> Iterator[str]:
    yield f"{_name(told)} holds: {len(told.rounds)} rounds, {cards} of {CARDS_PER_DECK * told.decks} cards"
    yield f"commitment   {told.commitment}"
    yield f"cuts         {len(told.cuts)}, digest {told.cuts_digest}"
    yield f"merkle root  {told.root or 'none was published'}"
    yield "Compare these with what the table told before its first card: a record alone only agrees with itself."
