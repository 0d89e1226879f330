"""Each card left its shoe once, and where the revealed secret puts it if no patron cut the shoe. Pure."""

from collections.abc import Iterator, Mapping

from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import commitment, shuffle
from client_sdk.protocol.messages import Message
from tests.chaos.evidence import Evidence
from tests.chaos.verdict import Broken, Kind


def check_shoes(evidence: Evidence) -> Iterator[Broken]:
    """Follow the shoes of every table."""
    for table in sorted({view.table for view in evidence.views}):
        yield from _check_table(table, _history(table, evidence))


def _history(table: str, evidence: Evidence) -> dict[str, list[Message]]:
    """The events of each incarnation in order, as far as anybody saw them or the store kept them."""
    by_incarnation: dict[str, dict[int, Message]] = {}
    for view in evidence.views:
        for sight in view.sights:
            if view.table == table and sight.kind == "event":
                by_incarnation.setdefault(sight.incarnation, {})[sight.seq] = sight.body
    stored = evidence.tables.get(table)
    if stored is not None:
        known = by_incarnation.setdefault(stored.incarnation, {})
        known.update({seq: event for seq, event in stored.stream.items() if seq not in known})
    return {name: [events[seq] for seq in sorted(events)] for name, events in by_incarnation.items()}


class _Shoe:
    """A shoe as it was seen dealt. Known by its commitment: a store that forgot may give its number again."""

    def __init__(self, number: int, decks: int, cards: int, committed: str) -> None:
        self.number = number
        self.decks = decks
        self.cards = cards
        self.committed = committed
        self.dealt: dict[int, str] = {}
        self.secret: str | None = None
        self.cuts = 0


def _check_table(table: str, history: Mapping[str, list[Message]]) -> Iterator[Broken]:
    shoes: dict[str, _Shoe] = {}
    for events in history.values():
        shoe: _Shoe | None = None
        position, seq = 0, 0
        for event in events:
            if event["seq"] != seq + 1:  # nobody saw what came between: it may have been another shoe's start
                shoe = None
            seq = event["seq"]
            match event["type"]:
                case "shoe_started":
                    fresh = _Shoe(event["shoe"], event["decks"], event["cards"], event["commitment"])
                    shoe, position = shoes.setdefault(event["commitment"], fresh), 0
                case "betting_closed" if shoe is not None and event.get("cuts"):
                    shoe.cuts = event["cuts"]
                case "shoe_ended" if shoe is not None and event["shoe"] == shoe.number:
                    shoe.secret = event["secret"]
                    shoe = None
                case "cards_burned" | "card_dealt" if shoe is not None:
                    burned = event["type"] == "cards_burned"
                    at = shoe.cards - event["remaining"] - (event["count"] if burned else 1)
                    where = f"{table} shoe {shoe.number} card {at + 1}"
                    if at < position:
                        yield Broken(Kind.CARD, where, f"{event['card']} comes from a place that was dealt before")
                    position = at + 1
                    known = shoe.dealt.setdefault(at, event["card"])
                    if known != event["card"]:
                        yield Broken(Kind.CARD, where, f"{event['card']}, it was {known} before")
                case _:
                    pass
    for shoe in shoes.values():
        if shoe.secret is not None:
            yield from _check_secret(table, shoe, shoe.secret)


def _check_secret(table: str, shoe: _Shoe, secret_hex: str) -> Iterator[Broken]:
    where, secret = f"{table} shoe {shoe.number}", bytes.fromhex(secret_hex)
    if commitment(secret) != shoe.committed:
        yield Broken(Kind.SHOE, where, "the secret does not open the commitment")
        return
    if shoe.cuts:  # they lie in no event; the bots, which fetch them, check such a shoe card by card
        return
    order = shuffle(secret, shoe.decks, shoe.number)
    wrong = [(at, card) for at, card in shoe.dealt.items() if card_of_index(order[at]) != card]
    if wrong:
        yield Broken(Kind.SHOE, where, f"{len(wrong)} cards were not those of the secret, first {wrong[0]}")
