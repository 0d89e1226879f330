"""Judges a run: from what every seat saw and what the store holds to a list of broken promises, empty where all held.

Pure. It knows the promises and nothing of how a node keeps them:

    order    every seat got the same events in the same order, without a gap or a repeat, and as the store holds them
    shoes    each card left its shoe once, and where the revealed secret puts it
    closing  no act was accepted at or after the instant at which its round's betting closed
    bets     every acknowledged bet was settled or voided, once, by what the table's history says of its round
    owners   no two claims of a table have one epoch
    money    what was put in lies in wallets, on stacks, on spots, on the way between them, or is the house's
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final, NamedTuple

from client_sdk.game.cards import card_of_index
from client_sdk.game.fairness import commitment, shuffle
from client_sdk.game.settlement import settle
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import Message
from tests.chaos.evidence import ActRecord, Bets, Evidence, Sight, StoredTable, View, plain, total


class Kind(StrEnum):
    """Which promise was broken."""

    GAP = "gap"
    REPEAT = "repeat"
    UNASKED = "unasked"
    DIFFERS = "differs"
    CARD = "card"
    SHOE = "shoe"
    LATE = "late"
    ANSWER = "answer"
    LOST_BET = "lost_bet"
    TWICE = "twice"
    PAYOUT = "payout"
    OWNERS = "owners"
    MONEY = "money"


class Broken(NamedTuple):
    """One broken promise."""

    kind: Kind
    where: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind.value} at {self.where}: {self.detail}"


@dataclass(slots=True)
class Verdict:
    """All that was found, and counts of what was looked at."""

    broken: list[Broken]
    events: int = 0
    snapshots: int = 0
    rounds: int = 0
    bets: int = 0
    counts: Counter[Kind] = field(default_factory=Counter)


def judge(evidence: Evidence) -> Verdict:
    """Check everything."""
    history = {table: _history(table, evidence) for table in _tables(evidence)}
    broken = [
        *_check_order(evidence),
        *(found for table, events in history.items() for found in _check_shoes(table, events)),
        *_check_closing(evidence),
        *_check_answers(evidence),
        *_check_claims(evidence),
        *_check_money(evidence),
    ]
    bets = _BetCheck(evidence)
    broken += bets.check()
    return Verdict(
        broken=broken,
        events=sum(sight.kind == "event" for view in evidence.views for sight in view.sights),
        snapshots=sum(sight.kind == "base" and bool(sight.body) for view in evidence.views for sight in view.sights),
        rounds=bets.rounds,
        bets=bets.bets,
        counts=Counter(found.kind for found in broken),
    )


def _tables(evidence: Evidence) -> list[str]:
    return sorted({view.table for view in evidence.views})


# --- order ------------------------------------------------------------------------------------------------------------


def _check_order(evidence: Evidence) -> Iterator[Broken]:
    for view in evidence.views:
        yield from _check_view(view)
    told: dict[tuple[str, str, int], Message] = {}
    for view in evidence.views:
        for sight in view.sights:
            if sight.kind == "event":
                first = told.setdefault((view.table, sight.incarnation, sight.seq), sight.body)
                if first != sight.body:
                    where = f"{view.table} {sight.incarnation} seq {sight.seq}"
                    yield Broken(Kind.DIFFERS, where, f"{plain(sight.body)}, another seat got {plain(first)}")
    for (table, incarnation, seq), event in told.items():
        stored = evidence.tables.get(table)
        if stored is None or stored.incarnation != incarnation:
            continue
        kept = stored.stream.get(seq)
        if seq > stored.seq or (kept is not None and kept != event):
            yield Broken(Kind.DIFFERS, f"{table} seq {seq}", f"seats got {plain(event)}, the store has {plain(kept)}")
    for table, stored in evidence.tables.items():
        yield from _check_stream(table, stored)


def _check_view(view: View) -> Iterator[Broken]:
    """Follow one connection: its numbers go up by one from wherever a reply or a snapshot put it."""
    at: int | None = None
    where = f"{view.table} connection {view.line} of {view.patron}"
    for sight in view.sights:
        if sight.kind == "base":
            at = sight.seq
        elif sight.kind != "event":
            continue
        elif at is None:
            yield Broken(Kind.UNASKED, where, f"seq {sight.seq} before any answer")
        elif sight.seq != at + 1:
            kind = Kind.GAP if sight.seq > at else Kind.REPEAT
            yield Broken(kind, where, f"seq {sight.seq} after {at}")
            at = max(at, sight.seq)
        else:
            at = sight.seq


def _check_stream(table: str, stored: StoredTable) -> Iterator[Broken]:
    seqs = sorted(stored.stream)
    if seqs and (seqs[-1] != stored.seq or len(seqs) != seqs[-1] - seqs[0] + 1):
        yield Broken(Kind.GAP, f"{table} stream", f"{len(seqs)} entries from {seqs[0]} to {seqs[-1]}, at {stored.seq}")


# --- shoes ------------------------------------------------------------------------------------------------------------


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


def _check_shoes(table: str, history: Mapping[str, list[Message]]) -> Iterator[Broken]:
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
    order = shuffle(secret, shoe.decks, shoe.number)
    wrong = [(at, card) for at, card in shoe.dealt.items() if card_of_index(order[at]) != card]
    if wrong:
        yield Broken(Kind.SHOE, where, f"{len(wrong)} cards were not those of the secret, first {wrong[0]}")


# --- acts -------------------------------------------------------------------------------------------------------------


def _check_closing(evidence: Evidence) -> Iterator[Broken]:
    closed_at_ms = {
        (view.table, sight.incarnation, sight.body["round"]): sight.body["closed_at_ms"]
        for view in evidence.views
        for sight in view.sights
        if sight.kind == "event" and sight.body["type"] == "betting_closed"
    }
    for act in evidence.acts:
        closed = closed_at_ms.get((act.table, act.incarnation, act.round))
        for _, receipt in act.receipts:
            if closed is not None and receipt["accepted_at_ms"] >= closed:
                detail = f"{act.verb} accepted at {receipt['accepted_at_ms']}, closed at {closed}"
                yield Broken(Kind.LATE, f"{act.table} round {act.round} {act.patron}", detail)


def _check_answers(evidence: Evidence) -> Iterator[Broken]:
    """A request that was sent again is answered word for word as the first time."""
    for act in evidence.acts:
        where = f"{act.table} round {act.round} {act.patron}"
        if len({repr(sorted(receipt.items(), key=repr)) for _, receipt in act.receipts}) > 1:
            yield Broken(Kind.ANSWER, where, f"{act.request_id} was answered in two ways: {plain(act.receipts)}")
        if act.receipts and act.refusal is not None and not evidence.loses_acts:
            yield Broken(Kind.ANSWER, where, f"{act.request_id} was taken and refused: {plain(act.refusal)}")


# --- bets -------------------------------------------------------------------------------------------------------------

RoundKey = tuple[str, int]
"""Table and round: a round that is in the store's history was played once."""


class _Ended(NamedTuple):
    """How the store's history says that a round ended; no outcome: voided."""

    outcome: Outcome | None
    paid: int
    settled: int


@dataclass(slots=True)
class _Stake:
    """What one patron had in one round. `is_sure`: every act of the round was answered."""

    bets: Bets = field(default_factory=dict)
    is_sure: bool = True
    accepted_at_ms: int = -1
    told: list[tuple[str, Message]] = field(default_factory=list)
    """Results as private events told them, with the incarnation; the newest counts."""
    seat: Message | None = None
    """The same as a seat in a reply told them."""


class _BetCheck:
    """Follows every acknowledged bet to its settlement, and every patron's money from the start to the end."""

    def __init__(self, evidence: Evidence) -> None:
        self.rounds = 0
        self.bets = 0
        self._evidence = evidence
        self._ended = {
            (table, number): ended
            for table, stored in evidence.tables.items()
            for number, ended in _ended_rounds(stored).items()
        }
        self._stakes: dict[RoundKey, dict[str, _Stake]] = {}

    def check(self) -> Iterator[Broken]:
        self._collect()
        for key in sorted(self._stakes):
            ended = self._ended.get(key)
            if ended is not None:
                self.rounds += 1
                yield from self._check_round(key, ended, self._stakes[key])
            for patron, stake in self._stakes[key].items():
                if len({incarnation for incarnation, _ in stake.told}) < len(stake.told):
                    yield Broken(Kind.TWICE, _where(key, patron), f"results were told twice: {plain(stake.told)}")
        if not self._evidence.loses_acts:
            yield from self._check_patrons()

    # --- gathering ---

    def _collect(self) -> None:
        """Take only what belongs to the life of the table that the store remembers."""
        for act in self._evidence.acts:
            stake = self._stake(act.table, act.round, act.patron)
            if self._is_forgotten(act):
                stake.is_sure = False
                continue
            stake.is_sure = stake.is_sure and act.is_decided
            for _, receipt in act.receipts:
                if receipt["accepted_at_ms"] >= stake.accepted_at_ms:
                    stake.accepted_at_ms, stake.bets = receipt["accepted_at_ms"], receipt["bets"]
        for view in self._evidence.views:
            for sight in view.sights:
                self._collect_sight(view, sight)

    def _collect_sight(self, view: View, sight: Sight) -> None:
        if self._evidence.loses_acts and sight.incarnation != self._evidence.tables[view.table].incarnation:
            return
        if sight.kind == "results":
            told = self._stake(view.table, sight.body["round"], view.patron).told
            told.append((sight.incarnation, sight.body))
        seat = sight.body if sight.kind == "seat" else sight.body.get("you") if sight.kind == "base" else None
        if seat is not None and seat.get("last_round") is not None and seat.get("last_results"):
            self._stake(view.table, seat["last_round"], view.patron).seat = seat["last_results"]

    def _is_forgotten(self, act: ActRecord) -> bool:
        """Where the store forgets, acts that it confirmed to nobody may be gone; those of a later life may not."""
        stored = self._evidence.tables.get(act.table)
        return self._evidence.loses_acts and (stored is None or act.incarnation != stored.incarnation)

    def _stake(self, table: str, number: int, patron: str) -> _Stake:
        return self._stakes.setdefault((table, number), {}).setdefault(patron, _Stake())

    # --- one round ---

    def _check_round(self, key: RoundKey, ended: _Ended, stakes: Mapping[str, _Stake]) -> Iterator[Broken]:
        sure = {patron: stake.bets for patron, stake in stakes.items() if stake.is_sure and stake.bets}
        self.bets += sum(map(len, sure.values()))
        for patron, stake in stakes.items():
            yield from self._check_stake(key, patron, ended, stake)
        maybe = sum(not stake.is_sure for stake in stakes.values())
        if ended.settled < len(sure):
            detail = f"{len(sure)} patrons had acknowledged bets, {ended.settled} were settled"
            yield Broken(Kind.LOST_BET, _where(key), detail)
        if ended.settled > len(sure) + maybe and not self._evidence.loses_acts:
            detail = f"{len(sure)} to {len(sure) + maybe} patrons had bets, {ended.settled} were settled"
            yield Broken(Kind.TWICE, _where(key), detail)
        payouts = sum(total(_payouts(key[0], bets, ended.outcome)) for bets in sure.values())
        if maybe == 0 and payouts != ended.paid and not self._evidence.loses_acts:
            yield Broken(Kind.PAYOUT, _where(key), f"{ended.paid} was paid, the acknowledged bets give {payouts}")

    def _check_stake(self, key: RoundKey, patron: str, ended: _Ended, stake: _Stake) -> Iterator[Broken]:
        lines = _lines(stake)
        if lines is None:
            return
        settled = {spot: line["stake"] for spot, line in lines.items()}
        if stake.is_sure and settled != stake.bets:
            detail = f"acknowledged were {stake.bets}, settled {settled}"
            yield Broken(Kind.LOST_BET, _where(key, patron), detail)
            return
        paid = {spot: line["payout"] for spot, line in lines.items() if line["payout"]}
        right = {spot: amount for spot, amount in _payouts(key[0], settled, ended.outcome).items() if amount}
        if paid != right:
            yield Broken(Kind.PAYOUT, _where(key, patron), f"{paid} came back, {ended.outcome} gives {right}")

    # --- one patron ---

    def _check_patrons(self) -> Iterator[Broken]:
        """What a patron has in the end is what it was given, plus what its acknowledged bets won, less what they
        lost."""
        won: Counter[str] = Counter()
        unsure: set[str] = set()
        for (table, number), stakes in self._stakes.items():
            for patron, stake in stakes.items():
                bets, ended = _settled_bets(stake), self._ended.get((table, number))
                if bets is None:
                    unsure.add(patron)
                elif ended is None:
                    won[patron] -= total(bets)  # still open, so counted among the open bets below
                    won[patron] += min(total(bets), self._evidence.tables[table].open_bets.get(patron, 0))
                else:
                    won[patron] += total(_payouts(table, bets, ended.outcome)) - total(bets)
        for patron in {view.patron for view in self._evidence.views} & self._evidence.wallets.keys():
            wallet = self._evidence.wallets[patron]
            has = wallet.balance + sum(
                stored.stacks.get(patron, 0) + stored.open_bets.get(patron, 0) + stored.under_way.get(patron, 0)
                for stored in self._evidence.tables.values()
            )
            if patron not in unsure and has != wallet.put_in + won[patron]:
                detail = f"has {has}; {wallet.put_in} was put in and acknowledged bets won {won[patron]}"
                yield Broken(Kind.LOST_BET if has < wallet.put_in + won[patron] else Kind.TWICE, patron, detail)


def _lines(stake: _Stake) -> Message | None:
    """What the patron was told last of what became of its bets."""
    told: Message | None = stake.told[-1][1]["bets"] if stake.told else stake.seat
    return told


def _settled_bets(stake: _Stake) -> Bets | None:
    """What was settled, as far as the patron was told; None where nobody can say."""
    if stake.is_sure:
        return stake.bets
    lines = _lines(stake)
    return None if lines is None else {spot: line["stake"] for spot, line in lines.items()}


def _ended_rounds(stored: StoredTable) -> dict[int, _Ended]:
    outcomes: dict[int, Outcome | None] = {}
    ended: dict[int, _Ended] = {}
    for seq in sorted(stored.stream):
        event = stored.stream[seq]
        match event["type"]:
            case "round_decided":
                outcomes[event["round"]] = Outcome(event["outcome"])
            case "round_voided":
                outcomes[event["round"]] = None
            case "round_settled" if event["round"] in outcomes:
                ended[event["round"]] = _Ended(outcomes[event["round"]], event["paid"], event["settled"])
            case _:
                pass
    return ended


WIN_MAX: Final = {"royal": 75_000}


def _payouts(table: str, bets: Mapping[str, int], outcome: Outcome | None) -> Bets:
    """What bets bring back; a table is named after its variant."""
    if outcome is None:
        return dict(bets)
    variant = variant_named(table.rpartition("-")[0])
    right = settle(variant, {Spot(spot): amount for spot, amount in bets.items()}, outcome, WIN_MAX.get(variant.name))
    return {spot.value: result.payout for spot, result in right.items()}


def _where(key: RoundKey, patron: str = "") -> str:
    return f"{key[0]} round {key[1]} {patron}".rstrip()


# --- owners and money -------------------------------------------------------------------------------------------------


def _check_claims(evidence: Evidence) -> Iterator[Broken]:
    owners: dict[tuple[str, int], list[str]] = {}
    for claim in evidence.claims:
        owners.setdefault((claim.table, claim.epoch), []).append(claim.by)
    for (table, epoch), nodes in owners.items():
        if len(nodes) > 1 and not evidence.loses_claims:
            yield Broken(Kind.OWNERS, f"{table} epoch {epoch}", f"claimed by {', '.join(nodes)}")


def _check_money(evidence: Evidence) -> Iterator[Broken]:
    put_in = sum(wallet.put_in for wallet in evidence.wallets.values())
    parts = {
        "wallets": sum(wallet.balance for wallet in evidence.wallets.values()),
        "stacks": _sum(stored.stacks for stored in evidence.tables.values()),
        "open bets": _sum(stored.open_bets for stored in evidence.tables.values()),
        "under way": _sum(stored.under_way for stored in evidence.tables.values()),
        "house": sum(stored.house for stored in evidence.tables.values()),
    }
    if sum(parts.values()) != put_in:
        yield Broken(Kind.MONEY, "the house", f"{put_in} was put in, there is {sum(parts.values())}: {parts}")
    for table, stored in evidence.tables.items():
        for patron, stack in stored.stacks.items():
            if stack < 0:
                yield Broken(Kind.MONEY, f"{table} {patron}", f"a stack of {stack}")


def _sum(books: Iterable[Mapping[str, int]]) -> int:
    return sum(map(total, books))
