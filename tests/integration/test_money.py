"""Money over the wire: limits, refusals that change nothing, and sums that hold whatever is tried at once."""

import asyncio
import random

import pytest

from server.cashier import Cashier, Sitter
from server.store.driver import Driver
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.support import plain_rules
from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import JSON, MSGPACK, TABLES, CallRefused, Message, RawClient

PLAY_MONEY = 1_000_000


async def own_seat(client: RawClient, table: str) -> Message:
    """The own seat as the store has it now."""
    you: Message = (await client.call("watch", table=table))["you"]
    return you


async def refused(client: RawClient, table: str, spot: str, chip: int) -> str:
    """Lay a chip that is refused; returns the refusal's name."""
    with pytest.raises(CallRefused) as error:
        await client.place(table, spot, chip)
    return error.value.name


async def test_limits_hold_on_every_spot(arrive, node_url: str) -> None:
    """BL-015: the minimum and the maximum themselves are taken, one step beyond is refused and changes nothing."""
    clients = [await arrive(node_url, f"Limits of {table}") for table in TABLES]
    await asyncio.gather(*(check_limits(client, table) for client, table in zip(clients, TABLES, strict=True)))


async def check_limits(client: RawClient, table: str) -> None:
    """Try the limits of one table."""
    house = plain_rules.HOUSES[table]
    joined = await client.join(table, 300_000)
    rules = joined["snapshot"]["rules"]
    assert set(rules["maximums"]) == set(house.spots)
    minimum, largest = rules["minimum"], max(rules["chips"])

    async def try_spot(spot: str) -> None:
        maximum = rules["maximums"][spot]
        for chip in (minimum - 1, minimum + 1, maximum + 1, largest * 2):
            assert await refused(client, table, spot, chip) == "CHIP_UNKNOWN"
        assert (await client.ask("place", table=table, round=client.round[table], spot=spot, chip=0))["code"] == 1005
        assert (await client.place(table, spot, minimum))["bets"] == {spot: minimum}
        assert await refused(client, table, spot, maximum) == "ABOVE_MAXIMUM"
        await client.call("clear", table=table, round=client.round[table])
        receipt = await client.place(table, spot, maximum)
        assert (receipt["bets"], receipt["stack"]) == ({spot: maximum}, 300_000 - maximum)
        assert await refused(client, table, spot, minimum) == "ABOVE_MAXIMUM"
        seat = await own_seat(client, table)
        assert (seat["bets"], seat["stack"]) == ({spot: maximum}, 300_000 - maximum)
        await client.call("clear", table=table, round=client.round[table])

    for spot in ("player", "banker", "tie"):
        await client.next("betting_opened", table=table)
        if spot in house.spots:
            await try_spot(spot)
        else:
            assert await refused(client, table, spot, minimum) == "SPOT_FORBIDDEN"
    assert (await client.call("leave", table=table))["wallet"] == PLAY_MONEY
    client.joined.clear()


async def test_player_and_banker_together_only_where_the_house_allows_it(arrive, node_url: str) -> None:
    """BL-019: in either order, and from two connections; the first bet stays."""

    async def try_both(table: str, *, together: bool) -> None:
        client = await arrive(node_url, "Both")
        await client.join(table, 10_000)
        for first, second in (("player", "banker"), ("banker", "player")):
            await client.next("betting_opened", table=table)
            assert (await client.place(table, first, 100))["bets"] == {first: 100}
            if together:
                assert (await client.place(table, second, 100))["bets"] == {first: 100, second: 100}
                continue
            assert await refused(client, table, second, 100) == "SPOTS_CONFLICT"
            other = await arrive(node_url, token=client.token)
            await other.join(table, 0)
            assert await refused(other, table, second, 100) == "SPOTS_CONFLICT"
            assert (await other.place(table, "tie", 100))["bets"] == {first: 100, "tie": 100}
            client = other

    await asyncio.gather(try_both("four-deck-1", together=False), try_both("royal-1", together=True))


async def test_three_bets_above_the_stack_never_lie_together(arrive, brisk_url: str) -> None:
    """BL-144: each fits by itself; sent at once, the sum never passes the stack, and each has its answer."""
    table = "punto-banco-1"
    client = await arrive(brisk_url, "Greedy", subprotocol=JSON)
    await client.join(table, 1_000)
    number = (await client.next("betting_opened", table=table))["round"]
    futures = [
        await client.begin("place", table=table, round=number, spot=spot, chip=500)
        for spot in ("player", "banker", "tie")
    ]
    replies = [await asyncio.wait_for(future, 5) for future in futures]
    assert [reply["type"] for reply in replies] == ["ok", "ok", "error"]
    assert (replies[2]["name"], replies[1]["stack"]) == ("INSUFFICIENT_STACK", 0)
    assert (await own_seat(client, table))["bets"] == {"player": 500, "banker": 500}
    assert (await client.ask("double", table=table, round=number))["name"] == "INSUFFICIENT_STACK"


async def test_a_stake_can_not_be_moved_away(arrive, brisk_url: str) -> None:
    """BL-143: with all of it on the table nothing is left to leave with, to join elsewhere with, or to bet again."""
    table, elsewhere = "red-lounge-1", "royal-1"
    client = await arrive(brisk_url, "Mover")
    await client.join(table, PLAY_MONEY)
    number = (await client.next("betting_opened", table=table))["round"]
    for _ in range(2):
        await client.place(table, "player", 10_000)
    assert (await own_seat(client, table))["stack"] == PLAY_MONEY - 20_000
    with pytest.raises(CallRefused, match="INSUFFICIENT_WALLET"):
        await client.join(elsewhere, 100)
    left = await client.call("leave", table=table)
    assert (left["after_round"], left["wallet"]) == (True, None)
    with pytest.raises(CallRefused, match="INSUFFICIENT_WALLET"):
        await client.join(elsewhere, 100)
    results = await client.next("results", table=table, round=number)
    freed = await client.next("seat_freed", table=table)
    assert freed["wallet"] == results["stack"] == PLAY_MONEY - 20_000 + results["bets"]["player"]["payout"]
    client.joined.clear()


async def test_one_patron_at_five_tables_adds_up(arrive, brisk_url: str) -> None:
    """BL-153: bets, top-ups, leaves and joins at all tables at once; at the end the wallet is what its lines say."""
    client = await arrive(brisk_url, "Everywhere", subprotocol=MSGPACK)
    chance = random.Random(153)

    async def busy(table: str) -> None:
        house = plain_rules.HOUSES[table]
        for _ in range(3):
            await client.join(table, 20_000)
            number = await client.betting(table)
            for _ in range(10):
                spots = [spot for spot in house.spots if spot != "banker" or house.player_with_banker]
                await client.ask("place", table=table, round=number, spot=chance.choice(spots), chip=100)
                if chance.random() < 0.3:
                    await client.join(table, 100)
            await client.call("leave", table=table)
            async with asyncio.timeout(5):
                while (await client.call("watch", table=table))["you"] is not None:
                    await asyncio.sleep(0.02)

    await asyncio.gather(*(busy(table) for table in TABLES))
    client.joined.clear()
    async with asyncio.timeout(5):  # a seat is free a moment before its stack is in the wallet
        while count_of(own := await own_lines(client), "cash_out_taken") < 3 * len(TABLES):
            await asyncio.sleep(0.02)
    again = await arrive(brisk_url, token=client.token)
    assert again.wallet == own[0]["balance"] == sum(line["amount"] for line in own)
    assert count_of(own, "buy_in_given") >= 3 * len(TABLES)


def count_of(lines: list[Message], kind: str) -> int:
    return sum(line["kind"] == kind for line in lines)


async def own_lines(client: RawClient) -> list[Message]:
    """The wallet's own lines in the patron's statement, the newest first."""
    lines: list[Message] = []
    page: Message = {"more": True}
    while page["more"]:
        page = await client.call("statement", limit=100, **({"before": lines[-1]["id"]} if lines else {}))
        lines += page["lines"]
    return [line for line in lines if line["number"] is None]


# --- transfers that a node left half-way ------------------------------------------------------------------------------


async def wallet_of(url: str, token: str) -> int:
    """What a patron's wallet holds."""
    async with await RawClient.arrive(url, token=token) as client:
        return client.wallet


async def store_of(node: NodeProcess) -> Driver:
    """The node's own store, as another node would use it."""
    return Driver(f"unix://{node.data / 'valkey.sock'}")


@pytest.mark.parametrize("buy_in", [0, 5_000])
async def test_chips_on_their_way_in_when_a_node_died_arrive_with_the_next_join(arrive, tmp_path, buy_in: int) -> None:
    """The wallet has given, the table has not taken: the next join brings them along, whatever it brings itself."""
    table = "royal-1"
    async with own_node(tmp_path / "data") as node, await store_of(node) as store:
        client = await arrive(node.url, "Stranded")
        await Wallets(store).give_buy_in(client.patron, table, "of the node that died", 40_000)
        again = await arrive(node.url, token=client.token)
        assert again.wallet == PLAY_MONEY - 40_000
        joined = await again.join(table, buy_in)
        assert (joined["you"]["stack"], joined["wallet"]) == (40_000 + buy_in, PLAY_MONEY - 40_000 - buy_in)
        assert (await again.call("leave", table=table))["wallet"] == PLAY_MONEY
        again.joined.clear()


@pytest.mark.parametrize("next_step", ["leave", "restart"])
async def test_chips_on_their_way_home_when_a_node_died_get_there(arrive, tmp_path, next_step: str) -> None:
    """The table has given, the wallet has not taken: the patron's next leave, or the table's next owner, carries on."""
    table = "royal-1"
    async with own_node(tmp_path / "data") as node:
        client = await arrive(node.url, "Stranded")
        await client.join(table, 40_000)
        async with await store_of(node) as store:
            leaving = await Tables(store).leave(table, client.patron)
            assert (leaving.how, leaving.amount) == ("gone", 40_000)
        if next_step == "leave":
            left = await client.ask("leave", table=table)
            assert left.get("name") in (None, "NOT_SEATED")  # the table's dealer may have been quicker
        else:
            await asyncio.to_thread(node.kill)
            await asyncio.to_thread(node.start)
        async with asyncio.timeout(10):
            while (await wallet_of(node.url, client.token)) != PLAY_MONEY:
                await asyncio.sleep(0.05)
        client.joined.clear()


async def test_the_cashier_moves_nothing_twice(arrive, tmp_path) -> None:
    """Two nodes that drive the same buy-in on at once end with one stack and one debit."""
    table = "royal-1"
    async with own_node(tmp_path / "data") as node, await store_of(node) as store:
        client = await arrive(node.url, "Doubled")
        tables, wallets = Tables(store), Wallets(store)
        for n in range(20):
            await wallets.give_buy_in(client.patron, table, f"open {n}", 1_000)
            sitter = Sitter(client.patron, "Doubled", False, "n0", "n0:1")
            await asyncio.gather(*(Cashier(tables, wallets).sit_down(table, sitter, f"own {n}", 0) for _ in range(3)))
        joined = await client.join(table, 0)
        assert joined["you"]["stack"] == 20_000
        assert joined["wallet"] == PLAY_MONEY - 20_000


async def test_a_hello_carries_on_a_buy_in_that_a_dead_node_left_open(arrive, tmp_path) -> None:
    """The chips are at the table, in a seat that waits for its patron; a table that is gone gives them back."""
    table = "royal-1"
    async with own_node(tmp_path / "data") as node, await store_of(node) as store:
        first = await arrive(node.url, "Cut off")
        wallets = Wallets(store)
        await wallets.give_buy_in(first.patron, table, "r1", 1_000)
        await wallets.give_buy_in(first.patron, "gone-1", "r1", 500)
        async with await RawClient.arrive(node.url, token=first.token) as second:
            assert second.wallet == PLAY_MONEY - 1_000
            you = (await second.call("watch", table=table))["you"]
            assert (you["stack"], await wallets.open_buy_ins(first.patron)) == (1_000, [])
            joined = await second.call("join", table=table, buy_in=1_000, request_id="r1")
            assert (joined["you"]["stack"], joined["wallet"]) == (1_000, PLAY_MONEY - 1_000)
            assert (await second.call("leave", table=table))["wallet"] == PLAY_MONEY
