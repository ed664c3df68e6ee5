"""The output of an export: files by target, omissions, and changed values."""

import csv
import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from trunkline.linux.plan.command_target import CommandTarget
from trunkline.routers import containerlab, frr, iosxr, junos, openconfig
from trunkline.routers.derivation import derive_routers
from trunkline.routers.router_config import (
    Omission,
    RoundedQuantity,
    RouterNetwork,
    TargetFiles,
)
from trunkline.scenario import Scenario, ScenarioError
from trunkline.scenario.unsupported import make_unsupported_error

_KERNEL_TARGETS: Final = (frr.NAME, containerlab.NAME)
TARGETS: Final[Mapping[str, Callable[[RouterNetwork], TargetFiles]]] = {
    openconfig.NAME: openconfig.write_openconfig,
    frr.NAME: frr.write_frr,
    containerlab.NAME: containerlab.write_containerlab,
    iosxr.NAME: iosxr.write_iosxr,
    junos.NAME: junos.write_junos,
}
"""Writers by target."""
OMISSIONS_FILE: Final = "omissions.csv"
ROUNDED_FILE: Final = "asked-and-expressed.csv"
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CONFIG_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:>+\[\]-]{0,63}")


class ExportRefused(Exception):
    """A design that a target cannot express. error: All of it, with places."""

    def __init__(self, error: ScenarioError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass(frozen=True)
class RouterExport:
    """Configurations of all routers for one target."""

    target: str  # Target.
    texts: Mapping[str, str]  # Texts by file name.
    omissions: tuple[Omission, ...]  # Elements that they omit.
    rounded: tuple[RoundedQuantity, ...]  # Quantities that changed in translation.

    def list_files(self) -> dict[str, str]:
        """List the texts, and the tables of omissions and of changes."""
        tables = {
            OMISSIONS_FILE: _write_table(
                ("router", "element", "reason", "changes_design"),
                [
                    (each.router, each.element, each.reason, each.changes_design)
                    for each in self.omissions
                ],
            ),
            ROUNDED_FILE: _write_table(
                ("router", "element", "quantity", "asked", "expressed", "difference", "unit"),
                [
                    (
                        each.router,
                        each.element,
                        each.quantity,
                        f"{each.asked:.10g}",
                        f"{each.expressed:.10g}",
                        f"{each.difference:.6g}",
                        each.unit,
                    )
                    for each in self.rounded
                ],
            ),
        }
        return {**self.texts, **tables}


def _write_table(columns: tuple[str, ...], rows: list[tuple[object, ...]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)
    return text.getvalue()


def export_routers(
    scenario: Scenario,
    targets: tuple[str, ...],
    addresses: CommandTarget | None = None,
    *,
    partial: bool = False,
) -> list[RouterExport]:
    """Write the configurations of all routers.

    scenario: The design.
    targets: Keys of `TARGETS`.
    addresses: Chosen addresses and devices.
    partial: Write the parts that a target can express, and list the rest.
    Raises ExportRefused: Without ``partial``: a target cannot express the design; all that, with
        places.
    """
    network = derive_routers(scenario, addresses or CommandTarget(on_routers=True))
    bad_names = [*_check_names(network)]
    exports = []
    for target in targets:
        files = TARGETS[target](network)
        hardware = network.hardware_omissions if target not in _KERNEL_TARGETS else ()
        omissions = (*network.omissions, *hardware, *files.omissions)
        exports.append(RouterExport(target, files.texts, omissions, tuple(files.rounded)))
    refused = [(each.reason, each.path) for each in bad_names]
    if not partial:
        refused += [
            (f"{export.target}: {each.element}: {each.reason}", each.path)
            for export in exports
            for each in export.omissions
            if each.changes_design
        ]
    if refused:
        raise ExportRefused(
            make_unsupported_error("export", scenario, list(dict.fromkeys(refused)))
        )
    return exports


def _check_names(network: RouterNetwork) -> list[Omission]:
    """Check the names that the syntax of routers forbids."""
    found = []
    for router in network.routers:
        if not _HOST_NAME.fullmatch(router.name):
            nearest = re.sub(r"[^A-Za-z0-9]+", "-", router.name).strip("-")[:63] or "R1"
            found.append(
                Omission(
                    router.name,
                    "its name",
                    f"node {router.name}: a host name has letters, digits and hyphens (RFC 1123 "
                    f"section 2.1); nearest: {nearest}",
                    ("nodes", router.name),
                )
            )
        for kind, name in (
            *(("paths", each.path) for each in router.labels),
            *(("paths", each.name) for each in router.tunnels),
            *(("paths", each.name) for each in router.policies),
            *(("ports", each) for each in router.list_port_policies()),
            *(("conditioners", each) for each in router.list_policers()),
        ):
            if not _CONFIG_NAME.fullmatch(name):
                nearest = re.sub(r"[^A-Za-z0-9._>-]+", "-", name).strip("-")[:64] or "P1"
                found.append(
                    Omission(
                        router.name,
                        "its name",
                        f"{kind}: a name in a configuration has no spaces and at most 64 "
                        f"characters; nearest: {nearest}",
                        (kind, name),
                    )
                )
    return found
