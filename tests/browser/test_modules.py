"""The page's own modules, run in the browser without a table: they decide as the library does."""

import random
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from client_sdk.clock import ClockSample, TableClock
from client_sdk.game import bets
from client_sdk.game.odds import probability, rtp
from client_sdk.game.road_rounds import RoadRound
from client_sdk.game.roads import Roads
from client_sdk.game.settlement import settle_bet
from client_sdk.game.tableau import Outcome
from client_sdk.game.variants import VARIANTS, Spot, Variant
from client_sdk.protocol.road_views import roads_delta, roads_view

pytestmark = pytest.mark.asyncio(loop_scope="session")

Run = Callable[..., Awaitable[Any]]


def table_rules(variant: Variant, **other: Any) -> dict[str, Any]:
    """Rules as on the wire."""
    maximums = {str(spot): 10_000 if spot is Spot.TIE else 50_000 for spot in variant.spots}
    return {
        "decks": variant.decks,
        "commission_bp": variant.commission_bp,
        "tie_pays": variant.tie_pays,
        "forbidden_pairs": [sorted(pair) for pair in variant.forbidden_pairs],
        "minimum": 300,
        "maximums": maximums,
        "table_maximums": {"player": 60_000},
        "chips": [100, 500, 2_500, 10_000],
        "win_max": None,
        **other,
    }


async def test_acts_are_judged_as_the_table_judges_them(run: Run) -> None:
    """Every layout and every refusal of a few thousand random acts, under the rules of each house."""
    chance = random.Random(6)
    games: list[dict[str, Any]] = []
    for variant in VARIANTS.values():
        rules = table_rules(variant)
        limits = bets.Limits(
            rules["minimum"],
            {Spot(spot): most for spot, most in rules["maximums"].items()},
            tuple(rules["chips"]),
            table_maximums={Spot.PLAYER: 60_000},
        )
        for _ in range(60):
            layout, stack = bets.EMPTY, chance.choice((1_000, 20_000, 200_000))
            others = chance.choice((0, 58_000))
            last = {spot: chance.choice((300, 5_000)) for spot in Spot if chance.random() < 0.5}
            acts: list[dict[str, Any]] = []
            told: list[Any] = []
            for _ in range(12):
                kind = chance.choice(("place", "place", "place", "place", "undo", "undo", "clear", "rebet", "double"))
                spot = chance.choice((None, *Spot)) if kind == "undo" else chance.choice(tuple(Spot))
                chip = chance.choice((*rules["chips"], 10_000, 123))
                acts.append({"type": kind, "spot": spot and str(spot), "chip": chip})
                totals = {Spot.PLAYER: others + layout.sums.get(Spot.PLAYER, 0)}
                try:
                    match kind:
                        case "place":
                            after = bets.place(layout, stack, Spot(spot), chip, limits, variant, totals)
                        case "undo":
                            after = bets.undo(layout, limits, spot)
                        case "clear":
                            after = bets.clear(layout)
                        case "rebet":
                            after = bets.rebet(layout, stack, last, limits, variant, totals)
                        case _:
                            after = bets.double(layout, stack, limits, totals)
                except bets.BetRefused as refused:
                    told.append(str(refused))
                else:
                    stack -= after.total - layout.total
                    layout = after
                    told.append({str(one): amount for one, amount in layout.sums.items()})
            games.append(
                {
                    "rules": rules,
                    "stack": stack + layout.total,
                    "acts": acts,
                    "told": told,
                    "others": others,
                    "last": {str(spot): amount for spot, amount in last.items()},
                }
            )
    found = await run(
        """async (module, games) => {
          const { afterAct, sumsOf, totalOf } = await module("game/layout.js");
          return games.map(({ rules, stack, acts, others, last }) => {
            let layout = [];
            return acts.map((act) => {
              const laid = totalOf(sumsOf(layout));
              const totals = { player: others + (sumsOf(layout).player ?? 0) };
              const after = afterAct(layout, act, { rules, stack: stack - laid, totals, lastBets: last });
              if (after.refusal !== undefined) return after.refusal;
              layout = after.layout;
              return sumsOf(layout);
            });
          });
        }""",
        games,
    )
    refusals = set()
    for game, said in zip(games, found, strict=True):
        assert said == game["told"], game
        refusals |= {told for told in game["told"] if isinstance(told, str)}
    assert refusals == {str(refusal) for refusal in bets.Refusal}


async def test_bets_are_settled_as_the_library_settles_them(run: Run) -> None:
    cases = [
        (variant.name, table_rules(variant, win_max=cap), str(spot), stake, str(outcome))
        for variant in VARIANTS.values()
        for cap in (None, 75_000, 300)
        for spot in variant.spots
        for stake in (1, 99, 301, 2_500, 10_000)
        for outcome in Outcome
    ]
    found = await run(
        """async (module, cases) => {
          const { settleBet } = await module("game/settlement.js");
          return cases.map(([, rules, spot, stake, outcome]) => settleBet(rules, spot, stake, outcome));
        }""",
        cases,
    )
    for (name, rules, spot, stake, outcome), said in zip(cases, found, strict=True):
        right = settle_bet(VARIANTS[name], Spot(spot), stake, Outcome(outcome), rules["win_max"])
        assert said == {"payout": right.payout, "commission": right.commission, "capped": right.capped}


async def test_returns_are_the_exact_ones(run: Run) -> None:
    cases = [(name, table_rules(variant), str(spot)) for name, variant in VARIANTS.items() for spot in variant.spots]
    script = """async (module, cases) => {
      const { returnOf } = await module("game/odds.js");
      return cases.map(([, rules, spot]) => returnOf(rules, spot));
    }"""
    for (name, _, spot), said in zip(cases, await run(script, cases), strict=True):
        assert said == pytest.approx(float(rtp(VARIANTS[name], Spot(spot))), abs=1e-12)


async def test_the_mean_that_houses_state_is_the_exact_one(run: Run) -> None:
    """At the limit it counts what the cap takes off: here a banker win of 475.00 comes to 300.00."""
    script = """async (module, rules) => {
      const { meanReturn } = await module("game/odds.js");
      return [meanReturn(rules), meanReturn(rules, { isAtLimit: true })];
    }"""
    rules = table_rules(VARIANTS["royal"]) | {"win_max": 30_000, "maximums": {"player": 30_000, "banker": 50_000}}
    royal = VARIANTS["royal"]
    player, banker = rtp(royal, Spot.PLAYER), rtp(royal, Spot.BANKER)
    lost = probability(royal, Spot.BANKER) * (47_500 - 30_000) / 50_000
    assert await run(script, rules) == [
        pytest.approx(float((player + banker) / 2), abs=1e-12),
        pytest.approx(float((player + banker - lost) / 2), abs=1e-12),
    ]


async def test_the_clock_is_estimated_as_the_library_estimates_it(run: Run) -> None:
    """Also where the computer slept, or the table's clock was set: what was known before is forgotten."""
    chance = random.Random(7)
    clock, samples, told, now_ms, offset_ms = TableClock(), [], [], 1_000.0, 1_796_000_000_000
    for step in range(60):
        if step in (20, 40):
            offset_ms += 3_600_000 if step == 20 else -250
        sent_ms = now_ms
        answered_ms = sent_ms + chance.uniform(1, 80)
        at_ms = int(offset_ms + chance.uniform(sent_ms, answered_ms))
        clock.add(ClockSample(sent_ms, answered_ms, at_ms))
        samples.append((sent_ms, answered_ms, at_ms))
        now_ms = answered_ms + 5_000
        told.append((clock.offset_ms(now_ms) + now_ms, clock.uncertainty_ms(now_ms)))
    found = await run(
        """async (module, samples) => {
          const { TableClock, clockSample } = await module("table/clock.js");
          const clock = new TableClock();
          return samples.map(([sent, answered, at]) => {
            clock.add(clockSample(sent, answered, at));
            return [clock.at(answered + 5000), clock.uncertainty(answered + 5000)];
          });
        }""",
        samples,
    )
    for said, right in zip(found, told, strict=True):
        assert said == pytest.approx(right, abs=0.01)


async def test_roads_grow_by_deltas_to_what_the_whole_says(run: Run) -> None:
    chance = random.Random(8)
    roads, deltas = Roads(), []
    begun = view_of(roads)
    for _ in range(70):
        outcome = chance.choices(tuple(Outcome), (45, 46, 9))[0]
        roads = roads.plus(RoadRound(outcome, *(chance.random() < 0.1 for _ in range(4))))
        deltas.append(plain(roads_delta(roads)))
    right = view_of(roads)
    grown, counts = await run(
        """async (module, [begun, deltas]) => {
          const { roadsAfter, statisticsOf } = await module("game/roads.js");
          const grown = deltas.reduce(roadsAfter, begun);
          return [grown, statisticsOf(grown)];
        }""",
        [begun, deltas],
    )
    assert {key: grown[key] for key in ("beads", "big_road", "derived", "next")} == {
        key: right[key] for key in ("beads", "big_road", "derived", "next")
    }
    statistics = right["statistics"]
    assert {key: counts[key] for key in ("rounds", "player", "banker", "tie")} == {
        key: statistics[key] for key in ("rounds", "player", "banker", "tie")
    }


def plain(part: Any) -> Any:
    """A part of a message as JSON has it."""
    return msgspec.to_builtins(part)


def view_of(roads: Roads) -> Any:
    return plain(roads_view(roads, None))


MONEY = [
    # locale, exponent, amount, whole, signed, typed texts that mean it
    ("en-US", 2, 123_450, "1,234.50", "+1,234.50", ["1234.5", "1,234.50", " 1234.50 "]),
    ("de-DE", 2, 123_450, "1.234,50", "+1.234,50", ["1234,5", "1.234,50", "1234.5"]),
    ("fr-FR", 2, 123_450, "1\u202f234,50", "+1\u202f234,50", ["1 234,50", "1234,5"]),
    ("en-US", 0, 1_234, "1,234", "+1,234", ["1234", "1,234"]),
    ("en-US", 3, -1_234_567, "-1,234.567", "-1,234.567", []),
    ("en-US", 2, 2**53 - 1, "90,071,992,547,409.91", "+90,071,992,547,409.91", []),
    ("en-US", 2, 7, "0.07", "+0.07", ["0.07"]),
    ("en-US", 2, 0, "0.00", "0.00", ["0", "0.0"]),
]


async def test_amounts_are_written_in_the_readers_way_and_read_back_to_the_unit(run: Run) -> None:
    script = """async (module, [cases, wrong]) => {
      const { Money } = await module("text/money.js");
      const said = cases.map(([locale, exponent, amount, , , typed]) => {
        const money = new Money(exponent, "PTO", locale);
        return [money.format(amount), money.formatSigned(amount), typed.map((text) => money.parse(text))];
      });
      const money = new Money(2, "PTO", "en-US");
      return [said, wrong.map((text) => money.parse(text))];
    }"""
    wrong = ["", "-1", "1.234", "abc", "1e3", "0x10", "1.2.3", "9" * 20, "Infinity"]
    said, refused = await run(script, [MONEY, wrong])
    for (_, _, amount, whole, signed, typed), found in zip(MONEY, said, strict=True):
        assert found == [whole, signed, [amount] * len(typed)]
    assert refused == [None] * len(wrong)


async def test_handlers_are_ended_one_by_one(run: Run) -> None:
    """BL-169: three handlers, the first is removed, one is added: all that remain are called, once each."""
    called, count = await run(
        """async (module) => {
          const { Emitter } = await module("base.js");
          const emitter = new Emitter();
          const called = [];
          const ends = ["a", "b", "c"].map((name) => emitter.on("thing", () => called.push(name)));
          ends[0]();
          ends[0]();
          emitter.on("thing", () => called.push("d"));
          emitter.emit("thing");
          return [called, emitter.count];
        }"""
    )
    assert (called, count) == (["b", "c", "d"], 3)


async def test_pauses_grow_and_differ(run: Run) -> None:
    low, high, mixed = await run(
        """async (module) => {
          const { Backoff } = await module("wire/backoff.js");
          const limits = { lowestMs: 50, firstMs: 1000, highestMs: 15000 };
          const pauses = (chance) => {
            const backoff = new Backoff(limits, chance);
            return Array.from({ length: 8 }, () => backoff.next());
          };
          return [pauses(() => 0), pauses(() => 1), pauses(Math.random)];
        }"""
    )
    assert low == [50] * 8
    assert high == [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000]
    assert len(set(mixed)) == 8


FAKE_LINE = """
  const made = [];
  const timers = [];
  let clockMs = 0;
  class Socket {
    constructor() { this.readyState = 1; this.sent = []; made.push(this); }
    send(text) { this.sent.push(JSON.parse(text)); }
    close() { this.readyState = 3; }
    answer(message) { this.onmessage({ data: JSON.stringify(message) }); }
  }
  const welcome = { type: "ok", protocol: 1, patron: "g1", name: "Ada", token: "guest.g1.x", wallet: 1,
                    currency: "PTO", exponent: 2, at_ms: 1, role: "patron", expires_at_ms: null };
  const later = (run, ms) => { const timer = { run, atMs: clockMs + ms }; timers.push(timer); return timer; };
  const never = (timer) => { const place = timers.indexOf(timer); if (place >= 0) timers.splice(place, 1); };
  const pass = (ms) => {
    clockMs += ms;
    for (let due; (due = timers.find((timer) => timer.atMs <= clockMs)); ) { never(due); due.run(); }
  };
  const session = new Session({ url: "ws://house/", openSocket: () => new Socket(), now: () => clockMs, later, never });
  const greet = () => {
    made.at(-1).onopen();
    made.at(-1).answer({ ...welcome, request_id: made.at(-1).sent[0].request_id });
  };
"""


async def test_what_has_no_answer_goes_out_again_in_its_order_and_under_its_ids(run: Run) -> None:
    first, second, answers = await run(
        """async (module) => {
          const { Session } = await module("wire/session.js");"""
        + FAKE_LINE
        + """
          session.start({ name: "Ada" });
          greet();
          const acts = ["place", "undo", "double"].map((type) => session.ask({ type, table: "t" }));
          const first = made[0].sent.slice(1);
          made[0].answer({ type: "ok", request_id: first[0].request_id, n: 0 });
          made[0].onclose({ code: 1006, reason: "" });
          pass(1000);
          greet();
          const second = made[1].sent.slice(1);
          for (const { request_id } of second) made[1].answer({ type: "ok", request_id, n: 1 });
          return [first, second, (await Promise.all(acts)).map((reply) => reply.n)];
        }"""
    )
    assert [one["type"] for one in first] == ["place", "undo", "double"]
    assert second == first[1:]
    assert answers == [0, 1, 1]


async def test_no_attempt_after_an_end(run: Run) -> None:
    """BL-171: closed while connecting, or by a code that says so: nothing is tried any more, and all is told."""
    found = await run(
        """async (module) => {
          const { Session } = await module("wire/session.js");
          const ends = [];
          for (const how of ["stop", 4100, 4200, 1002]) {
            """
        + FAKE_LINE
        + """
            session.start({ name: "Ada" });
            if (how === "stop") session.stop();
            else { greet(); }
            const asked = session.ask({ type: "ping" }).then(() => "answered", (error) => error.name);
            if (how !== "stop") made[0].onclose({ code: how, reason: "over" });
            pass(120000);
            ends.push([made.length, session.state.kind, await asked, timers.length]);
          }
          return ends;
        }"""
    )
    assert found == [[1, "closed", "NoAnswer", 0]] * 4


async def test_a_line_that_says_nothing_is_dropped_and_a_line_that_never_was_is_told_apart(run: Run) -> None:
    """BL-170: within a ping's time, and both cases go by names of their own."""
    found = await run(
        """async (module) => {
          const { Session } = await module("wire/session.js");"""
        + FAKE_LINE
        + """
          session.start({ name: "Ada" });
          const seen = [session.state.kind];
          made[0].onclose({ code: 1006, reason: "" });
          seen.push(session.state.kind, session.state.attempts);
          pass(1000);
          greet();
          seen.push(session.state.kind);
          pass(4000);
          const ping = made[1].sent.at(-1);
          pass(5000);
          seen.push(ping.type, session.state.kind, made[1].readyState);
          return seen;
        }"""
    )
    assert found == ["connecting", "connecting", 1, "open", "ping", "reconnecting", 3]


async def test_what_gives_the_outcome_away_waits_for_its_instant(run: Run) -> None:
    """Cards, outcome, roads and money of a snapshot, stage by stage."""
    stages = await run(
        """async (module) => {
          const { stagesOf } = await module("table/timeline.js");
          const card = (side, at) => ({ side, card: "9h", show_at_ms: at });
          const line = { stake: 100, payout: 200, commission: 0, result: "win", capped: 0 };
          const you = { stack: 1100, bets: {}, last_round: 7, last_outcome: "player", last_results: { player: line } };
          const view = { round: 7, phase: "settling", outcome: "player", is_void: false, rules: { card_ms: 700 },
                         roads: { beads: "P.." }, you, dealt: [card("player", 1000), card("banker", 2000)] };
          return [500, 1500, 2600, 2700].map((now) => stagesOf(view, now).map(({ atMs, view }) =>
            [atMs === -Infinity ? null : atMs, view.dealt.length, view.outcome, view.roads === null, view.you.stack,
             view.you.bets.player ?? 0]));
        }"""
    )
    assert stages == [
        [[None, 0, None, True, 900, 100], [1_000, 1, None, True, 900, 100], [2_000, 2, None, True, 900, 100],
         [2_700, 2, "player", False, 1_100, 0]],
        [[None, 1, None, True, 900, 100], [2_000, 2, None, True, 900, 100], [2_700, 2, "player", False, 1_100, 0]],
        [[None, 2, None, True, 900, 100], [2_700, 2, "player", False, 1_100, 0]],
        [[None, 2, "player", False, 1_100, 0]],
    ]  # fmt: skip


async def test_own_results_are_shown_once_for_each_round(run: Run) -> None:
    """BL-168: told by the event, by the seat after a break, or by both; never twice, never with another sum."""
    found = await run(
        """async (module) => {
          const { Mirror } = await module("table/mirror.js");
          const line = { stake: 100, payout: 200, commission: 0, result: "win", capped: 0 };
          const you = { stack: 900, ready: false, leaving: false, bets: { player: 100 }, last_bets: {}, last_round: 6,
                        last_outcome: "tie", last_results: {} };
          const view = { table: "t", incarnation: "i", seq: 1, at_ms: 0, round: 7, phase: "settling",
                         outcome: "player", is_void: false, dealt: [], you };
          const results = { round: 7, outcome: "player", bets: { player: line }, stack: 1100 };
          const after = { ...you, stack: 1100, bets: {}, last_round: 7, last_results: { player: line } };
          const event = new Mirror();
          event.replace(view);
          const told = [event.applyResults(results), event.applyResults(results), event.view.you.stack];
          event.renewSeat(after);
          told.push(event.owedResults());
          const missed = new Mirror();
          missed.replace(view);
          missed.renewSeat(after);
          told.push(missed.owedResults()?.stack, missed.owedResults(), missed.applyResults(results));
          return told;
        }"""
    )
    assert found == [True, False, 1_100, None, 1_100, None, False]


async def test_numbers_are_followed_without_a_gap(run: Run) -> None:
    found = await run(
        """async (module) => {
          const { Follower } = await module("table/follower.js");
          const follower = new Follower();
          const took = [follower.takes({ incarnation: "i", seq: 5 })];
          took.push(...[6, 6, 5, 8, 9, 7].map((seq) => follower.place(seq)), follower.resume.seq);
          took.push(follower.takes({ incarnation: "i", seq: 3 }), follower.takes({ incarnation: "j", seq: 2 }));
          return [...took, follower.place(3)];
        }"""
    )
    assert found == [True, "next", "repeat", "repeat", "gap", "repeat", "next", 7, False, True, "next"]
