"""What kind of address an IP is, with every disguise taken off first (stack-notes §9.7). Pure."""

from __future__ import annotations

import ipaddress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

IP = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

LOCAL = tuple(
    ipaddress.ip_network(text)
    for text in ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7")
)
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in ("169.254.169.254", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192")
)
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


def unwrap(address: IP) -> IP:
    """The IPv4 address inside an IPv4-mapped, 6to4, Teredo, NAT64 or IPv4-compatible form; else the address itself."""
    if isinstance(address, IPv4Address):
        return address
    if address.ipv4_mapped:
        return address.ipv4_mapped
    if address.sixtofour:
        return address.sixtofour
    if address.teredo:
        return address.teredo[1]
    low = int(address) & 0xFFFFFFFF
    if any(address in network for network in _NAT64) or 1 < int(address) <= 0xFFFFFFFF:
        return IPv4Address(low)
    return address


def is_never_allowed(address: IP) -> bool:
    """Link-local, cloud metadata, multicast, unspecified, broadcast and reserved addresses, whatever a list says."""
    plain = unwrap(address)
    if plain in _METADATA or plain.is_link_local or plain.is_multicast or plain.is_unspecified:
        return True
    if isinstance(plain, IPv4Address):
        return plain in ipaddress.ip_network("0.0.0.0/8") or plain in ipaddress.ip_network("240.0.0.0/4")
    return (plain.is_reserved and not plain.is_loopback) or plain.is_site_local


def is_local(address: IP) -> bool:
    """Loopback, private (RFC 1918, ULA) or carrier-grade NAT."""
    plain = unwrap(address)
    return any(plain.version == network.version and plain in network for network in LOCAL)


def is_in(address: IP, networks: tuple[Network, ...]) -> bool:
    """Whether the unwrapped address lies in one of `networks`."""
    plain = unwrap(address)
    return any(plain.version == network.version and plain in network for network in networks)


def parse_network(text: str) -> Network:
    """A network as people type it ("192.168.1.0/24", a single address, "loopback"); ValueError when it is none."""
    word = text.strip().lower()
    if word in ("loopback", "localhost"):
        return ipaddress.ip_network("127.0.0.0/8")
    return ipaddress.ip_network(word, strict=False)
