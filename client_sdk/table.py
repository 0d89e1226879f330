"""A table in the hands of a client's author: what is seen, what happens, and the acts.

An asynchronous iterator of typed events: numbered ones once each and in order, the own private ones in their place,
and a `Snapshot` wherever the numbers could not be followed. The mirror may be ahead of the event in hand: it is what
the server last said, an event is what happened then. It must never guess: an act shows there once it was accepted.
"""

from typing import TypedDict

from msgspec.structs import replace

from client_sdk.calls import fresh_request_id
from client_sdk.clock import TableClock
from client_sdk.cuts import fresh_cut, put_cut
from client_sdk.desk import now_ms
from client_sdk.exceptions import Disconnected, NotWatching
from client_sdk.follower import Follower
from client_sdk.game.fairness import Cut
from client_sdk.game.variants import Spot
from client_sdk.inbox import Inbox
from client_sdk.judge import list_cuts
from client_sdk.mirror import TableMirror
from client_sdk.protocol.messages import (
    CUT_BYTES_MAX,
    CUT_BYTES_MIN,
    AnyAct,
    AnyEvent,
    Clear,
    CutAccepted,
    Double,
    Leave,
    Left,
    Place,
    Ready,
    Rebet,
    Receipt,
    Undo,
    Unwatch,
)
from client_sdk.session import Session


class _Naming(TypedDict):
    """What every act says beside itself."""

    request_id: str
    table: str
    round: int


class Table:
    """A followed table; `client.watch` and `client.join` make it.

    Every act returns the receipt of what then lies on the spots, or raises `Refused` as the table decided it,
    `TimedOut` where no answer came (the act may have been taken) or `Disconnected` where it could not be sent. An act
    names the round that the mirror shows as it is made, unless `round` names another: made while offline, it waits and
    is refused when that round is over. Nothing is ever laid in a later round.
    """

    def __init__(self, session: Session, follower: Follower) -> None:
        self._session = session
        self._follower = follower
        self._inbox = follower.subscribe()

    def __repr__(self) -> str:
        mirror = self.mirror
        return (
            f"<Table {self.id} {mirror.phase} round={mirror.round} seq={mirror.seq} seated={self.is_seated}"
            f" waiting={self.waiting} unread={len(self._inbox)}>"
        )

    # --- what is seen ---

    @property
    def id(self) -> str:
        """The table's id."""
        return self._follower.table

    @property
    def mirror(self) -> TableMirror:
        """What the server last said of the table."""
        return self._follower.mirror

    @property
    def clock(self) -> TableClock:
        """The table's clock, kept by pings."""
        return self._follower.clock

    @property
    def is_seated(self) -> bool:
        """Whether this client holds the patron's seat here."""
        return self.mirror.you is not None

    @property
    def is_followed(self) -> bool:
        """Whether the present connection follows the table; False while offline, and after `unwatch`."""
        return self._follower.is_attached

    @property
    def gaps(self) -> int:
        """How often an event came before one that it follows; what was missing was asked for each time."""
        return self._follower.gaps

    @property
    def patron(self) -> str:
        """Our own public id."""
        return self._session.patron or ""

    def shoe_to_cut(self) -> int | None:
        """Return the number of the open shoe where it takes cuts, as far as the mirror tells, and none of ours is in
        it."""
        return self._follower.shoe_to_cut()

    @property
    def waiting(self) -> int:
        """How many requests about this table wait for their answer: what they hope for is not in the mirror."""
        return self._session.desk.calls.about(self.id)

    def remaining_ms(self) -> int:
        """Return how long bets are taken yet in the round in view; 0 outside betting. Raises ClockUnknown."""
        if self.mirror.phase != "betting":
            return 0
        return self.clock.remaining_ms(self.mirror.closes_at_ms, now_ms())

    # --- what happens ---

    def __aiter__(self) -> "Table":
        """Read the events since the table was joined or watched, or since the last read."""
        return self

    async def __anext__(self) -> AnyEvent:
        """Return the next event. Raises what ended the table, or StopAsyncIteration after `unwatch` or `close`."""
        return await anext(self._inbox)

    def subscribe(self) -> Inbox:
        """Open one more reader, for the events from now on; each reader gets every event. End it by `unsubscribe`."""
        return self._follower.subscribe()

    def unsubscribe(self, inbox: Inbox) -> None:
        """End one reader; all others go on."""
        self._follower.unsubscribe(inbox)

    # --- acts ---

    async def place(self, spot: Spot, chip: int, *, round: int | None = None) -> Receipt:
        """Lay one chip on a spot; `chip` is an amount in minor units."""
        return await self._act(Place(**self._naming(round), spot=spot, chip=chip))

    async def undo(self, spot: Spot | None = None, *, round: int | None = None) -> Receipt:
        """Take back the newest chip of `spot`, or without a spot the last act whole."""
        return await self._act(Undo(**self._naming(round), spot=spot))

    async def clear(self, *, round: int | None = None) -> Receipt:
        """Take all bets back."""
        return await self._act(Clear(**self._naming(round)))

    async def rebet(self, *, round: int | None = None) -> Receipt:
        """Lay the bets of the last round played, all or nothing, on an empty layout."""
        return await self._act(Rebet(**self._naming(round)))

    async def double(self, *, round: int | None = None) -> Receipt:
        """Lay again what lies on every spot, all or nothing."""
        return await self._act(Double(**self._naming(round)))

    async def ready(self, *, round: int | None = None) -> Receipt:
        """Ask for the cards; a later act takes it back."""
        return await self._act(Ready(**self._naming(round)))

    async def cut(self, cut: bytes | None = None, *, shoe: int | None = None) -> CutAccepted:
        """Put a cut of 8 to 32 bytes into the open shoe, random ones for None; once, until its first betting closes.

        Where `Settings.cuts` is left on, the client does it by itself some moments after the shoe was opened, unless
        you come first. Raises what an act raises, and ValueError for a cut of another length.
        """
        chosen = fresh_cut() if cut is None else bytes(cut)
        if not CUT_BYTES_MIN <= len(chosen) <= CUT_BYTES_MAX:
            raise ValueError(f"a cut has {CUT_BYTES_MIN} to {CUT_BYTES_MAX} bytes, not {len(chosen)}")
        view = self.mirror.shoe
        number = shoe if shoe is not None else 0 if view is None else view.number
        return await put_cut(self._session, self._follower, number, chosen)

    async def list_cuts(self, shoe: int) -> list[Cut]:
        """Read the cuts of a shoe, once its first betting has closed: (patron's id, cut), in the order of their
        acceptance."""
        return await list_cuts(self._session.desk, self.id, shoe)

    async def leave(self) -> Left:
        """Give up the seat, at once or after the round where bets lie, and go on watching.

        Made while offline, it takes the seat again only to give it up. Once this has returned or raised, no new
        connection takes the seat again: where there was no answer, the table frees it after its grace time.
        """
        try:
            return await self._session.desk.ask(Leave(request_id=fresh_request_id(), table=self.id), Left, self._left)
        finally:
            self._follower.wants_seat = False

    async def unwatch(self) -> None:
        """Follow the table no longer: readers stop, and a seat held here counts as away from now on."""
        session = self._session
        session.roster.drop(self._follower)
        if not session.desk.has_line:
            return  # the server forgot the connection, and with it who watched
        try:
            await session.desk.ask(Unwatch(request_id=fresh_request_id(), table=self.id), Left)
        except (NotWatching, Disconnected):
            pass  # the connection broke on the way, with the same effect

    def _naming(self, round: int | None) -> _Naming:
        named = self.mirror.round if round is None else round
        return _Naming(request_id=fresh_request_id(), table=self.id, round=named)

    async def _act(self, act: AnyAct) -> Receipt:
        return await self._session.desk.ask(act, Receipt, self.mirror.apply_receipt)

    def _left(self, left: Left) -> None:
        if left.wallet is not None:
            self._session.wallet = left.wallet
        you = self.mirror.you
        self.mirror.renew_seat(replace(you, leaving=True) if left.after_round and you is not None else None)
