"""The admin address: /metrics for Prometheus, /healthz and /readyz for whoever starts, stops and balances nodes.

Kept off the patrons' port, and without a login: it belongs into a network that patrons do not reach. `healthz` asks
whether this process still does its work (else: start it again), `readyz` whether it should get patrons now.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final, NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

log = logging.getLogger(__name__)

REQUEST_TIMEOUT_S: Final = 5
TEXT: Final = "text/plain; charset=utf-8"


class State(NamedTuple):
    """How a process is. `words` say why it is not ready, '' where it is."""

    is_healthy: bool
    is_ready: bool
    words: str = ""


@asynccontextmanager
async def admin(
    address: tuple[str, int] | None, state: Callable[[], State], workers_dir: str = ""
) -> AsyncIterator[None]:
    """Serve the admin address, if there is one, for the length of the block. With `workers_dir` the metrics are those
    of all workers that keep theirs in it. Raises OSError where the address is taken."""
    if address is None:
        yield
        return

    def answer(_: ServerConnection, request: Request) -> Response:
        match request.path.partition("?")[0]:
            case "/metrics":
                return _response(HTTPStatus.OK, _metrics(workers_dir), CONTENT_TYPE_LATEST)
            case "/healthz":
                return _told(state().is_healthy, "ok", "not ok")
            case "/readyz":
                now = state()
                return _told(now.is_ready, "ready", f"not ready: {now.words}")
            case _:
                return _response(HTTPStatus.NOT_FOUND, b"not found\n", TEXT)

    async with serve(_no_socket, *address, process_request=answer, open_timeout=REQUEST_TIMEOUT_S) as server:
        log.info("admin_open", extra={"port": server.sockets[0].getsockname()[1]})
        yield


async def _no_socket(websocket: ServerConnection) -> None:
    """Every request was answered before."""


def _metrics(workers_dir: str) -> bytes:
    if not workers_dir:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=workers_dir)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


def _told(is_so: bool, yes: str, no: str) -> Response:
    status = HTTPStatus.OK if is_so else HTTPStatus.SERVICE_UNAVAILABLE
    return _response(status, f"{yes if is_so else no}\n".encode(), TEXT)


def _response(status: HTTPStatus, body: bytes, content_type: str) -> Response:
    headers = Headers()
    headers["Content-Type"] = content_type
    headers["Content-Length"] = str(len(body))
    headers["Connection"] = "close"
    return Response(status, status.phrase, headers, body)
