"""`punto verify`: checks a shoe that was kept in a file, offline, by its revealed secret.

It says whether everything in the file follows from the secret and the cuts. It must never say more: what was published
before the cards has to be compared by somebody who saw it then, so it is printed. Read next: `client_sdk.game.proofs`,
`client_sdk.game.shoe_file`.
"""

import argparse
import json
from collections.abc import Iterator
from typing import Final

from client_sdk.commands.arguments import BadArgument, Subparsers
from client_sdk.commands.files import read_file
from client_sdk.game.cards import CARDS_PER_DECK
from client_sdk.game.proofs import ProofFailed, RevealedShoe, verify_shoe
from client_sdk.game.shoe_file import read_shoe

_HOLDS: Final = 0
_DIFFERS: Final = 1


def add_parser(subparsers: Subparsers) -> None:
    """Say what `punto verify` takes."""
    parser = subparsers.add_parser("verify", help="check a shoe that was kept in a file, by its revealed secret")
    parser.add_argument("file", metavar="FILE", help="an exported shoe, as JSON")


def run(args: argparse.Namespace) -> int:
    """Print what was found: 0 if everything holds, 1 with the first difference.

    Raises BadArgument and GameError for a file that holds no shoe.
    """
    told = read_shoe(_decode(read_file(args.file)))
    try:
        cards = verify_shoe(told)
    except ProofFailed as difference:
        print(f"{_name(told)} does not hold: {difference}")
        return _DIFFERS
    print("\n".join(_as_text(told, cards)))
    return _HOLDS


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
    yield "Compare these with what the table told before its first card: a file alone only agrees with itself."
