"""What the server tells in pages, the newest first: read entry by entry, or page by page.

    async for line in client.statement(): ...
    async for page in client.statement().pages(): ...

Each read starts anew with the newest page; a further one is asked for only when it is wanted. Read next: `client`.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Generic, Protocol, TypeVar

from client_sdk.exceptions import ProtocolMismatch


class Page(Protocol):
    """An answer that may not be the whole."""

    @property
    def more(self) -> bool:
        """Whether a further page follows."""
        ...


class Entry(Protocol):
    """Something that a page lists."""

    @property
    def id(self) -> str:
        """What the next page is asked for by."""
        ...


P = TypeVar("P", bound=Page)
E = TypeVar("E", bound=Entry)


class Pages(Generic[P, E]):
    """A list in pages: an asynchronous iterable of its entries."""

    def __init__(
        self, ask: Callable[[str | None], Awaitable[P]], entries_of: Callable[[P], Sequence[E]], pages_max: int
    ) -> None:
        self._ask = ask
        self._entries_of = entries_of
        self._pages_max = pages_max

    async def pages(self) -> AsyncIterator[P]:
        """Read page by page. Raises what a request raises, and ProtocolMismatch where the pages have no end."""
        before: str | None = None
        for _ in range(self._pages_max):
            page = await self._ask(before)
            yield page
            if not page.more:
                return
            entries = self._entries_of(page)
            if not entries:
                raise ProtocolMismatch("a page with entries", "an empty one that promises more")
            before = entries[-1].id
        raise ProtocolMismatch(f"at most {self._pages_max} pages", "more")

    async def __aiter__(self) -> AsyncIterator[E]:
        """Read entry by entry. Raises what `pages` raises."""
        async for page in self.pages():
            for entry in self._entries_of(page):
                yield entry
