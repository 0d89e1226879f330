"""A real node, seen by a client that was written from the protocol document alone.

Most of what is checked here is checked in `tests.support.protocol_party` while messages come in: it raises
`Contradiction` as soon as the node says something that does not follow from the document.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack
from typing import Any

import msgpack
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from tests.support import plain_fairness
from tests.support.protocol_party import (
    JSON,
    MSGPACK,
    Contradiction,
    Message,
    Party,
    Refused,
    Shoe,
    Table,
    next_side,
    outcome_of,
    settled_bet,
)

Come = Callable[..., Awaitable[Party]]

both_subprotocols = pytest.mark.parametrize("subprotocol", [MSGPACK, JSON])


@pytest.fixture
async def come(node_url: str) -> AsyncIterator[Come]:
    """`await come(subprotocol)`: a party that has said hello; afterwards each gives its seats up and goes."""
    async with AsyncExitStack() as afterwards:

        async def arrive(subprotocol: str, name: str = "Stranger", token: str | None = None) -> Party:
            party = Party(node_url, subprotocol, name)
            afterwards.push_async_callback(party.go)
            await party.arrive(token)
            return party

        yield arrive


async def table_where(party: Party, holds: Callable[[Message], object]) -> str:
    """The id of the first table with such rules."""
    names: list[str] = [table["table"] for table in await party.list_tables() if holds(table["rules"])]
    return names[0]


async def sit_down(party: Party, holds: Callable[[Message], object], buy_in: int = 100_000) -> Table:
    """Sit down at such a table, and wait for a round in which there is time to bet."""
    name = await table_where(party, holds)
    table = await party.join(name, buy_in)
    time_left = (table.closes_at_ms or 0) - table.at_ms
    if table.phase != "betting" or time_left < table.rules["betting_ms"] / 2:
        await party.betting(name)
    return table


async def in_both_subprotocols(come: Come, evening: Callable[[Party], Coroutine[Any, Any, None]]) -> list[Party]:
    """Two parties at once, one in each subprotocol; whatever both followed was told to them alike."""
    parties = [await come(MSGPACK), await come(JSON)]
    async with asyncio.TaskGroup() as group:
        for party in parties:
            group.create_task(evening(party))
    told = [{(event["table"], event["seq"]): event for event in party.heard if "seq" in event} for party in parties]
    common = told[0].keys() & told[1].keys()
    assert common
    assert all(told[0][number] == told[1][number] for number in common)
    return parties


def is_common(rules: Message) -> bool:
    """A shoe of many rounds, and bets on all three spots at once."""
    return not rules["shuffles_every_round"] and len(rules["maximums"]) == 3 and not rules["forbidden_pairs"]


async def code_of(asked: Awaitable[Any]) -> int:
    """The number with which something is refused."""
    with pytest.raises(Refused) as refused:
        await asked
    return refused.value.code


# --- A patron's evening -----------------------------------------------------------------------------------------------


async def test_it_sits_down_bets_is_paid_and_takes_its_chips_home(come: Come) -> None:
    async def evening(party: Party) -> None:
        table = await sit_down(party, is_common)
        name, least = table.name, table.rules["chips"][0]
        seat = party.seats[name]
        for verb, fields in (
            ("place", {"spot": "player", "chip": least}),
            ("place", {"spot": "banker", "chip": least}),
            ("place", {"spot": "tie", "chip": least}),
            ("double", {}),
            ("undo", {"spot": "player"}),
            ("undo", {}),
            ("undo", {}),
            ("ready", {}),
            ("clear", {}),
            ("place", {"spot": "player", "chip": least}),
            ("place", {"spot": "banker", "chip": least}),
            ("place", {"spot": "banker", "chip": least}),
            ("undo", {"spot": "banker"}),
            ("place", {"spot": "tie", "chip": least}),
        ):
            await party.act(name, verb, **fields)
        laid = {"player": least, "banker": least, "tie": least}
        assert seat.bets == laid
        await party.settled(name)
        await party.watch(name)  # compares the snapshot with what the events told
        assert (seat.last_round, seat.last_bets, seat.last_outcome) == (table.round, laid, table.outcome)

        await party.betting(name)
        await party.act(name, "rebet")
        assert seat.bets == laid
        await party.act(name, "ready")
        await party.settled(name)
        told = [event for event in party.heard if event["type"] == "results"]
        assert [event["round"] for event in told] == [table.round - 1, table.round]
        kinds = [event["type"] for event in party.heard if event["type"] != "crowd"]
        assert kinds[kinds.index("results") - 1] == "round_decided"

        wallet, stack = party.wallet, seat.stack
        assert (await party.leave(name))["wallet"] == party.wallet == wallet + stack
        assert await code_of(party.ask("leave", table=name)) == 2003

    await in_both_subprotocols(come, evening)


async def test_chips_come_back_when_the_round_in_which_it_leaves_is_over(come: Come) -> None:
    async def evening(party: Party) -> None:
        table = await sit_down(party, is_common)
        await party.act(table.name, "place", spot="player", chip=table.rules["chips"][0])
        reply = await party.leave(table.name)
        assert (reply["after_round"], reply["wallet"]) == (True, None)
        await party.until(lambda: table.name not in party.seats)
        freed = party.heard[-1]
        assert (freed["type"], freed["reason"], freed["wallet"]) == ("seat_freed", "left", party.wallet)
        assert table.round in table.settled

    await in_both_subprotocols(come, evening)


async def test_a_lost_line_is_taken_up_without_a_gap(come: Come) -> None:
    follower = await come(JSON, "Follower")
    followed = await follower.watch(await table_where(follower, is_common))

    async def evening(party: Party) -> None:
        table = await sit_down(party, is_common)
        name, seat = table.name, party.seats[table.name]
        for spot in ("player", "banker", "tie"):
            await party.act(name, "place", spot=spot, chip=table.rules["chips"][0])
        await party.until(lambda: table.dealt)
        await party.hang_up()
        await party.arrive()
        assert await party.resume(name)
        await party.settled(name)
        assert seat.last_round == table.round

        # Now the line is down to the end of a round. What its bets became is in `you`, the rest in the events.
        await party.betting(name)
        missed = table.round
        await party.act(name, "rebet")
        await party.hang_up()
        async with asyncio.timeout(5):
            while missed not in followed.settled:
                await asyncio.sleep(0.02)
        await party.arrive()
        assert await party.resume(name)
        assert seat.last_round == missed
        await party.until(lambda: missed in table.settled)
        # Of the round before, the line may have come back too late for them as well.
        assert {event["round"] for event in party.heard if event["type"] == "results"} <= {missed - 1}

    following = asyncio.create_task(follower.until(lambda: False))
    await in_both_subprotocols(come, evening)
    following.cancel()
    with pytest.raises(asyncio.CancelledError):
        await following


@both_subprotocols
async def test_numbers_that_mean_nothing_to_the_node_are_answered_with_a_snapshot(come: Come, subprotocol: str) -> None:
    party = await come(subprotocol)
    table = await party.watch(await table_where(party, is_common))
    for incarnation, seq in (("another", table.seq), (table.incarnation, table.seq + 1_000), (None, None)):
        reply = await party.ask("watch", table=table.name, incarnation=incarnation, seq=seq)
        assert reply["resumed"] is False
        assert reply["snapshot"]["incarnation"] == table.incarnation
    reply = await party.ask("watch", table=table.name, incarnation=table.incarnation, seq=table.seq)
    assert (reply["resumed"], reply["snapshot"], reply["wallet"]) == (True, None, None)


async def test_a_second_line_of_the_patron_takes_the_seat_over(come: Come) -> None:
    first = await come(MSGPACK)
    table = await sit_down(first, is_common)
    await first.act(table.name, "place", spot="tie", chip=table.rules["chips"][0])
    second = await come(JSON, token=first.token)
    assert (second.patron, second.wallet) == (first.patron, first.wallet)
    await second.join(table.name)
    assert second.seats[table.name].bets == first.seats[table.name].bets
    await first.until(lambda: table.name not in first.seats)
    assert first.heard[-1]["type"] == "seat_taken_over"
    assert await code_of(first.act(table.name, "clear")) == 2004
    assert await code_of(first.leave(table.name)) == 2004
    await second.settled(table.name)
    assert second.seats[table.name].last_round is not None


# --- The shoe ---------------------------------------------------------------------------------------------------------


async def test_every_shoe_that_ended_was_the_one_that_was_committed_to(come: Come) -> None:
    """At a table that shuffles every round, each round reveals the secret of its shoe."""

    async def evening(party: Party) -> None:
        table = await sit_down(party, lambda rules: rules["shuffles_every_round"])
        for _ in range(2):
            await party.act(table.name, "place", spot="tie", chip=table.rules["chips"][0])
            number = table.known_shoe().number
            await party.betting(table.name)
            ended = [event for event in party.heard if event["type"] == "shoe_ended"]
            assert (ended[-1]["shoe"], ended[-1]["rounds"], ended[-1]["reason"]) == (number, 1, "dealt")
            assert table.shoes_checked == len(ended)
            assert table.known_shoe().number == number + 1

    await in_both_subprotocols(come, evening)


def test_the_order_of_the_document_and_what_a_false_card_leads_to() -> None:
    secret = bytes(range(32))
    order = list(map(plain_fairness.name_of, plain_fairness.order_of(secret, 8, 1)))
    assert " ".join(order[:10]) == "Kc 2d Ts 8h Qs 7s 5d 5s 9c Ah"
    assert len(order) == 416
    assert len(set(order)) == 52
    ended = {"shoe": 1, "secret": secret.hex(), "rounds": 1}
    commitment = "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd"
    shoe = Shoe(1, 416, commitment, 416)
    shoe.cuts, shoe.merkle_root = 0, plain_fairness.root_over(secret, 8, 1, plain_fairness.order_of(secret, 8, 1))
    shoe.take("Kc", 11, 405)
    shoe.take(order[11], 1, 404)
    shoe.check(ended)
    shoe.take("Kc", 1, 403)
    with pytest.raises(Contradiction, match="card at 12 of shoe 1"):
        shoe.check(ended)
    with pytest.raises(Contradiction, match="commitment"):
        Shoe(1, 416, commitment.replace("6", "7"), 416).check(ended)


def test_the_rules_that_the_party_computes_by() -> None:
    assert next_side(["9c", "Kd"], ["2c", "2d"]) is None  # a natural
    assert next_side(["6c", "Kd"], ["2c", "3d"]) == "banker"  # PLAYER stands
    assert next_side(["2c", "3d", "8s"], ["Kc", "3d"]) is None  # 3 stands against an 8
    assert next_side(["2c", "3d", "9s"], ["Kc", "3d"]) == "banker"
    assert outcome_of(["2c", "3d", "8s"], ["Kc", "3d"]) == "tie"
    rules = {"commission_bp": 500, "tie_pays": 8, "win_max": 75_000}
    assert settled_bet("banker", 110, "banker", rules)["commission"] == 6  # 5.5 rounded up
    assert settled_bet("tie", 10_000, "tie", rules)["payout"] == 85_000
    assert settled_bet("player", 100, "tie", rules)["result"] == "push"


# --- Refusals ---------------------------------------------------------------------------------------------------------


async def test_acts_are_refused_with_the_numbers_of_the_document(come: Come) -> None:
    async def evening(party: Party) -> None:
        name = await table_where(party, is_common)
        assert await code_of(party.ask("clear", table=name, round=1)) == 2002
        assert await code_of(party.ask("join", table="no-such-table")) == 2001
        assert await code_of(party.ask("join", table=name, buy_in=party.wallet + 1)) == 2006
        watched = await party.watch(name)
        assert await code_of(party.ask("clear", table=name, round=watched.round)) == 2003

        table = await sit_down(party, is_common, 700)
        for verb, fields, expected in (
            ("clear", {"round": table.round + 1}, 2101),
            ("place", {"spot": "player", "chip": 101}, 2111),
            ("place", {"spot": "tie", "chip": max(table.rules["chips"])}, 2113),
            ("place", {"spot": "player", "chip": 2_500}, 2115),
            ("undo", {}, 2116),
            ("double", {}, 2117),
            ("rebet", {}, 2118),
        ):
            assert await code_of(party.act(name, verb, **fields)) == expected, verb
        await party.act(name, "place", spot="player", chip=500)
        for verb, fields, expected in (
            ("double", {}, 2115),
            ("undo", {"spot": "tie"}, 2116),
            ("rebet", {}, 2119),
        ):
            assert await code_of(party.act(name, verb, **fields)) == expected, verb
        await party.until(lambda: table.phase == "dealing")
        with pytest.raises(Refused) as late:
            await party.act(name, "clear")
        assert late.value.code == 2102
        assert late.value.reply["closed_at_ms"] == table.closes_at_ms
        assert late.value.reply["arrived_at_ms"] >= table.closes_at_ms
        await party.settled(name)
        assert party.seats[name].last_round == table.round

    await in_both_subprotocols(come, evening)


async def test_spots_that_a_house_does_not_have_or_join(come: Come) -> None:
    party = await come(MSGPACK)
    table = await sit_down(party, lambda rules: "tie" not in rules["maximums"])
    assert await code_of(party.act(table.name, "place", spot="tie", chip=table.rules["chips"][0])) == 2110
    await party.leave(table.name)
    table = await sit_down(party, lambda rules: rules["forbidden_pairs"])
    spot, other = table.rules["forbidden_pairs"][0]
    await party.act(table.name, "place", spot=spot, chip=table.rules["chips"][0])
    assert await code_of(party.act(table.name, "place", spot=other, chip=table.rules["chips"][0])) == 2112


@both_subprotocols
async def test_a_request_that_is_sent_again_is_decided_once(come: Come, subprotocol: str) -> None:
    party = await come(subprotocol)
    table = await sit_down(party, is_common)
    lay = {"table": table.name, "round": table.round, "spot": "player", "chip": table.rules["chips"][0]}
    first = await party.ask("place", request_id="again", **lay)
    await party.ask("place", request_id="another", **lay)
    assert await party.ask("place", request_id="again", **lay) == first
    assert await code_of(party.ask("place", request_id="again", **lay | {"spot": "tie"})) == 1012
    seated = await party.ask("join", request_id="chips", table=table.name, buy_in=1_000)
    again = await party.ask("join", request_id="chips", table=table.name, buy_in=1_000)
    assert again["wallet"] == seated["wallet"] == party.wallet - 1_000
    assert again["you"]["stack"] == seated["you"]["stack"]
    assert await code_of(party.ask("join", request_id="chips", table=table.name, buy_in=2_000)) == 1012
    party.wallet -= 1_000
    party.seats.pop(table.name)  # these requests went past its books
    await party.join(table.name)
    await party.act(table.name, "clear")


@both_subprotocols
async def test_what_cannot_be_read_is_refused_and_the_eighth_time_closes(come: Come, subprotocol: str) -> None:
    party = await come(subprotocol)

    def frame(**fields: object) -> bytes | str:
        return party.encoded({"type": "join", "request_id": "x", "table": "a", **fields})

    unreadable: list[tuple[int, bytes | str]] = [
        (1006, b"{}" if subprotocol == JSON else "{}"),
        (1001, "{" if subprotocol == JSON else b"\x81"),
        (1002, "[]" if subprotocol == JSON else b"\x90"),
        (1003, party.encoded({"type": "ok", "request_id": "x"})),
        (1004, frame(colour="red")),
        (1005, frame(buy_in=100.0)),
        (1005, frame(buy_in=2**53)),
        (1004, frame(table="UPPER")),
    ]
    for expected, sent in unreadable:
        await party.send_frame(sent)
        assert await code_of(party.reply_to("x" if expected in (1003, 1004, 1005) else None)) == expected
    assert await party.close_code() == 4100


async def test_fields_that_do_not_fit_are_named(come: Come) -> None:
    party = await come(MSGPACK)
    for request, field in (
        ({"type": "join", "request_id": "x", "table": "a", "buy_in": None}, "buy_in"),
        ({"type": "watch", "request_id": "x"}, "table"),
        ({"type": "ping", "request_id": "x", "tabel": "a"}, "tabel"),
        ({"type": "place", "request_id": "x", "table": "a", "round": 1, "spot": "tie"}, "chip"),
    ):
        await party.send_frame(msgpack.packb(request))
        with pytest.raises(Refused) as refused:
            await party.reply_to("x")
        assert refused.value.reply["field"] == field
        assert refused.value.reply["retry"] is False


async def test_who_may_speak(come: Come) -> None:
    party = await come(JSON)
    assert await code_of(party.hello()) == 1011
    await party.hang_up()

    await party.connect()
    assert await code_of(party.ask("ping")) == 1010
    party.token, party.patron, party.name = None, None, "x" * 25  # another guest
    assert await code_of(party.hello()) == 3002
    party.name = "  \N{LATIN SMALL LIGATURE FI}  nn\u200b "
    assert (await party.hello())["name"] == "fi nn"
    await party.hang_up()

    await party.connect()
    for _ in range(3):
        assert await code_of(party.ask("hello", token="guest.nobody.secret")) == 3001
    assert await party.close_code() == 4200


async def test_the_handshake(node_url: str) -> None:
    async with connect(node_url, subprotocols=[Subprotocol(JSON), Subprotocol(MSGPACK)], proxy=None) as line:
        assert line.subprotocol == MSGPACK
        assert line.protocol.extensions == []
    for path, subprotocol, status in (("/", "punto.v2", 400), ("/elsewhere", JSON, 404)):
        with pytest.raises(InvalidStatus) as refused:
            await connect(node_url + path, subprotocols=[Subprotocol(subprotocol)], proxy=None)
        assert refused.value.response.status_code == status


async def test_cards_are_told_at_most_150_ms_before_they_are_to_be_shown(come: Come) -> None:
    party = await come(MSGPACK)
    table = await sit_down(party, lambda rules: rules["tie_pays"] is None)
    now = asyncio.get_running_loop().time
    asked = now()
    at_ms = (await party.ask("ping", table=table.name))["at_ms"]
    fast = (now() - asked) * 1_000 + 1  # so much the table's clock may be behind what follows from `at_ms`
    await party.until(lambda: table.dealt)
    assert party.heard[-1]["type"] == "card_dealt"
    assert party.heard[-1]["show_at_ms"] - (at_ms + (now() - asked) * 1_000) <= 150 + fast
