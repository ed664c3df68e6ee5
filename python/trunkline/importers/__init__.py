"""Importers: networks as scenarios, configurations of routers as ports and conditioners."""

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import ImportFault, OmittedPart
from trunkline.importers.common.translation import Imported, translate

__all__ = ["Addresses", "ImportFault", "Imported", "OmittedPart", "read_tc", "read_tcng"]

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
    return translate(
        configuration, age or ("plog" if kinds & set(_DISCIPLINES_OF_OLD_KERNELS) else "max-p")
    )


def read_tcng(
    content: str, *, addresses: Addresses | None = None, age: str | None = None
) -> Imported:
    """Translate a tcng configuration.

    Raises
    ------
    ImportFault
        Something that cannot be translated, with its place.
    """
    from trunkline.importers.tcng.parser import parse_configuration

    return translate(parse_configuration(content, addresses or Addresses()), age or "plog")
