"""What came in from a socket and is one whole short message, or the answer to a ping, read at a fraction of what the
library needs for it.

Half of what an act cost a node was the library's way of reading a frame, made for frames of any kind in pieces of any
size. Whatever is not as plain as these is left to it, errors and all.
"""

from typing import Any, Final

from websockets.frames import Opcode
from websockets.protocol import Protocol, State

try:
    from websockets.speedups import apply_mask
except ImportError:  # the library is installed without its part in C
    from websockets.utils import apply_mask

_TEXT: Final = 0x80 | Opcode.TEXT
_BINARY: Final = 0x80 | Opcode.BINARY
_PONG: Final = 0x80 | Opcode.PONG
_MASKED: Final = 0x80
_SHORT_MAX: Final = 125
_LONG: Final = 126
_MASK_BYTES: Final = 4
_BETWEEN_FRAMES: Final = "at_eof"
"""What the library's parser waits for there: more, or the end."""


def is_between_messages(protocol: Protocol) -> bool:
    """Whether what comes next is the beginning of a message, as far as the library has read: false in the middle of a
    frame, of a message in pieces and of a handshake, and behind a close."""
    if protocol.state is not State.OPEN or protocol.current_size is not None:
        return False
    waits: Any = protocol.parser  # a server's, in a server's a connection's, in that what it waits for
    for _ in range(2):
        waits = getattr(waits, "gi_yieldfrom", None)
    return getattr(waits, "__name__", "") == _BETWEEN_FRAMES


def is_pong(data: bytes) -> bool:
    """Whether this is one whole masked pong and nothing else. That the peer lives is known by then, and the library has
    no use for it: it pings nobody."""
    return (
        len(data) >= 2 + _MASK_BYTES
        and data[0] == _PONG
        and len(data) <= 2 + _MASK_BYTES + _SHORT_MAX
        and data[1] == _MASKED + len(data) - 2 - _MASK_BYTES
    )


def whole_message(data: bytes, start: int) -> tuple[bytes | str, int] | None:
    """Read the message in the frame that begins at `start`, and tell where it ends. None where it is anything but one
    final masked data frame (RFC 6455, 5.2) of less than 64 KiB that is there to its end."""
    size = len(data) - start
    if size < 2 + _MASK_BYTES or data[start] not in (_TEXT, _BINARY):
        return None
    length, head = data[start + 1] - _MASKED, 2
    if length == _LONG:
        length, head = int.from_bytes(data[start + 2 : start + 4]), 4
        if length <= _SHORT_MAX:
            return None
    elif not 0 <= length <= _SHORT_MAX:
        return None
    begins = start + head + _MASK_BYTES
    ends = begins + length
    if ends > len(data):
        return None
    payload = apply_mask(data[begins:ends], data[begins - _MASK_BYTES : begins])
    if data[start] == _BINARY:
        return payload, ends
    try:
        return payload.decode(), ends
    except UnicodeDecodeError:
        return None
