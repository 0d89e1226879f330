"""Between a page and its node, in the browser: what the page sends comes late, waits, or is lost in silence."""

import asyncio
from typing import Any

from playwright.async_api import Page, WebSocketRoute


class SlowLine:
    """Install it before the page connects. `late_ms` holds up what the page sends; `held` names types of requests that
    wait until `release`, and are overtaken by others; while `is_dead` nothing passes either way, nor is anything
    closed."""

    def __init__(self) -> None:
        self.late_ms = 0
        self.held: set[str] = set()
        self.is_dead = False
        self.connections = 0
        self._released = asyncio.Event()
        self._pumps: set[asyncio.Task[None]] = set()

    async def install(self, page: Page) -> None:
        """Stand between from the page's next connection on."""
        await page.route_web_socket(lambda url: True, self._connect)

    def release(self) -> None:
        """Let what is held go on."""
        self.held = set()
        self._released.set()

    async def close(self) -> None:
        """End what still waits."""
        for pump in self._pumps:
            pump.cancel()
        await asyncio.gather(*self._pumps, return_exceptions=True)

    def _connect(self, page: WebSocketRoute) -> None:
        self.connections += 1
        node = page.connect_to_server()
        waiting: asyncio.Queue[tuple[float, str]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def from_page(message: Any) -> None:
            if not self.is_dead:
                waiting.put_nowait((loop.time() + self.late_ms / 1000, str(message)))

        def from_node(message: Any) -> None:
            if not self.is_dead:
                page.send(message)

        async def send_released(message: str) -> None:
            await self._released.wait()
            node.send(message)

        async def pump() -> None:
            while True:
                due_s, message = await waiting.get()
                await asyncio.sleep(max(0.0, due_s - loop.time()))
                if any(f'"type":"{kind}"' in message for kind in self.held):
                    self._pumps.add(asyncio.create_task(send_released(message)))
                else:
                    node.send(message)

        page.on_message(from_page)
        node.on_message(from_node)
        self._pumps.add(asyncio.create_task(pump()))
