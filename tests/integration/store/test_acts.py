"""`acts`: the script and its model side by side, every refusal in its order, late acts, readiness, bounds."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any, cast

import msgpack
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from client_sdk.game import bets
from client_sdk.game.bets import EMPTY, BetRefused, Layout, Limits
from client_sdk.game.variants import VARIANTS, Spot, Variant, variant_named
from client_sdk.protocol.messages import AMOUNT_MAX, RulesChanged, TableRules
from server.store import bus
from server.store.bus import Subscription
from server.store.driver import Driver
from server.store.records import pack
from server.store.tables import ActAnswer, ActLine, Tables
from server.table.machine import Change
from tests.integration.store.checks import REQUESTS, Ledger, Owner, age_seats, fresh_id
from tests.support.table_rules import rules_of

PLAYER, BANKER, TIE = Spot.PLAYER, Spot.BANKER, Spot.TIE


def limits_of(rules: TableRules) -> Limits:
    return Limits(rules.minimum, rules.maximums, tuple(rules.chips), rules.win_max, rules.table_maximums)


# --- The script and its model, side by side ---------------------------------------------------------------------------


class Model:
    """One patron as `client_sdk.game.bets` sees it."""

    def __init__(self, stack: int, last: dict[Spot, int]) -> None:
        self.stack = stack
        self.last = last
        self.layout = EMPTY
        self.ready = False

    def act(
        self, verb: str, spot: Spot | None, chip: int, limits: Limits, variant: Variant, totals: dict[Spot, int]
    ) -> str:
        """Do what the act does; 'ok' or the refusal."""
        try:
            layout = self._after(verb, spot, chip, limits, variant, totals)
        except BetRefused as refused:
            return refused.refusal.value
        self.stack -= layout.total - self.layout.total
        self.layout, self.ready = layout, verb == "ready"
        return "ok"

    def _after(
        self, verb: str, spot: Spot | None, chip: int, limits: Limits, variant: Variant, totals: dict[Spot, int]
    ) -> Layout:
        match verb:
            case "place":
                assert spot is not None
                return bets.place(self.layout, self.stack, spot, chip, limits, variant, totals)
            case "undo":
                return bets.undo(self.layout, limits, spot)
            case "clear":
                return bets.clear(self.layout)
            case "rebet":
                return bets.rebet(self.layout, self.stack, self.last, limits, variant, totals)
            case "double":
                return bets.double(self.layout, self.stack, limits, totals)
            case _:
                return self.layout


def totals_of(models: Iterable[Model]) -> dict[Spot, int]:
    """What lies on each spot over the whole table."""
    return {spot: sum(model.layout.sums.get(spot, 0) for model in models) for spot in Spot}


@st.composite
def houses(draw: st.DrawFn) -> tuple[int, TableRules]:
    """Any house with odd limits, all multiples of a unit up to where doubles begin to lose digits."""
    unit = draw(st.sampled_from([1, 1, 3, 2**40 + 1, 2**44 + 1]))
    variant = draw(st.sampled_from(sorted(VARIANTS)))
    minimum = draw(st.sampled_from([1, 2, 7, 10]))
    spots = variant_named(variant).spots
    maximums = {spot: unit * draw(st.sampled_from([minimum, 13, 20, 60, 100])) for spot in spots}
    bounds = {spot: draw(st.sampled_from([None, minimum, 13, 40, 99, 150])) for spot in spots}
    chips = draw(st.lists(st.sampled_from([1, 2, 5, 7, 10, 25, 100]), min_size=1, max_size=4, unique=True))
    rules = rules_of(
        variant,
        minimum=unit * minimum,
        maximums=maximums,
        table_maximums={spot: unit * bound for spot, bound in bounds.items() if bound is not None},
        chips=[unit * chip for chip in chips],
    )
    return unit, rules


amounts = st.sampled_from([0, 1, 2, 5, 7, 10, 13, 20, 25, 40, 100, 101])
lasts = st.dictionaries(st.sampled_from(Spot), amounts, max_size=3)
acts = st.tuples(
    st.integers(0, 2),  # whose
    st.sampled_from(["place"] * 6 + ["undo", "undo", "clear", "rebet", "rebet", "double", "double", "ready"]),
    st.sampled_from(Spot),
    st.booleans(),  # an undo of that spot, or of the whole last act
    st.integers(0, 3),  # which of the table's chips; the last of four may be none of them
)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    house=houses(),
    seats=st.lists(st.tuples(st.sampled_from([0, 1, 9, 30, 100, 350]), lasts), min_size=2, max_size=3),
    sequence=st.lists(acts, min_size=1, max_size=30),
    batch=st.integers(1, 7),
)
async def test_the_script_decides_as_the_model_does(
    tables: Tables,
    ledger: Ledger,
    house: tuple[int, TableRules],
    seats: list[tuple[int, dict[Spot, int]]],
    sequence: list[tuple[int, str, Spot, bool, int]],
    batch: int,
) -> None:
    unit, rules = house
    owner = await Owner.of_new_table(tables, ledger, rules)
    models = {}
    for number, (stack, last) in enumerate(seats):
        patron = f"p{number}"
        last = {spot: unit * amount for spot, amount in last.items()}
        models[patron] = Model(unit * stack, last)
        await owner.seat(patron, unit * stack)
        packed = pack({"round": 1, "bets": last})
        await cast("Any", ledger.raw.hset(f"{owner.key}:last", patron, packed))
    await owner.open_betting()

    for start in range(0, len(sequence), batch):
        lines, expected = [], []
        for who, verb, spot, has_spot, which in sequence[start : start + batch]:
            patron = f"p{who % len(models)}"
            model = models[patron]
            chip = rules.chips[which] if which < len(rules.chips) else rules.chips[0] + 1
            aimed = spot if verb == "place" or (verb == "undo" and has_spot) else None
            limits, variant = limits_of(rules), variant_named(rules.variant)
            code = model.act(verb, aimed, chip, limits, variant, totals_of(models.values()))
            lines.append(owner.line(patron, verb, aimed or "", chip if verb == "place" else ""))
            expected.append((code, model.stack, model.layout.sums, model.ready) if code == "ok" else (code,))
        answers = await tables.acts(owner.table, lines)
        told = [(a.code, a.stack, a.bets, a.ready) if a.code == "ok" else (a.code,) for a in answers]
        assert told == expected
        await ledger.check(owner.table)
        totals = totals_of(models.values())
        assert all(totals[spot] <= bound for spot, bound in rules.table_maximums.items())

    view = (await tables.view(owner.table)).view
    assert view.crowd.seats is not None
    assert {seat.patron: seat.bets for seat in view.crowd.seats} == {
        patron: model.layout.sums for patron, model in models.items()
    }
    assert {seat.patron for seat in view.crowd.seats if seat.ready} == {
        patron for patron, model in models.items() if model.ready
    }
    for spot in Spot:
        sums = [model.layout.sums[spot] for model in models.values() if spot in model.layout.sums]
        assert view.crowd.totals.get(spot, 0) == sum(sums)
        assert view.crowd.bettors.get(spot, 0) == len(sums)
    await owner.end_round()
    await ledger.check(owner.table)


async def test_bl_138_amounts_keep_every_digit_up_to_the_limit(tables: Tables, ledger: Ledger) -> None:
    """BL-138, BL-152: sums and stacks of sixteen digits go through every script to the last unit."""
    chip = 2**52 + 1
    rules = rules_of("royal", minimum=1, maximums=dict.fromkeys(Spot, AMOUNT_MAX), chips=[chip, 1, AMOUNT_MAX])
    owner = await Owner.of_new_table(tables, ledger, rules)
    await owner.seat("p", AMOUNT_MAX)
    await owner.open_betting()
    placed = await owner.act("p", "place", "player", chip)
    assert (placed.code, placed.stack, placed.bets) == ("ok", 2**52 - 2, {PLAYER: chip})
    assert (await owner.act("p", "place", "player", AMOUNT_MAX)).code == "ABOVE_MAXIMUM"
    assert (await owner.act("p", "double")).code == "ABOVE_MAXIMUM"
    assert (await owner.act("p", "place", "tie", chip)).code == "INSUFFICIENT_STACK"
    more = await owner.act("p", "place", "player", 1)
    assert (more.stack, more.bets) == (2**52 - 3, {PLAYER: chip + 1})
    row = await tables.view(owner.table, "p")
    assert row.view.you is not None
    assert (row.view.you.stack, row.view.you.bets) == (2**52 - 3, {PLAYER: chip + 1})
    assert row.view.crowd.totals == {PLAYER: chip + 1}
    await ledger.check(owner.table)
    assert (await owner.close_betting()).totals == {PLAYER: chip + 1}
    await owner.deal()
    (line,) = await owner.settlements()
    assert line.stake == chip + 1
    await tables.settle(owner.table, owner.lease, owner.round, [line._replace(payout=chip + 1)])
    await owner.finish_round()
    await ledger.check(owner.table)
    left = await tables.leave(owner.table, "p", "c-p")
    assert (left.how, left.amount) == ("gone", AMOUNT_MAX)
    assert await tables.open_cash_outs(owner.table, 10) == [("p", 1, AMOUNT_MAX)]


async def test_bl_144_three_bets_together_above_the_stack(tables: Tables, ledger: Ledger) -> None:
    """BL-144: each in turn is taken while it lasts, whether sent one by one or together."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 60)
    await owner.open_betting()
    lines = [owner.line("p", "place", spot, 25) for spot in Spot]
    answers = await tables.acts(owner.table, lines)
    assert [answer.code for answer in answers] == ["ok", "ok", "INSUFFICIENT_STACK"]
    assert answers[1].stack == 10
    await ledger.check(owner.table)


async def test_bl_019_the_forbidden_pair_from_any_side(tables: Tables, ledger: Ledger) -> None:
    """BL-019: the second bet is refused, the first stays; in both orders, in one call, from two connections."""
    for first, second in ((PLAYER, BANKER), (BANKER, PLAYER)):
        owner = await Owner.of_new_table(tables, ledger, rules_of("four-deck"))
        await owner.seat("p", 100)
        await owner.open_betting()
        answers = await tables.acts(owner.table, [owner.line("p", "place", spot, 25) for spot in (first, second)])
        assert [answer.code for answer in answers] == ["ok", "SPOTS_CONFLICT"]
        await owner.seat("p", connection="other")
        assert (await owner.act("p", "place", second, 25, connection="other")).code == "SPOTS_CONFLICT"
        assert (await owner.act("p", "place", TIE, 25, connection="other")).bets == {first: 25, TIE: 25}


# --- Refusals ---------------------------------------------------------------------------------------------------------


async def test_refusals_before_the_rules_in_their_order(tables: Tables, ledger: Ledger) -> None:
    """Each act is wrong in all later ways too, so the code tells which check came first; nothing is
    remembered of these."""
    line = ActLine("p", "wrong", "r1", 99, "place", "nowhere", 1)
    nowhere = fresh_id("nowhere")
    before = await ledger.contents()
    assert [answer.code for answer in await tables.acts(nowhere, [line])] == ["UNKNOWN_TABLE"]
    assert await ledger.contents() == before

    owner = await Owner.of_new_table(tables, ledger)
    before = await ledger.contents()
    assert [answer.code for answer in await tables.acts(owner.table, [line])] == ["NOT_SEATED"]
    assert await ledger.contents() == before
    await owner.seat("p", 100)
    before = await ledger.contents()
    assert [answer.code for answer in await tables.acts(owner.table, [line])] == ["SEAT_TAKEN_OVER"]
    assert await ledger.contents() == before
    line = line._replace(connection="c-p")
    assert [answer.code for answer in await tables.acts(owner.table, [line])] == ["ROUND_OVER"]
    reused = line._replace(verb="clear", connection="wrong")
    assert [answer.code for answer in await tables.acts(owner.table, [reused])] == ["REQUEST_REUSED"]


RULES = rules_of(
    "four-deck",
    minimum=10,
    chips=[5, 10, 25, 100, 200],
    maximums={PLAYER: 100, BANKER: 100},
    table_maximums={BANKER: 60},
)
LAID = ("place", "player", 25)


@pytest.mark.parametrize(
    ("stack", "last", "before", "act", "code"),
    [
        (0, {}, [], ("place", "tie", 7), "SPOT_FORBIDDEN"),
        (0, {}, [], ("place", "banker", 7), "CHIP_UNKNOWN"),
        (25, {}, [LAID], ("place", "banker", 7), "CHIP_UNKNOWN"),
        (25, {}, [LAID], ("place", "banker", 200), "SPOTS_CONFLICT"),
        (25, {}, [LAID], ("place", "player", 100), "ABOVE_MAXIMUM"),
        (25, {}, [], ("place", "player", 5), "BELOW_MINIMUM"),
        (0, {}, [], ("place", "player", 5), "BELOW_MINIMUM"),
        (24, {}, [], ("place", "banker", 100), "TABLE_MAXIMUM"),
        (24, {}, [], ("place", "player", 25), "INSUFFICIENT_STACK"),
        (25, {}, [LAID], ("undo", "banker", ""), "NOTHING_TO_UNDO"),
        (25, {}, [], ("undo", "", ""), "NOTHING_TO_UNDO"),
        (25, {}, [], ("double", "", ""), "NOTHING_TO_DOUBLE"),
        (85, {}, [LAID, LAID, LAID], ("double", "", ""), "ABOVE_MAXIMUM"),
        (59, {}, [("place", "banker", 25), ("place", "banker", 10)], ("double", "", ""), "TABLE_MAXIMUM"),
        (49, {}, [LAID], ("double", "", ""), "INSUFFICIENT_STACK"),
        (25, {}, [LAID], ("rebet", "", ""), "LAYOUT_NOT_EMPTY"),
        (25, {}, [], ("rebet", "", ""), "NOTHING_TO_REBET"),
        (25, {PLAYER: 5, BANKER: 500, TIE: 5}, [], ("rebet", "", ""), "SPOT_FORBIDDEN"),
        (25, {PLAYER: 5, BANKER: 500}, [], ("rebet", "", ""), "SPOTS_CONFLICT"),
        (25, {PLAYER: 500}, [], ("rebet", "", ""), "ABOVE_MAXIMUM"),
        (4, {PLAYER: 5}, [], ("rebet", "", ""), "BELOW_MINIMUM"),
        (4, {BANKER: 5}, [], ("rebet", "", ""), "BELOW_MINIMUM"),
        (25, {BANKER: 61}, [], ("rebet", "", ""), "TABLE_MAXIMUM"),
        (25, {PLAYER: 26}, [], ("rebet", "", ""), "INSUFFICIENT_STACK"),
    ],
)
async def test_the_rules_own_refusals_change_nothing(
    tables: Tables,
    ledger: Ledger,
    stack: int,
    last: dict[Spot, int],
    before: list[tuple[str, str, int]],
    act: tuple[str, str, int | str],
    code: str,
) -> None:
    owner = await Owner.of_new_table(tables, ledger, RULES)
    await owner.seat("p", stack)
    if last:
        await cast("Any", ledger.raw.hset(f"{owner.key}:last", "p", pack({"round": 1, "bets": last})))
    await owner.open_betting()
    for earlier in before:
        assert (await owner.act("p", *earlier)).code == "ok"
    lying = await ledger.contents(*REQUESTS)
    refused = await owner.act("p", *act)
    assert (refused.code, refused.closed_at_ms) == (code, owner.state.closes_at_ms)
    assert await ledger.contents(*REQUESTS) == lying


async def test_bl_015_minimum_and_maximum_themselves_are_taken(tables: Tables, ledger: Ledger) -> None:
    """BL-015: one below and one above are refused, the bounds are not, on each spot."""
    chips = [9, 10, 50, 51, 100, 101]
    for spot, maximum in ((PLAYER, 100), (BANKER, 100), (TIE, 50)):
        for chip in chips:
            owner = await Owner.of_new_table(tables, ledger, rules_of("royal", chips=chips))
            await owner.seat("p", 1_000)
            await owner.open_betting()
            expected = "BELOW_MINIMUM" if chip < 10 else "ABOVE_MAXIMUM" if chip > maximum else "ok"
            assert (await owner.act("p", "place", spot, chip)).code == expected
            await ledger.check(owner.table)


async def test_the_whole_table_never_has_more_on_a_spot_than_it_takes(tables: Tables, ledger: Ledger) -> None:
    """The bound itself is taken, one step beyond is refused, and what another takes back makes room."""
    owner = await Owner.of_new_table(tables, ledger, rules_of(table_maximums={TIE: 60}))
    for patron in ("a", "b"):
        await owner.seat(patron, 1_000)
    await owner.open_betting()
    assert (await owner.act("a", "place", TIE, 25)).code == "ok"
    assert (await owner.act("b", "place", TIE, 25)).code == "ok"
    assert (await owner.act("b", "place", TIE, 10)).code == "ok"
    for patron, verb, spot, chip in (("a", "place", TIE, 10), ("b", "place", TIE, 10), ("a", "double", "", 0)):
        assert (await owner.act(patron, verb, spot, chip or "")).code == "TABLE_MAXIMUM"
        await ledger.check(owner.table)
    assert (await owner.act("a", "place", PLAYER, 100)).code == "ok"  # a spot without a bound
    assert (await owner.act("b", "undo", TIE)).code == "ok"
    assert (await owner.act("a", "place", TIE, 10)).bets == {PLAYER: 100, TIE: 35}
    await owner.end_round()
    await owner.open_betting()
    assert (await owner.act("a", "rebet")).code == "ok"  # a new round begins with nothing
    assert (await owner.act("b", "place", TIE, 25)).code == "ok"
    assert (await owner.act("b", "place", TIE, 10)).code == "TABLE_MAXIMUM"
    await ledger.check(owner.table)


async def test_limits_without_a_bound_for_the_table_are_read(tables: Tables, ledger: Ledger) -> None:
    """A table that an older node opened keeps such limits until its next round."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    limits = msgpack.unpackb((await ledger.hash_of(owner.key))["limits"])
    del limits["table_maximums"]
    await cast("Any", ledger.raw.hset(owner.key, "limits", msgpack.packb(limits)))
    assert (await owner.act("p", "place", PLAYER, 100)).code == "ok"


# --- Too late ---------------------------------------------------------------------------------------------------------


async def test_bl_040_an_act_after_the_deadline_is_late_by_the_stores_own_clock(tables: Tables, ledger: Ledger) -> None:
    """BL-040: no owner has to be alive for that. The refusal tells when the act arrived and when betting closed."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    assert (await owner.act("p", "place", "player", 25)).code == "ok"
    closed_at_ms = await owner.let_betting_time_pass()
    lying = await ledger.contents(*REQUESTS)
    for verb in ("clear", "undo", "double", "ready"):
        late = await owner.act("p", verb)
        assert late.code == "BETTING_CLOSED"
        assert late.closed_at_ms == closed_at_ms <= late.at_ms <= await owner.now_ms()
    assert await ledger.contents(*REQUESTS) == lying


async def test_acts_in_every_other_phase_and_for_another_round(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    assert (await owner.act("p", "place", "player", 25, round=0)).code == "BETTING_CLOSED"  # idle
    await owner.open_betting()
    for other in (0, 2, 99):
        assert (await owner.act("p", "place", "player", 25, round=other)).code == "ROUND_OVER"
    await owner.close_betting()
    assert (await owner.act("p", "place", "player", 25)).code == "BETTING_CLOSED"  # dealing
    await owner.deal()
    assert (await owner.act("p", "place", "player", 25)).code == "BETTING_CLOSED"  # settling
    await owner.settle()
    await owner.finish_round()
    assert (await owner.act("p", "place", "player", 25)).code == "BETTING_CLOSED"  # settled
    assert (await tables.view(owner.table, "p")).view.crowd.totals == {}


# --- Requests ---------------------------------------------------------------------------------------------------------


async def again(tables: Tables, owner: Owner, line: ActLine) -> ActAnswer:
    (answer,) = await tables.acts(owner.table, [line])
    return answer


async def test_bl_147_the_same_request_has_one_answer(tables: Tables, ledger: Ledger) -> None:
    """BL-147: in this round and the next, from another connection too, accepted or refused; then the round is over."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    taken, refused = owner.line("p", "place", "player", 25), owner.line("p", "place", "player", 7)
    first = [await again(tables, owner, line) for line in (taken, refused)]
    assert [answer.code for answer in first] == ["ok", "CHIP_UNKNOWN"]
    lying = await ledger.contents()
    assert [await again(tables, owner, line) for line in (taken, refused, taken)] == [*first, first[0]]
    assert await ledger.contents() == lying

    await owner.seat("p", connection="newer")  # the seat was taken over; the answer was lost with the old connection
    assert await again(tables, owner, taken._replace(connection="newer")) == first[0]
    assert await again(tables, owner, taken) == first[0]
    await owner.end_round()
    assert await again(tables, owner, taken) == first[0]
    await owner.open_betting()
    lying = await ledger.contents()
    assert [await again(tables, owner, line) for line in (taken, refused)] == first
    assert await ledger.contents() == lying
    await owner.end_round()
    await owner.open_betting()
    over = await again(tables, owner, taken._replace(connection="newer"))
    assert over.code == "ROUND_OVER"
    await ledger.check(owner.table)


async def test_a_request_twice_in_one_call(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    line = owner.line("p", "place", "player", 25)
    answers = await tables.acts(owner.table, [line, line, line._replace(chip=10)])
    assert answers[0] == answers[1]
    assert answers[0].stack == 75
    assert answers[2].code == "REQUEST_REUSED"
    await ledger.check(owner.table)


@pytest.mark.parametrize(
    "other",
    [
        {"verb": "undo", "chip": ""},
        {"spot": "tie"},
        {"chip": 10},
        {"round": 2},
        {"verb": "clear", "spot": "", "chip": ""},
    ],
)
async def test_a_request_id_for_something_else_is_told_apart(
    tables: Tables, ledger: Ledger, other: dict[str, Any]
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    line = owner.line("p", "place", "player", 25)
    first = await again(tables, owner, line)
    lying = await ledger.contents()
    assert (await again(tables, owner, line._replace(**other))).code == "REQUEST_REUSED"
    assert await ledger.contents() == lying
    assert await again(tables, owner, line) == first
    await owner.end_round()
    await owner.open_betting()
    assert (await again(tables, owner, line._replace(**other))).code == "REQUEST_REUSED"


async def test_no_request_meets_another_patrons_count(tables: Tables, ledger: Ledger) -> None:
    """Whatever is in a patron's id: "a b" is not the request "b" of "a"."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "a b", " a"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    for _ in range(2):
        for patron in ("a b", "a", " a"):
            answer = await owner.act(patron, "place", "player", 10, request_id="b")
            assert (answer.code, answer.stack) == ("ok", 90)


async def test_request_ids_belong_to_one_patron(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("a", "b"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    for patron, chip in (("a", 10), ("b", 25)):
        answer = await owner.act(patron, "place", "player", chip, request_id="same")
        assert (answer.code, answer.stack) == ("ok", 100 - chip)


async def test_acts_of_one_patron_in_one_round_are_bounded(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("eager", "calm"):
        await owner.seat(patron, 100)
    await owner.open_betting()
    lines = [owner.line("eager", "undo") for _ in range(401)]
    answers = await tables.acts(owner.table, lines)
    assert [answer.code for answer in answers] == ["NOTHING_TO_UNDO"] * 400 + ["TOO_MANY_ACTS"]
    lying = await ledger.contents()
    assert (await owner.act("eager", "ready")).code == "TOO_MANY_ACTS"
    assert (await again(tables, owner, lines[0])).code == "NOTHING_TO_UNDO"  # what is remembered is still told
    assert await ledger.contents() == lying
    assert (await owner.act("calm", "place", "player", 25)).code == "ok"
    await owner.end_round()
    await owner.open_betting()
    assert (await owner.act("eager", "place", "player", 25)).code == "ok"


async def test_requests_are_forgotten_after_the_next_round(tables: Tables, ledger: Ledger) -> None:
    """A table that plays for ever keeps the requests of two rounds, however many acts there are."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000_000)
    remembered = []
    for _ in range(5):
        await owner.open_betting()
        for _ in range(10):
            assert (await owner.act("p", "place", "player", 10)).code == "ok"
        await owner.end_round()
        fields = [await ledger.hash_of(f"{owner.key}:{part}") for part in REQUESTS]
        remembered.append(sum(len(found) for found in fields))
    assert remembered == [11, 22, 22, 22, 22]  # ten requests and a count a round


# --- Connections ------------------------------------------------------------------------------------------------------


async def test_an_older_connection_is_told_that_the_seat_was_taken_over(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    await owner.seat("p", connection="newer")
    lying = await ledger.contents()
    assert (await owner.act("p", "place", "player", 25)).code == "SEAT_TAKEN_OVER"
    assert await ledger.contents() == lying
    assert (await owner.act("p", "place", "player", 25, connection="newer")).code == "ok"


# --- Ready ------------------------------------------------------------------------------------------------------------


async def test_the_owner_is_nudged_when_every_connected_seat_is_ready(
    driver: Driver, tables: Tables, ledger: Ledger
) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    subscription = Subscription(driver)
    await subscription.add(owner.table)

    async def told(*acts: Awaitable[Any]) -> list[str]:
        """Await these in turn; the nudges that came of them, up to a mark of our own."""
        for act in acts:
            await act
        await bus.publish(driver, owner.table, "mark", b"")
        found = []
        while (envelope := await asyncio.wait_for(subscription.next(), 5)).kind != "mark":
            if envelope.kind == "nudge":
                found.append(envelope.body.decode())
        return found

    async def pulse() -> bool:
        return (await tables.renew(owner.table, owner.lease)).all_ready

    try:
        assert await told(owner.seat("a", 100)) == ["seated"]  # idle: the owner may open betting now
        assert await told(owner.seat("b", 100), owner.open_betting()) == ["seated"]
        assert not await pulse()
        assert await told(owner.act("a", "ready")) == []
        assert not await pulse()
        assert await told(owner.act("b", "ready")) == ["ready"]
        assert await pulse()
        assert await told(owner.act("a", "place", "player", 25)) == []  # a later act takes it back
        assert not await pulse()
        assert await told(owner.act("a", "place", "player", 7)) == []
        assert await told(owner.act("a", "ready")) == ["ready"]
        assert await told(owner.act("a", "place", "player", 7)) == ["ready"]  # refused: nothing is taken back
        assert await pulse()
        assert await told(owner.seat("c")) == []
        assert not await pulse()
        assert await told(tables.go_away(owner.table, "c", "c-c")) == ["ready"]  # nobody waits for an empty chair
        assert await pulse()
        await owner.seat("c")
        assert await told(tables.leave(owner.table, "c", "c-c")) == ["ready"]
        assert await told(owner.act("b", "clear"), tables.go_away(owner.table, "b", "c-b")) == ["ready"]
        assert await told(tables.go_away(owner.table, "a", "c-a")) == []
        assert not await pulse()  # no seat is connected: that is not "all are ready"
        await ledger.check(owner.table)
    finally:
        await subscription.close()


async def test_the_last_words_of_a_lost_connection_speak_for_no_other_seat(tables: Tables, ledger: Ledger) -> None:
    """Where a node is taken for dead, its acts still count if they come, but `ready` does not hold for a seat that is
    away: or it would stand for a connected one that is not ready."""
    owner = await Owner.of_new_table(tables, ledger)
    for patron in ("here", "lost", "gone"):
        await owner.seat(patron, 100, node=patron)
    await owner.open_betting()
    await tables.go_away(owner.table, "gone", "c-gone")
    assert (await owner.act("gone", "ready")).code == "SEAT_TAKEN_OVER"
    await age_seats(ledger, owner.table)
    assert await tables.clear_dead_seats(owner.table, ["here"]) == 1
    assert (await owner.act("lost", "place", "player", 25)).code == "ok"
    answer = await owner.act("lost", "ready")
    assert (answer.code, answer.ready) == ("ok", False)
    assert not (await tables.renew(owner.table, owner.lease)).all_ready
    await ledger.check(owner.table)


async def test_ready_is_cleared_by_the_next_round(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 100)
    await owner.open_betting()
    assert (await owner.act("p", "ready")).ready
    await owner.end_round()
    await owner.open_betting()
    row = await tables.view(owner.table, "p")
    assert row.view.you is not None
    assert not row.view.you.ready
    assert not (await tables.renew(owner.table, owner.lease)).all_ready


# --- Rebet ------------------------------------------------------------------------------------------------------------


async def test_rebet_lays_the_last_round_that_was_played(tables: Tables, ledger: Ledger) -> None:
    """A round that was sat out, or whose bets were taken back, is none that was played."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    await owner.act("p", "place", "player", 25)
    await owner.act("p", "place", "tie", 10)
    await owner.end_round()
    await owner.open_betting()
    await owner.act("p", "place", "banker", 100)
    await owner.act("p", "clear")
    await owner.end_round()
    await owner.open_betting()
    assert (await owner.act("p", "rebet")).bets == {PLAYER: 25, TIE: 10}
    await owner.act("p", "undo", "tie")
    await owner.end_round()
    await owner.open_betting()
    assert (await owner.act("p", "rebet")).bets == {PLAYER: 25}
    await ledger.check(owner.table)


async def test_undo_under_a_minimum_that_rose(tables: Tables, ledger: Ledger) -> None:
    """What would be left below the new minimum comes off whole."""
    owner = await Owner.of_new_table(tables, ledger)
    await owner.seat("p", 1_000)
    await owner.open_betting()
    for chip in (10, 10, 25):
        await owner.act("p", "place", "player", chip)
    await owner.act("p", "place", "tie", 25)
    raised = replace(owner.rules, minimum=25)
    await tables.commit(owner.table, owner.lease, await _told(owner), raised)
    answer = await owner.act("p", "undo", "player")
    assert (answer.bets, answer.stack) == ({TIE: 25}, 975)
    await ledger.check(owner.table)


async def _told(owner: Owner) -> Change:
    """A commit of one event that changes no phase."""
    state = replace(owner.state, seq=owner.state.seq + 1)
    return Change(state, (RulesChanged(table=owner.table, seq=state.seq, rules=owner.rules),))


async def test_double_up_to_the_maximum_and_the_whole_stack(tables: Tables, ledger: Ledger) -> None:
    owner = await Owner.of_new_table(tables, ledger, rules_of("royal", chips=[10, 25, 50]))
    await owner.seat("p", 150)
    await owner.open_betting()
    await owner.act("p", "place", "player", 50)
    await owner.act("p", "place", "tie", 25)
    doubled = await owner.act("p", "double")
    assert (doubled.code, doubled.bets, doubled.stack) == ("ok", {PLAYER: 100, TIE: 50}, 0)
    assert (await owner.act("p", "undo")).bets == {PLAYER: 50, TIE: 25}
    await ledger.check(owner.table)


async def test_many_nodes_bet_at_once(tables: Tables, ledger: Ledger, store_url: str) -> None:
    """BL-153: one patron's acts race from several nodes; nothing is laid that the stack does not hold."""
    owner = await Owner.of_new_table(tables, ledger, rules_of("royal", maximums=dict.fromkeys(Spot, 100_000)))
    await owner.seat("p", 995)
    await owner.open_betting()
    async with Driver(store_url) as second, Driver(store_url) as third:
        nodes = [tables, Tables(second), Tables(third)]
        batches = [[owner.line("p", "place", spot, 10) for spot in Spot] for _ in range(60)]
        answers = await asyncio.gather(
            *(nodes[number % 3].acts(owner.table, batch) for number, batch in enumerate(batches))
        )
    codes = [answer.code for told in answers for answer in told]
    assert codes.count("ok") == 99
    assert codes.count("INSUFFICIENT_STACK") == 81
    row = await tables.view(owner.table, "p")
    assert row.view.you is not None
    assert row.view.you.stack == 5
    await ledger.check(owner.table)
