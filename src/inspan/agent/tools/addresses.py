"""Whether a host of the net may be asked: its addresses have to be public, all of them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

__all__ = ["AddressRefused", "is_public", "public_address"]

_NAT64 = (IPv6Network("64:ff9b::/96"), IPv6Network("64:ff9b:1::/48"))


class AddressRefused(Exception):
    """The host may not be asked; the text says why."""


async def public_address(host: str, port: int, *, allowed: Sequence[str] = ()) -> str:
    """An address of a host to connect to.

    Args:
        host: A name or an address, as it stands in a URL.
        port: The port.
        allowed: Hosts whose addresses need not be public.

    Raises:
        AddressRefused: It has none, or one of them is not public.
    """
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise AddressRefused(f"The host {host} is not known.") from error
    addresses = [str(sockaddr[0]).partition("%")[0] for *_, sockaddr in found]
    if not addresses:
        raise AddressRefused(f"The host {host} has no address.")
    if host.lower() not in {one.lower() for one in allowed} and not all(map(is_public, addresses)):
        raise AddressRefused(f"The host {host} has an address that is not public. It is not asked.")
    return addresses[0]


def is_public(text: str) -> bool:
    """Whether an address belongs to the public net, whatever other address it may carry inside itself."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return is_public(str(inner))
    return address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)


def _inner(address: IPv6Address) -> IPv4Address | None:
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    if address.sixtofour is not None:
        return address.sixtofour
    if address.teredo is not None:
        return address.teredo[1]
    if any(address in network for network in _NAT64):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return None
