"""Plays scenarios and gathers what is known of each: one after another, those of one world on the same nodes."""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from client_sdk.bots.report import Tally
from tests.chaos.books import audited, read_books
from tests.chaos.checker import judge
from tests.chaos.evidence import Evidence, read_tape
from tests.chaos.measures import Recovery, lateness_ms, quantile, recoveries
from tests.chaos.scenario import Scenario
from tests.chaos.stage import CARD_MS, Patrons, Plot, Stage, World, open_world
from tests.chaos.tape import recording
from tests.chaos.verdict import Kind, Verdict

ROUNDS_AFTER: Final = (2, 1)
"""Rounds that each patron still plays after the last fault, in the long form and in the short one."""


@dataclass(slots=True)
class Report:
    """What came of one scenario."""

    name: str
    seed: str
    faults: int
    recovered: list[Recovery]
    late_ms: list[float]
    verdict: Verdict
    tally: Tally
    not_now: int
    problems: list[str]
    notes: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def is_clean(self) -> bool:
        """Whether everything was as it should be."""
        return not self.problems

    def count(self, *kinds: Kind) -> int:
        """How many broken promises of these kinds were found."""
        return sum(self.verdict.counts[kind] for kind in kinds)

    def as_plain(self) -> dict[str, Any]:
        """For programs."""
        claims = [one.claim_ms for one in self.recovered if one.claim_ms is not None]
        return {
            "scenario": self.name,
            "seed": self.seed,
            "faults": self.faults,
            "claim_ms": _p50_max(claims),
            "commit_ms": _p50_max([one.commit_ms for one in self.recovered]),
            "deadline_late_ms": _p50_max([one.late_ms for one in self.recovered]),
            "any_step_late_ms_p99": _rounded(quantile(self.late_ms, 0.99)),
            "lost_bets": self.count(Kind.LOST_BET) + self.tally.lost_acks,
            "doubled_settlements": self.count(Kind.TWICE),
            "lost_events": self.count(Kind.GAP),
            "repeated_events": self.count(Kind.REPEAT),
            "differing_events": self.count(Kind.DIFFERS),
            "rounds": self.verdict.rounds,
            "bets": self.verdict.bets,
            "events": self.verdict.events,
            "snapshots": self.verdict.snapshots,
            "reconnects": self.tally.reconnects,
            "told_not_now": self.not_now,
            "notes": self.notes,
            "problems": self.problems,
            "seconds": round(self.seconds, 1),
        }


async def play_all(
    scenarios: Sequence[Scenario], seed: str, *, is_short: bool, is_noisy: bool = False
) -> AsyncIterator[Report]:
    """Play these, and give a report of each as it ends."""
    async with AsyncExitStack() as stack:
        plot: Plot | None = None
        world: World | None = None
        for scenario in scenarios:
            if world is None or scenario.plot != plot:
                await stack.aclose()
                plot, world = scenario.plot, await stack.enter_async_context(open_world(scenario.plot))
            report = await play(scenario, world, seed, is_short=is_short, is_noisy=is_noisy)
            yield report
            if not report.is_clean:
                world = None  # what is left behind may be anything


async def play(scenario: Scenario, world: World, seed: str, *, is_short: bool, is_noisy: bool = False) -> Report:
    """Play one scenario in a world where everything is up and nobody sits."""
    began = time.monotonic()
    await world.all_up()
    for node in world.house.nodes:
        node.listen_anew()
    with recording() as tape:
        chance = Random(f"{seed} {scenario.name}")
        stage = Stage(world, tape, chance, scenario.repeats[is_short], is_short, is_noisy=is_noisy)
        count = scenario.patrons[is_short]
        stage.patrons = patrons = Patrons(world.house.url, count, f"{seed} {scenario.name}", scenario.buy_in)
        try:
            await patrons.sit_down()
            await scenario.play(stage)
            if scenario.ends_patrons:
                await patrons.go()
            else:
                stage.problems += [f"hangs: {who}" for who in await patrons.wind_up(ROUNDS_AFTER[is_short])]
        finally:
            await patrons.go()
        await stage.empty()
        views, acts = read_tape(tape)
        tables, wallets = await read_books(world.store)
        evidence = Evidence(
            views, acts, world.house.claims(), tables, wallets, scenario.loses_acts, scenario.loses_claims
        )
    verdict = judge(evidence)
    stage.problems += [str(broken) for broken in verdict.broken]
    tally = patrons.fleet.tally
    if not scenario.ends_patrons:
        stage.problems += [f"a patron found {mismatch}" for mismatch in tally.details]
        stage.problems += [f"a patron failed: {failure}" for failure in tally.failures]
    stage.problems += [f"audit: {found}" for found in await audited(world.store)]
    stage.problems += _own_faults(world)
    recovered = recoveries(stage.faults, evidence.claims, tape.firsts, CARD_MS)
    if scenario.commit_ms_max is not None:
        for one in recovered:
            stage.expect_within(one.commit_ms, scenario.commit_ms_max, f"the new owner of {one.table} did something")
    return Report(
        name=scenario.name,
        seed=seed,
        faults=len(stage.faults),
        recovered=recovered,
        late_ms=lateness_ms(tape.firsts, CARD_MS),
        verdict=verdict,
        tally=tally,
        not_now=sum(act.not_now for act in acts),
        problems=stage.problems,
        notes=stage.notes,
        seconds=time.monotonic() - began,
    )


def _own_faults(world: World) -> list[str]:
    """What no fault from outside excuses: a node that ended by itself, an error that nobody expected."""
    found = [f"{node.name} ended by itself: {node.output[-3:]}" for node in world.house.nodes if not node.is_running]
    return found + world.house.said("dealer_failed", "request_failed", "act_failed", "request_refused_unexpectedly")


def _p50_max(values: Sequence[float]) -> dict[str, int | None]:
    return {"p50": _rounded(quantile(values, 0.5)), "max": _rounded(max(values, default=None))}


def _rounded(value: float | None) -> int | None:
    return None if value is None else round(value)
