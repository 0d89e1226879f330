"""One demo bot: a patron with a human name who keeps a table company, for ever.

It bets small sums at a human pace, never presses ready (a person at the table must not be rushed), fills its stack up
from its wallet, and comes back by itself after whatever goes wrong. Unlike `bot` it checks nothing. Read next: `demo`.
"""

import asyncio
import logging
from dataclasses import dataclass
from random import Random
from typing import Final

import client_sdk
from client_sdk.backoff import delays_ms
from client_sdk.bots.acts import Holding, house_of
from client_sdk.bots.strategies import cheapest_bet, modest
from client_sdk.bots.tokens import TokenFile
from client_sdk.client import Client
from client_sdk.exceptions import PuntoError, Refused, TokenRefused
from client_sdk.protocol.messages import BettingOpened, OwnSeat, SeatFreed, SeatTakenOver
from client_sdk.table import Table

log = logging.getLogger(__name__)

STACK_BETS: Final = 100
"""The stack that it fills up to, in smallest bets."""
LOW_BETS: Final = 20
"""Below this many smallest bets it fills its stack up."""
BETTING_SHARE: Final = (0.08, 0.7)
"""The part of the betting time over which its chips are spread, so that the sums grow like at a real table."""
PLAYS_SHARE: Final = 0.9
"""It sits a round out now and then."""
RETRY_MS: Final = (500, 2_000, 30_000)
"""Pauses after a failure: the shortest, the longest at first, the longest ever."""
AWAY_S: Final = 60
"""How long it stays away when its seat was taken over with its token: two of it must not fight for one seat."""


@dataclass(frozen=True, slots=True)
class Post:
    """Where a demo bot sits and what it is called; `key` finds its token again."""

    table: str
    name: str
    key: str


class _Ended(Exception):
    """It is not at its table any more and should come back."""


class Companion:
    """A demo bot. `run` ends only when it is cancelled."""

    def __init__(self, url: str, post: Post, tokens: TokenFile, rng: Random) -> None:
        self._url = url
        self._post = post
        self._tokens = tokens
        self._rng = rng
        self._has_bet = False
        self._opened = asyncio.Event()

    def __repr__(self) -> str:
        return f"<Companion {self._post.name} at {self._post.table}>"

    async def run(self) -> None:
        """Sit, play, and come back, until cancelled."""
        loop = asyncio.get_running_loop()
        delays = delays_ms(*RETRY_MS, self._rng)
        while True:
            began = loop.time()
            try:
                await self._visit()
            except TokenRefused:
                log.warning("demo_token_refused", extra={"table": self._post.table})
                self._tokens.forget(self._post.key)
            except (PuntoError, OSError, _Ended, ExceptionGroup) as error:
                self._tell_away(_leaf(error))
            if loop.time() - began > AWAY_S:
                delays = delays_ms(*RETRY_MS, self._rng)
            await asyncio.sleep(next(delays) / 1000)

    def _tell_away(self, error: BaseException) -> None:
        """Log why it left its table: as an error with its trace where it was a fault of ours."""
        is_ours = not isinstance(error, PuntoError | OSError | _Ended)
        level = logging.ERROR if is_ours else logging.INFO
        log.log(
            level,
            "demo_bot_away",
            exc_info=error if is_ours else None,
            extra={"table": self._post.table, "reason": str(error)},
        )

    async def _visit(self) -> None:
        """Connect, sit down and play until something ends it."""
        token = self._tokens.get(self._post.key)
        name = self._post.name if token is None else None
        async with client_sdk.connect(self._url, name=name, token=token, bot=True) as client:
            if client.token is not None:
                self._tokens.keep(self._post.key, client.token)
            table = await client.join(self._post.table, buy_in=0)
            async with asyncio.TaskGroup() as group:
                actor = group.create_task(self._keep_betting(client, table), name=f"{self._post.name} bets")
                try:
                    await self._watch(table)
                finally:
                    actor.cancel()

    async def _watch(self, table: Table) -> None:
        self._opened.set()  # whatever round is open: a betting that is over is noticed before the first chip
        async for event in table:
            match event:
                case BettingOpened():
                    self._opened.set()
                case SeatFreed():
                    raise _Ended("the seat was freed")
                case SeatTakenOver():
                    await asyncio.sleep(AWAY_S)
                    raise _Ended("the seat was taken over")
                case _:
                    pass

    async def _keep_betting(self, client: Client, table: Table) -> None:
        while True:
            await self._opened.wait()
            self._opened.clear()
            try:
                await self._fill_up(client, table)
                if self._rng.random() < PLAYS_SHARE:
                    await self._bet(table)
            except Refused as refused:
                log.debug("demo_bet_refused", extra={"table": table.id, "code": refused.code})

    async def _fill_up(self, client: Client, table: Table) -> None:
        """Bring chips from the wallet where the stack is low.

        Where wallet and stack are empty it comes back as a new guest: a silent seat would be no company and would be
        freed for its silence, and play money is what every guest of an open house gets. It has to have played first, so
        that a table too dear for a guest does not make it ask for new names without end.
        """
        you, bet = table.mirror.you, cheapest_bet(house_of(table.mirror.rules))
        if you is None or you.bets or you.stack >= LOW_BETS * bet:
            return
        if client.wallet:
            await client.join(table.id, buy_in=min(client.wallet, STACK_BETS * bet))
        elif you.stack < bet and self._has_bet:
            self._has_bet = False
            self._tokens.forget(self._post.key)
            raise _Ended("all its money is lost")

    async def _bet(self, table: Table) -> None:
        """Lay the round's chips one by one, as a hand would."""
        mirror, you = table.mirror, table.mirror.you
        if you is None or you.bets or mirror.phase != "betting":
            return
        round = mirror.round
        chips = modest(house_of(mirror.rules), _holding_of(you), round, self._rng)
        for pause_ms in self._pauses_ms(table, len(chips)):
            await asyncio.sleep(pause_ms / 1000)
            if mirror.round != round or mirror.phase != "betting":
                return
            place = chips.pop(0)
            await table.place(place.spot, place.chip, round=round)
            self._has_bet = True

    def _pauses_ms(self, table: Table, chips: int) -> list[float]:
        """Return the pause before each chip; together they end well before betting does."""
        left_ms = table.remaining_ms()
        first, last = (left_ms * share for share in BETTING_SHARE)
        moments = sorted(self._rng.uniform(first, last) for _ in range(chips))
        return [moment - before for moment, before in zip(moments, [0.0, *moments], strict=False)]


def _holding_of(you: OwnSeat) -> Holding:
    return Holding(stack=you.stack, last=you.last_bets)


def _leaf(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
