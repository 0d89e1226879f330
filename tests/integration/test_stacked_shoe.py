"""Forced hands over the wire: each line of the file is dealt at each of the five tables, bet on and paid.

The lines and bets are those on which other engines failed; the right outcome is written beside each and compared with
the events, the private results and the stack.
"""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support import plain_rules
from tests.support.node_process import own_node, running_node
from tests.support.raw_client import SUBPROTOCOLS, TABLES, Message, RawClient
from tests.support.rounds import cards_of, check_round, whole_rounds

UNIT = 100
CHIPS = (50_000, 10_000, 2_500, 500, 100)
BUY_IN = 1_000_000


class Line(NamedTuple):
    """One line of the file, and what is bet on it (whole units)."""

    name: str
    cards: str
    bets: dict[str, int]


LINES = (
    *(Line(f"BL-002 stands on {zero}", f"2 T 3 4 {zero}", {"player": 3, "tie": 1}) for zero in "TJQK"),
    *(Line(f"BL-002 draws on {zero}", f"2 T 3 3 {zero} 5", {"banker": 7, "tie": 1}) for zero in "TJQK"),
    Line("BL-003 banker natural", "2h 4c 3d 4s", {"banker": 1}),
    Line("BL-003 player natural", "3 Kh 5 Qd", {"player": 1}),
    Line("BL-003 nine beats eight", "4 3 4 6", {"player": 500}),
    Line("BL-005 dealt in turns", "A 2 3 4 5", {"player": 500}),
    Line("BL-007 three cards are no natural", "2 T 2 7 5", {"player": 1, "banker": 1}),
    Line("BL-010 all three on a tie", "4 4 5 5", {"player": 100, "banker": 40, "tie": 10}),
    Line("BL-011 player on a natural tie", "9 9 K K", {"player": 100}),
    Line("BL-011 banker on a natural tie", "K K 9 9", {"banker": 100}),
    Line("BL-013 one unit on a tie", "A A 2 2 K K", {"player": 1}),
    Line("BL-013 three units on a tie", "7h 7c Td Ts", {"banker": 3}),
    Line("BL-013 seven units on a tie", "6 6 T T", {"player": 7, "tie": 3}),
    Line("BL-014 more than the cap", "8 8 K K", {"tie": 100, "player": 500}),
    Line("BL-014 just under the cap", "8 8 K K", {"tie": 93}),
    Line("BL-017 nine for one", "8 K K 8", {"tie": 10}),
    Line("BL-018 commission", "K 9 K K", {"banker": 100}),
    Line("BL-018 commission on the largest bet", "K 9 K K", {"banker": 500}),
)


class Dealt(NamedTuple):
    """What one client saw of one line at one table."""

    events: list[Message]
    results: dict[str, Message]
    stake: int
    gain: int


@pytest.fixture(scope="module")
def stacked_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node that deals the lines, each table from the first on."""
    home = tmp_path_factory.mktemp("stacked")
    file = home / "lines.txt"
    file.write_text("# forced hands\n\n" + "".join(f"{line.cards}\n" for line in LINES))
    flags = {"betting_ms": 1_500, "card_ms": 0, "result_ms": 0, "play_money": 10 * BUY_IN}
    with running_node(home / "data", stacked_shoe=str(file), **flags) as node:
        yield node.url


@pytest.fixture(scope="module")
def dealt(stacked_url: str) -> dict[str, dict[str, Dealt]]:
    """All lines at all tables: table -> line -> what was seen."""

    async def all_tables() -> list[dict[str, Dealt]]:
        return await asyncio.gather(*(_play_lines(stacked_url, n, table) for n, table in enumerate(TABLES)))

    return dict(zip(TABLES, asyncio.run(all_tables()), strict=True))


async def _play_lines(url: str, number: int, table: str) -> dict[str, Dealt]:
    seen: dict[str, Dealt] = {}
    async with await RawClient.arrive(url, "Forced", subprotocol=SUBPROTOCOLS[number % 2]) as client:
        await client.call("watch", table=table)
        joined = await client.join(table, BUY_IN)
        assert joined["snapshot"]["rules"]["stacked"] is True
        stack = BUY_IN
        for number, line in enumerate(LINES, start=1):
            assert await client.betting(table) == number
            bets = await _lay(client, table, line.bets)
            await client.call(
                "ready", table=table, round=number
            )  # nobody waits for the timer, two seconds after the join
            results = await client.next("results", table=table) if bets else None
            await client.next("round_settled", table=table, round=number)
            events = whole_rounds(client.numbered(table))[-1]
            assert events[0]["shoe"] == number
            played = check_round(events)
            assert [card[0] for card in cards_of(events)] == [card[0] for card in line.cards.split()]
            after = results["stack"] if results else stack
            lines = results["bets"] if results else {}
            assert lines == plain_rules.results(table, bets, played.outcome)
            seen[line.name] = Dealt(events, lines, sum(bets.values()), after - stack)
            stack = after
    return seen


async def _lay(client: RawClient, table: str, wanted: dict[str, int]) -> dict[str, int]:
    """Lay the bets, in units, that this house takes; returns what lies."""
    lies: dict[str, int] = {}
    for spot, units in wanted.items():
        left = units * UNIT
        while left:
            chip = next(chip for chip in CHIPS if chip <= left)
            answer = await client.ask("place", table=table, round=client.round[table], spot=spot, chip=chip)
            if answer["type"] == "error":
                assert answer["name"] in ("SPOT_FORBIDDEN", "SPOTS_CONFLICT"), answer
                break
            lies = answer["bets"]
            left -= chip
    house = plain_rules.HOUSES[table]
    taken = {spot: units * UNIT for spot, units in wanted.items() if spot in house.spots}
    if not house.player_with_banker and "player" in taken:
        taken.pop("banker", None)
    assert lies == taken
    return lies


def decided(dealt: Dealt) -> tuple[str, int, int, bool, bool, int]:
    """Outcome, totals, naturals and count of cards."""
    event = dealt.events[-2]
    naturals = event["player_natural"], event["banker_natural"]
    return event["outcome"], event["player_total"], event["banker_total"], *naturals, len(cards_of(dealt.events))


@pytest.mark.parametrize("table", TABLES)
def test_the_tableau_over_the_wire(dealt: dict[str, dict[str, Dealt]], table: str) -> None:
    seen = dealt[table]
    for zero in "TJQK":
        assert decided(seen[f"BL-002 stands on {zero}"]) == ("player", 5, 4, False, False, 5)
        assert decided(seen[f"BL-002 draws on {zero}"]) == ("banker", 5, 8, False, False, 6)
    assert decided(seen["BL-003 banker natural"]) == ("banker", 5, 8, False, True, 4)
    assert decided(seen["BL-003 player natural"]) == ("player", 8, 0, True, False, 4)
    assert decided(seen["BL-003 nine beats eight"]) == ("banker", 8, 9, True, True, 4)
    assert decided(seen["BL-005 dealt in turns"]) == ("player", 9, 6, False, False, 5)
    sides = [event["side"] for event in seen["BL-005 dealt in turns"].events if event["type"] == "card_dealt"]
    assert sides == ["player", "banker", "player", "banker", "player"]
    assert decided(seen["BL-007 three cards are no natural"]) == ("player", 9, 7, False, False, 5)


@pytest.mark.parametrize("table", TABLES)
def test_a_tie_gives_the_stakes_of_player_and_banker_back(dealt: dict[str, dict[str, Dealt]], table: str) -> None:
    seen, house = dealt[table], plain_rules.HOUSES[table]
    all_three = seen["BL-010 all three on a tie"]
    assert all_three.gain == (house.tie_to_one or 0) * 10 * UNIT
    for name, spot, units in (
        ("BL-010 all three on a tie", "player", 100),
        ("BL-011 player on a natural tie", "player", 100),
        ("BL-011 banker on a natural tie", "banker", 100),
        ("BL-013 one unit on a tie", "player", 1),
        ("BL-013 three units on a tie", "banker", 3),
        ("BL-013 seven units on a tie", "player", 7),
    ):
        stake = units * UNIT
        pushed = {"stake": stake, "payout": stake, "commission": 0, "result": "push", "capped": 0}
        assert seen[name].results[spot] == pushed
        if "tie" not in seen[name].results:
            assert seen[name].gain == 0


@pytest.mark.parametrize(
    ("table", "payout", "capped"),
    [
        ("royal-1", 85_000, 5_000),
        ("four-deck-1", 90_000, 0),
        ("punto-banco-1", 90_000, 0),
        ("red-lounge-1", 100_000, 0),
    ],
)
def test_the_cap_cuts_one_win_and_shows_it(
    dealt: dict[str, dict[str, Dealt]], table: str, payout: int, capped: int
) -> None:
    """BL-014: only the royal table caps; the stake and the other bets are left alone."""
    over = dealt[table]["BL-014 more than the cap"].results
    assert (over["tie"]["payout"], over["tie"]["capped"]) == (payout, capped)
    assert over["player"]["result"] == "push"
    assert dealt[table]["BL-014 just under the cap"].results["tie"]["capped"] == 0


def test_nine_for_one_is_eight_to_one(dealt: dict[str, dict[str, Dealt]]) -> None:
    """BL-017: a tie bet of 10 brings 90 in all, at the red lounge 100."""
    for table, back in (("royal-1", 90), ("four-deck-1", 90), ("punto-banco-1", 90), ("red-lounge-1", 100)):
        assert dealt[table]["BL-017 nine for one"].results["tie"]["payout"] == back * UNIT
    assert dealt["stand-off-1"]["BL-017 nine for one"].results == {}


def test_each_house_takes_its_own_commission(dealt: dict[str, dict[str, Dealt]]) -> None:
    """BL-018: 100 on banker wins 95, at the red lounge 96."""
    for table, gain in (("red-lounge-1", 96), ("royal-1", 95), ("four-deck-1", 95), ("stand-off-1", 95)):
        won = dealt[table]["BL-018 commission"]
        assert won.gain == gain * UNIT
        assert won.results["banker"]["commission"] == (100 - gain) * UNIT
        assert dealt[table]["BL-018 commission on the largest bet"].gain == 5 * gain * UNIT


def test_every_bet_was_paid_within_its_round(dealt: dict[str, dict[str, Dealt]]) -> None:
    """The public sums of each round are those of the one bettor's results."""
    for seen in dealt.values():
        for line in seen.values():
            settled = line.events[-1]
            assert settled["paid"] == sum(result["payout"] for result in line.results.values())
            assert settled["settled"] == (1 if line.results else 0)
            assert line.gain == settled["paid"] - line.stake


async def test_the_file_begins_again_after_its_last_line(arrive, tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("K 9 K K\n9 K K K\n")
    async with own_node(tmp_path / "data", stacked_shoe=str(file), betting_ms=100, card_ms=0, result_ms=0) as node:
        client = await arrive(node.url)
        await client.join("royal-1", 100)
        outcomes = [(await client.next("round_decided"))["outcome"] for _ in range(4)]
    assert outcomes == ["banker", "player", "banker", "player"]


def without_what_is_open(event: Message) -> Message:
    """What is told beside the instants, the cards that lie open, and what follows from them."""
    of_cards = {"card", "total", "player", "banker", "player_total", "banker_total", "roads", "seal"}
    return {name: value for name, value in event.items() if name not in of_cards and not name.endswith("_ms")}


async def test_no_number_or_name_tells_a_hidden_card(arrive, tmp_path: Path) -> None:
    """BL-157: two houses whose shoes hold other cards, but as many in each round, say the same until a card is turned,
    and after it differ in that card alone: nothing else that is told depends on what is hidden."""
    told = []
    for name, shoe in (("one", "2 T 6 9\n9 3 K 5\n"), ("other", "A K 7 9\n8 2 A 6\n")):
        file = tmp_path / name
        file.write_text(shoe)
        pace = {"betting_ms": 600, "card_ms": 0, "result_ms": 0}
        async with own_node(tmp_path / f"{name}-data", stacked_shoe=str(file), **pace) as node:
            looker, client = await arrive(node.url, "Looker"), await arrive(node.url)
            await looker.call("watch", table="royal-1")
            await client.join("royal-1", 1_000)
            end = await looker.next("round_settled", round=2)
            heard = [event for event in looker.numbered("royal-1") if event["seq"] <= end["seq"]]
            told.append(list(map(without_what_is_open, heard)))
            client.joined.clear()
    assert len(told[0]) > 12
    assert told[0] == told[1]
