"""Importers: networks as scenarios, configurations of routers as ports and conditioners."""

from trunkline.importers.common.addresses import Addresses
from trunkline.importers.common.fault import ImportFault, Note
from trunkline.importers.common.translate import Imported, translate

__all__ = ["Addresses", "ImportFault", "Imported", "Note", "read_tc", "read_tcng"]

_OLD = ("cbq", "dsmark")


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
    from trunkline.importers.tc.parse import parse

    made = parse(content, addresses or Addresses(), partial=partial)
    kinds = {
        qdisc.kind
        for device in made.devices.values()
        for qdisc in (device.root, device.root.inner if device.root else None)
        if qdisc is not None
    }
    return translate(made, age or ("plog" if kinds & set(_OLD) else "max-p"))


def read_tcng(
    content: str, *, addresses: Addresses | None = None, age: str | None = None
) -> Imported:
    """Translate a tcng configuration.

    Raises
    ------
    ImportFault
        Something that cannot be translated, with its place.
    """
    from trunkline.importers.tcng.parse import parse

    return translate(parse(content, addresses or Addresses()), age or "plog")
