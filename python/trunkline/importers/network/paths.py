"""Label-switched paths of routers' configurations, joined over the routers that they cross."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Interface, IPv4Network
from typing import Any

from trunkline.importers.network.topology import ImportedBypass, ImportedPath, ImportedTopology

IMPLICIT_NULL = "IMPLICIT_NULL"
EXPLICIT_NULL = "IPV4_EXPLICIT_NULL"


@dataclass(frozen=True)
class HeadPath:
    """A path as its head end has it: an explicit route, or the segments of a policy."""

    router: str
    name: str
    addresses: tuple[str, ...]  # Far ends of links; of a policy router ids too.
    is_policy: bool = False
    keys: Mapping[str, Any] = field(default_factory=dict)  # In the words of a scenario.
    colours: Mapping[str, Any] = field(default_factory=dict)  # That its links must have, likewise.
    # Paths of the same router that take over, each with the name of its protection.
    backups: tuple[tuple[str, str], ...] = ()
    # Links that it goes around: the protection, and addresses of this router's ends.
    bypass: tuple[str, tuple[str, ...]] | None = None
    asks_for_repair: bool = False


@dataclass(frozen=True)
class LabelEntry:
    """An entry of a static LSP."""

    router: str
    path: str  # Its name at its head end; elsewhere the name may differ.
    incoming: str  # Label; empty at the head end.
    next_hop: str  # Empty: packets end here.
    push: str  # Label, `IMPLICIT_NULL` or `EXPLICIT_NULL`.
    keys: Mapping[str, Any] = field(default_factory=dict)  # Further keys of a head's path.


@dataclass(frozen=True)
class AddressBook:
    """Owners of addresses: the router of a router id; link and router of an end of a link."""

    routers: Mapping[str, str]
    ends: Mapping[str, tuple[int, str]]


def make_address_book(
    topology: ImportedTopology, router_ids: Mapping[str, str], ends: Mapping[str, str]
) -> AddressBook:
    """Find the link of each end's address; where two nodes share several, none.

    ends: Router by address.
    """
    links: dict[frozenset[str], list[int]] = {}
    for index, link in enumerate(topology.links):
        links.setdefault(frozenset((link.source, link.target)), []).append(index)
    known: dict[str, tuple[int, str]] = {}
    for address, (router, far) in _pair_ends(ends).items():
        found = links.get(frozenset((router, far)), [])
        if len(found) == 1:
            known[address] = (found[0], router)
    return AddressBook(router_ids, known)


def _pair_ends(ends: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Router and far router by address, which is written with the length of its prefix."""
    by_network: dict[IPv4Network, list[tuple[str, str]]] = {}
    for text, router in ends.items():
        address = IPv4Interface(text)
        by_network.setdefault(address.network, []).append((str(address.ip), router))
    pairs: dict[str, tuple[str, str]] = {}
    for members in by_network.values():
        if len(members) == 2:
            (first, a), (second, b) = members
            pairs |= {first: (a, b), second: (b, a)}
    return pairs


def add_paths(
    topology: ImportedTopology,
    head_paths: Sequence[HeadPath],
    entries: Sequence[LabelEntry],
    book: AddressBook,
) -> None:
    """Put paths into a topology; what has no place in a scenario is left out by name."""
    for each in head_paths:
        made = _make_policy(each, book) if each.is_policy else _make_route(each, book)
        if made is None:
            topology.account.add_left_out(f"path {each.name}", "a hop of it is no link of its own")
            continue
        made.backups, made.colours = each.backups, dict(each.colours)
        made.asks_for_repair = each.asks_for_repair
        topology.paths.append(made)
    for each in head_paths:
        if each.bypass is not None:
            _add_bypass(topology, each, each.bypass, book)
    by_label = {(each.router, each.incoming): each for each in entries if each.incoming}
    for head in (each for each in entries if not each.incoming):
        made = _follow_labels(head, by_label, book)
        if made is None:
            topology.account.add_left_out(f"path {head.path}", "its labels lead nowhere")
        else:
            topology.paths.append(made)


def _make_route(path: HeadPath, book: AddressBook) -> ImportedPath | None:
    route = [path.router]
    for address in path.addresses:
        if address not in book.ends:
            return None
        route.append(book.ends[address][1])
    return ImportedPath(path.name, tuple(route), keys=dict(path.keys))


def _add_bypass(
    topology: ImportedTopology,
    path: HeadPath,
    bypass: tuple[str, tuple[str, ...]],
    book: AddressBook,
) -> None:
    """Add the protection of the paths that ask for it and cross the links of a bypass."""
    name, addresses = bypass
    links = [book.ends[address][0] for address in addresses if address in book.ends]
    hops = set()
    for index in links:
        ends = topology.links[index].source, topology.links[index].target
        hops.add((path.router, ends[0] if ends[1] == path.router else ends[1]))
    paths = [
        each.name
        for each in topology.paths
        if each.asks_for_repair and hops & set(zip(each.route, each.route[1:], strict=False))
    ]
    if paths and links and any(each.name == path.name for each in topology.paths):
        topology.bypasses.append(
            ImportedBypass(name, path.name, tuple(paths), tuple(dict.fromkeys(links)))
        )
    else:
        topology.account.add_left_out(f"duty of {path.name}", "no path asks it to go around a link")


def _make_policy(path: HeadPath, book: AddressBook) -> ImportedPath | None:
    segments: list[str | int] = []
    for address in path.addresses:
        if address in book.routers:
            segments.append(book.routers[address])
        elif address in book.ends:
            segments.append(book.ends[address][0])
        else:
            return None
    return ImportedPath(path.name, (path.router,), tuple(segments), dict(path.keys))


def _follow_labels(
    head: LabelEntry, by_label: Mapping[tuple[str, str], LabelEntry], book: AddressBook
) -> ImportedPath | None:
    """The route that the labels of a static LSP lead along."""
    route, entry = [head.router], head
    labels: list[int] = []
    while entry.next_hop:
        if entry.next_hop not in book.ends or len(route) > len(by_label) + 1:
            return None
        router = book.ends[entry.next_hop][1]
        route.append(router)
        if entry.push in (IMPLICIT_NULL, EXPLICIT_NULL):
            null = {"explicit_null": True} if entry.push == EXPLICIT_NULL else {}
            return ImportedPath(
                head.path,
                tuple(route),
                keys=({"labels": labels} if labels else {}) | null | dict(head.keys),
            )
        labels.append(int(entry.push))
        following = by_label.get((router, entry.push))
        if following is None:
            return None
        entry = following
    return ImportedPath(
        head.path, tuple(route), keys={"labels": labels, "php": False} | dict(head.keys)
    )
