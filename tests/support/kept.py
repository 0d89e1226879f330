"""What a node's own store holds of a patron, read past the node: the judge of what a page shows."""

from client_sdk.protocol.messages import OwnSeat
from server.store.driver import Driver
from server.store.tables import Tables
from server.store.wallets import Wallets
from tests.support.node_process import NodeProcess


def patron_of(token: str) -> str:
    """The public id in a guest's token."""
    return token.split(".")[1]


async def seat_kept(node: NodeProcess, token: str, table: str) -> OwnSeat | None:
    """The seat of a guest."""
    async with Driver(f"unix://{node.data / 'valkey.sock'}") as store:
        return (await Tables(store).view(table, patron_of(token))).view.you


async def wallet_kept(node: NodeProcess, token: str) -> int:
    """What a guest's wallet holds."""
    async with Driver(f"unix://{node.data / 'valkey.sock'}") as store:
        wallet = await Wallets(store).read(patron_of(token))
    assert wallet is not None
    return wallet.balance
