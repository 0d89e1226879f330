"""What is known after a run, as plain values: what every seat saw and did, who owned which table, what the store holds.

`read_tape` turns the record of the wire into it. Pure. What is right is `checker.py`'s.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from client_sdk.protocol.messages import Message
from tests.chaos.tape import Spoken, Tape
from tests.support.house import Claim

ACTS: Final = frozenset({"place", "undo", "clear", "rebet", "double", "ready"})
FOLLOWS: Final = frozenset({"join", "watch"})
Bets = dict[str, int]


class Sight(NamedTuple):
    """Something that one connection saw of one table. `kind`: base (its numbers go on after `seq`; `body` is the
    snapshot, empty where it resumed), event, results, seat (`body` is the own seat as a reply told it)."""

    at_ms: float
    kind: str
    incarnation: str
    seq: int
    body: Message


@dataclass(slots=True)
class View:
    """One table as one connection followed it."""

    line: int
    patron: str
    table: str
    sights: list[Sight] = field(default_factory=list)


@dataclass(slots=True)
class ActRecord:
    """One act under its request_id, on however many connections it was sent."""

    patron: str
    table: str
    round: int
    request_id: str
    verb: str
    incarnation: str
    sent_at_ms: float
    receipts: list[tuple[float, Message]] = field(default_factory=list)
    refusal: Message | None = None
    tries: int = 0
    not_now: int = 0
    """How often it was told to come again later."""

    @property
    def is_decided(self) -> bool:
        """Whether a final answer came. A repeat so late that its round is over is refused whatever became of the first
        try: PROTOCOL.md says that this refusal tells nothing of it."""
        is_late_repeat = self.tries > 1 and self.refusal is not None and self.refusal["name"] == "ROUND_OVER"
        return bool(self.receipts) or (self.refusal is not None and not is_late_repeat)


class StoredTable(NamedTuple):
    """A table as it lies in the store at the end. `stream` is seq -> event."""

    incarnation: str
    seq: int
    phase: str
    round: int
    stream: Mapping[int, Message]
    stacks: Mapping[str, int]
    open_bets: Mapping[str, int]
    house: int
    under_way: Mapping[str, int]
    """Chips on their way between this table and a patron's wallet, either direction."""


class StoredWallet(NamedTuple):
    """A wallet as it lies in the store at the end."""

    balance: int
    put_in: int


@dataclass(slots=True)
class Evidence:
    """All of it. `loses_acts`: the store was set back, and what it had answered may be gone. `loses_claims`: a replica
    took over that may not have had the newest claims, so an epoch may come twice."""

    views: list[View]
    acts: list[ActRecord]
    claims: list[Claim]
    tables: dict[str, StoredTable]
    wallets: dict[str, StoredWallet]
    loses_acts: bool = False
    loses_claims: bool = False


def read_tape(tape: Tape) -> tuple[list[View], list[ActRecord]]:
    """Read what every connection saw and did."""
    views: list[View] = []
    acts: dict[tuple[str, str], ActRecord] = {}
    for line in tape.lines:
        reader = _LineReader(line, acts)
        reader.read()
        views += reader.views.values()
    return views, list(acts.values())


class _LineReader:
    """Reads one connection from its first message to its last."""

    def __init__(self, line: Spoken, acts: dict[tuple[str, str], ActRecord]) -> None:
        self.views: dict[str, View] = {}
        self._line = line
        self._acts = acts
        self._asked: dict[str, Message] = {}
        self._patron = ""

    def read(self) -> None:
        both = [(word.at_ms, False, word.message) for word in self._line.sent]
        both += [(word.at_ms, True, word.message) for word in self._line.got]
        for at_ms, is_heard, message in sorted(both, key=lambda one: one[0]):  # stable: each side keeps its order
            if is_heard:
                self._hear(at_ms, message)
            else:
                self._say(at_ms, message)

    def _say(self, at_ms: float, message: Message) -> None:
        self._asked[message["request_id"]] = message
        if message["type"] in ACTS:
            key = (self._patron, message["request_id"])
            if key not in self._acts:
                self._acts[key] = ActRecord(
                    self._patron,
                    message["table"],
                    message["round"],
                    message["request_id"],
                    message["type"],
                    self._incarnation(message["table"]),
                    at_ms,
                )
            self._acts[key].tries += 1

    def _hear(self, at_ms: float, message: Message) -> None:
        match message["type"]:
            case "ok" | "error":
                self._answer(at_ms, message)
            case "snapshot":
                self._base(at_ms, message["snapshot"])
            case "results":
                self._see(at_ms, message["table"], "results", message)
            case _ if "seq" in message:
                self._see(at_ms, message["table"], "event", message, seq=message["seq"])
            case _:
                pass

    def _answer(self, at_ms: float, message: Message) -> None:
        request = self._asked.get(message["request_id"] or "")
        if request is None:
            return
        if request["type"] == "hello" and message["type"] == "ok":
            self._patron = message["patron"]
        elif request["type"] in ACTS:
            self._decide(at_ms, self._acts[(self._patron, request["request_id"])], message)
        elif request["type"] in FOLLOWS and message["type"] == "ok":
            self._follow(at_ms, request, message)

    def _follow(self, at_ms: float, request: Message, message: Message) -> None:
        table = request["table"]
        if table not in self.views:
            self.views[table] = View(self._line.number, self._patron, table)
        if message["resumed"]:
            base = Sight(at_ms, "base", request["incarnation"], request["seq"], {})
            self.views[table].sights.append(base)
        else:
            self._base(at_ms, message["snapshot"])
        if message.get("you") is not None:
            self._see(at_ms, table, "seat", message["you"])

    def _decide(self, at_ms: float, act: ActRecord, message: Message) -> None:
        if message["type"] == "ok":
            act.receipts.append((at_ms, message))
        elif message.get("retry"):
            act.not_now += 1
        else:
            act.refusal = message

    def _base(self, at_ms: float, snapshot: Message) -> None:
        view = self.views.setdefault(snapshot["table"], View(self._line.number, self._patron, snapshot["table"]))
        view.sights.append(Sight(at_ms, "base", snapshot["incarnation"], snapshot["seq"], snapshot))

    def _see(self, at_ms: float, table: str, kind: str, body: Message, seq: int = 0) -> None:
        if table not in self.views:  # unasked: the checker tells
            self.views[table] = View(self._line.number, self._patron, table)
        self.views[table].sights.append(Sight(at_ms, kind, self._incarnation(table), seq, body))

    def _incarnation(self, table: str) -> str:
        view = self.views.get(table)
        return view.sights[-1].incarnation if view is not None and view.sights else ""


def total(bets: Mapping[str, int]) -> int:
    """The sum over all spots."""
    return sum(bets.values())


def events_of(views: Iterable[View], table: str) -> Iterable[Sight]:
    """Every numbered event of a table that anybody saw, in order of arrival at each seat."""
    return (sight for view in views if view.table == table for sight in view.sights if sight.kind == "event")


def plain(value: Any) -> Any:
    """Show a long value in short."""
    text = repr(value)
    return text if len(text) <= 240 else f"{text[:237]}..."
