"""All scenarios, by name. Each strikes and says what must have come of it; that nothing was lost, doubled or told out
of order is checked after each of them by `checker.py`, and need not be said there.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from tests.chaos import of_money, of_nodes, of_replicas, of_store
from tests.chaos.scenario import CLUSTER, PROXIED, SENTINEL, WORKERS, Scenario

TAKEOVER_MS_MAX: Final = 2_000
BUY_IN: Final = 500_000
"""Enough for a whole run: a buy-in that the store forgets, or confirms too late, confuses the bots and is no fault."""

_ALL: Final = (
    Scenario("node_killed", of_nodes.node_killed, takes_any_store=True, commit_ms_max=TAKEOVER_MS_MAX),
    Scenario(
        "owner_stopped", of_nodes.owner_stopped, repeats=(3, 1), takes_any_store=True, commit_ms_max=TAKEOVER_MS_MAX
    ),
    Scenario("node_terminated", of_nodes.node_terminated, takes_any_store=True),
    Scenario("all_nodes_terminated", of_nodes.all_nodes_terminated, takes_any_store=True),
    Scenario("acts_outlive_kills", of_money.acts_outlive_kills, repeats=(50, 1)),
    Scenario(
        "rolling_restart", of_nodes.rolling_restart, PROXIED, repeats=(1, 1), patrons=(500, 30), long_betting_ms=4_000
    ),
    Scenario("store_killed", of_store.store_killed, repeats=(4, 1)),
    Scenario("store_stopped", of_store.store_stopped, repeats=(4, 1)),
    Scenario("subscribers_killed", of_store.subscribers_killed, repeats=(30, 5)),
    Scenario("rubbish_published", of_store.rubbish_published, repeats=(5, 1)),
    Scenario(
        "store_rolled_back",
        of_store.store_rolled_back,
        repeats=(3, 1),
        buy_in=BUY_IN,
        loses_acts=True,
        loses_claims=True,
    ),
    Scenario(
        "store_emptied", of_store.store_emptied, patrons=(10, 10), loses_acts=True, loses_claims=True, ends_patrons=True
    ),
    Scenario("workers_replaced", of_nodes.workers_replaced, WORKERS, repeats=(2, 1), takes_any_store=True),
    Scenario(
        "workers_killed",
        of_nodes.workers_killed,
        WORKERS,
        repeats=(8, 1),
        takes_any_store=True,
        commit_ms_max=TAKEOVER_MS_MAX,
    ),
    Scenario("slot_moved", of_replicas.slot_moved, CLUSTER, repeats=(4, 1)),
    Scenario(
        "cluster_primary_killed",
        of_replicas.cluster_primary_killed,
        CLUSTER,
        repeats=(3, 1),
        buy_in=BUY_IN,
        loses_claims=True,
    ),
    Scenario(
        "sentinel_primary_killed",
        of_replicas.sentinel_primary_killed,
        SENTINEL,
        repeats=(3, 1),
        buy_in=BUY_IN,
        loses_claims=True,
    ),
)
SCENARIOS: Final[Mapping[str, Scenario]] = MappingProxyType({scenario.name: scenario for scenario in _ALL})
