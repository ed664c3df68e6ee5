"""Statistics over replications. Nothing here knows which engine made a number."""

from trunkline.stats.across import across
from trunkline.stats.batch import BatchMeans, batch_means
from trunkline.stats.bootstrap import bootstrap_interval
from trunkline.stats.error import mean_absolute_percentage, mean_log_ratio
from trunkline.stats.histogram import Histogram, delays, pooled_quantile
from trunkline.stats.holm import holm, paired_p
from trunkline.stats.interval import Interval, mean_interval, paired_difference
from trunkline.stats.order import quantile_interval
from trunkline.stats.quantile import quantile
from trunkline.stats.recovery import Outage, gap, outages, regained_after
from trunkline.stats.share import share_interval
from trunkline.stats.sla import Level, judge
from trunkline.stats.stopping import Precision, precision, runs_wanted, until
from trunkline.stats.warm_up import Cut, mser5
from trunkline.stats.welch import unpaired_difference, unpaired_p

__all__ = [
    "BatchMeans",
    "Cut",
    "Histogram",
    "Interval",
    "Level",
    "Outage",
    "Precision",
    "across",
    "batch_means",
    "bootstrap_interval",
    "delays",
    "gap",
    "holm",
    "judge",
    "mean_absolute_percentage",
    "mean_interval",
    "mean_log_ratio",
    "mser5",
    "outages",
    "paired_difference",
    "paired_p",
    "pooled_quantile",
    "precision",
    "quantile",
    "quantile_interval",
    "regained_after",
    "runs_wanted",
    "share_interval",
    "unpaired_difference",
    "unpaired_p",
    "until",
]
