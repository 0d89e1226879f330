"""The client's half of the wire, by hand and without a library's cost: frames of bytes, both ways. Pure.

Clients mask what they send; under the key zero the masked bytes are the plain ones, which is allowed and costs nothing.
"""

import struct
from typing import Any, Final

import msgpack

TEXT: Final = 1
BINARY: Final = 2
CLOSE: Final = 8
PING: Final = 9
PONG: Final = 10


def upgrade(port: int, path: str = "/") -> bytes:
    """The request of a handshake."""
    lines = (
        f"GET {path} HTTP/1.1",
        f"Host: 127.0.0.1:{port}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Protocol: punto.v1.msgpack",
    )
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def framed(payload: bytes, opcode: int = BINARY) -> bytes:
    """A whole masked frame."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else struct.pack("!BH", 0xFE, size)
    return bytes([0x80 | opcode]) + length + bytes(4) + payload


def request(kind: str, request_id: str, **fields: Any) -> bytes:
    """A request's frame."""
    return framed(msgpack.packb({"type": kind, "request_id": request_id, **fields}))


def split(received: bytes) -> tuple[list[tuple[int, bytes]], bytes]:
    """Cut whole frames off: (opcode, payload) of each, and the bytes that are left."""
    frames, start = [], 0
    while len(received) - start >= 2:
        size, head = received[start + 1], 2
        if size == 126 and len(received) - start >= 4:
            size, head = int.from_bytes(received[start + 2 : start + 4]), 4
        elif size == 127 and len(received) - start >= 10:
            size, head = int.from_bytes(received[start + 2 : start + 10]), 10
        elif size >= 126:
            break
        end = start + head + size
        if end > len(received):
            break
        frames.append((received[start] & 15, received[start + head : end]))
        start = end
    return frames, received[start:]
