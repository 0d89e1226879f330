"""With `confirm_replicas` an act about money counts only once replicas have it, a repeat as much as the first time."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from server.store.driver import Driver
from server.store.errors import Unconfirmed
from server.store.wallets import Wallets
from tests.support.valkey_server import ValkeyServer, until


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[tuple[ValkeyServer, ValkeyServer]]:
    """A primary and its replica, in step."""
    primary, replica = ValkeyServer(tmp_path / "primary"), ValkeyServer(tmp_path / "replica")
    try:
        await primary.start()
        await replica.start()
        await replica.ask("REPLICAOF", "127.0.0.1", primary.port)

        async def is_linked() -> bool:
            return (await replica.info("replication")).get("master_link_status") == "up"

        await until(is_linked, "the replica follows")
        yield primary, replica
    finally:
        replica.go_on()
        replica.stop()
        primary.stop()


async def test_a_repeat_waits_for_the_replica_too(pair: tuple[ValkeyServer, ValkeyServer]) -> None:
    primary, replica = pair
    async with Driver(f"redis://127.0.0.1:{primary.port}", confirm_replicas=1) as driver:
        wallets = Wallets(driver)
        await wallets.create("p", "Pia", False, "0" * 64, 1_000)
        replica.pause()
        for _ in range(3):  # the first one writes, the others are answered as done
            with pytest.raises(Unconfirmed):
                await wallets.give_buy_in("p", "t", "r-1", 100)
        replica.go_on()
        assert (await wallets.give_buy_in("p", "t", "r-1", 100)).n == 1
