"""The form in which a revealed shoe is kept in a file: one object of plain values, the same for every reader.

    format       "punto-shoe-1"
    table        the table's name           shoe       the shoe's number         decks      how many decks
    cut_card     cards behind the cut card, null where every round has a shoe of its own
    commitment   what was published before the cuts: SHA-256 of the secret
    cuts         [{"patron": id, "cut": hex}], in the order in which they were accepted
    cuts_digest  what the close of betting told of them
    merkle_root  what was published before the first card, null where nothing was
    secret       what was revealed when the shoe had ended
    burned       {"card": card, "count": cards}, null where nothing was burned
    rounds       [{"round": number, "player": cards, "banker": cards, "outcome": outcome}], outcome null for a void one
    reason       "dealt", or why the shoe was broken off

Bytes are lower-case hex, names and reasons plain ASCII, cards are two characters (`9h`). Every name is there, and no
other. It must never judge what it reads: `proofs` does. Values come in and go out; who reads and writes the JSON is
another matter.
"""

import re
from collections.abc import Callable
from typing import Final, TypeVar

from client_sdk.game.cards import CARDS_PER_DECK, Card, card_of_index
from client_sdk.game.errors import GameError
from client_sdk.game.fairness import CUT_FIELD_BYTES_MAX, DECKS_MAX, SECRET_BYTES, SHOE_NUMBER_MAX, Cut
from client_sdk.game.merkle import HASH_BYTES
from client_sdk.game.proofs import Burn, PlayedRound, RevealedShoe
from client_sdk.game.tableau import Outcome

FORMAT: Final = "punto-shoe-1"
TEXT_CHARS_MAX: Final = 100
ROUND_NUMBER_MAX: Final = 2**63 - 1
CUTS_MAX: Final = 100_000

_T = TypeVar("_T")

_FIELDS: Final = (
    "format",
    "table",
    "shoe",
    "decks",
    "cut_card",
    "commitment",
    "cuts",
    "cuts_digest",
    "merkle_root",
    "secret",
    "burned",
    "rounds",
    "reason",
)
_HAND_CARDS_MAX: Final = 3
_HEX: Final = re.compile(r"(?:[0-9a-f]{2})*", re.ASCII)
_CARDS: Final = frozenset(map(card_of_index, range(CARDS_PER_DECK)))


class BadShoeFile(GameError):
    """A value that a shoe's file does not have. It names the field, never what stands there."""

    def __init__(self, field: str, expected: str) -> None:
        super().__init__(field, expected)
        self.field = field
        self.expected = expected

    def __str__(self) -> str:
        return f"no shoe's file: {self.field} must be {self.expected}"


def write_shoe(shoe: RevealedShoe) -> dict[str, object]:
    """Return the shoe as the object described above."""
    return {
        "format": FORMAT,
        "table": shoe.table,
        "shoe": shoe.number,
        "decks": shoe.decks,
        "cut_card": shoe.cut_card,
        "commitment": shoe.commitment,
        "cuts": [{"patron": patron.decode("ascii"), "cut": cut.hex()} for patron, cut in shoe.cuts],
        "cuts_digest": shoe.cuts_digest,
        "merkle_root": shoe.root,
        "secret": shoe.secret.hex(),
        "burned": None if shoe.burn is None else {"card": shoe.burn.card, "count": shoe.burn.count},
        "rounds": [_write_round(played) for played in shoe.rounds],
        "reason": shoe.reason,
    }


def read_shoe(document: object) -> RevealedShoe:
    """Return the shoe of a decoded JSON object. Raises BadShoeFile for the first field that is not as described."""
    fields = _fields(document, "the file", _FIELDS)
    if fields["format"] != FORMAT:
        raise BadShoeFile("format", FORMAT)
    return RevealedShoe(
        table=_text(fields["table"], "table"),
        number=_integer(fields["shoe"], "shoe", SHOE_NUMBER_MAX),
        decks=_integer(fields["decks"], "decks", DECKS_MAX),
        cut_card=_or_null(_cut_card, fields["cut_card"], "cut_card"),
        commitment=_bytes(fields["commitment"], "commitment", HASH_BYTES).hex(),
        cuts=tuple(_list(_cut, fields["cuts"], "cuts", CUTS_MAX)),
        cuts_digest=_bytes(fields["cuts_digest"], "cuts_digest", HASH_BYTES).hex(),
        root=_or_null(_root, fields["merkle_root"], "merkle_root"),
        secret=_bytes(fields["secret"], "secret", SECRET_BYTES),
        burn=_or_null(_burn, fields["burned"], "burned"),
        rounds=tuple(_list(_round, fields["rounds"], "rounds", CARDS_PER_DECK * DECKS_MAX)),
        reason=_text(fields["reason"], "reason"),
    )


def _write_round(played: PlayedRound) -> dict[str, object]:
    return {
        "round": played.number,
        "player": list(played.player),
        "banker": list(played.banker),
        "outcome": None if played.outcome is None else played.outcome.value,
    }


# --- Readers: each takes a value and the name of its place ---


def _cut(value: object, where: str) -> Cut:
    fields = _fields(value, where, ("patron", "cut"))
    patron = _text(fields["patron"], f"{where}.patron").encode("ascii")
    return patron, _bytes(fields["cut"], f"{where}.cut")


def _cut_card(value: object, where: str) -> int:
    return _integer(value, where, CARDS_PER_DECK * DECKS_MAX)


def _root(value: object, where: str) -> str:
    return _bytes(value, where, HASH_BYTES).hex()


def _burn(value: object, where: str) -> Burn:
    fields = _fields(value, where, ("card", "count"))
    count = _integer(fields["count"], f"{where}.count", CARDS_PER_DECK * DECKS_MAX)
    return Burn(_card(fields["card"], f"{where}.card"), count)


def _round(value: object, where: str) -> PlayedRound:
    fields = _fields(value, where, ("round", "player", "banker", "outcome"))
    return PlayedRound(
        number=_integer(fields["round"], f"{where}.round", ROUND_NUMBER_MAX),
        player=tuple(_list(_card, fields["player"], f"{where}.player", _HAND_CARDS_MAX)),
        banker=tuple(_list(_card, fields["banker"], f"{where}.banker", _HAND_CARDS_MAX)),
        outcome=_or_null(_outcome, fields["outcome"], f"{where}.outcome"),
    )


def _card(value: object, where: str) -> Card:
    if not isinstance(value, str) or value not in _CARDS:
        raise BadShoeFile(where, "a card such as 9h or Td")
    return Card(value)


def _outcome(value: object, where: str) -> Outcome:
    if not isinstance(value, str) or value not in list(Outcome):
        raise BadShoeFile(where, f"one of {', '.join(Outcome)} or null")
    return Outcome(value)


def _fields(value: object, where: str, names: tuple[str, ...]) -> dict[str, object]:
    if not isinstance(value, dict) or value.keys() != set(names):
        raise BadShoeFile(where, f"an object with {', '.join(names)} and nothing else")
    return value


def _list(read: Callable[[object, str], _T], value: object, where: str, maximum: int) -> list[_T]:
    if not isinstance(value, list) or len(value) > maximum:
        raise BadShoeFile(where, f"a list of at most {maximum}")
    return [read(item, f"{where}[{number}]") for number, item in enumerate(value)]


def _or_null(read: Callable[[object, str], _T], value: object, where: str) -> _T | None:
    return None if value is None else read(value, where)


def _text(value: object, where: str) -> str:
    """Read a name or a reason: short, and nothing in it that a terminal could obey."""
    is_plain = isinstance(value, str) and value.isascii() and value.isprintable()
    if not isinstance(value, str) or not is_plain or not 1 <= len(value) <= TEXT_CHARS_MAX:
        raise BadShoeFile(where, f"1 to {TEXT_CHARS_MAX} printable ASCII characters")
    return value


def _integer(value: object, where: str, maximum: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= maximum:
        raise BadShoeFile(where, f"an integer from 0 to {maximum}")
    return value


def _bytes(value: object, where: str, length: int | None = None) -> bytes:
    is_hex = isinstance(value, str) and _HEX.fullmatch(value) is not None
    size = len(value) // 2 if isinstance(value, str) else 0
    if not is_hex or size > CUT_FIELD_BYTES_MAX or length not in (None, size):
        expected = "bytes" if length is None else f"{length} bytes"
        raise BadShoeFile(where, f"{expected} in lower-case hex")
    return bytes.fromhex(str(value))
