"""A port whose qdiscs are being said: its device, and the names of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.linux.plan.addresses import Side
from trunkline.linux.plan.script import Part, Script

if TYPE_CHECKING:
    from trunkline.network.types.ports import Port


def queue_of(script: Script, port: Port, name: str) -> Part:
    """The queue of a class of a port in the scenario."""
    path = ("ports", port["name"], "classes", name, "queue")
    return Part(script, f"queue of {port['name']}.{name}", path)


@dataclass(frozen=True, slots=True)
class Outlet:
    """A port at the device that sends.

    Parameters
    ----------
    script : Script
        Where to say its qdiscs.
    side : Side
        Device.
    config : Port
        What the scenario wants there.
    """

    script: Script
    side: Side
    config: Port

    @property
    def part(self) -> Part:
        """The port in the scenario."""
        return Part(self.script, f"port {self.config['name']}", ("ports", self.config["name"]))

    def queue(self, index: int) -> Part:
        """The queue of a class in the scenario."""
        return queue_of(self.script, self.config, self.config["classes"][index]["name"])

    def tc(self, line: str, about: str = "") -> None:
        """Says a line of ``tc`` in which ``dev`` stands for the device."""
        line = line.replace(" dev ", f" dev {self.side.device} ", 1)
        self.script.say(self.side.node, "tc", line, about)

    def qdisc(self, line: str, about: str = "") -> None:
        """Says a qdisc."""
        self.tc(f"qdisc add dev {line}", about)

    def member(self, index: int, line: str) -> None:
        """Says a class of a qdisc that stands for a class of the scenario."""
        self.tc(f"class add dev {line}", f"class {self.config['classes'][index]['name']}")
