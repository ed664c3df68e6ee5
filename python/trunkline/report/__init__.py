"""Reports: a result as one page that can be mailed, read without a network, and printed."""

from trunkline.report.write import NAME, add_exhibits, write

__all__ = ["NAME", "add_exhibits", "write"]
