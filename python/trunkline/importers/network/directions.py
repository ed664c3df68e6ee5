"""Two one-way links between the same nodes as one link in both directions."""

from trunkline.importers.common.fault import ImportFault
from trunkline.importers.network.topology import ImportedLink, ImportedTopology


def join_one_way_links(links: list[ImportedLink]) -> tuple[list[ImportedLink], list[ImportedLink]]:
    """Join each one-way link with the first one back that has no partner yet.

    Returns: All links, in the order of the first direction of each; and those of them without a way
        back.
    """
    waiting: dict[tuple[str, str], list[ImportedLink]] = {}
    joined: list[ImportedLink] = []
    for link in links:
        opposite_links = waiting.get((link.target, link.source))
        if opposite_links:
            _set_way_back(opposite_links.pop(0), link)
            continue
        waiting.setdefault((link.source, link.target), []).append(link)
        joined.append(link)
    return joined, [link for alone in waiting.values() for link in alone]


def _set_way_back(link: ImportedLink, back: ImportedLink) -> None:
    if link.capacity is None:
        link.unit = back.unit
    elif back.capacity is not None and back.unit != link.unit:
        why = "a link has a capacity with a unit one way, and without one the other way"
        raise ImportFault(back.line, 1, why)
    if (link.metric is None) != (back.metric is None):
        # A direction without a metric has 1, as links without one have.
        link.metric = 1 if link.metric is None else link.metric
        back.metric = 1 if back.metric is None else back.metric
    link.capacity_back, link.metric_back, link.delay_back = back.capacity, back.metric, back.delay
    link.loss_back = back.loss
    link.length = back.length if link.length is None else link.length
    link.module = back.module if link.module is None else link.module
    link.colours = tuple(dict.fromkeys((*link.colours, *back.colours)))
    link.risks = tuple(dict.fromkeys((*link.risks, *back.risks)))


def join_listed_directions(topology: ImportedTopology) -> bool:
    """Join the directions of links where the file lists every link once each way.

    Returns: Whether it does.
    """
    pairs = [(link.source, link.target) for link in topology.links]
    if not pairs or sorted(pairs) != sorted((b, a) for a, b in pairs):
        return False
    topology.links, _ = join_one_way_links(topology.links)
    topology.account.add_assumption(
        "directions",
        "the file lists every link both ways: the two are one link",
        count=len(topology.links),
    )
    return True
