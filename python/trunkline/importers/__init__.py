"""Importers: networks as scenarios, configurations of routers as ports and conditioners."""

from trunkline.importers.common.account import AccountEntry, ImportAccount
from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import ImportFault
from trunkline.importers.common.translation import Imported, translate

__all__ = [
    "AccountEntry",
    "Addresses",
    "ImportAccount",
    "ImportFault",
    "Imported",
    "read_tc",
    "read_tcng",
]

_DISCIPLINES_OF_OLD_KERNELS = ("cbq", "dsmark")


def read_tc(
    content: str,
    *,
    addresses: Addresses | None = None,
    age: str | None = None,
    partial: bool = False,
) -> Imported:
    """Translate a script of tc commands.

    Parameters
    ----------
    addresses : Addresses, optional
        Nodes and flows behind the addresses and ports that filters ask for.
    age : {"plog", "max-p"}, optional
        How RED of its kernel stores probabilities: rounded to a power of two (until 2011) or
        exact; left out: rounded where the script uses cbq or dsmark, which are as old.
    partial : bool, default False
        Whether commands that cannot be translated are left out, with a note each.

    Raises
    ------
    ImportFault
        Something that cannot be translated, with its place.
    """
    from trunkline.importers.tc.parser import parse_script

    configuration = parse_script(content, addresses or Addresses(), partial=partial)
    kinds = {
        qdisc.kind
        for device in configuration.devices.values()
        for qdisc in (device.root, device.root.inner if device.root else None)
        if qdisc is not None
    }
    age = age or ("plog" if kinds & set(_DISCIPLINES_OF_OLD_KERNELS) else "max-p")
    return _prove_ports(translate(configuration, age), addresses or Addresses())


def read_tcng(
    content: str, *, addresses: Addresses | None = None, age: str | None = None
) -> Imported:
    """Translate a tcng configuration.

    Raises ImportFault: Something that cannot be translated, with its place.
    """
    from trunkline.importers.tcng.parser import parse_configuration

    addresses = addresses or Addresses()
    configuration = parse_configuration(content, addresses)
    return _prove_ports(translate(configuration, age or "plog"), addresses)


def _prove_ports(imported: Imported, addresses: Addresses) -> Imported:
    """Load a scenario of fast links that has all that was imported.

    Raises ImportFault: It does not load.
    """
    from trunkline.importers.common.proof import prove_import
    from trunkline.scenario.yaml_text import block

    nodes = list(dict.fromkeys((*addresses.nodes.values(), "proof-a", "proof-b")))
    ends = {"rate": "1 Tbit/s"}
    links: dict[str, object] = {
        f"proof-{number}": {"between": [nodes[number], nodes[number + 1]], **ends}
        for number in range(len(nodes) - 1)
    }
    placed = [("port", name) for name in imported.ports]
    placed += [("ingress", name) for name in imported.conditioners]
    for number, (key, name) in enumerate(placed):
        links[f"proof-of-{number}"] = {"between": nodes[-2:], **ends, "forward": {key: name}}
    flows = {
        name: {"agent": "udp", "from": nodes[-2], "to": nodes[-1], "rate": "1 Mbit/s"}
        for name in dict.fromkeys(addresses.flows.values())
    }
    scenario = {
        "trunkline": 1,
        "nodes": nodes,
        "links": links,
        **({"flows": flows} if flows else {}),
    }
    prove_import(block(scenario | imported.to_dict() | {"run": {"duration": "1 s"}}), {})
    return imported
