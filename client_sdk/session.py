"""Keeps a client connected for as long as it lives: open a line, say hello, listen, come back.

One task owns the connection. After each hello the tables are resumed and what is unanswered is sent again; by the close
code of a line it decides whether another one is opened. It must never make a request that moves money: what is sent
again is the caller's own request under its own id. Read next: `desk` for requests, `roster` for tables, `line`.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from secrets import SystemRandom
from typing import Final

import msgspec

from client_sdk.backoff import delays_ms
from client_sdk.calls import fresh_request_id
from client_sdk.desk import Desk, now_ms
from client_sdk.exceptions import (
    ClientClosed,
    ClientFailed,
    Disconnected,
    ProtocolMismatch,
    PuntoError,
    Refused,
    TokenExpired,
    TokenUnavailable,
    Unreachable,
)
from client_sdk.known import KnownEvents
from client_sdk.line import CouldNotOpen, Line, LineEnd, open_line, server_of
from client_sdk.protocol.codec import BadMessage, Codec, Frame, decode_notice
from client_sdk.protocol.errors import CloseCode, ErrorCode, may_reconnect
from client_sdk.protocol.messages import (
    NOTICE_TYPES,
    PROTOCOL_VERSION,
    AnyNotice,
    Hello,
    Message,
    Refresh,
    Refreshed,
    SeatFreed,
    TokenExpiring,
    Welcome,
)
from client_sdk.roster import Roster
from client_sdk.settings import Settings
from client_sdk.tasks import Tasks

log = logging.getLogger(__name__)

CLIENT_NAME: Final = "punto-python"
TokenSource = Callable[[], Awaitable[str]]
"""Gives a token that holds now, fresh where the last one ends soon: asked before each hello and each refresh."""


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the client is to the server. The token is kept out of every text; `source` gives the next one."""

    name: str | None = None
    token: str | None = field(default=None, repr=False)
    bot: bool = False
    source: TokenSource | None = field(default=None, repr=False)

    def hello(self, request_id: str) -> Hello:
        """Say who we are: by the token where there is one, else by a display name."""
        name = self.name if self.token is None else None
        return Hello(request_id=request_id, name=name, token=self.token, bot=self.bot, client=CLIENT_NAME)


class Session:
    """One patron's presence. `welcome` is the newest one, `welcomes` counts them, `wallet` is what the server last said
    of it."""

    def __init__(
        self,
        url: str,
        codec: Codec,
        identity: Identity,
        settings: Settings,
        on_notice: Callable[[AnyNotice], None] | None = None,
        known: KnownEvents | None = None,
    ) -> None:
        self.settings = settings
        self._on_notice = on_notice
        self.identity = identity
        self.welcome: Welcome | None = None
        self.welcomes = 0
        self.welcomed_ms = 0.0
        self.wallet = 0
        self.tasks = Tasks(self._task_failed)
        self.desk = Desk(settings, codec)
        self.roster = Roster(self.desk, self.tasks, self.drop_line)
        self._url = url
        self._codec = codec
        self._known = known
        self._line: Line | None = None
        self._chance = SystemRandom()
        self._welcomed: asyncio.Future[None] | None = None
        self._last_failure = "no attempt has failed yet"
        self._met = ""  # of that, what the line of now brought
        self._is_refreshing = False

    @property
    def patron(self) -> str | None:
        """Our public id, once a server has told it."""
        return None if self.welcome is None else self.welcome.patron

    @property
    def is_ended(self) -> bool:
        """Whether nothing will be tried any more."""
        return self.desk.error is not None

    # --- life ---

    async def open(self) -> None:
        """Connect for the first time. Raises Unreachable after `connect_ms`, or at once what no attempt can mend."""
        if self.desk.error is not None:
            raise self.desk.error
        if self._welcomed is not None:
            raise RuntimeError("a client is opened once")
        self._welcomed = asyncio.get_running_loop().create_future()
        self.tasks.start(self._keep(), "punto-session")
        try:
            async with asyncio.timeout(self.settings.connect_ms / 1000):
                await self._welcomed
        except TimeoutError:
            error = Unreachable(server_of(self._url), self.settings.connect_ms, self._last_failure)
            await self.close(error)
            raise error from None
        except BaseException:
            await self.close()
            raise

    async def close(self, error: PuntoError | None = None) -> None:
        """End everything: no further attempt, whatever waits is told, every task has ended when this returns."""
        self._end(error or ClientClosed())
        if self._line is not None:
            await self._line.close()
        await self.tasks.stop()

    def _end(self, error: PuntoError) -> None:
        """Let nothing wait any longer. Only the first end counts; a wished one stops the readers quietly."""
        if self.is_ended:
            return
        self.desk.end(error)
        self.roster.end(None if isinstance(error, ClientClosed) else error)
        if self._welcomed is not None and not self._welcomed.done():
            self._welcomed.set_exception(error)
            self._welcomed.exception()  # marked as seen: whoever opened may have been cancelled

    def _task_failed(self, error: BaseException) -> None:
        failure = ClientFailed()
        failure.__cause__ = error
        self._end(failure)
        self.drop_line()

    # --- the connection ---

    async def _keep(self) -> None:
        """Open one line after another until the session ends."""
        delays = self._reconnect_delays()
        while not self.is_ended:
            began_ms = now_ms()
            try:
                line = await open_line(self._url, self._codec, self.settings)
            except CouldNotOpen as failure:
                self._last_failure = str(failure)
            except PuntoError as error:
                self._end(error)
            else:
                self._judge(await self._use(line))
            if now_ms() - began_ms >= self.settings.stable_ms:
                delays = self._reconnect_delays()
            if not self.is_ended:
                await asyncio.sleep(next(delays) / 1000)

    def _reconnect_delays(self) -> Iterator[float]:
        limits = self.settings
        return delays_ms(limits.reconnect_ms_min, limits.reconnect_ms_first, limits.reconnect_ms_max, self._chance)

    async def _use(self, line: Line) -> LineEnd:
        """Greet and listen until the line ends."""
        self._line, self._met = line, ""
        greeting = self.tasks.start_stoppable(self._greet(line), "punto-greeting")
        try:
            return await line.run(self._deliver)
        finally:
            greeting.cancel()
            self._line = None
            self.desk.close_line()
            self.roster.detach()

    def _judge(self, end: LineEnd) -> None:
        """Decide by its close code whether to come back after a line has ended."""
        log.info("line_ended", extra={"close_code": end.close_code, "reason": end.reason})
        self._last_failure = self._met or end.reason or self._last_failure  # what the greeting met tells more
        if end.close_code == CloseCode.TOKEN_EXPIRED and self.identity.source is not None:
            return
        if not may_reconnect(end.close_code):
            self._end(Disconnected(end.reason or "the server closed the connection", end.close_code))

    def drop_line(self) -> None:
        """Drop the connection; a new one is opened, as after any drop."""
        if self._line is not None:
            self._line.abort()

    async def read_nothing(self, pause_ms: float) -> None:
        """Leave unread what comes on the connection of now for so long."""
        line = self._line
        if line is None:
            return
        line.pause_reading()
        try:
            await asyncio.sleep(pause_ms / 1000)
        finally:
            line.resume_reading()

    # --- the greeting ---

    async def _greet(self, line: Line) -> None:
        """Say hello, then have everything resumed and sent again; where that can't be, drop the line."""
        try:
            await self._fetch_token()
            hello = self.identity.hello(fresh_request_id())
            welcome = await self.desk.ask_on(line, hello, Welcome, self.settings.dial_ms)
            self._check(welcome)
        except PuntoError as error:
            self._last_failure = self._met = str(error)
            if _is_final(error) and not (isinstance(error, TokenExpired) and self.identity.source is not None):
                self._end(error)
            line.abort()
        else:
            self._settle_in(line, welcome)

    async def _fetch_token(self) -> None:
        """Ask the source, if there is one, for the token to go on with. Raises `TokenUnavailable`."""
        if self.identity.source is None:
            return
        try:
            async with asyncio.timeout(self.settings.dial_ms / 1000):
                token = await self.identity.source()
        except Exception as error:  # the caller's own code: whatever it raises, the next attempt asks again
            log.warning("token_not_fetched", extra={"reason": type(error).__name__})
            raise TokenUnavailable(type(error).__name__) from None
        self.identity = replace(self.identity, token=token)

    async def _refresh(self) -> None:
        """Go on with a fresh token before the present one ends; where that fails, the next hello brings one."""
        try:
            await self._fetch_token()
            assert self.identity.token is not None, "a source was asked"
            request = Refresh(request_id=fresh_request_id(), token=self.identity.token)
            await self.desk.ask(request, Refreshed, self._refreshed)
        except PuntoError as error:
            self._is_refreshing = False
            log.warning("token_not_refreshed", extra={"reason": type(error).__name__})

    def _refreshed(self, _: Refreshed) -> None:
        """Heed the next notice, which may stand right behind the answer."""
        self._is_refreshing = False

    def _check(self, welcome: Welcome) -> None:
        """Refuse a server that speaks otherwise, or takes us for somebody else."""
        if welcome.protocol != PROTOCOL_VERSION:
            raise ProtocolMismatch(f"protocol {PROTOCOL_VERSION}", f"protocol {welcome.protocol}")
        if self.welcome is not None and welcome.patron != self.welcome.patron:
            raise ProtocolMismatch(f"patron {self.welcome.patron}", f"patron {welcome.patron}")

    def _settle_in(self, line: Line, welcome: Welcome) -> None:
        log.info("welcomed", extra={"patron": welcome.patron, "server": welcome.server})
        self.welcome, self.wallet = welcome, welcome.wallet
        self.welcomes += 1
        self.welcomed_ms = now_ms()
        self.identity = replace(self.identity, token=welcome.token or self.identity.token)
        self.desk.open_line(line)
        self.roster.resume_all()
        if self._welcomed is not None and not self._welcomed.done():
            self._welcomed.set_result(None)

    # --- what comes in ---

    def _deliver(self, frame: Frame) -> None:
        """Take one message off the wire. Nothing may wait here: the next one is behind it. Raises BadMessage."""
        is_expected = isinstance(frame, str) is self._codec.is_text  # another client may speak the other codec
        known = self._known if is_expected else None
        if known is not None and (event := known.get(frame)) is not None:
            self.roster.take(event)
            return
        message = self._codec.decode(frame)
        kind = message.get("type")
        if not isinstance(kind, str):
            raise BadMessage(ErrorCode.NOT_A_MESSAGE, "type")
        match kind:
            case "ok" | "error" if message.get("request_id") is not None:
                self.desk.settle(message)
            case "error":
                log.warning("unasked_error", extra={"code": message.get("code"), "reason": message.get("message")})
            case _ if kind in NOTICE_TYPES:
                self._notice(message)
            case _:
                told = self.roster.deliver(message)
                if isinstance(told, SeatFreed) and told.wallet is not None:
                    self.wallet = told.wallet
                if known is not None and told is not None:
                    known.keep(frame, told)

    def _notice(self, message: Message) -> None:
        """Act on what is told of no table, and hand it on. One that can't be read is passed over."""
        try:
            notice = decode_notice(message)
        except msgspec.ValidationError as error:
            log.warning("notice_unreadable", extra={"reason": str(error)})
            return
        match notice:
            case TokenExpiring() if self.identity.source is not None and not self._is_refreshing:
                self._is_refreshing = True  # one at a time, however often it is told
                self.tasks.start(self._refresh(), "punto-refresh")
            case _:
                pass
        if self._on_notice is not None:
            self._on_notice(notice)


def _is_final(error: PuntoError) -> bool:
    """Whether saying hello again can't help."""
    return isinstance(error, ProtocolMismatch) or (isinstance(error, Refused) and not error.retry)
