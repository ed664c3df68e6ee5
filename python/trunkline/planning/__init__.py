"""Traffic engineering of scenarios: place paths, compare with the optimum, plan backups."""

from trunkline.lazy_imports import make_lazy_getattr
from trunkline.planning.explicit_scenario import write_explicit_scenario
from trunkline.planning.failure_delays import compute_failure_delays
from trunkline.planning.failure_screening import Survival, survive
from trunkline.planning.growth import Growth, grow, plan_scaled_growth, plan_yearly_growth
from trunkline.planning.migration import Migration, migrate
from trunkline.planning.migration_steps import write_migration_steps
from trunkline.planning.placement import LinkLoad, PlacedPath, RoutingPlan, dump_plan_json, place
from trunkline.planning.protection import BackupPlan, add_default_protection, protect
from trunkline.planning.robust_placement import RobustPlan, place_robustly
from trunkline.planning.routing_methods import RoutingMethod
from trunkline.planning.sla_judgement import SlaJudgement, judge_failures
from trunkline.planning.solver import Solution, solve, write_solution

__all__ = [
    "BackupPlan",
    "Growth",
    "LinkLoad",
    "Migration",
    "PlacedPath",
    "RobustPlan",
    "RoutingMethod",
    "RoutingPlan",
    "SlaJudgement",
    "Solution",
    "Survival",
    "add_default_protection",
    "compute_failure_delays",
    "dump_plan_json",
    "grow",
    "judge_failures",
    "migrate",
    "place",
    "place_robustly",
    "plan_scaled_growth",
    "plan_yearly_growth",
    "protect",
    "solve",
    "survive",
    "write_explicit_scenario",
    "write_migration_steps",
    "write_solution",
]


__getattr__ = make_lazy_getattr(
    __name__,
    {},
    renamed={
        "Method": "RoutingMethod",
        "Plan": "RoutingPlan",
        "Protected": "BackupPlan",
        "explicit": "write_explicit_scenario",
        "plan_json": "dump_plan_json",
        "solved": "write_solution",
        "with_backups": "add_default_protection",
    },
)
