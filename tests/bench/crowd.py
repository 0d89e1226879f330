"""Thousands of connections in one process of their own that does little else than read: one epoll loop, no library.

It must never be what a measurement waits for: bytes that came before are recognised whole, and only what is new is
looked into. `CrowdProcess` (`process.py`) calls the public methods; between calls the loop goes on reading.
"""

import errno
import select
import socket
import time
from array import array
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe
from typing import Any, Final

import msgpack

from tests.bench import wire

AT_ONCE: Final = 64
"""So many connections are on their way in at a time."""
OPEN_S_MAX: Final = 240.0
READ_BYTES: Final = 65_536
KNOWN_MAX: Final = 20_000
EVENTS_AT_ONCE: Final = 512


class Line:
    """One connection."""

    __slots__ = ("began_s", "clock", "fd", "group", "name", "rest", "sent_s", "sock", "stage", "table", "token")

    def __init__(self, sock: socket.socket, group: "Group", name: str, table: str) -> None:
        self.sock = sock
        self.fd = sock.fileno()
        self.group = group
        self.name = name
        self.table = table
        self.rest = b""
        self.stage = "connecting"
        self.began_s = time.monotonic()
        self.sent_s = 0.0
        self.clock: tuple[float, float] | None = None
        """Its best ping: (round trip, table's clock minus this machine's monotonic one), ms."""
        self.token: str | None = None


class Group:
    """Connections to one server, and what they have received."""

    def __init__(self, kind: str, port: int, path: str, greeting: bytes) -> None:
        self.kind = kind
        self.port = port
        self.path = path
        self.greeting = greeting
        self.lines: list[Line] = []
        self.known: dict[bytes, int] = {}
        """Chunks that came before -> how many frames are in each."""
        self.frames = 0
        self.reads = 0
        self.bytes = 0
        self.lost = 0
        self.closed: Counter[str] = Counter()
        self.replies: Counter[str] = Counter()
        self.reply_ms: array[float] = array("d")
        self.waiting = 0
        self.round: dict[str, int] = {}
        self.incarnation: dict[str, str] = {}
        self.seq: Counter[str] = Counter()
        self.came_s: array[float] = array("d")
        """When each event reached the first of them."""
        self.phases_seen: Counter[str] = Counter()
        self.is_tracking = False
        self.arrivals: dict[bytes, array[float]] = {}
        self.turned_ms: dict[tuple[str, int], list[float]] = {}


class Crowd:
    """All connections of this process."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._epoll = select.epoll()
        self._epoll.register(pipe.fileno(), select.EPOLLIN)
        self._lines: dict[int, Line] = {}
        self._groups: dict[str, Group] = {}
        self._rest_s = 0.0

    def serve(self) -> None:
        """Carry out calls until the other side is gone."""
        while True:
            while not self._pipe.poll():
                self._read(1.0)
            try:
                name, arguments = self._pipe.recv()
            except EOFError:
                return
            try:
                answer: object = getattr(self, name)(**arguments)
            except Exception as error:
                answer = error
            self._pipe.send(answer)

    # --- calls --------------------------------------------------------------------------------------------------------

    def open(
        self,
        group: str,
        kind: str,
        port: int,
        count: int,
        tables: tuple[str, ...] = (),
        buy_in: int = 0,
        path: str = "/",
        greeting: bytes = b"",
    ) -> float:
        """Open connections (`plain` TCP, `socket` after the handshake and a greeting, `seat` at a table, `watch` beside
        one) and wait until all are there; returns the seconds that it took."""
        into = self._groups.setdefault(group, Group(kind, port, path, greeting))
        into.kind = kind
        began_s, self._buy_in = time.monotonic(), buy_in
        coming: list[Line] = []
        for number in range(count):
            name = f"b{len(into.lines)}"
            coming.append(self._connect(into, name, tables[number % len(tables)] if tables else ""))
            while len(coming) >= AT_ONCE:
                coming = self._still_coming(coming, began_s)
        while coming:
            coming = self._still_coming(coming, began_s)
        assert not into.lost, f"{into.lost} connections were cut on their way in: {dict(into.closed)}"
        return time.monotonic() - began_s

    def count(self, group: str) -> dict[str, Any]:
        """Tell what came since the last call."""
        into = self._groups[group]
        told = {
            "frames": into.frames,
            "reads": into.reads,
            "bytes": into.bytes,
            "lost": into.lost,
            "closed": dict(into.closed),
            "lines": len(into.lines),
            "replies": dict(into.replies),
            "phases": dict(into.phases_seen),
            "came_s": into.came_s.tolist(),
        }
        into.came_s = array("d")
        into.frames = into.reads = into.bytes = into.lost = 0
        into.replies.clear()
        into.phases_seen.clear()
        return told

    def until_phase(self, group: str, table: str, kind: str, times: int = 1, timeout_s: float = 240.0) -> None:
        """Wait until such an event of a table has come so many times from now on."""
        into = self._groups[group]
        wanted = into.phases_seen[f"{table} {kind}"] + times
        self._until(lambda: into.phases_seen[f"{table} {kind}"] >= wanted, timeout_s, kind)

    def until_frames(self, group: str, frames: int, timeout_s: float = 60.0) -> None:
        """Wait until so many frames have come since the last count."""
        into = self._groups[group]
        self._until(lambda: into.frames >= frames, timeout_s, f"{frames} frames in {group}")

    def burst(self, group: str, verb: str, fields: dict[str, Any], tag: str, timeout_s: float = 60.0) -> dict[str, Any]:
        """Have every seat of a group send one act at once; returns when all are answered: seconds, answers by name, and
        each one's latency, ms."""
        into = self._groups[group]
        if into.kind == "seat":
            frames = [
                wire.request(verb, f"{tag}.{line.name}", table=line.table, round=into.round[line.table], **fields)
                for line in into.lines
            ]
        else:
            frames = [wire.framed(fields["payload"])] * len(into.lines)
        into.replies.clear()
        into.reply_ms = array("d")
        into.waiting = len(frames)
        began_s = time.monotonic()
        for line, frame in zip(into.lines, frames, strict=True):
            line.sent_s = time.monotonic()
            line.sock.send(frame)
        self._until(lambda: into.waiting <= 0, timeout_s, f"answers to {verb}")
        took_s = time.monotonic() - began_s
        return {"seconds": took_s, "answers": dict(into.replies), "latency_ms": sorted(into.reply_ms)}

    def ping(self, group: str) -> None:
        """Have every seat ask for its table's clock, a few at a time, as clients do."""
        into = self._groups[group]
        for start in range(0, len(into.lines), AT_ONCE):
            some = into.lines[start : start + AT_ONCE]
            into.waiting = len(some)
            for line in some:
                line.sent_s = time.monotonic()
                line.sock.send(wire.request("ping", "ping", table=line.table))
            self._until(lambda: into.waiting <= 0, 30.0, "pongs")

    def track(self, group: str) -> None:
        """Note from now on when each event reaches each seat, and when each seat turns each card."""
        into = self._groups[group]
        into.arrivals, into.turned_ms, into.is_tracking, into.known = {}, {}, True, {}

    def tracked(self, group: str) -> tuple[dict[bytes, bytes], dict[tuple[str, int], list[float]]]:
        """End it: arrivals of each event's bytes (an array of seconds), and (first, last) turn of each card, ms."""
        into = self._groups[group]
        into.is_tracking, into.known = False, {}
        return {payload: at.tobytes() for payload, at in into.arrivals.items()}, into.turned_ms

    def rest(self, rest_ms: float) -> None:
        """Sleep so long from now on wherever what had come is read: who writes to a process that waits for its sockets
        wakes it up with each write, and pays for that. Peers on other machines cost nobody a waking, so this one must
        not either where processor time is measured."""
        self._rest_s = rest_ms / 1000

    def close(self, group: str) -> None:
        """Cut all connections of a group."""
        for line in self._groups.pop(group).lines:
            self._drop(line)

    # --- on the way in ------------------------------------------------------------------------------------------------

    def _connect(self, into: Group, name: str, table: str) -> Line:
        line = self._dial(into, into.port, name, table)
        into.lines.append(line)
        return line

    def _dial(self, into: Group, port: int, name: str, table: str) -> Line:
        sock = socket.socket()
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        code = sock.connect_ex(("127.0.0.1", port))
        if code not in (0, errno.EINPROGRESS):
            sock.close()
            raise OSError(code, errno.errorcode[code])
        line = Line(sock, into, name, table)
        self._lines[line.fd] = line
        self._epoll.register(line.fd, select.EPOLLIN | select.EPOLLOUT)
        return line

    def _still_coming(self, coming: list[Line], began_s: float) -> list[Line]:
        if time.monotonic() > began_s + OPEN_S_MAX:
            raise TimeoutError(f"{len(coming)} connections are not there, the first one is {coming[0].stage}")
        self._read(0.5)
        return [line for line in coming if line.stage not in ("ready", "lost")]

    def _is_connected(self, line: Line) -> None:
        self._epoll.modify(line.fd, select.EPOLLIN)
        if line.group.kind == "plain":
            line.stage = "ready"
        else:
            line.stage = "handshake"
            line.sock.send(wire.upgrade(line.group.port, line.group.path))

    def _is_let_in(self, line: Line, head: bytes) -> bool:
        """Look at the answer to a handshake."""
        assert b" 101 " in head, head
        return True

    def _greet(self, line: Line) -> None:
        line.stage = "ready" if line.group.kind == "socket" else "hello"
        if line.stage == "hello":
            who = {"name": line.name} if line.token is None else {"token": line.token}
            line.sock.send(wire.request("hello", "hello", bot=True, **who))
        elif line.group.greeting:
            line.sock.send(line.group.greeting)

    def _sit_down(self, line: Line) -> None:
        line.stage = "join"
        if line.group.kind == "seat":
            line.sock.send(wire.request("join", "join", table=line.table, buy_in=self._buy_in))
        else:
            line.sock.send(wire.request("watch", "watch", table=line.table))

    def _advance(self, line: Line, message: dict[str, Any]) -> None:
        """A reply on the way to the seat."""
        if message["type"] == "error":
            raise AssertionError(f"{line.stage}: {message}")
        if line.stage == "hello":
            line.token = message["token"] or line.token
            self._sit_down(line)
            return
        line.stage = "ready"
        if (snapshot := message["snapshot"]) is not None:
            line.group.round[line.table] = snapshot["round"]
            line.group.incarnation[line.table] = snapshot["incarnation"]

    # --- reading ------------------------------------------------------------------------------------------------------

    def _until(self, holds: Callable[[], bool], timeout_s: float, what: str) -> None:
        until_s = time.monotonic() + timeout_s
        while not holds():
            if time.monotonic() > until_s:
                raise TimeoutError(f"no {what} within {timeout_s} s")
            self._read(0.1)

    def _read(self, timeout_s: float) -> None:
        events = self._epoll.poll(timeout_s, EVENTS_AT_ONCE)
        if self._rest_s and len(events) < EVENTS_AT_ONCE:
            time.sleep(self._rest_s)
        for fd, flags in events:
            line = self._lines.get(fd)
            if line is None:
                continue  # the pipe
            try:
                if flags & select.EPOLLOUT and line.stage == "connecting":
                    self._is_connected(line)
                    continue
                chunk = line.sock.recv(READ_BYTES)
            except BlockingIOError:
                continue
            except OSError:
                chunk = b""
            if not chunk:
                self._lose(line)
                continue
            group = line.group
            group.reads += 1
            group.bytes += len(chunk)
            if not line.rest and (frames := group.known.get(chunk)) is not None:
                group.frames += frames
                if group.is_tracking:
                    self._note_known(line, chunk)
                continue
            try:
                self._look_into(line, chunk)
            except ConnectionError:
                self._lose(line)

    def _look_into(self, line: Line, chunk: bytes) -> None:
        group = line.group
        if group.kind == "plain":
            group.frames += 1
            return
        if line.stage == "handshake":
            line.rest += chunk
            head, end, after = line.rest.partition(b"\r\n\r\n")
            if not end:
                return
            if not self._is_let_in(line, head):
                return
            line.rest, chunk = b"", after
            self._greet(line)
        is_whole = not line.rest
        frames, line.rest = wire.split(line.rest + chunk)
        is_public = bool(frames) and not line.rest and is_whole
        for opcode, payload in frames:
            is_public &= self._take(line, opcode, payload)
        if is_public and len(group.known) < KNOWN_MAX:
            group.known[chunk] = len(frames)

    def _take(self, line: Line, opcode: int, payload: bytes) -> bool:
        """Take one frame; returns whether others get the very same."""
        group = line.group
        if opcode == wire.PING:
            line.sock.send(wire.framed(payload, wire.PONG))
            return False
        if opcode == wire.CLOSE:
            group.closed[f"{int.from_bytes(payload[:2])} {payload[2:].decode()}"] += 1
        if opcode not in (wire.BINARY, wire.TEXT):
            return False
        group.frames += 1
        if group.kind == "socket":
            if group.waiting:
                self._note_reply(line, "ok")
                return False
            return True
        message = msgpack.unpackb(payload)
        kind = message["type"]
        if kind in ("ok", "error"):
            if line.stage in ("hello", "join"):
                self._advance(line, message)
            else:
                self._note_answer(line, message)
            return False
        if "seq" not in message:
            return bool(kind == "crowd")
        self._note_event(line, payload, message)
        return True

    def _note_answer(self, line: Line, message: dict[str, Any]) -> None:
        if message["request_id"] == "ping":
            now_ms, sent_ms = time.monotonic() * 1000, line.sent_s * 1000
            sample = (now_ms - sent_ms, message["at_ms"] + 0.5 - (now_ms + sent_ms) / 2)
            line.clock = min(line.clock or sample, sample)
            line.group.waiting -= 1
        else:
            self._note_reply(line, message.get("name", "ok"))

    def _note_reply(self, line: Line, name: str) -> None:
        group = line.group
        group.replies[name] += 1
        group.reply_ms.append((time.monotonic() - line.sent_s) * 1000)
        group.waiting -= 1

    def _note_event(self, line: Line, payload: bytes, message: dict[str, Any]) -> None:
        group, table, kind = line.group, message["table"], message["type"]
        if message["seq"] > group.seq[table]:
            group.seq[table] = message["seq"]
            group.phases_seen[f"{table} {kind}"] += 1
            group.came_s.append(time.monotonic())
        if "round" in message:
            group.round[table] = message["round"]
        if group.is_tracking:
            self._note_arrival(line, payload, message.get("show_at_ms") if kind == "card_dealt" else None, message)

    def _note_known(self, line: Line, chunk: bytes) -> None:
        for _, payload in wire.split(chunk)[0]:
            message = msgpack.unpackb(payload)
            if "seq" in message:
                show_at_ms = message.get("show_at_ms") if message["type"] == "card_dealt" else None
                self._note_arrival(line, payload, show_at_ms, message)

    def _note_arrival(self, line: Line, payload: bytes, show_at_ms: int | None, message: dict[str, Any]) -> None:
        now_s, group = time.monotonic(), line.group
        group.arrivals.setdefault(payload, array("d")).append(now_s)
        if show_at_ms is None or line.clock is None:
            return
        turned_ms = max(now_s * 1000, show_at_ms - line.clock[1])
        known = group.turned_ms.setdefault((message["table"], message["seq"]), [turned_ms, turned_ms])
        known[0], known[1] = min(known[0], turned_ms), max(known[1], turned_ms)

    def _lose(self, line: Line) -> None:
        """The other side, or the way to it, is gone."""
        line.group.lost += 1
        line.stage = "lost"
        self._drop(line)

    def _drop(self, line: Line) -> None:
        if self._lines.pop(line.fd, None) is not None:
            self._epoll.unregister(line.fd)
            line.sock.close()
