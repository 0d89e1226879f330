"""The processes of one `punto-server serve`: the embedded store, one node or several workers, the demo bots.

Signals end here: SIGINT and SIGTERM stop everything in order, SIGHUP replaces the workers one by one. A store that dies
under the node is started again; the tables pause meanwhile and go on by themselves.
"""

import asyncio
import contextlib
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Final

from server.admin import State, admin
from server.embedded import EmbeddedError, EmbeddedValkey
from server.embedded.config import ending_with_us
from server.gateway import check_address
from server.house_key import key_path, open_keyring
from server.node import Node
from server.running import running
from server.settings import BadSetting, Settings
from server.store.driver import Driver
from server.store.safety import refuse_unsafe_store
from server.supervisor import Supervisor

log = logging.getLogger(__name__)

STORE_RESTART_MS: Final = 500
CHILD_STOP_TIMEOUT_S: Final = 5


async def serve(settings: Settings, arguments: Sequence[str], opened: Callable[[str], None]) -> None:
    """Run until SIGINT or SIGTERM. `arguments` are those of the command line, for the workers; `opened` is told the
    address.

    Raises `BadSetting`, `EmbeddedError`, `StoreError`, `WorkerFailed` or OSError where the start fails. A start that is
    still under way when a signal comes is broken off: a store that does not answer must not hold an operator up.
    """
    stop, has_opened = asyncio.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)

    def note_opened(address: str) -> None:
        has_opened.set()
        opened(address)

    serving = asyncio.create_task(_serve(settings, arguments, stop, note_opened), name="serve")
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if not has_opened.is_set():
        serving.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await serving


async def _serve(
    settings: Settings, arguments: Sequence[str], stop: asyncio.Event, opened: Callable[[str], None]
) -> None:
    if not settings.worker:
        await _check_address(settings)
    async with AsyncExitStack() as stack:
        url = settings.store
        if url == "embedded":
            store = EmbeddedValkey(settings.data)
            url = await stack.enter_async_context(store)
            await stack.enter_async_context(running(_keep_alive(store)))
        elif not settings.accept_unsafe_store and not settings.worker:
            async with Driver(url, call_timeout_ms=settings.times.store_ms) as driver:
                await refuse_unsafe_store(driver)
        if settings.workers:
            async with Driver(url, call_timeout_ms=settings.times.store_ms) as driver:
                await open_keyring(settings, driver)  # a worker finds the keys there
            await _run_workers(settings, url, arguments, stop, opened)
        else:
            await _run_node(settings, url, stop, opened)


async def _check_address(settings: Settings) -> None:
    """Refuse an address that can't be had before a store is started, or a table touched, for nothing."""
    try:
        await check_address(settings.host, settings.port)
    except OSError as error:
        raise BadSetting(f"--listen: {settings.host}:{settings.port}: {error.strerror or error}") from None


async def _run_node(settings: Settings, url: str, stop: asyncio.Event, opened: Callable[[str], None]) -> None:
    async with AsyncExitStack() as stack:
        driver = Driver(
            url,
            confirm_replicas=settings.confirm_replicas,
            confirm_timeout_ms=settings.times.confirm_ms,
            call_timeout_ms=settings.times.store_ms,
        )
        await stack.enter_async_context(driver)

        async def tell(port: int) -> None:
            address = _address(settings, port)
            opened(address)
            await _company(stack, settings, address)

        keyring = await open_keyring(settings, driver)
        node = Node(settings, driver, keyring)
        await stack.enter_async_context(_admin(settings, node.state))
        await node.run(stop, tell)


async def _run_workers(
    settings: Settings, url: str, arguments: Sequence[str], stop: asyncio.Event, opened: Callable[[str], None]
) -> None:
    # A store's URL may hold a password, and who may list processes reads their arguments: only our own is among them.
    place = ["--store", url] if settings.store == "embedded" else []
    own = ["--seal-key", str(key_path(settings)), "--workers", "0", "--demo-bots", "0", "--admin", "off"]
    supervisor = Supervisor(settings.workers, [*arguments, *place, *own])
    async with AsyncExitStack() as stack:
        if settings.admin is not None:
            supervisor.metrics_dir = stack.enter_context(TemporaryDirectory(prefix="punto-metrics-"))
            await stack.enter_async_context(_admin(settings, supervisor.state, supervisor.metrics_dir))
        await supervisor.start()
        stack.push_async_callback(supervisor.stop)
        address = _address(settings, settings.port)
        opened(address)
        await _company(stack, settings, address)
        replacing = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, replacing.set)
        async with running(supervisor.run(), _replace_when_asked(supervisor, replacing)):
            await stop.wait()
            await supervisor.stop()


@asynccontextmanager
async def _admin(settings: Settings, state: Callable[[], State], workers_dir: str = "") -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(admin(settings.admin, state, workers_dir))
        except OSError as error:
            raise BadSetting(f"{error.strerror or error}", "admin") from None
        yield


async def _replace_when_asked(supervisor: Supervisor, asked: asyncio.Event) -> None:
    while True:
        await asked.wait()
        asked.clear()
        log.info("workers_replaced_one_by_one")
        await supervisor.replace_all()


async def _keep_alive(store: EmbeddedValkey) -> None:
    """Start the embedded store again whenever it dies."""
    while True:
        log.error("embedded_store_died", extra={"reason": str(await store.exited())})
        while True:
            try:
                await store.start()
                break
            except EmbeddedError as error:
                log.error("embedded_store_not_started", extra={"reason": str(error)})
                await asyncio.sleep(STORE_RESTART_MS / 1000)


async def _company(stack: AsyncExitStack, settings: Settings, address: str) -> None:
    """Start the bots that keep an open house company, if any were asked for."""
    if not settings.demo_bots:
        return
    bots = await asyncio.create_subprocess_exec(
        *ending_with_us(sys.executable, "-m", "client_sdk.bots.demo"),
        *("--url", address),
        *("--per-table", str(settings.demo_bots)),
        *("--tokens", str(settings.data / "demo-bots.json")),
        start_new_session=True,
    )
    stack.push_async_callback(_end, bots)


async def _end(child: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        child.terminate()
    try:
        async with asyncio.timeout(CHILD_STOP_TIMEOUT_S):
            await child.wait()
    except TimeoutError:
        child.kill()
        await child.wait()


def _address(settings: Settings, port: int) -> str:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{'wss' if settings.tls_cert else 'ws'}://{host}:{port}"
