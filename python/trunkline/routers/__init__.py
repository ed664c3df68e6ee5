"""A design as configurations of real routers: one neutral form, and a writer for each target."""

from trunkline.routers.export import TARGETS, ExportRefused, RouterExport, export_routers

__all__ = ["TARGETS", "ExportRefused", "RouterExport", "export_routers"]
