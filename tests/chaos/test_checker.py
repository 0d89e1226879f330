"""The checker itself: a clean run passes, and each planted fault is found, by its name and as nothing else."""

import copy
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import msgspec
import pytest

from client_sdk.game.fairness import commitment
from client_sdk.game.proofs import cuts_digest
from client_sdk.game.seals import FIRST_SEAL
from client_sdk.game.settlement import settle
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import Spot, variant_named
from client_sdk.protocol.messages import Message
from server.settings import Settings
from server.table import machine
from server.table.machine import Change, FreshShoe, FrozenCuts
from server.table.open_shoe import OpenShoe, shuffled
from server.table.phases import Step
from server.table.state import TableState
from tests.chaos.checker import judge
from tests.chaos.evidence import ActRecord, Evidence, Sight, StoredTable, StoredWallet, View
from tests.chaos.measures import Fault, recoveries, steps
from tests.chaos.tape import Word
from tests.chaos.verdict import Kind
from tests.support.house import Claim

TABLE = "red-lounge-1"  # a shoe for each round, so that every card is proven
RULES = Settings(open_play=True).tables()[TABLE]
LIFE = "first-life"
PUT_IN = 10_000
BUY_IN = 5_000
BETS = {"ann": {"player": 500}, "ben": {"banker": 1_000, "tie": 100}, "cy": {}}
ROUNDS = 3
NO_CUTS = FrozenCuts(0, cuts_digest(()))


def played() -> list[list[Message]]:
    """The events of some rounds, as the table's own machine makes them."""
    state, rounds, now_ms = TableState(), [], 1_000_000
    for number in range(1, ROUNDS + 1):
        secret = bytes([number]) * 32
        shoe = shuffled(secret, RULES.decks, number, RULES.cut_card, ())
        fresh = FreshShoe(number, 52 * RULES.decks, "sealed", commitment(secret))
        change = machine.start_shoe(state, TABLE, RULES, fresh)
        change = change.then(machine.open_betting(change.state, TABLE, RULES, now_ms))
        closed_at_ms = change.state.closes_at_ms or 0
        change = change.then(machine.close_betting(change.state, TABLE, closed_at_ms, False, {}, 2, NO_CUTS))
        change = change.then(machine.shuffle_shoe(change.state, TABLE, shoe))
        while change.state.outcome is None:
            change = change.then(_next(change.state, shoe))
        paid = sum(sum(payouts(bets, change.state.outcome).values()) for bets in BETS.values())
        finished = machine.finish_round(change.state, TABLE, RULES, closed_at_ms, paid, 2, FIRST_SEAL, secret)
        change = change.then(finished)
        state, now_ms = change.state, closed_at_ms + 1_000
        rounds.append([msgspec.to_builtins(event) for event in change.events])
    return rounds


def _next(state: TableState, shoe: OpenShoe) -> Change:
    due = machine.due(state, RULES, shoe)
    assert due is not None
    if due.step is Step.DEAL_CARD:
        return machine.deal_card(state, TABLE, RULES, shoe, due.at_ms)
    return machine.declare_outcome(state, TABLE, RULES, shoe, due.at_ms)


def payouts(bets: dict[str, int], outcome: Any) -> dict[str, int]:
    right = settle(variant_named("red-lounge"), {Spot(spot): amount for spot, amount in bets.items()}, outcome)
    return {spot.value: result.payout for spot, result in right.items()}


def results_of(bets: dict[str, int], events: list[Message]) -> Message:
    outcome = Outcome(next(event["outcome"] for event in events if event["type"] == "round_decided"))
    lines = {spot: {"stake": bets[spot], "payout": payout} for spot, payout in payouts(bets, outcome).items()}
    return {"type": "results", "table": TABLE, "round": events[1]["round"], "bets": lines}


def clean() -> Evidence:
    """Three patrons at one table, one of whom only looks on, each on a connection of its own."""
    rounds = played()
    views, acts, won = [], [], dict.fromkeys(BETS, 0)
    for line, (patron, bets) in enumerate(BETS.items(), start=1):
        view = View(line, patron, TABLE, [Sight(0.0, "base", LIFE, 0, {"you": None})])
        for events in rounds:
            number = events[1]["round"]
            view.sights += [Sight(float(event["seq"]), "event", LIFE, event["seq"], event) for event in events]
            if bets:
                told = results_of(bets, events)
                view.sights.insert(-2, Sight(0.0, "results", LIFE, 0, told))
                won[patron] += sum(one["payout"] - one["stake"] for one in told["bets"].values())
                receipt = {"accepted_at_ms": events[1]["opened_at_ms"] + 10, "bets": bets}
                acts.append(
                    ActRecord(patron, TABLE, number, f"r{number}", "place", LIFE, 0.0, receipts=[(0.0, receipt)])
                )
        views.append(view)
    stream = {event["seq"]: event for events in rounds for event in events}
    stored = StoredTable(
        incarnation=LIFE,
        seq=max(stream),
        phase="settling",
        round=ROUNDS,
        stream=stream,
        stacks={patron: BUY_IN + won[patron] for patron in BETS},
        open_bets={},
        house=-sum(won.values()),
        under_way={},
    )
    wallets = {patron: StoredWallet(PUT_IN - BUY_IN, PUT_IN) for patron in BETS}
    claims = [Claim(TABLE, 1, "node1", 0.0), Claim(TABLE, 2, "node2", 9.0)]
    return Evidence(views, acts, claims, {TABLE: stored}, wallets)


def event_of(evidence: Evidence, kind: str, number: int = 0) -> Message:
    """An event as one seat saw it, made its own so that only this seat's is changed."""
    view = evidence.views[0]
    places = [at for at, sight in enumerate(view.sights) if sight.kind == "event" and sight.body["type"] == kind]
    sight = view.sights[places[number]]
    view.sights[places[number]] = sight._replace(body=copy.deepcopy(sight.body))
    return view.sights[places[number]].body


def change_table(evidence: Evidence, **changes: Any) -> None:
    evidence.tables[TABLE] = evidence.tables[TABLE]._replace(**changes)


def everywhere(evidence: Evidence, kind: str, change: Callable[[Message], None]) -> None:
    """Change the first event of a kind as everybody saw it and the store has it."""
    seen = {id(sight.body): sight.body for view in evidence.views for sight in view.sights if sight.kind == "event"}
    first = min((body for body in seen.values() if body["type"] == kind), key=lambda body: int(body["seq"]))
    change(first)


def test_a_clean_run_passes() -> None:
    verdict = judge(clean())
    assert verdict.broken == []
    assert (verdict.rounds, verdict.bets, verdict.snapshots) == (ROUNDS, 3 * ROUNDS, 3)


# --- planted faults ---


def lose_an_event(evidence: Evidence) -> None:
    del evidence.views[1].sights[4]


def repeat_an_event(evidence: Evidence) -> None:
    sights = evidence.views[1].sights
    sights.insert(5, sights[4])


def swap_two_events(evidence: Evidence) -> None:
    sights = evidence.views[1].sights
    sights[4], sights[5] = sights[5], sights[4]


def speak_before_asked(evidence: Evidence) -> None:
    del evidence.views[2].sights[0]


def show_one_seat_another_card(evidence: Evidence) -> None:
    event = event_of(evidence, "card_dealt")
    event["total"] = event["total"] + 1


def tell_what_was_not_committed(evidence: Evidence) -> None:
    stored = evidence.tables[TABLE]
    last = max(stored.stream)
    kept = {seq: event for seq, event in stored.stream.items() if seq < last}
    change_table(evidence, stream=kept, seq=last - 1)


def lose_an_entry_of_the_stream(evidence: Evidence) -> None:
    stream = dict(evidence.tables[TABLE].stream)
    del stream[4]
    change_table(evidence, stream=stream)


def deal_a_card_twice(evidence: Evidence) -> None:
    everywhere(evidence, "card_dealt", lambda event: event.update(remaining=event["remaining"] - 1))


def deal_another_card(evidence: Evidence) -> None:
    def other(event: Message) -> None:
        event["card"] = "Ac" if event["card"] != "Ac" else "2c"

    everywhere(evidence, "card_dealt", other)


def reveal_another_secret(evidence: Evidence) -> None:
    everywhere(evidence, "shoe_ended", lambda event: event.update(secret="00" * 32))


def accept_a_late_act(evidence: Evidence) -> None:
    closed = event_of(evidence, "betting_closed")["closed_at_ms"]
    evidence.acts[0].receipts[0][1]["accepted_at_ms"] = closed


def answer_a_request_in_two_ways(evidence: Evidence) -> None:
    at_ms, receipt = evidence.acts[0].receipts[0]
    evidence.acts[0].receipts.insert(0, (at_ms, {**receipt, "accepted_at_ms": receipt["accepted_at_ms"] - 1}))


def refuse_what_was_taken(evidence: Evidence) -> None:
    evidence.acts[0].refusal = {"name": "BETTING_CLOSED"}


def forget_a_bet(evidence: Evidence) -> None:
    """A bet was acknowledged, and the round knows nothing of it: neither the patron's results nor its sums."""
    act = evidence.acts[0]
    view = evidence.views[0]
    gone = next(sight for sight in view.sights if sight.kind == "results" and sight.body["round"] == act.round)
    view.sights.remove(gone)
    paid = sum(line["payout"] for line in gone.body["bets"].values())

    def fewer(event: Message) -> None:
        event.update(settled=event["settled"] - 1, paid=event["paid"] - paid)

    everywhere(evidence, "round_settled", fewer)
    stored = evidence.tables[TABLE]
    kept = stored.stacks["ann"] - paid  # the stake is gone, the payout never came
    change_table(evidence, stacks={**stored.stacks, "ann": kept}, house=stored.house + paid)


def settle_another_stake(evidence: Evidence) -> None:
    results = next(sight for sight in evidence.views[0].sights if sight.kind == "results")
    results.body["bets"]["player"]["stake"] = 600


def tell_results_twice(evidence: Evidence) -> None:
    sights = evidence.views[0].sights
    sights.append(next(sight for sight in sights if sight.kind == "results"))


def settle_a_bet_twice(evidence: Evidence) -> None:
    """The money came twice, and the sums of the round say so."""
    everywhere(evidence, "round_settled", lambda event: event.update(settled=3))
    stored = evidence.tables[TABLE]
    change_table(evidence, stacks={**stored.stacks, "ann": stored.stacks["ann"] + 77}, house=stored.house - 77)


def pay_wrongly(evidence: Evidence) -> None:
    results = next(sight for sight in evidence.views[0].sights if sight.kind == "results")
    results.body["bets"]["player"]["payout"] = 1_234


def have_two_owners(evidence: Evidence) -> None:
    evidence.claims.append(Claim(TABLE, 2, "node3", 9.5))


def make_money(evidence: Evidence) -> None:
    change_table(evidence, house=evidence.tables[TABLE].house + 1)


def owe_a_stack(evidence: Evidence) -> None:
    stored = evidence.tables[TABLE]
    change_table(evidence, stacks={**stored.stacks, "nobody": -1}, house=stored.house + 1)


@pytest.mark.parametrize(
    ("plant", "kinds"),
    [
        (lose_an_event, {Kind.GAP}),
        (repeat_an_event, {Kind.REPEAT}),
        (swap_two_events, {Kind.GAP, Kind.REPEAT}),
        (speak_before_asked, {Kind.UNASKED}),
        (show_one_seat_another_card, {Kind.DIFFERS}),
        (tell_what_was_not_committed, {Kind.DIFFERS}),
        (lose_an_entry_of_the_stream, {Kind.GAP}),
        (deal_a_card_twice, {Kind.CARD, Kind.SHOE}),
        (deal_another_card, {Kind.SHOE}),
        (reveal_another_secret, {Kind.SHOE}),
        (accept_a_late_act, {Kind.LATE}),
        (answer_a_request_in_two_ways, {Kind.ANSWER}),
        (refuse_what_was_taken, {Kind.ANSWER}),
        (forget_a_bet, {Kind.LOST_BET, Kind.PAYOUT}),
        (settle_another_stake, {Kind.LOST_BET}),
        (tell_results_twice, {Kind.TWICE}),
        (settle_a_bet_twice, {Kind.TWICE}),
        (pay_wrongly, {Kind.PAYOUT}),
        (have_two_owners, {Kind.OWNERS}),
        (make_money, {Kind.MONEY}),
        (owe_a_stack, {Kind.MONEY}),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_planted_fault_is_found(plant: Callable[[Evidence], None], kinds: set[Kind]) -> None:
    evidence = clean()
    plant(evidence)
    found = {broken.kind for broken in judge(evidence).broken}
    if plant is forget_a_bet and Kind.PAYOUT not in found:
        kinds = {Kind.LOST_BET}  # a bet that lost would have brought nothing back
    assert found <= kinds
    assert found


def test_a_snapshot_makes_no_gap() -> None:
    evidence = clean()
    sights = evidence.views[1].sights
    sights[3:6] = [Sight(0.0, "base", LIFE, 5, {"you": None})]
    assert judge(evidence).broken == []


def test_an_act_without_an_answer_may_have_been_taken_or_not() -> None:
    for was_taken in (True, False):
        evidence = clean()
        evidence.acts[0].receipts.clear()
        if not was_taken:
            forget_a_bet(evidence)
        assert [broken.kind for broken in judge(evidence).broken] == []


def test_what_a_store_that_was_set_back_forgot_is_no_lost_bet() -> None:
    evidence = clean()
    for act in evidence.acts:
        act.incarnation = "a life before"
    forget_a_bet(evidence)
    assert [broken.kind for broken in judge(evidence).broken] != []
    assert judge(replace(evidence, loses_acts=True)).broken == []


def test_how_soon_and_how_late_is_measured() -> None:
    """The first step after the new owner's claim, and how long after it was due."""
    firsts = {
        TABLE: [
            _word(100, "betting_opened", 1, closes_at_ms=1_000),
            _word(2_400, "betting_closed", 2, closed_at_ms=1_000),
            _word(2_410, "card_dealt", 3, show_at_ms=2_420),
        ]
    }
    claims = [Claim(TABLE, 1, "node1", 50), Claim(TABLE, 2, "node2", 2_200)]
    (found,) = recoveries([Fault("kill", 900, frozenset({TABLE}))], claims, firsts, card_ms=20)
    assert found == (TABLE, 1_300, 1_500, 1_400)


def test_what_comes_between_two_steps_moves_neither() -> None:
    """The first card of a fresh shoe is due when it would be without the shuffle, and the next round at its instant
    though a shoe has ended before it."""
    words = [
        _word(1_000, "betting_closed", 1, closed_at_ms=1_000),
        _word(1_030, "shoe_shuffled", 2),
        _word(1_370, "card_dealt", 3, show_at_ms=1_500),
        _word(2_000, "round_settled", 4, next_at_ms=4_000),
        _word(2_000, "shoe_ended", 5),
        _word(4_007, "shoe_started", 6),
        _word(4_007, "betting_opened", 7, closes_at_ms=9_000),
        _word(9_500, "round_voided", 9),
    ]
    late_ms = {step.message["type"]: step.late_ms for step in steps(words, card_ms=500)}
    assert late_ms == {
        "shoe_shuffled": 0,
        "card_dealt": 20,
        "round_settled": 150,
        "shoe_ended": 0,
        "shoe_started": 7,
        "betting_opened": 0,
    }


def _word(at_ms: float, kind: str, seq: int, **fields: Any) -> Word:
    return Word(at_ms, {"type": kind, "table": TABLE, "seq": seq, **fields})


def test_chance_repeats_by_its_seed() -> None:
    draws = [[Random(f"7 {name}").random() for _ in range(2)] for name in ("node_killed", "node_killed", "slot_moved")]
    assert draws[0] == draws[1] != draws[2]
