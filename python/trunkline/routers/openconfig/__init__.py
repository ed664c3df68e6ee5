"""OpenConfig: RFC 7951 JSON for each router."""

from trunkline.routers.openconfig.interfaces import name_interface
from trunkline.routers.openconfig.router_files import NAME, write_openconfig

__all__ = ["NAME", "name_interface", "write_openconfig"]
