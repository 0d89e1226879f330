"""Punto for client authors: the rules, the wire, a client and the command line; knows nothing of the server.

`connect` gives a `Client`, `client.join` a `Table`; what goes wrong is in `exceptions`, what happens in
`protocol.messages`. Names are imported when they are first asked for, so that the rules alone stay light. Read next:
`client`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from client_sdk import exceptions
    from client_sdk.client import Client, connect
    from client_sdk.clock import TableClock
    from client_sdk.exceptions import Disconnected, PuntoError, Refused, TimedOut
    from client_sdk.game.tableau import Outcome, Side
    from client_sdk.game.variants import Spot
    from client_sdk.mirror import Applied, TableMirror
    from client_sdk.protocol import messages
    from client_sdk.settings import Settings
    from client_sdk.table import Table

__all__ = [
    "Applied",
    "Client",
    "Disconnected",
    "Outcome",
    "PuntoError",
    "Refused",
    "Settings",
    "Side",
    "Spot",
    "Table",
    "TableClock",
    "TableMirror",
    "TimedOut",
    "connect",
    "exceptions",
    "messages",
]

_HOMES: Final = {
    "Applied": "mirror",
    "Client": "client",
    "Disconnected": "exceptions",
    "Outcome": "game.tableau",
    "PuntoError": "exceptions",
    "Refused": "exceptions",
    "Settings": "settings",
    "Side": "game.tableau",
    "Spot": "game.variants",
    "Table": "table",
    "TableClock": "clock",
    "TableMirror": "mirror",
    "TimedOut": "exceptions",
    "connect": "client",
}
_MODULES: Final = {"exceptions": "exceptions", "messages": "protocol.messages"}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name in _HOMES:
        found = getattr(import_module(f"client_sdk.{_HOMES[name]}"), name)
    elif name in _MODULES:
        found = import_module(f"client_sdk.{_MODULES[name]}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = found
    return found
