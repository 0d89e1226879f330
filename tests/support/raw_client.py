"""A client that knows nothing but the wire: a WebSocket library, msgpack and json, and the names in PROTOCOL.md.

Every call gets its own answer by `request_id`; whatever else comes is an event and goes to a list in order of arrival.
Nothing here imports `client_sdk`: what the wire says is judged by a stranger.
"""

import asyncio
import itertools
import json
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Final, Self
from urllib.parse import urlsplit

import msgpack
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

MSGPACK: Final = "punto.v1.msgpack"
JSON: Final = "punto.v1.json"
SUBPROTOCOLS: Final = (MSGPACK, JSON)
PATIENCE_S: Final = 30.0
TABLES: Final = ("four-deck-1", "punto-banco-1", "red-lounge-1", "royal-1", "stand-off-1")
PHASE_AFTER: Final = {
    "betting_opened": "betting",
    "betting_closed": "dealing",
    "round_decided": "settling",
    "table_idled": "idle",
    "table_paused": "paused",
    "table_resumed": "idle",
    "table_closed": "closed",
}
Message = dict[str, Any]


class CallRefused(Exception):
    """An `error` reply; `reply` is all of it."""

    def __init__(self, reply: Message) -> None:
        super().__init__(reply["name"], reply)
        self.reply = reply
        self.name: str = reply["name"]


class RawClient:
    """One connection of one patron."""

    def __init__(self, websocket: ClientConnection, *, is_text: bool) -> None:
        self.websocket = websocket
        self.is_text = is_text
        self.patron = ""
        self.token = ""
        self.wallet = 0
        self.log: list[Message] = []
        """Everything that came, replies too, in order of arrival."""
        self.events: list[Message] = []
        self.heard_at_s: list[float] = []
        """When the event of the same place in `events` came, by this machine's monotonic clock."""
        self.close_code: int | None = None
        self.round: dict[str, int] = {}
        """The round of each followed table, as far as it was told."""
        self.phase: dict[str, str] = {}
        self.incarnation: dict[str, str] = {}
        self.joined: set[str] = set()
        self._prefix = secrets.token_hex(3)
        self._numbers = itertools.count(1)
        self._answers: dict[str, asyncio.Future[Message]] = {}
        self._cursor = 0
        self._given_round: dict[str, int] = {}
        self._half_time_s: dict[str, float] = {}
        self._news = asyncio.Event()
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._reader = asyncio.create_task(self._read())

    # --- coming and going ---------------------------------------------------------------------------------------------

    @classmethod
    async def open(cls, url: str, subprotocol: str = MSGPACK, *, receive_bytes: int | None = None) -> Self:
        """Connect and say nothing yet. `receive_bytes` makes the socket's own buffer small, for a reader that is
        slow."""
        sock = None
        if receive_bytes is not None:
            address = urlsplit(url)
            sock = socket.socket()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
            sock.setblocking(False)
            await asyncio.get_running_loop().sock_connect(sock, (address.hostname, address.port))
        websocket = await connect(
            url,
            sock=sock,
            subprotocols=[Subprotocol(subprotocol)],
            compression=None,
            ping_interval=None,
            max_size=None,
            max_queue=4 if receive_bytes else 64,
            close_timeout=2,
            proxy=None,
        )
        assert websocket.subprotocol == subprotocol
        return cls(websocket, is_text=subprotocol == JSON)

    @classmethod
    async def arrive(
        cls,
        url: str,
        name: str = "Ann",
        *,
        token: str | None = None,
        subprotocol: str = MSGPACK,
        receive_bytes: int | None = None,
    ) -> Self:
        """Connect and say hello."""
        client = await cls.open(url, subprotocol, receive_bytes=receive_bytes)
        welcome = await client.call("hello", **({"name": name} if token is None else {"token": token}))
        client.patron, client.wallet = welcome["patron"], welcome["wallet"]
        client.token = welcome["token"] or token or ""
        return client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close properly; harmless on a closed one."""
        self._may_read.set()
        await self.websocket.close()
        await self._reader

    async def drop(self) -> None:
        """Be gone without a word, as a client that was killed."""
        self._may_read.set()
        self.websocket.transport.abort()
        await self._reader

    async def closed(self, timeout: float = PATIENCE_S) -> int | None:
        """Wait until the other side has ended the connection; returns its close code (1006: it just broke)."""
        await asyncio.wait_for(asyncio.shield(self._reader), timeout)
        return self.close_code

    # --- talking ------------------------------------------------------------------------------------------------------

    def request_id(self) -> str:
        """Make a new one."""
        return f"{self._prefix}-{next(self._numbers)}"

    async def send(self, message: Any) -> None:
        """Send any value as one message."""
        await self.websocket.send(json.dumps(message) if self.is_text else msgpack.packb(message))

    async def begin(self, kind: str, **fields: Any) -> asyncio.Future[Message]:
        """Send a request; the future gives its reply, good or bad."""
        request_id = fields.pop("request_id", None) or self.request_id()
        future: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._answers[request_id] = future
        try:
            await self.send({"type": kind, "request_id": request_id, **fields})
        except ConnectionClosed as closed:
            raise ConnectionError(str(closed)) from closed
        return future

    async def ask(self, kind: str, **fields: Any) -> Message:
        """Send a request and return its reply, good or bad. Raises ConnectionError where none can come any more."""
        answer = await self.begin(kind, **fields)
        async with asyncio.timeout(PATIENCE_S):  # `wait_for` of Python 3.11 may swallow a cancellation
            return await answer

    async def call(self, kind: str, **fields: Any) -> Message:
        """Send a request and return its good reply. Raises `CallRefused`, ConnectionError."""
        reply = await self.ask(kind, **fields)
        if reply["type"] == "error":
            raise CallRefused(reply)
        return reply

    async def join(self, table: str, buy_in: int = 0, **fields: Any) -> Message:
        """Sit down."""
        reply = await self.call("join", table=table, buy_in=buy_in, **fields)
        self.joined.add(table)
        return reply

    def carry_on_from(self, earlier: Self) -> None:
        """Know of the tables what an earlier connection knew, because this one has resumed there."""
        for known in ("round", "phase", "incarnation", "_half_time_s"):
            setattr(self, known, {**getattr(earlier, known), **getattr(self, known)})

    async def leave_everywhere(self) -> None:
        """Get up from every table and close, so that the next test finds them empty; nothing where the line is gone."""
        with suppress(CallRefused, ConnectionError):
            for table in self.joined:
                if (await self.call("leave", table=table))["after_round"]:
                    await self.until(partial(self.seen, "seat_freed", table=table))
        await self.close()

    async def place(self, table: str, spot: str, chip: int) -> Message:
        """Lay a chip in the round that was told last."""
        return await self.call("place", table=table, round=self.round[table], spot=spot, chip=chip)

    async def bet(self, table: str, spot: str, chip: int) -> int:
        """Lay a chip in the first round that takes it; returns its number."""
        while True:
            await self.until(lambda: self.phase.get(table) == "betting" and self._is_new_round(table))
            number = self._given_round[table] = self.round[table]
            try:
                await self.place(table, spot, chip)
            except CallRefused as refused:
                if refused.name not in ("BETTING_CLOSED", "ROUND_OVER"):
                    raise
            else:
                return number

    # --- listening ----------------------------------------------------------------------------------------------------

    async def until(self, holds: Callable[[], Any], timeout: float = PATIENCE_S, what: str = "") -> Any:
        """Wait until a condition on what came holds; returns its value. Fails where the connection ends before."""
        async with asyncio.timeout(timeout):
            while not (value := holds()):
                assert not self._reader.done(), f"the connection ended ({self.close_code}) before {what or 'that'}"
                self._news.clear()
                await self._news.wait()
        return value

    async def next(self, kind: str, timeout: float = PATIENCE_S, **fields: Any) -> Message:
        """Wait for the next event of a kind with these fields, behind the one that `next` returned last."""

        def found() -> Message | None:
            for place in range(self._cursor, len(self.events)):
                event = self.events[place]
                if event["type"] == kind and all(event.get(name) == value for name, value in fields.items()):
                    self._cursor = place + 1
                    return event
            return None

        try:
            event: Message = await self.until(found, timeout, kind)
        except TimeoutError:
            kinds = [event["type"] for event in self.events[self._cursor :]]
            raise AssertionError(f"no {kind} {fields} within {timeout} s; since then came {kinds[-40:]}") from None
        return event

    async def betting(self, table: str, timeout: float = PATIENCE_S) -> int:
        """Wait until bets are taken in a round that this has not returned yet, with half of the time still to come;
        returns its number."""

        def is_open() -> bool:
            is_new = self.phase.get(table) == "betting" and self._is_new_round(table)
            return is_new and time.monotonic() < self._half_time_s[table]

        await self.until(is_open, timeout, "betting_opened")
        self._given_round[table] = self.round[table]
        return self.round[table]

    def _is_new_round(self, table: str) -> bool:
        return self.round[table] > self._given_round.get(table, 0)

    async def betting_closed(self, table: str) -> None:
        """Wait until no more bets are taken, if they are."""
        await self.until(lambda: self.phase[table] != "betting", what="betting_closed")

    def skip(self) -> None:
        """Let `next` look only at what comes from now on."""
        self._cursor = len(self.events)

    def seen(self, kind: str, **fields: Any) -> list[Message]:
        """List the events of a kind with these fields."""
        return [
            event
            for event in self.events
            if event["type"] == kind and all(event.get(name) == value for name, value in fields.items())
        ]

    def numbered(self, table: str) -> list[Message]:
        """List a table's numbered events."""
        return [event for event in self.events if "seq" in event and event["table"] == table]

    def pause_reading(self) -> None:
        """Take nothing more from the socket."""
        self._may_read.clear()

    def go_on_reading(self) -> None:
        """Take from the socket again."""
        self._may_read.set()

    async def _read(self) -> None:
        try:
            while True:
                await self._may_read.wait()
                self._take(await self.websocket.recv())
        except ConnectionClosed as closed:
            self.close_code = closed.rcvd.code if closed.rcvd is not None else 1006
        finally:
            for future in self._answers.values():
                if not future.done():
                    future.set_exception(ConnectionError(f"closed with {self.close_code}"))
                    future.exception()  # whoever waits still sees it; nobody else needs to
            self._news.set()

    def _take(self, frame: str | bytes) -> None:
        assert isinstance(frame, str) is self.is_text, "each subprotocol has its own kind of frame"
        message: Message = json.loads(frame) if isinstance(frame, str) else msgpack.unpackb(frame)
        self.log.append(message)
        if message["type"] in ("ok", "error"):
            answer = self._answers.pop(message["request_id"], None)
            assert answer is not None, f"an answer that nobody asked for: {message}"
            self._note(message.get("snapshot"))
            if not answer.done():
                answer.set_result(message)
        else:
            self.events.append(message)
            self.heard_at_s.append(time.monotonic())
            self._note(message.get("snapshot"))
            if "round" in message and message["type"] in PHASE_AFTER:
                self.round[message["table"]] = message["round"]
                self.phase[message["table"]] = PHASE_AFTER[message["type"]]
            if message["type"] == "betting_opened":
                self._note_half_time(message, message["opened_at_ms"])
        self._news.set()

    def _note(self, snapshot: Message | None) -> None:
        if snapshot is not None:
            self.round[snapshot["table"]] = snapshot["round"]
            self.phase[snapshot["table"]] = snapshot["phase"]
            if snapshot["phase"] == "betting":
                self._note_half_time(snapshot, snapshot["at_ms"])
            self.incarnation[snapshot["table"]] = snapshot["incarnation"]

    def _note_half_time(self, opened: Message, now_ms: int) -> None:
        half_time_ms = (opened["opened_at_ms"] + opened["closes_at_ms"]) / 2
        self._half_time_s[opened["table"]] = time.monotonic() + (half_time_ms - now_ms) / 1000


def assert_gapless(events: Iterable[Message], after: int) -> None:
    """Numbered events follow `after` and each other one by one."""
    seqs = [event["seq"] for event in events]
    assert seqs == list(range(after + 1, after + 1 + len(seqs)))
