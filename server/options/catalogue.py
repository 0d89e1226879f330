"""Every option of a node, once: its key in the file is `betting_ms`, its variable PUNTO_BETTING_MS, its flag
`--betting-ms`.

A new option is a row here, a field in `server/settings.py` and a line in `settings_of` below; README's table, `serve
--help` and `punto-server settings` follow from the row (and a test holds README to it).
"""

from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from client_sdk.game.shoe import CUT_CARD_DEFAULT, CUT_CARD_MIN
from client_sdk.protocol.messages import AMOUNT_MAX
from server.options import kinds
from server.options.kinds import Address, Kind
from server.settings import (
    DURATION_MS_MAX,
    PLAY_MONEY,
    PLAY_MONEY_MAX,
    SEATS_MAX,
    DoorLimits,
    Pace,
    PlayBreaks,
    Settings,
    Stakes,
    Times,
)
from server.tokens import TokenRules

PACE: Final = Pace()
STAKES: Final = Stakes()
TIMES: Final = Times()
TOKENS: Final = TokenRules()
DOORS: Final = DoorLimits()
BREAKS: Final = PlayBreaks()
_MONTH_MS: Final = 31 * 86_400_000
URL_DEFAULT: Final = "embedded"


class Same(Enum):
    """Where a setting has to be the same. NODES: on all that run at one time. STORE: as long as the store lives, since
    what lies in it was counted by it."""

    NOWHERE = "nowhere"
    NODES = "nodes"
    STORE = "store"


class Option(NamedTuple):
    """One option. A default of None: it may be left unset. `is_secret`: never shown."""

    key: str
    kind: Kind
    default: Any
    means: str
    same: Same = Same.NOWHERE
    is_secret: bool = False

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return f"--{self.key.replace('_', '-')}"

    @property
    def variable(self) -> str:
        """The option in the environment."""
        return f"PUNTO_{self.key.upper()}"


def _amount(least: int) -> Kind:
    return kinds.whole("N", least, AMOUNT_MAX)


def _ms(least: int, most: int = DURATION_MS_MAX) -> Kind:
    return kinds.whole("MS", least, most, unit="ms")


def _count() -> Kind:
    return kinds.whole("N", 1, 1_000_000)


def _bytes() -> Kind:
    return kinds.whole("N", 4_096, 2**40, unit="bytes")


_OPTIONS: Final = (
    Option("listen", kinds.address(), Address("127.0.0.1", 8765), "where patrons connect"),
    Option(
        "store",
        kinds.text("URL"),
        URL_DEFAULT,
        "embedded, redis://, rediss://, redis+sentinel://, redis+cluster://",
    ),
    Option("data", kinds.path("DIR"), Path("data"), "of the embedded store"),
    Option("open", kinds.switch(), False, "admit guests with play money", Same.STORE),
    Option("token_keys", kinds.path("FILE"), None, "admit who holds a token that one of these keys has signed"),
    Option("token_issuer", kinds.text("NAME"), TOKENS.issuer, "who signs them", Same.NODES),
    Option("token_audience", kinds.text("NAME"), TOKENS.audience, "for whom", Same.NODES),
    Option("token_leeway_ms", _ms(0, 300_000), TOKENS.leeway_ms, "the issuer's clock may be off", Same.NODES),
    Option("token_life_max_ms", _ms(1_000, _MONTH_MS), TOKENS.life_ms_max, "longest life", Same.NODES),
    Option("tls_cert", kinds.path("FILE"), None, "speak TLS with this certificate and those of its issuers"),
    Option("tls_key", kinds.path("FILE"), None, "its private key"),
    Option(
        "allowed_origins", kinds.origins(), DOORS.allowed_origins, "pages that may connect, * any; else this host's"
    ),
    Option("trusted_proxies", kinds.networks(), DOORS.trusted_proxies, "whose X-Forwarded-For is believed"),
    Option("handshake_ms", _ms(100, 60_000), DOORS.handshake_ms, "from the socket to the handshake's end"),
    Option("hello_ms", _ms(100, 60_000), DOORS.hello_ms, "from there to an accepted hello"),
    Option("handshakes_max", _count(), DOORS.handshakes_max, "sockets before their handshake"),
    Option("connections_max", _count(), DOORS.connections_max, "connections of this node"),
    Option("connections_per_address", _count(), DOORS.connections_per_address, "of one address"),
    Option("connections_per_patron", _count(), DOORS.connections_per_patron, "of one patron"),
    Option("node_opens_per_s", _count(), DOORS.node_opens_per_s, "new sockets in a second; the next wait their turn"),
    Option("address_opens_per_s", _count(), DOORS.address_opens_per_s, "connections of one address in a second"),
    Option("address_guests_per_s", _count(), DOORS.address_guests_per_s, "new guests of one address in a second"),
    Option("address_requests_per_s", _count(), DOORS.address_requests_per_s, "requests of one address in a second"),
    Option("patron_requests_per_s", _count(), DOORS.patron_requests_per_s, "requests of one patron in a second"),
    Option("node_requests_per_s", _count(), DOORS.node_requests_per_s, "requests of all in a second"),
    Option("outbox_bytes_max", _bytes(), DOORS.outbox_bytes_max, "may wait for a reader that is slow"),
    Option("outboxes_bytes_max", _bytes(), DOORS.outboxes_bytes_max, "may wait for all of them together"),
    Option("limit_loosen_ms", _ms(0, _MONTH_MS), BREAKS.limit_loosen_ms, "a looser limit waits", Same.NODES),
    Option("session_break_ms", _ms(0, _MONTH_MS), BREAKS.session_break_ms, "between sessions", Same.NODES),
    Option("play_money", kinds.whole("N", 0, PLAY_MONEY_MAX), PLAY_MONEY, "minor units", Same.NODES),
    Option("currency", kinds.text("CODE", "[A-Z]{3}", "three capitals"), "PTO", "code of the currency", Same.STORE),
    Option("exponent", kinds.whole("N", 0, 4), 2, "minor units are so many decimal places", Same.STORE),
    Option("betting_ms", _ms(100), PACE.betting_ms, "betting time", Same.NODES),
    Option("card_ms", _ms(0), PACE.card_ms, "from card to card", Same.NODES),
    Option("result_ms", _ms(0), PACE.result_ms, "the result stands", Same.NODES),
    Option("grace_ms", _ms(0), PACE.grace_ms, "a lost seat waits", Same.NODES),
    Option("cut_card", kinds.whole("N", CUT_CARD_MIN, 200), CUT_CARD_DEFAULT, "cards behind it", Same.NODES),
    Option("seats_max", kinds.whole("N", 1, SEATS_MAX), SEATS_MAX, "seats at a table", Same.NODES),
    Option("chips", kinds.amounts(), STAKES.chips, "what one act may lay, minor units", Same.NODES),
    Option("minimum", _amount(1), STAKES.minimum, "least sum on a spot", Same.NODES),
    Option("maximum", _amount(1), STAKES.maximum, "greatest sum of one patron on a side", Same.NODES),
    Option("tie_maximum", _amount(1), STAKES.tie_maximum, "greatest sum of one patron on the tie", Same.NODES),
    Option("table_maximum", _amount(0), STAKES.table_maximum, "greatest sum of all patrons on a side", Same.NODES),
    Option("win_max", _amount(0), STAKES.win_max, "cap on the win of one bet at royal", Same.NODES),
    Option("stacked_shoe", kinds.path("FILE"), None, "deal these rounds, one a line (open play only)", Same.NODES),
    Option("seal_key", kinds.path("FILE"), None, "keys that seal secrets in the store (seal.key in --data)"),
    Option("demo_bots", kinds.whole("N", 0, 100, bare="3"), 0, "bots at each table"),
    Option("workers", kinds.whole("N", 0, 64), 0, "so many processes on one port, 0: one node, no supervisor"),
    Option("confirm_replicas", kinds.whole("K", 0, 16), 0, "replicas that must have an act about money", Same.NODES),
    Option("confirm_ms", _ms(10), TIMES.confirm_ms, "so long an act waits for them"),
    Option("store_ms", _ms(100), TIMES.store_ms, "a store that does not answer in this time is away"),
    Option("lease_ms", _ms(400, 60_000), TIMES.lease_ms, "a silent owner of a table is replaced after it", Same.NODES),
    Option("renew_ms", _ms(50, 20_000), TIMES.renew_ms, "so often a quiet owner renews its lease"),
    Option("accept_unsafe_store", kinds.switch(), False, "run on a store whose settings could lose money"),
    Option("accept_other_settings", kinds.switch(), False, "run beside nodes with other settings, until they follow"),
    Option(
        "admin", kinds.address(may_be_off=True), None, "metrics and health, in a network of the operator's own (off)"
    ),
    Option("log_format", kinds.one_of("FORMAT", "text", "json"), "text", "one record a line: text, json"),
    Option("log_level", kinds.one_of("LEVEL", "debug", "info", "warning", "error"), "info", "least grave record"),
)
OPTIONS: Final = MappingProxyType({option.key: option for option in _OPTIONS})


def settings_of(values: Mapping[str, Any], worker: int = 0) -> Settings:
    """Make the settings of a node from the values of all options. Raises `BadSetting` where they do not fit
    together."""
    return Settings(
        host=values["listen"].host,
        port=values["listen"].port,
        store=values["store"],
        data=values["data"],
        open_play=values["open"],
        token_keys=values["token_keys"],
        tokens=TokenRules(
            values["token_issuer"], values["token_audience"], values["token_leeway_ms"], values["token_life_max_ms"]
        ),
        play_money=values["play_money"],
        currency=values["currency"],
        exponent=values["exponent"],
        pace=_part(Pace, values),
        stakes=_part(Stakes, values),
        times=_part(Times, values),
        doors=_part(DoorLimits, values),
        play_breaks=_part(PlayBreaks, values),
        tls_cert=values["tls_cert"],
        tls_key=values["tls_key"],
        cut_card=values["cut_card"],
        seats_max=values["seats_max"],
        stacked_shoe=values["stacked_shoe"],
        seal_key=values["seal_key"],
        demo_bots=values["demo_bots"],
        workers=values["workers"],
        worker=worker,
        confirm_replicas=values["confirm_replicas"],
        accept_unsafe_store=values["accept_unsafe_store"],
        accept_other_settings=values["accept_other_settings"],
        admin=values["admin"],
        log_format=values["log_format"],
        log_level=values["log_level"],
    )


def _part(kind: type[Any], values: Mapping[str, Any]) -> Any:
    """Make a group of settings whose fields are named as their options."""
    return kind(**{name: values[name] for name in kind.__dataclass_fields__})
