"""Failures, protection and rerouting as changes at given times.

What happens when is known from the rehearsal. A link that fails loses what it holds: its qdiscs at
both ends are emptied, for which the kernel needs no more than another length of the device's queue.
Devices stay up, since the kernel forgets the routes and neighbours of one that goes down, and a
filter takes what comes to the link meanwhile. A switch replaces routes by those of the entry that
takes over.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from trunkline.linux.plan import mpls
from trunkline.linux.plan.addresses import Wiring, node_name
from trunkline.linux.plan.forwarding import Forwarding, State
from trunkline.linux.plan.plan import Change, Count
from trunkline.linux.plan.rehearsal import Moment, Rehearsal
from trunkline.linux.plan.routing import next_links
from trunkline.linux.plan.script import Program, Script
from trunkline.network.types import Network, Nhlfe, Protection

CHAINS: Final = {"link_down": 1, "node_down": 2, "switching": 3}
"""Chains of the egress in which what is lost for a cause ends, and is counted."""
_LINK_TRAP: Final = 1
_FIRST_GAP: Final = 2
_MOST_GAPS: Final = 290
"""Preferences of filters that lead there: before all others, which begin at 300."""
_LAST_LABEL: Final = (1 << 20) - 2
_QUEUE_LENGTH: Final = 2000
_DEPTH: Final = 8
"""Entries that stand for entries before a cycle is suspected, as in the engine."""
_PROGRAMS: Final[tuple[Program, ...]] = ("tc", "ip", "mpls")


@dataclass(frozen=True, slots=True)
class Outage:
    """A link that fails, and is repaired or not.

    Parameters
    ----------
    cause : str
        Cause of the loss of what comes to it.
    failed_ns, repaired_ns : int
        When; a repair may lie beyond the end of the run.
    """

    link: int
    cause: str
    failed_ns: int
    repaired_ns: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A time in which a protection switches back and nothing passes.

    Parameters
    ----------
    link : int
        Link that packets would have left by.
    labels : tuple of int
        Labels they would have had, from the top.
    """

    protection: int
    link: int
    labels: tuple[int, ...]
    start_ns: int
    end_ns: int


@dataclass
class Course:
    """What happens to links and to forwarding in the course of a run.

    Parameters
    ----------
    network : mapping
        The compiled network, with the entries of restored paths.
    states : list of (int, State)
        What forwarding goes by from each time on [ns]; the first from the start.
    outages : list of Outage
        In the order of their beginning.
    gaps : list of Gap
        In the order of their ends.
    """

    network: Network
    states: list[tuple[int, State]]
    outages: list[Outage] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)

    def trapped(self) -> list[tuple[int, str]]:
        """Links at which packets may be lost, and the causes."""
        named = [(each.link, each.cause) for each in self.outages]
        named += [(each.link, "switching") for each in self.gaps]
        return list(dict.fromkeys(named))


def course(script: Script, data: Network, rehearsal: Rehearsal, targets: Sequence[int]) -> Course:
    """What happens in a run."""
    whole: Network = {**data, "nhlfe": list(data["nhlfe"]), "ilm": list(data["ilm"])}
    first = State(
        data["nhlfe"],
        {node: next_links(len(data["nodes"]), data["links"], node) for node in targets},
    )
    made = Course(whole, [(0, first)])
    protections = data.get("recovery", {}).get("protections", [])
    for each in protections:
        if each["kind"] == "one-plus-one":
            script.refuse(
                ("protections", each["name"], "kind"),
                f"protection {each['name']}: the kernel does not send a packet into two paths; "
                "nearest: kind: backup",
            )
    if script.reasons:
        return made
    _follow(script, made, rehearsal, protections)
    end = data["run"]["duration_ns"]
    made.outages = _outages(data, rehearsal.moments, end)
    return made


def _follow(
    script: Script, made: Course, rehearsal: Rehearsal, protections: Sequence[Protection]
) -> None:
    """Adds a state for each moment that changes forwarding."""
    overlays = _Overlays(made.network)
    end = made.network["run"]["duration_ns"]
    steered = [each for each in rehearsal.moments if each.event in ("switched", "reverted")]
    routed = [each for each in rehearsal.routes if each.protection < 0]
    times = {each.time_ns for each in steered} | {each.time_ns for each in routed}
    for time in sorted(times):
        before = made.states[-1][1]
        for moment in steered:
            if moment.time_ns != time:
                continue
            its = protections[moment.protection]
            if moment.event == "reverted" and its["switch_ns"] and not its["make_before_break"]:
                _part(script, made, its, moment, before)
            overlays.lift(moment.protection)
            if moment.event == "switched":
                path = [
                    each.link
                    for each in rehearsal.routes
                    if (each.time_ns, each.protection) == (time, moment.protection)
                ]
                overlays.lay(moment.protection, its, path)
        chosen = {node: list(links) for node, links in before.next.items()}
        for route in routed:
            if route.time_ns == time and route.destination in chosen:
                chosen[route.destination][route.node] = None if route.link < 0 else route.link
        if time < end:
            made.states.append((time, State(overlays.entries(), chosen)))
    # Entries of restored paths are there from the start; nothing leads to them before.
    made.states = [
        (time, replace(state, nhlfe=[*state.nhlfe, *made.network["nhlfe"][len(state.nhlfe) :]]))
        for time, state in made.states
    ]


@dataclass
class _Overlays:
    """Entries that stand in for others, the last one laid first; as `mpls/overlay.rs` has them."""

    network: Network
    laid: list[tuple[int, int, int | Nhlfe]] = field(default_factory=list)

    def lift(self, owner: int) -> None:
        """Takes those of one protection off."""
        self.laid = [each for each in self.laid if each[0] != owner]

    def lay(self, owner: int, protection: Protection, path: Sequence[int]) -> None:
        """Points the entries of a protection at their alternatives, or into a restored path."""
        label = self._restore(path, protection["path"]) if path else None
        for switch in protection["switches"]:
            entry, other = switch["entry"], switch["alternative"]
            if protection["kind"] != "restoration":
                self.laid.append((owner, entry, other))
            elif label is not None:
                original = self.network["nhlfe"][entry]
                pushed = [*original["push"][:-1], label]
                via: Nhlfe = {**original, "link": path[0], "row": None, "push": pushed}
                self.laid.append((owner, entry, via))

    def entries(self) -> list[Nhlfe]:
        """The entries as they are now."""
        return [self._effective(index, _DEPTH) for index in range(len(self.network["nhlfe"]))]

    def _effective(self, index: int, depth: int) -> Nhlfe:
        original: Nhlfe = self.network["nhlfe"][index]
        top = next((each[2] for each in reversed(self.laid) if each[1] == index), None)
        if top is None or not depth:
            return original
        return self._effective(top, depth - 1) if isinstance(top, int) else top

    def _restore(self, path: Sequence[int], owner: int) -> int:
        """Puts the labels of a computed path into the tables, the last node's first."""
        nhlfe, ilm = self.network["nhlfe"], self.network["ilm"]
        out: tuple[int, int] | None = None
        for link in reversed(path):
            label = _LAST_LABEL - (len(ilm) - self._own)
            entry: Nhlfe = {
                "pop": True,
                "push": [] if out is None else [out[0]],
                "link": None if out is None else out[1],
                "ttl": "uniform",
                "path": owner,
                "row": None,
            }
            ilm.append(
                {"node": self.network["links"][link]["to"], "label": label, "nhlfe": len(nhlfe)}
            )
            nhlfe.append(entry)
            out = (label, link)
        assert out is not None
        return out[0]

    def __post_init__(self) -> None:
        self._own = len(self.network["ilm"])


def _part(script: Script, made: Course, its: Protection, moment: Moment, state: State) -> None:
    """The time before a way back, in which the protection's entries forward nothing."""
    data, about = made.network, f"protection {its['name']}"
    own = {switch["entry"] for switch in its["switches"]}
    start = moment.time_ns - its["switch_ns"]
    users = list(_users(data, state))
    for _, entry, link, labels in users:
        if entry not in own or start >= data["run"]["duration_ns"]:
            continue
        shared = any(
            other not in own and (where, shown) == (link, labels)
            for _, other, where, shown in users
        )
        if link is None or not labels or shared or moment.protection > _MOST_GAPS:
            script.refuse(
                ("protections", its["name"], "make_before_break"),
                f"{about}: Linux cannot tell what it carries from other packets while it "
                "switches back; nearest: make_before_break: true",
            )
            continue
        made.gaps.append(Gap(moment.protection, link, labels, start, moment.time_ns))


def _users(data: Network, state: State) -> Iterator[tuple[int, int, int | None, tuple[int, ...]]]:
    """Node, entry, out-link and labels, from the top, of everything that uses an entry."""
    for bound in data["ftn"]:
        entry = state.nhlfe[bound["nhlfe"]]
        yield bound["node"], bound["nhlfe"], entry["link"], tuple(reversed(entry["push"]))
    for come in data["ilm"]:
        if come["nhlfe"] < len(state.nhlfe):
            entry = state.nhlfe[come["nhlfe"]]
            labels = tuple(mpls.labels_out(entry, come["label"]))
            yield come["node"], come["nhlfe"], entry["link"], labels


def _outages(data: Network, moments: Sequence[Moment], end: int) -> list[Outage]:
    rows = [each for each in moments if each.link >= 0 and each.protection < 0]
    failures = data.get("recovery", {}).get("failures", [])
    of_nodes = [set(each["links"]) for each in failures if each["node"]]
    made: list[Outage] = []
    down: set[int] = set()
    for time in sorted({each.time_ns for each in rows}):
        now = [each for each in rows if each.time_ns == time]
        down -= {each.link for each in now if each.event == "repaired"}
        down |= {each.link for each in now if each.event == "failed"}
        for each in now:
            if each.event == "failed" and time < end:
                node = any(each.link in links and links <= down for links in of_nodes)
                made.append(Outage(each.link, "node_down" if node else "link_down", time, end))
            elif each.event == "repaired":
                last = max(i for i, its in enumerate(made) if its.link == each.link)
                made[last] = replace(made[last], repaired_ns=min(time, end))
    return made


def traps(script: Script, its: Course, wiring: Wiring) -> None:
    """Says the chains in which packets end."""
    for link, cause in its.trapped():
        side = wiring.near[link]
        # Not dropped but taken: a sender at this node must not see that its packet was lost.
        script.say(
            side.node,
            "tc",
            f"filter add dev {side.device} egress chain {CHAINS[cause]} protocol all prio 1 "
            "matchall action trap",
            f"what is lost on {its.network['links'][link]['name']}: {cause}",
        )


def changes(
    its: Course, wiring: Wiring, forwarding: Forwarding
) -> tuple[tuple[Count, ...], tuple[Change, ...]]:
    """What is read and what is done during the run.

    Returns
    -------
    tuple of Count, tuple of Change
        For each outage a count of the link's near device and one of its wire.
    """
    end = its.network["run"]["duration_ns"]
    counts: list[Count] = []
    done: list[tuple[int, Program, int, str]] = []
    for number, outage in enumerate(its.outages):
        near, far = wiring.near[outage.link], wiring.far[outage.link]
        at = outage.failed_ns
        counts.append(Count(at, node_name(near.node), near.device))
        counts.append(Count(at, node_name(far.node), far.wire))
        trap = f"dev {near.device} egress protocol all prio {_LINK_TRAP}"
        chain = f"matchall action goto chain {CHAINS[outage.cause]}"
        done.append((at, "tc", near.node, f"filter add {trap} {chain}"))
        length = _QUEUE_LENGTH + number
        for side, device in ((near, near.device), (far, far.wire)):
            done.append((at, "ip", side.node, f"link set {device} txqueuelen {length}"))
        done.append((outage.repaired_ns, "tc", near.node, f"filter del {trap}"))
    for gap in its.gaps:
        side = wiring.near[gap.link]
        trap = f"dev {side.device} egress protocol mpls_uc prio {_FIRST_GAP + gap.protection}"
        match = " ".join(
            f"match u32 {label << 12:#010x} 0xfffff000 at {4 * depth}"
            for depth, label in enumerate(gap.labels)
        )
        chain = f"action goto chain {CHAINS['switching']}"
        done.append((gap.start_ns, "tc", side.node, f"filter add {trap} u32 {match} {chain}"))
        done.append((gap.end_ns, "tc", side.node, f"filter del {trap}"))
    before = forwarding.routes(its.states[0][1])
    for at, state in its.states[1:]:
        after = forwarding.routes(state)
        for node, program, target in {**before, **after}:
            key = (node, program, target)
            if before.get(key) != after.get(key):
                where = after[key][0] if key in after else "blackhole"
                kind, rest = (
                    ("blackhole ", target) if key not in after else ("", f"{target} {where}")
                )
                done.append((at, program, node, f"route replace {kind}{rest}"))
        before = after
    # A program is started for each time, node and kind of line: what belongs together stands so.
    ordered = sorted(
        (each for each in dict.fromkeys(done) if each[0] < end),
        key=lambda each: (each[0], _PROGRAMS.index(each[1]), each[2]),
    )
    return tuple(sorted(counts, key=lambda each: each.at_ns)), tuple(
        Change(at, node_name(node), program, line) for at, program, node, line in ordered
    )
