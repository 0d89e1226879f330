"""Messages to frames and back, and what a stranger's frame comes to.

A request is decoded strictly: every frame is either exactly one typed request or one `BadMessage` whose code says which
rule it broke first. What a server sends is decoded leniently: what a newer version adds is passed over.
"""

import json
import math
import struct
from collections.abc import Callable
from typing import Any, Final, get_args

import msgpack
import msgspec
import msgspec.inspect as inspection
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from client_sdk.game.settlement import Result
from client_sdk.game.variants import Spot
from client_sdk.protocol import messages
from client_sdk.protocol.codec import (
    CODECS,
    JSON,
    MSGPACK,
    BadMessage,
    Codec,
    Frame,
    decode_event,
    decode_reply,
    decode_request,
)
from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import AMOUNT_MAX, REQUEST_BYTES_MAX, Message

SOME: Final = settings(max_examples=10, deadline=None, derandomize=True)
MANY: Final = settings(max_examples=150, deadline=None, derandomize=True)
BOTH: Final = pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
REQUESTS: Final = get_args(messages.AnyRequest)
EVENTS: Final = get_args(messages.AnyEvent)
REPLIES: Final = (
    messages.Welcome,
    messages.TablesPage,
    messages.Watching,
    messages.Left,
    messages.Receipt,
    messages.StatementPage,
    messages.HistoryPage,
    messages.Pong,
    messages.Error,
)
PLACE: Final[Message] = {
    "type": "place",
    "request_id": "r1",
    "table": "royal-1",
    "round": 7,
    "spot": "player",
    "chip": 100,
}
JOIN: Final[Message] = {"type": "join", "request_id": "r1", "table": "royal-1", "buy_in": 0}


def refusal(codec: Codec, frame: Frame) -> tuple[ErrorCode, str | None, str | None]:
    """The code, field and request_id with which a frame is refused."""
    with pytest.raises(BadMessage) as caught:
        decode_request(codec, frame)
    return caught.value.code, caught.value.field, caught.value.request_id


def packed(message: object) -> bytes:
    raw: bytes = msgpack.packb(message)
    return raw


def frames_of(message: Message) -> list[tuple[Codec, Frame]]:
    """The same message as a frame of each codec."""
    return [(MSGPACK, packed(message)), (JSON, json.dumps(message))]


# --- there and back ---------------------------------------------------------------------------------------------------


def values(kind: inspection.Type) -> st.SearchStrategy[Any]:
    """Every value that a field's type allows."""
    match kind:
        case inspection.BoolType():
            return st.booleans()
        case inspection.NoneType():
            return st.none()
        case inspection.IntType(gt=gt, ge=ge, le=le):
            least = -AMOUNT_MAX if gt is None and ge is None else ge if ge is not None else (gt or 0) + 1
            return st.integers(least, AMOUNT_MAX if le is None else le)
        case inspection.StrType(pattern=str(pattern)):
            return st.from_regex(pattern)
        case inspection.StrType(max_length=most):
            return st.text(max_size=min(most or 20, 20))
        case inspection.EnumType(cls=cls):
            return st.sampled_from(list(cls))
        case inspection.StructType(cls=cls):
            return structs(cls)
        case inspection.ListType(item_type=item):
            return st.lists(values(item), max_size=3)
        case inspection.DictType(key_type=key, value_type=value):
            return st.dictionaries(values(key), values(value), max_size=3)
        case inspection.UnionType(types=types):
            return st.one_of(*map(values, types))
    raise AssertionError(f"no strategy for {kind}")


def structs(kind: type[Any]) -> st.SearchStrategy[Any]:
    """Every message or part of a kind."""
    info = inspection.type_info(kind)
    assert isinstance(info, inspection.StructType)
    return st.builds(kind, **{field.name: values(field.type) for field in info.fields})


@BOTH
@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.__name__)
@SOME
@given(data=st.data())
def test_every_request_comes_back_as_it_went(codec: Codec, kind: type[Any], data: st.DataObject) -> None:
    request = data.draw(structs(kind))
    assert decode_request(codec, codec.encode(request)) == request


@BOTH
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@SOME
@given(data=st.data())
def test_every_event_comes_back_as_it_went(codec: Codec, kind: type[Any], data: st.DataObject) -> None:
    event = data.draw(structs(kind))
    assert decode_event(codec.decode(codec.encode(event))) == event


@BOTH
@pytest.mark.parametrize("kind", REPLIES, ids=lambda kind: kind.__name__)
@SOME
@given(data=st.data())
def test_every_reply_comes_back_as_it_went(codec: Codec, kind: type[Any], data: st.DataObject) -> None:
    reply = data.draw(structs(kind))
    assert decode_reply(codec.decode(codec.encode(reply)), kind) == reply


@SOME
@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_what_is_coded_twice_is_the_same(kind: type[Any], data: st.DataObject) -> None:
    """A node packs an event once and makes the JSON frame from the packed one."""
    event = data.draw(structs(kind))
    assert JSON.encode(MSGPACK.decode(MSGPACK.encode(event))) == JSON.encode(event)


@BOTH
def test_frames_are_of_the_kind_that_the_codec_says(codec: Codec) -> None:
    frame = codec.encode(messages.Ping(request_id="r1"))
    assert isinstance(frame, str) is codec.is_text


def test_json_is_plain_utf_8() -> None:
    assert JSON.encode(messages.Hello(request_id="r1", name="Zoë 🂡")) == (
        '{"type":"hello","request_id":"r1","name":"Zoë 🂡","token":null,"bot":false,"client":""}'
    )


def test_fields_with_a_default_may_be_left_out() -> None:
    for codec, frame in frames_of({"type": "hello", "request_id": "r1", "name": "Ada"}):
        assert decode_request(codec, frame) == messages.Hello(request_id="r1", name="Ada")


# --- frames that hold no message (BL-130, BL-131, BL-133, BL-134, BL-135) ---------------------------------------------


def nested(depth: int) -> bytes:
    return b"\x91" * depth + b"\x90"


def with_value(raw: bytes) -> bytes:
    """Pack a place whose `chip` is these bytes."""
    rest = packed({name: value for name, value in PLACE.items() if name != "chip"})
    assert rest[0] == 0x80 + len(PLACE) - 1, "a small map tells its size in its first byte"
    return bytes([rest[0] + 1]) + rest[1:] + packed("chip") + raw


NOT_MSGPACK: Final = {
    "empty": b"",
    "array32 of 4 billion": b"\xdd\xff\xff\xff\xff",
    "map32 of 4 billion": b"\xdf\xff\xff\xff\xff",
    "str32 of 4 billion": b"\xdb\xff\xff\xff\xff",
    "bin32 of 4 billion": b"\xc6\xff\xff\xff\xff",
    "ext32 of 4 billion": b"\xc9\xff\xff\xff\xff\x05",
    "array16 of 65535": b"\xdc\xff\xff",
    "never used byte": b"\xc1",
    "cut": packed(PLACE)[:-1],
    "two objects": packed(PLACE) + packed(PLACE),
    "one byte too many": packed(PLACE) + b"\x00",
    "nested 2000 deep": nested(2_000),
    "nested to the size of a frame": nested(REQUEST_BYTES_MAX - 1),
    "nested 2000 deep in a bet": with_value(nested(2_000)),
    "text with ff": packed(PLACE).replace(b"royal-1", b"royal\xff1"),
    "text cut within a character": packed({**PLACE, "table": "royal-é"}).replace("é".encode(), b"1\xc3"),
    "lone surrogate": packed({**PLACE, "table": "royal-€"}).replace("€".encode(), b"\xed\xa0\x80"),
    "overlong NUL": packed({**PLACE, "table": "royal-é"}).replace("é".encode(), b"\xc0\x80"),
    "timestamp of 3 bytes": with_value(b"\xc7\x03\xff\x00\x00\x00"),
    "timestamp of too many nanoseconds": with_value(b"\xd7\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
    "ext cut": with_value(b"\xd8\x05\x00"),
}


@pytest.mark.parametrize("frame", NOT_MSGPACK.values(), ids=NOT_MSGPACK)
def test_msgpack_that_is_none(frame: bytes) -> None:
    assert refusal(MSGPACK, frame) == (ErrorCode.NOT_DECODABLE, None, None)


@pytest.mark.parametrize("head", ["dd", "df", "db", "c6", "c9"])
def test_announced_elements_are_not_waited_for_nor_made_room_for(head: str) -> None:
    """BL-130: whatever is announced behind a good message is refused at once."""
    frame = packed(PLACE) + bytes.fromhex(head + "ffffffff")
    assert refusal(MSGPACK, frame)[0] is ErrorCode.NOT_DECODABLE
    assert refusal(MSGPACK, with_value(bytes.fromhex(head + "ffffffff")))[0] is ErrorCode.NOT_DECODABLE


PLACE_JSON: Final = json.dumps(PLACE)
NOT_JSON: Final = {
    "empty": "",
    "blank": "  ",
    "cut": PLACE_JSON[:-1],
    "two objects": PLACE_JSON + PLACE_JSON,
    "comma behind": PLACE_JSON[:-1] + ",}",
    "NaN": PLACE_JSON.replace("100", "NaN"),
    "Infinity": PLACE_JSON.replace("100", "Infinity"),
    "-Infinity": PLACE_JSON.replace("100", "-Infinity"),
    "leading zero": PLACE_JSON.replace("100", "0100"),
    "hexadecimal": PLACE_JSON.replace("100", "0x64"),
    "plus": PLACE_JSON.replace("100", "+100"),
    "single quotes": PLACE_JSON.replace('"', "'"),
    "lone surrogate": PLACE_JSON.replace("royal-1", "royal-\\ud800"),
    "lone surrogate as a key": PLACE_JSON.replace('"chip"', '"\\udfff"'),
    "reversed pair": PLACE_JSON.replace("royal-1", "\\udc00\\ud800"),
    "lone surrogate deep inside": PLACE_JSON.replace("100", '[[{"a":"\\ud800"}]]'),
    "control character": PLACE_JSON.replace("royal-1", "royal\n1"),
    "nested 4000 deep": "[" * 4_000 + "]" * 4_000,
    "objects nested 3000 deep": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "nested 4000 deep in a bet": PLACE_JSON.replace("100", "[" * 4_000 + "]" * 4_000),
    "byte order mark": "\ufeff" + PLACE_JSON,
}


@pytest.mark.parametrize("frame", NOT_JSON.values(), ids=NOT_JSON)
def test_json_that_is_none(frame: str) -> None:
    assert refusal(JSON, frame) == (ErrorCode.NOT_DECODABLE, None, None)


@BOTH
def test_the_other_kind_of_frame_is_refused_before_it_is_looked_at(codec: Codec) -> None:
    for frame in (b"", packed(PLACE)) if codec.is_text else ("", PLACE_JSON):
        assert refusal(codec, frame) == (ErrorCode.WRONG_FRAME, None, None)


@pytest.mark.parametrize("value", [None, True, 0, -1, 2**64 - 1, 1.5, math.nan, "hello", [], [PLACE], [[[]]]], ids=repr)
def test_a_message_is_a_map(value: object) -> None:
    assert refusal(MSGPACK, packed(value)) == (ErrorCode.NOT_A_MESSAGE, None, None)
    if not isinstance(value, float):
        assert refusal(JSON, json.dumps(value)) == (ErrorCode.NOT_A_MESSAGE, None, None)


@pytest.mark.parametrize(
    "frame",
    [packed(b"hello"), packed(msgpack.ExtType(5, b"odd")), packed(msgpack.Timestamp(1, 1)), nested(600)],
    ids=["bytes", "ext", "timestamp", "nested 600 deep"],
)
def test_other_msgpack_types_are_no_message(frame: bytes) -> None:
    assert refusal(MSGPACK, frame) == (ErrorCode.NOT_A_MESSAGE, None, None)


def as_map(*pairs: tuple[Any, Any]) -> bytes:
    """Pack a map from pairs, whatever its keys are."""
    return bytes(msgpack.Packer().pack_map_header(len(pairs))) + b"".join(
        packed(part) for pair in pairs for part in pair
    )


PLACE_PAIRS: Final = tuple(PLACE.items())


@pytest.mark.parametrize(
    "key", [0, -1, 2**63, b"chip", 1.5, math.nan, None, True, [], {}, msgpack.ExtType(1, b"")], ids=repr
)
def test_keys_are_texts(key: Any) -> None:
    """BL-133: also behind a whole message, and at any depth."""
    assert refusal(MSGPACK, as_map(*PLACE_PAIRS, (key, 1)))[0] is ErrorCode.NOT_A_MESSAGE
    deep = with_value(b"\x91" + as_map((key, 1)))
    assert refusal(MSGPACK, deep)[0] is ErrorCode.NOT_A_MESSAGE


def test_a_key_comes_once() -> None:
    """BL-133: neither the first nor the last value wins, and a spelling by escapes is the same key."""
    assert refusal(MSGPACK, as_map(*PLACE_PAIRS, ("chip", 100))) == (ErrorCode.NOT_A_MESSAGE, None, None)
    assert refusal(MSGPACK, with_value(as_map(("a", 1), ("a", 1))))[0] is ErrorCode.NOT_A_MESSAGE
    for twice in ('"chip":100}', '"\\u0063hip":100}', '"x":{"a":1,"a":1}}'):
        assert refusal(JSON, f"{PLACE_JSON[:-1]},{twice}") == (ErrorCode.NOT_A_MESSAGE, None, None)


def test_a_map_with_number_keys_can_be_packed_only_as_text() -> None:
    """BL-133: what we send can be read by anybody, ourselves too."""
    results = messages.Results(
        table="royal-1",
        round=1,
        outcome=None,
        bets={spot: messages.BetLine(stake=1, payout=1, commission=0, result=Result.PUSH) for spot in Spot},
        stack=1,
    )
    for codec in CODECS.values():
        assert list(codec.decode(codec.encode(results))["bets"]) == ["player", "banker", "tie"]


def test_a_good_message_after_a_bad_one_is_good() -> None:
    """BL-134: nothing of the bad one is kept."""
    for frame in [*NOT_MSGPACK.values(), as_map(*PLACE_PAIRS, ("chip", 100)), b"\x01"]:
        refusal(MSGPACK, frame)
        assert decode_request(MSGPACK, packed(PLACE)).request_id == "r1"
    for text in NOT_JSON.values():
        refusal(JSON, text)
        assert decode_request(JSON, PLACE_JSON).request_id == "r1"


# --- requests that do not fit -----------------------------------------------------------------------------------------

MADE_UP: Final = ["timer_end", "close", "deal", "settle", "phase", "skip", "reveal", "next"]
NOT_FROM_CLIENTS: Final = [str(kind.__struct_config__.tag) for kind in (*EVENTS, *REPLIES)]


@pytest.mark.parametrize("kind", [*MADE_UP, *NOT_FROM_CLIENTS, "", "Place", "place ", "PLACE", "act", "request"])
def test_types_that_no_request_has(kind: str) -> None:
    """BL-045, BL-052, BL-136: what only a server says, and what nobody says."""
    for codec, frame in frames_of({**PLACE, "type": kind}):
        assert refusal(codec, frame) == (ErrorCode.UNKNOWN_TYPE, "type", "r1")


@pytest.mark.parametrize("kind", [None, True, 1, 1.0, b"place", ["place"], {"type": "place"}], ids=repr)
def test_a_type_is_a_text(kind: object) -> None:
    assert refusal(MSGPACK, packed({**PLACE, "type": kind})) == (ErrorCode.UNKNOWN_TYPE, "type", "r1")


def test_a_type_is_there() -> None:
    for codec, frame in frames_of({"request_id": "r1"}):
        assert refusal(codec, frame) == (ErrorCode.UNKNOWN_TYPE, "type", "r1")
    assert refusal(MSGPACK, packed({})) == (ErrorCode.UNKNOWN_TYPE, "type", None)


ADDED: Final[Message] = {
    "payout": 1_000_000,
    "odds": 8,
    "balance": 10**9,
    "result": "win",
    "outcome": "player",
    "patron": "g0123456789abcdef",
    "seat": True,
    "account": 1,
    "token": "guest.g0.x",
    "stack": 1,
    "amount": 100,
    "": 1,
}


@pytest.mark.parametrize("name", ADDED)
def test_unknown_fields_are_refused(name: str) -> None:
    """BL-136, BL-159, BL-161: a field that means nothing here is a mistake, whoever's it is."""
    for codec, frame in frames_of({**PLACE, name: ADDED[name]}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, name or None, "r1")


def test_a_known_name_in_the_wrong_request_is_an_unknown_field() -> None:
    message = {"type": "ready", "request_id": "r1", "table": "royal-1", "round": 1, "chip": 100}
    for codec, frame in frames_of(message):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "chip", "r1")


@pytest.mark.parametrize(
    "name",
    ["x`chip", "`$.chip`", " - at `$.chip`", "$.chip", "a`b", "a-b", "a b", "7a", "\x1b[31m", "a\nb", "‮", "é", "ｃhip"],
)
def test_names_of_fields_are_not_believed(name: str) -> None:
    """What is told back is a plain name or nothing, whatever a stranger calls a field."""
    for codec, frame in frames_of({**PLACE, name: 1}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, None, "r1")


def test_long_names_of_fields_are_cut() -> None:
    for length in (1, 64, 65, 10_000):
        for codec, frame in frames_of({**PLACE, "x" * length: 1}):
            assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "x" * min(length, 64), "r1")


def test_texts_of_values_are_not_believed() -> None:
    for codec, frame in frames_of({**PLACE, "spot": "x` - at `$.chip`"}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "spot", "r1")


@pytest.mark.parametrize("name", [name for name in PLACE if name not in ("type", "request_id")])
def test_missing_fields_are_refused(name: str) -> None:
    for codec, frame in frames_of({key: value for key, value in PLACE.items() if key != name}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, name, "r1")


BAD_IDS: Final[list[Any]] = [
    "",
    " ",
    "a b",
    "a\n",
    "\n",
    "a\x00",
    "é",
    "x" * 65,
    "‮a",
    "a\u200d",
    "a\x7f",
    None,
    7,
    True,
    [],
    {},
]


@pytest.mark.parametrize("request_id", BAD_IDS, ids=repr)
def test_a_request_id_that_can_be_none_is_not_told_back(request_id: object) -> None:
    for codec, frame in frames_of({**PLACE, "request_id": request_id}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "request_id", None)


def test_a_request_is_not_taken_without_an_id() -> None:
    for codec, frame in frames_of({"type": "ping"}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "request_id", None)


@pytest.mark.parametrize(
    "table", [*BAD_IDS, "Royal-1", "-royal", "royal_1", "royal/1", "{t:royal-1}", "royal-1\x00", "ｒoyal"], ids=repr
)
def test_table_ids_are_of_few_letters(table: object) -> None:
    """No id reaches into another key of the store, or moves a line of a log."""
    for codec, frame in frames_of({**PLACE, "table": table}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "table", "r1")


@pytest.mark.parametrize("spot", ["Player", "PLAYER", "", "pair", "player\n", 0, None, True, ["player"], {"player": 1}])
def test_spots_are_the_three(spot: object) -> None:
    for codec, frame in frames_of({**PLACE, "spot": spot}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "spot", "r1")


@pytest.mark.parametrize("number", [-1, 2**53, 2**63, 1.0, 1.5, "7", None, True, [7]], ids=repr)
def test_round_numbers_are_whole(number: object) -> None:
    for codec, frame in frames_of({**PLACE, "round": number}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "round", "r1")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "x" * 257),
        ("name", 1),
        ("token", "x" * 4097),
        ("token", b"x"),
        ("bot", 1),
        ("bot", "true"),
        ("bot", None),
        ("client", "x" * 65),
        ("client", None),
    ],
    ids=repr,
)
def test_the_fields_of_hello(field: str, value: object) -> None:
    frame = packed({"type": "hello", "request_id": "r1", field: value})
    assert refusal(MSGPACK, frame) == (ErrorCode.BAD_FIELD, field, "r1")


# --- amounts (BL-137 to BL-141) ---------------------------------------------------------------------------------------

BAD_AMOUNTS: Final[dict[str, Any]] = {
    "negative": -1,
    "most negative": -(2**63),
    "fraction": 1.5,
    "tiny": 0.0000001,
    "least float": 5e-324,
    "whole float": 100.0,
    "minus zero": -0.0,
    "float beyond": 1e300,
    "2^53": 2**53,
    "2^53 + 1": 2**53 + 1,
    "2^63 - 1": 2**63 - 1,
    "2^63": 2**63,
    "2^64 - 1": 2**64 - 1,
    "text": "100",
    "text with exponent": "1e3",
    "empty text": "",
    "true": True,
    "false": False,
    "nil": None,
    "list": [],
    "list of one": [100],
    "map": {},
    "map with a number": {"amount": 100},
}
ONLY_MSGPACK: Final[dict[str, Any]] = {
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
    "bytes": b"100",
    "extension": msgpack.ExtType(5, b"\x00\x64"),
    "timestamp": msgpack.Timestamp(100),
}
ONLY_JSON: Final = {
    "whole with point": "100.0",
    "exponent": "1e2",
    "minus zero": "-0.0",
    "beyond a double": "1e400",
    "below a double": "-1e400",
    "30 digits": "9" * 30,
    "4000 digits": "9" * 4_000,
    "more digits than Python reads": "9" * 5_000,
    "a frame full of digits": "9" * 16_000,
    "minus 5000 digits": "-" + "9" * 5_000,
}
AMOUNT_FIELDS: Final = pytest.mark.parametrize(
    ("message", "field"), [(PLACE, "chip"), (JOIN, "buy_in")], ids=["chip", "buy_in"]
)


@AMOUNT_FIELDS
@pytest.mark.parametrize("amount", BAD_AMOUNTS.values(), ids=BAD_AMOUNTS)
def test_amounts_that_are_none(message: Message, field: str, amount: object) -> None:
    for codec, frame in frames_of({**message, field: amount}):
        assert refusal(codec, frame) == (ErrorCode.BAD_AMOUNT, field, "r1")


@AMOUNT_FIELDS
@pytest.mark.parametrize("amount", ONLY_MSGPACK.values(), ids=ONLY_MSGPACK)
def test_amounts_that_only_msgpack_can_say(message: Message, field: str, amount: object) -> None:
    assert refusal(MSGPACK, packed({**message, field: amount})) == (ErrorCode.BAD_AMOUNT, field, "r1")


@AMOUNT_FIELDS
@pytest.mark.parametrize("text", ONLY_JSON.values(), ids=ONLY_JSON)
def test_amounts_that_only_json_can_say(message: Message, field: str, text: str) -> None:
    """An escape elsewhere in the frame, which makes the codec look twice, changes nothing."""
    for request_id in ("r1", "\\u00721"):
        frame = json.dumps({**message, field: "@"}).replace('"@"', text).replace("r1", request_id)
        assert refusal(JSON, frame) == (ErrorCode.BAD_AMOUNT, field, "r1")


@pytest.mark.parametrize("digits", [20, 21, 5_000])
@pytest.mark.parametrize("sign", ["", "-"])
def test_any_number_of_digits_is_a_number(sign: str, digits: int) -> None:
    """A long one is out of bounds, or of the wrong type, as a short one is; never undecodable."""
    number = sign + "9" * digits
    places = {"round": '"round": 7', "table": '"table": "royal-1"', "spot": '"spot": "player"'}
    for field, said in places.items():
        frame = PLACE_JSON.replace(said, f'"{field}": {number}')
        assert refusal(JSON, frame) == (ErrorCode.BAD_FIELD, field, "r1")
    for frame in (f'{PLACE_JSON[:-1]}, "x": {number}}}', f'{PLACE_JSON[:-1]}, "x": [{{"a": {number}}}]}}'):
        assert refusal(JSON, frame) == (ErrorCode.BAD_FIELD, "x", "r1")
    assert refusal(JSON, PLACE_JSON.replace('"r1"', number)) == (ErrorCode.BAD_FIELD, "request_id", None)
    assert refusal(JSON, PLACE_JSON.replace('"place"', number)) == (ErrorCode.UNKNOWN_TYPE, "type", "r1")
    assert refusal(JSON, number) == (ErrorCode.NOT_A_MESSAGE, None, None)


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63), AMOUNT_MAX, 0, -1])
def test_what_msgpack_can_say_json_says_exactly(number: int) -> None:
    assert JSON.decode(json.dumps({"x": number})) == {"x": number} == MSGPACK.decode(packed({"x": number}))


def test_minus_nothing_is_nothing() -> None:
    for text in ("0", "-0"):
        request = decode_request(JSON, json.dumps({**JOIN, "buy_in": "@"}).replace('"@"', text))
        assert isinstance(request, messages.Join)
        assert request.buy_in == 0


def test_single_precision_is_a_float_too() -> None:
    for number in (1.0, 100.0, math.nan, math.inf):
        assert refusal(MSGPACK, with_value(b"\xca" + struct.pack(">f", number)))[0] is ErrorCode.BAD_AMOUNT


@pytest.mark.parametrize(
    "width", [b"\xcc\x64", b"\xcd\x00\x64", b"\xce\x00\x00\x00\x64", b"\xcf" + (100).to_bytes(8, "big")]
)
def test_any_width_of_a_whole_number_is_the_number(width: bytes) -> None:
    request = decode_request(MSGPACK, with_value(width))
    assert request == decode_request(MSGPACK, packed(PLACE))


def test_zero_is_no_chip_but_a_buy_in() -> None:
    for codec, frame in frames_of({**PLACE, "chip": 0}):
        assert refusal(codec, frame) == (ErrorCode.BAD_AMOUNT, "chip", "r1")
    for codec, frame in frames_of(JOIN):
        assert decode_request(codec, frame) == messages.Join(request_id="r1", table="royal-1")


def test_the_greatest_amount() -> None:
    for codec, frame in frames_of({**PLACE, "chip": AMOUNT_MAX}):
        request = decode_request(codec, frame)
        assert isinstance(request, messages.Place)
        assert request.chip == AMOUNT_MAX


def test_deep_nesting_in_an_amount_is_a_bad_amount() -> None:
    """BL-131: what decodes well and is deep is not walked through."""
    assert refusal(MSGPACK, with_value(nested(600))) == (ErrorCode.BAD_AMOUNT, "chip", "r1")
    assert refusal(JSON, PLACE_JSON.replace("100", "[" * 600 + "]" * 600)) == (ErrorCode.BAD_AMOUNT, "chip", "r1")


# --- which refusal comes first ----------------------------------------------------------------------------------------


def test_the_first_rule_that_is_broken_is_named() -> None:
    """Each frame breaks its own rule and all later ones."""
    amount_first: Message = {"type": "place", "request_id": "r1", "chip": -1, "spot": "pair", "x": 1}
    assert refusal(MSGPACK, "{") == (ErrorCode.WRONG_FRAME, None, None)
    assert refusal(MSGPACK, as_map(("type", "deal"), ("type", "deal")) + b"\x00")[0] in (
        ErrorCode.NOT_DECODABLE,
        ErrorCode.NOT_A_MESSAGE,
    )
    assert refusal(MSGPACK, b"\xdd\xff\xff\xff\xff") == (ErrorCode.NOT_DECODABLE, None, None)
    assert refusal(MSGPACK, as_map(("type", "deal"), ("type", "deal"))) == (ErrorCode.NOT_A_MESSAGE, None, None)
    assert refusal(MSGPACK, packed({**amount_first, "type": "deal"})) == (ErrorCode.UNKNOWN_TYPE, "type", "r1")
    assert refusal(MSGPACK, packed(amount_first)) == (ErrorCode.BAD_AMOUNT, "chip", "r1")
    field_first = {"type": "place", "request_id": "r1", "x": 1, "chip": -1}
    assert refusal(MSGPACK, packed(field_first)) == (ErrorCode.BAD_FIELD, "x", "r1")


def test_fields_are_judged_in_their_order_and_then_the_missing_ones() -> None:
    """Those that are there as they stand in the message, those that are not as the request lists them."""
    named = {name: "?" for name in PLACE if name not in ("type", "request_id")}
    for order in (list(named), list(reversed(named))):
        message = {"type": "place", "request_id": "r1", **dict.fromkeys(order, "?")}
        for codec, frame in frames_of(message):
            assert refusal(codec, frame)[1] == order[0]
    for present in range(len(named)):
        message = dict(list(PLACE.items())[: 2 + present])
        for codec, frame in frames_of(message):
            assert refusal(codec, frame)[1] == list(named)[present]
    for codec, frame in frames_of({"chip": -1, "type": "place", "request_id": "r1"}):
        assert refusal(codec, frame) == (ErrorCode.BAD_AMOUNT, "chip", "r1")


def test_lengths_count_characters() -> None:
    """Code points, however many bytes each has."""
    for codec, frame in frames_of({"type": "hello", "request_id": "r1", "client": "🂡" * 64}):
        assert isinstance(decode_request(codec, frame), messages.Hello)
    for codec, frame in frames_of({"type": "hello", "request_id": "r1", "client": "🂡" * 65}):
        assert refusal(codec, frame) == (ErrorCode.BAD_FIELD, "client", "r1")


# --- any bytes at all -------------------------------------------------------------------------------------------------

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@MANY
@given(frame=st.binary(max_size=200))
@example(frame=b"\xc7\x00\xff")
def test_any_bytes_are_a_request_or_one_refusal(frame: bytes) -> None:
    assert is_taken_or_refused(lambda: decode_request(MSGPACK, frame))


@MANY
@given(frame=st.text(max_size=200) | anything.map(lambda value: msgspec.json.encode(str(value)).decode()))
def test_any_text_is_a_request_or_one_refusal(frame: str) -> None:
    assert is_taken_or_refused(lambda: decode_request(JSON, frame))


@MANY
@given(changes=st.dictionaries(st.sampled_from([*PLACE, "name", "token", "buy_in", "x"]), anything, max_size=3))
def test_any_change_of_a_bet_is_a_request_or_one_refusal(changes: Message) -> None:
    assert is_taken_or_refused(lambda: decode_request(MSGPACK, packed({**PLACE, **changes})))


@MANY
@given(data=st.data(), kind=st.sampled_from(REQUESTS))
def test_any_byte_changed_is_a_request_or_one_refusal(data: st.DataObject, kind: type[Any]) -> None:
    frame = bytearray(packed(msgspec.to_builtins(data.draw(structs(kind)))))
    frame[data.draw(st.integers(0, len(frame) - 1))] = data.draw(st.integers(0, 255))
    assert is_taken_or_refused(lambda: decode_request(MSGPACK, bytes(frame)))


def is_taken_or_refused(decode: Callable[[], messages.AnyRequest]) -> bool:
    try:
        return isinstance(decode(), REQUESTS)
    except BadMessage as bad:
        return str(bad).isprintable()


# --- what servers send ------------------------------------------------------------------------------------------------

IDLED: Final = {"type": "table_idled", "table": "royal-1", "seq": 3, "round": 2}


def test_fields_of_a_newer_server_are_passed_over() -> None:
    """BL-136: in a message and in its parts."""
    assert decode_event({**IDLED, "weather": {"rain": [1, 2.5]}}) == messages.TableIdled(
        table="royal-1", seq=3, round=2
    )
    lines = {"tie": {"stake": 1, "payout": 0, "commission": 0, "result": "lose", "capped": 0, "luck": "bad"}}
    results = {"type": "results", "table": "royal-1", "round": 2, "outcome": "player", "bets": lines, "stack": 5}
    assert isinstance(decode_event(results), messages.Results)
    pong = decode_reply({"type": "ok", "request_id": "r1", "at_ms": 5, "zone": "UTC"}, messages.Pong)
    assert pong == messages.Pong(request_id="r1", at_ms=5)


@pytest.mark.parametrize(
    "message",
    [
        {**IDLED, "type": "thunder"},
        {"type": "table_idled", "table": "royal-1", "seq": 3},
        {**IDLED, "seq": "3"},
        {**IDLED, "seq": 3.5},
        {},
    ],
    ids=["unknown type", "missing field", "text for a number", "fraction", "nothing"],
)
def test_an_event_that_this_version_does_not_know_is_said_to_be_one(message: Message) -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_event(message)


def test_a_reply_of_another_shape_is_said_to_be_one() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode_reply({"type": "ok", "request_id": "r1"}, messages.Pong)
    with pytest.raises(msgspec.ValidationError):
        decode_reply({"type": "error", "request_id": "r1", "at_ms": 1}, messages.Pong)


def test_what_a_server_sends_has_text_keys_too() -> None:
    with pytest.raises(BadMessage) as caught:
        MSGPACK.decode(as_map((1, 2)))
    assert caught.value.code is ErrorCode.NOT_A_MESSAGE


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_a_refusal_says_nothing_of_values() -> None:
    """BL-160: a token in a message that can't be read is not in what is said about it."""
    token = "guest.g0123456789abcdef.SECRET-SECRET-SECRET"
    message: Message = {"type": "hello", "request_id": "r1", "token": token}
    bad: list[Message] = [
        {**message, "bot": token},
        {**message, "client": token * 2},
        {**message, token: 1},
        {**message, "name": [token]},
        {**message, "token": token * 200},
        {**message, "type": token},
        {**message, "request_id": [token]},
    ]
    for each in bad:
        for codec, frame in frames_of(each):
            with pytest.raises(BadMessage) as caught:
                decode_request(codec, frame)
            error = caught.value
            assert "SECRET" not in f"{error} {error!r} {error.field} {error.__cause__}"
            is_alone = error.__context__ is None or error.__suppress_context__
            assert is_alone, "a traceback would show the sentence that quotes the value"
