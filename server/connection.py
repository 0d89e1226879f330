"""One socket: frames become requests, requests become calls, and every request gets exactly one answer.

Requests of a connection are taken in order. Acts do not wait for each other's answers (they travel in batches),
anything else waits for the acts before it. Who a patron is comes from `hello` alone, never from a field of a later
message.
"""

import asyncio
import logging
from importlib.metadata import version
from typing import Final, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed

from client_sdk.protocol.codec import BadMessage, Codec, decode_request
from client_sdk.protocol.errors import CloseCode, ErrorCode
from client_sdk.protocol.messages import (
    PROTOCOL_VERSION,
    Act,
    AnyRequest,
    Cut,
    CutAccepted,
    Error,
    Hello,
    History,
    Join,
    Leave,
    Left,
    Limits,
    Ping,
    Pong,
    Refresh,
    Refreshed,
    Reply,
    SetLimits,
    Statement,
    TokenExpiring,
    Unwatch,
    Watch,
    Watching,
    Welcome,
)
from server.auth import Admission, Identity, IdentityRefused, Role
from server.batcher import Batcher, Busy
from server.cashier import Cashier, Sitter
from server.clock import StoreClock
from server.desk import Desk
from server.doors import Doors
from server.expiry import Expiry
from server.hub import Hub
from server.metrics import count_answer
from server.outlet import Outlet
from server.pacing import PAGE, Pace
from server.pages import READERS, Pages
from server.patron_limits import PatronLimits
from server.places import Places
from server.reminders import Reminders
from server.replies import error_of, error_reply, limits_now, line_of
from server.store import limits as book
from server.store.errors import Refused, StoreError
from server.store.tables import Tables
from server.table_clocks import TableClocks

log = logging.getLogger(__name__)

SERVER: Final = f"punto/{version('punto')}"
NO_PONG: Final = 1011
"""RFC 6455's close code for what stands in the server's way; libraries end a silent line with it."""
BY_THEIR_FAULT: Final = frozenset(
    {CloseCode.TOO_MANY_ERRORS, CloseCode.HELLO_TIMEOUT, CloseCode.TOO_FAST, CloseCode.TOKEN_REFUSED}
)
"""Nothing more is read from a socket that is closed with one of these."""
BAD_MESSAGES_MAX: Final = 8
BAD_TOKENS_MAX: Final = 3
TABLES_FOLLOWED_MAX: Final = 32
TOO_FAST_MAX: Final = 50
"""So many more requests refused as too fast than taken, and the connection is closed."""
REQUESTS_AT_ONCE: Final = 200
REQUEST_WAIT_MS_MAX: Final = 3_000
"""So many requests of a node that ask the store are carried out at once; the next ones wait before they begin. A join
is half a dozen calls: where thousands had begun, each call waited for its place, all gave up in the middle and asked
again, and in the end none succeeded. So few that no call waits for long, and so many that a store which hangs does not
hold up the requests to others."""
ANSWER_ONLY: Final = frozenset({*READERS, Ping, Watch})
"""Requests that change nothing: of no use to a line that is gone."""


class House(Protocol):
    """What a connection needs of its node."""

    node_id: str
    currency: str
    exponent: int
    tables: Tables
    clocks: TableClocks
    cashier: Cashier
    admission: Admission
    token_leeway_ms: int
    pages: Pages
    hub: Hub
    clock: StoreClock
    doors: Doors
    counter: Places
    """Where requests are served (`REQUESTS_AT_ONCE`)."""
    limits: PatronLimits
    reminders: Reminders

    def batcher(self, table: str) -> Batcher:
        """Give the queue of acts of a table."""
        ...


class Connection:
    """A patron's socket from hello to its end. Hashable by identity; `id` is unique over all nodes."""

    def __init__(
        self, websocket: ServerConnection, codec: Codec, house: House, connection_id: str, address: str = ""
    ) -> None:
        self.id = connection_id
        self.patron = ""
        self._counted_patron = ""
        """Whose connections it counts among; '' before the hello, and when its line is gone."""
        self.outlet = Outlet(websocket, codec, house.doors.limits.outbox_bytes_max)
        self._address = address
        self._websocket = websocket
        self._codec = codec
        self._house = house
        self.identity: Identity | None = None
        self._expiry = Expiry()
        self._followed: set[str] = set()
        self._asked_for_seat: set[str] = set()
        self._desk = Desk(self.outlet)
        self._is_listening = False
        """Whether nothing that came before waits to be taken, so that an act may be taken where it arrives."""
        self._is_ended = False
        self._bad_messages = 0
        self._bad_tokens = 0
        self._too_fast = 0
        self._pace = Pace()

    def __repr__(self) -> str:
        return f"<Connection {self.id} patron={self.patron or '-'} tables={len(self._followed)}>"

    async def run(self) -> None:
        """Serve the socket until it ends, then let its tables know."""
        try:
            async with asyncio.timeout(self._house.doors.limits.hello_ms / 1000) as hello_timeout:
                while not self._is_ended:  # what a peer has sent behind our close is not taken any more
                    self._is_listening = True
                    frame = await self._websocket.recv()
                    self._is_listening = False
                    await self._take(frame)
                    if self.identity is not None:
                        hello_timeout.reschedule(None)
                    await self.outlet.until_taken()  # who does not read is not listened to either
            await self.close(CloseCode.GOING_AWAY)  # unless it was closed for another reason before
        except TimeoutError:
            await self.close(CloseCode.HELLO_TIMEOUT)
        except ConnectionClosed:
            pass
        finally:
            self._expiry.cancel()
            self._house.reminders.forget(self)
            for table in self._followed | self._asked_for_seat:
                self._let_go(table)

    def _let_go(self, table: str) -> None:
        self._house.hub.detach(self, table, asked_for_seat=table in self._asked_for_seat)
        self._followed.discard(table)
        self._asked_for_seat.discard(table)

    def count_no_more(self) -> None:
        """Stand in the way of no other line of the same patron: this one is gone, whatever is under way on it."""
        patron, self._counted_patron = self._counted_patron, ""
        if patron:
            self._house.doors.dismiss_patron(patron)

    async def close(self, code: CloseCode) -> None:
        """End the socket with one of our codes."""
        if code is not CloseCode.GOING_AWAY:
            self._house.doors.count(code.name)
        self._is_ended = True
        if code in BY_THEIR_FAULT:
            self.outlet.close_soon(code, code.text, listens=False)
            await self._websocket.wait_closed()
        else:
            await self._websocket.close(code, code.text)

    def cut(self) -> None:
        """End the socket of a peer that does not read: it is told why, if it reads again in time."""
        self._close_soon(CloseCode.SLOW_READER)

    def end_silent(self) -> None:
        """End the socket of a peer that has answered no ping."""
        if not self.outlet.is_closing:
            log.info("line_silent", extra={"patron": self.patron, "connection": self.id})
            self._is_ended = True
            self.outlet.close_soon(NO_PONG, "no pong came in time")

    def end_revoked(self) -> None:
        """End the socket of somebody whose token was revoked."""
        log.info("token_revoked", extra={"patron": self.patron, "connection": self.id})
        self._close_soon(CloseCode.TOKEN_REVOKED)

    def _close_soon(self, code: CloseCode) -> None:
        self._is_ended = True
        self.outlet.close_soon(code, code.text)

    def end(self) -> None:
        """Take no more requests: the node leaves. The gateway closes the socket."""
        self._is_ended = True

    # --- one frame ----------------------------------------------------------------------------------------------------

    def hear(self, frame: bytes | str) -> bool:
        """Take an act where it arrives, without a turn of this connection's task: that is most of what an act costs.
        False where the frame has to go the ordinary way, as everything behind it then has."""
        if not self._is_listening or self._is_ended or self.identity is None:
            return False
        if self._desk.is_full or self.outlet.is_full:
            return False
        try:
            request = decode_request(self._codec, frame)
        except BadMessage:
            return False
        if not isinstance(request, Act) or not self._pace.hears() or not self._may_ask():
            return False
        self._submit(request)
        return True

    def wait_in_line(self) -> None:
        """Hear nothing more where it arrives until the task has taken what came before."""
        self._is_listening = False

    def _may_ask(self) -> bool:
        asker = self.id if self.identity is None else self.identity.patron
        is_taken = self._house.doors.may_ask(asker, self._address)
        if is_taken and self._too_fast:
            self._too_fast -= 1
        return is_taken

    async def _take(self, frame: bytes | str) -> None:
        try:
            request = decode_request(self._codec, frame)
        except BadMessage as bad:
            await self._refuse_bad(bad)
            return
        if type(request) in ANSWER_ONLY and not self.outlet.is_open:
            return  # a thousand lines that are gone would go on asking for as long as their queues last
        await self._pace.keep(PAGE if type(request) in READERS else 1)
        if not self._may_ask():
            await self._refuse_fast(request)
            return
        if isinstance(request, Act):
            self._submit(request)
            await self._desk.until_room()
            return
        await self._desk.until_empty()
        if not _asks_store(request):
            await self._serve(request)
        elif await self._house.counter.take():
            try:
                await self._serve(request)
            finally:
                self._house.counter.leave()
        else:
            self._reply(request, error_reply(request.request_id, ErrorCode.BUSY))

    async def _serve(self, request: AnyRequest) -> None:
        """Carry a request out and answer it, whatever comes of it."""
        try:
            reply = await self._answer(request)
        except IdentityRefused as refused:
            await self._refuse_identity(request, refused.code)
        except (Refused, StoreError) as error:
            self._reply(request, error_of(request.request_id, error))
        except Exception:
            log.exception("request_failed", extra={"patron": self.patron, "type": type(request).__name__})
            self._reply(request, error_reply(request.request_id, ErrorCode.INTERNAL))
        else:
            self._reply(request, reply)

    def _reply(self, request: AnyRequest | Act | None, reply: Reply | Error | None) -> None:
        """Write the answer to a request (None: it was written already) and count it."""
        if reply is not None:
            self.outlet.send(reply)
        kind = type(request).__name__.lower() if request is not None else "unreadable"
        count_answer(kind, reply.name if isinstance(reply, Error) else "ok", is_act=isinstance(request, Act))

    async def _refuse_bad(self, bad: BadMessage) -> None:
        self._reply(None, error_reply(bad.request_id, bad.code, bad.field))
        self._bad_messages += 1
        if self._bad_messages >= BAD_MESSAGES_MAX:
            await self._desk.until_empty()  # what was good before still has its answer coming
            await self.close(CloseCode.TOO_MANY_ERRORS)

    async def _refuse_fast(self, request: AnyRequest) -> None:
        """Refuse a request of somebody who asks too much in too short a time, and close on who goes on and on."""
        self._house.doors.count(ErrorCode.TOO_FAST)
        self._reply(request, error_reply(request.request_id, ErrorCode.TOO_FAST))
        self._too_fast += 1
        if self._too_fast >= TOO_FAST_MAX:
            log.info("flood_closed", extra={"patron": self.patron, "connection": self.id})
            await self.close(CloseCode.TOO_FAST)

    async def _refuse_identity(self, request: AnyRequest, code: ErrorCode) -> None:
        self._reply(request, error_reply(request.request_id, code))
        self._bad_tokens += code is not ErrorCode.NAME_REFUSED
        if self._bad_tokens >= BAD_TOKENS_MAX:
            await self.close(CloseCode.TOKEN_REFUSED)

    async def _answer(self, request: AnyRequest) -> Reply | Error | None:
        """Carry a request out. None: the answer was written already."""
        match request:
            case Hello():
                return await self._hello(request)
            case _ if self.identity is None:
                return error_reply(request.request_id, ErrorCode.HELLO_FIRST)
            case Refresh():
                return await self._refresh(request, self.identity)
            case Join() | Leave() | Cut() | Statement() | History() | Limits() | SetLimits() if (
                self.identity.role is not Role.PATRON
            ):
                return error_reply(request.request_id, ErrorCode.ROLE_FORBIDS)
            case Watch():
                return await self._watch(request)
            case Unwatch():
                return self._unwatch(request)
            case Join():
                return await self._join(request)
            case Leave():
                return await self._leave(request)
            case Cut():
                return await self._cut(request)
            case Limits() | SetLimits():
                return await self._limits(request)
            case Ping():
                return await self._ping(request)
            case _:
                assert type(request) in READERS, "acts are submitted, not answered"
                return await self._house.pages.answer(request, self.patron, lambda: self.outlet.is_open)

    # --- requests -----------------------------------------------------------------------------------------------------

    async def _hello(self, request: Hello) -> Reply | Error:
        if self.identity is not None:
            return error_reply(request.request_id, ErrorCode.HELLO_TWICE)
        if request.token is None and not self._house.doors.admit_guest(self._address):
            self._house.doors.count(ErrorCode.TOO_FAST)
            return error_reply(request.request_id, ErrorCode.TOO_FAST)
        identity = await self._house.admission.admit(request.name, request.token, request.bot)
        wallet = identity.wallet
        if identity.open_buy_ins and await self._house.cashier.carry_all_in_of(identity.patron):
            wallet = await self._house.cashier.balance(identity.patron)
        if not self._house.doors.admit_patron(identity.patron):
            self._house.doors.count(ErrorCode.TOO_MANY_CONNECTIONS)
            return error_reply(request.request_id, ErrorCode.TOO_MANY_CONNECTIONS)
        self._counted_patron = identity.patron
        # Who only looks on has no seat to be shown, not even the one that the same id has as a patron.
        self.identity, self.patron = identity, identity.patron if identity.role is Role.PATRON else ""
        self._keep_until(identity.expires_at_ms)
        if identity.has_limits:
            await self._remember_limits()
        log.debug("hello", extra={"patron": identity.patron, "connection": self.id, "client": repr(request.client)})
        return Welcome(
            request_id=request.request_id,
            protocol=PROTOCOL_VERSION,
            server=SERVER,
            patron=identity.patron,
            name=identity.name,
            token=identity.token,
            wallet=wallet,
            currency=self._house.currency,
            exponent=self._house.exponent,
            at_ms=self._house.clock.now_ms(),
            role=identity.role.value,
            expires_at_ms=identity.expires_at_ms,
        )

    async def _refresh(self, request: Refresh, identity: Identity) -> Reply:
        """Go on with a fresh token. Raises `IdentityRefused`, also for somebody else's."""
        fresh = await self._house.admission.admit(None, request.token, identity.bot)
        if not fresh.is_same_as(identity):
            raise IdentityRefused(ErrorCode.TOKEN_REFUSED)
        self.identity = fresh
        self._keep_until(fresh.expires_at_ms)
        return Refreshed(request_id=request.request_id, expires_at_ms=fresh.expires_at_ms)

    def _keep_until(self, expires_at_ms: int | None) -> None:
        self._expiry.set(
            expires_at_ms,
            self._house.clock.now_ms(),
            self._house.token_leeway_ms,
            tell=self._tell_expiring,
            end=self._end_expired,
        )

    def _tell_expiring(self, expires_at_ms: int) -> None:
        self.outlet.send(TokenExpiring(expires_at_ms=expires_at_ms))

    def _end_expired(self) -> None:
        log.info("token_expired", extra={"patron": self.patron, "connection": self.id})
        self._close_soon(CloseCode.TOKEN_EXPIRED)

    async def _watch(self, request: Watch) -> Reply | Error | None:
        if self._is_full_of_tables(request.table):
            return error_reply(request.request_id, ErrorCode.TOO_MANY_TABLES)
        await self._follow(request, is_seated=False, wallet=None)
        return None

    def _unwatch(self, request: Unwatch) -> Reply:
        self._let_go(request.table)
        return Left(request_id=request.request_id, table=request.table)

    async def _join(self, request: Join) -> Reply | Error | None:
        assert self.identity is not None, "hello comes first"
        if self._is_full_of_tables(request.table):
            return error_reply(request.request_id, ErrorCode.TOO_MANY_TABLES)
        if not self._house.hub.knows(request.table):
            await self._house.tables.view(request.table, None, 0)  # refuses an unknown table before money moves
        who = self.identity
        sitter = Sitter(who.patron, who.name, who.bot, self._house.node_id, self.id)
        self._asked_for_seat.add(request.table)
        await self._house.hub.keep_seat(self, request.table)
        seated = await self._house.cashier.sit_down(
            request.table, sitter, request.request_id, request.buy_in, take_back=request.take_back
        )
        if not seated.is_seated:
            return error_reply(request.request_id, ErrorCode.TABLE_FULL)
        self._followed.add(request.table)
        if seated.purse.limits_version:
            await self._house.limits.impose(self.patron, request.table)  # after the chips, before any bet with them
        await self._follow(request, is_seated=True, wallet=seated.purse.balance)
        return None

    async def _follow(self, request: Watch | Join, *, is_seated: bool, wallet: int | None) -> None:
        """Write the reply, then let the events flow; nothing may come between the two."""
        resumed, row, start = await self._house.hub.attach(
            self,
            request.table,
            request.incarnation,
            request.seq,
            is_seated or self._house.hub.holds_seat(self, request.table),
        )
        self._followed.add(request.table)
        self.outlet.send(
            Watching(
                request_id=request.request_id,
                table=request.table,
                resumed=resumed,
                snapshot=None if resumed else row.view,
                you=row.view.you,
                wallet=wallet,
            )
        )
        start()

    async def _leave(self, request: Leave) -> Reply:
        wallet = await self._house.cashier.get_up(request.table, self.patron, self.id, request_id=request.request_id)
        if wallet is not None:
            self._house.hub.give_up_seat(self, request.table)
            self._asked_for_seat.discard(request.table)
        return Left(request_id=request.request_id, table=request.table, after_round=wallet is None, wallet=wallet)

    async def _cut(self, request: Cut) -> Reply | Error:
        if request.table not in self._followed:
            return error_reply(request.request_id, ErrorCode.NOT_WATCHING)
        taken = await self._house.tables.cut(
            request.table, self.patron, self.id, request.shoe, bytes.fromhex(request.cut)
        )
        return CutAccepted(
            request_id=request.request_id,
            table=request.table,
            shoe=request.shoe,
            number=taken.number,
            accepted_at_ms=taken.accepted_at_ms,
        )

    async def _remember_limits(self) -> None:
        """Find out at the hello whether the patron wants to be reminded of the time."""
        self._house.reminders.set(self, (await self._house.limits.peek(self.patron)).reminder_ms)

    async def _limits(self, request: Limits | SetLimits) -> Reply:
        if isinstance(request, Limits):
            now = await self._house.limits.read(self.patron)
        else:
            until_ms = None
            if request.exclude_ms:
                until_ms = (await self._house.limits.peek(self.patron)).now_ms + request.exclude_ms
            wanted = book.Wanted(
                request.stake_per_day, request.loss_per_day, request.session_ms, request.reminder_ms, until_ms
            )
            now = await self._house.limits.set(self.patron, "own", wanted)
            if request.reminder_ms is not None:
                self._house.reminders.set(self, now.reminder_ms)
        return limits_now(request.request_id, now)

    async def _ping(self, request: Ping) -> Reply:
        if request.table is not None:
            at_ms = await self._house.clocks.at_ms(request.table)
        else:
            at_ms = self._house.clock.now_ms()
        return Pong(request_id=request.request_id, at_ms=at_ms)

    def _is_full_of_tables(self, table: str) -> bool:
        return table not in self._followed and len(self._followed) >= TABLES_FOLLOWED_MAX

    # --- acts ---------------------------------------------------------------------------------------------------------

    def _submit(self, act: Act) -> None:
        """Send an act on its way; its answer is written when the store has decided."""
        if self.identity is None:
            self._reply(act, error_reply(act.request_id, ErrorCode.HELLO_FIRST))
            return
        if self.identity.role is not Role.PATRON:
            self._reply(act, error_reply(act.request_id, ErrorCode.ROLE_FORBIDS))
            return
        if act.table not in self._followed:
            self._reply(act, error_reply(act.request_id, ErrorCode.NOT_WATCHING))
            return
        try:
            self._house.batcher(act.table).submit(line_of(act, self.patron, self.id), act, self._desk)
        except Busy:
            self._reply(act, error_reply(act.request_id, ErrorCode.BUSY))
        else:
            self._desk.expect()


def _asks_store(request: AnyRequest) -> bool:
    """Whether a request is served at the counter. Pages have their own places, and a ping is one call of the store at
    most: it tells whether that answers."""
    match request:
        case Unwatch() | Ping():
            return False
        case _:
            return type(request) not in READERS
