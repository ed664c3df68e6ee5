"""Statistics over replications. Nothing here knows which engine made a number."""

from trunkline.stats.across import across
from trunkline.stats.error import mean_absolute_percentage, mean_log_ratio
from trunkline.stats.interval import Interval, mean_interval, paired_difference
from trunkline.stats.quantile import quantile
from trunkline.stats.recovery import Outage, gap, outages, regained_after

__all__ = [
    "Interval",
    "Outage",
    "across",
    "gap",
    "mean_absolute_percentage",
    "mean_interval",
    "mean_log_ratio",
    "outages",
    "paired_difference",
    "quantile",
    "regained_after",
]
