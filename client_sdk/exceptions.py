"""Everything that the SDK raises for other reasons than a mistake of the caller's own.

    PuntoError
     ├─ Refused                         the server answered, and the answer is no; nothing was changed
     │   ├─ MessageRefused              1xxx: the message itself was wrong
     │   │    NotDecodable, NotAMessage, UnknownType, BadField, BadAmount, WrongFrame, HelloFirst, HelloTwice,
     │   │    RequestReused
     │   ├─ TableRefused                20xx: the table or the seat does not allow it
     │   │    UnknownTable, NotWatching, NotSeated, SeatTakenOver, TableFull,
     │   │    InsufficientWallet, TooManyTables, TableClosed, Excluded, UnknownShoe
     │   ├─ ActRefused                  21xx: the rules refuse the act
     │   │    RoundOver, BettingClosed, TooManyActs, SpotForbidden, ChipUnknown, SpotsConflict, AboveMaximum,
     │   │    BelowMinimum, InsufficientStack, NothingToUndo, NothingToDouble, NothingToRebet, LayoutNotEmpty,
     │   │    TableMaximum, StakeLimit, LossLimit, SessionOver, ShoeOver, AlreadyCut, CutsClosed, TooManyCuts
     │   ├─ IdentityRefused             3xxx: who you are
     │   │    TokenRefused, NameRefused, TokenExpired, TokenRevoked, RoleForbids, OriginRefused
     │   ├─ NotNow                      4xxx: sent again for as long as the call may last, and still not now
     │   │    StoreAway, Busy, Unconfirmed, TooManyConnections, TooFast
     │   └─ ServerFailed                5xxx: the server's own fault
     │        Internal
     ├─ TimedOut (and TimeoutError)     the request was sent, no answer came in time: it may have been decided
     ├─ Disconnected                    there is no connection: the request was never sent, or none will come back
     ├─ Unreachable                     the first connection could not be made
     ├─ ClientClosed                    the client was closed by its owner
     ├─ TokenUnavailable                the caller's own source of tokens gave none
     ├─ ProtocolMismatch                the server speaks something else than this client
     ├─ TooMuchWaiting                  too many requests wait for an answer already
     ├─ ClockUnknown                    no answer to a ping yet, so the table's time is not known
     ├─ RoundDisputed                   a round does not follow from its cards
     ├─ ShoeDisputed                    what a table told of a shoe does not fit together
     └─ ClientFailed                    a fault of the SDK itself

A code that this version does not know gives the class of its range. Constructors take data, `__str__` makes the
sentence, and a token is in neither: these end in logs. Read next: `client_sdk.protocol.errors` for the numbers.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, Final

from client_sdk.game.proofs import ProofFailed
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import Error


class PuntoError(Exception):
    """Whatever goes wrong between a client and its tables."""


# --- the server said no ----------------------------------------------------------------------------------------------


class Refused(PuntoError):
    """An `error` reply. `retry` tells that the same request may be sent again under its request_id.

    A late act carries when it arrived and when betting had closed, in milliseconds on the table's clock.
    """

    CODE: ClassVar[ErrorCode | None] = None

    def __init__(
        self,
        code: int,
        name: str,
        message: str,
        retry: bool = False,
        field: str | None = None,
        arrived_at_ms: int | None = None,
        closed_at_ms: int | None = None,
    ) -> None:
        super().__init__(code, name, message, retry, field, arrived_at_ms, closed_at_ms)
        self.code = code
        self.name = name
        self.message = message
        self.retry = retry
        self.field = field
        self.arrived_at_ms = arrived_at_ms
        self.closed_at_ms = closed_at_ms

    def __str__(self) -> str:
        place = f" ({self.field})" if self.field is not None else ""
        late = f", {self.late_ms} ms late" if self.late_ms is not None and self.late_ms >= 0 else ""
        return f"{self.message}{place}{late} [{self.code} {self.name}]"

    @property
    def late_ms(self) -> int | None:
        """How long after the close the act arrived; None where the refusal does not tell."""
        if self.arrived_at_ms is None or self.closed_at_ms is None:
            return None
        return self.arrived_at_ms - self.closed_at_ms


class MessageRefused(Refused):
    """The message itself was wrong; sending it again will not help."""


class TableRefused(Refused):
    """The table or the seat does not allow it."""


class ActRefused(Refused):
    """The rules refuse the act."""


class IdentityRefused(Refused):
    """The server does not take you for who you say you are."""


class NotNow(Refused):
    """The server could not decide now, and did not until the call's own deadline."""


class ServerFailed(Refused):
    """The server's own fault."""


class NotDecodable(MessageRefused):
    """The frame did not hold one well-formed message."""

    CODE = ErrorCode.NOT_DECODABLE


class NotAMessage(MessageRefused):
    """The frame held something else than a map with text keys."""

    CODE = ErrorCode.NOT_A_MESSAGE


class UnknownType(MessageRefused):
    """The server knows no such request."""

    CODE = ErrorCode.UNKNOWN_TYPE


class BadField(MessageRefused):
    """A field is missing, unknown or of the wrong type; `field` names it."""

    CODE = ErrorCode.BAD_FIELD


class BadAmount(MessageRefused):
    """An amount is no positive whole number of minor units below 2^53."""

    CODE = ErrorCode.BAD_AMOUNT


class WrongFrame(MessageRefused):
    """The subprotocol uses the other kind of frame."""

    CODE = ErrorCode.WRONG_FRAME


class HelloFirst(MessageRefused):
    """A request came before hello."""

    CODE = ErrorCode.HELLO_FIRST


class HelloTwice(MessageRefused):
    """Hello was said before on this connection."""

    CODE = ErrorCode.HELLO_TWICE


class RequestReused(MessageRefused):
    """The request_id was used for something else before."""

    CODE = ErrorCode.REQUEST_REUSED


class UnknownTable(TableRefused):
    """There is no such table."""

    CODE = ErrorCode.UNKNOWN_TABLE


class NotWatching(TableRefused):
    """This connection does not follow the table."""

    CODE = ErrorCode.NOT_WATCHING


class NotSeated(TableRefused):
    """The patron has no seat at the table."""

    CODE = ErrorCode.NOT_SEATED


class SeatTakenOver(TableRefused):
    """Another connection of the same patron holds the seat now."""

    CODE = ErrorCode.SEAT_TAKEN_OVER


class TableFull(TableRefused):
    """Every seat is taken."""

    CODE = ErrorCode.TABLE_FULL


class InsufficientWallet(TableRefused):
    """The wallet does not hold the buy-in."""

    CODE = ErrorCode.INSUFFICIENT_WALLET


class TooManyTables(TableRefused):
    """This connection follows as many tables as it may."""

    CODE = ErrorCode.TOO_MANY_TABLES


class TableClosed(TableRefused):
    """The house lets nobody sit down there: the table is closed, or closes when the last seat is free."""

    CODE = ErrorCode.TABLE_CLOSED


class UnknownShoe(TableRefused):
    """The table tells nothing of that shoe: its cuts are not frozen, it has not ended, or it is kept no longer."""

    CODE = ErrorCode.UNKNOWN_SHOE


class Excluded(TableRefused):
    """The patron, or the house, has excluded the patron from play for now."""

    CODE = ErrorCode.EXCLUDED


class StakeLimit(ActRefused):
    """The patron's limit on stakes in a day would be passed."""

    CODE = ErrorCode.STAKE_LIMIT


class LossLimit(ActRefused):
    """The patron's limit on losses in a day could be passed."""

    CODE = ErrorCode.LOSS_LIMIT


class SessionOver(ActRefused):
    """The time that the patron wanted to play is over, and the break behind it is not."""

    CODE = ErrorCode.SESSION_OVER


class RoundOver(ActRefused):
    """The act named another round than the one that is bet on."""

    CODE = ErrorCode.ROUND_OVER


class BettingClosed(ActRefused):
    """The act arrived after no more bets; `late_ms` tells by how much."""

    CODE = ErrorCode.BETTING_CLOSED


class TooManyActs(ActRefused):
    """The seat has made as many acts in this round as it may."""

    CODE = ErrorCode.TOO_MANY_ACTS


class SpotForbidden(ActRefused):
    """The house has no such spot."""

    CODE = ErrorCode.SPOT_FORBIDDEN


class ChipUnknown(ActRefused):
    """The table has no such chip."""

    CODE = ErrorCode.CHIP_UNKNOWN


class SpotsConflict(ActRefused):
    """The house does not allow bets on both spots."""

    CODE = ErrorCode.SPOTS_CONFLICT


class AboveMaximum(ActRefused):
    """The sum on the spot would lie above its maximum."""

    CODE = ErrorCode.ABOVE_MAXIMUM


class BelowMinimum(ActRefused):
    """The sum on the spot would lie below the minimum."""

    CODE = ErrorCode.BELOW_MINIMUM


class InsufficientStack(ActRefused):
    """The stack does not hold that much."""

    CODE = ErrorCode.INSUFFICIENT_STACK


class NothingToUndo(ActRefused):
    """There is nothing there to take back."""

    CODE = ErrorCode.NOTHING_TO_UNDO


class NothingToDouble(ActRefused):
    """No bet lies on the layout."""

    CODE = ErrorCode.NOTHING_TO_DOUBLE


class NothingToRebet(ActRefused):
    """The patron played no earlier round here."""

    CODE = ErrorCode.NOTHING_TO_REBET


class LayoutNotEmpty(ActRefused):
    """Bets already lie on the layout."""

    CODE = ErrorCode.LAYOUT_NOT_EMPTY


class TableMaximum(ActRefused):
    """All seats together would have more on the spot than the table takes."""

    CODE = ErrorCode.TABLE_MAXIMUM


class ShoeOver(ActRefused):
    """The cut named another shoe than the open one."""

    CODE = ErrorCode.SHOE_OVER


class AlreadyCut(ActRefused):
    """The patron has put another cut into this shoe."""

    CODE = ErrorCode.ALREADY_CUT


class CutsClosed(ActRefused):
    """The shoe's first betting has closed, or its cards were prepared: it takes no cuts."""

    CODE = ErrorCode.CUTS_CLOSED


class TooManyCuts(ActRefused):
    """The shoe holds as many cuts as it may."""

    CODE = ErrorCode.TOO_MANY_CUTS


class TokenRefused(IdentityRefused):
    """The token is not valid."""

    CODE = ErrorCode.TOKEN_REFUSED


class NameRefused(IdentityRefused):
    """The name has no visible characters, or too many."""

    CODE = ErrorCode.NAME_REFUSED


class TokenExpired(IdentityRefused):
    """The token was good once: come with a fresh one."""

    CODE = ErrorCode.TOKEN_EXPIRED


class TokenRevoked(IdentityRefused):
    """The token was good, and was ended early."""

    CODE = ErrorCode.TOKEN_REVOKED


class RoleForbids(IdentityRefused):
    """The role of the token (spectator, operator) does not allow that."""

    CODE = ErrorCode.ROLE_FORBIDS


class OriginRefused(IdentityRefused):
    """The house does not admit pages of that origin."""

    CODE = ErrorCode.ORIGIN_REFUSED


class StoreAway(NotNow):
    """The table's store can't be reached."""

    CODE = ErrorCode.STORE_AWAY


class Busy(NotNow):
    """Too much waits for this table."""

    CODE = ErrorCode.BUSY


class Unconfirmed(NotNow):
    """The node is leaving."""

    CODE = ErrorCode.UNCONFIRMED


class TooManyConnections(NotNow):
    """The patron, the address or the node has as many connections as may be."""

    CODE = ErrorCode.TOO_MANY_CONNECTIONS


class TooFast(NotNow):
    """The patron, the address or the node asks too much in too short a time."""

    CODE = ErrorCode.TOO_FAST


class Internal(ServerFailed):
    """The server failed; nothing was changed by this request."""

    CODE = ErrorCode.INTERNAL


_RANGES: Final = (
    (range(1000, 2000), MessageRefused),
    (range(2000, 2100), TableRefused),
    (range(2100, 2200), ActRefused),
    (range(3000, 4000), IdentityRefused),
    (range(4000, 5000), NotNow),
    (range(5000, 6000), ServerFailed),
)

REFUSALS: Final[Mapping[int, type[Refused]]] = MappingProxyType(
    {kind.CODE: kind for _, family in _RANGES for kind in family.__subclasses__() if kind.CODE is not None}
)
"""The class of each code."""


def refusal_class(code: int) -> type[Refused]:
    """Return the class of a code: its own, else that of its range, else `Refused`."""
    known = REFUSALS.get(code)
    if known is not None:
        return known
    return next((family for codes, family in _RANGES if code in codes), Refused)


def refusal_of(error: Error) -> Refused:
    """Turn an `error` reply into the exception to raise."""
    kind = refusal_class(error.code)
    retry = error.retry or error.code in range(4000, 5000)  # the range promises it, whatever this version knows
    return kind(error.code, error.name, error.message, retry, error.field, error.arrived_at_ms, error.closed_at_ms)


# --- no answer --------------------------------------------------------------------------------------------------------


class TimedOut(PuntoError, TimeoutError):
    """No answer came within `waited_ms`. The request was sent, so it may have been decided: ask for the state."""

    def __init__(self, request: str, waited_ms: int) -> None:
        super().__init__(request, waited_ms)
        self.request = request
        self.waited_ms = waited_ms

    def __str__(self) -> str:
        return f"no answer to {self.request} within {self.waited_ms} ms; it may have been decided"


class Disconnected(PuntoError):
    """There is no connection. `close_code` is that of the last one, None where it just dropped or was never there."""

    def __init__(self, reason: str, close_code: int | None = None) -> None:
        super().__init__(reason, close_code)
        self.reason = reason
        self.close_code = close_code

    def __str__(self) -> str:
        code = f" [close code {self.close_code}]" if self.close_code is not None else ""
        return f"not connected: {self.reason}{code}"


class Unreachable(PuntoError):
    """The first connection could not be made within `waited_ms`. `server` is scheme, host and port, nothing more."""

    def __init__(self, server: str, waited_ms: int, reason: str) -> None:
        super().__init__(server, waited_ms, reason)
        self.server = server
        self.waited_ms = waited_ms
        self.reason = reason

    def __str__(self) -> str:
        return f"cannot reach {self.server} within {self.waited_ms} ms: {self.reason}"


class ClientClosed(PuntoError):
    """The client was closed by its owner while this waited, or before it was asked."""

    def __str__(self) -> str:
        return "the client is closed"


class TokenUnavailable(PuntoError):
    """The source of tokens that `connect` was given raised something; `reason` is only its kind."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return f"no token could be had: {self.reason}"


class ProtocolMismatch(PuntoError):
    """The server speaks something else than this client: update one of them."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected, found)
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        return f"this client and the server do not fit: expected {self.expected}, found {self.found}; please update"


class TooMuchWaiting(PuntoError):
    """As many requests as may wait for an answer wait already; this one was not sent."""

    def __init__(self, calls_max: int) -> None:
        super().__init__(calls_max)
        self.calls_max = calls_max

    def __str__(self) -> str:
        return f"{self.calls_max} requests wait for an answer already"


class ClockUnknown(PuntoError):
    """No ping of this table was answered yet."""

    def __str__(self) -> str:
        return "the table's clock is not known before its first ping was answered"


class RoundDisputed(PuntoError):
    """A round does not follow from its cards, or was not paid as the rules say; `mismatches` tells where."""

    def __init__(self, table: str, round: int, mismatches: Sequence[str]) -> None:
        super().__init__(table, round, tuple(mismatches))
        self.table = table
        self.round = round
        self.mismatches = tuple(mismatches)

    def __str__(self) -> str:
        return f"round {self.round} of {self.table} does not add up: {'; '.join(self.mismatches)}"


class ShoeDisputed(PuntoError):
    """What a table told of a shoe does not fit together: `proof` names the first difference."""

    def __init__(self, table: str, proof: ProofFailed) -> None:
        super().__init__(table, proof)
        self.table = table
        self.proof = proof

    def __str__(self) -> str:
        return f"the shoe of {self.table} does not hold: {self.proof}"


class ClientFailed(PuntoError):
    """A fault of the SDK itself ended the client; the cause is chained and was logged."""

    def __str__(self) -> str:
        return "the client failed by a fault of its own"
