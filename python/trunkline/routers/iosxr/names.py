"""Names and numbers that text and XML share: interfaces, tunnels."""

import math
from typing import Final

from trunkline.routers.router_config import Router, RouterInterface

_GBIT: Final = 1_000_000_000
_PORT_TYPES: Final = (
    (_GBIT, "GigabitEthernet"),
    (10 * _GBIT, "TenGigE"),
    (40 * _GBIT, "FortyGigE"),
    (100 * _GBIT, "HundredGigE"),
)
_FASTEST_PORT: Final = "FourHundredGigE"


def name_interface(interface: RouterInterface) -> str:
    """The chosen name, or the type of the link's rate and ``0/0/0/`` its number from 0."""
    if interface.device:
        return interface.device
    kind = next((name for rate, name in _PORT_TYPES if interface.rate <= rate), _FASTEST_PORT)
    return f"{kind}0/0/0/{interface.number - 1}"


def number_tunnels(router: Router) -> dict[str, int]:
    """Number the tunnels that are signalled, by path."""
    signalled = [each.name for each in router.tunnels if not each.is_standby]
    return {name: number for number, name in enumerate(signalled, 1)}


def name_link_shaper(rate: int) -> str:
    """Name the policy-map that shapes a link without queues [bit/s]."""
    return f"link-{math.ceil(rate / 1000)}k"
