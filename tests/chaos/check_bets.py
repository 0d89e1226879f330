"""Every acknowledged bet was settled or voided, once, by what the table's history says of its round. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from client_sdk.game.settlement import settle
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import Message
from tests.chaos.evidence import ActRecord, Bets, Evidence, Sight, StoredTable, View, plain, total
from tests.chaos.verdict import Broken, Kind

RoundKey = tuple[str, int]
"""Table and round: a round that is in the store's history was played once."""


class _Ended(NamedTuple):
    """How the store's history says that a round ended; no outcome: voided."""

    outcome: Outcome | None
    paid: int
    settled: int


class _News(NamedTuple):
    at_ms: float
    incarnation: str
    lines: Message


@dataclass(slots=True)
class _Stake:
    """What one patron had in one round. `is_sure`: every act of the round was answered."""

    bets: Bets = field(default_factory=dict)
    is_sure: bool = True
    accepted_at_ms: int = -1
    told: list[str] = field(default_factory=list)
    """The incarnation of each private event that told results."""
    news: list[_News] = field(default_factory=list)
    """What became of the bets, as events and own seats in replies told it."""

    @property
    def newest(self) -> "_News | None":
        """What the patron was told last."""
        return max(self.news, key=lambda news: news.at_ms, default=None)

    @property
    def settled(self) -> Bets | None:
        """What was settled, as far as the patron was told; None where nobody can say."""
        if self.is_sure:
            return self.bets
        newest = self.newest
        return None if newest is None else {spot: line["stake"] for spot, line in newest.lines.items()}


class BetCheck:
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
                if len(set(stake.told)) < len(stake.told):
                    yield Broken(Kind.TWICE, _where(key, patron), f"results were told twice: {plain(stake.news)}")
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
            stake = self._stake(view.table, sight.body["round"], view.patron)
            stake.told.append(sight.incarnation)
            stake.news.append(_News(sight.at_ms, sight.incarnation, sight.body["bets"]))
        seat = sight.body if sight.kind == "seat" else sight.body.get("you") if sight.kind == "base" else None
        if seat is not None and seat.get("last_round") is not None and seat.get("last_results"):
            news = _News(sight.at_ms, sight.incarnation, seat["last_results"])
            self._stake(view.table, seat["last_round"], view.patron).news.append(news)

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
        newest = stake.newest
        if newest is None:
            return
        if self._evidence.loses_claims and newest.incarnation != self._evidence.tables[key[0]].incarnation:
            return  # told before a replica took over, which may have had to call the round void
        lines = newest.lines
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
                bets, ended = stake.settled, self._ended.get((table, number))
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
