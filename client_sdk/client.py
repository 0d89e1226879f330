"""A patron's client: connect, look around, sit down.

    async with connect("ws://127.0.0.1:8765", name="alice") as client:
        table = await client.join("royal-1", buy_in=100_00)
        async for event in table:
            if isinstance(event, messages.BettingOpened):
                await table.place(Spot.BANKER, 5_00)

Behind it a session keeps one connection, comes back when it drops, and resumes every table where it was. This module
only names things; it must never touch the wire. Read next: `table` for what can be done there, `session` for how.
"""

from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Final, Literal, Self

from client_sdk.calls import fresh_request_id
from client_sdk.clock import ClockSample
from client_sdk.cuts import keep_cutting
from client_sdk.exceptions import Disconnected, ProtocolMismatch, PuntoError
from client_sdk.follower import Follower, seated_view, watched_view
from client_sdk.game.proofs import RevealedShoe
from client_sdk.judge import recall_shoe
from client_sdk.known import KnownEvents
from client_sdk.pages import Pages
from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from client_sdk.protocol.messages import (
    AnyNotice,
    FinishedRound,
    History,
    HistoryPage,
    Join,
    Limits,
    LimitsNow,
    ListTables,
    PlayedRound,
    Rounds,
    RoundsPage,
    SetLimits,
    Statement,
    StatementLine,
    StatementPage,
    TablesPage,
    TableSummary,
    TableView,
    Watch,
    Watching,
    Welcome,
)
from client_sdk.session import Identity, Session, TokenSource
from client_sdk.settings import DEFAULTS, Settings
from client_sdk.table import Table
from client_sdk.timekeeper import keep_clock, ping

CodecName = Literal["msgpack", "json"]
_CODECS: Final[dict[str, Codec]] = {"msgpack": MSGPACK, "json": JSON}


class Client:
    """One patron, at any number of tables. `connect` makes it; `close` ends it for good."""

    def __init__(self, session: Session, *, buy_in: int = 0) -> None:
        self._session = session
        self._buy_in = buy_in
        self._tables: dict[str, Table] = {}

    def __repr__(self) -> str:
        welcome, session = self._session.welcome, self._session
        who = "nobody yet" if welcome is None else f"{welcome.name!r} {welcome.patron}"
        where = "connected" if self.is_connected else "closed" if session.desk.error is not None else "away"
        return f"<Client {who} {where} tables={len(session.roster.followers)} waiting={len(session.desk.calls)}>"

    # --- who and where ---

    @property
    def patron(self) -> str:
        """The public id of the patron."""
        return self._welcome.patron

    @property
    def name(self) -> str:
        """The display name, as the server has it."""
        return self._welcome.name

    @property
    def token(self) -> str | None:
        """The identity to come back with: keep it secret, pass it to the next `connect`."""
        return self._session.identity.token

    @property
    def role(self) -> str:
        """What the token allows: patron, spectator or operator."""
        return self._welcome.role

    @property
    def wallet(self) -> int:
        """What the wallet held when the server last told, in minor units; stacks at tables are not in it."""
        return self._session.wallet

    @property
    def currency(self) -> str:
        """The code of the installation's currency."""
        return self._welcome.currency

    @property
    def exponent(self) -> int:
        """How many decimal places a minor unit stands for."""
        return self._welcome.exponent

    @property
    def server(self) -> str:
        """What the server calls itself."""
        return self._welcome.server

    @property
    def is_connected(self) -> bool:
        """Whether there is a welcomed connection at this moment."""
        return self._session.desk.has_line

    @property
    def reconnects(self) -> int:
        """How often it was away and is back."""
        return max(0, self._session.welcomes - 1)

    @property
    def connected_since_ms(self) -> float:
        """When the newest welcome came, on the monotonic clock of this process."""
        return self._session.welcomed_ms

    @property
    def error(self) -> PuntoError | None:
        """What ended the client; None while it lives."""
        return self._session.desk.error

    @property
    def tables(self) -> dict[str, Table]:
        """The tables that are followed, by id."""
        return {table: self._tables[table] for table in self._session.roster.followers}

    # --- what to do ---

    async def list_tables(self) -> list[TableSummary]:
        """Return the whole lobby, in the order of table ids."""
        tables: list[TableSummary] = []
        for _ in range(self._session.settings.pages_max):
            after = tables[-1].table if tables else None
            page = await self._session.desk.ask(ListTables(request_id=fresh_request_id(), after=after), TablesPage)
            tables += page.tables
            if not page.more:
                return tables
            if not page.tables:
                raise ProtocolMismatch("a page with tables", "an empty one that promises more")
        raise ProtocolMismatch(f"at most {self._session.settings.pages_max} pages of tables", "more")

    async def watch(self, table: str) -> Table:
        """Follow a table; one that is followed already, seated or not, is returned as it is."""
        followed = self.tables.get(table)
        if followed is not None:
            return followed
        await self._session.desk.ask(Watch(request_id=fresh_request_id(), table=table), Watching, self._watching)
        return await self._ready_table(table)

    async def join(self, table: str, *, buy_in: int | None = None) -> Table:
        """Sit down with `buy_in` minor units from the wallet (by default what `connect` was told) and follow the table.

        Where this client sits already it adds chips; where another connection of the patron sits, it takes the seat
        over.
        """
        follower = self._session.roster.followers.get(table)
        request = Join(
            request_id=fresh_request_id(),
            table=table,
            buy_in=self._buy_in if buy_in is None else buy_in,
            incarnation=None if follower is None else follower.mirror.incarnation,
            seq=None if follower is None else follower.mirror.seq,
        )
        await self._session.desk.ask(request, Watching, self._joined)
        return await self._ready_table(table)

    def statement(self, *, page_lines: int = 50) -> Pages[StatementPage, StatementLine]:
        """Read every movement of the patron's own money, the newest first.

        The wallet's lines are there at once, a table's when its round has ended: `complete_to` of a page tells how far.
        """

        async def ask(before: str | None) -> StatementPage:
            request = Statement(request_id=fresh_request_id(), before=before, limit=page_lines)
            return await self._session.desk.ask(request, StatementPage)

        return Pages(ask, lambda page: page.lines, self._session.settings.pages_max)

    def history(self, *, page_rounds: int = 20) -> Pages[HistoryPage, PlayedRound]:
        """Read the rounds in which the patron had bets, at any table, the newest first."""

        async def ask(before: str | None) -> HistoryPage:
            request = History(request_id=fresh_request_id(), before=before, limit=page_rounds)
            return await self._session.desk.ask(request, HistoryPage)

        return Pages(ask, lambda page: page.rounds, self._session.settings.pages_max)

    def rounds(
        self, table: str, *, before_round: int | None = None, page_rounds: int = 20
    ) -> Pages[RoundsPage, FinishedRound]:
        """Read the finished rounds of a table, whoever played them, the newest first, or those before a round.

        `client_sdk.game.replay` deals one again, card by card.
        """
        newest = None if before_round is None else str(before_round)

        async def ask(before: str | None) -> RoundsPage:
            request = Rounds(request_id=fresh_request_id(), table=table, before=before or newest, limit=page_rounds)
            return await self._session.desk.ask(request, RoundsPage)

        return Pages(ask, lambda page: page.rounds, self._session.settings.pages_max)

    async def limits(self) -> LimitsNow:
        """Ask for the patron's own limits, and how much of them is used."""
        return await self._session.desk.ask(Limits(request_id=fresh_request_id()), LimitsNow)

    async def set_limits(
        self,
        *,
        stake_per_day: int | None = None,
        loss_per_day: int | None = None,
        session_ms: int | None = None,
        reminder_ms: int | None = None,
        exclude_ms: int | None = None,
    ) -> LimitsNow:
        """Change the patron's own limits at every table: None leaves one as it is, 0 takes it away.

        What is stricter holds at once, what is looser after the house's time to think it over. An exclusion is never
        shortened. `on_notice` of `connect` gets the reminders.
        """
        request = SetLimits(
            request_id=fresh_request_id(),
            stake_per_day=stake_per_day,
            loss_per_day=loss_per_day,
            session_ms=session_ms,
            reminder_ms=reminder_ms,
            exclude_ms=exclude_ms,
        )
        return await self._session.desk.ask(request, LimitsNow)

    async def recall_shoe(self, table: str, shoe: int | None = None) -> RevealedShoe:
        """Read all that was told of a shoe that has ended, by default the table's last one. The newest few are kept.

        `client_sdk.game.proofs.verify_shoe` checks it, `client_sdk.game.shoe_file` keeps it in a file. What was told
        before its cards has to be compared by somebody who was there.
        """
        return await recall_shoe(self._session.desk, table, shoe)

    async def ping(self, table: str | None = None) -> ClockSample:
        """Measure the way to the server and back; with a followed table its clock gets better by it."""
        return await ping(self._session, table)

    def drop(self) -> None:
        """Cut the connection as a network may, to see what becomes of it; the client comes back by itself."""
        self._session.drop_line()

    async def read_nothing(self, pause_ms: float) -> None:
        """Leave unread for so long what comes on the connection of now, as a client may that is too slow."""
        await self._session.read_nothing(pause_ms)

    async def open(self) -> Self:
        """Connect for the first time; `connect` does it. Raises what `connect` raises."""
        await self._session.open()
        return self

    async def close(self) -> None:
        """End the client: nothing is tried again, whatever waits gets ClientClosed, readers stop.

        Seats stay for the tables' grace time; `leave` first to give them up.
        """
        await self._session.close()

    # --- inside ---

    @property
    def _welcome(self) -> Welcome:
        welcome = self._session.welcome
        if welcome is None:
            raise Disconnected("no server has welcomed this client yet")
        return welcome

    async def _ready_table(self, table: str) -> Table:
        """Return the handle once its clock is known, so that the time left can be asked for at once."""
        handle = self._tables[table]
        if not handle.clock.is_known:
            await ping(self._session, table)
        return handle

    def _watching(self, reply: Watching) -> None:
        follower = self._session.roster.followers.get(reply.table)
        if follower is None:
            self._follow(watched_view(reply))
        else:
            follower.accept_watch(reply)

    def _joined(self, reply: Watching) -> None:
        if reply.wallet is not None:
            self._session.wallet = reply.wallet
        follower = self._session.roster.followers.get(reply.table)
        if follower is None:
            self._follow(seated_view(reply))
        else:
            follower.accept_seat(reply)

    def _follow(self, view: TableView) -> None:
        session = self._session
        limits = session.settings
        follower = Follower(view, events_max=limits.inbox_events_max, verifies=limits.verifies)
        self._tables = {**self.tables, view.table: Table(session, follower)}
        session.roster.add(follower)
        session.tasks.start(keep_clock(session, follower), f"punto-clock {view.table}")
        if limits.cuts:
            session.tasks.start(keep_cutting(session, follower), f"punto-cut {view.table}")


class Connecting:
    """A client on its way: await it, or enter it as an asynchronous context."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def __await__(self) -> Generator[Any, None, Client]:
        """Connect."""
        return self._client.open().__await__()

    async def __aenter__(self) -> Client:
        """Connect."""
        return await self._client.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the client."""
        await self._client.close()

    async def close(self) -> None:
        """End the client, also while it connects."""
        await self._client.close()


def connect(
    url: str,
    *,
    name: str | None = None,
    token: str | TokenSource | None = None,
    on_notice: Callable[[AnyNotice], None] | None = None,
    codec: CodecName = "msgpack",
    bot: bool = False,
    buy_in: int = 0,
    settings: Settings = DEFAULTS,
    known: KnownEvents | None = None,
) -> Connecting:
    """Connect to a server: `client = await connect(url)` or `async with connect(url) as client`.

    With a `token` as its patron; without one as a new guest called `name`, where the house admits guests. Where tokens
    expire, `token` is an async function that gives one that holds: it is asked before each hello, and when the present
    one is about to end. `on_notice` is called with what is told of no table, and must not wait. `buy_in` is what `join`
    to a table where it is not told, in minor units. A server that is down is tried for `settings.connect_ms`. Many
    clients in one process may share the events that they have `known`: each is decoded once, and nobody may change it.

    Raises Unreachable, IdentityRefused (TokenRefused, NameRefused), ProtocolMismatch or Disconnected.
    """
    source = token if callable(token) else None
    identity = Identity(name=name, token=None if callable(token) else token, bot=bot, source=source)
    return Connecting(Client(Session(url, _CODECS[codec], identity, settings, on_notice, known), buy_in=buy_in))
