"""A shoe checked by hashlib and PROTOCOL.md alone: the construction once more, and a witness of one table's shoes.

Nothing of the project is imported. `Witness` takes the messages of a table as they came over the wire and asserts what
section 15 promises; `judge` needs the cuts, which whoever uses it asks for.
"""

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from typing import Any

Message = dict[str, Any]
Cut = tuple[str, str]
"""A patron's id, and what it put in, in hex."""


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def u(value: int, size: int) -> bytes:
    return value.to_bytes(size, "big")


def client_mix(cuts: Sequence[Cut]) -> bytes:
    written = b""
    for patron, cut in cuts:
        for field in (patron.encode(), bytes.fromhex(cut)):
            written += u(len(field), 2) + field
    return sha256(written)


def order_of(secret: bytes, decks: int, number: int, cuts: Sequence[Cut] = ()) -> list[int]:
    """The numbers of a shoe's cards in the order in which they are dealt."""
    context = b"bac-shoe-v1\x00" + u(decks, 1) + u(number, 8) + client_mix(cuts)

    def words() -> Iterator[int]:
        for i in range(2**32):
            block = hmac.new(secret, context + u(i, 4), hashlib.sha256).digest()
            yield from (int.from_bytes(block[at : at + 4], "big") for at in range(0, 32, 4))

    source = words()

    def below(n: int) -> int:
        while True:
            word = next(source)
            if word < 2**32 - 2**32 % n:
                return word % n

    order = list(range(52 * decks))
    for i in range(len(order) - 1, 0, -1):
        j = below(i + 1)
        order[i], order[j] = order[j], order[i]
    return order


def name_of(index: int) -> str:
    return "A23456789TJQK"[index % 13] + "cdhs"[index % 52 // 13]


def leaf(place: int, index: int, salt: bytes) -> bytes:
    return sha256(b"\x00" + u(place, 4) + u(index, 2) + salt)


def node(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right)


def salt(secret: bytes, decks: int, number: int, place: int) -> bytes:
    return hmac.new(secret, b"bac-salt-v1\x00" + u(decks, 1) + u(number, 8) + u(place, 4), hashlib.sha256).digest()[:16]


def root_over(secret: bytes, decks: int, number: int, order: Sequence[int]) -> str:
    level = [leaf(place, index, salt(secret, decks, number, place)) for place, index in enumerate(order)]
    while len(level) > 1:
        level = [node(level[at], level[at + 1]) if at + 1 < len(level) else level[at] for at in range(0, len(level), 2)]
    return level[0].hex()


def root_from(proof: Message, place: int, cards: int) -> str:
    """The root that a proof leads to."""
    at = leaf(place, proof["index"], bytes.fromhex(proof["salt"]))
    left_over = [bytes.fromhex(beside) for beside in proof["path"]]
    while cards > 1:
        if place % 2:
            at = node(left_over.pop(0), at)
        elif place + 1 < cards:
            at = node(at, left_over.pop(0))
        place, cards = place // 2, (cards + 1) // 2
    assert not left_over, "a proof is no longer than the tree is high"
    return at.hex()


class Witness:
    """The shoes of one table, from its events. `ended` holds those that wait for their cuts."""

    def __init__(self) -> None:
        self.shoe: Message | None = None
        self.ended: list[Message] = []
        self.proofs_checked = 0

    def take(self, event: Message) -> None:
        match event["type"]:
            case "shoe_started":
                assert self.shoe is None, "a commitment that was not opened"
                self.shoe = {**event, "seen": {}, "root": None, "told": None, "left": event["cards"], "round": []}
            case "betting_closed" if self.shoe is not None:
                is_first = self.shoe["told"] is None
                assert (event["cuts"] is not None, event["cuts_digest"] is not None) == (is_first, is_first)
                self.shoe["told"] = self.shoe["told"] or (event["cuts"], event["cuts_digest"])
            case "shoe_shuffled" if self.shoe is not None:
                assert self.shoe["root"] is None
                assert self.shoe["told"] is not None
                assert not self.shoe["seen"], "the root comes before the first card"
                self.shoe["root"] = event["merkle_root"]
            case "cards_burned" if self.shoe is not None:
                self._shown(event, event["count"])
                self._proved(0, event["card"], event["proof"])
                self.shoe["round"] = []
            case "card_dealt" if self.shoe is not None:
                self._shown(event, 1)
            case "round_decided" if self.shoe is not None:
                self._decided(event)
            case "shoe_ended" if self.shoe is not None:
                assert hashlib.sha256(bytes.fromhex(event["secret"])).hexdigest() == self.shoe["commitment"]
                self.ended.append({**self.shoe, "secret": event["secret"], "reason": event["reason"]})
                self.shoe = None
            case _:
                pass

    def _shown(self, event: Message, count: int) -> None:
        shoe = self.shoe
        assert shoe is not None
        assert shoe["root"] is not None, "no card before the root"
        place = shoe["cards"] - shoe["left"]
        assert event["remaining"] == shoe["left"] - count
        shoe["left"] = event["remaining"]
        shoe["seen"][place] = event["card"]
        shoe["round"].append((place, event["card"]))

    def _decided(self, event: Message) -> None:
        shoe = self.shoe
        assert shoe is not None
        shown, shoe["round"] = shoe["round"], []
        if shoe["cut_card"] is None:
            assert event["proofs"] == []
            return
        for (place, card), proof in zip(shown, event["proofs"], strict=True):
            self._proved(place, card, proof)

    def _proved(self, place: int, card: str, proof: Message) -> None:
        assert self.shoe is not None
        assert root_from(proof, place, self.shoe["cards"]) == self.shoe["root"]
        assert name_of(proof["index"]) == card
        self.proofs_checked += 1


def judge(shoe: Message, cuts: Sequence[Cut]) -> None:
    """Check a shoe that has ended, with the list of its cuts."""
    if shoe["told"] is None:
        assert not shoe["seen"], "a shoe whose betting never closed shows no card"
        return
    assert shoe["told"] == (len(cuts), client_mix(cuts).hex())
    assert len({patron for patron, _ in cuts}) == len(cuts), "one cut for each patron"
    secret = bytes.fromhex(shoe["secret"])
    order = order_of(secret, shoe["decks"], shoe["shoe"], cuts)
    assert root_over(secret, shoe["decks"], shoe["shoe"], order) == shoe["root"]
    assert {place: name_of(order[place]) for place in shoe["seen"]} == shoe["seen"]
