"""PROTOCOL.md says what the code does: its tables are compared with the code, and its examples are decoded and run."""

import contextlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, Final, get_args

import msgpack
import msgspec
import msgspec.inspect as inspection
import pytest

from client_sdk import checks
from client_sdk.game import fairness, merkle, tableau
from client_sdk.game.cards import card_of_index
from client_sdk.game.derived_roads import DerivedRoad
from client_sdk.game.settlement import Result
from client_sdk.game.variants import Spot
from client_sdk.protocol import messages
from client_sdk.protocol.codec import CODECS, FIELD_CHARS_MAX, JSON, MSGPACK, decode_event, decode_request
from client_sdk.protocol.errors import RECONNECTABLE_RANGE, CloseCode, ErrorCode, may_reconnect
from server import auth, buckets, connection, dealer, departures, desk, gateway, hub, outlet
from server.settings import DoorLimits
from server.store import tables
from server.table import machine, roads

ROOT: Final = Path(__file__).resolve().parents[3]
TEXT: Final = (ROOT / "client_sdk" / "protocol" / "PROTOCOL.md").read_text()
ACTS_LUA: Final = (ROOT / "server" / "store" / "lua" / "acts.lua").read_text()
STRUCTS: Final = [
    value
    for value in vars(messages).values()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not msgspec.Struct
]
REQUESTS: Final = get_args(messages.AnyRequest)
REPLIES: Final[dict[str, type[msgspec.Struct]]] = {
    "`ok` to `hello`": messages.Welcome,
    "`ok` to `refresh`": messages.Refreshed,
    "`ok` to `list_tables`": messages.TablesPage,
    "`ok` to `watch` and `join`": messages.Watching,
    "`ok` to `leave` and `unwatch`": messages.Left,
    "`ok` to an act": messages.Receipt,
    "`ok` to `cut`": messages.CutAccepted,
    "`ok` to `list_cuts`": messages.CutsPage,
    "`ok` to `recall_shoe`": messages.ShoeRecalled,
    "`ok` to `statement`": messages.StatementPage,
    "`ok` to `history`": messages.HistoryPage,
    "`ok` to `rounds`": messages.RoundsPage,
    "`ok` to `limits` and `set_limits`": messages.LimitsNow,
    "`ok` to `ping`": messages.Pong,
    "`error`": messages.Error,
}
BASES: Final = {
    messages.Request: "every request",
    messages.Act: "every act",
    messages.Reply: "every reply",
    messages.Event: "every numbered event",
}


def section(title: str) -> str:
    """The text below a heading, up to the next heading of the same level or a higher one."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,2}} |^\1 |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found is not None, f"no section {title}"
    return found[2]


def rows(text: str, heading: str) -> list[list[str]]:
    """The rows of the one table in a text that has this heading row."""
    lines = text.splitlines()
    start = lines.index(heading) + 2
    found = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    return found


def tag_of(kind: type[msgspec.Struct]) -> str:
    return str(kind.__struct_config__.tag)


# --- messages ---------------------------------------------------------------------------------------------------------


def notation(kind: inspection.Type) -> str:
    """A field's type as the page writes it."""
    match kind:
        case inspection.BoolType():
            return "bool"
        case inspection.IntType(gt=None, ge=None, le=None):
            return "int"
        case inspection.IntType(gt=gt, ge=ge, le=messages.AMOUNT_MAX):
            return f"int >= {ge if ge is not None else (gt or 0) + 1}"
        case inspection.IntType(ge=int(least), le=int(most)):
            return f"int {least} to {most}"
        case inspection.StrType(pattern=str(pattern)):
            ids = {"request_id": messages.RequestId, "table_id": messages.TableId, "line_id": messages.LineId}
            ids["cut"] = messages.CutHex
            return next(name for name, form in ids.items() if form.__metadata__[0].pattern == pattern)  # type: ignore[attr-defined]
        case inspection.StrType(max_length=most):
            return "text" if most is None else f"text <= {most}"
        case inspection.EnumType(cls=cls):
            return enum_name(cls)
        case inspection.StructType(cls=cls):
            return cls.__name__
        case inspection.ListType(item_type=item):
            return f"[{notation(item)}]"
        case inspection.DictType(key_type=key, value_type=value):
            return f"{{{notation(key)}: {notation(value)}}}"
        case inspection.UnionType(types=types):
            (one,) = (kind for kind in types if not isinstance(kind, inspection.NoneType))
            return f"{notation(one)}?"
    raise AssertionError(f"the page has no notation for {kind}")


def enum_name(kind: type[Enum]) -> str:
    """`DerivedRoad` is `derived_road` on the page."""
    return re.sub(r"(?<=.)(?=[A-Z])", "_", kind.__name__).lower()


def own_fields(kind: type[msgspec.Struct]) -> list[inspection.Field]:
    """The fields that a struct adds to the one it is built on."""
    info = inspection.type_info(kind)
    assert isinstance(info, inspection.StructType)
    inherited = set(kind.__mro__[1].__struct_fields__) if issubclass(kind.__mro__[1], msgspec.Struct) else set()
    return [field for field in info.fields if field.name not in inherited]


def written(kind: type[msgspec.Struct], label: str, *, with_default: bool) -> list[list[str]]:
    """The rows that the page must have for a struct, without the meanings."""
    found = []
    for field in own_fields(kind):
        row = [label, f"`{field.name}`", f"`{notation(field.type)}`"]
        if with_default:
            row.append("" if field.required else f"`{json.dumps(field.default)}`")
        found.append(row)
        label = ""
    return found or [[label, "", "", *([""] if with_default else [])]]


def assert_documented(title: str, heading: str, kinds: dict[type[msgspec.Struct], str], *, with_default: bool) -> None:
    expected = [row for kind, label in kinds.items() for row in written(kind, label, with_default=with_default)]
    found = rows(section(title), heading)
    assert [row[:-1] for row in found] == expected
    assert all(row[-1] for row in found), "every field has a meaning"


def test_requests() -> None:
    labels = {kind: f"`{tag_of(kind)}`" for kind in REQUESTS}
    acts = {kind: label for kind, label in labels.items() if issubclass(kind, messages.Act)}
    kinds: dict[type[msgspec.Struct], str] = {messages.Request: BASES[messages.Request]}
    kinds |= {kind: label for kind, label in labels.items() if kind not in acts}
    kinds |= {messages.Act: BASES[messages.Act], **acts}
    assert_documented("Requests", "| message | field | type | default | meaning |", kinds, with_default=True)


def test_replies() -> None:
    kinds: dict[type[msgspec.Struct], str] = {messages.Reply: BASES[messages.Reply]}
    kinds |= {kind: label for label, kind in REPLIES.items()}
    assert_documented("Replies", "| message | field | type | meaning |", kinds, with_default=False)


def test_numbered_events() -> None:
    events = {kind: f"`{tag_of(kind)}`" for kind in get_args(messages.AnyNumbered)}
    kinds = {messages.Event: BASES[messages.Event], **events}
    assert_documented("Numbered events", "| message | field | type | meaning |", kinds, with_default=False)


def test_unnumbered_events() -> None:
    kinds = {kind: f"`{tag_of(kind)}`" for kind in get_args(messages.AnyUnnumbered)}
    assert_documented("Unnumbered events", "| message | field | type | meaning |", kinds, with_default=False)


def notices() -> list[type[msgspec.Struct]]:
    """The kinds of notice."""
    return list(get_args(messages.AnyNotice))


def test_notices() -> None:
    kinds = {kind: f"`{tag_of(kind)}`" for kind in notices()}
    assert_documented("Notices", "| message | field | type | meaning |", kinds, with_default=False)
    assert {tag_of(kind) for kind in notices()} == messages.NOTICE_TYPES


def parts() -> list[type[msgspec.Struct]]:
    """The structs that are no message of their own."""
    return [kind for kind in STRUCTS if kind.__struct_config__.tag is None and kind not in BASES]


def test_parts() -> None:
    kinds = {kind: f"`{kind.__name__}`" for kind in parts()}
    assert_documented("Parts", "| part | field | type | meaning |", kinds, with_default=False)


def test_no_struct_is_left_out() -> None:
    """What the other tests look up is all that the module defines."""
    known = {*REQUESTS, *REPLIES.values(), *get_args(messages.AnyEvent), *notices(), *parts(), *BASES}
    assert set(STRUCTS) == known
    assert set(get_args(messages.AnyEvent)) == {*get_args(messages.AnyNumbered), *get_args(messages.AnyUnnumbered)}


def test_what_the_node_sends_holds_every_field() -> None:
    assert not [kind for kind in STRUCTS if kind.__struct_config__.omit_defaults or kind.__struct_config__.array_like]


def test_enumerations() -> None:
    table = dict(rows(section("17 All messages"), "| type | means |"))
    for info in map(inspection.type_info, (Spot, tableau.Side, tableau.Outcome, Result, DerivedRoad)):
        assert isinstance(info, inspection.EnumType)
        values = re.findall(r"`(\w+)`", table[f"`{enum_name(info.cls)}`"])
        assert values == [member.value for member in info.cls]


# --- codes and limits -------------------------------------------------------------------------------------------------


def test_error_codes() -> None:
    found = rows(section("18 Error codes"), "| code | name | retry | meaning |")
    expected = [[str(int(code)), f"`{code.name}`", "yes" if code.is_retryable else "no"] for code in ErrorCode]
    assert [row[:3] for row in found] == expected
    assert all(row[3] for row in found)


def test_close_codes() -> None:
    found = rows(section("19 Close codes"), "| code | name | come back | meaning |")
    expected = [[str(int(code)), f"`{code.name}`", "yes" if may_reconnect(code) else "no"] for code in CloseCode]
    assert [row[:3] for row in found] == expected
    assert f"{RECONNECTABLE_RANGE.start}-{RECONNECTABLE_RANGE.stop - 1} mean" in section("19 Close codes")
    standard = rows(section("19 Close codes"), "| code | come back | when |")
    assert [row[:2] for row in standard] == [
        [row[0], "yes" if may_reconnect(int(row[0])) else "no"] for row in standard
    ]


def lua_limit(script: str, name: str) -> int:
    """A limit that a script names."""
    source = (ROOT / "server" / "store" / "lua" / f"{script}.lua").read_text()
    found = re.search(rf"^local {name} = (\d+)", source, re.MULTILINE)
    assert found is not None
    return int(found[1])


def acts_max() -> int:
    return lua_limit("acts", "ACTS_MAX")


def test_limits() -> None:
    found = {label: int(value.replace(",", "")) for label, value in rows(section("20 Limits"), "| limit | value |")}
    assert found == {
        "bytes of one message to the node": messages.REQUEST_BYTES_MAX,
        "greatest amount": messages.AMOUNT_MAX,
        "ms from the connection to an accepted `hello`": DoorLimits().hello_ms,
        "messages that can't be read, until the close": connection.BAD_MESSAGES_MAX,
        "refused tokens, until the close": connection.BAD_TOKENS_MAX,
        "characters of a name": auth.NAME_CHARS_MAX,
        "requests refused as too fast beyond those taken, until the close": connection.TOO_FAST_MAX,
        "requests of one patron in a second": DoorLimits().patron_requests_per_s,
        "connections of one patron": DoorLimits().connections_per_patron,
        "connections of one address": DoorLimits().connections_per_address,
        "new connections of one address in a second": DoorLimits().address_opens_per_s,
        "new guests of one address in a second": DoorLimits().address_guests_per_s,
        "seconds' worth that may come in a burst": buckets.BURST_S,
        "tables that one connection follows": connection.TABLES_FOLLOWED_MAX,
        "tables in a page of the lobby": tables.TABLES_PAGE_MAX,
        "lines of a patron's statement that are kept, about": lua_limit("_wallet", "LEDGER_MAX"),
        "rounds of a patron's history that are kept, about": lua_limit("_wallet", "ROUNDS_MAX"),
        "finished rounds of a table that are kept, about": lua_limit("finish_round", "ROUNDS_MAX"),
        "acts of one connection under way": desk.ACTS_MAX,
        "acts of one patron in one round of a table": acts_max(),
        "buy-ins of one patron at a table whose ids are kept": lua_limit("give_buy_in", "REQUESTS_KEPT"),
        "leaves of one patron at a table whose ids are kept": lua_limit("leave", "LEAVES_KEPT"),
        "cuts in one shoe": tables.CUTS_MAX,
        "shoes of a table that are kept once they have ended": lua_limit("_table", "SHOES_KEPT"),
        "ms without a new seat before betting may close early": dealer.NEW_SEAT_MS,
        "rounds on the roads of a session": roads.SESSION_ROUNDS,
        "ms that a card is sent ahead of its `show_at_ms`": machine.LEAD_MS_MAX,
        "rounds without a bet until a seat is freed": departures.IDLE_ROUNDS,
        "seats up to which `crowd` lists each": tables.SEATS_SHOWN_MAX,
        "bytes that may wait for a slow reader": DoorLimits().outbox_bytes_max,
        "ms for a slow reader to take them": hub.DRAIN_MS_MAX,
        "missed events that `resumed` can bring, about": hub.LAG_PAGES_MAX * tables.EVENTS_PAGE_MAX,
        "s between two pings of the node": gateway.PING_INTERVAL_S,
        "s to wait for the pong": gateway.PING_TIMEOUT_S,
    }


@pytest.mark.parametrize(
    ("sentence", "value"),
    [
        (r"at most ([\d,]+) bytes", messages.REQUEST_BYTES_MAX),
        (r"a WebSocket ping every (\d+) seconds", gateway.PING_INTERVAL_S),
        (r"no pong comes within (\d+)", gateway.PING_TIMEOUT_S),
        (r"accepted within (\d+) seconds of the handshake", DoorLimits().hello_ms // 1000),
        (r"cut at (\d+) characters", FIELD_CHARS_MAX),
        (r"The (\d+)th message of a connection that can't be read", connection.BAD_MESSAGES_MAX),
        (r"follows at most (\d+) tables", connection.TABLES_FOLLOWED_MAX),
        (r"1 to (\d+) characters must be left", auth.NAME_CHARS_MAX),
        (r"in the order of their ids, at most (\d+)", tables.TABLES_PAGE_MAX),
        (r"Without a bet\*\* for (\d+) rounds", departures.IDLE_ROUNDS),
        (r"in the last (\d+) seconds", dealer.NEW_SEAT_MS // 1000),
        (r"session of (\d+) rounds", roads.SESSION_ROUNDS),
        (r"sent up to (\d+) ms before it", machine.LEAD_MS_MAX),
        (r"A patron has (\d+) acts in a round", acts_max()),
        (r"Some ([\d,]+) lines of a patron are kept", lua_limit("_wallet", "LEDGER_MAX")),
        (r"Some ([\d,]+) rounds of a patron are kept", lua_limit("_wallet", "ROUNDS_MAX")),
        (r"Some ([\d,]+) rounds of a table are kept", lua_limit("finish_round", "ROUNDS_MAX")),
        (r"newest (\d+) buy-ins at each table", lua_limit("give_buy_in", "REQUESTS_KEPT")),
        (r"newest (\d+) at each table are kept", lua_limit("leave", "LEAVES_KEPT")),
        (r"may have (\d+) acts under way", desk.ACTS_MAX),
        (r"A shoe takes ([\d,]+) cuts", tables.CUTS_MAX),
        (r"The newest (\d+) of a table are kept, with their cuts", lua_limit("_table", "SHOES_KEPT")),
        (r"puts (\d+) to 32 bytes", messages.CUT_BYTES_MIN),
        (r"puts 8 to (\d+) bytes", messages.CUT_BYTES_MAX),
        (r"more than ([\d,]+) bytes wait", DoorLimits().outbox_bytes_max),
        (r"has not within (\d+) seconds", hub.DRAIN_MS_MAX // 1000),
        (r"is not taken within (\d+) more", outlet.CUT_AFTER_MS // 1000),
        (r"lists up to (\d+) seats", tables.SEATS_SHOWN_MAX),
    ],
)
def test_limits_in_the_text(sentence: str, value: int) -> None:
    found = re.search(sentence, " ".join(TEXT.split()))
    assert found is not None
    assert int(found[1].replace(",", "")) == value


def test_subprotocols_and_version() -> None:
    found = rows(section("1 Connection"), "| subprotocol | frames | for |")
    assert [row[0] for row in found] == [f"`{name}`" for name in CODECS]
    assert [row[1].startswith("text") for row in found] == [codec.is_text for codec in CODECS.values()]
    assert f"with `protocol`, now {messages.PROTOCOL_VERSION}," in section("21 Versions")


def test_every_code_that_the_text_names_exists() -> None:
    named = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", TEXT))
    assert named <= {*ErrorCode.__members__, *CloseCode.__members__}


# --- the order of refusals --------------------------------------------------------------------------------------------


def lua_refusals(function: str) -> list[str]:
    """The refusals in one function of the script that decides acts, in the order of its branches."""
    found = re.search(rf"^(?:local )?function {re.escape(function)}\(.*?^end", ACTS_LUA, re.MULTILINE | re.DOTALL)
    assert found is not None
    names = re.findall(r"'([A-Z_]+)'", found[0])
    return [name for name in dict.fromkeys(names) if name in ErrorCode.__members__]


def codes_in(cell: str) -> list[str]:
    return re.findall(r"`(\w+)`", cell)


def test_refusals_of_acts_are_in_the_order_checked() -> None:
    found = rows(section("8 Acts"), "| act | what it does | refused, in the order checked |")
    assert [row[0] for row in found] == [f"`{tag_of(kind)}`" for kind in get_args(messages.AnyAct)]
    for act, _, refusals in found:
        verb = act.strip("`")
        assert codes_in(refusals) == lua_refusals(f"verbs.{verb}"), verb


def test_refusals_of_all_acts_are_in_the_order_checked() -> None:
    found = {row[0]: codes_in(row[1]) for row in rows(section("8 Acts"), "| where | refused, in the order checked |")}
    assert found["at the connection"] == ["HELLO_FIRST", "ROLE_FORBIDS", "NOT_WATCHING", "BUSY"]
    assert found["at the table, not kept"] == lua_refusals("answer_to")
    assert found["at the table, kept under the request_id"] == lua_refusals("decide")


def test_refusals_of_other_requests_are_listed_for_each() -> None:
    found = [row[0] for row in rows(section("8 Acts"), "| request | refused, in the order checked |")]
    others = [kind for kind in REQUESTS if not issubclass(kind, messages.Act)]
    assert found == [f"`{tag_of(kind)}`" for kind in others]


# --- examples ---------------------------------------------------------------------------------------------------------


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def json_messages() -> Iterator[dict[str, Any]]:
    """Every message of the JSON examples in order."""
    for block in blocks("json"):
        rest = block.strip()
        while rest:
            message, end = json.JSONDecoder().raw_decode(rest)
            yield message
            rest = rest[end:].strip()


def unpacked_hex() -> list[bytes]:
    return [bytes.fromhex(block) for block in blocks("hex")]


def test_the_first_message_is_the_same_in_both_codecs() -> None:
    hello = next(json_messages())
    packed = unpacked_hex()[0]
    assert packed == msgpack.packb(hello)
    assert f"{len(packed)} bytes" in section("3 First steps")
    assert decode_request(MSGPACK, packed) == decode_request(JSON, json.dumps(hello))
    assert decode_request(MSGPACK, packed) == messages.Hello(request_id=hello["request_id"], name="Ada")


def test_the_ping_in_bytes() -> None:
    _, packed, pong = unpacked_hex()
    ping = decode_request(MSGPACK, packed)
    assert ping == messages.Ping(request_id=ping.request_id)
    welcome = list(json_messages())[1]
    assert pong == MSGPACK.encode(messages.Pong(request_id=ping.request_id, at_ms=welcome["at_ms"]))


def test_no_request_id_of_the_examples_comes_twice() -> None:
    """One prefix, and a counter behind it: what is copied from the page is safe to send."""
    in_json = [message["request_id"] for message in json_messages() if "request_id" in message]
    in_bytes = decode_request(MSGPACK, unpacked_hex()[1]).request_id
    assert in_json[::2] == in_json[1::2], "each request is followed by its reply"
    prefix, _, number = in_json[0].partition("-")
    used = sorted([*in_json[::2], in_bytes])
    assert used == [f"{prefix}-{n}" for n in range(int(number), int(number) + len(used))]
    assert len(prefix) >= 8


def exact(message: dict[str, Any], kind: type[msgspec.Struct]) -> msgspec.Struct:
    """Type a message that must have exactly the fields of its kind, in all its parts."""
    typed: msgspec.Struct = msgspec.convert(message, kind)
    assert msgspec.to_builtins(typed) == message, kind
    return typed


def typed_examples() -> list[msgspec.Struct]:
    """The examples as typed values; each reply is of the kind that its request gets."""
    answers: dict[str, type[msgspec.Struct]] = {}
    typed: list[msgspec.Struct] = []
    for message in json_messages():
        if message["type"] == "ok":
            typed.append(exact(message, answers[message["request_id"]]))
        elif "request_id" in message:
            request = decode_request(JSON, json.dumps(message))
            match request:
                case messages.Hello():
                    answers[request.request_id] = messages.Welcome
                case messages.Join():
                    answers[request.request_id] = messages.Watching
                case messages.Cut():
                    answers[request.request_id] = messages.CutAccepted
                case messages.Place() | messages.Ready():
                    answers[request.request_id] = messages.Receipt
            typed.append(request)
        else:
            typed.append(exact(message, type(decode_event(message))))
    return typed


def only(kind: type[Any], values: Sequence[object]) -> list[Any]:
    return [value for value in values if isinstance(value, kind)]


def test_the_example_round_is_one_that_could_be() -> None:
    """Every message is whole, the numbers are gapless, and cards, outcome and payouts are those of the rules."""
    examples = typed_examples()
    (join,) = only(messages.Watching, examples)
    events = only(messages.Event, examples)
    assert [event.seq for event in events] == list(range(join.snapshot.seq + 1, join.snapshot.seq + 1 + len(events)))
    (decided,), (results,) = only(messages.RoundDecided, examples), only(messages.Results, examples)
    (settled,) = only(messages.RoundSettled, examples)
    receipt = only(messages.Receipt, examples)[-1]
    dealt = [
        messages.DealtCard(side=card.side, card=card.card, show_at_ms=card.show_at_ms)
        for card in only(messages.CardDealt, examples)
    ]
    assert checks.check_round(join.snapshot.rules, dealt, decided, results, receipt.bets) == []
    paid = sum(line.payout for line in results.bets.values())
    assert (results.stack, settled.paid) == (receipt.stack + paid, paid)


def test_the_python_of_the_shoe_is_the_shoe() -> None:
    """The reference on the page is run, and gives the shoe that the house deals from."""
    (code,) = blocks("python")
    names: dict[str, Any] = {"__name__": "page"}
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, names)  # our own page
    shown = re.search(r"print\(.*# (.*)$", code, re.MULTILINE)
    assert shown is not None
    assert out.getvalue().strip() == shown[1]
    for decks, number, cuts in ((8, 1, ()), (4, 7, ((b"g1", bytes(8)),)), (1, 2**40, ((b"a", b""), (b"b", b"c")))):
        secret = bytes([decks]) * 32
        order = names["shoe"](secret, decks, number, cuts)
        assert order == fairness.shuffle(secret, decks, number, cuts)
        tree = merkle.shoe_tree(secret, decks, number, order)
        assert names["merkle_root"](secret, decks, number, order) == tree.root.hex()
        for place in range(0, len(order), 7):
            proof = tree.proof(place)
            told = {"index": proof.index, "salt": proof.salt.hex(), "path": [beside.hex() for beside in proof.path]}
            assert names["root_of"](told, place, len(order)) == tree.root.hex()
            assert names["card"](proof.index) == card_of_index(proof.index)


def test_the_bytes_of_the_example_shoe() -> None:
    """The shoe of section 7 is the one whose secret the page tells: its events can be checked to the byte."""
    told = dict(rows(section("15 The shoe"), "| what | bytes |"))
    examples = typed_examples()
    (started,), (closed,) = only(messages.ShoeStarted, examples), only(messages.BettingClosed, examples)
    (shuffled,), (burned,) = only(messages.ShoeShuffled, examples), only(messages.CardsBurned, examples)
    (decided,), (cut,) = only(messages.RoundDecided, examples), only(messages.Cut, examples)
    secret = bytes.fromhex(told["the secret"].strip("`"))
    cuts = [(b"g78ac967589281097", bytes.fromhex(cut.cut))]
    assert fairness.commitment(secret) == told["its commitment"].strip("`") == started.commitment
    mix = fairness.client_mix(cuts).hex()
    assert mix == told["client_mix"].strip("`") == closed.cuts_digest
    order = fairness.shuffle(secret, started.decks, started.shoe, cuts)
    assert told["a[0], a[1], a[2]"] == ", ".join(map(str, order[:3]))
    tree = merkle.shoe_tree(secret, started.decks, started.shoe, order)
    assert tree.root.hex() == told["root"].strip("`") == shuffled.merkle_root
    assert (tree.salts[0].hex(), tree.levels[0][0].hex()) == (told["salt(0)"].strip("`"), told["leaf(0)"].strip("`"))
    patron, bytes_put_in = cuts[0]
    fields = b"".join(len(field).to_bytes(2, "big") + field for field in (patron, bytes_put_in))
    assert fields.hex() == told["cuts"].strip("`")
    proofs = [(0, burned.card, burned.proof)]
    dealt = only(messages.CardDealt, examples)
    proofs += [
        (started.cards - event.remaining - 1, event.card, proof)
        for event, proof in zip(dealt, decided.proofs, strict=True)
    ]
    for place, card, proof in proofs:
        right = tree.proof(place)
        assert (proof.index, proof.salt, proof.path) == (right.index, right.salt.hex(), [h.hex() for h in right.path])
        assert card_of_index(proof.index) == card


def test_the_tableau_is_the_one_that_deals() -> None:
    found = rows(section("14 Rules of the game"), "| BANKER has | and draws if PLAYER's third card counts |")
    assert [int(total) for total, _ in found] == list(range(tableau.NATURAL_MIN))
    for total, thirds in found:
        expected = [third for third in range(10) if tableau.banker_draws(int(total), third)]
        assert [int(third) for third in thirds.split()] == expected
