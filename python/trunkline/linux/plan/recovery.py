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

from trunkline.linux.plan import label_filters
from trunkline.linux.plan.addresses import VethPlan, name_namespace
from trunkline.linux.plan.command_script import CommandScript, ConfigProgram
from trunkline.linux.plan.dry_run import DryRun, TimelineEvent
from trunkline.linux.plan.forwarding import ForwardingRoutes, ForwardingState
from trunkline.linux.plan.guest_plan import QueueReading, TimedCommand
from trunkline.linux.plan.next_links import find_next_links
from trunkline.network.types import NetworkData, Nhlfe, Protection

LOSS_CHAINS: Final = {"link_down": 1, "node_down": 2, "switching": 3}
"""Chains of the egress in which what is lost for a cause ends, and is counted."""
_LINK_PREFERENCE: Final = 1
_FIRST_GAP_PREFERENCE: Final = 2
_MAX_GAPS: Final = 290
"""Preferences of filters that lead there: before all others, which begin at 300."""
_LAST_LABEL: Final = (1 << 20) - 2
_QUEUE_LENGTH: Final = 2000
_MAX_OVERLAY_DEPTH: Final = 8
"""Entries that stand for entries before a cycle is suspected, as in the engine."""
_PROGRAMS: Final[tuple[ConfigProgram, ...]] = ("tc", "ip", "mpls")


@dataclass(frozen=True, slots=True)
class LinkOutage:
    """A link that fails, and is repaired or not."""

    link: int
    cause: str  # Cause of the loss of what comes to it.
    # failed_ns, repaired_ns: When; a repair may lie beyond the end of the run.
    failed_ns: int
    repaired_ns: int


@dataclass(frozen=True, slots=True)
class SwitchbackGap:
    """A time in which a protection switches back and nothing passes."""

    protection: int
    link: int  # Link that packets would have left by.
    labels: tuple[int, ...]  # Labels they would have had, from the top.
    start_ns: int
    end_ns: int


@dataclass
class RecoverySchedule:
    """Changes of links and of forwarding in the course of a run."""

    network: NetworkData  # The compiled network, with the entries of restored paths.
    # Forwarding tables from each time on [ns]; the first from the start.
    states: list[tuple[int, ForwardingState]]
    outages: list[LinkOutage] = field(default_factory=list)  # In the order of their beginning.
    gaps: list[SwitchbackGap] = field(default_factory=list)  # In the order of their ends.

    def list_loss_causes(self) -> list[tuple[int, str]]:
        """List the links at which packets may be lost, and the causes."""
        link_causes = [(each.link, each.cause) for each in self.outages]
        link_causes += [(each.link, "switching") for each in self.gaps]
        return list(dict.fromkeys(link_causes))


def plan_recovery(
    script: CommandScript, network: NetworkData, dry_run: DryRun, targets: Sequence[int]
) -> RecoverySchedule:
    """Plan the changes of a run."""
    full_network: NetworkData = {
        **network,
        "nhlfe": list(network["nhlfe"]),
        "ilm": list(network["ilm"]),
    }
    next_links = find_next_links(network)
    first_state = ForwardingState(network["nhlfe"], {node: next_links[node] for node in targets})
    schedule = RecoverySchedule(full_network, [(0, first_state)])
    protections = network.get("recovery", {}).get("protections", [])
    for each in protections:
        if each["kind"] == "one-plus-one":
            script.refuse(
                ("protections", each["name"], "kind"),
                f"protection {each['name']}: the kernel does not send a packet into two paths; "
                "nearest: kind: backup",
            )
    if script.reasons:
        return schedule
    _add_states(script, schedule, dry_run, protections)
    end = network["run"]["duration_ns"]
    schedule.outages = _list_outages(network, dry_run.timeline_events, end)
    return schedule


def _add_states(
    script: CommandScript,
    schedule: RecoverySchedule,
    dry_run: DryRun,
    protections: Sequence[Protection],
) -> None:
    """Add a state for each moment that changes forwarding."""
    overlays = _EntryOverlays(schedule.network)
    end = schedule.network["run"]["duration_ns"]
    switches = [each for each in dry_run.timeline_events if each.event in ("switched", "reverted")]
    route_changes = [each for each in dry_run.routes if each.protection < 0]
    times = {each.time_ns for each in switches} | {each.time_ns for each in route_changes}
    for time in sorted(times):
        previous = schedule.states[-1][1]
        for event in switches:
            if event.time_ns != time:
                continue
            protection = protections[event.protection]
            if (
                event.event == "reverted"
                and protection["switch_ns"]
                and not protection["make_before_break"]
            ):
                _add_gaps(script, schedule, protection, event, previous)
            overlays.remove_owner(event.protection)
            if event.event == "switched":
                path = [
                    each.link
                    for each in dry_run.routes
                    if (each.time_ns, each.protection) == (time, event.protection)
                ]
                overlays.add_owner(event.protection, protection, path)
        next_links = {node: list(links) for node, links in previous.next_links.items()}
        for route in route_changes:
            if route.time_ns == time and route.destination in next_links:
                next_links[route.destination][route.node] = None if route.link < 0 else route.link
        if time < end:
            schedule.states.append((time, ForwardingState(overlays.list_entries(), next_links)))
    # Entries of restored paths are there from the start; nothing leads to them before.
    schedule.states = [
        (time, replace(state, nhlfe=[*state.nhlfe, *schedule.network["nhlfe"][len(state.nhlfe) :]]))
        for time, state in schedule.states
    ]


@dataclass
class _EntryOverlays:
    """Entries that replace others, the newest first; as `mpls/overlay.rs` has them."""

    network: NetworkData
    overlays: list[tuple[int, int, int | Nhlfe]] = field(default_factory=list)

    def remove_owner(self, owner: int) -> None:
        """Remove the entries of one protection."""
        self.overlays = [each for each in self.overlays if each[0] != owner]

    def add_owner(self, owner: int, protection: Protection, path: Sequence[int]) -> None:
        """Point the entries of a protection at their alternatives, or into a restored path."""
        label = self._add_restored_path(path, protection["path"]) if path else None
        for switch in protection["switches"]:
            entry, alternative = switch["entry"], switch["alternative"]
            if protection["kind"] != "restoration":
                self.overlays.append((owner, entry, alternative))
            elif label is not None:
                original = self.network["nhlfe"][entry]
                pushed = [*original["push"][:-1], label]
                restored_entry: Nhlfe = {**original, "link": path[0], "row": None, "push": pushed}
                self.overlays.append((owner, entry, restored_entry))

    def list_entries(self) -> list[Nhlfe]:
        """List the present entries."""
        return [
            self._resolve_entry(index, _MAX_OVERLAY_DEPTH)
            for index in range(len(self.network["nhlfe"]))
        ]

    def _resolve_entry(self, index: int, depth: int) -> Nhlfe:
        original: Nhlfe = self.network["nhlfe"][index]
        overlay = next((each[2] for each in reversed(self.overlays) if each[1] == index), None)
        if overlay is None or not depth:
            return original
        return self._resolve_entry(overlay, depth - 1) if isinstance(overlay, int) else overlay

    def _add_restored_path(self, path: Sequence[int], owner: int) -> int:
        """Put the labels of a computed path into the tables, the last node's first."""
        nhlfe, ilm = self.network["nhlfe"], self.network["ilm"]
        next_hop: tuple[int, int] | None = None
        for link in reversed(path):
            label = _LAST_LABEL - (len(ilm) - self._own_labels)
            entry: Nhlfe = {
                "pop": True,
                "push": [] if next_hop is None else [next_hop[0]],
                "link": None if next_hop is None else next_hop[1],
                "ttl": "uniform",
                "path": owner,
                "row": None,
            }
            ilm.append(
                {"node": self.network["links"][link]["to"], "label": label, "nhlfe": len(nhlfe)}
            )
            nhlfe.append(entry)
            next_hop = (label, link)
        assert next_hop is not None
        return next_hop[0]

    def __post_init__(self) -> None:
        self._own_labels = len(self.network["ilm"])


def _add_gaps(
    script: CommandScript,
    schedule: RecoverySchedule,
    protection: Protection,
    event: TimelineEvent,
    state: ForwardingState,
) -> None:
    """The time before a way back, in which the protection's entries forward nothing."""
    data, about = schedule.network, f"protection {protection['name']}"
    own_entries = {switch["entry"] for switch in protection["switches"]}
    gap_start = event.time_ns - protection["switch_ns"]
    uses = list(_list_entry_uses(data, state))
    for _, entry, link, labels in uses:
        if entry not in own_entries or gap_start >= data["run"]["duration_ns"]:
            continue
        is_shared = any(
            other not in own_entries and (other_link, other_labels) == (link, labels)
            for _, other, other_link, other_labels in uses
        )
        if link is None or not labels or is_shared or event.protection > _MAX_GAPS:
            script.refuse(
                ("protections", protection["name"], "make_before_break"),
                f"{about}: Linux cannot distinguish its packets from others while it "
                "switches back; nearest: make_before_break: true",
            )
            continue
        schedule.gaps.append(
            SwitchbackGap(event.protection, link, labels, gap_start, event.time_ns)
        )


def _list_entry_uses(
    network: NetworkData, state: ForwardingState
) -> Iterator[tuple[int, int, int | None, tuple[int, ...]]]:
    """List the node, entry, out-link and labels, from the top, of everything that uses an entry."""
    for ftn_entry in network["ftn"]:
        entry = state.nhlfe[ftn_entry["nhlfe"]]
        yield ftn_entry["node"], ftn_entry["nhlfe"], entry["link"], tuple(reversed(entry["push"]))
    for ilm_entry in network["ilm"]:
        if ilm_entry["nhlfe"] < len(state.nhlfe):
            entry = state.nhlfe[ilm_entry["nhlfe"]]
            labels = tuple(label_filters.list_outgoing_labels(entry, ilm_entry["label"]))
            yield ilm_entry["node"], ilm_entry["nhlfe"], entry["link"], labels


def _list_outages(
    network: NetworkData, timeline: Sequence[TimelineEvent], end: int
) -> list[LinkOutage]:
    link_events = [each for each in timeline if each.link >= 0 and each.protection < 0]
    failures = network.get("recovery", {}).get("failures", [])
    node_links = [set(each["links"]) for each in failures if each["node"]]
    outages: list[LinkOutage] = []
    down_links: set[int] = set()
    for time in sorted({each.time_ns for each in link_events}):
        current = [each for each in link_events if each.time_ns == time]
        down_links -= {each.link for each in current if each.event == "repaired"}
        down_links |= {each.link for each in current if each.event == "failed"}
        for each in current:
            if each.event == "failed" and time < end:
                node = any(each.link in links and links <= down_links for links in node_links)
                outages.append(
                    LinkOutage(each.link, "node_down" if node else "link_down", time, end)
                )
            elif each.event == "repaired":
                last_outage = max(i for i, outage in enumerate(outages) if outage.link == each.link)
                outages[last_outage] = replace(outages[last_outage], repaired_ns=min(time, end))
    return outages


def add_loss_traps(script: CommandScript, schedule: RecoverySchedule, wiring: VethPlan) -> None:
    """Write the chains in which packets end."""
    for link, cause in schedule.list_loss_causes():
        about = f"what is lost on {schedule.network['links'][link]['name']}: {cause}"
        node, line = format_loss_trap(wiring, link, cause)
        script.add_command(node, "tc", line, about)


def format_loss_trap(wiring: VethPlan, link: int, cause: str) -> tuple[int, str]:
    """Format the chain in which packets on a link end, with its node."""
    side = wiring.sending_ends[link]
    # Not dropped but taken: a sender at this node must not see that its packet was lost.
    return side.node, (
        f"filter add dev {side.device} egress chain {LOSS_CHAINS[cause]} protocol all prio 1 "
        "matchall action trap"
    )


def list_changes(
    schedule: RecoverySchedule, wiring: VethPlan, forwarding: ForwardingRoutes
) -> tuple[tuple[QueueReading, ...], tuple[TimedCommand, ...]]:
    """List the reads and the changes during the run.

    Returns: For each outage a count of the link's near device and one of its wire.
    """
    end = schedule.network["run"]["duration_ns"]
    readings: list[QueueReading] = []
    commands: list[tuple[int, ConfigProgram, int, str]] = []
    for number, outage in enumerate(schedule.outages):
        sending_end = wiring.sending_ends[outage.link]
        receiving_end = wiring.receiving_ends[outage.link]
        time_ns = outage.failed_ns
        readings.append(QueueReading(time_ns, name_namespace(sending_end.node), sending_end.device))
        readings.append(
            QueueReading(time_ns, name_namespace(receiving_end.node), receiving_end.wire)
        )
        trap = f"dev {sending_end.device} egress protocol all prio {_LINK_PREFERENCE}"
        chain = f"matchall action goto chain {LOSS_CHAINS[outage.cause]}"
        commands.append((time_ns, "tc", sending_end.node, f"filter add {trap} {chain}"))
        length = _QUEUE_LENGTH + number
        for side, device in (
            (sending_end, sending_end.device),
            (receiving_end, receiving_end.wire),
        ):
            commands.append((time_ns, "ip", side.node, f"link set {device} txqueuelen {length}"))
        commands.append((outage.repaired_ns, "tc", sending_end.node, f"filter del {trap}"))
    for gap in schedule.gaps:
        side = wiring.sending_ends[gap.link]
        trap = (
            f"dev {side.device} egress protocol mpls_uc prio "
            f"{_FIRST_GAP_PREFERENCE + gap.protection}"
        )
        match = " ".join(
            f"match u32 {label << 12:#010x} 0xfffff000 at {4 * depth}"
            for depth, label in enumerate(gap.labels)
        )
        chain = f"action goto chain {LOSS_CHAINS['switching']}"
        commands.append((gap.start_ns, "tc", side.node, f"filter add {trap} u32 {match} {chain}"))
        commands.append((gap.end_ns, "tc", side.node, f"filter del {trap}"))
    old_routes = forwarding.list_routes(schedule.states[0][1])
    for time_ns, state in schedule.states[1:]:
        new_routes = forwarding.list_routes(state)
        for node, program, target in {**old_routes, **new_routes}:
            key = (node, program, target)
            if old_routes.get(key) != new_routes.get(key):
                route_text = new_routes[key][0] if key in new_routes else "blackhole"
                kind, route_key = (
                    ("blackhole ", target)
                    if key not in new_routes
                    else ("", f"{target} {route_text}")
                )
                commands.append((time_ns, program, node, f"route replace {kind}{route_key}"))
        old_routes = new_routes
    # Requests of one time, node and program are sent together: they have to be adjacent.
    ordered = sorted(
        (each for each in dict.fromkeys(commands) if each[0] < end),
        key=lambda each: (each[0], _PROGRAMS.index(each[1]), each[2]),
    )
    return tuple(sorted(readings, key=lambda each: each.at_ns)), tuple(
        TimedCommand(time_ns, name_namespace(node), program, line)
        for time_ns, program, node, line in ordered
    )
