"""A patron that plays at one table through every break: it bets at random, remembers what was acknowledged, comes back
with its token, and knows to the unit what it must hold."""

import asyncio
import random
from collections import defaultdict
from typing import Self

from websockets.exceptions import WebSocketException

from tests.support import plain_rules
from tests.support.raw_client import SUBPROTOCOLS, CallRefused, Message, RawClient
from tests.support.record import Record

BUY_IN = 400_000
CHIPS = (100, 500, 2_500)
RETURN_S_MAX = 20.0


class Bettor:
    """One patron at one table. What it saw goes into the table's record, shared by all of them."""

    def __init__(self, url: str, record: Record, number: int, seed: str) -> None:
        self.url = url
        self.record = record
        self.table = record.table
        self.number = number
        self.chance = random.Random(f"{seed} {self.table} {number}")
        self.client: RawClient
        self.put_in = 0
        self.acked: dict[int, dict[str, int]] = {}
        """round -> what lay on the spots by the last good receipt."""
        self.unsure: dict[int, list[dict[str, object]]] = defaultdict(list)
        """round -> requests sent whose answer was lost."""
        self.is_resting = False
        self._position: tuple[str, int] = ("", 0)

    async def arrive(self) -> Self:
        """Come for the first time and sit down."""
        subprotocol = SUBPROTOCOLS[self.number % 2]
        self.client = await RawClient.arrive(self.url, f"Bettor {self.number}", subprotocol=subprotocol)
        self.put_in = self.client.wallet
        self._sit(await self.client.join(self.table, BUY_IN))
        return self

    async def come_back(self) -> None:
        """Connect again with the token, as often as it takes, and go on where the last connection ended."""
        self._take_over(self.client)
        async with asyncio.timeout(RETURN_S_MAX):
            while True:
                try:
                    client = await RawClient.arrive(self.url, token=self.client.token)
                    incarnation, seq = self._position
                    joined = await client.join(self.table, 0, incarnation=incarnation, seq=seq)
                    break
                except (OSError, WebSocketException, CallRefused):
                    await asyncio.sleep(0.05)
        assert client.patron == self.client.patron
        if joined["resumed"]:
            client.carry_on_from(self.client)
        self.client = client
        self._sit(joined)
        await self._ask_again()

    def _sit(self, joined: Message) -> None:
        self._take_own_seat(joined["you"])
        if joined["snapshot"] is not None:
            self._position = (joined["snapshot"]["incarnation"], joined["snapshot"]["seq"])

    def _take_own_seat(self, you: Message | None) -> None:
        if you is not None and you["last_results"] is not None:
            self.record.take_results(self.client.patron, you["last_round"], you["last_results"])

    async def _ask_again(self) -> None:
        """Send the requests whose answers were lost once more; they were or are decided once."""
        for number, requests in self.unsure.items():
            for request in requests:
                reply = await self.client.ask(**request)  # type: ignore[arg-type]
                if reply["type"] == "ok":
                    self.acked[number] = reply["bets"]
                else:
                    assert reply["name"] in ("BETTING_CLOSED", "ROUND_OVER", "SEAT_TAKEN_OVER"), reply
            requests.clear()

    async def play(self) -> None:
        """Bet at random in every round until the connection ends, or until it is to rest."""
        client, house = self.client, plain_rules.HOUSES[self.table]
        self.is_resting = False
        while not self.is_resting:
            try:
                number = await client.betting(self.table)
                spots = list(house.spots)
                if not house.player_with_banker:
                    spots.remove(self.chance.choice(["player", "banker"]))
                for _ in range(self.chance.randint(1, 3)):
                    await self._place(number, self.chance.choice(spots), self.chance.choice(CHIPS))
            except (ConnectionError, AssertionError):
                if client.close_code is None:
                    raise
                return

    async def _place(self, number: int, spot: str, chip: int) -> None:
        request: dict[str, object] = {
            "kind": "place",
            "table": self.table,
            "round": number,
            "spot": spot,
            "chip": chip,
            "request_id": self.client.request_id(),
        }
        self.unsure[number].append(request)
        while (reply := await self.client.ask(**request))["type"] == "error" and reply["retry"]:  # type: ignore[arg-type]
            await asyncio.sleep(0.05)  # the store is away; the same request is decided once
        self.unsure[number].remove(request)
        if reply["type"] == "ok":
            self.acked[number] = reply["bets"]
        else:  # a conflict: the bet of before the break lies on the other spot
            assert reply["name"] in ("BETTING_CLOSED", "ROUND_OVER", "SPOTS_CONFLICT"), reply

    def _take_over(self, client: RawClient) -> None:
        """Put what a connection saw into the record."""
        events = client.numbered(self.table)
        self.record.take_events(events)
        for told in client.seen("results", table=self.table):
            self.record.take_results(client.patron, told["round"], told["bets"])
        for told in client.seen("snapshot", table=self.table):
            self._take_own_seat(told["snapshot"]["you"])
            events = [{"seq": told["snapshot"]["seq"]}, *events]
        if events:
            self._position = (client.incarnation.get(self.table, self._position[0]), max(e["seq"] for e in events))

    async def leave(self) -> None:
        """Get up, and check the account: what was put in, less stakes, plus payouts, is in the wallet."""
        left = await self.client.call("leave", table=self.table)
        if left["after_round"]:
            left = await self.client.next("seat_freed", table=self.table)
        self._take_over(self.client)
        await self.client.close()
        settled = {
            number: bets for (number, patron), bets in self.record.results.items() if patron == self.client.patron
        }
        gains = [line["payout"] - line["stake"] for bets in settled.values() for line in bets.values()]
        assert left["wallet"] == self.put_in + sum(gains)
        for number, bets in self.acked.items():
            stakes = {spot: line["stake"] for spot, line in settled.get(number, {}).items()}
            assert stakes == bets, f"round {number}: acknowledged {bets}, settled {stakes}"
        assert settled.keys() == {number for number, bets in self.acked.items() if bets}
