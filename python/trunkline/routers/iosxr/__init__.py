"""Cisco IOS XR: commands and NETCONF XML for each router."""

from trunkline.routers.iosxr.router_files import NAME, write_iosxr

__all__ = ["NAME", "write_iosxr"]
