"""Traffic control as configured: devices, queueing disciplines, classes and filters."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from trunkline.importers.common.account import ImportAccount
from trunkline.importers.common.element_names import make_element_name
from trunkline.importers.common.fault import SourceToken


@dataclass(frozen=True, slots=True)
class TcServiceCurve:
    """A service curve of two pieces, of hfsc.

    Attributes
    ----------
    m1, m2 : int
        Rates of the pieces [bit/s].
    d_ns : int
        How long the first lasts [ns]; 0: there is none.
    """

    m1: int
    d_ns: int
    m2: int


Options = dict[str, int | float | bool | list[int] | TcServiceCurve]
"""Options by name: rates [bit/s], sizes [B], times [ns], else plain numbers and switches."""

ALL_DSCPS = frozenset(range(64))
ALL_MARK_BITS = 2**32 - 1


@dataclass(frozen=True, slots=True)
class PacketCondition:
    """Packets that a filter takes: with one of these DSCPs, and all tests true.

    Parameters
    ----------
    dscps : frozenset of int
        DSCPs.
    tests : tuple of (str, frozenset)
        Keys of a rule of a scenario, such as ``source``, and the values allowed, sorted by key.
    """

    dscps: frozenset[int] = ALL_DSCPS
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
        """What is left for the filters behind another; all of it where rules in order tell."""
        own_tests = dict(self.tests)
        if any(key not in own_tests or not own_tests[key] <= values for key, values in other.tests):
            return self
        dscps = self.dscps - other.dscps
        return PacketCondition(dscps, self.tests) if dscps else None


@dataclass(frozen=True, slots=True)
class Policer:
    """A policer.

    Parameters
    ----------
    rate, burst : int
        Token bucket [bit/s, B of the IP packet].
    peak_rate, peak_burst : int
        Second bucket; 0 = none.
    exceed : str
        What becomes of packets out of profile; `continue` leaves them to the filters behind.
    index : int or None
        Number under which several filters share it.
    meter : tuple of (str, str)
        A meter of three colours as keys of a scenario; then the bucket above says nothing.
    """

    at: SourceToken
    rate: int
    burst: int
    peak_rate: int = 0
    peak_burst: int = 0
    exceed: Literal["drop", "continue", "pass"] = "drop"
    index: int | None = None
    meter: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Filter:
    """A filter of a queueing discipline or class.

    Parameters
    ----------
    kind : str
        ``match`` takes packets by conditions, any of them; ``fw`` by their mark, ``tcindex`` by
        their traffic control index.
    priority : int
        Lower first.
    conditions : list of PacketCondition
        Of ``match``.
    handle : int or None
        Of the others: mark, or masked and shifted index; None for all.
    mask, shift : int
        Of ``tcindex``; the mask of ``fw`` too.
    fall_through : bool
        Of ``tcindex``: what no handle takes gets the masked and shifted index for a class.
    target : (int, int) or None
        Class it chooses: major and minor number.
    index : int or None
        Traffic control index that a packet gets.
    policer : Policer or None
        Policer that packets meet first.
    mark, dscp : int or None
        Mark and DSCP that a packet gets.
    colour : str
        With a meter of three colours: the one that it takes.
    drop : bool
        Whether it drops what it takes.
    is_table : bool
        Whether it only makes room for others, and takes nothing.
    redirect : str
        Device whose discipline gets what it takes.
    """

    at: SourceToken
    kind: Literal["match", "fw", "tcindex"]
    priority: int
    conditions: list[PacketCondition] = field(default_factory=list)
    handle: int | None = None
    mask: int = 0xFFFF
    shift: int = 0
    fall_through: bool = True
    target: tuple[int, int] | None = None
    index: int | None = None
    policer: Policer | None = None
    mark: int | None = None
    dscp: int | None = None
    colour: str = ""
    drop: bool = False
    is_table: bool = False
    redirect: str = ""


@dataclass(frozen=True, slots=True)
class MarkRule:
    """A rule of a packet filter.

    Parameters
    ----------
    chain : str
        Chain that it stands in.
    value, mask : int
        Bits of the mark that it writes; mask 0 writes nothing.
    ends : bool
        Whether the rules behind it in its chain do not see what it takes.
    class_id : (int, int) or None
        Class that it chooses.
    device : str
        Device through which its packets leave; empty: any of the namespace.
    namespace : str
        Network namespace whose packets it sees.
    """

    condition: PacketCondition
    chain: str
    value: int = 0
    mask: int = 0
    ends: bool = False
    class_id: tuple[int, int] | None = None
    device: str = ""
    namespace: str = ""

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
    """A class.

    Parameters
    ----------
    minor : int
        Number, of its queueing discipline.
    parent : int
        Minor number of the class above, 0 for the discipline.
    filters : list of Filter
        Filters that choose among the classes below it.
    queue : Qdisc or None
        What it holds packets in; None: the default of Linux.
    """

    at: SourceToken
    minor: int
    parent: int
    options: Options
    filters: list[Filter] = field(default_factory=list)
    queue: Qdisc | None = None


@dataclass(slots=True)
class Qdisc:
    """A queueing discipline.

    Parameters
    ----------
    kind : str
        Its name in tc.
    major : int
        Number; 0 if none was given.
    classes : dict of int to QdiscClass
        By minor number.
    filters : list of Filter
        Filters that choose among them.
    inner : Qdisc or None
        The one inside, of dsmark and tbf.
    virtual_queues : dict of int to VirtualQueue
        Virtual queues of GRED by their number.
    dsmark_values : dict of int to (int, int)
        Of dsmark: mask and value by index, for the octet that holds the DSCP.
    """

    at: SourceToken
    kind: str
    major: int
    options: Options = field(default_factory=dict)
    classes: dict[int, QdiscClass] = field(default_factory=dict)
    filters: list[Filter] = field(default_factory=list)
    inner: Qdisc | None = None
    virtual_queues: dict[int, VirtualQueue] = field(default_factory=dict)
    dsmark_values: dict[int, tuple[int, int]] = field(default_factory=dict)

    def children(self, minor: int) -> list[QdiscClass]:
        """Classes right below a class, or below the discipline for 0."""
        return [class_ for class_ in self.classes.values() if class_.parent == minor]


@dataclass(slots=True)
class Device:
    """A device: what it does with packets that leave and with those that come in."""

    name: str
    root: Qdisc | None = None
    ingress: Qdisc | None = None
    queue_packets: int | None = None
    """Length of its transmit queue, if the configuration sets it."""
    own_name: str = ""
    """Its name in its namespace."""
    namespace: str = ""


@dataclass(slots=True)
class TrafficControlConfig:
    """All that a file says.

    Parameters
    ----------
    devices : dict of str to Device
        By name, in the order of the file.
    rules : list of MarkRule
        What a packet filter writes before tc sees the packets, in the order of each chain.
    account : ImportAccount
        What is read, left out and assumed.
    chains : set of str
        Chains of rules that a packet filter has been given.
    """

    devices: dict[str, Device] = field(default_factory=dict)
    rules: list[MarkRule] = field(default_factory=list)
    account: ImportAccount = field(default_factory=ImportAccount)
    chains: set[str] = field(default_factory=set)
    namespace: str = ""
    """Network namespace that commands run in now; empty for the host's."""

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
