"""A party to `punto.v1` that knows the protocol document and nothing else of this project.

`Party` is one patron over one WebSocket, in either subprotocol. It reads only while it waits for something, believes
nothing that it can compute, and raises `Contradiction` where the house says anything else: the numbering of events,
the drawing of cards, outcomes, payouts, stacks, and the order of a shoe whose secret was revealed. The rules are
written here once more, from sections 14 and 15 of the document; those of the roads (16) are in `plain_roads`.
"""

import asyncio
import hashlib
import json
import secrets
from collections.abc import Callable, Iterable
from typing import Any, Final

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from tests.support import plain_fairness, plain_roads

MSGPACK: Final = "punto.v1.msgpack"
JSON: Final = "punto.v1.json"
PATIENCE_S: Final = 5.0
"""The longest wait for the next message."""

Message = dict[str, Any]
Bets = dict[str, int]


class Contradiction(AssertionError):
    """The house said something that does not follow from the document and from what it said before."""


class Refused(Exception):
    """The answer to a request was an `error`."""

    def __init__(self, reply: Message) -> None:
        super().__init__(f"{reply['code']} {reply['name']} {reply['field'] or ''}".strip())
        self.reply = reply
        self.code: int = reply["code"]


def same(what: str, said: object, expected: object) -> None:
    """Compare what the house said with what follows from the document."""
    if said != expected:
        raise Contradiction(f"{what}: the house says {said!r}, expected is {expected!r}")


# --- Rules of the game (section 14) ---------------------------------------------------------------------------------

RANKS: Final = "A23456789TJQK"
SUITS: Final = "cdhs"
BANKER_DRAWS_ON: Final = {
    0: "0123456789",
    1: "0123456789",
    2: "0123456789",
    3: "012345679",
    4: "234567",
    5: "4567",
    6: "67",
    7: "",
}
"""By BANKER's total: the values of PLAYER's third card on which BANKER draws."""


def counts(card: str) -> int:
    """What a card adds to a hand."""
    face = RANKS.index(card[0]) + 1
    return face if face < 10 else 0


def total(cards: Iterable[str]) -> int:
    """The last digit of the sum."""
    return sum(counts(card) for card in cards) % 10


def next_side(player: list[str], banker: list[str]) -> str | None:
    """Whose hand gets the next card; None where both are complete."""
    if len(banker) < 2:
        return "player" if len(player) == len(banker) else "banker"
    if len(banker) == 3:
        return None
    if len(player) == 2:
        if max(total(player), total(banker)) >= 8:
            return None
        if total(player) <= 5:
            return "player"
        return "banker" if total(banker) <= 5 else None
    return "banker" if str(counts(player[2])) in BANKER_DRAWS_ON[total(banker)] else None


def outcome_of(player: list[str], banker: list[str]) -> str:
    """Which spot wins."""
    if total(player) == total(banker):
        return "tie"
    return "player" if total(player) > total(banker) else "banker"


def settled_bet(spot: str, stake: int, outcome: str | None, rules: Message) -> Message:
    """The `BetLine` of one bet; an outcome of None is a void round."""
    if outcome is None or (outcome == "tie" and spot != "tie"):
        return {"stake": stake, "payout": stake, "commission": 0, "result": "push", "capped": 0}
    if spot != outcome:
        return {"stake": stake, "payout": 0, "commission": 0, "result": "lose", "capped": 0}
    commission = -(-stake * rules["commission_bp"] // 10_000) if spot == "banker" else 0
    win = stake * rules["tie_pays"] if spot == "tie" else stake - commission
    capped = 0 if rules["win_max"] is None else max(0, win - rules["win_max"])
    return {
        "stake": stake,
        "payout": stake + win - capped,
        "commission": commission,
        "result": "win",
        "capped": capped,
    }


# --- The shoe (section 15) ------------------------------------------------------------------------------------------


class Shoe:
    """What was seen of one shoe, to be checked when its secret comes."""

    def __init__(self, number: int, cards: int, commitment: str, remaining: int) -> None:
        self.number = number
        self.cards = cards
        self.commitment = commitment
        self.remaining = remaining
        self.is_last_round = False
        self.seen: dict[int, str] = {}
        """Cards by their position, 0 for the first that was dealt."""
        self.cuts: int | None = None
        self.cuts_digest: str | None = None
        self.merkle_root: str | None = None
        self.rounds: int | None = None
        """How many rounds were settled from it; None where its beginning was not seen."""

    def take(self, card: str, count: int, remaining: int) -> None:
        """`count` cards left the shoe, the first of them is shown."""
        same("remaining", remaining, self.remaining - count)
        self.seen[self.cards - self.remaining] = card
        self.remaining = remaining

    def check(self, ended: Message) -> None:
        """Compare every card that was seen with the order that follows from the revealed secret."""
        same("the shoe that ends", ended["shoe"], self.number)
        if self.rounds is not None:
            same("rounds of the shoe", ended["rounds"], self.rounds)
        secret = bytes.fromhex(ended["secret"])
        same("commitment", self.commitment, hashlib.sha256(secret).hexdigest())
        if self.cuts or self.cuts is None:
            return  # other patrons' cuts are asked for elsewhere; a shoe that never closed shows no card
        order = plain_fairness.order_of(secret, self.cards // 52, self.number)
        root = plain_fairness.root_over(secret, self.cards // 52, self.number, order)
        same("merkle root", self.merkle_root, root)
        for position, card in self.seen.items():
            same(f"card at {position} of shoe {self.number}", card, plain_fairness.name_of(order[position]))

    def prove(self, position: int, card: str, proof: Message) -> None:
        """Follow the proof of a card to the root."""
        root = plain_fairness.root_from(proof, position, self.cards)
        same(f"root of card {position}", root, self.merkle_root)
        same(f"proved card {position}", plain_fairness.name_of(proof["index"]), card)


# --- One table ------------------------------------------------------------------------------------------------------

BEFORE_BETTING: Final = {"rules_changed", "shoe_started", "shoe_ended", "betting_opened"}
MAY_FOLLOW: Final = {
    "idle": BEFORE_BETTING | {"table_paused", "table_closed"},
    "paused": {"table_resumed", "table_idled"},
    "closed": {"table_resumed"},
    "betting": {"betting_extended", "betting_closed", "round_voided"},
    "dealing": {"shoe_shuffled", "cards_burned", "card_dealt", "round_decided", "round_voided"},
    "settling": {"round_settled", "table_idled", "table_paused"} | BEFORE_BETTING,
}
"""Section 7: the numbered events that may come in each phase."""


class Table:
    """One table as it follows from a snapshot and the numbered events after it."""

    def __init__(self, snapshot: Message) -> None:
        self.name: str = snapshot["table"]
        self.shoe: Shoe | None = None
        self.closed: Message | None = None
        """`betting_closed` of the present round, where it was seen."""
        self.settled: dict[int, Message] = {}
        """`round_settled` by round, where it was seen."""
        self.shoes_checked = 0
        self.replace(snapshot)

    def replace(self, snapshot: Message) -> None:
        """Believe a snapshot; what was seen of the shoe that is still open is kept for its check."""
        self.incarnation: str = snapshot["incarnation"]
        self.seq: int = snapshot["seq"]
        self.at_ms: int = snapshot["at_ms"]
        self.rules: Message = snapshot["rules"]
        self.phase: str = snapshot["phase"]
        self.round: int = snapshot["round"]
        self.opened_at_ms: int | None = snapshot["opened_at_ms"]
        self.closes_at_ms: int | None = snapshot["closes_at_ms"]
        self.dealt: list[Message] = list(snapshot["dealt"])
        self.outcome: str | None = snapshot["outcome"]
        self.is_void: bool = snapshot["is_void"]
        self.roads: Message = snapshot["roads"]
        self.crowd: Message = snapshot["crowd"]
        self.closed = None
        self.unsettled: bool | None = None
        """Whether `round_settled` is still to come, while settling; None where a snapshot does not tell it."""
        view, known = snapshot["shoe"], self.shoe
        self.shoe = None
        if view is not None:
            self.shoe = Shoe(view["number"], view["cards"], view["commitment"], view["remaining"])
            for field in ("is_last_round", "cuts", "cuts_digest", "merkle_root"):
                setattr(self.shoe, field, view[field])
            if known is not None and (known.number, known.commitment) == (self.shoe.number, self.shoe.commitment):
                self.shoe.seen = known.seen

    def hand(self, side: str) -> list[str]:
        """The cards of one side."""
        return [dealt["card"] for dealt in self.dealt if dealt["side"] == side]

    def known_shoe(self) -> Shoe:
        """The open shoe."""
        if self.shoe is None:
            raise Contradiction(f"{self.name} deals from no shoe")
        return self.shoe

    def apply(self, event: Message) -> bool:
        """Apply one numbered event and say whether it was news."""
        if event["seq"] <= self.seq:
            return False
        same("seq of the next event", event["seq"], self.seq + 1)
        self.seq += 1
        kind: str = event["type"]
        if (handle := getattr(self, f"_on_{kind}", None)) is None:
            return True  # of a newer server: it uses up its number
        may_follow = MAY_FOLLOW[self.phase]
        if self.phase == "settling" and self.unsettled is not None:
            may_follow = {"round_settled"} if self.unsettled else may_follow - {"round_settled"}
        if kind not in may_follow:
            raise Contradiction(f"{kind} while {self.phase}: {event}")
        if "round" in event and kind != "betting_opened":
            same(f"round of {kind}", event["round"], self.round)
        handle(event)
        return True

    def compare(self, snapshot: Message) -> None:
        """A snapshot at the same number must say what follows from the events up to it."""
        same("incarnation", snapshot["incarnation"], self.incarnation)
        same("seq of the snapshot", snapshot["seq"], self.seq)
        for field in (
            "rules",
            "phase",
            "round",
            "opened_at_ms",
            "closes_at_ms",
            "dealt",
            "outcome",
            "is_void",
            "roads",
        ):
            same(f"{field} of the snapshot", snapshot[field], getattr(self, field))
        view = snapshot["shoe"]
        same("shoe in the snapshot", view is not None, self.shoe is not None)
        if self.shoe is not None:
            known = (
                "number",
                "cards",
                "commitment",
                "remaining",
                "is_last_round",
                "cuts",
                "cuts_digest",
                "merkle_root",
            )
            for field in known:
                same(f"{field} of the shoe", view[field], getattr(self.shoe, field))

    def _on_rules_changed(self, event: Message) -> None:
        self.rules = event["rules"]

    def _on_shoe_started(self, event: Message) -> None:
        same("a shoe that is open when the next one starts", self.shoe, None)
        same("cards of the shoe", event["cards"], 52 * event["decks"])
        for field in ("decks", "cut_card"):
            same(f"{field} of the shoe", event[field], self.rules[field])
        self.shoe = Shoe(event["shoe"], event["cards"], event["commitment"], event["cards"])
        self.shoe.rounds = 0
        if event["roads"] is not None:
            same("roads that begin anew", event["roads"], plain_roads.whole("", event["roads"]["rounds_max"]))
            self.roads = event["roads"]

    def _on_betting_opened(self, event: Message) -> None:
        same("round that opens", event["round"], self.round + 1)
        shoe, cut = self.known_shoe(), self.rules["cut_card"]
        same("shoe of the round", event["shoe"], shoe.number)
        same("a round from the shoe after its last one", shoe.is_last_round, False)
        same("is_last_round", event["is_last_round"], cut is None or shoe.remaining <= cut)
        shoe.is_last_round = event["is_last_round"]
        self.phase, self.round = "betting", event["round"]
        self.opened_at_ms, self.closes_at_ms = event["opened_at_ms"], event["closes_at_ms"]
        self.dealt, self.outcome, self.is_void, self.closed = [], None, False, None

    def _on_betting_extended(self, event: Message) -> None:
        if self.closes_at_ms is None or event["closes_at_ms"] <= self.closes_at_ms:
            raise Contradiction(f"no extension of {self.closes_at_ms}: {event}")
        self.closes_at_ms = event["closes_at_ms"]

    def _on_betting_closed(self, event: Message) -> None:
        if self.closes_at_ms is not None:
            same("early", event["early"], event["closed_at_ms"] < self.closes_at_ms)
        self.phase, self.closed, self.closes_at_ms = "dealing", event, event["closed_at_ms"]
        if self.shoe is not None and event["cuts"] is not None:
            same("cuts before", self.shoe.cuts, None)
            self.shoe.cuts, self.shoe.cuts_digest = event["cuts"], event["cuts_digest"]

    def _on_shoe_shuffled(self, event: Message) -> None:
        shoe = self.known_shoe()
        same("root before", shoe.merkle_root, None)
        same("cards left in front of the root", shoe.remaining, shoe.cards)
        shoe.merkle_root = event["merkle_root"]

    def _on_cards_burned(self, event: Message) -> None:
        shoe = self.known_shoe()
        same("shoe that is burned", event["shoe"], shoe.number)
        same("cards left in front of the burn", shoe.remaining, shoe.cards)
        same("cards burned", event["count"], 1 + (counts(event["card"]) or 10))
        shoe.take(event["card"], event["count"], event["remaining"])
        shoe.prove(0, event["card"], event["proof"])

    def _on_card_dealt(self, event: Message) -> None:
        shoe = self.known_shoe()
        if shoe.remaining == shoe.cards:
            same("cut card of a shoe that is not burned", self.rules["cut_card"], None)
        same("whose card", event["side"], next_side(self.hand("player"), self.hand("banker")))
        self.dealt.append({field: event[field] for field in ("side", "card", "show_at_ms")})
        same("total", event["total"], total(self.hand(event["side"])))
        shoe.take(event["card"], 1, event["remaining"])

    def _on_round_decided(self, event: Message) -> None:
        player, banker = self.hand("player"), self.hand("banker")
        same("cards still to be dealt", None, next_side(player, banker))
        cards = [card["card"] for card in self.dealt]
        shoe = self.known_shoe()
        proved = 0 if self.rules["cut_card"] is None else len(cards)
        same("proofs", len(event["proofs"]), proved)
        for back, (card, proof) in enumerate(zip(reversed(cards), reversed(event["proofs"]), strict=False), start=1):
            shoe.prove(shoe.cards - shoe.remaining - back, card, proof)
        same("outcome", event["outcome"], outcome_of(player, banker))
        for side, cards in (("player", player), ("banker", banker)):
            same(f"hand of {side}", event[side], cards)
            same(f"total of {side}", event[f"{side}_total"], total(cards))
            same(f"natural of {side}", event[f"{side}_natural"], len(cards) == 2 and total(cards) >= 8)
        self.phase, self.outcome, self.unsettled = "settling", event["outcome"], True
        self.roads = plain_roads.after(self.roads, event["roads"])
        same("roads", self.roads, plain_roads.whole(self.roads["beads"], self.roads["rounds_max"]))

    def _on_round_voided(self, event: Message) -> None:
        self.phase, self.outcome, self.is_void, self.unsettled = "settling", None, True, True

    def _on_round_settled(self, event: Message) -> None:
        if self.closed is not None:
            same("patrons settled", event["settled"], self.closed["bettors"])
            if self.closed["bettors"] == 1:  # then the sums on the spots are the bets of one patron
                lines = [
                    settled_bet(spot, bet, self.outcome, self.rules) for spot, bet in self.closed["totals"].items()
                ]
                same("paid", event["paid"], sum(line["payout"] for line in lines))
        self.settled[self.round] = event
        self.unsettled = False
        if self.shoe is not None and self.shoe.rounds is not None:
            self.shoe.rounds += 1

    def _on_shoe_ended(self, event: Message) -> None:
        shoe = self.known_shoe()
        if event["reason"] == "dealt":
            same("the round before was announced as the last", shoe.is_last_round, True)
        if not self.rules["stacked"]:
            shoe.check(event)
            self.shoes_checked += 1
        self.shoe = None

    def _on_table_idled(self, event: Message) -> None:
        self.phase = "idle"

    _on_table_resumed = _on_table_idled

    def _on_table_paused(self, event: Message) -> None:
        self.phase = "paused"

    def _on_table_closed(self, event: Message) -> None:
        self.phase = "closed"


# --- One seat -------------------------------------------------------------------------------------------------------


class Seat:
    """The own seat: what each act must do to it (section 8) and what a result must bring (section 9)."""

    def __init__(self, view: Message, round_of_bets: int | None) -> None:
        self.stack: int = view["stack"]
        self.ready: bool = view["ready"]
        self.leaving: bool = view["leaving"]
        self.last_bets: Bets = view["last_bets"]
        self.last_round: int | None = view["last_round"]
        self.last_outcome: str | None = view["last_outcome"]
        self.last_results: Message | None = view["last_results"]
        self.lays: list[Bets] = [view["bets"]] if view["bets"] else []
        """What each act that laid something put down and what still lies of it, oldest first."""
        self.traced = not view["bets"]
        """Whether `lays` is that in truth: a snapshot tells the sums only, and then nobody can foresee an `undo`."""
        self.round = round_of_bets if view["bets"] else None
        """The round in which `lays` lie."""

    @property
    def bets(self) -> Bets:
        """What lies, by spot."""
        sums: Bets = {}
        for lay in self.lays:
            for spot, chips in lay.items():
                sums[spot] = sums.get(spot, 0) + chips
        return sums

    def compare(self, view: Message) -> None:
        """What the house says of the seat must be what follows from the acts and results."""
        for field in ("stack", "bets", "last_bets", "last_round", "last_outcome", "last_results"):
            same(f"{field} of the seat", view[field], getattr(self, field))
        self.ready, self.leaving = view["ready"], view["leaving"]

    def after(self, act: Message, minimum: int) -> list[Bets]:
        """What lies after an act that is accepted."""
        verb, spot = act["type"], act.get("spot")
        if verb == "place":
            return [*self.lays, {act["spot"]: act["chip"]}]
        if verb == "double":
            return [*self.lays, self.bets]
        if verb == "rebet":
            return [self.last_bets]
        if verb == "clear":
            return []
        if verb == "ready":
            return self.lays
        lays = [dict(lay) for lay in self.lays]
        newest = lays[-1] if spot is None else next(lay for lay in reversed(lays) if spot in lay)
        for taken in [spot] if spot is not None else list(newest):
            del newest[taken]
            if sum(lay.get(taken, 0) for lay in lays) < minimum:
                for lay in lays:
                    lay.pop(taken, None)
        return [lay for lay in lays if lay]

    def acted(self, act: Message, minimum: int, receipt: Message) -> None:
        """Carry out an act that was accepted and check its receipt."""
        before = sum(self.bets.values())
        self.traced = self.traced or act["type"] in ("clear", "rebet")
        if act["type"] == "undo" and not self.traced:
            self.lays = [receipt["bets"]]
        else:
            self.lays = self.after(act, minimum)
        self.ready = act["type"] == "ready"
        self.round = act["round"] if self.lays else None
        self.stack += before - sum(self.bets.values())
        for field in ("bets", "stack", "ready"):
            same(f"{field} after {act['type']}", receipt[field], getattr(self, field))

    def paid(self, results: Message, rules: Message) -> None:
        """The private `results`: check each payout and take them onto the stack."""
        if self.last_round == results["round"]:  # `you` in a reply has told them before
            same("results", results["bets"], self.last_results)
            return
        self._settle(results["round"], results["outcome"], results["bets"], rules)
        same("stack after the results", results["stack"], self.stack)

    def catch_up(self, view: Message, rules: Message) -> None:
        """An `OwnSeat` that may hold results which did not come: check them in the same way."""
        if self.round is not None and view["last_round"] == self.round:
            self._settle(self.round, view["last_outcome"], view["last_results"], rules)

    def _settle(self, number: int, outcome: str | None, said: Message | None, rules: Message) -> None:
        bets = self.bets
        lines = {spot: settled_bet(spot, stake, outcome, rules) for spot, stake in bets.items()}
        same(f"results of round {number}", said, lines)
        self.stack += sum(line["payout"] for line in lines.values())
        self.lays, self.traced, self.round = [], True, None
        self.last_bets, self.last_round, self.last_outcome, self.last_results = bets, number, outcome, lines


# --- One patron -----------------------------------------------------------------------------------------------------

FIELDS: Final = {
    "shoe_started": "shoe decks cards cut_card commitment roads",
    "betting_opened": "round shoe opened_at_ms closes_at_ms is_last_round",
    "betting_extended": "round closes_at_ms",
    "betting_closed": "round closed_at_ms early totals bettors cuts cuts_digest",
    "shoe_shuffled": "shoe round merkle_root",
    "cards_burned": "round shoe card count remaining show_at_ms proof",
    "card_dealt": "round side card total remaining show_at_ms",
    "round_decided": "round outcome player banker player_total banker_total player_natural banker_natural show_at_ms"
    " roads proofs",
    "round_voided": "round reason",
    "round_settled": "round paid settled next_at_ms seal sealed_to",
    "shoe_ended": "shoe rounds secret reason",
    "table_idled": "round seal sealed_to",
    "table_paused": "round reason",
    "table_resumed": "round",
    "table_closed": "round reason",
    "rules_changed": "rules",
    "crowd": "round crowd",
    "results": "round outcome bets stack",
    "snapshot": "reason snapshot",
    "seat_taken_over": "",
    "seat_warned": "rounds_left",
    "seat_freed": "reason wallet",
    "error": "code name message retry field arrived_at_ms closed_at_ms",
    "ok to hello": "protocol server patron name token wallet currency exponent at_ms",
    "ok to list_tables": "tables more",
    "ok to watch": "table resumed snapshot you wallet",
    "ok to join": "table resumed snapshot you wallet",
    "ok to leave": "table after_round wallet",
    "ok to unwatch": "table after_round wallet",
    "ok to statement": "lines more complete_to",
    "ok to history": "rounds more",
    "ok to rounds": "table rounds more",
    "ok to ping": "at_ms",
    "ok to an act": "table round accepted_at_ms stack bets ready",
}
"""Section 17: what every message holds; a message may hold more."""


def whole(kind: str, message: Message) -> None:
    """See that no field of the document is missing."""
    if missing := set(FIELDS.get(kind, "").split()) - message.keys():
        raise Contradiction(f"{kind} without {missing}: {message}")


class Party:
    """One patron over one WebSocket at a time; where another one acts for the same patron, its books are wrong."""

    def __init__(self, url: str, subprotocol: str, name: str) -> None:
        self.url = url
        self.subprotocol = subprotocol
        self.name = name
        self.token: str | None = None
        self.patron: str | None = None
        self.wallet = 0
        self.tables: dict[str, Table] = {}
        self.seats: dict[str, Seat] = {}
        """Those that this line holds: of one that another line holds no receipts come."""
        self.heard: list[Message] = []
        """Every event, in the order in which they came."""
        self._line: ClientConnection | None = None
        self._replies: dict[str | None, Message] = {}
        self._prefix = secrets.token_hex(4)
        self._requests = 0

    # --- The line

    async def connect(self) -> None:
        """Open a line without a hello."""
        offered = [Subprotocol(self.subprotocol)]
        self._line = await connect(self.url, subprotocols=offered, compression=None, max_size=2**20, proxy=None)
        same("subprotocol", self._line.subprotocol, self.subprotocol)
        self._replies.clear()

    async def hello(self) -> Message:
        """A new guest the first time, the same patron from then on."""
        name = self.name if self.token is None else None
        said = await self.ask("hello", name=name, token=self.token, bot=True, client="protocol party")
        same("protocol", said["protocol"], 1)
        same("a token for somebody who has none", said["token"] is not None, self.token is None)
        self.token = said["token"] or self.token
        if self.patron is None:
            self.patron, self.wallet = said["patron"], said["wallet"]
        same("patron", said["patron"], self.patron)
        return said

    async def arrive(self, token: str | None = None) -> Message:
        """Connect and say hello; with the token of another party, as the same patron."""
        self.token = token or self.token
        await self.connect()
        return await self.hello()

    async def hang_up(self) -> None:
        """Close the line and say nothing."""
        if self._line is not None:
            await self._line.close()
            self._line = None

    async def go(self) -> None:
        """Give up the seats that it holds, as far as the line still stands, and hang up."""
        if self._line is not None:
            try:
                for name in list(self.seats):
                    await self.ask("leave", table=name)
            except (ConnectionClosed, Refused):
                pass
            finally:
                await self.hang_up()

    async def close_code(self) -> int:
        """Read until the node has closed the line; returns its code."""
        try:
            while True:
                await self.hear()
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd is not None else 1006

    async def send_frame(self, frame: bytes | str) -> None:
        """Send any frame, also one that is no message."""
        assert self._line is not None, "the line is closed"
        await self._line.send(frame)

    def encoded(self, message: Message) -> bytes | str:
        """One message as the subprotocol writes it."""
        if self.subprotocol == JSON:
            return json.dumps(message)
        packed: bytes = msgpack.packb(message)
        return packed

    def decoded(self, frame: bytes | str) -> Message:
        """One frame of the node."""
        same("kind of frame", type(frame), str if self.subprotocol == JSON else bytes)
        message = json.loads(frame) if isinstance(frame, str) else msgpack.unpackb(frame)
        same("kind of message", type(message), dict)
        return dict(message)

    # --- Requests and replies

    async def send(self, kind: str, request_id: str | None = None, **fields: object) -> str:
        """Send a request and return its id; the reply is for `reply_to`."""
        self._requests += 1
        request_id = request_id or f"{self._prefix}-{self._requests}"
        await self.send_frame(self.encoded({"type": kind, "request_id": request_id, **fields}))
        return request_id

    async def reply_to(self, request_id: str | None) -> Message:
        """Read until the reply to a request has come; raises `Refused` for an `error`."""
        while request_id not in self._replies:
            await self.hear()
        reply = self._replies.pop(request_id)
        if reply["type"] == "error":
            raise Refused(reply)
        return reply

    async def ask(self, kind: str, request_id: str | None = None, **fields: Any) -> Message:
        """Send a request and wait for its good answer."""
        reply = await self.reply_to(await self.send(kind, request_id, **fields))
        acts = ("place", "undo", "clear", "rebet", "double", "ready")
        whole("ok to an act" if kind in acts else f"ok to {kind}", reply)
        return reply

    async def hear(self) -> None:
        """Read one message: keep a reply, apply an event."""
        assert self._line is not None, "the line is closed"
        async with asyncio.timeout(PATIENCE_S):
            message = self.decoded(await self._line.recv())
        if message["type"] in ("ok", "error"):
            if message["type"] == "error":
                whole("error", message)
            self._replies[message["request_id"]] = message
            return
        whole(message["type"], message)
        self.heard.append(message)
        if (table := self.tables.get(message["table"])) is not None:
            self._apply(table, message)

    async def until(self, holds: Callable[[], object]) -> None:
        """Read until something holds."""
        while not holds():
            await self.hear()

    # --- Tables

    async def list_tables(self) -> list[Message]:
        """All tables, over as many pages as there are."""
        tables: list[Message] = []
        while True:
            page = await self.ask("list_tables", after=tables[-1]["table"] if tables else None)
            tables += page["tables"]
            if not page["more"]:
                return tables

    async def join(self, name: str, buy_in: int = 0) -> Table:
        """Sit down, take the own seat over, or add chips."""
        reply = await self.ask("join", table=name, buy_in=buy_in)
        same("wallet after the buy-in", reply["wallet"], self.wallet - buy_in)
        self.wallet -= buy_in
        if name in self.seats:
            self.seats[name].stack += buy_in
        self._arrived(name, reply)
        return self.tables[name]

    async def watch(self, name: str) -> Table:
        """Follow a table as a spectator, or compare what is known of it with what the house says now."""
        self._arrived(name, await self.ask("watch", table=name), holds=name in self.seats)
        return self.tables[name]

    async def resume(self, name: str) -> bool:
        """On a new line: go on where the last event was applied; says whether the node could."""
        known, seat = self.tables[name], self.seats[name]
        reply = await self.ask("join", table=name, incarnation=known.incarnation, seq=known.seq)
        if reply["wallet"] != self.wallet:  # it was away for too long: this is a new seat
            seat.catch_up(reply["you"], known.rules)
            self._freed(name, reply["wallet"])
        self._arrived(name, reply)
        return bool(reply["resumed"])

    async def leave(self, name: str) -> Message:
        """Give the seat up; where no bet lies, the whole stack is in the wallet then."""
        reply = await self.ask("leave", table=name)
        seat = self.seats[name]
        same("after_round", reply["after_round"], bool(seat.bets))
        if reply["after_round"]:
            seat.leaving = True
        else:
            self._freed(name, reply["wallet"])
        return reply

    async def act(self, name: str, verb: str, **fields: Any) -> Message:
        """One act in the present round, its receipt compared with what it must do."""
        table = self.tables[name]
        act: Message = {"round": table.round, **fields}
        receipt = await self.ask(verb, table=name, **act)
        same("round of the receipt", receipt["round"], act["round"])
        self.seats[name].acted({"type": verb, **act}, table.rules["minimum"], receipt)
        return receipt

    async def betting(self, name: str) -> Table:
        """Wait for the betting of a round that has not yet been seen."""
        table = self.tables[name]
        seen = table.round
        await self.until(lambda: table.phase == "betting" and table.round > seen)
        return table

    async def settled(self, name: str) -> Message:
        """Wait for the end of the present round."""
        table = self.tables[name]
        number = table.round
        await self.until(lambda: number in table.settled)
        return table.settled[number]

    # --- What comes in

    def _arrived(self, name: str, reply: Message, *, holds: bool = True) -> None:
        """The reply to `join` or `watch`: a snapshot, or the promise of the events after the known number."""
        if not reply["resumed"]:
            self._replace(reply["snapshot"])
        elif name not in self.tables:
            raise Contradiction(f"{name} was never known and is resumed")
        else:
            same("snapshot of what is resumed", reply["snapshot"], None)
        self._own(name, reply["you"] if holds else None)

    def _replace(self, snapshot: Message) -> None:
        known = self.tables.get(snapshot["table"])
        if known is None:
            self.tables[snapshot["table"]] = Table(snapshot)
        elif (known.incarnation, known.seq) == (snapshot["incarnation"], snapshot["seq"]):
            known.compare(snapshot)
        elif known.incarnation != snapshot["incarnation"] or known.seq < snapshot["seq"]:
            known.replace(snapshot)

    def _own(self, name: str, you: Message | None) -> None:
        if you is None:
            self.seats.pop(name, None)
        elif name not in self.seats:
            self.seats[name] = Seat(you, self.tables[name].round)
        else:
            self.seats[name].catch_up(you, self.tables[name].rules)
            self.seats[name].compare(you)

    def _freed(self, name: str, wallet: int | None) -> None:
        self.wallet += self.seats.pop(name).stack
        same("wallet with the stack in it", wallet, self.wallet)

    def _apply(self, table: Table, event: Message) -> None:
        kind, name = event["type"], table.name
        seat = self.seats.get(name)
        if "seq" in event:
            if table.apply(event) and seat is not None:
                self._seen_from(seat, table, event)
        elif kind == "crowd":
            table.crowd = event["crowd"]
        elif kind == "snapshot":
            self._replace(event["snapshot"])
            self._own(name, event["snapshot"]["you"] if seat is not None else None)
        elif kind == "seat_taken_over":
            self.seats.pop(name, None)
        elif kind == "seat_freed" and seat is not None:
            self._freed(name, event["wallet"])
        elif kind == "results" and seat is not None:
            same("phase in which results come", table.phase, "settling")
            same("round and outcome of the results", (event["round"], event["outcome"]), (table.round, table.outcome))
            seat.paid(event, table.rules)

    def _seen_from(self, seat: Seat, table: Table, event: Message) -> None:
        """What a numbered event must say to somebody who has bets in its round."""
        kind = event["type"]
        if kind == "betting_opened":
            seat.ready = False
        elif kind == "round_decided" and seat.last_round == table.round:
            same("outcome of results that were told before", seat.last_outcome, table.outcome)
        elif kind == "betting_closed" and seat.round == table.round:
            for spot, chips in seat.bets.items():
                if event["totals"].get(spot, 0) < chips:
                    raise Contradiction(f"{chips} on {spot} are not in the final sums: {event}")
        elif kind == "round_settled" and seat.round == table.round:
            raise Contradiction(f"{event} comes before the results of {seat.bets}")
