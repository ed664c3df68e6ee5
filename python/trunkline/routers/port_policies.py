"""Queues and policers of the neutral form, from the compiled network."""

from dataclasses import replace
from typing import Any, Final

from trunkline.network.types import NetworkData, Port, PortClass, RedCurve
from trunkline.routers.router_config import (
    Omission,
    PolicedAction,
    PortPolicy,
    QueuePolicy,
    RouterPolicer,
)
from trunkline.scenario.scheduler_classes import DEFAULT_BURST_BYTES

PLAIN_CLASS: Final[PortClass] = {
    "name": "default",
    "queue": {
        "aqm": {"kind": "drop-tail"},
        "counts_in_service": False,
        "flows": None,
        "limit_bytes": None,
        "limit_packets": 100,
    },
}
"""The only class of a port without keys."""
_DSCP_COUNT: Final = 64
_ROW_LENGTH: Final = 72
_WEIGHTED: Final = ("drr", "wfq", "wrr")
_NEAREST_SCHEDULER: Final = {
    "hfsc": "htb",
    "cbq": "htb",
    "cbq-ancestor-only": "htb",
    "cake": "htb with a class for each tin",
}
_NEAREST_AQM: Final = {
    "red-linux": "red",
    "gred": "wred",
    "precedence-drop-tail": "wred",
    "codel": "red",
    "pie": "red",
    "cobalt": "red",
    "dualpi2": "red with ECN",
    "blue": "red",
    "step": "red with min_th and max_th next to each other",
}
"""The nearest feature of routers, by the kind that they lack."""
_RED_DETAILS: Final = {
    "gentle": False,
    "spacing": "uniform",
    "adaptive": False,
    "mean_packet_bytes": 500,
}
"""Keys of RED that routers lack, with their defaults."""


class PortPolicies:
    """Port policies and policers, each worked out once.

    network: The compiled network.
    class_paths: L-LSPs, whose label gives the class.
    policies: dict of str to PortPolicy; by name.
    policers: dict of str to tuple of RouterPolicer; by conditioner.
    omissions: list of Omission; what routers do not have; their router is filled in by
        `list_omissions`.
    """

    def __init__(self, network: NetworkData, class_paths: frozenset[str]) -> None:
        self._network = network
        self._name_by_use: dict[tuple[int, int], str] = {}
        self.policies: dict[str, PortPolicy] = {}
        self.policers: dict[str, tuple[RouterPolicer, ...]] = {}
        self._omissions: dict[str, list[Omission]] = {}
        self._label_rows = _list_label_rows(network, class_paths)

    def name_policy(self, link: int) -> str:
        """Name of the policy that feeds a direction of a link; empty for a plain FIFO."""
        arc = self._network["links"][link]
        port = self._network["ports"][arc["port"]]
        if port["name"] == "default" and port["classes"] == [PLAIN_CLASS]:
            return ""
        key = (arc["port"], arc["rate_bit_s"])
        if key not in self._name_by_use:
            name = str(port["name"])
            if name in self.policies:
                name = f"{name}-{arc['rate_bit_s'] // 1000}k"
            while name in self.policies:
                name += "x"
            self._name_by_use[key] = name
            self._omissions[name] = []
            self.policies[name] = self._make_policy(name, port, arc["rate_bit_s"])
            if name != port["name"]:
                self._omissions[name].append(
                    Omission(
                        "",
                        f"port {port['name']}: one port for links of several rates",
                        f"a policy has the rates of one; this is {name}",
                        ("ports", port["name"], "name"),
                        changes_design=False,
                    )
                )
        return self._name_by_use[key]

    def name_policer(self, index: int | None) -> str:
        """Name of a conditioner whose policers are worked out; empty for none."""
        if index is None:
            return ""
        conditioner = self._network.get("conditioners", [])[index]
        name = conditioner["name"]
        if name not in self.policers:
            self._omissions[f"conditioner {name}"] = []
            self.policers[name] = tuple(self._list_policers(conditioner))
        return name

    def list_omissions(self, policy: str, router: str) -> list[Omission]:
        """List the parts of a policy or a conditioner that a router cannot express."""
        return [
            Omission(router, each.element, each.reason, each.path, each.changes_design)
            for each in self._omissions.get(policy, [])
        ]

    def _make_policy(self, name: str, port: Port, rate: int) -> PortPolicy:
        def omit(element: str, reason: str, *path: str | int, changes_design: bool = True) -> None:
            place = ("ports", port["name"], *path)
            self._omissions[name].append(Omission("", element, reason, place, changes_design))

        scheduler = port["scheduler"]
        if scheduler["kind"] in _NEAREST_SCHEDULER:
            nearest = _NEAREST_SCHEDULER[scheduler["kind"]]
            omit(
                f"port {port['name']}: scheduler {scheduler['kind']}",
                f"routers have no {scheduler['kind']}; nearest: {nearest}",
                "scheduler",
            )
        rows = port["classifier"]["rows"] or [[[0, 0]] * _ROW_LENGTH]
        if any(rows[row][:_DSCP_COUNT] != rows[0][:_DSCP_COUNT] for row in self._flow_rows(port)):
            omit(
                f"port {port['name']}: classes by flow",
                "routers class packets by DSCP and traffic class here; nearest: dscp, tc",
                "classify",
            )
        traffic_classes = self._merge_traffic_classes(port, rows, omit)
        shares: list[dict[str, Any]] = [dict(each) for each in scheduler["shares"]]
        parents = {each["parent"] for each in shares if each.get("parent") is not None}
        root = next((index for index in parents if shares[index].get("parent") is None), None)
        if len(parents) > 1:
            omit(
                f"port {port['name']}: a hierarchy of {len(parents)} levels and more",
                "two levels are written: the port and its classes; nearest: one parent",
                "classes",
            )
        leaves = [index for index in range(len(shares)) if index not in parents]
        names = [each["name"] for each in port["classes"]]
        if port["ecn_in_mpls"]:
            omit(
                f"port {port['name']}: marks in labels",
                "routers here drop labelled packets that would be marked; nearest: none",
                "ecn_in_mpls",
                changes_design=False,
            )
        if scheduler["kind"] == "htb":
            self._order_borrowing(shares, names, leaves, omit)
            _note_hierarchy(shares, names, leaves, omit)
        classes = []
        for index, port_class in enumerate(port["classes"]):
            if index not in leaves:
                continue
            queue = _make_queue(
                scheduler["kind"],
                shares[index],
                rate,
                name=port_class["name"],
                dscps={
                    dscp: row[1]
                    for dscp, row in enumerate(rows[0][:_DSCP_COUNT])
                    if row[0] == index
                },
                tcs={tc: row[1] for tc, row in traffic_classes.items() if row[0] == index},
            )
            classes.append(_add_queue_limits(queue, port_class["queue"], omit))
        shaped, burst = None, 0
        if root is not None and scheduler["kind"] == "htb":
            shaped = min(int(shares[root]["ceil_bit_s"] or shares[root]["rate_bit_s"]), rate)
            burst = int(shares[root]["burst_bytes"])
        elif scheduler["kind"] == "tbf":
            shaped, burst = int(shares[0]["rate_bit_s"]), int(shares[0]["burst_bytes"])
        if shaped == rate:
            shaped = None
        return PortPolicy(
            name, port["name"], rate, shaped, burst, tuple(classes), scheduler["kind"]
        )

    def _order_borrowing(
        self, shares: list[dict[str, Any]], names: list[str], leaves: list[int], omit: Any
    ) -> None:
        """Mark the class that HTB serves first; of the rest only the rates are written.

        The first class of all, if it may not borrow, is what routers call strict priority with a
        limit. HTB's order of borrowing among the others has no other name.
        """
        priorities = sorted(shares[each]["priority"] for each in leaves)
        first = priorities[0] if priorities[:2].count(priorities[0]) == 1 else None
        for each in leaves:
            shares[each]["is_first"] = shares[each]["priority"] == first
        for each in leaves if len(set(priorities)) > 1 else ():
            if shares[each]["priority"] > priorities[0] + (first is not None):
                omit(
                    f"class {names[each]}: priority {shares[each]['priority']} in borrowing",
                    "what a class leaves is shared by the rates of the others, not by their "
                    "priority; nearest: drr below a priority class",
                    "classes",
                    names[each],
                    "priority",
                    changes_design=False,
                )

    def _flow_rows(self, port: Port) -> list[int]:
        flow_rows = port["classifier"]["flow_rows"]
        return sorted({row for row in flow_rows if row < len(port["classifier"]["rows"])})

    def _merge_traffic_classes(
        self, port: Port, rows: list[list[list[int]]], omit: Any
    ) -> dict[int, list[int]]:
        """Merge the class and drop precedence of each TC, as the rows of all labels have it."""
        labelled = [rows[row] for row in self._label_rows if row < len(rows)]
        used = labelled or rows[:1]
        merged: dict[int, list[int]] = {}
        if any(row != rows[0] for row in labelled):
            omit(
                f"port {port['name']}: traffic classes by the maps of paths",
                "a classifier has one row of TCs for all labels; it is written out",
                "classify",
                changes_design=False,
            )
        for tc in range(_ROW_LENGTH - _DSCP_COUNT):
            choices = {tuple(row[_DSCP_COUNT + tc]) for row in used}
            if len(choices) > 1:
                omit(
                    f"port {port['name']}: TC {tc} of several meanings",
                    "the class of a labelled packet comes from its TC alone; nearest: one map "
                    "of e-lsp for all paths",
                    "classify",
                )
            merged[tc] = list(min(choices))
        return merged

    def _list_policers(self, conditioner: Any) -> list[RouterPolicer]:
        name = conditioner["name"]
        omissions = self._omissions[f"conditioner {name}"]
        row = conditioner["classifier"]["rows"][0]
        if any(each != row for each in conditioner["classifier"]["rows"][1:]):
            omissions.append(
                Omission(
                    "",
                    f"conditioner {name}: rules by flow",
                    "routers meter by DSCP here; nearest: dscp",
                    ("conditioners", name, "rules"),
                )
            )
        made = []
        for index, profile in enumerate(conditioner["profiles"], start=1):
            dscps = tuple(dscp for dscp, each in enumerate(row[:_DSCP_COUNT]) if each[0] == index)
            policer = _make_policer(profile, dscps)
            if policer is None:
                kind = profile["meter"]["kind"]
                omissions.append(
                    Omission(
                        "",
                        f"conditioner {name}: meter {kind} of {profile['name']}",
                        f"routers have no {kind}; nearest: trtcm",
                        ("conditioners", name, "profiles", profile["name"], "meter"),
                    )
                )
            elif not dscps:
                omissions.append(
                    Omission(
                        "",
                        f"conditioner {name}: profile {profile['name']}",
                        "no DSCP meets it",
                        ("conditioners", name, "profiles", profile["name"]),
                        changes_design=False,
                    )
                )
            else:
                made.append(policer)
            if policer is not None and profile["meter"]["colour_aware"]:
                omissions.append(
                    Omission(
                        "",
                        f"conditioner {name}: colours of {profile['name']} on arrival",
                        "policers are written colour-blind; nearest: colour_aware off",
                        ("conditioners", name, "profiles", profile["name"], "meter"),
                    )
                )
        return made


def _note_hierarchy(
    shares: list[dict[str, Any]], names: list[str], leaves: list[int], omit: Any
) -> None:
    """Note the parts of HTB that routers lack: upper classes, sizes of buckets and turns."""
    for index, share in enumerate(shares):
        if index not in leaves:
            omit(
                f"class {names[index]}: a class above others",
                "the port is above its classes: its bucket and its name are the router's",
                "classes",
                names[index],
                changes_design=False,
            )
            continue
        for key, value, absent in (
            ("cburst", share["cburst_bytes"], DEFAULT_BURST_BYTES),
            ("quantum", share["quantum_bytes"], 0),
        ):
            if value != absent:
                omit(
                    f"class {names[index]}: {key} {value} B",
                    "a router sizes the bucket of a ceiling and the turns of classes itself",
                    "classes",
                    names[index],
                    key,
                    changes_design=False,
                )


def _list_label_rows(network: NetworkData, class_paths: frozenset[str]) -> list[int]:
    """List the rows of classifiers that labels choose, but for those of L-LSPs."""
    names = [each["name"] for each in network["paths"]]
    return sorted(
        {
            each["row"]
            for each in network["nhlfe"]
            if each["row"] is not None
            and not (each["path"] in range(len(names)) and names[each["path"]] in class_paths)
        }
    )


def _make_queue(kind: str, share: dict[str, Any], link_rate: int, **match: Any) -> QueuePolicy:
    if kind == "priority":
        return QueuePolicy(**match, priority=share["priority"])
    if kind in _WEIGHTED:
        return QueuePolicy(**match, weight=share.get("quantum_bytes") or share["weight"])
    if kind == "htb":
        # A class with none above it has nobody to borrow from.
        may_borrow = share["parent"] is not None
        ceiling = (may_borrow and share["ceil_bit_s"]) or share["rate_bit_s"]
        is_first = share["is_first"] and ceiling == share["rate_bit_s"]
        return QueuePolicy(
            **match,
            priority=0 if is_first else None,
            rate=None if is_first else share["rate_bit_s"],
            ceiling=None if ceiling >= link_rate else ceiling,
            burst=share["burst_bytes"],
        )
    if kind == "shaped":
        ceiling = share["rate_bit_s"] or None
        return QueuePolicy(
            **match, priority=share["priority"], ceiling=ceiling, burst=share["burst_bytes"]
        )
    return QueuePolicy(**match)


def _add_queue_limits(queue: QueuePolicy, port_queue: Any, omit: Any) -> QueuePolicy:
    def note(element: str, reason: str, *keys: str, changes_design: bool = False) -> None:
        place = ("classes", queue.name, "queue", *keys)
        omit(f"class {queue.name}: {element}", reason, *place, changes_design=changes_design)

    aqm = port_queue["aqm"]
    if port_queue.get("flows"):
        reason = "routers have no queues by flow; nearest: one queue"
        note("a queue for each flow", reason, changes_design=True)
    curves: tuple[RedCurve, ...] = ()
    unit, mean = "packets", 500
    if aqm["kind"] == "red":
        curves = ({key: aqm[key] for key in ("min_th", "max_th", "max_p")},)  # type: ignore[assignment]
        unit, mean = aqm["unit"], aqm["mean_packet_bytes"]
    elif aqm["kind"] in ("wred", "rio-c", "rio-d"):
        curves, mean = tuple(aqm["precedences"]), aqm["mean_packet_bytes"]
    details = [
        f"{key} {value}"
        for key, absent in _RED_DETAILS.items()
        if aqm["kind"] in ("red", "wred", "rio-c", "rio-d")
        and (value := aqm.get(key, absent)) != absent
    ]
    if details:
        reason = "line cards have one form of RED; nearest: the defaults of this language"
        note(", ".join(details), reason, "aqm")
    if port_queue["counts_in_service"]:
        reason = "a queue of a router ends before the packet in transmission"
        note("counts_in_service", reason, "counts_in_service")
    if aqm["kind"] in ("rio-c", "rio-d"):
        reason = "written as WRED, which has one average for all drop precedences; nearest: wred"
        note(f"averages of {aqm['kind']}", reason, "aqm")
    if aqm["kind"] in _NEAREST_AQM:
        reason = f"routers have no {aqm['kind']}; nearest: {_NEAREST_AQM[aqm['kind']]}"
        note(aqm["kind"], reason, "aqm", changes_design=True)
    return replace(
        queue,
        limit_packets=port_queue["limit_packets"],
        limit_bytes=port_queue["limit_bytes"],
        curves=curves,
        curve_unit=unit,
        mean_packet=mean,
        average_weight=aqm.get("w_q", 0.0),
    )


def _make_policer(profile: Any, dscps: tuple[int, ...]) -> RouterPolicer | None:
    """Make the policer of a profile; None for a meter that routers do not have."""
    meter = profile["meter"]
    green, yellow, red = (PolicedAction(each["drop"], each["dscp"]) for each in profile["actions"])
    kind = meter["kind"]
    if kind == "token-bucket" and not meter["peak_rate_bit_s"]:
        rate, burst = meter["rate_bit_s"], meter["burst_bytes"]
        return RouterPolicer(profile["name"], dscps, rate, burst, 0, 0, green, red, None)
    if kind == "srtcm":
        rate, burst, peak, excess = meter["cir_bit_s"], meter["cbs_bytes"], 0, meter["ebs_bytes"]
    elif kind == "trtcm":
        rate, burst = meter["cir_bit_s"], meter["cbs_bytes"]
        peak, excess = meter["pir_bit_s"], meter["pbs_bytes"]
    else:
        return None
    return RouterPolicer(profile["name"], dscps, rate, burst, peak, excess, green, yellow, red)
