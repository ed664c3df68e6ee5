"""A port whose qdiscs are being written: its device, and the names of its parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trunkline.linux.plan.addresses import VethEnd
from trunkline.linux.plan.command_script import CommandScript, ScenarioPart

if TYPE_CHECKING:
    from trunkline.network.types import Port


def make_queue_part(script: CommandScript, port: Port, name: str) -> ScenarioPart:
    """Make the queue of a class of a port in the scenario."""
    path = ("ports", port["name"], "classes", name, "queue")
    return ScenarioPart(script, f"queue of {port['name']}.{name}", path)


@dataclass(frozen=True, slots=True)
class EgressPort:
    """A port at the device that sends."""

    script: CommandScript  # Where to say its qdiscs.
    sending_end: VethEnd  # Device.
    port_config: Port  # The port in the scenario.

    @property
    def scenario_part(self) -> ScenarioPart:
        """The port in the scenario."""
        return ScenarioPart(
            self.script, f"port {self.port_config['name']}", ("ports", self.port_config["name"])
        )

    def make_queue_part(self, index: int) -> ScenarioPart:
        """Make the queue of a class in the scenario."""
        return make_queue_part(
            self.script, self.port_config, self.port_config["classes"][index]["name"]
        )

    def add_tc(self, line: str, about: str = "") -> None:
        """Write a line of ``tc`` in which ``dev`` stands for the device."""
        line = line.replace(" dev ", f" dev {self.sending_end.device} ", 1)
        self.script.add_command(self.sending_end.node, "tc", line, about)

    def add_qdisc(self, line: str, about: str = "") -> None:
        """Write a qdisc."""
        self.add_tc(f"qdisc add dev {line}", about)

    def add_class(self, index: int, line: str) -> None:
        """Write a class of a qdisc for a class of the scenario."""
        self.add_tc(f"class add dev {line}", f"class {self.port_config['classes'][index]['name']}")
