"""Messages to frames and back, in MessagePack and JSON.

`decode_request` is the server's strict door: whatever a stranger sends becomes a typed request or one numbered
`BadMessage`. `decode_event` is the client's lenient one: unknown fields are passed over. Never trust a size, a type or
a key that came in; never recurse over what a stranger nested. The types are in `messages.py`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgpack
import msgspec

from client_sdk.protocol.errors import ErrorCode
from client_sdk.protocol.messages import (
    SUBPROTOCOL_JSON,
    SUBPROTOCOL_MSGPACK,
    AnyEvent,
    AnyNotice,
    AnyRequest,
    Message,
    RequestId,
)

Frame = bytes | str
T = TypeVar("T")

_AMOUNT_FIELDS: Final = frozenset({"chip", "buy_in"})
_UNKNOWN_FIELD: Final = "Object contains unknown field `"
FIELD_CHARS_MAX: Final = 64
"""So much is told back of the name of a field that does not fit."""
_INT_CHARS_MAX: Final = 20
"""The longest whole number that MessagePack carries has so many; the longest of the protocol has 16."""
_BEYOND: Final = 2**64
"""Stands for every longer number of JSON: out of bounds wherever a whole number may be."""


def _by_tag(kinds: Any) -> dict[str, Any]:
    """Find a class of a union by its tag: asked for the union, msgspec reads all its classes anew each time."""
    return {str(kind.__struct_config__.tag): kind for kind in kinds.__args__}


_REQUESTS: Final = _by_tag(AnyRequest)
_EVENTS: Final = _by_tag(AnyEvent)
_NOTICES: Final = _by_tag(AnyNotice)


class BadMessage(Exception):
    """A frame that is no valid message: `code` says how, `field` where, `request_id` whose answer this is (if
    readable)."""

    def __init__(self, code: ErrorCode, field: str | None = None, request_id: str | None = None) -> None:
        super().__init__(code, field, request_id)
        self.code = code
        self.field = field
        self.request_id = request_id

    def __str__(self) -> str:
        return self.code.text if self.field is None else f"{self.code.text}: {self.field}"


@dataclass(frozen=True, slots=True)
class Codec:
    """One subprotocol: how a message becomes a frame. `is_text` tells which kind of WebSocket frame carries it."""

    subprotocol: str
    is_text: bool
    pack: Callable[[Any], Frame]
    unpack: Callable[[Any], Any]

    def encode(self, message: msgspec.Struct | Message) -> Frame:
        """Turn a message into the frame that carries it."""
        return self.pack(msgspec.to_builtins(message))

    def decode(self, frame: Frame) -> Message:
        """Turn a frame into a map with text keys.

        Raises `BadMessage`: WRONG_FRAME, NOT_DECODABLE or NOT_A_MESSAGE, in this order.
        """
        if isinstance(frame, str) is not self.is_text:
            raise BadMessage(ErrorCode.WRONG_FRAME)
        try:
            message = self.unpack(frame)
        except _BadKeys:
            raise BadMessage(ErrorCode.NOT_A_MESSAGE) from None
        except (ValueError, RecursionError, msgpack.UnpackException):
            raise BadMessage(ErrorCode.NOT_DECODABLE) from None
        if not isinstance(message, dict):
            raise BadMessage(ErrorCode.NOT_A_MESSAGE)
        return message


class _BadKeys(ValueError):
    """A map has a key twice, or one that is no text: which value counts would depend on the reader."""


def _map_of(pairs: list[tuple[Any, Any]]) -> Message:
    """Build a map, refusing keys that two decoders could read differently."""
    for key, _ in pairs:
        if type(key) is not str:  # a list as a key can't even be hashed
            raise _BadKeys
    message = dict(pairs)
    if len(message) != len(pairs):
        raise _BadKeys
    return message


def _unpack_msgpack(frame: bytes) -> Any:
    return msgpack.unpackb(frame, raw=False, strict_map_key=False, object_pairs_hook=_map_of)


def _unpack_json(frame: str) -> Any:
    message = json.loads(frame, object_pairs_hook=_map_of, parse_constant=_refuse_constant, parse_int=_int_of)
    if "\\u" in frame:  # escapes can smuggle in a lone surrogate, which is no text: UTF-8 has no bytes for it
        json.dumps(message, ensure_ascii=False).encode()
    return message


def _int_of(text: str) -> int:
    """Read a whole number; one that is longer than any of ours is read no further than that it is."""
    if len(text) > _INT_CHARS_MAX:  # thousands of digits take long, and Python refuses them with an error of its own
        return -_BEYOND if text.startswith("-") else _BEYOND
    return int(text)


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)  # NaN and the infinities are not JSON


_PACKER: Final = msgpack.Packer()
"""One for all messages: to make one costs three times as much as to pack a receipt."""

MSGPACK: Final = Codec(SUBPROTOCOL_MSGPACK, False, _PACKER.pack, _unpack_msgpack)
JSON: Final = Codec(SUBPROTOCOL_JSON, True, lambda message: msgspec.json.encode(message).decode(), _unpack_json)
CODECS: Final = {codec.subprotocol: codec for codec in (MSGPACK, JSON)}
"""By subprotocol, the preferred first."""


def decode_request(codec: Codec, frame: Frame) -> AnyRequest:
    """Turn a stranger's frame into a request.

    Raises `BadMessage` with, in the order checked: WRONG_FRAME, NOT_DECODABLE, NOT_A_MESSAGE, UNKNOWN_TYPE,
    BAD_AMOUNT (the offending field is an amount), BAD_FIELD.
    """
    message = codec.decode(frame)
    tag = message.get("type")
    kind = _REQUESTS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise BadMessage(ErrorCode.UNKNOWN_TYPE, "type", _readable_request_id(message))
    try:
        request: AnyRequest = msgspec.convert(message, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _misfit(str(error), message, _readable_request_id(message)) from None
    return request


def decode_event(message: Message) -> AnyEvent:
    """Type an event that a server sent. Raises `msgspec.ValidationError` where it is none that this version knows."""
    event: AnyEvent = msgspec.convert(message, _EVENTS.get(str(message.get("type")), AnyEvent))
    return event


def decode_notice(message: Message) -> AnyNotice:
    """Type a notice that a server sent. Raises `msgspec.ValidationError` as `decode_event` does."""
    notice: AnyNotice = msgspec.convert(message, _NOTICES.get(str(message.get("type")), AnyNotice))
    return notice


def decode_reply(message: Message, kind: type[T]) -> T:
    """Type the answer to a request. Raises `msgspec.ValidationError` where it does not have that shape."""
    return msgspec.convert(message, kind)


def _readable_request_id(message: Message) -> str | None:
    """Find the request_id to answer under, if the message holds a valid one."""
    try:
        return msgspec.convert(message.get("request_id"), RequestId)
    except msgspec.ValidationError:
        return None


def _misfit(complaint: str, message: Message, request_id: str | None) -> BadMessage:
    """Read msgspec's sentence: `... unknown field `chip``, `... required field `chip``, or `... - at `$.chip``."""
    if complaint.startswith(_UNKNOWN_FIELD):
        name, code = complaint.removeprefix(_UNKNOWN_FIELD).removesuffix("`"), ErrorCode.BAD_FIELD
    else:
        name = complaint.rpartition("`")[0].rpartition("`")[2].removeprefix("$.")
        code = ErrorCode.BAD_AMOUNT if name in _AMOUNT_FIELDS and name in message else ErrorCode.BAD_FIELD
    is_plain = name.isascii() and name.isidentifier()
    return BadMessage(code, name[:FIELD_CHARS_MAX] if is_plain else None, request_id)
