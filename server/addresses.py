"""Who is at the other end: the address that limits are counted by, and whether a page of that origin may connect.

Pure. An address that a proxy tells is believed only where the proxy is one of the house's.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network
ANY_ORIGIN: Final = "*"
FORWARDED_MAX: Final = 16
"""So many hops of X-Forwarded-For are looked at, from the near end."""
ADDRESS_CHARS_MAX: Final = 64
"""With brackets, zone and port; what is longer is none, and not kept."""
_IPV6_PREFIX: Final = 64
"""One customer usually has a whole network of so many bits."""
_PORTS: Final = {"http": 80, "https": 443}


def networks(names: Sequence[str]) -> tuple[Network, ...]:
    """Read addresses and networks (10.0.0.0/8). Raises ValueError."""
    return tuple(ip_network(name) for name in names)


def counted_address(peer: str | None, forwarded: Sequence[str], proxies: Sequence[Network]) -> str:
    """Name the address that a socket is counted by; '' where none is known, or it is this machine's own.

    `forwarded` are the values of X-Forwarded-For in order. The nearest address that is no proxy of ours counts: what
    stands before it anybody may have written.
    """
    here = _address(peer or "")
    hops = [hop.strip() for value in forwarded for hop in value.split(",")]
    for hop in reversed(hops[-FORWARDED_MAX:]):
        if here is None or not any(here in network for network in proxies):
            break
        here = _address(hop) if len(hop) <= ADDRESS_CHARS_MAX else None
    if here is None or here.is_loopback:
        return ""
    if isinstance(here, IPv6Address):
        return str(ip_network((here, _IPV6_PREFIX), strict=False))
    return str(here)


@lru_cache(maxsize=4096)
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Read an address; a port behind it and brackets around it are passed over, IPv4 in IPv6 is IPv4."""
    text = text.partition("%")[0]
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def is_allowed_origin(origins: Sequence[str], host: str, allowed: Sequence[str]) -> bool:
    """Whether a handshake with these Origin headers may go on. Programs send none and may; a page may where its origin
    is listed, or, where nothing is listed, where it came from this very host."""
    if not origins:
        return True
    if len(origins) > 1:
        return False
    if allowed:
        return ANY_ORIGIN in allowed or origins[0].lower() in allowed
    place = _place(origins[0])
    return place is not None and place == _place(f"{urlsplit(origins[0]).scheme}://{host}")


def _place(url: str) -> tuple[str, int] | None:
    """Host and port of an origin."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        return None
    return (parts.hostname, port) if parts.hostname and port else None
