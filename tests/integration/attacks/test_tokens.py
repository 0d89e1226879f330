"""Who comes with a token that is not the house's, or is somebody else's, gets nothing; and no token is ever told."""

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

import client_sdk
from client_sdk.exceptions import Disconnected, RoleForbids, TokenExpired
from tests.support.node_process import NodeProcess
from tests.support.operator import punto_server
from tests.support.raw_client import JSON, MSGPACK, CallRefused, RawClient
from tests.support.token_house import ALGORITHMS, LEEWAY_MS, Provider, token_house

TABLE = "royal-1"
House = tuple[NodeProcess, Provider]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A node with real keys for all tests here; what it has said holds no part of a token in the end."""
    with token_house(tmp_path_factory.mktemp("tokens"), token_life_max_ms=3_600_000) as (node, provider):
        yield node, provider
    assert not [line for line in node.output if "Traceback" in line or " error " in line]


async def refused(house: House, token: str, subprotocol: str = MSGPACK) -> str:
    """Say hello with a token that is refused; returns the refusal's name. The token is in no part of the answer."""
    async with await RawClient.open(house[0].url, subprotocol) as client:
        reply = await client.ask("hello", token=token)
        assert reply["type"] == "error"
        if token:
            assert token not in json.dumps(reply)
        assert (await client.ask("list_tables"))["name"] == "HELLO_FIRST"
        return str(reply["name"])


# --- tokens that nobody may believe -----------------------------------------------------------------------------------


async def test_no_forged_token_is_believed(house: House) -> None:
    """Forged, none-algorithm, wrong-key, other-audience, and a public key taken for a secret; also by JSON."""
    forged = house[1].forged()
    found = {
        what: await refused(house, token, (MSGPACK, JSON)[n % 2]) for n, (what, token) in enumerate(forged.items())
    }
    assert {what: name for what, name in found.items() if name != "TOKEN_REFUSED"} == {}


async def test_an_expired_token_is_told_so_and_only_by_the_house_s_clock(house: House) -> None:
    provider = house[1]
    now = int(time.time())
    assert await refused(house, provider.token(iat=now - 90, exp=now - 30)) == "TOKEN_EXPIRED"
    head, body, _ = provider.token(iat=now - 90, exp=now - 30).split(".")
    assert await refused(house, f"{head}.{body}.AAAA") == "TOKEN_REFUSED", "who can't sign learns nothing of times"


async def test_each_kind_of_key_is_believed(house: House) -> None:
    node, provider = house
    for key_id in ALGORITHMS:
        token = provider.token(f"with-{key_id}", key_id=key_id, name="Ann", bot=True)
        async with await RawClient.open(node.url) as client:
            welcome = await client.call("hello", token=token, name="Somebody else", bot=False)
            assert (welcome["patron"], welcome["name"], welcome["role"]) == (f"with-{key_id}", "Ann", "patron")
            assert (welcome["wallet"], welcome["token"]) == (0, None)
            assert welcome["expires_at_ms"] > time.time() * 1000


async def test_guests_do_not_come_in_beside_real_keys(house: House) -> None:
    async with await RawClient.open(house[0].url) as client:
        assert (await client.ask("hello", name="Ann"))["name"] == "TOKEN_REFUSED"


async def test_guessing_is_cut_off(house: House) -> None:
    """BL-162: the third wrong token closes the socket, whatever came between."""
    async with await RawClient.open(house[0].url) as client:
        for n in range(3):
            assert (await client.ask("hello", token=house[1].token()[:-6] + f"AAAA{n:02}"))["name"] == "TOKEN_REFUSED"
        assert await client.closed() == 4200


# --- roles ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["spectator", "operator"])
async def test_only_a_patron_acts_as_one(house: House, role: str) -> None:
    """An operator, or a spectator, with the very id of a seated patron: sees the table, not the seat, and moves
    nothing."""
    node, provider = house
    async with await RawClient.arrive(node.url, token=provider.token("seated")) as patron:
        await patron.join(TABLE)
        async with await RawClient.arrive(node.url, token=provider.token("seated", role=role)) as other:
            assert (await other.call("watch", table=TABLE))["you"] is None
            acts: dict[str, Any] = {"table": TABLE, "round": 1}
            requests: dict[str, dict[str, Any]] = {
                "join": {"table": TABLE, "buy_in": 100},
                "leave": {"table": TABLE},
                "statement": {},
                "history": {},
                "place": {**acts, "spot": "tie", "chip": 100},
                **dict.fromkeys(("undo", "clear", "rebet", "double", "ready"), acts),
            }
            for kind, fields in requests.items():
                assert (await other.ask(kind, **fields))["name"] == "ROLE_FORBIDS", kind
            assert not patron.seen("seat_taken_over")
            async with client_sdk.connect(node.url, token=provider.token("seated", role=role)) as sdk:
                assert sdk.role == role
                with pytest.raises(RoleForbids):
                    await sdk.join(TABLE)
        await patron.leave_everywhere()


async def test_nobody_acts_for_another_patron_s_seat(house: House) -> None:
    """BL-159: with a token of one's own nothing that a message says reaches somebody else's seat."""
    node, provider = house
    async with (
        await RawClient.arrive(node.url, token=provider.token("victim")) as victim,
        await RawClient.arrive(node.url, token=provider.token("mallory")) as mallory,
    ):
        await victim.join(TABLE)
        await mallory.call("watch", table=TABLE)
        acts = {"table": TABLE, "round": 1}
        assert (await mallory.ask("clear", **acts))["name"] == "NOT_SEATED"
        assert (await mallory.ask("leave", table=TABLE))["name"] == "NOT_SEATED"
        for field in ("patron", "seat", "account", "token", "connection", "role"):
            assert (await mallory.ask("clear", **acts, **{field: "victim"}))["name"] == "BAD_FIELD", field
        assert (await mallory.ask("refresh", token=provider.token("victim")))["name"] == "TOKEN_REFUSED"
        assert (await mallory.ask("hello", token=provider.token("victim")))["name"] == "HELLO_TWICE"
        assert (await victim.call("watch", table=TABLE))["you"] is not None
        await victim.leave_everywhere()


# --- the end of a token -----------------------------------------------------------------------------------------------


async def test_a_token_is_refreshed_over_the_open_socket_or_ends_it(house: House) -> None:
    node, provider = house
    now = int(time.time())
    async with await RawClient.arrive(node.url, token=provider.token("brief", exp=now + 3)) as client:
        notice = await client.next("token_expiring")
        assert notice["expires_at_ms"] == (now + 3) * 1000
        assert (await client.ask("refresh", token=provider.token("other")))["name"] == "TOKEN_REFUSED"
        assert (await client.ask("refresh", token=provider.token("brief", role="operator")))["name"] == "TOKEN_REFUSED"
        refreshed = await client.call("refresh", token=provider.token("brief", exp=now + 4))
        assert refreshed["expires_at_ms"] == (now + 4) * 1000
        await client.next("token_expiring", expires_at_ms=(now + 4) * 1000)
        assert await client.closed() == 4201
        assert time.time() >= now + 4


async def test_the_sdk_refreshes_by_itself_and_comes_back_with_a_fresh_token(house: House) -> None:
    node, provider = house
    asked: list[int] = []

    async def source() -> str:
        asked.append(len(asked))
        return provider.token("steady", exp=int(time.time()) + (2 if len(asked) == 1 else 600))

    notices: list[object] = []
    async with client_sdk.connect(node.url, token=source, on_notice=notices.append) as client:
        async with asyncio.timeout(10):
            while len(asked) < 2:
                await asyncio.sleep(0.05)
        assert len(notices) == 1
        await asyncio.sleep(2)  # beyond the first token's end
        assert client.is_connected
        assert client.error is None
    with pytest.raises(TokenExpired):
        await client_sdk.connect(node.url, token=provider.token("late", iat=1, exp=2))


async def test_revoked_by_its_id_or_by_patron(house: House) -> None:
    node, provider = house
    one = await RawClient.arrive(node.url, token=provider.token("rita", jti="one"))
    two = await RawClient.arrive(node.url, token=provider.token("rita", jti="two"))
    ended = await punto_server("token", "revoke", "--data", node.data, "--token-id", "one", "--json")
    assert ended.code == 0
    assert await one.closed() == 4202
    assert (await two.call("ping"))["type"] == "ok"
    assert await refused(house, provider.token("rita", jti="one")) == "TOKEN_REVOKED"
    assert (await two.ask("refresh", token=provider.token("rita", jti="one")))["name"] == "TOKEN_REVOKED"
    before = provider.token("rita")
    ended = await punto_server("token", "revoke", "--data", node.data, "--patron", "rita", "--json")
    assert await two.closed() == 4202
    assert await refused(house, before) == "TOKEN_REVOKED"
    fresh = provider.token("rita", iat=(ended.told["at_ms"] + LEEWAY_MS) // 1000 + 1)
    async with asyncio.timeout(10):
        while (await _hello(node.url, fresh))["type"] != "ok":  # issued a moment from now
            await asyncio.sleep(0.1)
    async with client_sdk.connect(node.url, token=provider.token("sdk", jti="three")) as client:
        table = await client.watch(TABLE)
        await punto_server("token", "revoke", "--data", node.data, "--token-id", "three")
        with pytest.raises(Disconnected):
            async for _ in table:
                pass


async def _hello(url: str, token: str) -> dict[str, object]:
    async with await RawClient.open(url) as client:
        return await client.ask("hello", token=token)


# --- keys -------------------------------------------------------------------------------------------------------------


async def test_keys_come_and_go_without_a_restart(house: House) -> None:
    node, provider = house
    before = provider.checking.read_text()
    keys = json.loads(before)["keys"]
    provider.checking.write_text(json.dumps({"keys": [key for key in keys if key["kid"] != "rsa"]}))
    try:
        async with asyncio.timeout(15):
            while (await _hello(node.url, provider.token(key_id="rsa")))["type"] == "ok":
                await asyncio.sleep(0.3)
        assert (await _hello(node.url, provider.token()))["type"] == "ok"
    finally:
        provider.checking.write_text(before)
    async with asyncio.timeout(15):
        while (await _hello(node.url, provider.token(key_id="rsa")))["type"] != "ok":
            await asyncio.sleep(0.3)


async def test_a_minted_token_is_let_in(house: House) -> None:
    node, provider = house
    minted = await punto_server("token", "mint", "--signing", provider.signing, "--patron", "minted", "--name", "Mia")
    assert minted.code == 0
    async with await RawClient.arrive(node.url, token=minted.out.strip()) as client:
        assert client.patron == "minted"


async def test_no_token_is_told_anywhere(house: House) -> None:
    """BL-160: right and wrong tokens, and what the node has said of them at level debug."""
    node, provider = house
    tokens = [provider.token("quiet"), *provider.forged().values()]
    for token in (provider.token("quiet"), provider.token()[:-8] + "AAAAAAAA"):
        async with await RawClient.open(node.url) as client:
            reply = await client.ask("hello", token=token)
            assert token not in json.dumps([reply, client.log])
            if reply["type"] == "ok":
                with pytest.raises(CallRefused):
                    await client.call("refresh", token=token[:-8] + "AAAAAAAA")
            tokens.append(token)
    said = "".join(node.output)
    assert "token_refused" in said
    for token in tokens:
        for part in (token, *token.split(".")):
            assert len(part) < 16 or part not in said
