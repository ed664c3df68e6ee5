"""OpenConfig: a folder with the JSON of each router, as `export --to openconfig` writes it."""

from trunkline.importers.network.openconfig.router_folder import read_router_folder

__all__ = ["read_router_folder"]
