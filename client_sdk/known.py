"""Public events by the bytes that brought them: clients of one process need not each decode what all of them get.

Equal bytes are one event, so whoever gets a frame that another client has read already takes the same object. Only
events that are the same for everybody are kept, the newest ones. Pure.
"""

from collections import OrderedDict
from typing import Final, get_args

from client_sdk.protocol.codec import Frame
from client_sdk.protocol.messages import AnyEvent, AnyNumbered, Crowd

FRAMES_MAX: Final = 2_048
"""The oldest goes where one more comes; its bytes would be decoded again."""
FRAME_CHARS_MAX: Final = 16 * 1024
"""A longer one, bytes or text, is not kept: several times the longest that a table of ours sends."""
_PUBLIC: Final = (*get_args(AnyNumbered), Crowd)


class KnownEvents:
    """What the clients that share it have read. Whoever takes an event from it must not change it."""

    def __init__(self) -> None:
        self._events: OrderedDict[Frame, AnyEvent] = OrderedDict()
        self.hits = 0

    def __repr__(self) -> str:
        return f"<KnownEvents {len(self._events)} hits={self.hits}>"

    def get(self, frame: Frame) -> AnyEvent | None:
        """Return the event of exactly these bytes, if some client has read it."""
        event = self._events.get(frame)
        if event is not None:
            self.hits += 1
        return event

    def keep(self, frame: Frame, event: AnyEvent) -> None:
        """Keep an event for the others, unless it is for one seat only."""
        if isinstance(event, _PUBLIC) and len(frame) <= FRAME_CHARS_MAX:
            self._events[frame] = event
            if len(self._events) > FRAMES_MAX:
                self._events.popitem(last=False)
