"""Reports: a result as one page that can be mailed, read without a network, and printed."""

from trunkline.report.report_files import REPORT_FILE, add_featured_runs, write_report

__all__ = ["REPORT_FILE", "add_featured_runs", "write_report"]
