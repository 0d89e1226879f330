"""An event loop whose turns are short, however much comes in at once.

asyncio takes whatever can be read from every socket in one turn, and what that has set off in the next ones: with
thousands of sockets a turn takes a fifth of a second, and an answer of the store, or a timer, waits for several. Here
a turn takes some of what is there, in the order in which it came, and before all of it what comes over the lines that
everybody waits for.
"""

import asyncio
import math
import select
import selectors
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import Any, Final, Protocol, TypeAlias

EVENTS_A_TURN: Final = 64
"""A message that comes in takes some fifty microseconds to read."""
EVENTS_A_TURN_MIN: Final = 16
LONG_TURN_S: Final = 0.008
"""Behind a longer turn the next ones take half as much, until they are half as long: an end takes four times as long as
a message, and thousands may end in one moment."""
_FOR_EVER: Final = -1


class HasFileno(Protocol):
    """Something with a descriptor."""

    def fileno(self) -> int:
        """Tell its number."""
        ...


FileLike: TypeAlias = int | HasFileno


class FairSelector(selectors.BaseSelector):
    """The system's epoll, asked for a few events at a time: what it has not told stands first the next time."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        """`clock` tells seconds."""
        self._clock = clock
        self._told_s = clock()
        self._events_a_turn = EVENTS_A_TURN
        self._epoll = select.epoll()
        self._first = select.epoll()
        self._keys: dict[FileLike, selectors.SelectorKey] = {}
        """By descriptor."""
        self._goes_first: set[int] = set()

    def register(self, fileobj: FileLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a descriptor. Raises KeyError where it is watched, ValueError or OSError where it is none."""
        key = selectors.SelectorKey(fileobj, _fd(fileobj), events, data)
        if key.fd in self._keys:
            raise KeyError(f"descriptor {key.fd} is watched already")
        self._epoll.register(key.fd, _mask(events))
        self._keys[key.fd] = key
        return key

    def modify(self, fileobj: FileLike, events: int, data: Any = None) -> selectors.SelectorKey:
        """Watch a descriptor for something else. Raises KeyError where it is not watched."""
        before = self._keys[_fd(fileobj)]
        if events != before.events:
            self._epoll.modify(before.fd, _mask(events))
        key = self._keys[before.fd] = before._replace(events=events, data=data)
        return key

    def unregister(self, fileobj: FileLike) -> selectors.SelectorKey:
        """Watch a descriptor no more. Raises KeyError where it is not watched."""
        key = self._keys.pop(_fd(fileobj))
        with suppress(OSError):  # it was closed before, and the system has forgotten it by itself
            self._epoll.unregister(key.fd)
        if key.fd in self._goes_first:
            self._goes_first.discard(key.fd)
            with suppress(OSError):
                self._first.unregister(key.fd)
        return key

    def let_go_first(self, fd: int) -> None:
        """Tell what comes on this descriptor before everything else, until it is watched no more."""
        if fd in self._keys and fd not in self._goes_first:
            self._first.register(fd, select.EPOLLIN)
            self._goes_first.add(fd)

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for `timeout` seconds at most (None: for ever) and tell some of what can be read or written."""
        self._measure_turn()
        found = dict(self._first.poll(0)) if self._goes_first else {}
        if found:
            timeout = 0
        # To whole milliseconds, and up: whoever wakes too early goes to sleep again at once, many times in a row.
        wait_s = _FOR_EVER if timeout is None else math.ceil(max(timeout, 0) * 1000) / 1000
        for fd, events in self._epoll.poll(wait_s, self._events_a_turn):
            found.setdefault(fd, events)
        self._told_s = self._clock()
        return [(key, _events(mask) & key.events) for fd, mask in found.items() if (key := self._keys.get(fd))]

    def _measure_turn(self) -> None:
        """See how long it took to deal with what was told last."""
        took_s = self._clock() - self._told_s
        if took_s > LONG_TURN_S:
            self._events_a_turn = max(EVENTS_A_TURN_MIN, self._events_a_turn // 2)
        elif took_s < LONG_TURN_S / 2:
            self._events_a_turn = min(EVENTS_A_TURN, self._events_a_turn * 2)

    def get_map(self) -> Mapping[FileLike, selectors.SelectorKey]:
        """Tell all that is watched, by descriptor."""
        return self._keys

    def get_key(self, fileobj: FileLike) -> selectors.SelectorKey:
        """Tell what is watched of a descriptor. Raises KeyError."""
        return self._keys[_fd(fileobj)]

    def close(self) -> None:
        """Give the system back what it gave."""
        self._first.close()
        self._epoll.close()
        self._keys.clear()


def _fd(fileobj: FileLike) -> int:
    return fileobj if isinstance(fileobj, int) else fileobj.fileno()


def _mask(events: int) -> int:
    reads = select.EPOLLIN if events & selectors.EVENT_READ else 0
    return reads | (select.EPOLLOUT if events & selectors.EVENT_WRITE else 0)


def _events(mask: int) -> int:
    """Read the system's answer; an error, or an end, is told to whoever reads or writes."""
    reads = selectors.EVENT_READ if mask & ~select.EPOLLOUT else 0
    return reads | (selectors.EVENT_WRITE if mask & ~select.EPOLLIN else 0)


class FairLoop(asyncio.SelectorEventLoop):
    """The loop of a node."""

    def __init__(self) -> None:
        self.selector = FairSelector()
        super().__init__(self.selector)


def new_loop() -> asyncio.AbstractEventLoop:
    """Make a fair loop, or an ordinary one where the system has no epoll."""
    return FairLoop() if hasattr(select, "epoll") else asyncio.new_event_loop()


def let_go_first(transport: asyncio.BaseTransport) -> None:
    """Take what comes on this transport before what comes on others, where the running loop is a fair one."""
    loop, sock = asyncio.get_running_loop(), transport.get_extra_info("socket")
    if isinstance(loop, FairLoop) and sock is not None:
        loop.selector.let_go_first(sock.fileno())
