"""What the kernels of the runners have: one set, named by module and by configuration."""

from __future__ import annotations

import re

from trunkline.linux.guest.kernel_build import read_configuration
from trunkline.linux.plan.modules import KERNEL_MODULES

NOT_MODULES = {"net_cls", "net_cls_act", "net_sched"}


def built_in() -> set[str]:
    """Modules that the configuration of user-mode Linux builds in, by their names elsewhere."""
    found = set()
    for name in re.findall(r"^CONFIG_(\w+)=y$", read_configuration().decode(), re.M):
        part = name.lower()
        kind = re.fullmatch(r"net_(sch|cls|act)_(\w+)|tcp_cong_(\w+)", part)
        if part in NOT_MODULES or part == "tcp_cong_advanced":
            continue
        if kind:
            found.add(f"tcp_{kind[3]}" if kind[3] else f"{kind[1]}_{kind[2]}")
        elif part in ("veth", "ifb", "dummy"):
            found.add(part)
    return found


def test_b9_both_kernels_have_the_same_queues_filters_and_transports() -> None:
    """B9: the list of modules of the emulated machine lacked codel, fq_codel, pie, cake, bbr."""
    named = {name for name in KERNEL_MODULES if not name.startswith(("mpls_", "vrf"))}
    assert named == built_in()


def test_b9_user_mode_linux_has_multipath_ipv6_and_vrf() -> None:
    """B9: what networks of today are made of is in the kernel that is built here too."""
    lines = read_configuration().decode().splitlines()
    for part in ("IP_ROUTE_MULTIPATH", "IPV6", "NET_VRF"):
        assert f"CONFIG_{part}=y" in lines
