"""What an operator does to a wallet: once for each operation id, never below zero, never beyond the whole numbers."""

from itertools import count

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from client_sdk.protocol.messages import AMOUNT_MAX
from server.audit import balance_wallet
from server.store import keys
from server.store.books import Books
from server.store.driver import Driver
from server.store.errors import Refused, StoreAway
from server.store.wallets import WALLET_MAX, Operated, Operation, Wallets
from tests.integration.store.checks import Ledger, fresh_id, refusal_of
from tests.integration.store.faults import Fault, FaultyDriver

OPERATIONS_MAX = 1_000


async def balanced(driver: Driver, patron: str) -> int:
    """What a wallet holds, which must be what was put in less what was taken out."""
    book = await Books(driver).wallet(patron)
    assert balance_wallet(patron, book) == []
    assert book.balance == book.put_in - book.taken_out >= 0
    return book.balance


async def test_an_operation_is_done_once_and_told_again(wallets: Wallets, driver: Driver, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 1_000)
    credited = await wallets.operate("p", "o1", "credited", 500)
    assert (credited.balance, credited.is_new) == (1_500, True)
    debited = await wallets.operate("p", "o2", "debited", 1_500)
    assert (debited.balance, debited.is_new) == (0, True)
    before = await ledger.contents()
    assert await wallets.operate("p", "o1", "credited", 500) == Operated(1_500, credited.at_ms, False)
    assert await wallets.operate("p", "o2", "debited", 1_500) == Operated(0, debited.at_ms, False)
    assert await ledger.contents() == before
    book = await Books(driver).wallet("p")
    assert (book.balance, book.put_in, book.taken_out) == (0, 1_500, 1_500)
    await ledger.check_all([], ["p"])


async def test_refusals_in_their_order(wallets: Wallets, ledger: Ledger) -> None:
    before = await ledger.contents()
    assert await refusal_of(wallets.operate("ghost", "o1", "credited", 5)) == "UNKNOWN_PATRON"
    assert await ledger.contents() == before
    await wallets.create("p", "Pia", False, "abc", 1_000)
    await wallets.operate("p", "o1", "credited", 5)
    before = await ledger.contents()
    others: tuple[tuple[Operation, int], ...] = (("credited", 6), ("debited", 5), ("debited", 10**15))
    for kind, amount in others:
        assert await refusal_of(wallets.operate("p", "o1", kind, amount)) == "OPERATION_REUSED"
    assert await ledger.contents() == before
    assert await refusal_of(wallets.operate("p", "o2", "debited", 1_006)) == "INSUFFICIENT_WALLET"
    assert await refusal_of(wallets.operate("p", "o3", "credited", AMOUNT_MAX)) == "WALLET_TOO_FULL"
    await ledger.check_all([], ["p"])


async def test_a_refusal_is_the_answer_for_good(wallets: Wallets, driver: Driver, ledger: Ledger) -> None:
    """A stalled repeat of a debit that was refused must not be done when the wallet has been filled meanwhile."""
    await wallets.create("p", "Pia", False, "abc", 10)
    with pytest.raises(Refused) as first:
        await wallets.operate("p", "o1", "debited", 11)
    await wallets.operate("p", "o2", "credited", 100)
    with pytest.raises(Refused) as again:
        await wallets.operate("p", "o1", "debited", 11)
    assert (again.value.code, again.value.details) == (first.value.code, first.value.details)
    assert (await wallets.operate("p", "o3", "debited", 11)).balance == 99
    assert await balanced(driver, "p") == 99
    await ledger.check_all([], ["p"])


async def test_the_whole_range_of_amounts(wallets: Wallets, driver: Driver, ledger: Ledger) -> None:
    """Sixteen digits go in and out to the last unit; one unit more is refused, also of all that was ever put in."""
    await wallets.create("p", "Pia", False, "abc", 0)
    numbers = count()

    async def operate(kind: Operation, amount: int) -> int:
        return (await wallets.operate("p", f"o{next(numbers)}", kind, amount)).balance

    assert await refusal_of(operate("credited", AMOUNT_MAX)) == "WALLET_TOO_FULL"
    assert await refusal_of(operate("credited", WALLET_MAX + 1)) == "WALLET_TOO_FULL"
    for _ in range(AMOUNT_MAX // WALLET_MAX):
        assert await operate("credited", WALLET_MAX) == WALLET_MAX
        assert await refusal_of(operate("credited", 1)) == "WALLET_TOO_FULL"
        assert await operate("debited", WALLET_MAX - 1) == 1
        assert await operate("debited", 1) == 0
    rest = AMOUNT_MAX % WALLET_MAX
    assert await refusal_of(operate("credited", rest + 1)) == "WALLET_TOO_FULL"
    assert await operate("credited", rest) == rest
    assert await refusal_of(operate("credited", 1)) == "WALLET_TOO_FULL"
    assert await operate("debited", rest) == 0
    assert await refusal_of(operate("debited", 1)) == "INSUFFICIENT_WALLET"
    assert await balanced(driver, "p") == 0
    await ledger.check_all([], ["p"])


async def test_a_wallet_that_has_won_beyond_the_limit_can_be_debited(wallets: Wallets, driver: Driver) -> None:
    patron = fresh_id("p")
    await wallets.create(patron, "Pia", False, "abc", WALLET_MAX + 5)
    assert await refusal_of(wallets.operate(patron, "o1", "credited", 1)) == "WALLET_TOO_FULL"
    assert (await wallets.operate(patron, "o2", "debited", 5)).balance == WALLET_MAX
    assert await balanced(driver, patron) == WALLET_MAX


async def test_the_newest_operations_are_known(wallets: Wallets, driver: Driver, ledger: Ledger) -> None:
    await wallets.create("p", "Pia", False, "abc", 0)
    for number in range(OPERATIONS_MAX):
        await wallets.operate("p", f"o{number}", "credited", 1)
    assert not (await wallets.operate("p", "o0", "credited", 1)).is_new
    await wallets.operate("p", "one more", "credited", 1)
    assert not (await wallets.operate("p", "o1", "credited", 1)).is_new
    assert (await wallets.operate("p", "o0", "credited", 1)).is_new
    assert await balanced(driver, "p") == OPERATIONS_MAX + 2
    assert len(await ledger.hash_of(keys.operations_key("p"))) == OPERATIONS_MAX


@settings(derandomize=True, deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    deeds=st.lists(
        st.tuples(
            st.sampled_from(["credited", "credited", "debited"]),
            st.integers(0, 5),  # which operation id
            st.sampled_from([1, 7, 100, 1_000]),
            st.none() | st.builds(Fault, st.just(0), st.sampled_from(["before", "after", "late"])),
        ),
        max_size=20,
    )
)
async def test_every_run_of_operations_adds_up(
    store_url: str,
    wallets: Wallets,
    driver: Driver,
    ledger: Ledger,
    deeds: list[tuple[Operation, int, int, Fault | None]],
) -> None:
    """Lost, repeated and stalled commands: each operation id counts once at most, with its first content."""
    patron = fresh_id("p")
    await wallets.create(patron, "P", False, "abc", 100)
    done: dict[str, tuple[Operation, int]] = {}
    async with FaultyDriver(store_url) as faulty:
        broken = Wallets(faulty)
        for kind, number, amount, fault in deeds:
            faulty.arm(fault)
            try:
                told = await broken.operate(patron, f"o{number}", kind, amount)
                assert done.setdefault(f"o{number}", (kind, amount)) == (kind, amount)
                assert told.balance >= 0
            except (Refused, StoreAway):
                pass
            await balanced(driver, patron)
        await faulty.let_late_runs_through()
    await balanced(driver, patron)
    for operation, (kind, amount) in done.items():
        assert not (await wallets.operate(patron, operation, kind, amount)).is_new
