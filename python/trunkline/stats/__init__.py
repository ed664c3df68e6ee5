"""Statistics over replications. Nothing here knows which engine made a number."""

from trunkline.lazy_imports import make_lazy_getattr
from trunkline.stats.batch import BatchMeans, batch_means
from trunkline.stats.bootstrap import bootstrap_interval
from trunkline.stats.error import mean_absolute_percentage, mean_log_ratio
from trunkline.stats.histogram import Histogram, pooled_quantile, read_flow_delays
from trunkline.stats.holm import compute_paired_p, holm
from trunkline.stats.interval import Interval, mean_interval, paired_difference
from trunkline.stats.order_statistics import quantile_interval
from trunkline.stats.quantile import quantile
from trunkline.stats.recovery import RecoveryCycle, gap, outages, regained_after
from trunkline.stats.run_averages import average_runs
from trunkline.stats.service_levels import Level, judge_bounds
from trunkline.stats.share_interval import share_interval
from trunkline.stats.stopping import Precision, assess_precision, plan_runs, until
from trunkline.stats.warm_up import WarmUpCut, mser5
from trunkline.stats.welch import compute_unpaired_p, unpaired_difference

__all__ = [
    "BatchMeans",
    "Histogram",
    "Interval",
    "Level",
    "Precision",
    "RecoveryCycle",
    "WarmUpCut",
    "assess_precision",
    "average_runs",
    "batch_means",
    "bootstrap_interval",
    "compute_paired_p",
    "compute_unpaired_p",
    "gap",
    "holm",
    "judge_bounds",
    "mean_absolute_percentage",
    "mean_interval",
    "mean_log_ratio",
    "mser5",
    "outages",
    "paired_difference",
    "plan_runs",
    "pooled_quantile",
    "quantile",
    "quantile_interval",
    "read_flow_delays",
    "regained_after",
    "share_interval",
    "unpaired_difference",
    "until",
]


__getattr__ = make_lazy_getattr(
    __name__,
    {},
    renamed={
        "Cut": "WarmUpCut",
        "Outage": "RecoveryCycle",
        "across": "average_runs",
        "delays": "read_flow_delays",
        "judge": "judge_bounds",
        "paired_p": "compute_paired_p",
        "precision": "assess_precision",
        "runs_wanted": "plan_runs",
        "unpaired_p": "compute_unpaired_p",
    },
)
