"""Whatever a stranger sends gets a numbered refusal or a clean close, and nobody else notices.

An honest patron, the witness, plays at the same table all the while: it bets in every round, and after each test its
events must be gapless, its chips and the table's sums its own, the rounds on time, and the cards still coming.
"""

import asyncio
import json
import math
import subprocess
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any, Final, Self

import msgpack
import pytest
import pytest_asyncio
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from client_sdk.protocol.errors import CloseCode, ErrorCode
from tests.support.node_process import NodeProcess, own_node
from tests.support.raw_client import JSON, MSGPACK, SUBPROTOCOLS, Message, RawClient, assert_gapless
from tests.support.rounds import check_round, whole_rounds

pytestmark = pytest.mark.asyncio(loop_scope="module")

TABLE: Final = "punto-banco-1"
OTHER_TABLE: Final = "royal-1"
CHIP: Final = 100
STACK: Final = 1_000
BAD_MESSAGES_MAX: Final = 8
FRAME_BYTES_MAX: Final = 16_384
PATIENCE_S: Final = 30.0
BOTH: Final = pytest.mark.parametrize("subprotocol", SUBPROTOCOLS)
PLACE: Final[Message] = {
    "type": "place",
    "request_id": "bad",
    "table": TABLE,
    "round": 0,
    "spot": "player",
    "chip": CHIP,
}
Wire = str | bytes | list[str] | list[bytes]


class Witness:
    """An honest patron who bets the same in every round, and keeps the books."""

    def __init__(self, client: RawClient, seq: int) -> None:
        self.client = client
        self._seq = seq
        self._stack = STACK * 100
        self._bets: dict[int, dict[str, int]] = {}
        self._betting = asyncio.create_task(self._bet_for_ever())

    @classmethod
    async def sit_down(cls, url: str) -> Self:
        """Take a seat and wait for a round that is all its own."""
        client = await RawClient.arrive(url, "Witness")
        joined = await client.join(TABLE, STACK * 100)
        witness = cls(client, joined["snapshot"]["seq"])
        await client.until(lambda: client.seen("round_settled", round=min(witness._bets, default=0)))
        return witness

    async def _bet_for_ever(self) -> None:
        while True:
            round_number = (await self.client.next("betting_opened", timeout=30, table=TABLE))["round"]
            reply = await self.client.ask("place", table=TABLE, round=round_number, spot="banker", chip=CHIP)
            self._bets[round_number] = reply["bets"] if reply["type"] == "ok" else {}

    async def notices_nothing(self) -> None:
        """Wait for something that happens after now, and check all that came until then."""
        assert not self._betting.done(), "the witness plays on"
        count = len(self.client.numbered(TABLE))
        await self.client.until(lambda: len(self.client.numbered(TABLE)) > count, what="the next event")
        events = self.client.numbered(TABLE)
        assert_gapless(events, self._seq)
        for played in whole_rounds(events):
            if played[0]["round"] in self._bets:
                check_round(played)
                self._check_sums(played)
        self._check_crowd()
        self._check_stack()
        assert not {event["type"] for event in self.client.events} & {"seat_taken_over", "seat_freed", "snapshot"}

    def _check_sums(self, played: list[Message]) -> None:
        opened, closed, settled = played[0], played[1], played[-1]
        bets = self._bets[opened["round"]]
        assert (closed["totals"], closed["bettors"]) == (bets, len(bets)), "nobody else has bet"
        assert (closed["closed_at_ms"], closed["early"]) == (opened["closes_at_ms"], False), "nobody moved the clock"
        assert settled["settled"] == len(bets)

    def _check_crowd(self) -> None:
        for event in self.client.seen("crowd", table=TABLE):
            if event["round"] in self._bets:
                assert event["crowd"]["totals"] in ({}, self._bets[event["round"]])

    def _check_stack(self) -> None:
        """Each result's stack is the one before, less the bets, plus the payouts; the house paid nothing but those."""
        stack = self._stack
        for results in self.client.seen("results", table=TABLE):
            stack += sum(line["payout"] - line["stake"] for line in results["bets"].values())
            assert {spot: line["stake"] for spot, line in results["bets"].items()} == self._bets[results["round"]]
            assert results["stack"] == stack

    async def get_up(self) -> None:
        """End the betting and leave with exactly the chips of the books."""
        self._betting.cancel()
        await asyncio.wait([self._betting])
        await self.client.until(lambda: self.client.seen("round_settled", round=max(self._bets)))
        left = await self.client.call("leave", table=TABLE)
        if left["after_round"]:  # a bet lies whose answer came too late for the books
            (left,) = await self.client.until(lambda: self.client.seen("seat_freed", table=TABLE), what="seat_freed")
        last = self.client.seen("results", table=TABLE)[-1]
        assert left["wallet"] == self.client.wallet - self._stack + last["stack"]
        await self.client.close()


class Stranger:
    """A connection that sends whatever it likes. Answers are read one by one; events are passed over."""

    def __init__(self, websocket: ClientConnection, subprotocol: str) -> None:
        self.websocket = websocket
        self.is_text = subprotocol == JSON
        self.refused = 0
        self._count = 0

    @classmethod
    async def open(cls, url: str, subprotocol: str = MSGPACK) -> Self:
        """Connect and say nothing."""
        websocket = await connect(
            url,
            subprotocols=[Subprotocol(subprotocol)],
            compression=None,
            max_size=None,
            close_timeout=2,
            proxy=None,
        )
        return cls(websocket, subprotocol)

    @classmethod
    async def seated(cls, url: str, subprotocol: str = MSGPACK, table: str = TABLE) -> Self:
        """Connect, say hello and sit down with a few chips."""
        stranger = await cls.open(url, subprotocol)
        await stranger.ask("hello", name="Stranger")
        joined = await stranger.ask("join", table=table, buy_in=STACK)
        assert joined["you"]["stack"] == STACK
        return stranger

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.websocket.close()

    def coded(self, message: object) -> str | bytes:
        """Code a value as this subprotocol does."""
        if self.is_text:
            return json.dumps(message)
        packed: bytes = msgpack.packb(message)
        return packed

    async def reply(self) -> Message:
        """Read the next answer."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                frame = await self.websocket.recv()
                message: Message = json.loads(frame) if isinstance(frame, str) else msgpack.unpackb(frame)
                if message["type"] in ("ok", "error"):
                    return message

    async def ask(self, kind: str, **fields: Any) -> Message:
        """Send a proper request and read its answer."""
        self._count += 1
        request_id = f"r{self._count}"
        await self.websocket.send(self.coded({"type": kind, "request_id": request_id, **fields}))
        reply = await self.reply()
        assert reply["request_id"] == request_id
        return reply

    async def refusal(self, wire: Wire, *, text: bool | None = None) -> tuple[str, str | None, str | None]:
        """Send anything; returns the error's name, field and request_id, and sees that the line lives on."""
        await self.websocket.send(wire, text=text)
        self.refused += 1
        error = await self.reply()
        assert set(error) >= {"type", "request_id", "code", "name", "message", "retry"}, (
            "every refusal is a whole error"
        )
        assert (error["type"], error["code"], error["retry"]) == ("error", int(ErrorCode[error["name"]]), False)
        if self.refused < BAD_MESSAGES_MAX:
            assert (await self.ask("ping")).get("name") in (None, "HELLO_FIRST"), "a good message after it is answered"
        return error["name"], error["field"], error["request_id"]

    async def closed(self) -> int:
        """Wait for the close; returns its code."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                while True:
                    await self.websocket.recv()
            except ConnectionClosed:
                code = self.websocket.close_code
        assert code is not None
        return code

    async def keeps_its_chips(self, table: str = TABLE) -> None:
        """Nothing that was refused has moved anything."""
        you = (await self.ask("watch", table=table))["you"]
        assert (you["stack"], you["bets"], you["ready"], you["leaving"]) == (STACK, {}, False, False)
        assert (await self.ask("leave", table=table))["wallet"] is not None


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def witness(node: NodeProcess) -> AsyncIterator[Witness]:
    """The honest patron of this file."""
    said_before = len(node.output)
    honest = await Witness.sit_down(node.url)
    yield honest
    await honest.get_up()
    said = node.output[said_before:]
    assert not [line for line in said if " error " in line or "Traceback" in line]


@pytest_asyncio.fixture(autouse=True, loop_scope="module")
async def _nobody_else_notices(witness: Witness) -> AsyncIterator[None]:
    yield
    await witness.notices_nothing()


async def all_refused(
    url: str, subprotocol: str, wires: Iterable[Wire], expected: tuple[str, str | None, str | None]
) -> None:
    """Send each of them from a seat; each is refused as expected (name, field, request_id) and moves nothing."""
    waiting = list(wires)
    while waiting:
        async with await Stranger.seated(url, subprotocol) as stranger:
            batch, waiting = waiting[: BAD_MESSAGES_MAX - 1], waiting[BAD_MESSAGES_MAX - 1 :]
            for wire in batch:
                assert await stranger.refusal(wire) == expected, wire
            await stranger.keeps_its_chips()


def packed(value: object) -> bytes:
    raw: bytes = msgpack.packb(value)
    return raw


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\x90"


def raw_map(*pairs: tuple[Any, Any]) -> bytes:
    """Pack a map from pairs, whatever its keys are; bytes stand for themselves as values."""
    parts = [packed(key) + (value if isinstance(value, bytes) else packed(value)) for key, value in pairs]
    return bytes(msgpack.Packer().pack_map_header(len(pairs))) + b"".join(parts)


def bet_with(chip: bytes) -> bytes:
    """Pack a place whose chip is these bytes."""
    return raw_map(*{**PLACE, "chip": chip}.items())


# --- frames that hold no message --------------------------------------------------------------------------------------

GOOD: Final = packed(PLACE)
NOT_MSGPACK: Final = [
    b"",
    b"\xc1",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdb\xff\xff\xff\xff",
    b"\xc6\xff\xff\xff\xff",
    b"\xc9\xff\xff\xff\xff\x05",
    GOOD[:-1],
    GOOD + GOOD,
    GOOD + b"\xc0",
    nested(2_000),
    nested(FRAME_BYTES_MAX - 1),
    bet_with(nested(2_000)),
    bet_with(b"\xc7\x03\xff\x00\x00\x00"),
    bet_with(b"\xd8\x05\x00"),
    GOOD.replace(b"player", b"playe\xff"),
    GOOD.replace(b"player", b"playe\xc3"),
    GOOD.replace(b"player", b"pla\xed\xa0\x80"),
    GOOD.replace(b"bad", b"b\xff\xfe"),
    GOOD.replace(b"banco", b"ban\xe2\x82"),
]
GOOD_JSON: Final = json.dumps(PLACE)
NOT_JSON: Final = [
    "",
    " ",
    "{",
    "NaN",
    GOOD_JSON + GOOD_JSON,
    GOOD_JSON.replace("100", "NaN"),
    GOOD_JSON.replace("100", "-Infinity"),
    GOOD_JSON.replace("player", "\\ud800"),
    GOOD_JSON.replace('"chip"', '"\\udc00"'),
    GOOD_JSON.replace("bad", "\\udfff"),
    "[" * 4_000 + "]" * 4_000,
    GOOD_JSON.replace("100", "[" * 2_000 + "]" * 2_000),
    '{"a":' * 2_500 + "1" + "}" * 2_500,
]


async def test_what_is_not_msgpack(node_url: str) -> None:
    """BL-130, BL-131, BL-134, BL-135."""
    await all_refused(node_url, MSGPACK, NOT_MSGPACK, ("NOT_DECODABLE", None, None))


async def test_what_is_not_json(node_url: str) -> None:
    """BL-131, BL-135, BL-140."""
    await all_refused(node_url, JSON, NOT_JSON, ("NOT_DECODABLE", None, None))


async def test_what_is_no_map_of_texts(node_url: str) -> None:
    """BL-131, BL-133: whole-number keys, bytes, repeated keys, and values that are no map."""
    place = list(PLACE.items())
    deep = raw_map(*place, ("x", raw_map((0, 0))))
    strange: list[Any] = [0, 2**63, b"chip", 1.5, None, [], msgpack.ExtType(1, b"\0")]
    keys = [raw_map(*place, (key, 1)) for key in strange]
    repeated = [raw_map(*place, ("chip", CHIP)), raw_map(*place, ("x", raw_map(("a", 1), ("a", 1))))]
    others = [packed(value) for value in (None, 7, "hello", b"hello", [PLACE], msgpack.Timestamp(1), True)]
    refused = ("NOT_A_MESSAGE", None, None)
    await all_refused(node_url, MSGPACK, [*keys, deep, *repeated, *others, nested(600)], refused)
    texts = [
        "null",
        "7",
        '"hello"',
        f"[{GOOD_JSON}]",
        GOOD_JSON[:-1] + ',"chip":100}',
        GOOD_JSON[:-1] + ',"\\u0063hip":1}',
    ]
    await all_refused(node_url, JSON, texts, refused)


@BOTH
async def test_the_other_kind_of_frame(node_url: str, subprotocol: str) -> None:
    """Text where binary is spoken, and the reverse; whatever is in it."""
    wires: list[Wire] = ["", "{}", GOOD_JSON] if subprotocol == MSGPACK else [b"", GOOD, b"\xff"]
    await all_refused(node_url, subprotocol, wires, ("WRONG_FRAME", None, None))


# --- messages that are no request -------------------------------------------------------------------------------------

MADE_UP: Final = ["timer_end", "close", "deal", "settle", "phase", "skip", "reveal", "next"]
FROM_SERVERS: Final = ["ok", "error", "betting_closed", "card_dealt", "round_decided", "results", "seat_freed", "crowd"]


@BOTH
async def test_made_up_messages(node_url: str, subprotocol: str) -> None:
    """BL-045, BL-052: nobody ends a phase, deals or settles by saying so."""
    made_up = [{**PLACE, "type": kind} for kind in (*MADE_UP, *FROM_SERVERS, "", "PLACE", None, 7, ["place"], {"a": 1})]
    wires = [json.dumps(each) if subprotocol == JSON else packed(each) for each in made_up]
    await all_refused(node_url, subprotocol, wires, ("UNKNOWN_TYPE", "type", "bad"))


@BOTH
async def test_made_up_fields(node_url: str, subprotocol: str, witness: Witness) -> None:
    """BL-159, BL-161: neither another patron's id nor values that only the house decides are listened to."""
    honest = witness.client.patron
    added: list[Message] = [
        {"patron": honest},
        {"seat": True},
        {"account": honest},
        {"payout": 10**6},
        {"odds": 8},
        {"balance": 10**9},
        {"result": "win"},
        {"outcome": "player"},
        {"stack": 10**9},
        {"token": witness.client.token},
    ]
    for fields in added:
        (name,) = fields
        for request in (PLACE, {"type": "leave", "request_id": "bad", "table": TABLE}):
            message = {**request, **fields}
            wire: Wire = json.dumps(message) if subprotocol == JSON else packed(message)
            await all_refused(node_url, subprotocol, [wire], ("BAD_FIELD", name, "bad"))


@BOTH
async def test_fields_that_do_not_fit(node_url: str, subprotocol: str) -> None:
    """Missing, of another type, out of bounds: the field is named."""
    wrong: dict[str, list[Any]] = {
        "table": [None, 7, True, [], {}, "", "Royal-1", "../royal-1", "{t:royal-1}", "a\x00", "a\n", "x" * 65, "é"],
        "round": [None, "0", -1, 1.0, True, [], 2**53, 2**63],
        "spot": [None, 0, True, [], {}, "", "PLAYER", "pair"],
    }
    for field, values in wrong.items():
        messages = [{**PLACE, field: value} for value in values]
        messages.append({name: value for name, value in PLACE.items() if name != field})
        wires = [json.dumps(each) if subprotocol == JSON else packed(each) for each in messages]
        await all_refused(node_url, subprotocol, wires, ("BAD_FIELD", field, "bad"))


async def test_request_ids_that_can_be_none(node_url: str) -> None:
    """What can't be an id is not told back, whatever is in it (BL-135)."""
    bad = [None, 7, True, "", "a b", "a\n", "a\x00", "é", "‮a", "x" * 65, [], {}, b"bad", msgpack.ExtType(5, b"\0")]
    wires = [packed({**PLACE, "request_id": value}) for value in bad]
    await all_refused(node_url, MSGPACK, wires, ("BAD_FIELD", "request_id", None))


# --- amounts ----------------------------------------------------------------------------------------------------------

BAD_AMOUNTS: Final[list[Any]] = [
    *(-1, -(2**63), 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1),
    *(0.0000001, 1.5, 1.0, 100.0, -0.0, 5e-324, 1e300),
    *(True, False, None, "100", "1e3", "", [], [100], {}, {"amount": 100}),
]
ONLY_MSGPACK: Final[list[Any]] = [
    math.nan,
    math.inf,
    -math.inf,
    b"100",
    msgpack.ExtType(5, b"\x64"),
    msgpack.Timestamp(1),
]
ONLY_JSON: Final = ["100.0", "1e2", "-0.0", "1e400", "-1e400", "9" * 30, "9" * 4_000, "9" * 16_000]
AMOUNTS: Final[list[tuple[Message, str]]] = [
    (PLACE, "chip"),
    ({"type": "join", "request_id": "bad", "table": TABLE, "buy_in": 0}, "buy_in"),
]


@pytest.mark.parametrize(("message", "field"), AMOUNTS, ids=["chip", "buy_in"])
async def test_amounts_that_are_none(node_url: str, message: Message, field: str) -> None:
    """BL-137 to BL-141: one code for all of them, before any sum is formed."""
    refused = ("BAD_AMOUNT", field, "bad")
    amounts = [*BAD_AMOUNTS, *([0] if field == "chip" else [])]
    wires = [packed({**message, field: amount}) for amount in [*amounts, *ONLY_MSGPACK]]
    if field == "chip":
        wires += [bet_with(b"\xca\x3f\x80\x00\x00"), bet_with(nested(600))]
    await all_refused(node_url, MSGPACK, wires, refused)
    texts = [json.dumps({**message, field: amount}) for amount in amounts]
    texts += [json.dumps({**message, field: "@"}).replace('"@"', number) for number in ONLY_JSON]
    await all_refused(node_url, JSON, texts, refused)


async def test_huge_amounts_after_a_normal_bet(node_url: str) -> None:
    """BL-138: nothing wraps around; the bet that lies stays as it is, and takes the next chip."""
    async with await RawClient.arrive(node_url, "Greedy") as client:
        await client.join(OTHER_TABLE, STACK)
        round_number = await client.betting(OTHER_TABLE)
        fields = {"table": OTHER_TABLE, "round": round_number, "spot": "player"}
        await client.call("place", **fields, chip=CHIP)
        for chip in (2**63 - 1, 2**63, 2**64 - 1, 2**53 + 1, -CHIP):
            assert (await client.ask("place", **fields, chip=chip))["name"] == "BAD_AMOUNT"
        assert (await client.ask("place", **fields, chip=2**53 - 1))["name"] == "CHIP_UNKNOWN"
        receipt = await client.call("place", **fields, chip=CHIP)
        assert (receipt["bets"], receipt["stack"]) == ({"player": 2 * CHIP}, STACK - 2 * CHIP)
        await client.call("clear", table=OTHER_TABLE, round=round_number)
        await client.leave_everywhere()


async def test_bets_together_above_the_stack(node_url: str) -> None:
    """BL-144: of three places in one burst, each within the stack, two are taken whole and the third is refused."""
    async with await RawClient.arrive(node_url, "Threefold") as client:
        await client.join(OTHER_TABLE, STACK)
        round_number = await client.betting(OTHER_TABLE)
        fields = {"table": OTHER_TABLE, "round": round_number, "chip": STACK // 2}
        answers = [await client.begin("place", **fields, spot=spot) for spot in ("player", "banker", "tie")]
        first, second, third = await asyncio.gather(*answers)
        assert (first["stack"], second["stack"]) == (STACK // 2, 0)
        assert third["name"] == "INSUFFICIENT_STACK"
        assert (await client.ask("double", table=OTHER_TABLE, round=round_number))["name"] == "INSUFFICIENT_STACK"
        you = (await client.call("watch", table=OTHER_TABLE))["you"]
        assert (you["stack"], you["bets"]) == (0, {"player": STACK // 2, "banker": STACK // 2})
        receipt = await client.call("clear", table=OTHER_TABLE, round=round_number)
        assert (receipt["stack"], receipt["bets"]) == (STACK, {})
        await client.leave_everywhere()


# --- wrong order ------------------------------------------------------------------------------------------------------


async def test_nothing_before_hello(node_url: str) -> None:
    """Every other request is refused, and the hello after them is taken."""
    async with await Stranger.open(node_url) as stranger:
        for kind in ("watch", "unwatch", "join", "leave", "ping"):
            assert (await stranger.ask(kind, table=TABLE))["name"] == "HELLO_FIRST"
        assert (await stranger.ask("list_tables"))["name"] == "HELLO_FIRST"
        for kind in ("undo", "clear", "rebet", "double", "ready"):
            assert (await stranger.ask(kind, table=TABLE, round=0))["name"] == "HELLO_FIRST"
        assert (await stranger.ask("place", table=TABLE, round=0, spot="tie", chip=CHIP))["name"] == "HELLO_FIRST"
        assert (await stranger.ask("hello", name="Late"))["protocol"] == 1, "BL-136: the version is in the first answer"


async def test_hello_twice(node_url: str) -> None:
    """Neither as somebody else nor as oneself."""
    async with await Stranger.seated(node_url) as stranger:
        for fields in ({"name": "Other"}, {"token": "guest.g0.x"}, {}):
            assert (await stranger.ask("hello", **fields))["name"] == "HELLO_TWICE"
        await stranger.keeps_its_chips()


async def test_acts_without_a_table_or_a_seat(node_url: str, witness: Witness) -> None:
    """BL-159, BL-161: not followed, not seated; and rounds of the past and the future are refused."""
    async with await Stranger.open(node_url) as stranger:
        await stranger.ask("hello", name="Hasty")
        place: Message = {"table": TABLE, "round": witness.client.round[TABLE], "spot": "tie", "chip": CHIP}
        assert (await stranger.ask("place", **place))["name"] == "NOT_WATCHING"
        assert (await stranger.ask("place", **{**place, "table": "no-such-table"}))["name"] == "NOT_WATCHING"
        assert (await stranger.ask("watch", table="no-such-table"))["name"] == "UNKNOWN_TABLE"
        assert (await stranger.ask("join", table="no-such-table", buy_in=STACK))["name"] == "UNKNOWN_TABLE"
        await stranger.ask("watch", table=TABLE)
        assert (await stranger.ask("place", **place))["name"] == "NOT_SEATED"
        assert (await stranger.ask("leave", table=TABLE))["name"] == "NOT_SEATED"
        joined = await stranger.ask("join", table=TABLE, buy_in=STACK)
        now = joined["snapshot"]["round"]
        for round_number in (0, now - 1, now + 10, 2**53 - 1):
            assert (await stranger.ask("place", **{**place, "round": round_number}))["name"] == "ROUND_OVER"
        await stranger.keeps_its_chips()


async def test_more_acts_than_a_seat_may(tmp_path: Path) -> None:
    """The first 400 of a round are judged, though most of them are heard at a pace, the next are told so, and the
    connection goes on."""
    async with own_node(tmp_path / "data", betting_ms=60_000) as node, await Stranger.seated(node.url) as stranger:
        names: list[str] = []
        while "TOO_MANY_ACTS" not in names:
            assert len(names) < 600, "the first round opens meanwhile, and begins the count anew"
            for number in range(len(names), len(names) + 50):
                await stranger.websocket.send(packed({**PLACE, "request_id": f"a{number}", "round": 2**40}))
            names += [(await stranger.reply())["name"] for _ in range(50)]
        judged = names.index("TOO_MANY_ACTS")
        assert judged >= 400
        assert set(names[:judged]) == {"ROUND_OVER"}
        await stranger.keeps_its_chips()


# --- framing ----------------------------------------------------------------------------------------------------------


async def test_frames_that_are_too_long(node_url: str) -> None:
    """1009, whole, in fragments or in too many of them; the greatest one that may be is read."""
    too_long: list[Wire] = [
        b"\x00" * (FRAME_BYTES_MAX + 1),
        [b"\x00" * 10_000, b"\x00" * 10_000],
        [b"\x00" * 1_000] * 17,
        [b"\x00"] * 5_000,
        nested(200_000),
        bet_with(nested(200_000)),
    ]
    for wire in too_long:
        async with await Stranger.seated(node_url) as stranger:
            await stranger.websocket.send(wire)
            assert await stranger.closed() == 1009
    async with await Stranger.seated(node_url, JSON) as stranger:
        await stranger.websocket.send("[" * 100_000 + "]" * 100_000)
        assert await stranger.closed() == 1009
    await all_refused(node_url, MSGPACK, [b"\x00" * FRAME_BYTES_MAX], ("NOT_DECODABLE", None, None))


async def test_fragments_of_one_message_are_one_message(node_url: str) -> None:
    """Cut anywhere, also within a character and into empty pieces."""
    async with await Stranger.open(node_url, JSON) as stranger:
        hello = json.dumps({"type": "hello", "request_id": "r", "name": "Zoë"}, ensure_ascii=False).encode()
        await stranger.websocket.send([b"", *(hello[n : n + 1] for n in range(len(hello))), b""], text=True)
        assert (await stranger.reply())["name"] == "Zoë"
    async with await Stranger.seated(node_url) as stranger:
        ping = packed({"type": "ping", "request_id": "r"})
        await stranger.websocket.send([ping[:3], b"", ping[3:]])
        assert "at_ms" in await stranger.reply()
        assert (await stranger.refusal([ping[:3], ping[:3]]))[0] == "NOT_DECODABLE"
        await stranger.keeps_its_chips()


@BOTH
async def test_text_that_is_not_utf_8(node_url: str, subprotocol: str) -> None:
    """The standard's own close, whatever is spoken on the connection (BL-135)."""
    for raw in (b"\xff\xfe", b'{"type":"ping","request_id":"\xc3', b"\xed\xa0\x80"):
        async with await Stranger.seated(node_url, subprotocol) as stranger:
            await stranger.websocket.send(raw, text=True)
            assert await stranger.closed() == 1007


async def test_bytes_that_are_no_frames(node_url: str) -> None:
    """A reserved kind, a reserved bit, no mask, a ping of 126 bytes: 1002."""
    for raw in (b"\x83\x80\0\0\0\0", b"\xc2\x80\0\0\0\0", b"\x82\x01\x90", b"\x89\xfe\x00\x7e" + bytes(130)):
        async with await Stranger.seated(node_url) as stranger:
            stranger.websocket.transport.write(raw)
            assert await stranger.closed() == 1002


async def test_the_eighth_bad_message_ends_the_connection(node_url: str) -> None:
    """Good ones in between do not help, and refusals of well-formed requests do not count."""
    async with await Stranger.seated(node_url) as stranger:
        for _ in range(BAD_MESSAGES_MAX * 2):
            assert (await stranger.ask("leave", table=OTHER_TABLE))["name"] == "NOT_SEATED"
        for _ in range(BAD_MESSAGES_MAX):
            assert (await stranger.refusal(b"\xc1"))[0] == "NOT_DECODABLE"
        assert await stranger.closed() == CloseCode.TOO_MANY_ERRORS


def resident_kib(pid: int) -> int:
    """How much memory a process holds, KiB."""
    found = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(found.stdout)


async def test_announced_elements_take_no_memory(node: NodeProcess) -> None:
    """BL-130: 2,000 frames, each announcing four billion elements, from 250 connections that are closed one by one."""
    heads = [bytes.fromhex(head + "ffffffff") for head in ("dd", "df", "db", "c6")]

    async def announce() -> None:
        async with await Stranger.open(node.url) as stranger:
            for head in heads * 2:
                await stranger.websocket.send(head)
            assert await stranger.closed() == CloseCode.TOO_MANY_ERRORS

    async def announce_often(times: int) -> int:
        for _ in range(0, times, 10):
            await asyncio.gather(*(announce() for _ in range(10)))
        return await asyncio.to_thread(resident_kib, node.pid)

    before = await announce_often(50)  # what a first use takes once is taken then
    assert await announce_often(200) < before + 4 * 1024


# --- names and secrets ------------------------------------------------------------------------------------------------

CLEANED: Final = {
    "a\x00b": "ab",
    "A\nda": "Ada",
    "\x1b[31mAda": "[31mAda",
    "\u202eadA": "adA",
    "Ada\u200d": "Ada",
    "\ufeffAda": "Ada",
    "A\u200bd\u2060a": "Ada",
    "Ada\U000e0041": "Ada",
    "\u2066Ada\u2069": "Ada",
    "  Ada \t Byron  ": "Ada Byron",
    "e\u0301": "é",
    "Ａｄａ": "Ada",
    "A\u0336d\u0336a": "Ada",
    "<script>": "<script>",
    "x" * 24: "x" * 24,
    "\x00" * 200 + "Ada": "Ada",
}
NO_NAMES: Final = ["", " ", "\x00", "\u202e", "\u200d\u200d", "\u3164", "\u2800", "\ue000", "x" * 25, "ﷺﷺ"]


@BOTH
async def test_names_are_cleaned_or_refused(node_url: str, subprotocol: str) -> None:
    """BL-135: control characters, marks that turn or hide text, NUL; what is left is shown, where something is."""
    for name, shown in CLEANED.items():
        async with await Stranger.open(node_url, subprotocol) as stranger:
            welcome = await stranger.ask("hello", name=name)
            assert welcome["name"] == shown
    async with await Stranger.open(node_url, subprotocol) as stranger:
        for name in NO_NAMES:
            assert (await stranger.ask("hello", name=name))["name"] == "NAME_REFUSED"
        assert (await stranger.ask("hello"))["name"] == "NAME_REFUSED"
        assert (await stranger.ask("hello", name="x" * 257))["name"] == "BAD_FIELD"
        assert (await stranger.ask("hello", name="Ada"))["name"] == "Ada"


async def test_names_that_are_no_text(node_url: str) -> None:
    """BL-135: cut sequences, lone surrogates, bytes."""
    hello = packed({"type": "hello", "request_id": "bad", "name": "@@@"})
    async with await Stranger.open(node_url) as stranger:
        for raw in (b"a\xff\xfe", b"ab\xc3", b"\xed\xa0\x80", b"\xe2\x82a"):
            assert await stranger.refusal(hello.replace(b"@@@", raw)) == ("NOT_DECODABLE", None, None)
        assert await stranger.refusal(packed({"type": "hello", "request_id": "bad", "name": b"Ada"})) == (
            "BAD_FIELD",
            "name",
            "bad",
        )
    async with await Stranger.open(node_url, JSON) as stranger:
        for text in ("\\ud800", "\\udc00\\ud800", "a\\udfff"):
            wire = f'{{"type":"hello","request_id":"bad","name":"{text}"}}'
            assert await stranger.refusal(wire) == ("NOT_DECODABLE", None, None)


async def test_tokens_are_never_shown(tmp_path: Path) -> None:
    """BL-160: right and wrong ones, in their place and elsewhere; in no error, close reason or log of any level."""
    said: list[str] = []
    async with own_node(tmp_path / "data", log_level="debug") as node:
        async with await Stranger.open(node.url) as stranger:
            right = (await stranger.ask("hello", name="Ada", client="x\n2026-11-30 forged\x1b[0m"))["token"]
        secret = right.rpartition(".")[2]
        wrong = right[: -len(secret)] + secret[::-1]
        for subprotocol in SUBPROTOCOLS:
            async with await Stranger.open(node.url, subprotocol) as stranger:
                hello: Message = {"type": "hello", "request_id": "r"}
                for message in (
                    {**hello, "token": [right]},
                    {**hello, "token": right, right: 1},
                    {**hello, "name": right},
                    {**hello, "client": right * 2, "token": right},
                    {"type": right, "request_id": "r"},
                    {"type": "ping", "request_id": f"{right} "},
                    {"type": "watch", "request_id": "r", "table": right},
                ):
                    await stranger.websocket.send(stranger.coded(message))
                    said.append(repr(await stranger.reply()))
                for _ in range(3):
                    said.append(repr(await stranger.ask("hello", token=wrong)))
                assert await stranger.closed() == CloseCode.TOKEN_REFUSED
                said.append(str(stranger.websocket.close_reason))
        async with await Stranger.open(node.url) as stranger:
            welcome = await stranger.ask("hello", token=right)
            assert welcome["token"] is None, "it is not told again"
            said.append(repr([welcome, await stranger.ask("join", table=TABLE, buy_in=CHIP)]))
            said.append(repr(await stranger.ask("hello", token=right)))
    said += node.output
    for each in said:
        assert secret not in each
        assert secret[::-1] not in each
    assert any("patron=" in line for line in node.output), "something was logged"
    assert not [line for line in node.output if line.startswith("2026-11-30 forged") or "\x1b" in line]
