"""FRR: the files of each node of a laboratory, as `export --to containerlab` writes them."""

from trunkline.importers.network.frr.settings import apply_frr_settings

__all__ = ["apply_frr_settings"]
