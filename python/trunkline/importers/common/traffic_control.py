"""Traffic control as configured: devices, queueing disciplines, classes and filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.element_names import make_element_name
from trunkline.importers.common.fault import SourceToken


@dataclass(frozen=True, slots=True)
class TcServiceCurve:
    """A service curve of two pieces, of hfsc."""

    # m1, m2: Rates of the pieces [bit/s].
    m1: int
    d_ns: int  # How long the first lasts [ns]; 0: there is none.
    m2: int


Options = dict[str, int | float | bool | list[int] | TcServiceCurve]
"""Options by name: rates [bit/s], sizes [B], times [ns], else plain numbers and switches."""

ALL_DSCPS = frozenset(range(64))
ALL_MARK_BITS = 2**32 - 1


@dataclass(frozen=True, slots=True)
class PacketCondition:
    """Packets that a filter takes: with one of these DSCPs, and all tests true."""

    dscps: frozenset[int] = ALL_DSCPS  # DSCPs.
    # Keys of a rule of a scenario, such as ``source``, and the values allowed, sorted by key.
    tests: tuple[tuple[str, frozenset[str | int]], ...] = ()

    def intersect(self, other: PacketCondition) -> PacketCondition | None:
        """Packets that this and another take; None if there are none."""
        dscps = self.dscps & other.dscps
        tests = dict(self.tests)
        for key, values in other.tests:
            tests[key] = tests[key] & values if key in tests else values
        if not dscps or not all(tests.values()):
            return None
        return PacketCondition(dscps, tuple(sorted(tests.items())))

    def subtract(self, other: PacketCondition) -> PacketCondition | None:
        """Subtract a filter: the packets for later filters; all where rules match in order."""
        own_tests = dict(self.tests)
        if any(key not in own_tests or not own_tests[key] <= values for key, values in other.tests):
            return self
        dscps = self.dscps - other.dscps
        return PacketCondition(dscps, self.tests) if dscps else None


@dataclass(frozen=True, slots=True)
class Policer:
    """A policer."""

    at: SourceToken
    # rate, burst: Token bucket [bit/s, B of the IP packet].
    rate: int
    burst: int
    # peak_rate, peak_burst: Second bucket; 0 = none.
    peak_rate: int = 0
    peak_burst: int = 0
    # Action for packets out of profile; `continue` leaves them to the filters behind.
    exceed: Literal["drop", "continue", "pass"] = "drop"
    index: int | None = None  # Number under which several filters share it.
    # A meter of three colours as keys of a scenario; then the bucket above is not used.
    meter: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Filter:
    """A filter of a queueing discipline or class."""

    at: SourceToken
    # ``match`` takes packets by conditions, any of them; ``fw`` by their mark, ``tcindex`` by their
    # traffic control index.
    kind: Literal["match", "fw", "tcindex"]
    priority: int  # Lower first.
    conditions: list[PacketCondition] = field(default_factory=list)  # Of ``match``.
    handle: int | None = None  # Of the others: mark, or masked and shifted index; None for all.
    # mask, shift: Of ``tcindex``; the mask of ``fw`` too.
    mask: int = 0xFFFF
    shift: int = 0
    # Of ``tcindex``: packets without handle get the masked and shifted index for a class.
    fall_through: bool = True
    target: tuple[int, int] | None = None  # Class it chooses: major and minor number.
    index: int | None = None  # Traffic control index that a packet gets.
    policer: Policer | None = None  # Policer that packets meet first.
    # mark, dscp: Mark and DSCP that a packet gets.
    mark: int | None = None
    dscp: int | None = None
    colour: str = ""  # With a meter of three colours: the one that it takes.
    drop: bool = False  # Whether it drops its packets.
    is_table: bool = False  # Whether it only makes room for others, and takes nothing.
    redirect: str = ""  # Device whose discipline gets its packets.


@dataclass(frozen=True, slots=True)
class MarkRule:
    """A rule of a packet filter."""

    condition: PacketCondition
    chain: str  # Its chain.
    # value, mask: Bits of the mark that it writes; mask 0 writes nothing.
    value: int = 0
    mask: int = 0
    ends: bool = False  # Whether later rules in its chain do not see its packets.
    class_id: tuple[int, int] | None = None  # Class that it chooses.
    device: str = ""  # Device through which its packets leave; empty: any of the namespace.
    namespace: str = ""  # Network namespace whose packets it sees.

    def is_seen_at(self, device: Device) -> bool:
        """Whether packets that leave through a device have passed it."""
        return self.namespace == device.namespace and self.device in ("", device.own_name)


@dataclass(slots=True)
class VirtualQueue:
    """A virtual queue of GRED: its options, by name."""

    at: SourceToken
    options: Options


@dataclass(slots=True)
class QdiscClass:
    """A class."""

    at: SourceToken
    minor: int  # Number, of its queueing discipline.
    parent: int  # Minor number of the class above, 0 for the discipline.
    options: Options
    # Filters that choose among the classes below it.
    filters: list[Filter] = field(default_factory=list)
    queue: Qdisc | None = None  # Its queue; None: the default of Linux.


@dataclass(slots=True)
class Qdisc:
    """A queueing discipline."""

    at: SourceToken
    kind: str  # Its name in tc.
    major: int  # Number; 0 if none was given.
    options: Options = field(default_factory=dict)
    classes: dict[int, QdiscClass] = field(default_factory=dict)  # By minor number.
    filters: list[Filter] = field(default_factory=list)  # Filters that choose among them.
    inner: Qdisc | None = None  # The one inside, of dsmark and tbf.
    # Virtual queues of GRED by their number.
    virtual_queues: dict[int, VirtualQueue] = field(default_factory=dict)
    # Of dsmark: mask and value by index, for the octet that holds the DSCP.
    dsmark_values: dict[int, tuple[int, int]] = field(default_factory=dict)

    def children(self, minor: int) -> list[QdiscClass]:
        """Classes right below a class, or below the discipline for 0."""
        return [class_ for class_ in self.classes.values() if class_.parent == minor]


@dataclass(slots=True)
class Device:
    """A device: its actions on packets that leave and on those that arrive."""

    name: str
    root: Qdisc | None = None
    ingress: Qdisc | None = None
    queue_packets: int | None = None  # Length of its transmit queue, if the configuration sets it.
    own_name: str = ""  # Its name in its namespace.
    namespace: str = ""


@dataclass(slots=True)
class TrafficControlConfig:
    """All that a file says."""

    devices: dict[str, Device] = field(default_factory=dict)  # By name, in the order of the file.
    # Marks that a packet filter writes before tc sees the packets, in the order of each chain.
    rules: list[MarkRule] = field(default_factory=list)
    # Lines that are read, left out and assumed.
    account: ImportAccount = field(default_factory=ImportAccount)
    # Chains of rules that a packet filter has been given.
    chains: set[str] = field(default_factory=set)
    namespace: str = ""  # Network namespace that commands run in now; empty for the host's.

    def device(self, name: str) -> Device:
        """A device of the namespace by its name there, made where it is new."""
        full_name = f"{self.namespace}-{name}" if self.namespace else name
        new = Device(full_name, own_name=name, namespace=self.namespace)
        return self.devices.setdefault(full_name, new)

    def rename_devices(self) -> None:
        """Give every device a name of the language, and note those that had none."""
        taken_names: set[str] = set()
        renamed: dict[str, Device] = {}
        for name, device in self.devices.items():
            device.name = make_element_name(name, taken_names, nameless="device")
            renamed[device.name] = device
            if device.name != name:
                qdisc = device.root or device.ingress
                line = 0 if qdisc is None else qdisc.at.line
                text, reason = f"the name {name} of a device", f"its port is {device.name}"
                self.account.add_assumption(text, reason, line=line)
        self.devices = renamed
