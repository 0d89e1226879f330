"""Who follows a table on this node, and how much each has had of the line of its public messages.

They are written some followers at a time, with everybody else's work in between, and whoever is reached late gets all
that it lacks in one write: so messages that come together cost little more than one, and thousands of seats hold nobody
else up.
"""

import asyncio
import sys
from collections.abc import Callable, Collection, KeysView
from typing import Final, Protocol

import msgpack

from client_sdk.protocol.codec import JSON, MSGPACK, Codec
from server.outlet import Outlet, framed_payload

FOLLOWERS_A_TURN: Final = 250
"""Written to in a row, in a millisecond or two; then the node's other work has its turn."""
_NOTHING: Final = sys.maxsize
"""The place in the line of a follower that is written nothing: it is passed over, or gone."""


class Listener(Protocol):
    """What a table's audience needs of a connection."""

    id: str
    patron: str
    outlet: Outlet


class Frames:
    """One public message, framed at most once for each codec."""

    def __init__(self, packed: bytes) -> None:
        self._packed = packed
        self._framed: dict[str, bytes] = {}

    def of(self, codec: Codec) -> bytes:
        """The bytes for the sockets of this codec."""
        frame = self._framed.get(codec.subprotocol)
        if frame is None:
            payload = self._packed if codec is MSGPACK else JSON.encode(msgpack.unpackb(self._packed))
            frame = self._framed[codec.subprotocol] = framed_payload(codec, payload)
        return frame


class _Follower:
    """A listener, and how much of the line it has had."""

    __slots__ = ("at", "lacking", "listener", "offer")

    def __init__(self, listener: Listener, at: int, lacking: dict[int, bytes]) -> None:
        self.listener = listener
        self.offer = listener.outlet.offer
        self.at = at
        self.lacking = lacking


class Audience:
    """The followers of one table. `is_full` is told who does not take what is written, and is passed over from then
    on."""

    def __init__(self, is_full: Callable[[Listener], None]) -> None:
        self._is_full = is_full
        self._followers: dict[Listener, _Follower] = {}
        self._line: list[Frames] = []
        """Messages that some followers have not had yet; `_line_end` counts all that ever stood in it."""
        self._line_end = 0
        self._lacking: dict[Codec, dict[int, bytes]] = {}
        """By codec and place in the line, the bytes that bring a follower level."""
        self._to_reach: list[_Follower] = []
        self._level_after = 0
        """Where the line ended when the present way round the followers began."""
        self._is_writing = False

    def __repr__(self) -> str:
        return f"<Audience followers={len(self._followers)} line={len(self._line)}>"

    @property
    def followers(self) -> KeysView[Listener]:
        """All of them, those passed over too."""
        return self._followers.keys()

    @property
    def is_at_rest(self) -> bool:
        """Whether nobody lacks anything that can be written to it."""
        return not self._is_writing and not self._line

    def let_in(self, listener: Listener) -> None:
        """Let a listener follow, from the end of the line on."""
        self.let_go(listener)
        lacking = self._lacking.setdefault(listener.outlet.codec, {})
        self._followers[listener] = _Follower(listener, self._line_end, lacking)

    def let_go(self, listener: Listener) -> None:
        """Write nothing more to a listener, and forget it."""
        if (follower := self._followers.pop(listener, None)) is not None:
            follower.at = _NOTHING

    def pass_over(self, listener: Listener) -> bool:
        """Write nothing more to a follower until it is let in anew; False where it is none."""
        if (follower := self._followers.get(listener)) is None:
            return False
        follower.at = _NOTHING
        return True

    def framed(self, packed: bytes) -> Frames:
        """Frame a message for every codec that is followed in: what can't be read fails here, and nothing is done."""
        frames = Frames(packed)
        for codec in self._lacking:
            frames.of(codec)
        return frames

    def tell(self, frames: Frames, known_to: Collection[Listener] = ()) -> None:
        """Put a message at the end of the line; `known_to` followers have had it."""
        for listener in known_to:
            self.bring_level(listener)
        self._line.append(frames)
        self._line_end += 1
        for lacking in self._lacking.values():
            lacking.clear()
        for listener in known_to:
            follower = self._followers[listener]
            follower.at = max(follower.at, self._line_end)
        if not self._is_writing:
            self._is_writing = True
            self._go_round()

    def bring_level(self, listener: Listener) -> None:
        """Write to a follower now what it lacks, before something that is for it alone."""
        if (follower := self._followers.get(listener)) is not None:
            self._bring_level(follower)

    def _go_round(self) -> None:
        """Begin with the first follower again."""
        self._to_reach = list(self._followers.values())
        self._to_reach.reverse()
        self._level_after = self._line_end
        asyncio.get_running_loop().call_soon(self._write_some)

    def _write_some(self) -> None:
        """Bring some followers level, and let the loop call again for the others."""
        line_end, some = self._line_end, self._to_reach[-FOLLOWERS_A_TURN:]
        del self._to_reach[-FOLLOWERS_A_TURN:]
        at, lacking, frames = _NOTHING, None, b""  # most lack the same: it is looked up once for all of them
        for follower in reversed(some):
            if follower.at >= line_end:
                continue
            if follower.at != at or follower.lacking is not lacking:
                at, lacking = follower.at, follower.lacking
                frames = self._frames_for(follower)
            if follower.offer(frames):
                follower.at = line_end
            else:
                self._is_behind(follower)
        if self._to_reach:
            asyncio.get_running_loop().call_soon(self._write_some)
            return
        del self._line[: len(self._line) - (line_end - self._level_after)]
        if self._line:  # more has come meanwhile
            self._go_round()
        else:
            self._is_writing = False

    def _bring_level(self, follower: _Follower) -> None:
        """Write all that it lacks at once; one whose outlet is full gets nothing."""
        if follower.at >= self._line_end:
            return
        if follower.offer(self._frames_for(follower)):
            follower.at = self._line_end
        else:
            self._is_behind(follower)

    def _frames_for(self, follower: _Follower) -> bytes:
        """Give the bytes of all that a follower lacks."""
        frames = follower.lacking.get(follower.at)
        if frames is None:
            codec = follower.listener.outlet.codec
            frames = b"".join(each.of(codec) for each in self._line[follower.at - self._line_end :])
            follower.lacking[follower.at] = frames
        return frames

    def _is_behind(self, follower: _Follower) -> None:
        follower.at = _NOTHING
        self._is_full(follower.listener)
