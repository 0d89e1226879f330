"""The numbers a client meets when something is refused: error codes in replies, close codes on the socket.

A number is never reused and never changes its meaning. The range says whose fault it was and what helps, so a client
that meets a number it does not know still does the right thing. `PROTOCOL.md` prints both tables; a test keeps them
equal.
"""

from enum import IntEnum
from typing import Final


class ErrorCode(IntEnum):
    """Codes of `error` replies; the second value is the sentence for people."""

    text: str

    def __new__(cls, number: int, text: str) -> "ErrorCode":
        """Keep the sentence beside the number."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.text = text
        return member

    # 1000-1999: the message itself was wrong. Mend the client; sending it again will not help.
    NOT_DECODABLE = 1001, "the frame does not hold one well-formed message"
    NOT_A_MESSAGE = 1002, "a message is a map with text keys, each at most once"
    UNKNOWN_TYPE = 1003, "no such message type"
    BAD_FIELD = 1004, "a field is missing, unknown or of the wrong type"
    BAD_AMOUNT = 1005, "an amount is a positive whole number of minor units below 2^53"
    WRONG_FRAME = 1006, "this subprotocol uses the other kind of WebSocket frame"
    HELLO_FIRST = 1010, "the first message must be hello"
    HELLO_TWICE = 1011, "hello was already said on this connection"
    REQUEST_REUSED = 1012, "this request_id was already used for something else"
    # 2000-2099: the table or the seat does not allow it.
    UNKNOWN_TABLE = 2001, "no such table"
    NOT_WATCHING = 2002, "this connection does not follow that table"
    NOT_SEATED = 2003, "you have no seat at this table"
    SEAT_TAKEN_OVER = 2004, "this connection does not hold the seat; join to take it"
    TABLE_FULL = 2005, "every seat at this table is taken"
    INSUFFICIENT_WALLET = 2006, "your wallet does not hold that much"
    TOO_MANY_TABLES = 2007, "this connection follows as many tables as it may"
    TABLE_CLOSED = 2008, "nobody can sit down at this table any more"
    EXCLUDED = 2009, "you are excluded from play for now"
    UNKNOWN_SHOE = 2010, "the table tells nothing of that shoe, not yet or not any more"
    # 2100-2199: the rules refuse the act; nothing changed.
    ROUND_OVER = 2101, "that round is not the one being bet on"
    BETTING_CLOSED = 2102, "betting was closed when your act arrived"
    TOO_MANY_ACTS = 2103, "you have made as many acts in this round as one seat may"
    SPOT_FORBIDDEN = 2110, "this house has no such spot"
    CHIP_UNKNOWN = 2111, "this table has no such chip"
    SPOTS_CONFLICT = 2112, "this house does not allow bets on both of these spots"
    ABOVE_MAXIMUM = 2113, "the sum on the spot would lie above its maximum"
    BELOW_MINIMUM = 2114, "the sum on the spot would lie below the minimum"
    INSUFFICIENT_STACK = 2115, "your stack does not hold that much"
    NOTHING_TO_UNDO = 2116, "there is nothing there to take back"
    NOTHING_TO_DOUBLE = 2117, "there is no bet to double"
    NOTHING_TO_REBET = 2118, "there is no earlier round of yours to repeat"
    LAYOUT_NOT_EMPTY = 2119, "bets already lie on the layout"
    TABLE_MAXIMUM = 2120, "the whole table would hold more on the spot than it takes"
    STAKE_LIMIT = 2121, "you would stake more today than your limit lets you"
    LOSS_LIMIT = 2122, "you could lose more today than your limit lets you"
    SESSION_OVER = 2123, "the time that you wanted to play is over; take a break"
    SHOE_OVER = 2130, "that shoe is not the open one"
    ALREADY_CUT = 2131, "you have put another cut into this shoe"
    CUTS_CLOSED = 2132, "this shoe takes no more cuts"
    TOO_MANY_CUTS = 2133, "this shoe holds as many cuts as it may"
    # 3000-3999: who you are.
    TOKEN_REFUSED = 3001, "the token is not valid"
    NAME_REFUSED = 3002, "a name needs 1 to 24 visible characters"
    TOKEN_EXPIRED = 3003, "the token has expired; come with a fresh one"
    TOKEN_REVOKED = 3004, "the token was revoked"
    ROLE_FORBIDS = 3005, "the role of this token does not allow that"
    ORIGIN_REFUSED = 3006, "pages of that origin may not connect"
    # 4000-4999: not now. Send the same request_id again after a pause; it is decided once.
    STORE_AWAY = 4001, "the table's store can't be reached; try again"
    BUSY = 4002, "too much is waiting there already; try again"
    UNCONFIRMED = 4003, "it was decided, but is not safe against the loss of a server yet; ask again"
    TOO_MANY_CONNECTIONS = 4004, "as many connections as may be are open; try again"
    TOO_FAST = 4005, "too many requests in too short a time; try again"
    # 5000-5999: our fault, and logged as such.
    INTERNAL = 5001, "the server failed; ask what holds now before you try again"

    @property
    def is_retryable(self) -> bool:
        """Whether the same request under the same request_id may be sent again."""
        return 4000 <= self < 5000


class CloseCode(IntEnum):
    """Close codes of our own, beside those of RFC 6455 (1000 done, 1001 going away, 1009 message too big, 1011 no
    pong)."""

    text: str

    def __new__(cls, number: int, text: str) -> "CloseCode":
        """Keep the sentence beside the number."""
        member = int.__new__(cls, number)
        member._value_ = number
        member.text = text
        return member

    # 4000-4099: come back at once, with jitter.
    GOING_AWAY = 4000, "the node is leaving; another one has your table"
    SLOW_READER = 4001, "the connection did not read what was sent in time"
    # 4100-4199: the client did something wrong; a person should look before it comes back.
    TOO_MANY_ERRORS = 4100, "too many messages could not be read"
    HELLO_TIMEOUT = 4101, "no hello came in time"
    TOO_FAST = 4102, "far too many requests in too short a time"
    # 4200-4299: identity; coming back with the same token will not help.
    TOKEN_REFUSED = 4200, "too many refused tokens"
    TOKEN_EXPIRED = 4201, "the token has expired"
    TOKEN_REVOKED = 4202, "the token was revoked"


RECONNECTABLE_RANGE: Final = range(4000, 4100)
"""Close codes of ours after which a client comes back by itself."""


def may_reconnect(close_code: int | None) -> bool:
    """Say whether a client should come back by itself after this close code (None: the line just dropped)."""
    if close_code is None:
        return True
    if 4000 <= close_code < 5000:
        return close_code in RECONNECTABLE_RANGE
    return close_code in (1001, 1005, 1006, 1011, 1012, 1013)
