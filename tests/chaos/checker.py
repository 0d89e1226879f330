"""Judges a run: from what every seat saw and what the store holds to a list of broken promises, empty where all held.

Pure. It knows the promises and nothing of how a node keeps them:

    order    every seat got the same events in the same order, without a gap or a repeat, and as the store holds them
    shoes    each card left its shoe once, and where the revealed secret puts it
    closing  no act was accepted at or after the instant at which its round's betting closed
    answers  a request that was sent again is answered as the first time
    bets     every acknowledged bet was settled or voided, once, by what the table's history says of its round
    owners   no two claims of a table have one epoch
    money    what was put in lies in wallets, on stacks, on spots, on the way between them, or is the house's

The longer ones have files of their own.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from tests.chaos.check_bets import BetCheck
from tests.chaos.check_order import check_order
from tests.chaos.check_shoes import check_shoes
from tests.chaos.evidence import Evidence, plain, total
from tests.chaos.verdict import Broken, Kind, Verdict


def judge(evidence: Evidence) -> Verdict:
    """Check everything."""
    bets = BetCheck(evidence)
    broken = [
        *check_order(evidence),
        *check_shoes(evidence),
        *_check_closing(evidence),
        *_check_answers(evidence),
        *bets.check(),
        *_check_claims(evidence),
        *_check_money(evidence),
    ]
    return Verdict(
        broken=broken,
        events=sum(sight.kind == "event" for view in evidence.views for sight in view.sights),
        snapshots=sum(sight.kind == "base" and bool(sight.body) for view in evidence.views for sight in view.sights),
        rounds=bets.rounds,
        bets=bets.bets,
        counts=Counter(found.kind for found in broken),
    )


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
