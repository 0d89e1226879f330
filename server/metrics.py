"""What a node counts and measures, for Prometheus. Names, labels and units are said here and nowhere else.

Labels have few values: kinds of request, codes, verbs of the store, never a patron or a table (who wants one table's
story reads the log). In a worker each value lies in a file that its supervisor adds up (`server/admin.py`), so a gauge
says how. docs/grafana-dashboard.json and docs/alerts.yml use these names, and a test holds them to it.
"""

from functools import cache
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

_FAST: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)
"""Seconds: from half a millisecond to what no patron would wait for."""

# what patrons do
CONNECTIONS = Gauge("punto_connections", "Open WebSocket connections", multiprocess_mode="livesum")
REQUESTS = Counter(
    "punto_requests_total",
    "Answered requests other than acts, by kind and by code (ok, or a refusal)",
    ["kind", "code"],
)
ACTS = Counter("punto_acts_total", "Answered acts on bets, by kind and by code (ok, or a refusal)", ["kind", "code"])
REFUSED_AT_THE_DOOR = Counter(
    "punto_refused_at_the_door_total", "Handshakes and connections refused or cut, by the limit or code", ["code"]
)

# what patrons see
EVENT_LAG = Histogram(
    "punto_event_lag_seconds", "From the commit of a numbered event to its last socket of this node", buckets=_FAST
)
SLOW_READERS = Counter("punto_slow_readers_total", "Connections closed because they did not read")
READERS_BEHIND = Gauge(
    "punto_readers_behind", "Followers of a table that wait for a snapshot", multiprocess_mode="livesum"
)
FEED_REPAIRS = Counter("punto_feed_repairs_total", "Times that missed events were read back from a table's stream")
ROUNDS = Counter("punto_rounds_total", "Rounds that this node has settled, by how they ended", ["ended"])

# tables and nodes
LEASES = Gauge("punto_leases", "Tables that this node owns", multiprocess_mode="livesum")
CLAIMS = Counter(
    "punto_claims_total",
    "Tables claimed, by how they came: given (by nobody, or released), or taken_over from a silent owner",
    ["how"],
)
LOST_TABLES = Counter(
    "punto_lost_tables_total", "Tables given up because another owner, or the store, said so", ["reason"]
)
ROLLBACKS = Counter("punto_rollbacks_total", "Times that a table's store was found to have forgotten writes")
LIVE_NODES = Gauge("punto_live_nodes", "Nodes that live, as this node sees it", multiprocess_mode="livemin")

# the store
STORE_UP = Gauge("punto_store_up", "1 while the store takes this node's signs of life", multiprocess_mode="livemin")
STORE_SECONDS = Histogram("punto_store_seconds", "Calls of the store, by verb", ["verb"], buckets=_FAST)
STORE_FAILURES = Counter(
    "punto_store_failures_total", "Calls of the store that failed, by verb and error", ["verb", "error"]
)
CLOCK_OFFSET = Gauge(
    "punto_clock_offset_seconds",
    "The clock of a store's server less this machine's wall clock",
    ["server"],
    multiprocess_mode="livemostrecent",
)

# money, as `punto-server audit --every` finds it
AUDIT_DIFFERENCES = Gauge("punto_audit_differences", "Places where the money did not add up at the last audit")
AUDIT_DIFFERENCE = Gauge("punto_audit_difference", "Sum of those differences without their signs, minor units")
AUDIT_AT = Gauge("punto_audit_at_seconds", "When the last audit was finished, seconds since 1970")
AUDIT_SECONDS = Gauge("punto_audit_seconds", "How long the last audit took")
AUDIT_FAILURES = Counter("punto_audit_failures_total", "Audits that could not be carried out")
OPEN_TRANSFERS = Gauge("punto_open_transfers", "Transfers between wallets and tables under way at the last audit")
UNDER_WAY = Gauge("punto_under_way", "What was on its way between wallets and tables at the last audit, minor units")


def count_answer(kind: str, code: str, *, is_act: bool) -> None:
    """Count the answer to a request."""
    _answers(kind, code, is_act).inc()


@cache
def _answers(kind: str, code: str, is_act: bool) -> Counter:
    """Find a counter by its labels: the library checks and locks for ten times as long as the counting takes."""
    return (ACTS if is_act else REQUESTS).labels(kind, code)


@cache
def store_seconds(verb: str) -> Histogram:
    """Find the histogram of a verb of the store."""
    return STORE_SECONDS.labels(verb)
