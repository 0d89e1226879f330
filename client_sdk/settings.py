"""The timeouts and limits of a client, each named once; what happens when one is reached stands beside it.

Durations are in milliseconds. Read next: `client`, which takes them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How long a client waits, how much it keeps."""

    connect_ms: int = 10_000
    """Until the first welcome, all attempts together; then `Unreachable`."""
    dial_ms: int = 8_000
    """One attempt: the connection with its handshake, and again the welcome; then the next attempt."""
    call_ms: int = 10_000
    """One request, resent or not; then `TimedOut`, or `Disconnected` where it could never be sent."""
    close_ms: int = 2_000
    """The closing handshake; then the connection is aborted."""
    ping_interval_ms: int = 5_000
    """Between two keepalive pings of the connection."""
    ping_timeout_ms: int = 10_000
    """Until a pong; then the line counts as lost."""
    reconnect_ms_min: int = 50
    """The shortest pause before a new attempt."""
    reconnect_ms_first: int = 250
    """The longest pause before the first attempt after a drop; each further one may take twice as long."""
    reconnect_ms_max: int = 5_000
    """The longest pause before any attempt."""
    stable_ms: int = 1_000
    """A line that lived this long makes the next drop count as the first again."""
    retry_ms_min: int = 20
    """The shortest pause before a request that met a "not now" is sent again."""
    retry_ms_first: int = 100
    """The longest pause before its first repetition; each further one may take twice as long."""
    retry_ms_max: int = 1_000
    """The longest pause before any repetition."""
    clock_ms: int = 20_000
    """Between two pings that keep a table's clock."""
    calls_max: int = 1_024
    """Requests without an answer; the next one raises `TooMuchWaiting`."""
    inbox_events_max: int = 4_096
    """Events that a table keeps for its reader; further ones are replaced by one fresh snapshot."""
    message_bytes_max: int = 2**20
    """One message of the server; a larger one drops the line."""
    outbox_bytes_max: int = 2**20
    """What waits for a server that does not take it; more drops the line."""
    pages_max: int = 1_000
    """Pages of the lobby, of a statement or a history that are followed; a longer one raises `ProtocolMismatch`."""
    verifies: bool = True
    """Check every round by the proofs of its cards and every shoe by its secret; what does not fit ends the table with
    `ShoeDisputed`."""
    cuts: bool = True
    """Put a cut of random bytes into each shoe for which this client is seated in time, unless it has put in one."""
    cuts_checked_max: int = 1_000
    """Cuts of a shoe that are asked for to check it whole; of one with more only its rounds are checked."""


DEFAULTS = Settings()
